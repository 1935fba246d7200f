"""The clock of a robot that samples evenly, behind the stamps that a host gave its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets.source import Block
from pkm_identification.quality.cycles import AROUND, CERTAIN, Leaps, cycle_numbers, progress, sample_noise
from pkm_identification.quality.frozen import resolution
from pkm_identification.quality.prediction import Extrapolation
from pkm_identification.quality.report import Defect, located
from pkm_identification.quality.stamps import EXCESS, JITTER, even_clock

SMOOTHER = 0.95  # noise over the even stamps, against that over the measured ones
REACH, DEGREE = 8, 2  # of the polynomials that show how smooth a motion is over a clock
GROSS = 10.0  # typical distances of a sample from its prediction: more counts as that
HALF = 0.5
CHANGES = 0.75  # share of the signals that change from row to row where all do
FEWEST = 64  # samples that show a clock
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
        defects.append(located('stale', np.flatnonzero(stale), block.time, DROPPED, 'sample'))
    time, positions = block.time[rows], block.positions[rows]
    moving = np.ptp(positions, axis=0) > 0
    if len(rows) >= FEWEST and moving.any():
        even, leaps = _smoothest(time, positions[:, moving])
        if even is not None:
            defects += _defects(time, even, leaps)
            return Clock(rows, even, True, tuple(defects))
    return Clock(rows, time, False, tuple(defects)) if defects else None


def stale_rows(block: Block) -> Mask:
    """Rows (N,) that repeat the one before though the robot has gone on.

    Of which all positions do while the joints go farther in a cycle than noise and resolution
    hide, and go on behind; or all signals, where those around change from row to row in all
    of them, with their noise, at standstill too.
    """
    values = np.hstack([part for part in block[1:4] if part is not None])
    changed = np.diff(values, axis=0, prepend=np.nan) != 0
    stays = ~changed[:, : block.positions.shape[1]].any(axis=1)
    own = np.flatnonzero(~stays)
    if len(own) == len(stays) or len(own) < FEWEST:
        return np.zeros(len(stays), dtype=bool)
    positions, numbers = block.positions[own], np.arange(len(own))
    noise = sample_noise(numbers, positions, resolution(positions))
    done, deviation = progress(numbers, positions, noise)
    goes_on = np.append((deviation < CERTAIN) & (done > HALF), False)
    stale = stays & goes_on[np.searchsorted(own, np.arange(len(stays)), side='right') - 1]
    same = ~changed.any(axis=1)
    around = 2 * AROUND + 1
    distinct = np.maximum(_moving_mean((~same).astype(float), around), HALF)
    lively = _moving_mean(changed.mean(axis=1), around) > CHANGES * distinct
    return np.asarray(stale | (same & lively))


def _moving_mean(values: Array, width: int) -> Array:
    return np.convolve(np.pad(values, width // 2, mode='edge'), np.ones(width) / width, 'valid')


def _smoothest(time: Array, positions: Array) -> tuple[Array | None, Leaps]:
    """Even stamps (N,) over which the motion is smoothest, None for the stamps; with the leaps."""
    nothing = np.zeros((0, 2))
    candidates: list[tuple[Array, Leaps]] = []
    counted = cycle_numbers(time, positions, resolution(positions))
    if counted is not None:
        candidates.append((_even_time(time, *counted), counted[1]))
    nearest = even_clock(time)
    if nearest is not None:
        candidates.append((nearest, nothing))
    if not candidates:
        return None, nothing
    off = [_off(clock, positions) for clock in (time, *(each for each, _ in candidates))]
    scale = np.nanmin([np.nanmedian(each, axis=0) for each in off], axis=0)
    used = scale > 0
    if not used.any():
        return None, nothing
    sizes = [_size(each[:, used] / scale[used]) for each in off]
    best = int(np.argmin(sizes[1:]))
    if sizes[best + 1] - sizes[0] < np.log(SMOOTHER):
        return candidates[best]
    return None, nothing


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


def _even_time(time: Array, numbers: Indices, leaps: Leaps) -> Array:
    """Even stamps (N,) of cycles (N,), by a line through the stamps (N,) without their leaps."""
    stamps = np.array(time)
    for row, size in leaps:
        stamps[int(row) :] -= size
    interval, start = np.polyfit(numbers, stamps, 1)
    return np.asarray(start + interval * numbers)


def _defects(time: Array, even: Array, leaps: Leaps) -> list[Defect]:
    """What was wrong with stamps (N,) that even ones (N,) replace."""
    interval = float(np.median(np.diff(even)))
    late = time - even
    for row, size in leaps:
        late[int(row) :] -= size
    late -= np.median(late)
    found = []
    deviation, largest = float(late.std()), float(np.abs(late).max())
    if deviation > JITTER * interval or largest > EXCESS * interval:
        rows = np.flatnonzero(np.abs(late) > JITTER * interval)
        figures = {'interval_s': interval, 'standard_deviation_s': deviation, 'largest_s': largest}
        found.append(located('jitter', rows, time, EVENED, **figures))
    if len(leaps):
        rows = leaps[:, 0].astype(np.int64)
        size = float(leaps[np.argmax(np.abs(leaps[:, 1])), 1])
        found.append(located('clock_leap', rows, time, CONTINUED, largest_s=size))
    return found
