"""Stamps in order, each once; jitter and gaps of what is then left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Indices
from pkm_identification.quality.report import STRETCHES, TIMES, Defect, located

ABSURD = 0.2  # share of the stamps that may be wrong before the clock cannot be trusted
JITTER = 0.01  # of an interval, standard deviation that is reported
FAR = 0.75  # of an interval: stamps farther off their even ones are not theirs
EXCESS = 0.2  # of an interval, largest deviation that is reported


RESTART = 10.0  # intervals: a step back by less is one of samples that changed places
RETURN = 0.5  # of a step back: stamps that go forth by that soon after were late
SLOW = 0.4  # [s] between samples: robots move their fastest in less
UNKNOWN = 1.0  # [s] put between a clock's end and its new beginning: a gap for every filter
LEAST_UNKNOWN = 128  # intervals, likewise of slow recordings
SHARED = 0.05  # of the samples: where more have the stamp of others, that has few digits


def is_increasing(time: Array) -> bool:
    """Whether every stamp is later than the one before."""
    return bool((np.diff(time) > 0).all())


def in_sequence(time: Array, values: list[Array]) -> tuple[Array, list[Defect]]:
    """Return stamps (N,) [s] of samples that stand in the order of their times, and what was done.

    Where a clock begins anew, the stamps behind go on after a gap. Where stamps have too few
    digits, or several samples came at once, those of one stamp are spread over the time to the
    next. `values` (N, n) tell samples from repeats of one.
    """
    forward = np.diff(time)
    forward = forward[forward > 0]
    if not len(forward):
        return time, []
    time, found = _without_restarts(time, float(np.median(forward)))
    steps = np.diff(time)
    if not len(steps) or steps.min() < 0:
        return time, found
    differs = np.zeros(len(steps), dtype=bool)
    for array in values:
        differs |= (np.diff(array, axis=0) != 0).any(axis=1)
    together = np.append(False, (steps == 0) & differs)
    if np.count_nonzero(together) <= SHARED * len(time):
        return time, found
    first = np.flatnonzero(np.append(True, steps > 0))
    count = np.diff(np.append(first, len(time)))
    share = np.diff(time[first]) / count[:-1]  # of each sample in the time to the next stamp
    interval = float(np.median(share)) if len(share) else 0.0
    share = np.append(np.minimum(share, interval), interval)
    group = np.repeat(np.arange(len(first)), count)
    spread = time + share[group] * (np.arange(len(time)) - first[group])
    done = 'several samples of one stamp: spread over the time to the next'
    rows, most = np.flatnonzero(together), float(count.max())
    defect = located('coarse_stamp', rows, time, done, interval_s=interval, most_samples=most)
    return spread, [*found, defect]


def unknown_gap(interval: float) -> float:
    """Gap [s] of samples `interval` [s] apart over which nothing is known of the motion."""
    return max(UNKNOWN, LEAST_UNKNOWN * interval)


def between_pauses(time: Array) -> list[slice]:
    """Rows of stamps (N,) [s] between the pauses of a recording."""
    steps = np.diff(time)
    ends = np.flatnonzero(steps > (1 - JITTER) * unknown_gap(float(np.median(steps)))) + 1
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(time)], strict=True)]


def _without_restarts(time: Array, interval: float) -> tuple[Array, list[Defect]]:
    """Let stamps (N,) go on where their clock steps back for good."""
    time, found = np.array(time), []
    for row in np.flatnonzero(np.diff(time) < -RESTART * interval) + 1:
        back = float(time[row - 1] - time[row])
        behind = time[row:]
        again = np.flatnonzero(behind > time[row - 1])  # as late as before
        end = int(again[0]) + 1 if len(again) else len(behind)
        if back <= 0 or np.diff(behind[:end]).max(initial=0.0) > RETURN * back:
            continue
        gap = unknown_gap(interval)
        done = f'the stamps behind go on {gap:g} s later, as long as the motion tells no better'
        where = np.array([row])
        found.append(located('clock_leap', where, time, done, largest_s=-back))
        time[row:] += back + gap
    return time, found


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
    is_pause = steps[after] * interval > (1 - JITTER) * unknown_gap(interval)
    lost, done = whole[after] - 1, 'not interpolated: weight zero'
    gaps = _missing('gap', time, after[~is_pause], int(lost[~is_pause].sum()), done)
    # nobody recorded: no samples are lost
    pauses = _missing('pause', time, after[is_pause], int(is_pause.sum()), 'no rows over them')
    return [*found, *gaps, *pauses]


def slow_rate_defects(interval: float, count: int) -> list[Defect]:
    """Doubt stamps of `count` samples with an interval [s] in which robots move their fastest."""
    if interval < SLOW:
        return []
    what = f'a sample each {interval:.3g} s tells no dynamics: are they in milliseconds?'
    done, figures = 'stamps are used as they are', {'interval_s': interval}
    return [Defect('rate', count, 1.0, done, figures=figures, what=what)]


def _missing(kind: str, time: Array, after: Indices, count: int, done: str) -> list[Defect]:
    """Report times without samples, `after` (k,) some of those with stamps (N,) [s]."""
    if not len(after):
        return []
    where = tuple((float(time[k]), float(time[k + 1])) for k in after[:STRETCHES])
    longest = float(np.max(time[after + 1] - time[after]))
    share = 0.0 if kind in TIMES else count / (count + len(time))
    found = Defect(kind, count, share, done, where=where, stretches=len(after))
    return [replace(found, figures={'longest_s': longest})]
