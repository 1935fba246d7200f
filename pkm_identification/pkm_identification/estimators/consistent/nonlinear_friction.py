"""Physical rigid bodies and nonlinear friction of the drives together [M eq. 29].

What is linear (bodies, rotors, friction of passive joints, Coulomb and viscous friction and
the laws' amplitudes) is found exactly, as a semidefinite programme, for every trial of the
few parameters that are not: variable projection. Those take steps of the same programme,
linear in their change and limited to a box where the model is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.covariance.at_constraints import covariance_at_constraints
from pkm_identification.estimators.consistent.friction_columns import (
    FrictionColumns,
    build_columns,
    coulomb_names,
)
from pkm_identification.estimators.consistent.nominal_prior import combinations
from pkm_identification.estimators.consistent.physically_consistent import (
    ConsistencyDiagnostics,
    Range,
    build_limits,
    feasible,
    figures,
    nearby,
    solver_warnings,
    wanted_friction,
)
from pkm_identification.estimators.consistent.weighing import (
    CONTRADICTED,
    is_chance,
    weighed_at_limits,
)
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.physical.bodies import LEAST_EIGENVALUE, PhysicalBodies
from pkm_identification.physical.programme import Limits, PhysicalProgram, Solution
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import (
    Estimate,
    inverse_root,
    weighted_least_squares,
    weighted_rows,
    weights_of,
)

WEIGHING_NOISE = 1e-5  # of the forces: exact data would let the search see nothing but rounding
LARGEST_AMPLITUDE = 10.0  # over the size of the forces: no friction is larger
FIRST_REACH = 0.7  # of the logarithm of a parameter: a factor of two, where the model is trusted
SMALLEST_REACH = 1e-6  # the search is at its end, whatever a step still promises
WORTH = 1e-3  # squared standard deviations that a step must promise
SOLVER_ERROR = 1e-7  # of the squared residuals, which the solver finds no better
FOLLOWED = 2  # best starts that are followed to their ends
AT_END = 1e-6  # of the logarithm: this close, a parameter is at the end of its range
NO_FRICTION = 1e-7  # amplitude over the size of the forces, below which there is none


@dataclass(frozen=True)
class FrictionDiagnostics(ConsistencyDiagnostics):
    """The same, and how the search for the friction went."""

    undetermined_friction: tuple[str, ...] = ()
    friction_laws: Mapping[str, str] = field(default_factory=dict)  # by group of drives
    squared_residuals: float = 0.0
    squared_residuals_linear_friction: float = 0.0  # with no more than Coulomb and viscous friction
    start_costs: tuple[float, ...] = ()  # by the noise alone, without what limits leave
    end_costs: tuple[float, ...] = ()  # of the starts that were followed, the best first
    iterations: tuple[int, ...] = ()  # of these


def nonlinear_friction(
    problem: Problem,
    law: str | Mapping[str, str] = 'stribeck',
    per_axis: bool = False,
    exponent: float | None = None,
    starts: int = 6,
    max_iterations: int = 50,
    margin: float = LEAST_EIGENVALUE,
    masses: Mapping[str, Range] | None = None,
    total_mass: Range | None = None,
) -> Estimate:
    """Physical bodies with friction of the drives that is not linear in its parameters.

    The search starts at points (Halton) in the ranges of the parameters; the best are followed
    to their ends, and a warning says where one is not reached. The covariance is of all parameters,
    linear about the solution, as in `feasible`. EstimationError where an option cannot be used, or
    nothing physical satisfies what is asked for. Options are declared in `estimator_options`.
    """
    columns = build_columns(problem, law, per_axis, exponent)
    if not columns.groups:
        return feasible(problem, margin, masses, total_mass)
    bodies = PhysicalBodies(problem.model, problem.base.space)
    limits = build_limits(problem, bodies, margin, masses, total_mass, None)
    noise = noise_of_rows(problem)

    def solve(counted: Sequence[Array], before: _WithFriction | None) -> _WithFriction:
        search = _Search(problem, columns, bodies, limits, counted)
        if before is None:
            ends, costs = search.run(starts, max_iterations)
        else:
            ends, costs = search.again(before.ends, max_iterations), before.costs
        linear = columns.linearised(ends[0].parameters)
        free = weighted_least_squares(linear, [inverse_root(each) for each in counted], noise)
        bodies_part = combinations(problem)[problem.free] @ ends[0].found.x
        values = np.concatenate([bodies_part, ends[0].parameters[~columns.constant]])
        return _WithFriction(search, ends, costs, linear, free, values)

    physical = weighed_at_limits(noise, solve)
    search, ends, costs = physical.search, physical.ends, physical.costs
    linear, free, values = physical.problem, physical.free, physical.values
    best = ends[0]
    active = [*best.found.active, *search.at_ends(best)]
    covariance, rests_on, distance = covariance_at_constraints(linear, free, values)
    told = figures(linear, best.found, active, distance, margin)
    if told.p_value_physical < CONTRADICTED:
        plain = weighted_least_squares(problem, weights_of(linear, free), noise)
        told = replace(told, wanted_friction=wanted_friction(problem, plain))
    return Estimate(
        values=values,
        covariance=covariance,
        undetermined=free.undetermined,
        condition_number=free.condition_number,
        noise=free.noise,
        covariance_rests_on=rests_on,
        standard_parameters=problem.base.space.expand @ best.found.x,
        drive_friction=columns.friction(best.parameters),
        friction_index=columns.joint_index,
        linearised=linear,
        diagnostics=FrictionDiagnostics(
            **vars(told),
            undetermined_friction=tuple(
                linear.names[i] for i in free.undetermined if i >= problem.size
            ),
            friction_laws={each.name: each.law for each in columns.groups},
            squared_residuals=best.cost,
            squared_residuals_linear_friction=search.linear_cost(),
            start_costs=tuple(costs),
            end_costs=tuple(end.cost for end in ends),
            iterations=tuple(end.iterations for end in ends),
        ),
        warnings=(*solver_warnings(best.found), *best.warnings),
    )


@dataclass(frozen=True)
class _Point:
    """The best linear part for given shapes; amplitudes are in `found.extra`."""

    shapes: Array  # (s,), logarithms
    found: Solution
    parameters: Array  # (g,) of the groups
    cost: float  # squared residuals
    iterations: int = 0
    promised: float = 0.0  # squared standard deviations that a further step would gain

    @property
    def warnings(self) -> list[str]:
        """Say that the search was not at its end."""
        where = f'did not converge in {self.iterations} steps: another one promises'
        text = (
            f'the search {where} {self.promised:.2g} of {self.cost:.4g} squared standard deviations'
        )
        return [f'{text}; raise max_iterations'] if self.promised else []


@dataclass(frozen=True)
class _WithFriction:
    """Ends of a search, the best first, and the best linear about it."""

    search: _Search
    ends: list[_Point]
    costs: list[float]  # of the starts
    problem: Problem  # linear about the best
    free: Estimate  # without limits
    values: Array  # (f,)

    @property
    def is_contradicted(self) -> bool:
        """Whether chance alone does not move them so far; a search that was cut short may have."""
        if self.ends[0].promised:
            return False
        rows, _ = weighted_rows(self.problem, weights_of(self.problem, self.free))
        distance = float(np.linalg.norm(rows @ (self.free.values - self.values)))
        return not is_chance(self.problem, distance)


class _Search:
    """Squared whitened residuals as a function of the logarithms of the shapes."""

    def __init__(
        self,
        problem: Problem,
        columns: FrictionColumns,
        bodies: PhysicalBodies,
        limits: Limits,
        noise: Sequence[Array],
    ) -> None:
        self._columns, self._bodies = columns, bodies
        self._roots = [
            inverse_root(each + np.diag((WEIGHING_NOISE * run.force_size) ** 2))
            for run, each in zip(problem.runs, noise, strict=True)
        ]
        self._low = np.log(np.concatenate([each.low for each in columns.groups]))
        self._high = np.log(np.concatenate([each.high for each in columns.groups]))
        self._force = np.array([each.force for each in columns.groups])
        matrix = combinations(problem)
        runs = zip(problem.runs, self._roots, strict=True)
        design, target, _ = zip(*(run.rows.weighted(root) for run, root in runs), strict=True)
        self._prior = len(problem.prior_target)
        self._q, triangle = np.linalg.qr(np.concatenate([*design, problem.prior_rows]))
        whole = np.concatenate([*target, problem.prior_target])
        self._target = self._q.T @ whole
        self._rest = whole - self._q @ self._target
        self._size = len(self._force) + len(self._low)
        near = np.linalg.lstsq(triangle, self._target, rcond=1e-10)[0]
        self._near = nearby(bodies, matrix, problem.expand(near))
        bodies.size_coefficients(self._near)
        self._linear = PhysicalProgram(bodies, triangle @ matrix[problem.free], limits)
        wide = np.pad(triangle @ matrix[problem.free], ((0, self._size), (0, 0)))
        self._program = PhysicalProgram(bodies, wide, *self._linear_friction(problem, limits))

    def _linear_friction(self, problem: Problem, limits: Limits) -> tuple[Limits, dict[str, Array]]:
        """What the laws ask of Coulomb and viscous friction.

        Friction must not drive: Coulomb friction and the largest negative amount of the law
        are not negative together. A power of the speed stands in place of viscous friction.
        """
        expand, names = problem.base.space.expand, list(problem.model.parameter_names)
        joints = problem.model.actuated_joints
        bounds, coupled = dict(limits.bounds), {}
        for k, group in enumerate(self._columns.groups):
            for joint in (joints[axis] for axis in group.axes):
                viscous = f'{joint}.viscous'
                if group.law == 'power' and viscous in names:
                    row = expand[names.index(viscous)]
                    bounds[self._bodies.names[int(np.argmax(row))]] = (row, 0.0, 0.0)
                if group.law == 'atan':
                    for name in coulomb_names(problem, joint):
                        row = expand[names.index(name)]
                        label = self._bodies.names[int(np.argmax(row))]
                        extra = 0.5 * np.pi * np.eye(self._size)[k]
                        whole = np.concatenate([row / group.force, extra])
                        coupled[f'{label} + pi/2 {group.name}.atan_force >= 0'] = whole
        return Limits(limits.margin, bounds, limits.spread), coupled

    def run(self, starts: int, max_iterations: int) -> tuple[list[_Point], list[float]]:
        """Follow the best starts; ends with the best first, and the costs of the starts."""
        from scipy.stats import qmc  # takes a second to load

        halton = qmc.Halton(len(self._low), scramble=False)
        halton.fast_forward(1)  # the first point is a corner
        points = self._low + halton.random(starts) * (self._high - self._low)
        trials = sorted((self.at(point) for point in points), key=lambda point: point.cost)
        ends = [self._descend(trial, max_iterations) for trial in trials[:FOLLOWED]]
        return sorted(ends, key=lambda end: end.cost), [trial.cost for trial in trials]

    def again(self, before: Sequence[_Point], max_iterations: int) -> list[_Point]:
        """Go on from the ends of a search with other weights; the best first."""
        ends = []
        for each in before:
            end = self._descend(self.at(each.shapes), max_iterations)
            ends.append(replace(end, iterations=each.iterations + end.iterations))
        return sorted(ends, key=lambda end: end.cost)

    def at(self, shapes: Array) -> _Point:
        """Best linear part for given shapes."""
        parameters = self._parameters(np.zeros(len(self._force)), shapes)
        still = np.zeros(len(shapes))
        found, cost = self._solve(parameters, still, still)
        # At its limit of zero the solver leaves some 1e-11 N, of which the shapes, which
        # nothing then shows, would still be shapes: exactly zero makes no forces.
        amplitudes = found.extra[: len(self._force)]
        amplitudes = np.where(np.abs(amplitudes) < NO_FRICTION, 0.0, amplitudes)
        return _Point(shapes, found, self._parameters(amplitudes, shapes), cost)

    def linear_cost(self) -> float:
        """Squared residuals with no more than Coulomb and viscous friction."""
        found = self._linear.solve(self._target, self._near)
        return found.cost + float(self._rest @ self._rest)

    def at_ends(self, point: _Point) -> list[str]:
        """Names of the shapes at an end of their range."""
        names = [self._columns.names[i] for i in self._columns.shapes]
        free = self._high > self._low
        ends = zip(names, point.shapes, self._low, self._high, free, strict=True)
        return [
            f'{name} {"<=" if high - at < AT_END else ">="} '
            f'{np.exp(high if high - at < AT_END else low):.4g}'
            for name, at, low, high, inside in ends
            if inside and min(at - low, high - at) < AT_END
        ]

    def _descend(self, point: _Point, max_iterations: int) -> _Point:
        """Steps of the linearised problem, each within a box about the last point."""
        reach, gain = FIRST_REACH, 0.0
        for count in range(1, max_iterations + 1):
            low = np.maximum(self._low - point.shapes, -reach)
            high = np.minimum(self._high - point.shapes, reach)
            step, predicted = self._solve(point.parameters, low, high)
            gain = point.cost - predicted
            if gain <= max(WORTH, SOLVER_ERROR * point.cost):
                return replace(point, iterations=count)
            moved = np.clip(point.shapes + step.extra[len(self._force) :], self._low, self._high)
            trial = self.at(moved)
            share = (point.cost - trial.cost) / gain
            if share > 0.1:
                point = trial
            reach *= 2.0 if share > 0.75 else 1.0 if share > 0.25 else 0.3
            if reach < SMALLEST_REACH:
                return replace(point, iterations=count)
        return replace(point, iterations=max_iterations, promised=gain)

    def _parameters(self, amplitudes: Array, shapes: Array) -> Array:
        """Parameters (g,) of the groups from unknowns of the programme."""
        values = np.empty(self._size)
        values[self._columns.amplitudes] = amplitudes[: len(self._force)] * self._force
        values[self._columns.shapes] = np.exp(shapes)
        return values

    def _solve(self, parameters: Array, low: Array, high: Array) -> tuple[Solution, float]:
        """Solve with the laws linear about `parameters`, shapes changing from low to high."""
        columns = self._design(parameters)
        projected = self._q.T @ columns
        outside = np.column_stack([columns - self._q @ projected, self._rest])
        factor = np.asarray(np.linalg.qr(outside, mode='r'))
        size = self._size
        most = np.full(len(self._force), LARGEST_AMPLITUDE)
        least = -most * [each.law == 'atan' for each in self._columns.groups]
        found = self._program.solve(
            np.concatenate([self._target, factor[:size, size]]),
            self._near,
            np.concatenate([projected, factor[:size, :size]]),
            (np.concatenate([least, low]), np.concatenate([most, high])),
        )
        return found, found.cost + float(factor[size, size] ** 2)

    def _design(self, parameters: Array) -> Array:
        """Whitened columns: forces of unit amplitudes, slopes by the logarithms of the shapes."""
        columns = self._columns
        unit = parameters.copy()
        unit[columns.amplitudes] = self._force
        by_amplitude, by_shape = columns.friction(unit), columns.friction(parameters)
        order = np.concatenate([columns.amplitudes, columns.shapes])
        scale = np.concatenate([self._force, parameters[columns.shapes]])

        def both(velocities: Array) -> Array:
            jacobian = columns.jacobian(by_shape, velocities)
            linear = columns.jacobian(by_amplitude, velocities)
            jacobian[..., columns.amplitudes] = linear[..., columns.amplitudes]
            return jacobian[..., order] * scale

        parts = [
            (root @ rows).reshape(-1, len(order))
            for (_, rows), root in zip(columns.rows(both), self._roots, strict=True)
        ]
        return np.concatenate([*parts, np.zeros((self._prior, len(order)))])
