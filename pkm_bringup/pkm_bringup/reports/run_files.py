"""What a run left: recordings, models, designs and validations in a folder, or one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_identification.excitation.excitation_design import FORMAT as DESIGN
from pkm_identification.result.model_file import FORMAT as MODEL

DEPTH = 2  # folders below the one that is named: `bags/excitation`
HEAD = 4096  # bytes in which a YAML file says what it is
RECORDINGS = ('.mcap', '.db3', '.npz', '.csv')
TEXTS = ('.yaml', '.yml')
BAG = 'metadata.yaml'  # what makes a folder a rosbag2 recording
VALIDATION = '.json'


class ReportError(PkmError):
    """There is nothing that a report could be about."""


@dataclass(frozen=True)
class RunFiles:
    """Paths of what a run left, each kind in the order of their names, the newest model first."""

    place: str  # as it was named
    recordings: tuple[str, ...] = ()
    models: tuple[Path, ...] = ()
    designs: tuple[Path, ...] = ()
    validations: tuple[Path, ...] = ()  # as `pkm validate --json` prints them

    @property
    def is_folder(self) -> bool:
        """Whether a folder was named, of which parts that cannot be read are left out."""
        return Path(self.place).is_dir() and self.recordings != (self.place,)


def files_of(place: str) -> RunFiles:
    """Return what a path names: a recording, model, design, validation, or a folder of them.

    `ReportError` where a folder holds nothing of them, or a YAML file is of another kind. What is
    no file is taken for a recording, whose reader says what is wrong.
    """
    path, found = Path(place), RunFiles(place)
    if path.is_dir() and not (path / BAG).is_file():
        for file in _below(path, DEPTH):
            found = _with(found, file)
        if found == RunFiles(place):
            raise ReportError(
                f"'{place}' holds no recording, model, design or validation, nor does a folder up "
                f'to {DEPTH} levels below it'
            )
        newest = sorted(found.models, key=lambda each: each.stat().st_mtime, reverse=True)
        return replace(found, models=tuple(newest))
    if path.suffix in (*TEXTS, VALIDATION):
        named = _with(found, path)
        if named == found:
            raise ReportError(f"'{place}' is neither a model nor a design of an excitation")
        return named
    return replace(found, recordings=(place,))


def _below(folder: Path, depth: int) -> list[Path]:
    """Return files, and folders that are bags, in a folder and in those below it."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith('.'):
            continue
        if path.is_dir() and not (path / BAG).is_file():
            found += _below(path, depth - 1) if depth else []
        else:
            found.append(path)
    return found


def _with(found: RunFiles, path: Path) -> RunFiles:
    """Return the same with one more path, where it is of a known kind."""
    if path.is_dir() or path.suffix in RECORDINGS:
        return replace(found, recordings=(*found.recordings, str(path)))
    if path.suffix == VALIDATION:
        return replace(found, validations=(*found.validations, path))
    if path.suffix in TEXTS:
        with path.open('rb') as file:
            head = file.read(HEAD)
        if f'format: {MODEL}'.encode() in head:
            return replace(found, models=(*found.models, path))
        if f'format: {DESIGN}'.encode() in head:
            return replace(found, designs=(*found.designs, path))
    return found
