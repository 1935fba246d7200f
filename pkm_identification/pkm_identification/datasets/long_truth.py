"""Noise-free signals of a simulated robot that are too long for memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_identification.datasets.dataset import Truth
from pkm_identification.datasets.sources import BLOCK, Member, npz_shapes

Array = NDArray[np.float64]

TIME = 'truth_time'
SIGNALS = ('truth_positions', 'truth_velocities', 'truth_forces')


@dataclass(frozen=True)
class LongTruth:
    """As `Truth`, of an NPZ file that is read in blocks.

    `time`, `positions`, `velocities` and `forces` read all of it into memory.

    Attributes
    ----------
    path
        File with all of `truth_time` (M,) and `truth_positions`, `truth_velocities`,
        `truth_forces` (M, n).
    columns
        Of the file, in the joint order of the dataset.
    """

    path: Path
    columns: NDArray[np.int64]

    @classmethod
    def of(cls, path: Path, joints: int) -> LongTruth | None:
        """Return what a file holds of so many joints, None where it holds nothing of this.

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
        return cls(path, np.arange(joints))

    def __len__(self) -> int:
        """Return the number of samples."""
        return npz_shapes(self.path)[TIME][0]

    def with_columns(self, columns: Sequence[int] | NDArray[np.int64]) -> LongTruth:
        """Return the signals of some joints."""
        return replace(self, columns=self.columns[np.asarray(columns, dtype=np.int64)])

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
                yield parts[0], *(part[:, self.columns] for part in parts[1:])

    def forces_at(self, stretches: Iterable[Array]) -> Iterator[Array]:
        """Yield the forces (k, n) at stretches of times (k,), linearly between samples.

        Each stretch ascends, and begins no earlier than the one before; they may overlap.
        """
        blocks = self.blocks('truth_forces')
        time, forces = np.zeros(0), np.zeros((0, len(self.columns)))
        for wanted in stretches:
            keep = max(int(np.searchsorted(time, wanted[0], side='right')) - 1, 0)
            time, forces = time[keep:], forces[keep:]
            while not len(time) or time[-1] < wanted[-1]:
                block = next(blocks, None)
                if block is None:
                    break
                time = np.concatenate([time, block[0]])
                forces = np.concatenate([forces, block[1]])
            yield np.column_stack([np.interp(wanted, time, column) for column in forces.T])

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
