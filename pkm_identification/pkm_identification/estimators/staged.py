"""Estimator `staged`: friction and inertia in turn [O 5.3.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Mask
from pkm_identification.estimators.filters.kalman import filtered_rows, ukf
from pkm_identification.estimators.linear import noise_of_rows, wls
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, rows_for

STAGES = ('1-A', '1-B', '2-A', '2-B', '3')
INNER = {'wls': wls, 'ukf': ukf}


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
    what the turns have found, each from its own data.

    Parameters
    ----------
    problem
        Of one run or several.
    inner
        `wls` or `ukf`.
    last
        Stage whose estimate is returned.
    friction_data, inertia_data
        Numbers of the datasets, from 0, that the stages A and B use; None: all.

    Raises
    ------
    EstimationError
        An option is not valid, friction or inertia are not free, or the data of a stage do
        not determine its parameters.
    """
    if inner not in INNER:
        raise EstimationError(f"unknown inner '{inner}'; valid are {', '.join(INNER)}")
    if last not in STAGES:
        raise EstimationError(f"unknown stage '{last}'; valid are {', '.join(STAGES)}")
    inertia = np.asarray(problem.base.is_rigid_body, dtype=bool)[problem.free]
    if inertia.all() or not inertia.any():
        raise EstimationError(
            "estimator 'staged' takes turns between friction and inertia: estimate= and fixed= "
            'must leave parameters of both free'
        )
    chosen = {
        'A': _chosen(friction_data, problem, 'friction_data'),
        'B': _chosen(inertia_data, problem, 'inertia_data'),
    }
    noise = noise_of_rows(problem)
    before = STAGES[-2] if last == '3' else last
    turns = _turns(problem, noise, chosen, ~inertia, before, correlated=inner == 'ukf')
    stages = {name: turn.values for name, turn in turns.items()}
    if inner == 'ukf':
        stages = _filtered_turns(problem, noise, chosen, ~inertia, before)
    final = replace(turns[before], values=stages[before])
    if last == '3':
        final = INNER[inner](problem)
        stages['3'] = final.values
    return replace(
        final,
        diagnostics={
            **final.diagnostics,
            'inner': inner,
            'stages': stages,
            'stage_parameters': list(problem.names),
        },
    )


def _chosen(data: Sequence[int] | int | None, problem: Problem, option: str) -> tuple[int, ...]:
    """Numbers of the runs of a stage."""
    count = len(problem.runs)
    if data is None:
        return tuple(range(count))
    numbers = (data,) if isinstance(data, int) else tuple(data)
    if not numbers or any(not 0 <= number < count for number in numbers):
        raise EstimationError(f'{option} must be numbers of datasets, 0 to {count - 1}, got {data}')
    return numbers


def _turns(
    problem: Problem,
    noise: Sequence[Array],
    chosen: dict[str, tuple[int, ...]],
    friction: Mask,
    last: str,
    correlated: bool,
) -> dict[str, Estimate]:
    """Estimates after each of the stages before 3, weighted least squares each.

    `correlated`: weighted by the inverse noise, as the filter does, not by its diagonal.

    All are linear in the right sides of the normal equations, b_k of run k: values = constant
    + sum of M_k b_k. The covariance follows from that of the b_k, which is their weighted
    square, also where two stages use the same run.
    """
    size, runs = problem.size, range(len(problem.runs))
    squares, rights, meats, mixed = zip(
        *(_normal(problem, k, noise[k], correlated) for k in runs), strict=True
    )
    prior = problem.prior_rows
    prior_square, prior_right = prior.T @ prior, prior.T @ problem.prior_target
    values = problem.nominal.copy()
    maps = [np.zeros((size, size)) for _ in runs]
    map_prior = np.zeros((size, size))
    prior_mixed = prior.T @ problem.prior_fixed
    found: dict[str, Estimate] = {}
    for name in STAGES[:-1]:
        mine = friction if name.endswith('A') else ~friction
        others = ~mine
        data = chosen[name[-1]]
        square = sum((squares[k] for k in data), prior_square)
        right = sum((rights[k] for k in data), prior_right)
        own = square[np.ix_(mine, mine)]
        scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
        scaled = own / np.outer(scale, scale)
        if np.linalg.cond(scaled) > 1e12:
            raise EstimationError(
                f'the data of stage {name} do not determine its parameters; give other '
                f'{"friction_data" if name[-1] == "A" else "inertia_data"}, or fix some'
            )
        inverse = np.linalg.inv(scaled) / np.outer(scale, scale)
        cross = square[np.ix_(mine, others)]
        values[mine] = inverse @ (right[mine] - cross @ values[others])
        for k in runs:
            maps[k][mine] = -inverse @ (cross @ maps[k][others])
            if k in data:
                maps[k][np.ix_(mine, mine)] += inverse
        map_prior[mine] = -inverse @ (cross @ map_prior[others])
        map_prior[np.ix_(mine, mine)] += inverse
        covariance = map_prior @ prior_square @ map_prior.T
        for each, meat in zip(maps, meats, strict=True):
            covariance = covariance + each @ meat @ each.T
        change = -map_prior @ prior_mixed
        for each, held in zip(maps, mixed, strict=True):
            change = change - each @ held
        found[name] = Estimate(
            values=values.copy(),
            covariance=(covariance + covariance.T) / 2,
            noise=tuple(noise),
            sensitivity=change,
            condition_number=float(np.sqrt(np.linalg.cond(scaled))),
        )
        if name == last:
            break
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
    held = rows.fixed.reshape(len(weighted), -1)
    return square, weighted.T @ rows.forces.ravel(), weighted.T @ spread, weighted.T @ held


def _filtered_turns(
    problem: Problem,
    noise: Sequence[Array],
    chosen: dict[str, tuple[int, ...]],
    friction: Mask,
    last: str,
) -> dict[str, Array]:
    """The same turns by the unscented filter, each stage from the values of the one before."""
    values, prior, found = problem.nominal.copy(), problem.prior_rows, {}
    for name in STAGES[: STAGES.index(last) + 1]:
        mine = friction if name.endswith('A') else ~friction
        data = [problem.runs[k].rows for k in chosen[name[-1]]]
        shapes = [noise[k] for k in chosen[name[-1]]]
        covariance = np.concatenate(
            [
                np.broadcast_to(each, (len(rows), problem.axes, problem.axes))
                for rows, each in zip(data, shapes, strict=True)
            ]
        )
        regressor = np.concatenate([rows.regressor for rows in data])
        forces = np.concatenate([rows.forces for rows in data])
        values[mine] = filtered_rows(
            regressor[..., mine],
            forces - regressor[..., ~mine] @ values[~mine],
            covariance,
            values[mine],
            (prior[:, mine], problem.prior_target - prior[:, ~mine] @ values[~mine]),
        )
        found[name] = values.copy()
    return found
