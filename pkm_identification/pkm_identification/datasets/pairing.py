"""Rows of positions with the efforts that belong to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError

NANOSECONDS = 1e-9
TOLERANCE = 0.25  # of a sampling interval


@dataclass(frozen=True)
class Pairing:
    """Rows `first` of one stream that belong to rows `second` of another.

    Attributes
    ----------
    first, second
        Row numbers (M,).
    delay
        Stamp of the second minus stamp of the first [s].
    jitter
        Largest deviation of a pair from `delay` [s].
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    delay: float
    jitter: float


def pair_by_stamp(first: NDArray[np.int64], second: NDArray[np.int64], what: str) -> Pairing:
    """Pair two streams of one rate whose stamps [ns] differ by a constant.

    The constant is found from the data (circular mean of the difference within one
    sampling interval), so a centre half an interval away is as good as none. Rows
    without a partner within a quarter of the interval are left out.

    Raises
    ------
    DatasetError
        Less than half of the first stream finds a partner.
    """
    interval = float(np.median(np.diff(first))) if len(first) > 1 else 1e6
    origin = first[0]
    following = np.searchsorted(second, first)
    usable = following < len(second)
    if not usable.any():
        usable, following = np.ones(len(first), dtype=bool), np.full(len(first), len(second) - 1)
    gap = (second[following[usable]] - first[usable]).astype(float)
    angle = np.angle(np.mean(np.exp(2j * np.pi * gap / interval)))
    delay = float(angle / (2 * np.pi) * interval)
    target = (first - origin).astype(float) + delay
    other = (second - origin).astype(float)
    right = np.clip(np.searchsorted(other, target), 0, len(other) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(other[left] - target) < np.abs(other[right] - target), left, right)
    error = other[nearest] - target
    keep = np.abs(error) <= TOLERANCE * interval
    unique = np.ones(len(nearest), dtype=bool)
    unique[1:] = nearest[1:] != nearest[:-1]
    rows = np.flatnonzero(keep & unique)
    if 2 * len(rows) < len(first):
        raise DatasetError(
            f'{what}: only {len(rows)} of {len(first)} samples have a partner within '
            f'{TOLERANCE * interval * NANOSECONDS * 1e3:.3f} ms; are the rates equal?'
        )
    found = error[rows]
    centre = float(np.median(found))
    return Pairing(
        rows,
        nearest[rows],
        (delay + centre) * NANOSECONDS,
        float(np.max(np.abs(found - centre))) * NANOSECONDS,
    )
