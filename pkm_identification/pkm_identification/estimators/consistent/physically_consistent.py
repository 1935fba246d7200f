"""Weighted least squares over the standard parameters that real bodies and friction can have.

[M 4] as a convex problem: pseudo-inertias instead of [M eq. 28], which alone would allow
inertias without a distribution of mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from scipy.linalg import null_space
from scipy.special import chdtrc

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.covariance.at_constraints import covariance_at_constraints
from pkm_identification.covariance.residual_scaling import residual_scaled_covariance, sensitivity
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.estimators.numerics import with_variance
from pkm_identification.physical.bodies import MARGIN, PhysicalBodies
from pkm_identification.physical.nearest import CLOSENESS
from pkm_identification.physical.programme import Limits, PhysicalProgram, Solution
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
    whitened_rows,
)

Range = Sequence[float] | float

MOST = 1e8  # standard deviations in all forces together
LARGE = 100.0  # times its size: a prior that leaves a parameter so uncertain says nothing of it


def feasible(
    problem: Problem,
    margin: float = MARGIN,
    masses: Mapping[str, Range] | None = None,
    total_mass: Range | None = None,
    nominal_spread: float | None = None,
) -> Estimate:
    """Best estimate among the physical ones.

    The residuals are whitened by the noise and weighted as by `gauss_markov`; where its
    estimate is physical, this is the same one.

    Parameters
    ----------
    problem
        Any.
    margin
        Least eigenvalue of each body's pseudo-inertia, in units in which the nominal body
        has mass one and second moments about its frame that add to one.
    masses
        Mass [kg] of links by name or pattern: (lowest, highest), or one value.
    total_mass
        Mass [kg] of all moving links together: (lowest, highest), or one value.
    nominal_spread
        Relative standard deviation of the bodies about those of the description, as a prior
        (log-determinant divergence of the pseudo-inertias); None for no prior.

    Returns
    -------
    Estimate
        With physical standard parameters. Its covariance is that without limits, less what
        they take away, see `covariance_at_constraints`; with a `nominal_spread`, that of the
        posterior in Laplace's approximation.

    Raises
    ------
    EstimationError
        An option cannot be used, or no physical bodies have what is fixed or bounded.
    """
    bodies = PhysicalBodies(problem.model, problem.base.space)
    limits = build_limits(problem, bodies, margin, masses, total_mass, nominal_spread)
    noise = noise_of_rows(problem)
    free = weighted_least_squares(problem, [inverse_root(each) for each in noise], noise)
    matrix = combinations(problem)
    triangle, target = triangular(*whitened_rows(problem, noise))
    if nominal_spread is None:  # exact data have weights that the solver cannot stand
        scale = min(1.0, MOST / max(float(np.linalg.norm(target)), 1e-300))
        triangle, target = scale * triangle, scale * target
    program = PhysicalProgram(bodies, triangle @ matrix[problem.free], limits=limits)
    found = program.solve(target, nearby(bodies, matrix, problem.expand(free.values)))
    values = matrix[problem.free] @ found.x
    covariance, rests_on, distance = covariance_at_constraints(problem, free, values)
    undetermined, change = free.undetermined, None
    if nominal_spread is not None:  # the limits are those of the prior: it takes no more away
        covariance, fit = residual_scaled_covariance(problem, free)
        rests_on = fit.covariance_rests_on
        covariance, change = posterior(
            problem, bodies, found, covariance, sensitivity(problem, free), nominal_spread
        )
        size = np.abs(matrix[problem.free]) @ bodies.sizes
        undetermined = np.flatnonzero(np.sqrt(np.diag(covariance)) > LARGE * size)
        covariance = with_variance(covariance, undetermined)
        rests_on = f'{rests_on} and the nominal bodies'
    return Estimate(
        values=values,
        covariance=covariance,
        undetermined=undetermined,
        condition_number=free.condition_number,
        noise=free.noise,
        sensitivity=change,
        covariance_rests_on=rests_on,
        standard_parameters=problem.base.space.expand @ found.x,
        diagnostics=figures(problem, found.active, distance, margin),
    )


@dataclass(frozen=True)
class ConsistencyDiagnostics:
    """What the limits of physical bodies changed."""

    active_constraints: tuple[str, ...]
    distance_from_unconstrained: float  # standard deviations
    p_value_physical: float
    """Probability of at least that distance if the robot is physical: chi-squared with the
    number of parameters, an upper bound."""
    margin: float


def figures(
    problem: Problem, active: Sequence[str], distance: float, margin: float
) -> ConsistencyDiagnostics:
    """Return what the limits changed, with the probability of that distance."""
    p_value = float(chdtrc(problem.size, distance**2))
    return ConsistencyDiagnostics(tuple(active), distance, p_value, margin)


def combinations(problem: Problem) -> Array:
    """Base parameters (r, n_g) from the free standard ones."""
    return np.asarray(problem.base.matrix @ problem.base.space.expand)


def triangular(design: Array, target: Array) -> tuple[Array, Array]:
    """Compress whitened rows to as many as there are unknowns; the rest is a constant."""
    factor = np.asarray(np.linalg.qr(np.column_stack([design, target]), mode='r'))
    size = design.shape[1]
    return factor[:size, :-1], factor[:size, -1]


def nearby(bodies: PhysicalBodies, matrix: Array, values: Array) -> Array:
    """Free standard parameters (n_g,) with base parameters (r,), nearest to the nominal ones."""
    change = np.linalg.lstsq(matrix * bodies.sizes, values - matrix @ bodies.nominal, rcond=None)
    return np.asarray(bodies.nominal + bodies.sizes * change[0])


def build_limits(
    problem: Problem,
    bodies: PhysicalBodies,
    margin: float,
    masses: Mapping[str, Range] | None,
    total_mass: Range | None,
    nominal_spread: float | None,
) -> Limits:
    """Put the options of the bodies, and the fixed base parameters, into rows."""
    names = list(problem.model.parameter_names)
    expand = problem.base.space.expand
    matrix = combinations(problem)
    bounds: dict[str, tuple[Array, float, float]] = {}
    for index, value in zip(problem.selection.fixed, problem.selection.values, strict=True):
        bounds[problem.base.names[index]] = (matrix[index], float(value), float(value))
    rows = {name.removesuffix('.m'): expand[i] for i, name in enumerate(names) if name[-2:] == '.m'}
    inside = np.array(list(bodies.blocks.values())).reshape(-1, expand.shape[1])
    for row in rows.values():  # a mass that is no part of a body with inertia
        for label in (bodies.names[i] for i in np.flatnonzero(row)):
            k = bodies.names.index(label)
            if not inside[:, k].any():
                bounds[label] = (np.eye(len(bodies.names))[k], 0.0, np.inf)
    for pattern, given in (masses or {}).items():
        low, high = _range(f"masses of '{pattern}'", given)
        matching = [row for link, row in rows.items() if fnmatchcase(link, pattern)]
        labels = {bodies.names[int(np.argmax(row))]: row for row in matching if row.any()}
        if not labels:
            raise EstimationError(
                f"masses: no link with a mass matches '{pattern}'; there are {', '.join(rows)}"
            )
        bounds |= {label: (row, low, high) for label, row in labels.items()}
    if total_mass is not None:
        low, high = _range('total_mass', total_mass)
        bounds['total mass'] = (np.sum(list(rows.values()), axis=0), low, high)
    return Limits(margin, bounds, nominal_spread)


def posterior(
    problem: Problem,
    bodies: PhysicalBodies,
    found: Solution,
    covariance: Array,
    change: Array,
    spread: float,
) -> tuple[Array, Array]:
    """Covariance (f, f) with the prior's curvature at the solution (Laplace), and sensitivity.

    The divergence has the Hessian trace(S^-1 B_i S^-1 B_j) in the parameters with S =
    sum B_i p_i: the square of L^-1 B_i L^-T, S = L L^T. What is fixed stays: the parameters
    are those of a point plus the null space of the fixed combinations.

    Parameters
    ----------
    covariance, change
        Of the estimate without prior (f, f), and with the fixed parameters (f, g).
    spread
        Relative standard deviation of the bodies.

    Returns
    -------
    covariance, change
        The same with the prior.
    """
    whole = combinations(problem) * bodies.sizes
    matrix = whole[problem.free]
    known = np.isfinite(np.diag(covariance))
    deviation = np.sqrt(np.diag(covariance)[known])
    correlation = covariance[np.ix_(known, known)] / np.outer(deviation, deviation)
    values, axes = np.linalg.eigh(correlation)
    root = (axes / np.sqrt(np.maximum(values, 1e-14 * values[-1]))).T / deviation
    rows = [root @ matrix[known], np.sqrt(CLOSENESS) * np.eye(matrix.shape[1])]
    for name, (_, has_mass) in bodies.scales.items():
        if has_mass:
            face = bodies.faces[name]
            basis = np.einsum('ai,abk,bj->ijk', face, bodies.scaled_basis(name), face)
            inverse = np.linalg.inv(np.linalg.cholesky(bodies.scaled_pseudo_inertia(name, found.x)))
            bent = np.einsum('ai,ijk,bj->abk', inverse, basis, inverse)
            rows.append(bent.reshape(-1, basis.shape[-1]) / spread)
    stacked = np.concatenate(rows)
    fixed = whole[problem.selection.fixed]
    size = np.linalg.norm(fixed, axis=1)
    along = np.linalg.pinv(fixed / size[:, None]) / size  # (n_g, g)
    unfixed = null_space(fixed / size[:, None]) if len(fixed) else np.eye(matrix.shape[1])
    left, singular, right = np.linalg.svd(stacked @ unfixed, full_matrices=False)
    inward = unfixed @ (right.T / singular)
    target = np.zeros((len(stacked), len(fixed)))
    target[: len(root)] = root @ change[known]
    moved = along + inward @ (left.T @ (target - stacked @ along))
    factor = matrix @ inward
    return np.asarray(factor @ factor.T), np.asarray(matrix @ moved)


def _range(what: str, given: Range) -> tuple[float, float]:
    """Return (low, high) of a pair, or twice a value."""
    try:
        ends = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.shape == (1,):
        ends = np.repeat(ends, 2)
    if ends.shape != (2,) or np.isnan(ends).any() or ends[0] > ends[1] or ends[1] <= 0:
        raise EstimationError(f'{what}: give a value or (lowest, highest) in kg, not {given!r}')
    return float(ends[0]), float(ends[1])
