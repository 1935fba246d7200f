"""Examination of a recording that is too long for memory, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkm_identification.quality.examine import (
    Part,
    Scales,
    examine_part,
    refuse_ruins,
    report,
    scales_of,
)
from pkm_identification.quality.report import Defect
from pkm_identification.quality.stamps import clock_defects

if TYPE_CHECKING:
    from pkm_identification.datasets import LongDataset

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MARGIN = 256  # samples before and after a block that are examined with it


def examined_long(dataset: LongDataset) -> LongDataset:
    """As `examined`, in memory that does not grow with the recording (only with its defects).

    Neighbours and resolution are those of the first samples.
    """
    if dataset.quality is not None:
        return dataset
    scan = dataset.scan
    extremes = (np.stack([scan.lower, scan.upper]), scan.effort_range)
    scales = replace(scales_of(scan.head), extremes=extremes)
    axes = len(dataset.joint_names)
    defects: list[Defect] = list(scan.defects)
    bad: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
    noises = []
    number, last = 0, np.nan
    for window, core in _windows(dataset):
        part = _examined(window, core, dataset.joint_names, scales)
        time = window[0][core]
        clock = time if np.isnan(last) else np.concatenate([[last], time])
        defects += [*clock_defects(clock, scan.interval), *part.defects]
        noises.append(part.noise)
        for rows, valid, known in (
            (bad[0], part.position_valid, window[3]),
            (bad[1], part.effort_valid, window[4]),
        ):
            fresh = ~valid if known is None else ~valid & known[core]
            rows.append(np.flatnonzero(fresh) + number * axes)
        number, last = number + len(time), float(time[-1])
    quality = report(scan.count, scan.interval, defects, dataset.joint_names, scales, noises)
    refuse_ruins(quality, dataset.joint_names, str(dataset.provenance.get('source', 'dataset')))
    return replace(
        dataset,
        bad_positions=np.concatenate(bad[0]),
        bad_efforts=np.concatenate(bad[1]),
        quality=quality,
    )


Window = tuple[Array, Array, Array, Flags | None, Flags | None]


def _examined(window: Window, core: slice, names: tuple[str, ...], scales: Scales) -> Part:
    time, positions, efforts, position_valid, effort_valid = window
    return examine_part(time, positions, efforts, position_valid, effort_valid, names, scales, core)


def _windows(dataset: LongDataset) -> Iterator[tuple[Window, slice]]:
    """Yield blocks with some samples before and after, and which of them are their own."""
    before: Window | None = None
    block: Window | None = None
    for item in dataset.blocks():
        assert item.efforts is not None
        after: Window = (
            item.time,
            item.positions,
            item.efforts,
            item.position_valid,
            item.effort_valid,
        )
        if block is not None:
            yield _surrounded(before, block, after)
            before = block
        block = after
    if block is not None:
        yield _surrounded(before, block, None)


def _surrounded(before: Window | None, block: Window, after: Window | None) -> tuple[Window, slice]:
    parts = [block]
    lead = 0
    if before is not None:
        lead = min(MARGIN, len(before[0]))
        parts.insert(0, _cut(before, slice(len(before[0]) - lead, None)))
    if after is not None:
        parts.append(_cut(after, slice(0, MARGIN)))
    time, positions, efforts = (np.concatenate([part[k] for part in parts]) for k in range(3))
    flags = []
    for k in (3, 4):
        known = [part[k] for part in parts]
        flags.append(
            None
            if all(each is None for each in known)
            else np.concatenate(
                [
                    np.ones(part[1].shape, dtype=bool) if each is None else each
                    for part, each in zip(parts, known, strict=True)
                ]
            )
        )
    return (time, positions, efforts, flags[0], flags[1]), slice(lead, lead + len(block[0]))


def _cut(window: Window, rows: slice) -> Window:
    time, positions, efforts, *flags = window
    first, second = (None if each is None else each[rows] for each in flags)
    return time[rows], positions[rows], efforts[rows], first, second
