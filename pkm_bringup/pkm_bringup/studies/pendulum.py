"""The inverted double pendulum of [O chapter 3]: least squares, EKF and UKF.

Parameters are the lengths and masses l1, l2, m1, m2, M; the measurement is the force on the
cart and the moments at both hinges, which are zero in free fall [O eq. 3.6, 3.12]. These are
proportional to the masses: any multiple of the masses fits a free fall, and none at all fits
it best where there is noise. Free fall shows lengths and ratios of masses; their common scale
has to come from elsewhere. In [O] it comes from the start, three masses of 1 kg, 9 % more than
the true ones together. So there are two cases, the same for all estimators: the total mass of
the start is kept, or the apparatus is weighed.
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
ROUNDS = 2  # of a filter on noisy states


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


def least_squares_of(states: Array, total: float) -> Array:
    """Parameters (5,) that make the forces of all samples smallest, every sample alike.

    No masses at all make no forces: the total mass [kg] is held.
    """

    def residuals(values: Array) -> Array:
        forces = equations(np.broadcast_to(values, (len(states), 5)), states.T)
        return np.append(forces.ravel(), (values[2:].sum() - total) / (SCALE_ERROR * total))

    return np.asarray(least_squares(residuals, np.full(5, START), method='lm').x)


def run_filter(
    run: Callable[..., FilterResult], states: Array, total: float, noise: float
) -> FilterResult:
    """Run the extended or the unscented filter through the samples.

    The variance of each zero force is what the noise of the states, `noise` times their
    values, makes of it: first with the parameters of the start, then, from the start again,
    with those that were found. The total mass [kg] is the fourth measurement, with an error
    that makes all of them together as exact as one weighing.
    """
    count, start = len(states), np.full(5, START)
    measured = np.zeros((count, 4))
    measured[:, 3] = total
    covariance = np.zeros((count, 4, 4))
    covariance[:, 3, 3] = count * (SCALE_ERROR * total) ** 2

    def predicted(points: Array, k: int) -> Array:
        return np.column_stack([equations(points, states[k]), points[:, 2:].sum(axis=1)])

    options = {'alpha': ALPHA, 'kappa': KAPPA} if run is unscented_filter else {}
    at = start
    for _ in range(ROUNDS if noise else 1):
        covariance[:, :3, :3] = _force_noise(states, noise, at)
        result = run(
            predicted, measured, start, np.full(5, START_DEVIATION), covariance,
            options=FilterOptions(history=100), **options,
        )  # fmt: skip
        at = result.values
    return result


def _force_noise(states: Array, noise: float, parameters: Array) -> Array:
    """Covariance (N, 3, 3) of the zero forces that uniform noise of the states makes."""
    covariance = np.zeros((len(states), 3, 3)) + FORCE_FLOOR**2 * np.eye(3)
    for i in range(9):
        step = np.zeros((9, 1))
        step[i] = STEP
        change = equations(parameters[None], states.T + step)
        change -= equations(parameters[None], states.T - step)
        part = change / (2 * STEP) * (noise * np.abs(states[:, i]) / np.sqrt(3.0))[:, None]
        covariance += part[:, :, None] * part[:, None, :]
    return covariance


def compare(
    model: ClosedChainModel,
    noise: float = 0.01,
    duration: float = 20.0,
    interval: float = 0.01,
    seed: int = 0,
    runs: int = 10,
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
    seed, runs
        Of the noise: first seed, and how many.

    Returns
    -------
    dict
        `true`; `cases`: each with `noise`, `total` (`start` or `weighed`), `estimator`, and
        root mean squares over the runs of `errors` [1] of the parameters and `ratio_errors`
        of m1 / M and m2 / M; `largest` [1], the largest error of each run; `time`, mean CPU
        time [s] of one.
    """
    truth = true_parameters(model)
    exact = free_fall(model, duration, interval)
    totals = {'start': 3 * START, 'weighed': float(truth[2:].sum())}
    cases = []
    for size in (0.0, noise):
        random = np.random.default_rng(seed)
        repeats = runs if size else 1
        data = [exact * (1 + size * random.uniform(-1, 1, exact.shape)) for _ in range(repeats)]
        for name, total in totals.items():
            for estimator in ('ls', *FILTERS):
                begin = time.thread_time()
                found = [_estimated(estimator, states, total, size) for states in data]
                cases.append(
                    {
                        'noise': size,
                        'total': name,
                        'estimator': estimator,
                        'time': (time.thread_time() - begin) / repeats,
                        **_judged(np.array(found), truth),
                    }
                )
    return {
        'parameters': list(PARAMETERS), 'units': list(UNITS), 'true': truth.tolist(),
        'samples': len(exact), 'runs': runs, 'cases': cases,
    }  # fmt: skip


def _estimated(estimator: str, states: Array, total: float, noise: float) -> Array:
    if estimator == 'ls':
        return least_squares_of(states, total)
    return run_filter(FILTERS[estimator], states, total, noise).values


def _judged(values: Array, truth: Array) -> dict[str, Any]:
    """Errors of estimates (runs, 5)."""
    errors = values / truth - 1
    ratios = values[:, 2:4] / values[:, 4:] / (truth[2:4] / truth[4]) - 1
    return {
        'errors': np.sqrt(np.mean(errors**2, axis=0)).tolist(),
        'ratio_errors': np.sqrt(np.mean(ratios**2, axis=0)).tolist(),
        'largest': np.abs(errors).max(axis=1).tolist(),
    }
