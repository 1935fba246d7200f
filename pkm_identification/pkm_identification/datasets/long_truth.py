"""Noise-free signals of a simulated robot that are too long for memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_identification.datasets.dataset import Truth
from pkm_identification.datasets.sources import BLOCK, Member, npz_shapes

Array = NDArray[np.float64]

TIME = 'truth_time'
SIGNALS = ('truth_positions', 'truth_velocities', 'truth_forces')


class TruthSource(Protocol):
    """Noise-free signals of one recording."""

    def __len__(self) -> int:
        """Return the number of samples."""
        ...

    def blocks(self, *names: str) -> Iterator[tuple[Array, ...]]:
        """Yield the time (k,) [s] and the named signals (k, n) in their order; begins anew."""
        ...


@dataclass(frozen=True)
class NpzTruth:
    """Noise-free signals in an NPZ file: `truth_time` (M,), `truth_forces` (M, n), ..."""

    path: Path

    def __len__(self) -> int:
        """Return the number of samples."""
        return npz_shapes(self.path)[TIME][0]

    def blocks(self, *names: str) -> Iterator[tuple[Array, ...]]:
        """Yield the time (k,) and the named signals (k, n) in their order; begins anew.

        Raises
        ------
        DatasetError
            A number is not finite.
        """
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(self.path))
            members = [
                stack.enter_context(Member(archive, f'{name}.npy')) for name in (TIME, *names)
            ]
            count = len(self)
            for begin in range(0, count, BLOCK):
                parts = [member.read(min(BLOCK, count - begin)) for member in members]
                for name, part in zip((TIME, *names), parts, strict=True):
                    if not np.isfinite(part).all():
                        raise DatasetError(f"'{self.path}': {name} must be finite")
                yield tuple(parts)


def npz_truth(path: Path, joints: int) -> LongTruth | None:
    """Return what an NPZ file holds of so many joints, None where it holds nothing of this.

    Raises
    ------
    DatasetError
        A part is missing or has another shape.
    """
    shapes = npz_shapes(path)
    given = [name for name in (TIME, *SIGNALS) if name in shapes]
    if not given:
        return None
    missing = [name for name in (TIME, *SIGNALS) if name not in shapes]
    if missing:
        raise DatasetError(f"'{path}' has {given[0]} but lacks {', '.join(missing)}")
    if len(shapes[TIME]) != 1:
        raise DatasetError(f"'{path}': {TIME} must be (M,), got shape {shapes[TIME]}")
    expected = (shapes[TIME][0], joints)
    for name in SIGNALS:
        if shapes[name] != expected:
            raise DatasetError(
                f"'{path}': {name} must be finite and {expected}, got {shapes[name]}"
            )
    return LongTruth(NpzTruth(path), np.arange(joints))


@dataclass(frozen=True)
class LongTruth:
    """As `Truth`, read in blocks.

    `time`, `positions`, `velocities` and `forces` read all of it into memory.

    Attributes
    ----------
    source
        Gives the samples, again and again.
    columns
        Of the source, in the joint order of the dataset.
    """

    source: TruthSource
    columns: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.source)

    def with_columns(self, columns: Sequence[int] | NDArray[np.int64]) -> LongTruth:
        """Return the signals of some joints."""
        return replace(self, columns=self.columns[np.asarray(columns, dtype=np.int64)])

    def blocks(self, *names: str) -> Iterator[tuple[Array, ...]]:
        """Yield the time (k,) and the named signals (k, n) in their order; begins anew."""
        for time, *parts in self.source.blocks(*names):
            yield time, *(part[:, self.columns] for part in parts)

    def reader(self) -> ForceReader:
        """Return a reader of the forces that begins anew."""
        return ForceReader(self)

    @cached_property
    def in_memory(self) -> Truth:
        """All samples at once."""
        parts = list(self.blocks(*SIGNALS))
        return Truth(*(np.concatenate([part[k] for part in parts]) for k in range(4)))

    @property
    def time(self) -> Array:
        """Stamps (M,) [s]."""
        return self.in_memory.time

    @property
    def positions(self) -> Array:
        """Positions (M, n) [m, rad]."""
        return self.in_memory.positions

    @property
    def velocities(self) -> Array:
        """Velocities (M, n) [m/s, rad/s]."""
        return self.in_memory.velocities

    @property
    def forces(self) -> Array:
        """Forces (M, n) [N, N m]."""
        return self.in_memory.forces


class ForceReader:
    """Noise-free forces at times that go forward, in memory that does not grow."""

    def __init__(self, truth: LongTruth) -> None:
        self._blocks = truth.blocks('truth_forces')
        self._time, self._forces = np.zeros(0), np.zeros((0, len(truth.columns)))

    def at(self, time: Array) -> Array:
        """Forces (k, n) [N, N m] at ascending times (k,), linearly between samples.

        No time may be before the first of the call before.
        """
        keep = max(int(np.searchsorted(self._time, time[0], side='right')) - 1, 0)
        times, forces = [self._time[keep:]], [self._forces[keep:]]
        while not len(times[-1]) or times[-1][-1] < time[-1]:
            block = next(self._blocks, None)
            if block is None:
                break
            times.append(block[0])
            forces.append(block[1])
        self._time, self._forces = np.concatenate(times), np.concatenate(forces)
        columns = [np.interp(time, self._time, column) for column in self._forces.T]
        return np.column_stack(columns)
