"""The inverted double pendulum of [O chapter 3]: least squares, EKF and UKF.

Parameters are the lengths and masses l1, l2, m1, m2, M; the measurement is the force on the
cart and the moments at both hinges, which are zero in free fall [O eq. 3.6, 3.12]. These are
proportional to the masses: any multiple of the masses fits a free fall, and none at all fits
it best where there is noise. Free fall shows lengths and ratios of masses; their common scale
has to come from elsewhere. In [O] it comes from the start, three masses of 1 kg, 9 % more than
the true ones together. So there are three cases, the same for all estimators: the total mass
of the start is kept, or the apparatus is weighed, or there is no free fall but a known force
pushes the cart, which shows the scale itself.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, runs
from pkm_bringup.studies.runs.plants import model_of
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.integration import integrate_motion
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.nonlinear_filters import (
    FilterOptions,
    FilterResult,
    extended_filter,
    unscented_filter,
)
from pkm_identification.option import POSITIVE, Option

ROBOT = 'cart_pendulum'
FILTERS: dict[str, Callable[..., FilterResult]] = {'ekf': extended_filter, 'ukf': unscented_filter}
ESTIMATORS = ('ls', *FILTERS)
PARAMETERS = ('l1', 'l2', 'm1', 'm2', 'M')
UNITS = ('m', 'm', 'kg', 'kg', 'kg')
START = 1.0  # of every parameter [O 3.3]
START_DEVIATION = 0.3
ALPHA, KAPPA = 1e-4, -2.0  # [O 3.3]
FORCE_FLOOR = 1.0  # [N, N m] of the zero forces, in data without noise
SCALE_ERROR = 1e-3  # of the weight
PUSH, PUSH_FREQUENCY = 10.0, 1.0  # amplitude [N], [Hz] of the cart's force
STEP = 1e-6
ROUNDS = 2  # of a filter on noisy states
INTERVAL = 0.01  # [s] between samples
START_SCALE, WEIGHED, PUSHED = 'start', 'weighed', 'pushed'
SCALES = (START_SCALE, WEIGHED, PUSHED)  # where the scale of the masses comes from


def true_parameters(model: ClosedChainModel) -> Array:
    """Return l1, l2, m1, m2, M (5,) of the description; its rods are uniform."""
    values = dict(zip(model.parameter_names, model.nominal_parameters, strict=True))
    m1, m2 = values['lower_pendulum.m'], values['platform.m']
    lengths = 2 * values['lower_pendulum.mz'] / m1, 2 * values['platform.mz'] / m2
    return np.array([*lengths, m1, m2, values['cart.m']])


@dataclass(frozen=True)
class Recording:
    """What all estimators are given.

    `states` (N, 9) are those of cart, lower and upper rod, each with its two derivatives; angles
    are absolute, from the vertical [m, rad, s].
    """

    states: Array
    forces: Array  # (N, 3) on the cart and at both hinges [N, N m]
    total: float | None = None  # mass [kg] of everything together, when that is given


@lru_cache(maxsize=None)
def record(duration: float, scale: str) -> Recording:
    """Integrate a free fall from the upright start, or one with a force on the cart."""
    model = model_of(ROBOT)

    def push(time: float) -> Array:
        return np.array([PUSH * np.cos(2 * np.pi * PUSH_FREQUENCY * time), 0.0, 0.0])

    times, pushed = np.arange(0.0, duration + INTERVAL / 2, INTERVAL), scale == PUSHED
    forces = np.stack([push(time) for time in times]) if pushed else np.zeros((len(times), 3))
    fall = integrate_motion(
        model, times, (lambda time, q, qd: push(time)) if pushed else None, tolerance=1e-9
    )
    states = model.actuator_states(fall.motion)
    joints = np.stack([states.positions, states.velocities, states.accelerations], axis=-1)
    joints[:, 2] += joints[:, 1]
    total = {START_SCALE: 3 * START, WEIGHED: float(true_parameters(model)[2:].sum())}
    return Recording(joints.reshape(len(times), 9), forces, total.get(scale))


def with_noise(exact: Recording, noise: float, seed: int, number: int) -> Recording:
    """Change every value by a uniform error of at most `noise` times itself [O 3.4].

    The recordings of a seed follow one another in one stream of random numbers.
    """
    stream = np.random.PCG64(seed)
    stream.advance(number * (exact.states.size + exact.forces.size))
    random = np.random.Generator(stream)
    both = (exact.states, exact.forces)
    states, forces = (each * (1 + noise * random.uniform(-1, 1, each.shape)) for each in both)
    return Recording(states, forces, exact.total)


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


def least_squares_of(data: Recording) -> Array:
    """Parameters (5,) with the least sum of squared errors of the forces, all samples alike.

    No masses at all make no forces: a given total mass is held.
    """

    def residuals(values: Array) -> Array:
        forces = equations(np.broadcast_to(values, (len(data.states), 5)), data.states.T)
        errors = (forces - data.forces).ravel()
        if data.total is None:
            return errors
        return np.append(errors, (values[2:].sum() - data.total) / (SCALE_ERROR * data.total))

    return np.asarray(least_squares(residuals, np.full(5, START), method='lm').x)


def run_filter(run: Callable[..., FilterResult], data: Recording, noise: float) -> FilterResult:
    """Run the extended or the unscented filter through the samples.

    The variance of each force is its own and what the noise of the states, `noise` times their
    values, makes of it: first with the parameters of the start, then, from the start again,
    with those that were found. A total mass is the fourth measurement, with an error
    that makes all of them together as exact as one weighing.
    """
    count, start = len(data.states), np.full(5, START)
    size = 3 if data.total is None else 4
    measured, covariance = np.zeros((count, size)), np.zeros((count, size, size))
    measured[:, :3] = data.forces
    if data.total is not None:
        measured[:, 3] = data.total
        covariance[:, 3, 3] = count * (SCALE_ERROR * data.total) ** 2

    def predicted(points: Array, k: int) -> Array:
        forces = equations(points, data.states[k])
        return np.column_stack([forces, points[:, 2:].sum(axis=1)])[:, :size]

    options = {'alpha': ALPHA, 'kappa': KAPPA} if run is unscented_filter else {}
    at = start
    for _ in range(ROUNDS if noise else 1):
        covariance[:, :3, :3] = _force_noise(data, noise, at)
        given = (predicted, measured, start, np.full(5, START_DEVIATION), covariance)
        result = run(*given, options=FilterOptions(history=100), **options)
        at = result.values
    return result


def _force_noise(data: Recording, noise: float, parameters: Array) -> Array:
    """Covariance (N, 3, 3) of the errors of the forces that uniform noise makes."""
    deviation = np.hypot(FORCE_FLOOR, noise * np.abs(data.forces) / np.sqrt(3.0))
    covariance = deviation[:, :, None] ** 2 * np.eye(3)
    for i in range(9):
        step = np.zeros((9, 1))
        step[i] = STEP
        change = equations(parameters[None], data.states.T + step)
        change -= equations(parameters[None], data.states.T - step)
        part = change / (2 * STEP) * (noise * np.abs(data.states[:, i]) / np.sqrt(3.0))[:, None]
        covariance += part[:, :, None] * part[:, None, :]
    return covariance


def one_run(duration: float, noise: float, scale: str, seed: int, number: int) -> dict[str, Any]:
    """Parameters (5,) and CPU time [s] by estimator, from one motion."""
    data = with_noise(record(duration, scale), noise, seed, number)
    found = {}
    for estimator in ESTIMATORS:
        begin = time.thread_time()
        if estimator in FILTERS:
            values = run_filter(FILTERS[estimator], data, noise).values
        else:
            values = least_squares_of(data)
        found[estimator] = {'values': values, 'time': time.thread_time() - begin}
    return found


def summary(found: Sequence[Mapping[str, Any]], estimator: str, truth: Array) -> dict[str, Any]:
    """Return errors [1] (root mean square; largest of each run) and the mean CPU time [s]."""
    values = np.array([run[estimator]['values'] for run in found])
    errors = values / truth - 1
    ratios = values[:, 2:4] / values[:, 4:] / (truth[2:4] / truth[4]) - 1
    return {
        'estimator': estimator,
        'time': np.mean([run[estimator]['time'] for run in found]),
        'errors': np.sqrt(np.mean(errors**2, axis=0)),
        'ratio_errors': np.sqrt(np.mean(ratios**2, axis=0)),
        'largest': np.abs(errors).max(axis=1),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run the estimators on motions without and with noise of the states."""
    truth = true_parameters(model_of(ROBOT))
    one = partial(one_run, options.duration)
    cases = []
    for noise, repeats in ((0.0, 1), (options.noise, options.runs)):
        for scale in SCALES:
            common = {'noise': noise, 'scale': scale, 'seed': options.seed}
            motions = [{**common, 'number': number} for number in range(repeats)]
            text = f'noise {100 * noise:g} %, scale {scale}: motion'
            found = runner.map(one, motions, text, f'{scale}_{"noisy" if noise else "exact"}')
            case = {'noise': noise, 'scale': scale}
            cases += [{**case, **summary(found, name, truth)} for name in ESTIMATORS]
    content = {'parameters': list(PARAMETERS), 'units': list(UNITS), 'true': truth}
    samples = len(record(options.duration, START_SCALE).states)
    content |= {'samples': samples, 'runs': options.runs, 'seed': options.seed}
    return content | {'cases': cases}


STUDY = Study(
    'pendulum',
    'lengths and masses of an inverted double pendulum: least squares, EKF and UKF',
    'From free fall [O chapter 3]. Forces are zero there: free fall shows lengths and ratios of '
    'masses, but no scale of the masses. Every case is run with the total mass kept as it starts '
    '(three times 1 kg, as in [O]), with the true one weighed, and with a known force that pushes '
    'the cart, which shows the scale.',
    (
        Option('noise', POSITIVE, 'largest error of a state or force over its value', 0.01, '1'),
        Option('duration', POSITIVE, 'of each motion', 20.0, 's'),
        *runs(10, 'of the noise'),
    ),
    run,
)
