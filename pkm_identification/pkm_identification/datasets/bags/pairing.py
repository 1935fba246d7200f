"""Rows of positions with the efforts that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Indices
from pkm_identification.datasets.stored_array import StoredArray

Stamps = Indices  # [ns]
NANOSECONDS = 1e-9
TOLERANCE = 0.25  # of a sampling interval
AT_ONCE = 2**18  # stamps
MEDIAN_OF = 2**20
PHASE_OF = 1000  # stamps whose mean phase is free of jitter, and over which clocks hardly drift
CLEAR = 0.3  # length of the mean phase: below, it is chance
DRIFTED = 0.1  # of an interval over the whole: less does no harm
MOST_DRIFT = 5e-4  # of the time: clocks of two computers differ by less, other rates by more


@dataclass(frozen=True)
class Pairing:
    """Rows `first` of one stream that belong to rows `second` of another."""

    first: Indices  # row numbers (M,)
    second: Indices
    delay: float  # stamp of the second minus stamp of the first [s]
    jitter: float  # largest deviation of a pair from `delay` [s]
    drift: float = 0.0  # of the second clock against the first, share of the time


def pair_by_stamp(first: Stamps, second: Stamps, what: str) -> Pairing:
    """Pair two streams of one rate whose stamps [ns] differ by a constant.

    The constant is found from the data (circular mean of the difference within one sampling
    interval), so a centre half an interval away is as good as none. Rows without a partner within a
    quarter of the interval are left out, at most half of them. Where the second clock drifts
    against the first, its stamps are brought to the first one before.
    """
    drift = clock_drift(first, second)
    if drift:
        second = second - np.round(drift * (second - first[0])).astype(second.dtype)
    interval = float(np.median(np.diff(first[:AT_ONCE]))) if len(first) > 1 else 1e6
    turns = 0j
    for part in _parts(first):
        following = np.searchsorted(second, part)
        usable = following < len(second)
        if usable.any():
            gap = (second[following[usable]] - part[usable]).astype(float)
            turns += np.sum(np.exp(2j * np.pi * gap / interval))
    if turns == 0j:  # the second stream ends before the first begins
        gap = (second[-1] - np.asarray(first)).astype(float)
        turns = np.sum(np.exp(2j * np.pi * gap / interval))
    delay = float(np.angle(turns) / (2 * np.pi) * interval)
    rows, partners, errors = StoredArray(), StoredArray(), StoredArray()
    before, done = -1, 0
    for part in _parts(first):
        nearest, error = _nearest(part, second, delay)
        chosen = np.flatnonzero(np.abs(error) <= TOLERANCE * interval)
        chosen = chosen[np.diff(nearest[chosen], prepend=before) != 0]
        before = int(nearest[chosen[-1]]) if len(chosen) else before
        rows.append(chosen + done)
        partners.append(nearest[chosen])
        errors.append(error[chosen])
        done += len(part)
    if 2 * len(rows) < len(first):
        raise DatasetError(
            f'{what}: only {len(rows)} of {len(first)} samples have a partner within '
            f'{TOLERANCE * interval * NANOSECONDS * 1e3:.3f} ms; are the rates equal?'
        )
    found = errors.array()
    centre = float(np.median(found[:: 1 + len(found) // MEDIAN_OF]))
    jitter = max(float(found.max()) - centre, centre - float(found.min()))
    return Pairing(
        rows.array(), partners.array(), (delay + centre) * NANOSECONDS, jitter * NANOSECONDS, drift
    )


def clock_drift(first: Stamps, second: Stamps) -> float:
    """Drift of the clock of the second stamps [ns] against that of the first; 0 without one.

    The phase of the second samples between the first ones goes round by as many turns as the clocks
    differ by intervals at the end. Of two samplings by one clock it does, too, but these
    end together.
    """
    count = min(len(first) // PHASE_OF, len(second) // PHASE_OF)
    if count < 3:
        return 0.0
    begins = np.linspace(0, len(first) - PHASE_OF, count).astype(int)
    interval = float(np.median(np.diff(first[:AT_ONCE])))
    times, turns = [], []
    for begin in begins:
        part = np.asarray(first[begin : begin + PHASE_OF])
        following = np.searchsorted(second, part)
        usable = following < len(second)
        if usable.any():
            gap = (second[following[usable]] - part[usable]).astype(float)
            times.append(float(part.mean() - first[0]))
            turns.append(complex(np.mean(np.exp(2j * np.pi * gap / interval))))
    if len(turns) < 3 or min(map(abs, turns)) < CLEAR:
        return 0.0
    late = np.unwrap(np.angle(turns)) / (2 * np.pi) * interval
    slope, start = np.polyfit(times, late, 1)
    total = float(slope * (first[-1] - first[0]))
    if abs(total) < DRIFTED * interval or abs(slope) > MOST_DRIFT:
        return 0.0
    ends = float(second[-1] - first[-1]) - start
    return float(slope) if abs(ends - total) <= abs(ends) else 0.0


def _parts(stamps: Stamps) -> Iterator[Stamps]:
    for begin in range(0, len(stamps), AT_ONCE):
        yield np.asarray(stamps[begin : begin + AT_ONCE])


def _nearest(part: Stamps, second: Stamps, delay: float) -> tuple[Indices, Array]:
    """Row of the stamp nearest to each of `part` plus `delay` [ns], and how far it is off."""
    origin = part[0]
    low = int(np.searchsorted(second, origin + int(delay) - 1))
    high = int(np.searchsorted(second, part[-1] + int(delay) + 1))
    low, high = max(low - 1, 0), min(high + 1, len(second))
    low = min(low, high - 1)
    target = (part - origin).astype(float) + delay
    other = (np.asarray(second[low:high]) - origin).astype(float)
    right = np.clip(np.searchsorted(other, target), 0, len(other) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(other[left] - target) < np.abs(other[right] - target), left, right)
    return nearest + low, other[nearest] - target
