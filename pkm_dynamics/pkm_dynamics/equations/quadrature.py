"""Integrals of sampled signals over the intervals between their samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

from pkm_description.errors import TrajectoryError

Floats = NDArray[np.float64]

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


def low_pass(
    time: ArrayLike, values: ArrayLike, cutoff: float, initial: ArrayLike | None = None
) -> Floats:
    """First-order low pass y' = w (x - y), w = 2 pi cutoff, exact for piecewise linear signals.

    Parameters
    ----------
    time : (N,) [s]
    values : (N, ...)
    cutoff : float [Hz]
    initial : (...), optional
        y at the first sample; zero when absent.
    """
    times, signal = checked_times(time), np.asarray(values, dtype=float)
    if len(signal) != len(times):
        raise TrajectoryError(f'{len(signal)} samples do not fit {len(times)} times')
    if not 0.0 < cutoff < np.inf:
        raise TrajectoryError(f'cutoff must be a positive frequency [Hz], got {cutoff}')
    start = np.zeros(signal.shape[1:]) if initial is None else np.asarray(initial, dtype=float)
    x = 2.0 * np.pi * cutoff * np.diff(times)
    decay = np.exp(-x)
    late = (x - 1.0 + decay) / x  # weight of the interval's end
    early = 1.0 - decay - late
    if np.ptp(x) < 1e-6 * x[0]:
        b, a = [late.mean(), early.mean()], [1.0, -decay.mean()]
        memory = (b[1] * signal[0] - a[1] * start)[None]
        smooth, _ = lfilter(b, a, signal[1:], axis=0, zi=memory)
        return np.concatenate([start[None], smooth])
    out = np.empty_like(signal)
    out[0] = start
    for k in range(len(x)):
        out[k + 1] = decay[k] * out[k] + early[k] * signal[k] + late[k] * signal[k + 1]
    return out
