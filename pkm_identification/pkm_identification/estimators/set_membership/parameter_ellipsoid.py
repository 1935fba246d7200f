"""Estimator `ellipsoid`: all parameters that bounded errors allow [P]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.estimators.set_membership.error_bounds import BoundOption, StripsOfRun
from pkm_identification.estimators.set_membership.shrinking import (
    Bounding,
    BoundOptions,
    shrunk_set,
)
from pkm_identification.regression.numerics import FORGOTTEN, with_variance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate, size_over_runs

TRIED_BOUNDS = (4.0, 5.0, 6.0, 8.0)  # standard deviations, where no bound is given
NAMED = 100  # outliers that the diagnostics name


class Trust(Enum):
    """How far a set is a guarantee, as far as the bounds hold."""

    GUARANTEED = 'all strips share the set'
    RELAXED = 'all but the strips that were left out share the set'
    BOUNDS_TOO_SMALL = 'more strips contradict each other than were allowed to'


@dataclass(frozen=True)
class StartOfSet:
    """The ellipsoid that the set was shrunk from."""

    radius: Array  # (f,) half-axes
    share: Array  # (f,) of each half-axis that is left
    is_left: bool  # the set lies inside: nothing of the start bounds it any more


@dataclass(frozen=True)
class EllipsoidDiagnostics:
    """What bounds the set, and which samples contradict it."""

    bounds: tuple[Mapping[str, float], ...]  # of each run, by joint [N, N m]
    bound_gain: tuple[float, ...]  # of each run: bound of a row over that of a sample
    bound: BoundOption  # as given or found
    passes: int
    converged: bool
    log_determinant: float  # of the shape matrix, in SI units: larger is a larger set
    half_axis: tuple[float, ...]  # geometric mean after each pass, in units of the start's
    start: StartOfSet
    trust: str  # how far the set is a guarantee, see `Trust`
    allowed_share: float  # of strips that may be left out
    outliers: int  # strips that contradict the others, and are left out
    outlier_share: float
    outliers_per_joint: Mapping[str, int]
    outliers_named: tuple[Mapping[str, Any], ...]  # the first: run, sample, time [s], joint
    strips: int
    strips_used: int  # that made the set smaller in the last pass


def ellipsoid(
    problem: Problem,
    bound: BoundOption | None = None,
    bound_of: str = 'noise',
    bound_at: str = 'samples',
    periods: str = 'mean',
    passes: int = 50,
    tolerance: float = 2e-3,
    initial_radius: float = 100.0,
    cut: bool = True,
    force_bound: BoundOption | None = None,
    outliers: float = 0.01,
) -> Estimate:
    """Bound the parameters by an ellipsoid, for errors of the forces that stay in bounds.

    Every sample of every axis leaves a strip of parameters; the ellipsoid holds what all
    strips and the start share. The estimate is its centre. Taken in one strip after the
    other, each with the weight that makes the volume smallest, in square-root form [P eq.
    31-35]; again and again until the volume shrinks no more. It is a guarantee only as
    far as the bounds are: they have to cover the noise, what the model lacks, and what
    errors of the measured motion make of the regressor. The covariance is that of a uniform
    distribution over the set, M^-1 / (f + 2): a size for comparisons, no statement of probability.

    Strips that contradict each other share nothing. Then those are left out that miss a point
    which few miss, see `contradicting`: `diagnostics.trust` says so. Bounds in
    standard deviations are then those of the other strips' residuals.

    Options are declared in `estimator_options`. `bound`, `bound_of`: see `force_bounds`; without a
    bound 4, and of the noise the first of 4, 5, 6 and 8 standard deviations that no larger share
    than `outliers` of the samples contradicts: residuals have longer tails than noise.
    `bound_at`: bounds of measured `samples` make those of rows that were filtered or
    interpolated larger by `diagnostics['bound_gain']`, which is the worst case; bounds of `rows`,
    as in [P], are of the filtered forces. `periods`: bounds of the `mean` are those of a sample or
    smaller, those of `each` leave a smaller set. `tolerance`: the end, where the half-axes shrink
    by less than this share of themselves, in their geometric mean. `initial_radius`: the start
    holds all parameters this many times their size around their nominal values.

    EstimationError where a bound is not positive, or there is a prior or an uncertain fixed
    parameter.
    """
    _require_exact_knowledge(problem)
    if force_bound is not None:
        bound, bound_of = force_bound, 'force'
    radius = initial_radius * np.sqrt(problem.size) * size_over_runs(problem)
    several = TRIED_BOUNDS if bound_of == 'noise' else TRIED_BOUNDS[:1]
    for tried in several if bound is None else (bound,):
        own = BoundOptions(tried, bound_of, bound_at, periods)
        found = shrunk_set(problem, own, radius, cut, passes, tolerance)
        if found.run.missed_share <= outliers:
            break
    run, strips, history = found.run, found.run.strips, found.history
    bounds, gains = found.bounds, found.gains
    longest = float(1 / np.linalg.svd(run.root, compute_uv=False)[-1])  # half-axis
    share = np.linalg.norm(solve_triangular(run.root, np.eye(problem.size)), axis=1)
    lost = np.flatnonzero(share > FORGOTTEN)
    root = run.root / radius
    joints = problem.model.actuated_joints
    inverse = solve_triangular(root, np.eye(problem.size))
    by_joint, named = _outliers(strips, run.missed)
    trust = _trust(sum(by_joint.values()), run.missed_share, outliers)
    total, count = sum(by_joint.values()), sum(len(each) for each in run.missed)
    return Estimate(
        values=problem.nominal + radius * run.centre,
        covariance=with_variance(inverse @ inverse.T / (problem.size + 2), lost),
        undetermined=lost,
        condition_number=float(np.linalg.cond(run.root)),
        sensitivity=np.zeros((problem.size, len(problem.selection.fixed))),
        covariance_rests_on='uniform distribution over the guaranteed set',
        guaranteed_root=root,
        diagnostics=EllipsoidDiagnostics(
            bounds=tuple(dict(zip(joints, each, strict=True)) for each in bounds),
            bound_gain=tuple(gains),
            bound=tried,
            passes=len(history) - 1,
            converged=history[-2] - history[-1] < tolerance,
            log_determinant=float(-2 * np.sum(np.log(np.abs(np.diag(root))))),
            half_axis=tuple(float(np.exp(each)) for each in history),
            start=StartOfSet(radius, share, float(np.linalg.norm(run.centre)) + longest <= 1.0),
            trust=trust.value,
            allowed_share=outliers,
            outliers=total,
            outlier_share=total / count,
            outliers_per_joint=by_joint,
            outliers_named=tuple(named),
            strips=count,
            strips_used=run.used,
        ),
        warnings=tuple(_warnings(problem, run, trust, lost)),
    )


def _require_exact_knowledge(problem: Problem) -> None:
    """Refuse what is known with a standard deviation, which bounds nothing."""
    if len(problem.prior_target):
        raise EstimationError(
            "the standard deviation of a prior is no bound: 'ellipsoid' takes none; fix the "
            'parameter, or start closer to the nominal values with initial_radius='
        )
    if (np.diag(problem.selection.covariance) > 0).any():
        raise EstimationError(
            "'ellipsoid' takes fixed parameters as exact: give their values without standard "
            'deviations, or estimate them'
        )


def _outliers(
    strips: list[StripsOfRun], missed: list[Mask]
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Count what missed by joint, and name the first of them."""
    named: list[dict[str, Any]] = []
    by_joint: Counter[str] = Counter()
    for k, (run, flags) in enumerate(zip(strips, missed, strict=True)):
        joints = run.run.model.actuated_joints
        for axis, joint in enumerate(joints):
            by_joint[joint] += int(np.count_nonzero(flags[axis :: len(joints)]))
        numbers = np.flatnonzero(flags)[: NAMED - len(named)]
        which = {'run': k} if len(strips) > 1 else {}
        named += [which | run.describe(int(number)) for number in numbers]
    return dict(by_joint), named


def _trust(missed: int, share: float, allowed: float) -> Trust:
    if missed == 0:
        return Trust.GUARANTEED
    return Trust.RELAXED if share <= allowed else Trust.BOUNDS_TOO_SMALL


def _warnings(problem: Problem, run: Bounding, trust: Trust, lost: Indices) -> list[str]:
    found = []
    if trust is not Trust.GUARANTEED:
        missed = sum(int(np.count_nonzero(each)) for each in run.missed)
        text = (
            f'{missed} strips ({100 * run.missed_share:.2g} %) contradict the others and were left '
            f'out: their bounds are too small, by a factor of up to {run.largest_excess():.3g}'
        )
        found.append(
            f'{text}; the set holds the parameters only if those samples alone are out of bounds'
            if trust is Trust.RELAXED
            else f'{text}; these are so many that the set guarantees nothing; raise the bounds, '
            'or outliers= if so many samples may be wrong'
        )
    if lost.size:
        names = ', '.join(problem.names[i] for i in lost)
        found.append(f'the strips hardly bound {names}: there the set is the start')
    return found
