"""Long irregular and incomplete recordings on an even grid, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pkm_identification.datasets import LongDataset
from pkm_identification.signals.gridding import along, collected, evened_on, nearest

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MARGIN = 64  # samples around a block that its bridges depend on


def periodic_blocks(
    dataset: LongDataset, start: float, step: float, count: int, slopes: Array
) -> Iterator[Array]:
    """Yield positions and efforts (k, 2 n_a) at start + step * (0 ... count - 1).

    Each sample goes to the nearest point, moved along the periodic part of its signal; NaN
    where there is none.

    Parameters
    ----------
    dataset
        With efforts.
    start, step, count
        Grid.
    slopes
        (orders, n, 2 n_a) of one period, see `gridding.along`.
    """
    period = slopes.shape[1]
    done = 0
    rest: tuple[Array, NDArray[np.int64]] | None = None
    for time, values, valid in _samples(dataset):
        number, late = nearest(time, start, step, count)
        inside = number >= 0
        if not inside.any():
            continue
        number, late, values = number[inside], late[inside], values[inside]
        moved = values - along(slopes, late, number % period)
        size = int(number[-1]) - done + 1
        total, hits = collected(
            number - done, moved, None if valid is None else valid[inside], size
        )
        if rest is not None:
            total[0] += rest[0]
            hits[0] += rest[1]
        yield _means(total[:-1], hits[:-1])
        rest, done = (total[-1], hits[-1]), done + size - 1
    if rest is not None:
        yield _means(rest[0][None], rest[1][None])
        done += 1
    if done < count:
        yield np.full((count - done, 2 * len(dataset.joint_names)), np.nan)


def even_blocks(
    dataset: LongDataset, start: float, step: float, count: int
) -> Iterator[tuple[Array, Flags]]:
    """Yield positions and efforts (k, 2 n_a) on a grid, and where they were measured.

    See `gridding.evened_on`: short gaps are bridged, rows must not rest on long ones.
    """
    done = 0
    for window, following in _windows(dataset):
        time, values, valid = window
        end = count
        if following is not None:
            end = min(count, max(done, int(np.ceil((following - start) / step - 0.5))))
        if end > done:
            grid = start + step * np.arange(done, end, dtype=float)
            yield evened_on(grid, step, time, values, valid)
            done = end


def _means(total: Array, hits: NDArray[np.int64]) -> Array:
    return np.where(hits > 0, total / np.maximum(hits, 1), np.nan)


def _samples(dataset: LongDataset) -> Iterator[tuple[Array, Array, Flags | None]]:
    """Yield stamps, [positions, efforts], and which of them may be used."""
    for block in dataset.blocks():
        assert block.efforts is not None
        flags = [block.position_valid, block.effort_valid]
        valid = None
        if any(each is not None for each in flags):
            shape = block.positions.shape
            valid = np.hstack([np.ones(shape, bool) if each is None else each for each in flags])
        yield block.time, np.hstack([block.positions, block.efforts]), valid


Samples = tuple[Array, Array, Flags | None]


def _windows(dataset: LongDataset) -> Iterator[tuple[Samples, float | None]]:
    """Yield blocks with a margin, and the stamp of the next block's first sample."""
    before: Samples | None = None
    block: Samples | None = None
    for after in _samples(dataset):
        if block is not None:
            yield _with_margins(before, block, after), float(after[0][0])
            before = block
        block = after
    if block is not None:
        yield _with_margins(before, block, None), None


def _with_margins(before: Samples | None, block: Samples, after: Samples | None) -> Samples:
    parts = [block]
    if before is not None:
        parts.insert(0, _cut(before, slice(-MARGIN, None)))
    if after is not None:
        parts.append(_cut(after, slice(0, MARGIN)))
    valid = None
    if any(part[2] is not None for part in parts):
        valid = np.concatenate(
            [np.ones(part[1].shape, bool) if part[2] is None else part[2] for part in parts]
        )
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        valid,
    )


def _cut(part: Samples, rows: slice) -> Samples:
    return part[0][rows], part[1][rows], None if part[2] is None else part[2][rows]
