"""Integrals of sampled signals over the intervals between their samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats

RULES = ('spline', 'trapezoid')


def interval_integrals(time: ArrayLike, values: ArrayLike, rule: str = 'spline') -> Floats:
    """Integral of values (N, ...) over each of the N - 1 intervals of time (N,) [s].

    Parameters
    ----------
    time : (N,) [s]
        Increasing.
    values : (N, ...)
    rule : str
        'spline' integrates a cubic spline through all samples, with an error of order
        h^4 on smooth signals; 'trapezoid' uses the ends of each interval only (order
        h^2) and keeps the noise of each sample where it is.

    Raises
    ------
    TrajectoryError
        The time is not increasing, lengths differ, or the rule is unknown.
    """
    times, signal = checked_times(time), np.asarray(values, dtype=float)
    if len(signal) != len(times):
        raise TrajectoryError(f'{len(signal)} samples do not fit {len(times)} times')
    if rule not in RULES:
        raise TrajectoryError(f"unknown rule '{rule}'; rules are {', '.join(RULES)}")
    if rule == 'trapezoid' or len(times) < 4:
        steps = np.diff(times).reshape(-1, *[1] * (signal.ndim - 1))
        return np.asarray(0.5 * steps * (signal[1:] + signal[:-1]))
    total = CubicSpline(times, signal, axis=0).antiderivative()(times)
    return np.asarray(np.diff(total, axis=0))


def checked_times(time: ArrayLike) -> Floats:
    """Times (N,) [s], at least two, finite and increasing."""
    times = np.asarray(time, dtype=float)
    if times.ndim != 1 or len(times) < 2:
        raise TrajectoryError(f'time must have the shape (N,) with N >= 2, got {times.shape}')
    steps = np.diff(times)
    if not np.all(np.isfinite(times)) or np.any(steps <= 0.0):
        raise TrajectoryError(
            f'time must increase; it does not after sample {int(np.argmin(steps > 0.0))}'
        )
    return times
