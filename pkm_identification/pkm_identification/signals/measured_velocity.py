"""Velocities that a drive measures: whether they belong to the positions, and where they help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, ComplexArray
from pkm_identification.datasets import Recording
from pkm_identification.quality.velocity_scale import HELD
from pkm_identification.signals import filtering
from pkm_identification.signals.even_grid import EvenSamples
from pkm_identification.signals.signal_options import SignalOptions

GAIN = 0.02  # a factor farther from one is that of another unit, gear or sign
SHIFT = 0.01  # [rad] phase at the frequency of the accelerations: their error is as large
ENERGY = 0.95  # share of the accelerations' power, by which both are compared
MOVES = 10.0  # times the noise of differentiated positions: less shows no factor
ROUNDS = 3  # of the delay, whose phase is no small angle
LOWEST = 0.1  # of the cutoff: slower, positions count even beside perfect velocities
SURE = 3.0  # standard deviations of gain and phase beyond that
FEWEST = 16  # frequencies beyond the motion that show the noise
CLEAR = 4.0  # over the root of the number of frequencies, which a window makes alike: no chance


@dataclass(frozen=True)
class MeasuredVelocities:
    """Velocities (N, n) on the even grid, and above which frequency (n,) [Hz] each counts."""

    values: Array
    crossover: Array  # infinite where positions are better at all frequencies

    def rows(self, chosen: slice) -> tuple[Array, Array]:
        """Return the velocities of some samples, and the crossover."""
        return self.values[chosen], self.crossover

    def by_joint(self, recording: Recording) -> dict[str, float]:
        """Return the crossover [Hz] of those joints that have one."""
        pairs = zip(recording.joint_names, self.crossover.tolist(), strict=True)
        return {name: value for name, value in pairs if np.isfinite(value)}


def usable_velocities(
    even: EvenSamples, options: SignalOptions, grid: filtering.Grid
) -> tuple[MeasuredVelocities | None, list[str]]:
    """Measured velocities where they help, None where none do, and what a user should know.

    An `EstimationError` where measured ones are asked for and missing, or not of the positions.
    """
    only = options.velocities == 'measured'
    values = None if options.velocities == 'positions' else even.velocities()
    if values is None:
        if only:
            raise EstimationError(
                "velocities='measured', but the recording has none, or is too long for them"
            )
        return None, []
    axes = values.shape[1]
    positions = even.read(slice(0, even.count))[1][:, :axes]
    names = even.recording.joint_names
    wide = grid.motion.cutoff
    crossover = np.full(axes, np.inf)
    unused: dict[str, list[str]] = {}  # joints by the reason
    spans = np.ptp(positions, axis=0)
    for axis in np.flatnonzero(spans > HELD * spans.max()):
        found = _compared(positions[:, axis], values[:, axis], even.interval, wide)
        if found.contradiction:
            unused.setdefault(found.contradiction, []).append(f"'{names[axis]}'")
        elif only or found.crossover < wide:
            crossover[axis] = np.clip(found.crossover, LOWEST * grid.cutoff, wide)
    said = [
        f'measured velocities of {", ".join(joints)} are not used: {reason}'
        for reason, joints in unused.items()
    ]
    if only and said:
        raise EstimationError('; '.join(said))
    if not np.isfinite(crossover).any():
        return None, said
    return MeasuredVelocities(values, crossover), said


@dataclass(frozen=True)
class _Comparison:
    """Measured velocities of a joint beside those of its positions."""

    gain: float = 1.0
    gain_deviation: float = 0.0
    delay: float = 0.0  # [s]
    phase: float = 0.0  # of the delay at the frequency of the accelerations [rad]
    phase_deviation: float = 0.0
    crossover: float = np.inf  # above which they are less noisy [Hz]

    @property
    def contradiction(self) -> str:
        """What shows that they are not those of the positions; empty where nothing does."""
        if abs(self.gain - 1) > GAIN + SURE * self.gain_deviation:
            return f'they are {self.gain:.3g} times those of the positions: unit, gear or sign?'
        if abs(self.phase) > SHIFT + SURE * self.phase_deviation:
            return f'they are {1e3 * self.delay:.1g} ms late: a filter of the drive'
        return ''


def _compared(positions: Array, velocities: Array, interval: float, wide: float) -> _Comparison:
    """Compare measured velocities (N,) with positions, for a motion up to `wide` [Hz].

    Gain and delay are those of the band that carries the accelerations. What the positions do not
    explain just beyond it is noise of both; that of the positions is known from their
    fastest half, as is that of white velocities.
    """
    edge = len(filtering.FIRST) // 2
    slope = np.convolve(positions, filtering.FIRST[::-1], 'valid') / interval
    both = np.column_stack([slope, velocities[edge : len(velocities) - edge]])
    # not detrended: what a window makes of both alike is neither gain nor delay
    window = np.hanning(len(both)) / np.sqrt(np.sum(np.hanning(len(both)) ** 2))
    differentiated, measured = np.fft.rfft(both * window[:, None], axis=0).T
    speed = 2 * np.pi / (len(both) * interval) * np.arange(len(measured), dtype=np.float64)
    noise = float(filtering.white_covariance(positions[:, None])[0, 0])
    power = np.abs(differentiated) ** 2
    seen = np.where(power > MOVES * noise * speed**2, power, 0.0) * (speed < 2 * np.pi * wide)
    total = np.cumsum(seen * speed**2)
    if total[-1] <= 0:
        return _Comparison()
    last = int(np.argmax(total >= ENERGY * total[-1]))
    gain, delay = _gain_and_delay(differentiated[: last + 1], measured[: last + 1], speed)
    beyond = np.flatnonzero((np.arange(len(speed)) > 2 * last) & (speed <= 2 * np.pi * wide))
    beyond = beyond[: max(len(beyond) // 4, FEWEST)]
    if not len(beyond) or noise <= 0:
        return _Comparison(gain, 0.0, delay)
    expected = gain * np.exp(-1j * speed * delay) * differentiated
    rest = float(np.mean(np.abs(measured - expected)[beyond] ** 2))
    excess = rest - noise * float(np.mean(speed[beyond] ** 2))
    white = float(filtering.white_covariance(velocities[:, None])[0, 0])
    is_clear = excess > CLEAR * rest / np.sqrt(len(beyond))
    variance = max(excess, white) if is_clear else white
    fast = float(np.sqrt(np.sum(seen * speed**4) / total[-1]))
    size = np.sqrt(rest / 2 / np.array([seen.sum(), total[-1]]))
    return _Comparison(
        gain,
        float(size[0]),
        delay,
        delay * fast,
        float(size[1]) * fast,
        float(np.sqrt(variance / noise) / (2 * np.pi)),
    )


def _gain_and_delay(one: ComplexArray, other: ComplexArray, speed: Array) -> tuple[float, float]:
    """By how much another spectrum (k,) is larger and later [s], by least squares."""
    speed, cross, power = speed[: len(one)], other * one.conj(), np.abs(one) ** 2
    # a wrong sign is one of the gain, no half turn of the phase
    cross = cross * np.sign(np.sum(cross.real))
    weight = np.sum(speed**2 * np.abs(cross)) or 1.0
    delay = 0.0
    for _ in range(ROUNDS):
        delay -= float(np.sum(speed * (cross * np.exp(1j * speed * delay)).imag) / weight)
    gain = float(np.sum((other * one.conj() * np.exp(1j * speed * delay)).real) / np.sum(power))
    return gain, delay
