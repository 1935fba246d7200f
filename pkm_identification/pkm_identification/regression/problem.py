"""The linear identification problem: rows of forces, rows of the base regressor, their noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.prior import prior_information
from pkm_identification.regression.row_noise import apparent_inertia, row_covariance
from pkm_identification.regression.run import Run
from pkm_identification.regression.selection import Selection, build_selection
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals


@dataclass(frozen=True)
class Problem:
    """Gamma = Psi p + eta over one or several runs, and what is known of p before.

    p are the free parameters (f,). `regressor` and `forces` stack the rows of all
    runs; of long recordings there are only `folded` rows and `blocks` of each run.

    Attributes
    ----------
    runs
        One a dataset.
    base, model
        Base parameters and mechanism.
    selection
        Free and fixed parameters.
    all_nominal
        All base parameters (r,) of the description.
    prior_information
        Rows (k, r) and target (k,) of the prior, over all base parameters.
    further_names
        Parameters that follow the base parameters, of a problem that was linearised.
    """

    runs: tuple[Run, ...]
    base: BaseParameters
    model: ClosedChainModel
    selection: Selection
    all_nominal: Array
    prior_information: tuple[Array, Array] = field(repr=False)
    further_names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of free parameters f."""
        return len(self.selection.free)

    @property
    def axes(self) -> int:
        """Number of actuators n_a."""
        return self.runs[0].axes

    @property
    def free(self) -> Indices:
        """Indices (f,) of the free parameters in `base.names`."""
        return self.selection.free

    @property
    def names(self) -> list[str]:
        """Names of the free parameters."""
        names = [*self.base.names, *self.further_names]
        return [names[i] for i in self.free]

    @property
    def nominal(self) -> Array:
        """Free parameters (f,) of the description: what undetermined ones stay at."""
        return self.all_nominal[self.free]

    @property
    def signals(self) -> Signals:
        """Signals of the only run.

        Raises
        ------
        EstimationError
            There are several runs: each has its own.
        """
        if len(self.runs) > 1:
            raise EstimationError(f'each of the {len(self.runs)} runs has its own signals')
        return self.runs[0].signals

    @cached_property
    def regressor(self) -> Array:
        """Psi (m, n_a, f), all runs."""
        return stacked([run.regressor for run in self.runs])

    @cached_property
    def forces(self) -> Array:
        """Gamma (m, n_a) [N, N m], all runs, less the part of the fixed parameters."""
        return stacked([run.forces for run in self.runs])

    @property
    def equations(self) -> int:
        """Number of scalar equations of the data."""
        return sum(run.count * run.axes for run in self.runs)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of equations minus number of free parameters."""
        return self.equations - self.size

    @property
    def prior_rows(self) -> Array:
        """Rows B (k, f) of the prior, with B p = `prior_target` + unit noise."""
        return self.prior_information[0][:, self.free]

    @property
    def prior_fixed(self) -> Array:
        """Columns (k, g) of the prior's rows for the fixed parameters."""
        return self.prior_information[0][:, self.selection.fixed]

    @property
    def prior_target(self) -> Array:
        """Target (k,) of the prior's rows, less the part of the fixed parameters."""
        return self.prior_information[1] - self.prior_fixed @ self.selection.values

    def expand(self, values: Array) -> Array:
        """Return all base parameters (r,) from the free ones (f,)."""
        return self.selection.expand(values)

    def selected(self, selection: Selection) -> Problem:
        """Return the same problem with other parameters free, without reading the data again."""
        runs = tuple(run.selected(selection) for run in self.runs)
        return replace(self, runs=runs, selection=selection)

    def without_prior(self) -> Problem:
        """Return the same problem from the data alone."""
        rows, target = self.prior_information
        return replace(self, prior_information=(rows[:0], target[:0]))


def build_problem(
    signals: Signals | Sequence[Signals],
    model: ClosedChainModel,
    *,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: IdentificationResult | Mapping[str, Any] | None = None,
) -> Problem:
    """Put forces and base regressor together over the rows of each run's band.

    Parameters
    ----------
    signals
        Motion and forces of one run or of several.
    model
        The mechanism.
    shared
        Links and joints of one design share their parameters.
    reduced
        Leave parameters out that the description declares zero; a name is one of
        the description's `reduced_models`.
    estimate, fixed
        Which parameters are free, see `build_selection`.
    prior
        What is known before, see `prior_information`.

    Raises
    ------
    EstimationError
        Fewer equations than parameters, or parameters that are not there.
    """
    base = model.base_parameters(shared=shared, reduced=reduced)
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    selection = build_selection(base.names, nominal, estimate, fixed)
    information = prior_information(prior, base.names, selection)
    several = (signals,) if isinstance(signals, Signals) else tuple(signals)
    if not several:
        raise EstimationError('there is no dataset to identify from')
    runs = tuple(Run(each, base, model, selection) for each in several)
    problem = Problem(runs, base, model, selection, nominal, information)
    if problem.equations + len(problem.prior_target) <= problem.size:
        raise EstimationError(
            f'{problem.equations} equations cannot determine {problem.size} parameters; record '
            'longer or raise harmonics= or cutoff='
        )
    return replace(problem, runs=noisy_runs(problem))


def noisy_runs(problem: Problem) -> tuple[Run, ...]:
    """Give the runs the noise of their rows, where the spread over periods shows it."""
    first: Array | None = None
    runs = []
    for run in problem.runs:
        inertia = None
        if isinstance(run.signals, Signals) and run.signals.position_noise is not None:
            first = _first_fit(problem) if first is None else first
            inertia = apparent_inertia(run.signals, run.base, run.model, first)
        covariance = None
        if isinstance(run.signals, Signals):
            covariance = row_covariance(run.signals, inertia)
        runs.append(run.with_noise(covariance))
    return tuple(runs)


def _first_fit(problem: Problem) -> Array:
    """All base parameters (r,) of a plain least-squares fit to all runs."""
    rows = [run.compact for run in problem.runs]
    design = np.concatenate([each.regressor.reshape(-1, problem.size) for each in rows])
    forces = np.concatenate([each.forces.ravel() for each in rows])
    scale = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
    return problem.expand(np.linalg.lstsq(design / scale, forces, rcond=1e-6)[0] / scale)


def stacked(arrays: Sequence[Array]) -> Array:
    """Concatenate; a single array as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
