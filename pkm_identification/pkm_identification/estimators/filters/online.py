"""Identification while the robot moves: causal filtering in front of a recursive estimator."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from statistics import median

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import butter, sosfilt, sosfilt_zi

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.recursive_estimator import RecursiveEstimator

FILTER_ORDER = 4  # steep enough to cut noise, little enough delay to settle within two periods
DELAY = 2.613  # of the low pass, times its cutoff [rad/s]: 2 (cos pi/8 + cos 3 pi/8)
SETTLING = 2.0  # periods of the cutoff until the filters have forgotten their start
USUAL = 15  # intervals between forces whose median is the usual one
LOST = 3.0  # usual intervals without a force: one that is lost changes little
JITTER = 0.5  # of the interval: beyond it there is a gap
MOTION_BAND = 2.0  # cutoff of the motion over that of the rows
HIGHEST = 0.24  # cutoff of the motion over the rate: below the quarter that the filter takes
LONG_REST = 0.5  # periods of the cutoff at rest after which the filter of the rows starts anew


class StampedPairs:
    """Forces at the time of the positions, where both are stamped by themselves.

    Positions that are sent again with their stamp are taken once, and those amid lost forces not
    at all: a line between the last force and the next one is no measurement.
    """

    def __init__(self) -> None:
        self._positions: deque[tuple[float, Array]] = deque()
        self._forces: deque[tuple[float, Array]] = deque()
        self._intervals: deque[float] = deque(maxlen=USUAL)  # between forces
        self._latest: float | None = None  # stamp of positions

    def add_positions(self, time: float, positions: ArrayLike) -> None:
        """Take in positions (n_a,) of a time [s]."""
        if time != self._latest:
            self._positions.append((time, np.array(positions, dtype=float)))
        self._latest = time

    def add_forces(self, time: float, forces: ArrayLike) -> bool:
        """Take in forces (n_a,) of a time [s]; False where time went back: all is begun anew."""
        goes_on = not self._forces or time > self._forces[-1][0]
        if not goes_on:
            self.clear()
        elif self._forces:
            self._intervals.append(time - self._forces[-1][0])
        self._forces.append((time, np.array(forces, dtype=float)))
        return goes_on

    def clear(self) -> None:
        """Forget all samples."""
        self._positions.clear()
        self._forces.clear()
        self._intervals.clear()
        self._latest = None

    def taken(self) -> Iterator[tuple[float, Array, Array]]:
        """Yield and forget positions that lie between two forces, with the forces of their time."""
        while self._positions and self._forces and self._forces[-1][0] >= self._positions[0][0]:
            time, positions = self._positions.popleft()
            while len(self._forces) > 1 and self._forces[1][0] <= time:
                self._forces.popleft()
            begin, first = self._forces[0]
            if begin > time:
                continue
            if len(self._forces) == 1:
                yield time, positions, first
                continue
            end, second = self._forces[1]
            if time > begin and end - begin > LOST * median(self._intervals):
                continue
            share = (time - begin) / (end - begin)
            yield time, positions, first + share * (second - first)


class LowPass:
    """Butterworth low pass of samples as they come, which starts at rest at the first of them.

    Of a rate and with a cutoff [Hz].
    """

    def __init__(self, rate: float, cutoff: float) -> None:
        self._sections = butter(FILTER_ORDER, cutoff, fs=rate, output='sos')
        self._rest = sosfilt_zi(self._sections)
        self._settling = int(np.ceil(SETTLING * rate / cutoff))
        self.delay = DELAY / (2 * np.pi * cutoff)  # [s] of slow signals
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._state: Array | None = None
        self._count = 0

    def has_settled(self, further: int = 0) -> bool:
        """Whether the start is forgotten, and so many samples more have come."""
        return self._count >= self._settling + further

    def filtered(self, samples: Array) -> Array:
        """Take in samples (k, c)."""
        if self._state is None:
            self._state = self._rest[:, :, None] * samples[:1]
        filtered, self._state = sosfilt(self._sections, samples, axis=0, zi=self._state)
        self._count += len(samples)
        return np.asarray(filtered)


class CausalFilter:
    """Low pass of positions and forces, and derivatives of the filtered positions.

    Both sides go through one filter, so that they keep their phase; velocity and acceleration are
    central differences, one interval late, as the forces then are. The cutoff [Hz] should be well
    above what the motion contains.
    """

    def __init__(self, rate: float, cutoff: float) -> None:
        if not 0 < cutoff < rate / 4:
            raise EstimationError(
                f'cutoff {cutoff:g} Hz must lie between 0 and a quarter of the rate ({rate:g} Hz)'
            )
        self.interval = 1.0 / rate
        self._low_pass = LowPass(rate, cutoff)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._low_pass.reset()
        self._past: list[Array] = []

    def add(self, positions: Array, forces: Array) -> tuple[Array, Array, Array, Array] | None:
        """Position, velocity, acceleration and force (n_a,) one interval before this sample.

        All filtered; None until the filter has settled.
        """
        filtered = self._low_pass.filtered(np.concatenate([positions, forces])[None])
        self._past = [*self._past[-2:], filtered[0]]
        if not self._low_pass.has_settled(further=2):  # differences take three samples
            return None
        size = len(positions)
        before, here, after = (each[:size] for each in self._past)
        velocity = (after - before) / (2 * self.interval)
        acceleration = (after - 2 * here + before) / self.interval**2
        return here, velocity, acceleration, self._past[1][size:]


class RowFilter:
    """Low pass of regressor and forces together, of a rate and with a cutoff [Hz].

    Friction that jumps with the velocity makes forces that jump; behind a filter they do so no
    longer, so that the regressor has to go through it, too.
    """

    def __init__(self, rate: float, cutoff: float) -> None:
        self._low_pass = LowPass(rate, cutoff)
        self.reset = self._low_pass.reset

    def add(self, regressor: Array, forces: Array) -> tuple[Array, Array] | None:
        """Last of some samples (k, n_a, r) and (k, n_a) of both, filtered.

        None until the filter has settled.
        """
        together = np.concatenate([regressor, forces[..., None]], axis=2)
        filtered = self._low_pass.filtered(together.reshape(len(together), -1))
        if not self._low_pass.has_settled():
            return None
        last = filtered[-1].reshape(together.shape[1:])
        return last[:, :-1], last[:, -1]


class OnlineIdentification:
    """Stamped positions and forces in, estimates out.

    Positions and forces may be stamped apart: forces are interpolated to the positions. `rate` and
    `cutoff` are those of the samples and of the filter of the rows [Hz]; the motion keeps twice
    that band. `update_rate` [Hz] is that of the samples that the estimator gets: about twice the
    cutoff holds all that the filter lets through. Samples in which the fastest actuator is slower
    than `least_speed` [m/s, rad/s] are left out, for friction at rest is anything.
    """

    def __init__(
        self,
        estimator: RecursiveEstimator,
        rate: float = 1000.0,
        cutoff: float = 20.0,
        update_rate: float = 40.0,
        least_speed: float = 0.01,
    ) -> None:
        self.estimator = estimator
        self.filter = CausalFilter(rate, max(cutoff, min(MOTION_BAND * cutoff, HIGHEST * rate)))
        self._rows = RowFilter(rate, cutoff)
        self._pairs = StampedPairs()
        self._long_rest = LONG_REST * rate / cutoff
        self.least_speed = least_speed
        self.gaps = 0
        self._every = max(round(rate / update_rate), 1)
        self._restart()

    def _restart(self) -> None:
        """Begin anew, also where time goes back: a robot that was started again."""
        self._last: float | None = None
        self._reset()

    def _reset(self) -> None:
        self.filter.reset()
        self._rows.reset()
        self._block: list[tuple[Array, ...]] = []
        self._resting = 0

    def add_positions(self, time: float, positions: ArrayLike) -> bool:
        """Take in positions (n_a,); returns whether the estimates changed."""
        self._pairs.add_positions(time, positions)
        return self._proceed()

    def add_forces(self, time: float, forces: ArrayLike) -> bool:
        """Take in forces (n_a,); returns whether the estimates changed."""
        if not self._pairs.add_forces(time, forces):
            self._restart()
        return self._proceed()

    def _proceed(self) -> bool:
        changed = False
        for time, positions, forces in self._pairs.taken():
            interval = self.filter.interval
            if self._last is not None and abs(time - self._last - interval) > JITTER * interval:
                self.gaps += 1
                self._reset()
            self._last = time
            found = self.filter.add(positions, forces)
            if found is None:
                continue
            self._resting = self._resting + 1 if np.abs(found[1]).max() < self.least_speed else 0
            if self._resting > self._long_rest:
                self._block.clear()
                self._rows.reset()
                continue
            self._block.append(found)
            if len(self._block) >= self._every:
                changed |= self._update()
        return changed

    def _update(self) -> bool:
        """Take a block of samples into the filter of the rows, its last into the estimate."""
        q, qd, qdd, forces = (np.array(each) for each in zip(*self._block, strict=True))
        self._block.clear()
        estimator = self.estimator
        motion = estimator.model.motion_from_actuators(q, qd, qdd)
        found = self._rows.add(*estimator.rows_of(motion, forces))
        if found is None or self._resting:
            return False
        rows, force = found
        estimator.update_rows(rows[None], force[None])
        return True
