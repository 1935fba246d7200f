"""Deviations of residuals where drives begin to slide, against friction that is known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pkm_identification.monitoring.residual_stream import WIDTHS, Residuals, rest_shares
from pkm_identification.monitoring.residual_variance import ResidualVariance
from pkm_identification.result.force_errors import error_terms

HOLDING, NOISE, TRANSITION = np.array([20.0, 10.0]), 0.7, 0.002
RATE, BEGIN, FASTEST = 240.0, 0.05, 0.4  # [Hz], [m/s^2], [m/s]


def starts(count: int, decay: float, seed: int) -> Residuals:
    """Starts from rest, each with friction at rest of its own that falls as the drives speed up."""
    random = np.random.default_rng(seed)
    time = np.arange(round(10 * RATE)) / RATE
    speed = np.clip(BEGIN * (time - 0.5), 0.0, FASTEST)  # never back to rest
    velocities, forces = [], []
    for _ in range(count):
        at_rest = HOLDING * random.uniform(-1.0, 1.0, 2)
        velocities.append(np.column_stack([speed, speed]))
        fading = np.exp(-np.abs(speed) / (decay * TRANSITION))[:, None]
        forces.append(at_rest * fading + NOISE * random.normal(size=(len(time), 2)))
    all_velocities = np.concatenate(velocities)
    nothing = np.zeros_like(all_velocities)
    accelerations = np.gradient(all_velocities, 1 / RATE, axis=0)
    stamps = np.arange(len(nothing)) / RATE
    rest = rest_shares(all_velocities, TRANSITION)
    speed, quickness = (np.sqrt(np.mean(each**2)) for each in (all_velocities, accelerations))
    terms = error_terms(all_velocities / speed, accelerations / quickness)
    motion = nothing, all_velocities, accelerations
    return Residuals(stamps, np.concatenate(forces), *motion, nothing, rest, terms)


def fitted(parts: Residuals) -> ResidualVariance:
    errors = SimpleNamespace(holding=HOLDING, transition_velocity=TRANSITION)
    model = SimpleNamespace(actuated_joints=['a', 'b'])
    result = SimpleNamespace(model=model, diagnostics=SimpleNamespace(force_errors=errors))
    return ResidualVariance.fitted(result, parts)  # type: ignore[arg-type]


@pytest.mark.parametrize('decay', [1.0, 2.0])
def test_slow_starts_stay_within_their_deviations(decay: float) -> None:
    """100 starts, with a variance from four: 480,000 scores.

    Normal ones exceed 6.5 once in 25,000 times. The friction is uniform, no more than 1.7
    deviations. A part that ended at the transition velocity would leave scores of ten and more.
    """
    variance = fitted(starts(4, decay, 1))
    assert WIDTHS[variance.width] <= 3.0
    many = starts(100, decay, 2)
    scores = many.forces / np.sqrt(variance(many))
    assert np.abs(scores).max() < 6.5
    moving = np.abs(many.velocities) > 0.1
    np.testing.assert_allclose(np.sqrt(np.mean(scores[moving] ** 2)), 1.0, rtol=0.1)


def test_a_drive_that_slides_is_watched_sharply() -> None:
    """At twenty times the transition nothing is left of the friction at rest."""
    variance = fitted(starts(4, 1.0, 1))
    fast = starts(1, 1.0, 3)
    deviation = np.sqrt(variance(fast))[np.abs(fast.velocities) > 20 * TRANSITION]
    assert deviation.max() < 1.5 * NOISE
