"""Smooth motions of any mechanism around its home, with exact derivatives."""

from __future__ import annotations

import numpy as np

from pkm_dynamics import ClosedChainModel, PlatformMotion


def wave(model: ClosedChainModel, t: np.ndarray, seed: int = 2) -> PlatformMotion:
    """A sine of its own on every actuator."""
    rng = np.random.default_rng(seed)
    stroke = model.upper - model.lower
    size = np.minimum(0.03, 0.05 * np.where(np.isfinite(stroke), stroke, 1.0))
    w, phase = rng.uniform(3.0, 9.0, model.n_a), rng.uniform(0, 6, model.n_a)
    angle = t[:, None] * w + phase
    return model.motion_from_actuators(
        model.home_actuators + size * np.sin(angle),
        size * w * np.cos(angle),
        -size * w**2 * np.sin(angle),
    )


def derivative(values: np.ndarray, h: float) -> np.ndarray:
    """Time derivative in the middle of five samples that are h apart."""
    return (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)
