"""Stamps in order, each once; jitter and gaps of what is then left."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Indices
from pkm_identification.quality.report import Defect, located

ABSURD = 0.2  # share of the stamps that may be wrong before the clock cannot be trusted
JITTER = 0.01  # of an interval, standard deviation that is reported
FAR = 0.75  # of an interval: stamps farther off their even ones are not theirs
EXCESS = 0.2  # of an interval, largest deviation that is reported


def is_increasing(time: Array) -> bool:
    """Whether every stamp is later than the one before."""
    return bool((np.diff(time) > 0).all())


def in_order(time: Array, values: list[Array], source: str) -> tuple[Indices, list[Defect]]:
    """Return the numbers of the samples that remain, by their stamps (N,) [s], and what was done.

    Samples of one stamp are merged where all their values, arrays (N, n), are equal. Where they are
    not, one stamp is wrong and nobody knows which: all of them are left out. A `DatasetError` where
    more than a fifth of the stamps are out of order or double.
    """
    steps = np.diff(time)
    back = np.flatnonzero(steps < 0) + 1
    rows = np.arange(len(time))
    found: list[Defect] = []
    if len(back):
        late = np.flatnonzero(time < np.maximum.accumulate(time))  # after one with a later stamp
        _refuse_absurd(late, time, 'out of order', source)
        rows = np.argsort(time, kind='stable')
        found.append(
            located('out_of_order', late, time, 'sorted', largest_step_back_s=-steps.min())
        )
    ordered = time[rows]
    same = np.concatenate([[False], np.diff(ordered) == 0])
    if not same.any():
        return rows, found
    _refuse_absurd(rows[same], time, 'double', source)
    group = np.cumsum(~same) - 1
    first = np.flatnonzero(~same)[group]
    equal = np.ones(len(rows), dtype=bool)
    for array in values:
        one, other = array[rows], array[rows[first]]
        equal &= ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    conflicting = np.zeros(group[-1] + 1, dtype=bool)
    conflicting[group[~equal]] = True
    kept = ~same & ~conflicting[group]
    different = np.flatnonzero(conflicting[group])
    repeated = np.flatnonzero(same & ~conflicting[group])
    if len(repeated):
        found.append(located('duplicate_stamp', repeated, ordered, 'equal samples merged'))
    if len(different):
        done = 'different samples of one stamp: all left out'
        found.append(located('duplicate_stamp', different, ordered, done, 'sample'))
    return rows[kept], found


def _refuse_absurd(rows: Indices, time: Array, what: str, source: str) -> None:
    if len(rows) <= ABSURD * len(time):
        return
    row = int(np.min(rows))
    raise DatasetError(
        f'{source}: {len(rows)} of {len(time)} stamps are {what}; time does not increase at '
        f'sample {row} ({time[row - 1]:.6f} s, then {time[row]:.6f} s)'
    )


def nominal_interval(time: Array) -> float:
    """Interval [s] of the clock behind increasing stamps (N,) [s].

    Not changed by jitter, lost samples, or the rounding of the stamps: in seconds since 1970
    a number of 64 bits has steps of 0.24 us, so that of 4 kHz no difference of two stamps is
    better than to 0.1 %; all of them together are.
    """
    steps = np.diff(time)
    interval = float(np.median(steps))
    since = time - time[0]
    for _ in range(2):
        numbers = np.concatenate([[0.0], np.cumsum(np.round(steps / interval))])
        centred = numbers - numbers.mean()
        interval = float(centred @ since / (centred @ centred))
    return interval


def even_clock(time: Array) -> Array | None:
    """Even stamps (N,) that scattered ones (N,) belong to; None where they are too far off.

    The samples may have been taken evenly and stamped late, as a driver does that takes the
    time when its message is ready.
    """
    interval = float(np.median(np.diff(time)))
    numbers = np.concatenate([[0.0], np.cumsum(np.maximum(np.round(np.diff(time) / interval), 1))])
    for _ in range(2):
        centred = numbers - numbers.mean()
        step = float(centred @ time / (centred @ centred))
        even = time.mean() + step * centred
        numbers = np.round((time - even[0]) / step)
    if not (np.diff(numbers) > 0).all() or np.abs(time - even).max() > FAR * interval:
        return None
    return np.asarray(even)


def clock_defects(time: Array, interval: float) -> list[Defect]:
    """Find jitter and gaps of increasing stamps (N,) [s] with a median interval [s]."""
    if len(time) < 3:
        return []
    steps = np.diff(time) / interval
    whole = np.maximum(np.round(steps), 1.0)
    off = steps - whole
    found = []
    # a step has the jitter of two stamps
    deviation, largest = float(off.std() / np.sqrt(2)), float(np.abs(off).max())
    if deviation > JITTER or largest > EXCESS:
        rows = np.flatnonzero(np.abs(off) > JITTER) + 1
        found.append(
            located(
                'jitter',
                rows,
                time,
                'the samples are used at their own stamps',
                standard_deviation_s=deviation * interval,
                largest_s=largest * interval,
            )
        )
    near = np.minimum(np.append(steps[1:], np.inf), np.insert(steps[:-1], 0, np.inf))
    # a late stamp alone is followed by a short step
    after = np.flatnonzero((whole > 1.5) & (steps + np.where(np.isinf(near), 1.0, near) > 2.5))
    if len(after):
        lost = whole[after] - 1
        gaps = tuple((float(time[k]), float(time[k + 1])) for k in after[:8])
        count = int(lost.sum())
        found.append(
            Defect(
                'gap',
                count,
                count / (count + len(time)),
                'not interpolated: weight zero',
                where=gaps,
                stretches=len(after),
                figures={'longest_s': float(steps[after].max() * interval)},
            )
        )
    return found
