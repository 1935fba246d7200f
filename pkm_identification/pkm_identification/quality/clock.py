"""The clock of a robot that samples evenly, behind the stamps that a host gave its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets.source import Block
from pkm_identification.quality.cycles import AROUND, CERTAIN, cycle_numbers, progress, sample_noise
from pkm_identification.quality.frozen import resolution
from pkm_identification.quality.prediction import Extrapolation
from pkm_identification.quality.report import Defect, located
from pkm_identification.quality.stamps import EXCESS, JITTER, even_clock, unknown_gap

SMOOTHER = 0.95  # noise over the even stamps, against that over the measured ones
REACH, DEGREE = 8, 2  # of the polynomials that show how smooth a motion is over a clock
GROSS = 10.0  # typical distances of a sample from its prediction: more counts as that
HALF = 0.5
CHANGES = 0.75  # share of the signals that change from row to row where all do
BY_CHANCE = 3.0  # standard deviations of an interval
FEWEST = 64  # samples that show a clock
NEAR = 4  # steps to either side that a jump is compared with
LONGER = 10.0  # times: an acceleration in one sample goes on in the next, a jump does not
TOGETHER = 0.5  # share of the joints that move
AT_ONCE = 2.5  # intervals: over longer ones a motion may have gone on
STEPS = 20.0  # of the numbers' resolution
SEEN = 1e-3  # of a joint's range: smaller jumps do no harm
MOST_PARTS = 20  # motions put together; of more, jumps are how the signal is
EVENED = 'the samples were taken evenly: even stamps are used'
DROPPED = 'dropped: the same sample read again'
CONTINUED = 'the motion goes on: the stamps behind are moved'


@dataclass(frozen=True)
class Clock:
    """Rows that hold a sample of their own, and when these were taken."""

    rows: Indices  # (M,)
    time: Array  # (M,) [s]
    is_even: bool  # whether the robot's own clock replaces the stamps
    defects: tuple[Defect, ...]  # of the stamps as they were


def recovered_clock(block: Block) -> Clock | None:
    """Return the robot's own clock where the motion is smoother over it; None: nothing is wrong.

    Rows in which all signals repeat those before while the robot moves are dropped. Even stamps
    are those of the cycles that the motion tells (`cycles`), or of the nearest cycles by the
    stamps, whichever makes the motion smoother, and only where it is smoother by 5 % than over
    the stamps as they are: samples that were taken unevenly keep their stamps.
    """
    if len(block.time) < FEWEST:
        return None
    stale = stale_rows(block)
    rows = np.flatnonzero(~stale)
    defects = []
    if stale.any():
        defects.append(located('stale', np.flatnonzero(stale), block.time, DROPPED))
    time, positions = block.time[rows], block.positions[rows]
    time, found = _parted(time, positions)
    defects += found
    moving = np.ptp(positions, axis=0) > 0
    is_even = False
    if len(rows) >= FEWEST and moving.any():
        time, is_even, found = _on_own_clock(time, positions[:, moving])
        defects += found
    return Clock(rows, time, is_even, tuple(defects)) if defects else None


def _parted(time: Array, positions: Array) -> tuple[Array, list[Defect]]:
    """Stamps (N,) [s] with a pause where positions (N, n) jump, and where that is.

    A step of most joints that is many times as long as those before and behind is none of a motion:
    two motions were put together. That of one joint is its sensor's.
    """
    if len(time) <= 2 * NEAR:
        return time, []
    steps = np.abs(np.diff(positions, axis=0))
    beside = np.lib.stride_tricks.sliding_window_view(steps, 2 * NEAR + 1, axis=0)  # (k, n, w)
    largest = np.delete(beside, NEAR, axis=2).max(axis=2)
    least = np.maximum(LONGER * largest, STEPS * resolution(positions))
    least = np.maximum(least, SEEN * np.ptp(positions, axis=0))
    intervals = np.diff(time)
    usual = float(np.median(intervals))
    most = max(2.0, TOGETHER * np.count_nonzero(np.ptp(positions, axis=0)))
    here = (steps[NEAR:-NEAR] > least).sum(axis=1) >= most
    here &= intervals[NEAR:-NEAR] < AT_ONCE * usual
    rows = np.flatnonzero(here) + NEAR + 1
    if not len(rows) or len(rows) > MOST_PARTS:
        return time, []
    gap = unknown_gap(usual)
    defect = located('jump', rows, time, f'motions put together? {gap:g} s are put between them')
    return time + gap * np.searchsorted(rows, np.arange(len(time)), side='right'), [defect]


def stale_rows(block: Block) -> Mask:
    """Rows (N,) that repeat the one before though the robot has gone on.

    Of which all positions do while the joints go farther in a cycle than noise and resolution
    hide, and go on behind; or all signals, where those around change from row to row in all
    of them, with their noise, at standstill too.
    """
    values = np.hstack(block.measured)
    changed = np.diff(values, axis=0, prepend=np.nan) != 0
    stays = ~changed[:, : block.positions.shape[1]].any(axis=1)
    own = np.flatnonzero(~stays)
    if len(own) == len(stays) or len(own) < FEWEST:
        return np.zeros(len(stays), dtype=bool)
    positions, numbers = block.positions[own], np.arange(len(own))
    noise = sample_noise(numbers, positions, resolution(positions))
    done, deviation = progress(numbers, positions, noise)
    # what was in its place for longer than its progress takes stood still
    rows, certain = np.diff(own), deviation < CERTAIN
    usual = np.median(rows[certain]) if certain.any() else 1.0
    goes_on = np.append(certain & (done * usual > HALF * np.maximum(rows - 2, 1)), False)
    stale = stays & goes_on[np.searchsorted(own, np.arange(len(stays)), side='right') - 1]
    same = ~changed.any(axis=1)
    distinct, share = _beside((~same).astype(float)), _beside(changed.mean(axis=1))
    lively = (share > CHANGES * np.maximum(distinct, HALF)).all(axis=0)
    return np.asarray(stale | (same & lively))


def _beside(values: Array) -> Array:
    """Means (2, N) of some values before and of some behind each; 0 beyond the ends."""
    padded = np.concatenate([np.zeros(AROUND), values, np.zeros(AROUND)])
    means = np.convolve(padded, np.ones(AROUND) / AROUND, 'valid')
    return np.stack([means[: len(values)], means[-len(values) :]])


def _on_own_clock(time: Array, positions: Array) -> tuple[Array, bool, list[Defect]]:
    """Stamps (N,) without leaps, whether they are the robot's even ones, and what was wrong."""
    counted = cycle_numbers(time, positions, resolution(positions))
    found, even = [], []
    if counted is not None:
        numbers, leaps = counted
        if len(leaps):
            rows, sizes = leaps[:, 0].astype(np.int64), leaps[:, 1]
            size = sizes[np.argmax(np.abs(sizes))]
            found.append(located('clock_leap', rows, time, CONTINUED, largest_s=size))
            time = (
                time
                - np.concatenate([[0.0], np.cumsum(sizes)])[
                    np.searchsorted(rows, np.arange(len(time)), side='right')
                ]
            )
        even.append(_line(numbers, time))
    nearest = even_clock(time)
    if nearest is not None:
        even.append(nearest)
    even = [each for each in even if np.ptp(time - each) > JITTER * np.median(np.diff(time))]
    best = _smoothest([time, *even], positions)
    if not best:
        return time, False, found
    return even[best - 1], True, [*found, *_jitter(time, even[best - 1])]


def _line(numbers: Indices, time: Array) -> Array:
    """Even stamps (N,) [s] of cycles (N,) by a line through the stamps (N,).

    Of a whole number of cycles a second where jitter lets it differ from that by chance.
    """
    centred = numbers - numbers.mean()
    since, power = time - time[0], float(centred @ centred)
    interval = float(centred @ since) / power
    deviation = float(np.std(since - interval * centred) / np.sqrt(power))
    whole = 1 / max(round(1 / interval), 1)
    if abs(whole - interval) < BY_CHANCE * deviation:
        interval = whole
    return np.asarray(time[0] + since.mean() + interval * centred)


def _smoothest(clocks: list[Array], positions: Array) -> int:
    """Which of the clocks (N,) makes the motion (N, c) smoothest; the first, unless by 5 %."""
    if len(clocks) == 1:
        return 0
    off = [_off(clock, positions) for clock in clocks]
    typical = np.array([np.median(np.nan_to_num(each, nan=np.inf), axis=0) for each in off])
    scale = typical.min(axis=0)
    used = (scale > 0) & np.isfinite(scale)
    if not used.any():
        return 0
    sizes = [_size(each[:, used] / scale[used]) for each in off]
    best = int(np.argmin(sizes))
    return best if sizes[best] < sizes[0] + np.log(SMOOTHER) else 0


def _off(clock: Array, positions: Array) -> Array:
    """Distance (N, c) of samples from what their neighbours over a clock (N,) lead to."""
    even = (clock - clock[0]) / (clock[-1] - clock[0]) * (len(clock) - 1)
    try:
        return np.abs(Extrapolation(even, REACH, DEGREE).off(positions)[0])
    except np.linalg.LinAlgError:  # several samples at almost one instant
        return np.full(positions.shape, np.inf)


def _size(off: Array) -> float:
    """Mean logarithm over joints of the mean distance (N, c), gross ones limited."""
    limited = np.minimum(np.where(np.isnan(off), np.inf, off), GROSS)
    return float(np.mean(np.log(limited.mean(axis=0))))


def _jitter(time: Array, even: Array) -> list[Defect]:
    """Report how far stamps (N,) are off the even ones (N,) that replace them."""
    interval = float(np.median(np.diff(even)))
    late = time - even
    late -= np.median(late)
    deviation, largest = float(late.std()), float(np.abs(late).max())
    if deviation <= JITTER * interval and largest <= EXCESS * interval:
        return []
    rows = np.flatnonzero(np.abs(late) > JITTER * interval)
    defect = located(
        'jitter',
        rows,
        time,
        EVENED,
        interval_s=interval,
        standard_deviation_s=deviation,
        largest_s=largest,
    )
    return [defect]
