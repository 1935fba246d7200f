"""Estimator `staged`: friction and inertia in turn [O 5.3.1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Mask
from pkm_identification.estimators.filters.filter_rows import force_rows
from pkm_identification.estimators.filters.kalman import KalmanDiagnostics, filtered_rows, ukf
from pkm_identification.estimators.linear import noise_of_rows, wls
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, rows_for

STAGES = ('1-A', '1-B', '2-A', '2-B', '3')
INNER = {'wls': wls, 'ukf': ukf}
SINGULAR_NORMAL = 1e12  # condition number of scaled normal equations that leave no digit


@dataclass(frozen=True)
class StagedDiagnostics:
    """What the stages found."""

    inner: str
    stages: Mapping[str, Array]  # values (f,) after each
    stage_parameters: tuple[str, ...]  # names of these values


@dataclass(frozen=True)
class FilteredStagedDiagnostics(StagedDiagnostics, KalmanDiagnostics):
    """The same, with how the filter of the last stage went through the data."""


@dataclass(frozen=True)
class _Turn:
    """A stage before the last: what it estimates, the rest held, and from which runs."""

    name: str
    mine: Mask  # (f,) of the parameters
    data: tuple[int, ...]
    option: str  # that names the data


def staged(
    problem: Problem,
    inner: str = 'wls',
    last: str = '3',
    friction_data: Sequence[int] | int | None = None,
    inertia_data: Sequence[int] | int | None = None,
) -> Estimate:
    """Estimate friction with the inertia known, then inertia with that friction, and so on.

    Stages: 1-A friction, with the nominal inertia; 1-B inertia, with the friction of 1-A;
    2-A friction, with the inertia of 1-B; 2-B inertia, with the friction of 2-A; 3 all
    parameters together. In [O] stage 2-A goes back to the nominal inertia; in a model that is
    linear in the parameters that would only repeat 1-A. Slow strokes for the friction and
    fast motions for the inertia are given as several datasets.

    Stage 3 solves for all parameters on all data: it is `inner` itself, and the changes from
    stage to stage tell how far friction and inertia can be told apart. `last='2-B'` keeps
    what the turns have found, each from its own data. EstimationError where friction or inertia
    are not free, or the data of a stage do not determine its parameters.
    """
    further = np.zeros(len(problem.further_names), dtype=bool)  # of friction laws
    inertia = np.append(np.asarray(problem.base.is_rigid_body, dtype=bool), further)[problem.free]
    if inertia.all() or not inertia.any():
        raise EstimationError(
            "estimator 'staged' takes turns between friction and inertia: estimate= and fixed= "
            'must leave parameters of both free'
        )
    friction = (~inertia, _chosen(friction_data, problem, 'friction_data'), 'friction_data')
    dynamic = (inertia, _chosen(inertia_data, problem, 'inertia_data'), 'inertia_data')
    turns = [
        _Turn(stage, *(friction if stage.endswith('A') else dynamic))
        for stage in STAGES[: STAGES.index(last) + 1]
        if stage != '3'
    ]
    noise = noise_of_rows(problem)
    found = _linear_turns(problem, noise, turns, correlated=inner == 'ukf')
    stages = {turn.name: each.values for turn, each in zip(turns, found, strict=True)}
    if inner == 'ukf':
        stages = _filtered_turns(problem, noise, turns)
    final = replace(found[-1], values=stages[turns[-1].name])
    if last == '3':
        final = INNER[inner](problem)
        stages['3'] = final.values
    own = StagedDiagnostics(inner, stages, tuple(problem.names))
    if isinstance(final.diagnostics, KalmanDiagnostics):
        own = FilteredStagedDiagnostics(**vars(final.diagnostics), **vars(own))
    return replace(final, diagnostics=own)


def _chosen(data: Sequence[int] | int | None, problem: Problem, option: str) -> tuple[int, ...]:
    """Numbers of the runs of a stage."""
    count = len(problem.runs)
    if data is None:
        return tuple(range(count))
    numbers = (data,) if isinstance(data, int) else tuple(data)
    if not numbers or any(not 0 <= number < count for number in numbers):
        raise EstimationError(f'{option} must be numbers of datasets, 0 to {count - 1}, got {data}')
    return numbers


def _linear_turns(
    problem: Problem, noise: Sequence[Array], turns: Sequence[_Turn], correlated: bool
) -> list[Estimate]:
    """Estimates after each turn, weighted least squares each.

    `correlated`: weighted by the inverse noise, as the filter does, not by its diagonal.

    All are linear in the right sides of the normal equations, b_k of run k: values = constant
    + sum of M_k b_k. The covariance follows from that of the b_k, which is their weighted
    square, also where two stages use the same run.
    """
    count, prior = len(problem.runs), problem.prior_rows
    parts = [_normal(problem, k, noise[k], correlated) for k in range(count)]
    own_square, right = prior.T @ prior, prior.T @ problem.prior_target
    parts.append((own_square, right, own_square, prior.T @ problem.prior_fixed))
    squares, rights, meats, mixed = zip(*parts, strict=True)
    values = problem.nominal.copy()
    maps = [np.zeros((problem.size, problem.size)) for _ in parts]
    found: list[Estimate] = []
    for turn in turns:
        mine, others = turn.mine, ~turn.mine
        data = [*turn.data, count]  # the prior is known in every turn
        square = np.sum([squares[k] for k in data], axis=0)
        right = np.sum([rights[k] for k in data], axis=0)
        own = square[np.ix_(mine, mine)]
        scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
        scaled = own / np.outer(scale, scale)
        condition = np.linalg.cond(scaled)
        if condition > SINGULAR_NORMAL:
            raise EstimationError(
                f'the data of stage {turn.name} do not determine its parameters; give other '
                f'{turn.option}, or fix some'
            )
        inverse = np.linalg.inv(scaled) / np.outer(scale, scale)
        cross = square[np.ix_(mine, others)]
        values[mine] = inverse @ (right[mine] - cross @ values[others])
        for k, each in enumerate(maps):
            each[mine] = -inverse @ (cross @ each[others])
            if k in data:
                each[np.ix_(mine, mine)] += inverse
        pairs = zip(maps, meats, strict=True)
        covariance = np.sum([each @ meat @ each.T for each, meat in pairs], axis=0)
        change = np.sum([each @ held for each, held in zip(maps, mixed, strict=True)], axis=0)
        found.append(
            Estimate(
                values=values.copy(),
                covariance=(covariance + covariance.T) / 2,
                noise=tuple(noise),
                sensitivity=-change,
                condition_number=float(np.sqrt(condition)),
            )
        )
    return found


def _normal(
    problem: Problem, number: int, noise: Array, correlated: bool
) -> tuple[Array, Array, Array, Array]:
    """Psi^T W Psi, Psi^T W Gamma, Psi^T W noise W Psi and Psi^T W Psi_fixed of a run."""
    rows = rows_for(problem.runs[number], noise)
    if correlated:
        weight = np.linalg.inv(noise)
    else:
        weight = np.eye(problem.axes) / np.diagonal(noise, axis1=-2, axis2=-1)[..., None]
    weighted = (weight @ rows.regressor).reshape(-1, problem.size)
    square = weighted.T @ rows.regressor.reshape(-1, problem.size)
    spread = (noise @ weight @ rows.regressor).reshape(-1, problem.size)
    fixed = rows.fixed.reshape(len(weighted), -1)
    return square, weighted.T @ rows.forces.ravel(), weighted.T @ spread, weighted.T @ fixed


def _filtered_turns(
    problem: Problem, noise: Sequence[Array], turns: Sequence[_Turn]
) -> dict[str, Array]:
    """The same turns by the unscented filter, each stage from the values of the one before."""
    values, prior, found = problem.nominal.copy(), problem.prior_rows, {}
    for turn in turns:
        mine, held = turn.mine, values[~turn.mine]
        some = replace(problem, runs=tuple(problem.runs[k] for k in turn.data))
        rows = force_rows(some, tuple(noise[k] for k in turn.data))
        design = rows.regressor
        left = rows.measured - design[..., ~mine] @ held
        rows = replace(rows, regressor=design[..., mine], measured=left)
        target = problem.prior_target - prior[:, ~mine] @ held
        values[mine] = filtered_rows(rows, values[mine], (prior[:, mine], target))
        found[turn.name] = values.copy()
    return found
