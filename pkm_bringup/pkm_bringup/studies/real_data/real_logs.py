"""Logs of real robots: a folder with a description and recordings, and how errors are judged.

Errors of different methods compare only where all are held against the same forces. These are the
measured ones behind one low pass that depends on the log alone: its band is ten times the
frequency below which 99.9 % of the power of the positions lies, which leaves the steps of
Coulomb friction and the products of the motion in, and the noise of the sensors out. Only the
central part of the motion of a test counts: filters lose rows at both ends, and at rest before and
after it friction has no law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfiltfilt

import pkm_description
from pkm_description.errors import DatasetError, EstimationError, PkmError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording, load
from pkm_identification.quality.standstill import MOST_STANDING, standing, window_size

MOTION_POWER = 0.999  # share of the power of the positions that is motion
BAND_OF_MOTION = 10.0  # times the highest frequency of the motion: band of the reference forces
WIDEST = 0.4  # of the sampling rate
EDGE = 0.2  # share of a test's motion at its begin and at its end that counts for no method
PATTERNS = ('*.npz', '*.csv', '*.db3', '*.mcap')

# From a test recording to stamps (n,) [s] and predicted forces (n, n_a); a period where the
# prediction is one period of a motion that goes on [s].
Predictor = Callable[[Recording], tuple[Array, Array, float | None]]


@dataclass(frozen=True)
class EvenLog:
    """A recording at even stamps: repeated stamps left out, missing ones interpolated."""

    time: Array  # (N,) [s]
    positions: Array  # (N, n_a)
    forces: Array  # (N, n_a) [N, N m]

    @classmethod
    def of(cls, recording: Recording) -> EvenLog:
        """Interpolate a recording that has efforts."""
        stamps = np.asarray(recording.time)
        order = np.argsort(stamps, kind='stable')
        order = order[np.append(True, np.diff(stamps[order]) > 0)]
        step = float(np.median(np.diff(stamps[order])))
        even = stamps[order[0]] + step * np.arange(round(np.ptp(stamps) / step) + 1)
        assert recording.efforts is not None
        columns = (np.asarray(each)[order] for each in (recording.positions, recording.efforts))
        return cls(even, *(interpolated(even, stamps[order], each) for each in columns))

    @property
    def rate(self) -> float:
        """Sampling rate [Hz]."""
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    @cached_property
    def band(self) -> float:
        """Cutoff of the low pass for the reference forces [Hz]."""
        moved = self.positions - self.positions.mean(axis=0)
        moved = moved / np.maximum(moved.std(axis=0), 1e-12)
        window = np.hanning(len(moved))[:, None]
        power = np.cumsum((np.abs(np.fft.rfft(moved * window, axis=0)) ** 2).sum(axis=1))
        highest = int(np.searchsorted(power, MOTION_POWER * power[-1])) / len(moved) * self.rate
        return min(BAND_OF_MOTION * highest, WIDEST * self.rate)

    def smoothed(self, values: Array, cutoff: float) -> Array:
        """Values (N, n) behind a Butterworth filter of order 4 without phase."""
        filter_ = butter(4, cutoff, fs=self.rate, output='sos')
        return np.asarray(sosfiltfilt(filter_, values, axis=0))

    @cached_property
    def motion(self) -> tuple[float, float]:
        """First and last stamp [s] of the motion; all where it hardly moves."""
        last = len(self.time) - 1
        first, still = 0, standing([self.positions], 1 / self.rate)
        if len(still) and still[0, 0] == 0:
            first = int(still[0, 1])
        # stretches have whole windows, the last of which may end before the last sample
        if len(still) and last - still[-1, 1] < window_size(1 / self.rate):
            last = int(still[-1, 0])
        if last - first < (1 - MOST_STANDING) * len(self.time):
            first, last = 0, len(self.time) - 1
        return float(self.time[first]), float(self.time[last])

    @cached_property
    def reference(self) -> Array:
        """Measured forces (N, n_a) in the band [N, N m]."""
        return self.smoothed(self.forces, self.band)


@dataclass(frozen=True)
class ForceError:
    """Relative RMS errors of predicted forces over all tests: rms(residual) / rms(measured)."""

    overall: float  # of all axes together
    axes: list[float]  # (n_a,)
    raw: float  # overall, against the measured forces as they are


@dataclass(frozen=True)
class RealLog:
    """A folder `NAME/` with robot.urdf (and robot.yaml), train*.* and test*.* recordings."""

    folder: Path

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @cached_property
    def model(self) -> ClosedChainModel:
        """Model of the robot."""
        return ClosedChainModel(pkm_description.load(self.folder / 'robot.urdf'))

    def compile(self) -> None:
        """Compile the kernels: that is no time of an estimator, and must not be interrupted."""
        at = self.model.home_actuators[None]
        motion = self.model.motion_from_actuators(at, 0 * at, 0 * at)
        self.model.regressor(motion)
        self.model.inverse_dynamics(motion)
        self.model.base_parameters()

    @cached_property
    def train(self) -> list[Recording]:
        """Recordings to estimate from."""
        return self._recordings('train')

    @cached_property
    def test(self) -> list[Recording]:
        """Held-out recordings."""
        return self._recordings('test')

    @cached_property
    def even_tests(self) -> list[EvenLog]:
        """The held-out recordings at even stamps."""
        return [EvenLog.of(each.for_model(self.model)) for each in self.test]

    def _recordings(self, kind: str) -> list[Recording]:
        found = sorted(path for end in PATTERNS for path in self.folder.glob(f'{kind}{end}'))
        if not found:
            raise DatasetError(
                f"'{self.folder}' has no {kind}*.npz, .csv, .db3 or .mcap; "
                'scripts/real_logs/convert.py writes such folders'
            )
        return [load(path) for path in found]

    def error(self, predict: Predictor) -> ForceError:
        """Judge predictions of all tests; EstimationError where they leave much of one out."""
        square, raw, size = (np.zeros(len(self.model.actuated_joints)) for _ in range(3))
        for number, (recording, log) in enumerate(zip(self.test, self.even_tests, strict=True)):
            try:
                at, residual, unfiltered, reference = _residuals(predict(recording), log)
            except PkmError as error:
                which = f'test {number + 1} of {len(self.test)}'
                raise type(error)(f'{which}: {error}') from error
            begin, end = log.motion
            weight = (end - begin) * log.rate / len(at)  # by its length, not by its rows
            square += weight * (residual**2).sum(axis=0)
            raw += weight * (unfiltered**2).sum(axis=0)
            size += weight * (reference**2).sum(axis=0)
        return ForceError(
            float(np.sqrt(square.sum() / size.sum())),
            list(np.sqrt(square / size)),
            float(np.sqrt(raw.sum() / size.sum())),
        )


def logs_of(folder: Path, names: Sequence[str]) -> list[RealLog]:
    """Return the logs of a folder, all or some; DatasetError names what there is."""
    there = sorted(path.parent.name for path in folder.glob('*/robot.urdf'))
    unknown = [name for name in names if name not in there]
    if unknown or not there:
        what = f"no log '{unknown[0]}'" if unknown else 'no logs'
        raise DatasetError(
            f"'{folder}' has {what}: a log is a folder with robot.urdf, train*.npz and test*.npz"
            + (f'; there are {", ".join(there)}' if there else '')
        )
    return [RealLog(folder / name) for name in names or there]


def interpolated(at: Array, time: Array, values: Array) -> Array:
    """Values (N, n) between their stamps."""
    return np.column_stack([np.interp(at, time, each) for each in values.T])


def _residuals(
    prediction: tuple[Array, Array, float | None], log: EvenLog
) -> tuple[Array, Array, Array, Array]:
    """Stamps, residuals in the band, those of the raw forces, and the reference, at the centre."""
    time, predicted, period = prediction
    begin, end = log.motion
    low, high = begin + EDGE * (end - begin), end - EDGE * (end - begin)
    if period is not None:
        time, predicted = _going_on(time, predicted, period, log.time)
    elif time[0] > low + 1 / log.rate or time[-1] < high - 1 / log.rate:
        raise EstimationError(
            f'predicted forces from {time[0] - begin:.3g} to {time[-1] - begin:.3g} s cover less '
            f'than the central {100 * (1 - 2 * EDGE):g} % of a motion of {end - begin:.3g} s'
        )
    inside = (time >= low) & (time <= high)
    time, predicted = time[inside], predicted[inside]
    reference, forces = (interpolated(time, log.time, each) for each in (log.reference, log.forces))
    return time, reference - predicted, forces - predicted, reference


def _going_on(time: Array, predicted: Array, period: float, at: Array) -> tuple[Array, Array]:
    """One period of predicted forces at all stamps."""
    order = np.argsort(time)
    first = time[order[0]]
    once = np.append(time[order], first + period) - first
    values = np.vstack([predicted[order], predicted[order[:1]]])
    return at, interpolated((at - first) % period, once, values)
