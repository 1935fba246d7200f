"""Weighted least squares over the standard parameters that real bodies and friction can have.

[M 4] as a convex problem: pseudo-inertias instead of [M eq. 28], which alone would allow
inertias without a distribution of mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.covariance.at_constraints import covariance_at_constraints
from pkm_identification.covariance.residual_scaling import residual_scaled_covariance
from pkm_identification.estimators.consistent.nominal_prior import (
    Tried,
    by_evidence,
    combinations,
    posterior,
    prior_share,
)
from pkm_identification.estimators.consistent.weighing import (
    CONTRADICTED,
    chance_of,
    is_chance,
    weighed_at_limits,
)
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.physical.bodies import LEAST_EIGENVALUE, PhysicalBodies
from pkm_identification.physical.cone_least_squares import Solver
from pkm_identification.physical.programme import Limits, PhysicalProgram, Solution
from pkm_identification.regression.numerics import whitening_rows, with_variance
from pkm_identification.regression.prior import LEAST_CORRELATION
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
    weighted_rows,
    weights_of,
)
from pkm_identification.result.diagnostics import LimitDiagnostics, WantedFriction

Range = Sequence[float] | float

NOTICEABLE = 0.1  # standard deviations: more is worth a warning
LARGE = 100.0  # times its size: a prior that leaves a parameter so uncertain says nothing of it


def feasible(
    problem: Problem,
    margin: float = LEAST_EIGENVALUE,
    masses: Mapping[str, Range] | None = None,
    total_mass: Range | None = None,
    nominal_spread: float | str | None = None,
) -> Estimate:
    """Best estimate among the physical ones.

    The residuals are whitened by the noise and weighted as by `gauss_markov`; where its estimate
    is physical, this is the same one. Where the data contradict the limits, what these leave of the
    forces of an axis counts as its noise, too, as in `wls`: an axis that no physical bodies explain
    bends the others less. Options are declared in `estimator_options`; `masses` are of links by
    name or pattern, `nominal_spread` is a prior on the bodies (log-determinant divergence of the
    pseudo-inertias), by `evidence` that under which the data are most probable.

    The covariance is that without limits, less what they take away, see
    `covariance_at_constraints`; with a `nominal_spread`, that of the posterior in Laplace's
    approximation. EstimationError where an option cannot be used, or no physical bodies have what
    is fixed or bounded.
    """
    bodies = PhysicalBodies(problem.model, problem.base.space)
    limits = build_limits(problem, bodies, margin, masses, total_mass, None)
    noise = noise_of_rows(problem)
    if nominal_spread is None:

        def solve(counted: Sequence[Array], _: _Physical | None) -> _Physical:
            weights = [inverse_root(each) for each in counted]
            free = weighted_least_squares(problem, weights, noise)
            programme = _Programme.of(problem, bodies, limits, free)
            return _Physical(problem, free, programme, programme.solve())

        physical = weighed_at_limits(noise, solve)
        free, programme, found = physical.free, physical.programme, physical.found
    else:
        free = weighted_least_squares(problem, [inverse_root(each) for each in noise], noise)
        programme = _Programme.of(problem, bodies, limits, free)
    tried: list[Tried] = []
    if isinstance(nominal_spread, str):  # the prior counts against what the residuals leave known
        data, _ = residual_scaled_covariance(problem, free)
        known = np.isfinite(np.diag(data))
        triangle = np.zeros((int(known.sum()), problem.size))
        triangle[:, known] = whitening_rows(data[np.ix_(known, known)], LEAST_CORRELATION)
        programme = replace(programme, triangle=triangle, target=triangle @ free.values)
        tried = by_evidence(problem, bodies, programme.design, programme.solve)
        nominal_spread = max(tried, key=lambda each: each.log_evidence).spread
    if nominal_spread is not None:
        found = programme.solve(nominal_spread)
    values = programme.values(found)
    covariance, rests_on, distance = covariance_at_constraints(problem, free, values)
    undetermined, change, share = free.undetermined, None, 0.0
    if nominal_spread is not None:  # the limits are those of the prior: it takes no more away
        data, fit = residual_scaled_covariance(problem, free)
        forms = [each / nominal_spread for each in bodies.relative_forms(found.x)]
        covariance, change = posterior(problem, bodies, free, data, forms)
        share = prior_share(data, covariance)
        size = np.abs(combinations(problem)[problem.free]) @ bodies.sizes
        undetermined = np.flatnonzero(np.sqrt(np.diag(covariance)) > LARGE * size)
        covariance = with_variance(covariance, undetermined)
        brought = f'the nominal bodies, which bring {100 * share:.2g} % of the precision'
        rests_on = f'{fit.covariance_rests_on} and {brought}'
    told = figures(problem, found, found.active, distance, margin)
    if told.p_value_physical < CONTRADICTED:
        told = replace(told, wanted_friction=wanted_friction(problem, free))
    if nominal_spread is not None:
        evidence = {f'{each.spread:g}': each.log_evidence for each in tried}
        told = replace(
            told, nominal_spread=nominal_spread, prior_share=share, log_evidence=evidence
        )
    return Estimate(
        values=values,
        covariance=covariance,
        undetermined=undetermined,
        condition_number=free.condition_number,
        noise=free.noise,
        sensitivity=change,
        covariance_rests_on=rests_on,
        standard_parameters=problem.base.space.expand @ found.x,
        diagnostics=told,
        warnings=solver_warnings(found),
    )


@dataclass(frozen=True)
class _Physical:
    """Estimate without limits, programme and its solution."""

    problem: Problem
    free: Estimate
    programme: _Programme
    found: Solution

    @property
    def values(self) -> Array:
        """Free base parameters (f,)."""
        return self.programme.values(self.found)

    @property
    def is_contradicted(self) -> bool:
        """Whether chance alone does not move them so far."""
        distance = np.linalg.norm(self.programme.triangle @ (self.values - self.free.values))
        return not is_chance(self.problem, float(distance))


@dataclass(frozen=True)
class _Programme:
    """Physical least squares of weighted rows R p - t, in their triangle."""

    problem: Problem
    bodies: PhysicalBodies
    limits: Limits
    triangle: Array  # R (k, f)
    target: Array  # t (k,)
    near: Array  # (n_g,) near which the solution is

    @classmethod
    def of(
        cls, problem: Problem, bodies: PhysicalBodies, limits: Limits, free: Estimate
    ) -> _Programme:
        """Return that with the weights of an estimate without limits."""
        rows = np.column_stack(weighted_rows(problem, weights_of(problem, free)))
        factor = np.asarray(np.linalg.qr(rows, mode='r'))
        near = nearby(bodies, combinations(problem), problem.expand(free.values))
        bodies.size_coefficients(near)
        size = problem.size
        return cls(problem, bodies, limits, factor[:size, :-1], factor[:size, -1], near)

    @property
    def design(self) -> Array:
        """Rows (k, n_g) over the free standard parameters."""
        return np.asarray(self.triangle @ combinations(self.problem)[self.problem.free])

    def solve(self, spread: float | None = None) -> Solution:
        """Solve with a spread of the bodies about the nominal ones."""
        limits = replace(self.limits, spread=spread)
        return PhysicalProgram(self.bodies, self.design, limits).solve(self.target, self.near)

    def values(self, found: Solution) -> Array:
        """Free base parameters (f,) of a solution."""
        return np.asarray(combinations(self.problem)[self.problem.free] @ found.x)


@dataclass(frozen=True)
class ConsistencyDiagnostics(LimitDiagnostics):
    """What the limits of physical bodies changed."""

    active_constraints: tuple[str, ...]
    distance_from_unconstrained: float  # standard deviations
    # Probability of at least that distance if the robot is physical: chi-squared with the number
    # of parameters, an upper bound
    p_value_physical: float
    margin: float
    solver: str = Solver.INTERIOR_POINT.value  # that found it
    # Standard deviations: the best physical estimate is at most so far away, by the multipliers
    optimality: float = 0.0
    # Standard deviations that staying near the nominal bodies costs, in what the data leave open
    prior_pull: float = 0.0
    # With the nominal bodies as a prior: relative standard deviation about them, share of the
    # precision that they brought, and logarithm of the evidence of each spread that was tried
    nominal_spread: float | None = None
    prior_share: float = 0.0
    log_evidence: Mapping[str, float] = field(default_factory=dict)


def wanted_friction(problem: Problem, free: Estimate) -> tuple[WantedFriction, ...]:
    """Return the friction of the drives in the estimate without limits."""
    covariance, _ = residual_scaled_covariance(problem, free)
    deviations = np.sqrt(np.diag(covariance))
    drives = tuple(f'{joint}.' for joint in problem.model.actuated_joints)
    names = [problem.base.names[index] for index in problem.selection.free]
    found = zip(names, free.values, deviations, strict=True)
    return tuple(
        WantedFriction(name, float(value), float(deviation))
        for name, value, deviation in found
        if name.startswith(drives) and name.endswith(('.coulomb', '.viscous'))
    )


def figures(
    problem: Problem, found: Solution, active: Sequence[str], distance: float, margin: float
) -> ConsistencyDiagnostics:
    """Return what the limits changed, with the probability of that distance."""
    p_value = chance_of(problem, distance)
    return ConsistencyDiagnostics(
        active_constraints=tuple(active),
        distance_from_unconstrained=distance,
        p_value_physical=p_value,
        margin=margin,
        solver=found.solver.value,
        optimality=found.accuracy,
        prior_pull=found.pull,
    )


def solver_warnings(found: Solution) -> tuple[str, ...]:
    """Say where the estimate is not the best physical one, or the nominal bodies hold it."""
    warnings = []
    if not found.is_accurate:
        how = (
            f'at most {found.accuracy:.2g} standard deviations away'
            if np.isfinite(found.accuracy)
            else 'at a distance that is not known'
        )
        warnings.append(
            f'no solver reached the best physical estimate, which is {how}: this one is that of '
            f'{found.solver.value}'
        )
    if found.pull > NOTICEABLE:
        warnings.append(
            'the data leave parameters open: staying near the nominal bodies in these moved the '
            f'estimate by up to {found.pull:.2g} standard deviations'
        )
    return tuple(warnings)


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
    blocks = np.array(list(bodies.blocks.values())).reshape(-1, expand.shape[1])
    inside = np.asarray(blocks.any(axis=0))
    for row in rows.values():  # a mass that is no part of a body with inertia
        for k in np.flatnonzero((row != 0) & ~inside):
            bounds[bodies.names[k]] = (np.eye(len(inside))[k], 0.0, np.inf)
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


def _range(what: str, given: Range) -> tuple[float, float]:
    """Return (low, high) of a pair, or twice a value."""
    try:
        ends = np.asarray(given, dtype=float).ravel()
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.size == 1:
        ends = np.repeat(ends, 2)
    if ends.shape != (2,) or np.isnan(ends).any() or ends[0] > ends[1] or ends[1] <= 0:
        raise EstimationError(f'{what}: give a value or (lowest, highest) in kg, not {given!r}')
    return float(ends[0]), float(ends[1])
