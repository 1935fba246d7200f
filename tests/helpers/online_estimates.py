"""Estimates of an online estimator, cheap: exact motions, forces with noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from every_model import model_of
from monitored_recordings import motion

from pkm_bringup.studies.runs.plants import sampled_period
from pkm_identification.estimators.filters.recursive_estimator import RecursiveEstimator

NAME, NOISE, EACH = 'delta', 0.5, 25  # [N m], samples of 1 kHz
Estimate = tuple[float, list[str], np.ndarray, np.ndarray]


def estimates(
    count: int, added: dict[int, dict[str, float]], forgetting: float = 1.0
) -> Iterator[Estimate]:
    """One estimate a motion; from motion k on standard parameters are those with `added[k]`."""
    model = model_of(NAME)
    estimator = RecursiveEstimator(model, noise=NOISE, forgetting=forgetting)
    names, parameters = list(model.parameter_names), np.array(model.nominal_parameters)
    random = np.random.default_rng(0)
    for number in range(count):
        for key, value in added.get(number, {}).items():
            parameters[names.index(key)] += value
        _, exact = sampled_period(model, motion(NAME, number))
        exact = exact[::EACH]
        forces = np.asarray(model.inverse_dynamics(exact, parameters))
        forces = forces + NOISE * random.normal(size=forces.shape)
        estimator.update(exact, forces)
        yield 10.0 * number, estimator.names, estimator.values, estimator.covariance
