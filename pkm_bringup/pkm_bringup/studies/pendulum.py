"""The inverted double pendulum of [O chapter 3]: least squares, EKF and UKF.

Parameters are the lengths and masses l1, l2, m1, m2, M; the measurement is the force on the
cart and the moments at both hinges, which are zero in free fall [O eq. 3.6, 3.12]. These are
proportional to the masses: any multiple of the masses fits a free fall, and none at all fits
it too. Free fall shows lengths and ratios of masses; what an estimator says of their common
scale comes from its start ([O] starts with three masses of 1 kg, whose norm happens to be within
1 % of that of the true ones). The study therefore has two parts: free fall alone, as in [O], and
free fall with the weight of the whole apparatus, which is a measurement more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from pkm_dynamics.integration import integrate_motion
from pkm_identification.estimators.nonlinear_filters import (
    FilterOptions,
    FilterResult,
    extended_filter,
    unscented_filter,
)

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

FILTERS: dict[str, Callable[..., FilterResult]] = {
    'ekf': extended_filter,
    'ukf': unscented_filter,
}
PARAMETERS = ('l1', 'l2', 'm1', 'm2', 'M')
UNITS = ('m', 'm', 'kg', 'kg', 'kg')
START = 1.0  # of every parameter [O 3.3]
START_DEVIATION = 0.3
ALPHA, KAPPA = 1e-4, -2.0  # [O 3.3]
FORCE_FLOOR = 1.0  # [N, N m] of the zero forces, in data without noise
SCALE_ERROR = 1e-3  # of the weight
STEP = 1e-6


def true_parameters(model: ClosedChainModel) -> Array:
    """Return l1, l2, m1, m2, M (5,) of the description; its rods are uniform."""
    values = dict(zip(model.parameter_names, model.nominal_parameters, strict=True))
    m1, m2 = values['lower_pendulum.m'], values['platform.m']
    lengths = 2 * values['lower_pendulum.mz'] / m1, 2 * values['platform.mz'] / m2
    return np.array([*lengths, m1, m2, values['cart.m']])


def free_fall(model: ClosedChainModel, duration: float, interval: float) -> Array:
    """Return the states (N, 9): cart, lower and upper rod, each with its two derivatives.

    Angles are absolute, from the vertical [rad].
    """
    times = np.arange(0.0, duration + interval / 2, interval)
    fall = integrate_motion(model, times, tolerance=1e-9)
    states = model.actuator_states(fall.motion)
    joints = np.stack([states.positions, states.velocities, states.accelerations], axis=-1)
    joints[:, 2] += joints[:, 1]
    return joints.reshape(len(times), 9)


def equations(points: Array, state: Array, gravity: float = 9.81) -> Array:
    """Force on the cart and moments at the hinges (s, 3) [N, N m] for parameters (s, 5).

    [O eq. 3.12]; `state` (9,), or (9, s) with one state a parameter set.
    """
    l1, l2, m1, m2, cart = np.atleast_2d(points).T
    _, _, ddx, a, da, dda, b, db, ddb = state
    first, second = (m1 / 2 + m2) * l1, m2 * l2 / 2
    coupling, centrifugal = np.cos(b - a), np.sin(b - a)
    force = (
        (cart + m1 + m2) * ddx
        + first * (dda * np.cos(a) - da**2 * np.sin(a))
        + second * (ddb * np.cos(b) - db**2 * np.sin(b))
    )
    lower = (
        first * (ddx * np.cos(a) - gravity * np.sin(a))
        + (m1 / 3 + m2) * l1**2 * dda
        + second * l1 * (ddb * coupling - db**2 * centrifugal)
    )
    upper = (
        second * (ddx * np.cos(b) - gravity * np.sin(b))
        + second * l1 * (dda * coupling + da**2 * centrifugal)
        + m2 * l2**2 / 3 * ddb
    )
    return np.stack([force, lower, upper], axis=-1)


def least_squares_of(states: Array, weight: float | None) -> Array:
    """Parameters (5,) that make the forces of all samples smallest, every sample alike.

    No masses at all make no forces: without the weight the total mass is held at its start.
    """
    total = 3 * START if weight is None else weight

    def residuals(values: Array) -> Array:
        forces = equations(np.broadcast_to(values, (len(states), 5)), states.T)
        return np.append(forces.ravel(), (values[2:].sum() - total) / (SCALE_ERROR * total))

    return np.asarray(least_squares(residuals, np.full(5, START), method='lm').x)


def run_filter(
    run: Callable[..., FilterResult], states: Array, weight: float | None, noise: float
) -> FilterResult:
    """Run the extended or the unscented filter once through the samples.

    The variance of each zero force is what the noise of the states, `noise` times their
    values, makes of it at the start. The weight is the fourth measurement, with an error that
    makes all of them together as exact as one weighing.
    """
    count = len(states)
    variance = np.zeros((count, 3, 3)) + FORCE_FLOOR**2 * np.eye(3)
    start = np.full((1, 5), START)
    for i in range(9):
        step = np.zeros((9, 1))
        step[i] = STEP
        change = equations(start, states.T + step) - equations(start, states.T - step)
        part = change / (2 * STEP) * (noise * np.abs(states[:, i]) / np.sqrt(3.0))[:, None]
        variance += part[:, :, None] * part[:, None, :]
    measured = np.zeros((count, 3 if weight is None else 4))
    covariance = np.zeros((count, measured.shape[1], measured.shape[1]))
    covariance[:, :3, :3] = variance
    if weight is not None:
        measured[:, 3] = weight
        covariance[:, 3, 3] = count * (SCALE_ERROR * weight) ** 2

    def predicted(points: Array, k: int) -> Array:
        zero = equations(points, states[k])
        return zero if weight is None else np.column_stack([zero, points[:, 2:].sum(axis=1)])

    options = {'alpha': ALPHA, 'kappa': KAPPA} if run is unscented_filter else {}
    return run(
        predicted, measured, start[0], np.full(5, START_DEVIATION), covariance,
        options=FilterOptions(history=100), **options,
    )  # fmt: skip


def compare(
    model: ClosedChainModel,
    noise: float = 0.01,
    duration: float = 20.0,
    interval: float = 0.01,
    seed: int = 0,
) -> dict[str, Any]:
    """Run the estimators on free falls without and with noise of the states.

    Parameters
    ----------
    model
        Of `cart_pendulum`.
    noise
        Largest error of a state over its value, uniform [O 3.4].
    duration, interval
        Of the free fall [s].
    seed
        Of the noise.

    Returns
    -------
    dict
        `true`; `cases`: each with `noise`, `weighed`, `estimator`, `values`, `errors` [1],
        `ratio_errors` of m1 / M and m2 / M, `scale` (total mass over the true one), `time`
        [s of CPU time].
    """
    truth = true_parameters(model)
    exact = free_fall(model, duration, interval)
    random = np.random.default_rng(seed)
    cases = []
    for size in (0.0, noise):
        states = exact * (1 + size * random.uniform(-1, 1, exact.shape))
        for weight in (None, float(truth[2:].sum())):
            for name in ('ls', 'ekf', 'ukf'):
                begin = time.thread_time()
                if name == 'ls':
                    values = least_squares_of(states, weight)
                else:
                    values = run_filter(FILTERS[name], states, weight, size).values
                cases.append(
                    {
                        'noise': size,
                        'weighed': weight is not None,
                        'estimator': name,
                        'time': time.thread_time() - begin,
                        **_judged(values, truth),
                    }
                )
    return {
        'parameters': list(PARAMETERS), 'units': list(UNITS), 'true': truth.tolist(),
        'samples': len(exact), 'cases': cases,
    }  # fmt: skip


def _judged(values: Array, truth: Array) -> dict[str, Any]:
    ratios = values[2:4] / values[4] / (truth[2:4] / truth[4]) - 1
    return {
        'values': values.tolist(),
        'errors': (values / truth - 1).tolist(),
        'ratio_errors': ratios.tolist(),
        'scale': float(values[2:].sum() / truth[2:].sum()),
    }
