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
from pkm_identification.regression.numerics import rounding_variance, scaled_least_squares
from pkm_identification.regression.prior import Prior, prior_information
from pkm_identification.regression.run import RowRegressor, Run
from pkm_identification.regression.selection import Selection, build_selection
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand

POSES = 12  # along a run, over which the inertia is averaged: it changes little within them
FIRST_SINGULAR = 1e-6  # of the largest singular value: a first fit needs no direction below


@dataclass(frozen=True)
class Problem:
    """Gamma = Psi p + eta over one or several runs, and what is known of p before.

    p are the free parameters (f,). `regressor` and `forces` stack the rows of all runs; of long
    recordings there are only `folded` rows and `blocks` of each run.
    """

    runs: tuple[Run, ...]  # one a dataset
    base: BaseParameters
    model: ClosedChainModel
    selection: Selection  # free and fixed parameters
    all_nominal: Array  # all base parameters (r,) of the description
    # rows (k, r) and target (k,) of the prior, over all base parameters
    prior_information: tuple[Array, Array] = field(repr=False)
    further_names: tuple[str, ...] = ()  # of a problem that was linearised, after the base ones

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
        return [self.all_names[i] for i in self.free]

    @property
    def all_names(self) -> list[str]:
        """Names of all parameters, fixed ones and further ones included."""
        return [*self.base.names, *self.further_names]

    @property
    def nominal(self) -> Array:
        """Free parameters (f,) of the description: what undetermined ones stay at."""
        return self.all_nominal[self.free]

    @property
    def signals(self) -> Signals:
        """Signals of the only run; EstimationError where there are several."""
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
    prior: Prior = None,
) -> Problem:
    """Put forces and base regressor together over the rows of each run's band.

    Options as of `identify`; see `build_selection` and `prior_information`. EstimationError where
    there are fewer equations than parameters, or parameters that are not there.
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
        if run.signals.position_noise is not None:
            first = _first_fit(problem) if first is None else first
            inertia = apparent_inertia(run.signals, run.base, run.model, first)
        runs.append(run.with_noise(row_covariance(run.signals, inertia)))
    return tuple(runs)


def _first_fit(problem: Problem) -> Array:
    """All base parameters (r,) of a plain least-squares fit to all runs."""
    rows = [run.compact for run in problem.runs]
    design = np.concatenate([each.regressor.reshape(-1, problem.size) for each in rows])
    forces = np.concatenate([each.forces.ravel() for each in rows])
    return problem.expand(scaled_least_squares(design, forces, FIRST_SINGULAR))


def stacked(arrays: Sequence[Array]) -> Array:
    """Concatenate; a single array as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def row_covariance(signals: Signals, inertia: Array | None) -> Array | None:
    """Noise covariance (m, n_a, n_a) of the rows, None where the spread is unknown.

    Force noise of the averaged period, plus position noise that comes in through the
    acceleration: w^2 M delta with M the `inertia` (n_a, n_a) that the actuators see.
    """
    band = signals.band
    if signals.force_noise is None or not isinstance(band, HarmonicBand):
        return None
    noise = signals.force_noise.spectrum[: band.harmonics + 1].copy()
    noise += np.diag(rounding_variance(signals.forces.std(axis=0)))
    measured = signals.measured_harmonics
    if signals.position_noise is not None and measured is not None and inertia is not None:
        position = signals.position_noise.spectrum[: band.harmonics + 1]
        through = inertia @ position @ inertia.T
        frequency = 2 * np.pi / band.period * np.arange(band.harmonics + 1)
        weight = np.where(measured, frequency**4, 0.0)
        noise += weight[:, None, None] * through
    return (noise / signals.averaged)[band.indices]


def apparent_inertia(
    signals: Signals, base: RowRegressor, model: ClosedChainModel, values: Array
) -> Array:
    """Mean inertia (n_a, n_a) that the actuators see along a run, with base parameters (r,)."""
    axes = signals.forces.shape[1]
    rows = np.unique(np.linspace(0, len(signals) - 1, POSES).astype(int))
    poses = np.repeat(signals.positions[rows], axes + 1, axis=0)
    accelerations = np.tile(np.vstack([np.zeros(axes), np.eye(axes)]), (len(rows), 1))
    motion = model.motion_from_actuators(poses, np.zeros_like(poses), accelerations)
    forces = (base.regressor(motion) @ values).reshape(len(rows), axes + 1, axes)
    return (forces[:, 1:] - forces[:, :1]).mean(axis=0).T
