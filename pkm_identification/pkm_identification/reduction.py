"""Stepwise reduction to the properly identified parameters [M 5.3, 6.2]; METHODS section 6.

What the data do not determine goes first, then the parameter with the largest relative
standard deviation, one at a time; the rest is estimated anew each time, until all that
are left are properly identified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.estimators import build_problem, identify
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.estimators.selection import build_selection, matching_names
from pkm_identification.estimators.solution import Solution, solve_problem
from pkm_identification.held_out import HeldOut, build_held_out, mean_errors
from pkm_identification.identifiability import (
    THRESHOLD,
    Identifiability,
    check_threshold,
    possible_signs,
)
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import plain
from pkm_identification.signals import process

Array = NDArray[np.float64]
Data = Dataset | LongDataset
Progress = Any

HELD_AT = ('zero', 'nominal')


@dataclass(frozen=True)
class ReductionStep:
    """One estimate on the way.

    Attributes
    ----------
    parameters
        Number of parameters that were estimated.
    proper
        How many of them were properly identified.
    dropped
        Name of the parameter that was dropped after this estimate; empty after the last.
    reason
        `undetermined`, `uncertain` or `impossible sign`; empty after the last.
    relative
        Relative standard deviation [%] of that parameter (of the least certain one that is
        left, after the last).
    variance_ratio
        Residual variance over that of the first estimate, per degree of freedom.
    p_value
        Chance of at least that much more variance if what was dropped makes no difference
        (F-distribution, over all that was dropped so far).
    error, held_out
        Relative absolute errors [M 33] on the data identified from and on others:
        `measured`, and `truth` where noise-free forces are known.
    """

    parameters: int
    proper: int
    dropped: str
    reason: str
    relative: float
    variance_ratio: float
    p_value: float
    error: Mapping[str, float]
    held_out: Mapping[str, float]


@dataclass(frozen=True)
class Reduction:
    """A model that was reduced step by step.

    Attributes
    ----------
    steps
        Estimates, the first of all parameters, the last of those that are left.
    dropped
        Names, in the order of their dropping.
    result
        Identification of the parameters that are left; the others are held. Its verdict
        on physical bodies is about those that are left.
    identifiability
        Of the result.
    held_at
        `zero` or `nominal`: where dropped parameters are held.
    """

    steps: tuple[ReductionStep, ...]
    dropped: tuple[str, ...]
    result: IdentificationResult
    identifiability: Identifiability
    held_at: str

    @property
    def kept(self) -> list[str]:
        """Names of the parameters that are left."""
        known = self.identifiability.is_estimated
        return [name for name, is_known in zip(self.result.names, known, strict=True) if is_known]

    def rows(self) -> list[dict[str, Any]]:
        """Return the steps as plain numbers."""
        return [plain(dict(vars(step))) for step in self.steps]


def reduce_model(
    dataset: Data | Sequence[Data],
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    threshold: float = THRESHOLD,
    validation: Data | Sequence[Data] = (),
    keep: Sequence[str] | str = (),
    held_at: str = 'zero',
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: IdentificationResult | Mapping[str, Any] | None = None,
    progress: Progress = None,
    **options: Any,
) -> Reduction:
    """Reduce a model to the parameters that the data identify properly.

    Parameters
    ----------
    dataset, model, estimator, shared, reduced, estimate, fixed, prior, **options
        As for `identify`.
    threshold
        Largest relative standard deviation [%] of a properly identified parameter.
    validation
        Recordings that are only predicted, to see what the reduction costs.
    keep
        Names or patterns of parameters that are never dropped.
    held_at
        Dropped parameters are left out of the model (`zero`, as [M]) or stay at the
        values of the description (`nominal`).
    progress
        Called with what is done and the fraction done; may raise to stop.

    Raises
    ------
    DatasetError, EstimationError
        As `identify`; or a choice is not valid.
    """
    check_threshold(threshold)
    if held_at not in HELD_AT:
        raise EstimationError(f"held_at must be {' or '.join(HELD_AT)}, not '{held_at}'")
    report = progress or (lambda phase, fraction: None)
    find_estimator(estimator)
    signal_options, own = split_options(estimator, options)
    report('reading signals', 0.0)
    datasets = _several(dataset)
    for each in (*datasets, *_several(validation)):
        if each.payload is not None:
            raise EstimationError(
                f"{each.provenance.get('source', 'dataset')} was recorded with a payload "
                f"('{each.payload.name}'); a model is reduced on data of the robot without one"
            )
    signals = [process(each.for_model(model), signal_options) for each in datasets]
    problem = build_problem(
        signals, model, shared=shared, reduced=reduced, estimate=estimate, fixed=fixed, prior=prior
    )
    base = problem.base
    names = list(base.names)
    patterns = [keep] if isinstance(keep, str) else list(keep)
    kept = {names[i] for pattern in patterns for i in matching_names(pattern, names, 'keep')}
    report('predicting', 0.1)
    own_data, held_out = (
        [build_held_out(each, model, base, signal_options) for each in group]
        for group in (datasets, _several(validation))
    )
    signs = possible_signs(base, model)
    steps, dropped, left = _drop(
        problem, estimator, own, signs, threshold, kept, held_at, own_data, held_out, report
    )
    report('identifying what is left', 0.9)
    without = dropped if held_at == 'zero' else []
    held = {name: value for name, value in _fixed(left).items() if name not in without}
    result = identify(
        dataset, model, estimator, shared=shared, reduced=reduced, fixed=held, prior=prior,
        left_out=without, **options,
    )  # fmt: skip
    result = replace(result, diagnostics={**result.diagnostics, 'dropped': list(dropped)})
    result.with_model(model)
    found = Identifiability(
        names, np.asarray(result.values), result.relative_standard_deviation, signs,
        _is_free(left), threshold,
    )  # fmt: skip
    report('done', 1.0)
    return Reduction(tuple(steps), tuple(dropped), result, found, held_at)


def _several(dataset: Data | Sequence[Data]) -> list[Data]:
    return [dataset] if isinstance(dataset, Dataset | LongDataset) else list(dataset)


def _drop(
    problem: Problem,
    estimator: str,
    own: Mapping[str, Any],
    signs: NDArray[np.int64],
    threshold: float,
    kept: set[str],
    held_at: str,
    own_data: Sequence[HeldOut],
    held_out: Sequence[HeldOut],
    report: Any,
) -> tuple[list[ReductionStep], list[str], Problem]:
    names = list(problem.base.names)
    first = problem
    steps: list[ReductionStep] = []
    dropped: list[str] = []
    start: tuple[float, int] | None = None
    while True:
        solution = solve_problem(problem, estimator, own)
        if solution.drive_friction is not None:
            raise EstimationError(
                f"estimator '{estimator}' has parameters that the forces are not linear in: reduce "
                'by another one, then give it the dropped ones as left_out'
            )
        squares, freedom = _residual_squares(first, problem, solution)
        start = start or (squares, freedom)
        deviation = np.sqrt(np.diag(solution.covariance))
        with np.errstate(divide='ignore', invalid='ignore'):
            relative = np.where(deviation > 0, 100 * deviation / np.abs(solution.values), 0.0)
        found = Identifiability(
            names, solution.values, relative, signs, _is_free(problem), threshold
        )
        worst = _worst(found, problem, kept)
        index = worst if worst is not None else _least_certain(found)
        steps.append(
            ReductionStep(
                parameters=problem.size,
                proper=found.count,
                dropped='' if worst is None else names[worst],
                reason='' if worst is None else found.verdict(worst),
                relative=float(relative[index]),
                variance_ratio=(squares / freedom) / (start[0] / start[1]),
                p_value=_p_value(start, (squares, freedom)),
                error=mean_errors(own_data, solution.values),
                held_out=mean_errors(held_out, solution.values),
            )
        )
        report(f'{problem.size} parameters', 0.2 + 0.7 * len(steps) / (first.size + 1))
        if worst is None:
            return steps, dropped, problem
        dropped.append(names[worst])
        problem = _without(problem, names[worst], held_at)


def _worst(found: Identifiability, problem: Problem, kept: set[str]) -> int | None:
    """Parameter to drop: of the undetermined that which shows least, else the least certain."""
    candidates = [
        int(i) for i in problem.free if not found.is_proper[i] and found.names[i] not in kept
    ]
    if not candidates or problem.size == 1:
        return None
    undetermined = [i for i in candidates if not found.is_determined[i]]
    if undetermined:
        power = np.zeros(len(found.names))
        power[problem.free] = sum(
            np.sum(run.compact.regressor**2, axis=(0, 1)) for run in problem.runs
        )
        size = np.maximum(np.abs(problem.all_nominal), 1e-12)
        return min(undetermined, key=lambda i: (power[i] * size[i] ** 2, found.names[i]))
    return max(candidates, key=lambda i: found.relative[i])


def _least_certain(found: Identifiability) -> int:
    return int(np.argmax(np.where(found.is_estimated, found.relative, -1.0)))


def _is_free(problem: Problem) -> NDArray[np.bool_]:
    free = np.zeros(len(problem.base.names), dtype=bool)
    free[problem.free] = True
    return free


def _fixed(problem: Problem) -> dict[str, Any]:
    """Value and standard deviation of what is held, by name."""
    held = problem.selection
    deviations = np.sqrt(np.diag(held.covariance))
    return {
        problem.base.names[i]: (float(held.values[k]), float(deviations[k]))
        for k, i in enumerate(held.fixed)
    }


def _without(problem: Problem, name: str, held_at: str) -> Problem:
    """Hold one more parameter; what was fixed stays so."""
    names = list(problem.base.names)
    value = 0.0 if held_at == 'zero' else float(problem.all_nominal[names.index(name)])
    fixed = {**_fixed(problem), name: value}
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
    return float(stats.f.sf(max(ratio, 0.0), more, start[1]))
