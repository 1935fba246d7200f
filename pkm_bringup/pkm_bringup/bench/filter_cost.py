"""Cost of the filters and of the recursive estimator, an update."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.bench.frame import Bench, cpu_time, spread
from pkm_dynamics import PlatformMotion
from pkm_dynamics.random_motion import random_motion
from pkm_identification import RecursiveEstimator
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.nonlinear_filters import (
    FilterOptions,
    extended_filter,
    unscented_filter,
)

SAMPLES = 1000
WARM_UP = 50  # updates that fill caches and do not count
NOISE = 0.02  # of the largest force
TEXTBOOK = 'textbook'  # covariance form, as textbooks and common packages write it
ALPHA, BETA = 0.5, 2.0  # of its unscented filter
RECURSIONS: dict[str, dict[str, Any]] = {
    'all samples alike': {},
    'forgetting': {'forgetting': 0.999},
    'forgetting and Huber': {'forgetting': 0.999, 'huber': 2.0},
}


def measure(bench: Bench) -> dict[str, Any]:
    """Time the updates on random motions with noisy forces.

    `updates_per_second` by filter and walk (CPU time, regressor known); `recursive`: p50, p99 and
    max [us] of the CPU time of `RecursiveEstimator.update`, regressor included, by its options;
    both also of a textbook's covariance form (`textbook`), with the `ratios` of its times to
    ours; `agreement`: largest difference of the two unscented filters' estimates [standard
    deviations].
    """
    bench.update('filters', None)
    model = bench.model
    motion = random_motion(model, SAMPLES, seed=0)
    random = np.random.default_rng(0)
    exact = model.inverse_dynamics(motion)
    size = NOISE * float(np.abs(exact).max())
    forces = exact + size * random.normal(size=exact.shape)
    base = model.base_parameters(shared=True, reduced=True)
    regressor = base.regressor(motion)
    start = np.asarray(base.matrix @ model.nominal_parameters)
    noise = size**2 * np.eye(model.n_a)

    def predicted(points: Array, k: int) -> Array:
        return points @ regressor[k].T

    common = (predicted, forces, start, np.ones(len(start)), noise)

    def jacobian(values: Array, k: int) -> Array:
        return regressor[k]

    rates, found = {}, {}
    for walk, name in ((0.0, 'constant'), (None, 'Robbins-Monro')):
        options = FilterOptions(walk=walk)
        calls = {
            'ukf': partial(unscented_filter, *common, options=options),
            'ekf': partial(extended_filter, *common, jacobian=jacobian, options=options),
        }
        for kind, call in calls.items():
            seconds, found[kind, name] = cpu_time(call)
            rates[f'{kind}, {name}'] = SAMPLES / seconds
    seconds, plain = cpu_time(lambda: textbook_unscented(*common))
    rates[f'ukf, {TEXTBOOK}'] = SAMPLES / seconds
    ours = found['ukf', 'constant']
    deviation = np.sqrt(np.diag(ours.covariance))
    peer = TextbookLeastSquares(start, np.eye(len(start)), noise)
    recursive = {
        name: _spread(RecursiveEstimator(model, **keywords).update, motion, forces)
        for name, keywords in RECURSIONS.items()
    }
    recursive[TEXTBOOK] = _spread(
        lambda sample, force: peer.update(base.regressor(sample)[0], force), motion, forces
    )
    return {
        'parameters': len(start),
        'updates_per_second': rates,
        'recursive': recursive,
        'ratios': {
            'ukf': rates['ukf, constant'] / rates[f'ukf, {TEXTBOOK}'],
            'recursive': recursive[TEXTBOOK]['p50'] / recursive['all samples alike']['p50'],
        },
        'agreement': float(np.abs((plain - ours.values) / deviation).max()),
    }


def _spread(
    update: Callable[[Any, Any], Any], motion: PlatformMotion, forces: Array
) -> dict[str, float]:
    """CPU times of one update [us]."""
    samples = [motion[k : k + 1] for k in range(len(forces))]
    times = [
        cpu_time(partial(update, sample, force))[0]
        for sample, force in zip(samples, forces, strict=True)
    ]
    return spread(times[WARM_UP:])


def textbook_unscented(
    function: Callable[[Array, int], Array],
    measured: Array,
    values: Array,
    deviation: Array,
    noise: Array,
) -> Array:
    """Parameters (n,) by an unscented filter with sigma points from a Cholesky factor.

    Arguments as in `pkm_identification.estimators.filters.nonlinear_filters.unscented_filter`;
    kappa = 3 - n.
    """
    size = len(values)
    spread = 3.0 * ALPHA**2  # n + lambda
    mean_weights = np.full(2 * size + 1, 0.5 / spread)
    mean_weights[0] = 1.0 - size / spread
    weights = mean_weights.copy()
    weights[0] += 1.0 - ALPHA**2 + BETA
    covariance = np.diag(deviation**2)
    for k, measurement in enumerate(measured):
        root = np.linalg.cholesky(spread * covariance).T
        points = np.concatenate([values[None], values + root, values - root])
        predicted = function(points, k)
        expected = mean_weights @ predicted
        residuals, steps = predicted - expected, points - values
        innovation = (weights[:, None] * residuals).T @ residuals + noise
        cross = (weights[:, None] * steps).T @ residuals
        gain = np.linalg.solve(innovation, cross.T).T
        values = values + gain @ (measurement - expected)
        covariance = covariance - gain @ innovation @ gain.T
        covariance = (covariance + covariance.T) / 2
    return values


class TextbookLeastSquares:
    """Recursive least squares that updates the covariance (n, n); `noise` (m, m) of a sample."""

    def __init__(self, values: Array, covariance: Array, noise: Array) -> None:
        self.values, self.covariance, self.noise = values, covariance, noise

    def update(self, regressor: Array, forces: Array) -> None:
        """Take in the rows of one sample: regressor (m, n), forces (m,)."""
        cross = regressor @ self.covariance
        gain = np.linalg.solve(cross @ regressor.T + self.noise, cross).T
        self.values = self.values + gain @ (forces - regressor @ self.values)
        self.covariance = self.covariance - gain @ cross
