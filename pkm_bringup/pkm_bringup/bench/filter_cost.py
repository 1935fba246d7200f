"""Cost of the filters and of the recursive estimator, an update."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pkm_bringup.bench import textbook
from pkm_bringup.bench.timing import spread
from pkm_dynamics.random_motion import random_motion
from pkm_identification import RecursiveEstimator
from pkm_identification.estimators.filters.nonlinear_filters import (
    FilterOptions,
    extended_filter,
    unscented_filter,
)

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

SAMPLES = 1000
WARM_UP = 50
NOISE = 0.02  # of the largest force
TEXTBOOK = 'textbook'
RECURSIONS: dict[str, dict[str, Any]] = {
    'all samples alike': {},
    'forgetting': {'forgetting': 0.999},
    'forgetting and Huber': {'forgetting': 0.999, 'huber': 2.0},
}


def measure_filters(model: ClosedChainModel) -> dict[str, Any]:
    """Time the updates on random motions with noisy forces.

    Returns
    -------
    dict
        `parameters`; `updates_per_second` by filter and walk (CPU time, regressor known);
        `recursive`: p50, p99 and max [us] of the CPU time of `RecursiveEstimator.update`,
        regressor included, by its options; both also of a textbook's covariance form
        (`textbook`), with the `ratios` of its times to ours; `agreement`: largest difference
        of the two unscented filters' estimates [standard deviations].
    """
    motion = random_motion(model, SAMPLES, seed=0)
    random = np.random.default_rng(0)
    exact = model.inverse_dynamics(motion)
    size = NOISE * float(np.abs(exact).max())
    forces = exact + size * random.normal(size=exact.shape)
    base = model.base_parameters(shared=True, reduced=True)
    regressor = base.regressor(motion)
    start = np.asarray(base.matrix @ model.nominal_parameters)
    noise = size**2 * np.eye(model.n_a)
    rates: dict[str, float] = {}

    def predicted(points: Any, k: int) -> Any:
        return points @ regressor[k].T

    for walk, name in ((0.0, 'constant'), (None, 'Robbins-Monro')):
        options = FilterOptions(walk=walk)
        begin = time.thread_time()
        found = unscented_filter(
            predicted, forces, start, np.ones(len(start)), noise, options=options
        )
        middle = time.thread_time()
        extended_filter(
            predicted,
            forces,
            start,
            np.ones(len(start)),
            noise,
            jacobian=lambda values, k: regressor[k],
            options=options,
        )
        end = time.thread_time()
        rates[f'ukf, {name}'] = SAMPLES / (middle - begin)
        rates[f'ekf, {name}'] = SAMPLES / (end - middle)
        if walk == 0.0:
            ours = found
    begin = time.thread_time()
    plain = textbook.unscented(predicted, forces, start, np.ones(len(start)), noise)
    rates[f'ukf, {TEXTBOOK}'] = SAMPLES / (time.thread_time() - begin)
    deviation = np.sqrt(np.diag(ours.covariance))
    samples = [motion[k : k + 1] for k in range(SAMPLES)]
    recursive = {}
    for name, keywords in RECURSIONS.items():
        estimator = RecursiveEstimator(model, **keywords)
        recursive[name] = _spread(estimator.update, samples, forces)
    peer = textbook.RecursiveLeastSquares(start, np.eye(len(start)), noise)
    recursive[TEXTBOOK] = _spread(
        lambda sample, force: peer.update(base.regressor(sample)[0], force), samples, forces
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


def _spread(update: Callable[[Any, Any], Any], samples: list[Any], forces: Any) -> dict[str, float]:
    """CPU times of one update [us]."""
    times = []
    for sample, force in zip(samples, forces, strict=True):
        begin = time.thread_time()
        update(sample, force)
        times.append(time.thread_time() - begin)
    return spread(times[WARM_UP:])
