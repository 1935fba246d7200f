"""Covariance of the residuals of periodic runs, frequency by frequency."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array

REACH = 8  # rows to either side that the spectrum of the residuals is smoothed over


def white_residuals(residuals: Array, noise: Array, freedom: float) -> tuple[Array, Array]:
    """Return residuals (m, n_a) over a root of the noise, as large as before the fit; the root."""
    root = np.asarray(np.linalg.cholesky(noise), dtype=float)
    white = np.linalg.solve(root, residuals[..., None])[..., 0]
    return white * np.sqrt(residuals.size / freedom), root


def noise_by_frequency(residuals: Array, noise: Array, freedom: float) -> Array:
    """Covariance (m, n_a, n_a) that explains the residuals of a fit, frequency by frequency.

    Of rows (m, n_a) of a periodic run with `freedom`, at most m n_a; residuals are smoothed
    relative to the expected `noise` (m, n_a, n_a).
    """
    white, root = white_residuals(residuals, noise, freedom)
    return np.asarray(root @ residual_spectrum(white) @ np.swapaxes(root, -1, -2))


def residual_spectrum(residuals: Array, others: Array | None = None) -> Array:
    """Covariance (m, n_a, n_a) of residual rows, smoothed over neighbouring harmonics.

    Of residuals relative to their noise, which may itself rise steeply with the frequency.
    With the residuals of `others`, where they are given: of another run's.
    """
    outer = np.einsum('ka,kb->kab', residuals, residuals if others is None else others)
    total = np.concatenate([np.zeros((1, *outer.shape[1:])), np.cumsum(outer, axis=0)])
    rows = np.arange(len(outer))
    low, high = np.maximum(rows - REACH, 0), np.minimum(rows + REACH + 1, len(outer))
    return (total[high] - total[low]) / (high - low)[:, None, None]
