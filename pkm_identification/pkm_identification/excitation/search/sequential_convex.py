"""Sequential convex programming with a trust region, for sampled constraints.

Each step solves a quadratic program (PIQP) in which criterion and constraints are
linearised and the criterion's curvature is a damped BFGS estimate. Violations are
allowed at a price, so that any start works; the price follows the multipliers. Where the
constraints bend away, the step is corrected with their values at its end (second-order
correction), which costs no derivatives and keeps the steps long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import piqp

from pkm_identification.arrays import Array, Indices


@dataclass(frozen=True)
class Linearisation:
    """First-order model of a problem at some unknowns z."""

    value: float  # of the criterion
    gradient: Array  # (n_z,)
    constraints: Array  # (K,) near their limits, feasible when not positive
    jacobian: Array  # (K, n_z)
    labels: Indices  # (K,), which constraints these are, for `Problem.constraints_of`


class Problem(Protocol):
    """What can be minimised here."""

    def value(self, z: Array) -> tuple[float, float]:
        """Return the criterion and the worst constraint value."""

    def linearise(self, z: Array) -> Linearisation:
        """Return the first-order model at z."""

    def constraints_of(self, z: Array, labels: Indices) -> Array:
        """Return the values (K,) of some constraints at z."""


FIRST_RADIUS = 0.3
LARGEST_RADIUS = 1.0
SMALLEST_RADIUS = 2e-4
FIRST_PRICE = 200.0  # per unit of constraint violation
PRICE = 2.0  # times the sum of the multipliers
RAISED = 1.5  # where even this price is paid
SLACK = 1e-5  # violation that counts as none
CORRECTIONS = 2  # of one step, at most
ACCEPTED = 0.05  # of the predicted decrease
GOOD, POOR, CORRECTED = 0.6, 0.3, 0.75
STALLED = 1e-3  # decrease of the merit over STALL_STEPS accepted steps, relative to it
STALL_STEPS = 6
USABLE = (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)


class Step(NamedTuple):
    """Solution of a quadratic program: direction (n_z,), violation, sum of the multipliers."""

    direction: Array
    slack: float
    multipliers: float


class Point(NamedTuple):
    """Criterion and worst violation."""

    value: float
    worst: float

    def merit(self, price: float) -> float:
        """Return the criterion with the price of the violation."""
        return self.value + price * max(self.worst, 0.0)


def minimise(
    problem: Problem,
    z: Array,
    iterations: int,
    step: Callable[[int, float], bool] = lambda count, value: False,
    stalled: float = STALLED,
) -> tuple[Array, int]:
    """Return a local minimiser from the start z, and the iterations used.

    The result may exceed constraints by a small amount; repair it afterwards. `step` gets
    the number of the iteration and the criterion, and ends the search where it returns true;
    so does a relative decrease of less than `stalled` over several steps.
    """
    radius, price = FIRST_RADIUS, FIRST_PRICE
    model = problem.linearise(z)
    curvature = 1e-3 * np.eye(len(z))
    if not np.isfinite(model.value):
        return z, 0
    history = [_point(model)]
    count = 0
    for count in range(1, iterations + 1):
        if step(count, model.value):
            break
        found = _solve(curvature, model, model.constraints, radius, price)
        price = _next_price(price, found)
        here = history[-1].merit(price)
        d = found.direction
        change = float(model.gradient @ d + 0.5 * d @ curvature @ d)
        predicted = here - (model.value + change + price * found.slack)
        d, reached = _corrected(problem, z, model, curvature, radius, price, found, here, predicted)
        decrease = here - reached.merit(price)
        ratio = decrease / max(predicted, 1e-12) if np.isfinite(decrease) else -np.inf
        if ratio > ACCEPTED:
            z = z + d
            before, model = model, problem.linearise(z)
            turn = model.gradient - before.gradient
            curvature = _updated(curvature, d, turn, first=len(history) == 1)
            history.append(_point(model))
            if ratio > GOOD:
                radius = min(2.0 * radius, LARGEST_RADIUS)
        if ratio < POOR:
            radius *= 0.5
        if radius < SMALLEST_RADIUS or _stalled(history, price, stalled):
            break
    return z, count


def restored(problem: Problem, z: Array, iterations: int) -> Array:
    """Return z moved by little, so that it keeps the constraints, or nearly so."""
    for _ in range(iterations):
        value, worst = problem.value(z)
        if worst <= 0.0 or not np.isfinite(value):
            break
        model = problem.linearise(z)
        nearest = _solve(np.eye(len(z)), model, model.constraints, FIRST_RADIUS, FIRST_PRICE, 0.0)
        z = z + nearest.direction
    return z


def _corrected(
    problem: Problem,
    z: Array,
    model: Linearisation,
    curvature: Array,
    radius: float,
    price: float,
    found: Step,
    here: float,
    predicted: float,
) -> tuple[Array, Point]:
    """Return the best of the step and its second-order corrections, and where it leads."""
    d = found.direction
    reached = Point(*problem.value(z + d))
    for _ in range(CORRECTIONS):
        decrease = here - reached.merit(price)
        if decrease > CORRECTED * predicted or reached.worst <= found.slack + SLACK:
            break
        if not np.isfinite(decrease):
            break
        bent = problem.constraints_of(z + d, model.labels) - model.jacobian @ d
        other = _solve(curvature, model, bent, radius, price).direction
        there = Point(*problem.value(z + other))
        if not there.merit(price) < reached.merit(price):
            break
        d, reached = other, there
    return d, reached


def _next_price(price: float, found: Step) -> float:
    """Return a price above the multipliers, which no violation is worth; falls slowly."""
    if found.slack < SLACK:
        return max(PRICE * found.multipliers, 0.5 * price)
    return RAISED * price


def _point(model: Linearisation) -> Point:
    return Point(model.value, _worst(model.constraints))


def _worst(constraints: Array) -> float:
    return float(constraints.max(initial=0.0))


def merit(value: float, worst: float) -> float:
    """Return a criterion with the price of the worst violation."""
    return Point(value, worst).merit(FIRST_PRICE)


def _stalled(history: list[Point], price: float, share: float) -> bool:
    if len(history) <= STALL_STEPS:
        return False
    last = history[-1].merit(price)
    return history[-1 - STALL_STEPS].merit(price) - last < share * max(abs(last), 1.0)


def _updated(curvature: Array, direction: Array, change: Array, first: bool) -> Array:
    """Return the damped BFGS update, which stays positive definite (Powell)."""
    if first:
        size = direction @ direction
        curvature = np.eye(len(direction)) * max(change @ direction, 1e-3 * size) / size
    image = curvature @ direction
    along = direction @ image
    if direction @ change < 0.2 * along:
        share = 0.8 * along / (along - direction @ change)
        change = share * change + (1.0 - share) * image
    return (
        curvature - np.outer(image, image) / along + np.outer(change, change) / (change @ direction)
    )


def _solve(
    curvature: Array,
    model: Linearisation,
    constraints: Array,
    radius: float,
    price: float,
    share: float = 1.0,
) -> Step:
    """Solve min share g d + d B d / 2 + price s, c + J d <= s, |d_i| <= radius, s >= 0."""
    n = len(model.gradient)
    kept = constraints + radius * np.abs(model.jacobian).sum(axis=1) > 0.0  # can become active
    c, jacobian = constraints[kept], model.jacobian[kept]
    quadratic = np.zeros((n + 1, n + 1))
    quadratic[:n, :n] = 0.5 * (curvature + curvature.T)
    linear = np.append(share * model.gradient, price)
    matrix = np.hstack([jacobian, -np.ones((len(c), 1))])
    low = np.append(np.full(n, -radius), 0.0)
    high = np.append(np.full(n, radius), np.inf)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    unbounded = np.full(len(c), -np.inf)
    solver.setup(quadratic, linear, None, None, matrix, unbounded, -c, low, high)
    status = solver.solve()
    x = np.asarray(solver.result.x)
    if status not in USABLE or not np.all(np.isfinite(x)):
        return Step(np.zeros(n), _worst(constraints), 0.0)
    direction = np.clip(x[:n], -radius, radius)
    slack = max(_worst(constraints + model.jacobian @ direction), 0.0)
    return Step(direction, slack, float(np.sum(solver.result.z_u)))
