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


@dataclass(frozen=True)
class Pairing:
    """Rows `first` of one stream that belong to rows `second` of another."""

    first: Indices  # row numbers (M,)
    second: Indices
    delay: float  # stamp of the second minus stamp of the first [s]
    jitter: float  # largest deviation of a pair from `delay` [s]


def pair_by_stamp(first: Stamps, second: Stamps, what: str) -> Pairing:
    """Pair two streams of one rate whose stamps [ns] differ by a constant.

    The constant is found from the data (circular mean of the difference within one sampling
    interval), so a centre half an interval away is as good as none. Rows without a partner within a
    quarter of the interval are left out, at most half of them.
    """
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
        rows.array(), partners.array(), (delay + centre) * NANOSECONDS, jitter * NANOSECONDS
    )


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
