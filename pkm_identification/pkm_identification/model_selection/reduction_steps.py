"""The steps of a reduction: which parameter goes next, and what its loss does to the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.model_selection.identifiability import Identifiability
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run, concatenated
from pkm_identification.regression.selection import build_selection
from pkm_identification.regression.solution import Solution, solve_problem
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import Band, FilterBand
from pkm_identification.validation.figures import relative_absolute_error
from pkm_identification.validation.reference import noise_free_forces


@dataclass(frozen=True)
class ReductionStep:
    """One estimate on the way."""

    parameters: int  # number of parameters that were estimated
    proper: int  # how many of them were properly identified
    dropped: str  # name of the parameter dropped after this estimate; empty after the last
    reason: str  # `undetermined`, `uncertain` or `impossible sign`; empty after the last
    # Relative standard deviation [%] of that parameter (of the least certain one that is left,
    # after the last)
    relative: float
    variance_ratio: float  # residual variance over that of the first, per degree of freedom
    # Chance of at least that much more variance if what was dropped makes no difference
    # (F-distribution, over all that was dropped so far)
    p_value: float
    # Relative absolute errors [M 33] on the data identified from and on others: `measured`, and
    # `truth` where noise-free forces are known
    error: Mapping[str, float]
    held_out: Mapping[str, float]


@dataclass(frozen=True)
class HeldOut:
    """Regressor and forces of one recording."""

    regressor: Array  # (n, n_a, r) of all base parameters; of long recordings some stretches
    forces: Array  # measured (n, n_a) [N, N m], averaged or filtered
    truth: Array | None  # noise-free forces (n, n_a) in the band, where they are known
    band: Band  # that the noise-free forces are compared in

    def errors(self, values: Array) -> dict[str, float]:
        """Relative absolute errors [M 33] of base parameters (r,), as `validate` gives them.

        `measured` against the measured forces, `truth` against noise-free ones in the band, where
        these are known.
        """
        predicted = self.regressor @ values
        found = {'measured': relative_absolute_error(predicted, self.forces)[1]}
        if self.truth is not None:
            if not isinstance(self.band, FilterBand):
                predicted = self.band.smooth(predicted)
            found['truth'] = relative_absolute_error(predicted, self.truth)[1]
        return found


class Rules(NamedTuple):
    """What is dropped, and what an estimate is made by; see `reduction.reduce_model`."""

    estimator: str
    own: Mapping[str, Any]  # options of the estimator
    signs: NDArray[np.int64]  # that real robots allow (r,), see `identifiability.possible_signs`
    threshold: float
    kept: set[str]
    held_at: str
    significance: float | None


class _Estimated(NamedTuple):
    """An estimate of what is still in the model."""

    problem: Problem
    solution: Solution
    found: Identifiability
    residuals: tuple[float, int]


def drop_parameters(
    problem: Problem, rules: Rules, own: Sequence[HeldOut], others: Sequence[HeldOut], report: Any
) -> tuple[list[ReductionStep], list[str], Problem]:
    """Drop parameters one at a time; return the steps, the names and the problem that is left."""
    first = now = _estimated(problem, problem, rules)
    steps: list[ReductionStep] = []
    kept = set(rules.kept)
    while True:
        worst, smaller = _next(first.problem, now, rules, kept)
        found, values = now.found, now.solution.values
        least_certain = int(np.argmax(np.where(found.is_estimated, found.relative, -1.0)))
        index = least_certain if worst is None else worst
        squares, freedom = now.residuals
        steps.append(
            ReductionStep(
                parameters=now.problem.size,
                proper=found.count,
                dropped='' if worst is None else found.names[worst],
                reason='' if worst is None else found.verdict(worst),
                relative=float(found.relative[index]),
                variance_ratio=(squares / freedom) / (first.residuals[0] / first.residuals[1]),
                p_value=_p_value(first.residuals, now.residuals),
                error=mean_errors(own, values),
                held_out=mean_errors(others, values),
            )
        )
        report(f'{now.problem.size} parameters', 0.2 + 0.7 * len(steps) / (problem.size + 1))
        if smaller is None:
            return steps, [step.dropped for step in steps[:-1]], now.problem
        now = smaller


def _next(
    first: Problem, now: _Estimated, rules: Rules, kept: set[str]
) -> tuple[int | None, _Estimated | None]:
    """Parameter to drop, and the estimate without it; what is essential is kept from now on."""
    while True:
        worst = _worst(now.found, now.problem, kept)
        if worst is None:
            return None, None
        name = now.found.names[worst]
        smaller = _estimated(first, _without(now.problem, name, rules.held_at), rules)
        essential = (
            rules.significance is not None
            and bool(now.found.is_determined[worst])
            and _p_value(now.residuals, smaller.residuals) < rules.significance
        )
        if not essential:
            return worst, smaller
        kept.add(name)


def _estimated(first: Problem, problem: Problem, rules: Rules) -> _Estimated:
    solution = solve_problem(problem, rules.estimator, rules.own)
    if solution.drive_friction is not None:
        raise EstimationError(
            f"estimator '{rules.estimator}' has parameters that the forces are not linear in: "
            'reduce by another one, then give it the dropped ones as left_out'
        )
    deviation = np.sqrt(np.diag(solution.covariance))
    with np.errstate(divide='ignore', invalid='ignore'):
        relative = np.where(deviation > 0, 100 * deviation / np.abs(solution.values), 0.0)
    names, values, free = list(problem.base.names), solution.values, is_free(problem)
    found = Identifiability(names, values, relative, rules.signs, free, rules.threshold)
    return _Estimated(problem, solution, found, _residual_squares(first, problem, solution))


def _worst(found: Identifiability, problem: Problem, kept: set[str]) -> int | None:
    """Parameter to drop: of the undetermined that which shows least, else the least certain."""
    proper, names = found.is_proper, found.names
    candidates = [int(i) for i in problem.free if not proper[i] and names[i] not in kept]
    if not candidates or problem.size == 1:
        return None
    undetermined = [i for i in candidates if not found.is_determined[i]]
    if undetermined:
        power = np.zeros(len(names))
        for run in problem.runs:
            power[problem.free] += np.sum(run.compact.regressor**2, axis=(0, 1))
        size = np.maximum(np.abs(problem.all_nominal), 1e-12)
        return min(undetermined, key=lambda i: (power[i] * size[i] ** 2, names[i]))
    return max(candidates, key=lambda i: found.relative[i])


def is_free(problem: Problem) -> NDArray[np.bool_]:
    """Which base parameters (r,) are estimated."""
    return np.isin(np.arange(len(problem.base.names)), problem.free)


def held_values(problem: Problem) -> dict[str, Any]:
    """Value and standard deviation of what is held, by name."""
    names = [problem.base.names[i] for i in problem.selection.fixed]
    deviations = np.sqrt(np.diag(problem.selection.covariance))
    pairs = zip(problem.selection.values.tolist(), deviations.tolist(), strict=True)
    return dict(zip(names, pairs, strict=True))


def _without(problem: Problem, name: str, held_at: str) -> Problem:
    """Hold one more parameter; what was fixed stays so."""
    names = list(problem.base.names)
    value = 0.0 if held_at == 'zero' else float(problem.all_nominal[names.index(name)])
    fixed = {**held_values(problem), name: value}
    return problem.selected(build_selection(names, problem.all_nominal, None, fixed))


def _residual_squares(first: Problem, problem: Problem, solution: Solution) -> tuple[float, int]:
    """Sum of squares of the residuals in units of their noise, and degrees of freedom."""
    total = 0.0
    for run in problem.runs:
        rows = run.rows if run.covariance is not None else run.compact
        residuals = rows.residuals(solution.estimate.values)
        if run.covariance is None:
            total += float(np.sum((residuals / run.force_size) ** 2))
        else:
            root = np.linalg.cholesky(run.covariance)
            total += float(np.sum(np.linalg.solve(root, residuals[..., None]) ** 2))
    return total, max(first.equations - problem.size, 1)


def _p_value(start: tuple[float, int], now: tuple[float, int]) -> float:
    """F-test of what was dropped since the start."""
    more = now[1] - start[1]
    if not more:
        return 1.0
    ratio = (now[0] - start[0]) / more / max(start[0] / start[1], 1e-300)
    return float(fdtrc(more, start[1], max(ratio, 0.0)))


def build_held_out(
    dataset: Recording, signals: Signals, model: ClosedChainModel, base: BaseParameters
) -> HeldOut:
    """Prepare a recording with its signals for predictions with base parameters of the model."""
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    run = Run(signals, base, model, build_selection(base.names, nominal))
    band = signals.band
    if signals.is_long:
        rows = concatenated(list(run.folded.sample))
        return HeldOut(rows.regressor, rows.forces, None, band)
    rows, inside = run.in_time(), signals.usable
    regressor = rows.regressor
    if isinstance(band, FilterBand):
        regressor = band.smooth(regressor)[inside]
    truth = noise_free_forces(dataset.for_model(model).truth, signals)
    if truth is not None:
        truth = band.smooth(truth)[inside]
    return HeldOut(regressor, rows.forces[inside], truth, band)


def mean_errors(recordings: Sequence[HeldOut], values: Array) -> Mapping[str, float]:
    """Errors of several recordings, averaged; only figures that all of them have."""
    found = [each.errors(values) for each in recordings]
    shared = [key for key in ('measured', 'truth') if all(key in each for each in found)]
    return {key: float(np.mean([each[key] for each in found])) for key in shared} if found else {}
