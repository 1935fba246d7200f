"""The file or folder of a recording, of any form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkm_description.description import JOINT, MOTOR
from pkm_description.errors import DatasetError
from pkm_description.untrusted.named_files import (
    MAX_RECORDING,
    allowed,
    regular_file,
    regular_folder,
)
from pkm_identification.datasets.bags.bag_recording import open_bag
from pkm_identification.datasets.portion import EXAMPLES, portion_of
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.tables.column_mapping import SUFFIX, ForeignFormError, find_mapping
from pkm_identification.datasets.tables.column_proposal import proposal_hint
from pkm_identification.datasets.tables.csv_file import open_csv
from pkm_identification.datasets.tables.foreign_table import FOREIGN
from pkm_identification.datasets.tables.mapped_table import load_mapped
from pkm_identification.datasets.tables.npz_file import open_npz
from pkm_identification.datasets.tidying import tidied

FORCES = ('measured', 'commanded')
SLOWEST = 100.0  # [s] between samples: slower ones are stamps in another unit
READ_AT_ONCE = 1 << 20  # [bytes]: a bag may not fit into memory
ROS_1 = '.bag'  # suffix of a file of ROS 1; a folder of ROS 2 may have it as well
BAG_OPTIONS = ('topic', 'allow_incomplete', 'only_run', 'topics')
COMMON_OPTIONS = (
    *('joints', 'effort_unit', 'force_constants', 'columns', 'start', 'stop', 'truth', 'side'),
    'forces',
)
FORMS = (
    'a rosbag2 folder, .mcap, .db3, .csv or .npz; with a file of names beside it '
    '(DATA.columns.yaml) .txt, .tsv, .dat, .log, .mat or .parquet, too'
)


class DataFile:
    """What was read once, for recordings with measured forces and with commanded ones.

    `forces` are those that will be wanted, `joints` the names in a bag that are; the other
    arguments are those of `load`. Raises DatasetError where it is missing or cannot be read.
    """

    def __init__(
        self,
        path: Path | str,
        forces: Sequence[str] = FORCES,
        joints: Sequence[str] = (),
        *,
        truth: bool = True,
        columns: Path | str | Mapping[str, Any] | None = None,
        start: float | None = None,
        stop: float | None = None,
        **options: Any,
    ) -> None:
        self._portion = portion_of(allowed(path, DatasetError), start, stop)
        path = self._path = self._portion.path
        for each in forces:
            _require_forces(each)
        if path.parent != EXAMPLES:
            allowed(path, DatasetError)
        if not path.exists():
            raise DatasetError(f"data file '{path}' does not exist; expected {FORMS}")
        if path.is_dir():
            regular_folder(path, DatasetError, MAX_RECORDING)
        elif path.parent != EXAMPLES:
            regular_file(path, DatasetError, MAX_RECORDING)
        is_bag = path.is_dir() or path.suffix in ('.mcap', '.db3')
        valid = BAG_OPTIONS if is_bag else ()
        unknown = sorted(set(options) - set(valid))
        if unknown:
            raise DatasetError(
                f"unknown option '{unknown[0]}' for '{path}'; valid are "
                f'{", ".join((*valid, *COMMON_OPTIONS))}'
            )
        if is_bag:
            if columns is not None:
                raise DatasetError(
                    f"'{path}' is a bag: columns= is for tables, topic= names its topic"
                )
            self._made_of = open_bag(
                path,
                joints=joints,
                truth=truth,
                measured='measured' in forces,
                commanded='commanded' in forces,
                **options,
            )
        else:
            self._made_of = _opened_table(path, columns)
        self._drops_truth = not (truth or is_bag)  # a bag's was not read
        self._hash: str | None = None

    def recording(self, forces: str, side: str | None = None) -> Recording:
        """Return the recording, tidied, with `measured` or `commanded` forces.

        `side` says of what it is, where the file does not. Raises DatasetError where the file has
        no such forces, or is inconsistent.
        """
        _require_forces(forces)
        recording = self._made_of(forces == 'commanded')
        if self._drops_truth:
            recording = replace(recording, truth=None)
        if side is not None:
            recording = _of_side(recording, side)
        if recording.interval > SLOWEST:
            raise DatasetError(
                f"'{self._path}': time goes on by {recording.interval:g} from sample to sample; it "
                'must be in seconds (of nanoseconds: times 1e-9)'
            )
        recording = tidied(recording)
        self._hash = self._hash or file_hash(self._path)
        recording = replace(recording, provenance={**recording.provenance, 'sha256': self._hash})
        portion = self._portion
        if portion.is_whole:
            return recording
        return recording.between(*portion.ends, portion.suffix)


def _require_forces(forces: str) -> None:
    if forces not in FORCES:
        raise DatasetError(f"unknown forces '{forces}'; valid are {', '.join(FORCES)}")


def _opened_table(
    path: Path, columns: Path | str | Mapping[str, Any] | None
) -> Callable[[bool], Recording]:
    """Open a table with its file of names, or in our own form."""
    if path.suffix.lower() not in FOREIGN:
        if path.suffix == ROS_1:
            raise DatasetError(
                f"'{path}' is a bag of ROS 1: convert it with `rosbags-convert --src {path} "
                f'--dst {path.with_suffix("")}` and name the folder that this makes'
            )
        raise DatasetError(f"'{path}' has an unknown format; expected {FORMS}")
    names = find_mapping(path) if columns is None else columns
    if names is not None:

        def mapped(commanded: bool) -> Recording:
            if commanded:
                raise DatasetError(
                    f"'{path}' has a file of names: let it name the commanded forces as `effort`"
                )
            return load_mapped(path, names)

        return mapped
    opening = {'.csv': open_csv, '.npz': open_npz}
    if path.suffix not in opening:
        reason = (
            f"'{path}' needs a file of names, '{path.stem}{SUFFIX}' beside it or columns= "
            '(--columns), that says what its columns are'
        )
        raise ForeignFormError(reason, proposal_hint(path))

    def ours(commanded: bool) -> Recording:
        try:
            return made_of(commanded)
        except ForeignFormError as error:
            raise ForeignFormError(error.reason, proposal_hint(path)) from None

    try:
        made_of = opening[path.suffix](path)
    except ForeignFormError as error:
        raise ForeignFormError(error.reason, proposal_hint(path)) from None
    return ours


def file_hash(path: Path) -> str:
    """SHA-256 of a file, or of names and contents of the files in a folder."""
    total = hashlib.sha256()
    if path.is_file():
        with path.open('rb') as file:
            while data := file.read(READ_AT_ONCE):
                total.update(data)
        return total.hexdigest()
    for part in sorted(path.rglob('*')):
        if part.is_file():
            total.update(f'{part.relative_to(path).as_posix()}\0{file_hash(part)}\0'.encode())
    return total.hexdigest()


def _of_side(recording: Recording, side: str) -> Recording:
    """Say that a recording is of motors, which it must not deny."""
    if side == JOINT and recording.side == MOTOR:
        raise DatasetError(f"'{recording.name}' says that it is of motors: side='{side}' is not so")
    return replace(recording, side=side)
