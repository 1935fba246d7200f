"""Noise of the rows of a periodic run, from the spread over its periods."""

from __future__ import annotations

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import rounding_variance
from pkm_identification.regression.run import RowRegressor
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand

POSES = 12  # along a run, over which the inertia is averaged: it changes little within them


def row_covariance(signals: Signals, inertia: Array | None) -> Array | None:
    """Noise covariance (m, n_a, n_a) of the rows, None where the spread is unknown.

    Force noise of the averaged period, plus position noise that comes in through the
    acceleration: w^2 M delta with M the `inertia` (n_a, n_a) that the actuators see.
    """
    band = signals.band
    if signals.force_noise is None or not isinstance(band, HarmonicBand):
        return None
    noise = signals.force_noise.spectrum[: band.harmonics + 1].copy()
    noise += np.diag(rounding_variance(signals.forces.std(axis=0)))
    measured = signals.measured_harmonics
    if signals.position_noise is not None and measured is not None and inertia is not None:
        position = signals.position_noise.spectrum[: band.harmonics + 1]
        through = inertia @ position @ inertia.T
        frequency = 2 * np.pi / band.period * np.arange(band.harmonics + 1)
        weight = np.where(measured, frequency**4, 0.0)
        noise += weight[:, None, None] * through
    return (noise / signals.averaged)[band.indices]


def apparent_inertia(
    signals: Signals, base: RowRegressor, model: ClosedChainModel, values: Array
) -> Array:
    """Mean inertia (n_a, n_a) that the actuators see along a run, with base parameters (r,)."""
    axes = signals.forces.shape[1]
    rows = np.unique(np.linspace(0, len(signals) - 1, POSES).astype(int))
    poses = np.repeat(signals.positions[rows], axes + 1, axis=0)
    accelerations = np.tile(np.vstack([np.zeros(axes), np.eye(axes)]), (len(rows), 1))
    motion = model.motion_from_actuators(poses, np.zeros_like(poses), accelerations)
    forces = (base.regressor(motion) @ values).reshape(len(rows), axes + 1, axes)
    return (forces[:, 1:] - forces[:, :1]).mean(axis=0).T
