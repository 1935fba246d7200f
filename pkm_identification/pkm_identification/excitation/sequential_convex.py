"""Sequential convex programming with a trust region, for sampled constraints.

Each step solves a quadratic program (PIQP) in which criterion and constraints are
linearised and the criterion's curvature is a damped BFGS estimate. Violations are
allowed at a price, so that any start works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import piqp
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Linearised(Protocol):
    """First-order model of a problem; see `problem.Linearisation`."""

    @property
    def value(self) -> float:
        """Criterion."""

    @property
    def gradient(self) -> Array:
        """Of the criterion (n_z,)."""

    @property
    def constraints(self) -> Array:
        """Near constraints (K,), feasible when not positive."""

    @property
    def jacobian(self) -> Array:
        """Of the constraints (K, n_z)."""


class Problem(Protocol):
    """What can be minimised here."""

    def value(self, z: Array) -> tuple[float, float]:
        """Return the criterion and the worst constraint value."""

    def linearise(self, z: Array) -> Linearised:
        """Return the first-order model at z."""


FIRST_RADIUS = 0.3
LARGEST_RADIUS = 1.0
SMALLEST_RADIUS = 2e-4
PENALTY = 200.0  # per unit of constraint violation
ACCEPTED = 0.05  # of the predicted decrease
GOOD, POOR = 0.6, 0.3
STALLED = 1e-3  # relative decrease of the merit over STALL_STEPS accepted steps
STALL_STEPS = 6
USABLE = (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED)


def minimise(
    problem: Problem,
    z: Array,
    iterations: int,
    step: Callable[[int, float], bool] = lambda count, value: False,
) -> tuple[Array, int]:
    """Return a local minimiser from the start z, and the iterations used.

    The result may exceed constraints by a small amount; repair it afterwards. `step` gets
    the number of the iteration and the criterion, and ends the search where it returns true.
    """
    radius = FIRST_RADIUS
    model = problem.linearise(z)
    curvature = 1e-3 * np.eye(len(z))
    if not np.isfinite(model.value):
        return z, 0
    history = [_merit(model.value, _worst(model.constraints))]
    count = 0
    for count in range(1, iterations + 1):
        if step(count, model.value):
            break
        direction, slack = _solve(curvature, model, radius)
        predicted = history[-1] - (
            model.value
            + model.gradient @ direction
            + 0.5 * direction @ curvature @ direction
            + PENALTY * slack
        )
        actual = history[-1] - _merit(*problem.value(z + direction))
        ratio = actual / max(float(predicted), 1e-12) if np.isfinite(actual) else -np.inf
        if ratio > ACCEPTED:
            z = z + direction
            before, model = model, problem.linearise(z)
            curvature = _updated(curvature, direction, model.gradient - before.gradient, count)
            history.append(_merit(model.value, _worst(model.constraints)))
            if ratio > GOOD:
                radius = min(1.6 * radius, LARGEST_RADIUS)
        if ratio < POOR:
            radius *= 0.5
        if radius < SMALLEST_RADIUS or _stalled(history):
            break
    return z, count


def _worst(constraints: Array) -> float:
    return float(constraints.max(initial=0.0))


def _merit(value: float, worst: float) -> float:
    return value + PENALTY * max(worst, 0.0)


def _stalled(history: list[float]) -> bool:
    if len(history) <= STALL_STEPS:
        return False
    return history[-1 - STALL_STEPS] - history[-1] < STALLED * max(abs(history[-1]), 1.0)


def _updated(curvature: Array, direction: Array, change: Array, count: int) -> Array:
    """Return the damped BFGS update, which stays positive definite (Powell)."""
    if count == 1:
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


def _solve(curvature: Array, model: Linearised, radius: float) -> tuple[Array, float]:
    """Solve min g d + d B d / 2 + penalty s, c + J d <= s, |d_i| <= radius, s >= 0."""
    n, rows = len(model.gradient), len(model.constraints)
    quadratic = np.zeros((n + 1, n + 1))
    quadratic[:n, :n] = 0.5 * (curvature + curvature.T)
    linear = np.append(model.gradient, PENALTY)
    matrix = np.hstack([model.jacobian, -np.ones((rows, 1))])
    low = np.append(np.full(n, -radius), 0.0)
    high = np.append(np.full(n, radius), np.inf)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    unbounded = np.full(rows, -np.inf)
    solver.setup(quadratic, linear, None, None, matrix, unbounded, -model.constraints, low, high)
    status = solver.solve()
    x = np.asarray(solver.result.x)
    if status not in USABLE or not np.all(np.isfinite(x)):
        return np.zeros(n), _worst(model.constraints)
    direction = np.clip(x[:n], -radius, radius)
    return direction, max(_worst(model.constraints + model.jacobian @ direction), 0.0)
