"""A public log of a real robot: where it comes from, and how its files become recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

Array = np.ndarray


class LogError(Exception):
    """A log that cannot be converted; the message names the file and what is missing."""


class Recording(Protocol):
    """What can be written as a recording: samples, or a part of a bag."""

    suffix: ClassVar[str]

    def write(self, path: Path, joint_names: tuple[str, ...]) -> None:
        """Write the file."""

    def size(self) -> tuple[int, float]:
        """Return the number of samples and their duration [s]."""


@dataclass(frozen=True)
class Samples:
    """Samples of one motion as the log has them: nothing sorted, filtered or left out.

    time (N,) [s]; the others (N, n_a): positions [rad, m], efforts [N m, N] or currents [A],
    velocities [rad/s, m/s] where the log has them. With the side `motor` all are of motors.
    """

    time: Array
    positions: Array
    efforts: Array | None = None
    currents: Array | None = None
    velocities: Array | None = None
    side: str | None = None

    suffix: ClassVar[str] = '.npz'

    def part(self, first: float, last: float) -> Samples:
        """Return the samples between two shares of the log, 0 to 1."""
        count = len(self.time)
        kept = slice(round(first * count), round(last * count))
        arrays = {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}
        return replace(self, **{name: each[kept] for name, each in arrays.items()})

    def write(self, path: Path, joint_names: tuple[str, ...]) -> None:
        """Write an NPZ recording (pkm_identification/doc/recordings.md)."""
        arrays = {name: each for name, each in vars(self).items() if each is not None}
        np.savez_compressed(path, joint_names=np.array(joint_names), **arrays)

    def size(self) -> tuple[int, float]:
        """Return the number of samples and their duration [s]."""
        return len(self.time), float(self.time.max() - self.time.min())


@dataclass(frozen=True)
class Converted:
    """What becomes of a log: the robot's URDF and sidecar, and the recordings by file stem."""

    joints: tuple[str, ...]
    urdf: str
    sidecar: str
    recordings: Mapping[str, Recording]


@dataclass(frozen=True)
class RealLog:
    """A log on the shelf."""

    name: str
    robot: str
    source: str  # repository and commit, and the paper that the data belong to
    licence: str
    conventions: str  # units, signs, gears, stamps; which numbers of the URDF are whose
    split: str  # which motions are for training and which are held out
    convert: Callable[[Path], Converted]  # from the root of a local copy of the source

    def write(self, source: Path, target: Path) -> None:
        """Write robot.urdf, robot.yaml, the recordings and a README into a new folder."""
        converted = self.convert(source)
        target.mkdir(parents=True, exist_ok=True)
        (target / 'robot.urdf').write_text(converted.urdf, encoding='utf-8')
        (target / 'robot.yaml').write_text(converted.sidecar, encoding='utf-8')
        for stem, each in converted.recordings.items():
            each.write(target / f'{stem}{each.suffix}', converted.joints)
        (target / 'README.md').write_text(self.readme(converted), encoding='utf-8')

    def readme(self, converted: Converted) -> str:
        """Return source, licence, conventions and split as a page."""
        lines = [f'# {self.name}: {self.robot}', '']
        for title in ('source', 'licence', 'conventions', 'split'):
            lines += [f'**{title.capitalize()}:** {getattr(self, title)}', '']
        lines += ['| file | samples | duration [s] |', '|---|---|---|']
        for stem, each in converted.recordings.items():
            count, duration = each.size()
            lines.append(f'| {stem}{each.suffix} | {count} | {duration:.1f} |')
        return '\n'.join(lines) + '\n'


def found(path: Path) -> Path:
    """Return the path of a file of the source.

    Raises
    ------
    LogError
        Where there is no such file.
    """
    if not path.is_file():
        raise LogError(f"there is no '{path}'; is the folder the root of a copy of the source?")
    return path


def table(path: Path, columns: int, blanks: str = '', **options: object) -> Array:
    """Read a file of numbers with at least so many columns; `blanks`: signs read as blanks.

    Raises
    ------
    LogError
        Where the file is missing or has fewer columns.
    """
    lines: Path | list[str] = found(path)
    if blanks:
        text = path.read_text(encoding='utf-8')
        lines = text.translate(dict.fromkeys(map(ord, blanks), ' ')).splitlines()
    values = np.loadtxt(lines, ndmin=2, **options)  # type: ignore[call-overload]
    if values.shape[1] < columns:
        raise LogError(f"'{path}' has {values.shape[1]} columns; {columns} are expected")
    return values
