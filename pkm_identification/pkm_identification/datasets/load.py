"""One entry for all data formats."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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
from pkm_identification.datasets.bags.bag_recording import load_bag
from pkm_identification.datasets.portion import EXAMPLES, portion_of
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.tables.column_mapping import SUFFIX, ForeignFormError, find_mapping
from pkm_identification.datasets.tables.column_proposal import proposal_hint
from pkm_identification.datasets.tables.csv_file import load_csv
from pkm_identification.datasets.tables.foreign_table import FOREIGN
from pkm_identification.datasets.tables.mapped_table import load_mapped
from pkm_identification.datasets.tables.npz_file import load_npz
from pkm_identification.datasets.tidying import tidied
from pkm_identification.datasets.units import constants_of, parsed_constants

PLACES = ('force_constants=', 'the file')
UNITS = ('N', 'A')
FORCES = ('measured', 'commanded')
SLOWEST = 100.0  # [s] between samples: slower ones are stamps in another unit
READ_AT_ONCE = 1 << 20  # [bytes]: a bag may not fit into memory
BAG_OPTIONS = ('topic', 'allow_incomplete', 'only_run', 'topics')
COMMON_OPTIONS = (
    *('joints', 'effort_unit', 'force_constants', 'columns', 'start', 'stop', 'truth', 'side'),
    'forces',
)
FORMS = (
    'a rosbag2 folder, .mcap, .db3, .csv or .npz; with a file of names beside it '
    '(DATA.columns.yaml) .txt, .tsv, .dat, .log, .mat or .parquet, too'
)


def load(
    path: Path | str,
    *,
    joints: Mapping[str, str] | None = None,
    effort_unit: str = 'N',
    force_constants: Mapping[str, Any] | None = None,
    truth: bool = True,
    columns: Path | str | Mapping[str, Any] | None = None,
    start: float | None = None,
    stop: float | None = None,
    side: str | None = None,
    forces: str = 'measured',
    **options: Any,
) -> Recording:
    """Read a recording: a rosbag2 folder, an `.mcap`, `.db3`, `.csv` or `.npz` file.

    Parameters
    ----------
    path
        `run.csv:10-40` is what was recorded from 10 s to 40 s after the first sample,
        `run.csv:40-` the rest. `shipped:serial_arm` is an example that comes with the package.
    joints
        {name in the file: name of the robot's joint}; the dataset then holds these joints
        alone. By default all, by the names in the file.
    effort_unit
        Of the efforts in the file: `N` (also N m), or `A` where a driver reports motor
        currents as efforts.
    force_constants
        {robot's joint: constant or (constant, standard deviation)} [N/A, N m/A]. The
        deviation goes into the covariance of what is identified.
    truth
        Whether the noise-free signals of a simulated robot are read, which only comparisons need.
    columns
        File of names that says what the columns of a table (.csv, .txt, .tsv, .dat, .log, .npz,
        .mat or .parquet) are, or what it would hold. By default `DATA.columns.yaml` or
        `columns.yaml` beside the data, else the names of our own tables.
    start, stop
        Times [s from the first sample] between which samples are taken, where the path names none.
    side
        `motor` where names and numbers are of motors: the `transmissions` of the robot make those
        of joints of them. By default what the recording says, else `joint`.
    forces
        `measured` by the drives, or `commanded` by the controller: of a bag with its state, an NPZ
        file with `commands`, a CSV file with `<joint>.command`. They have no noise of a sensor, and
        are right where the drives do what they are told.
    **options
        For bags: `topic`, `allow_incomplete`, `only_run`, `topics` (see `load_bag`).

    Returns
    -------
    Recording
        Measured signals, tidied; where the samples are too many for memory they are read in
        blocks. Use `recording.for_model(model)` for a robot's joint order.

    Raises
    ------
    DatasetError
        The file is missing, unreadable or inconsistent; the message names the offender.
    """
    portion = portion_of(allowed(path, DatasetError), start, stop)
    path = portion.path
    if path.parent != EXAMPLES:
        allowed(path, DatasetError)
    if not path.exists():
        raise DatasetError(f"data file '{path}' does not exist; expected {FORMS}")
    if effort_unit not in UNITS:
        raise DatasetError(f"unknown effort_unit '{effort_unit}'; valid are {', '.join(UNITS)}")
    if forces not in FORCES:
        raise DatasetError(f"unknown forces '{forces}'; valid are {', '.join(FORCES)}")
    commanded = forces == 'commanded'
    if commanded and (effort_unit == 'A' or force_constants):
        raise DatasetError(
            'commanded forces are in N and N m: effort_unit and force_constants have nothing to say'
        )
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
            raise DatasetError(f"'{path}' is a bag: columns= is for tables, topic= names its topic")
        options |= {'joints': tuple(joints or ()), 'truth': truth, 'commanded': commanded}
        recording = load_bag(path, **options)
    else:
        recording = _loaded_table(path, columns, commanded)
        recording = recording if truth else replace(recording, truth=None)
    if side is not None:
        recording = _of_side(recording, side)
    if recording.interval > SLOWEST:
        raise DatasetError(
            f"'{path}': time goes on by {recording.interval:g} from sample to sample; it must be "
            'in seconds (of nanoseconds: times 1e-9)'
        )
    recording = tidied(recording)
    provenance = {**recording.provenance, 'sha256': file_hash(path)}
    recording = replace(recording, provenance=provenance)
    if not portion.is_whole:
        recording = recording.between(*portion.ends, portion.suffix)
    if effort_unit == 'A':
        recording = recording.with_efforts_as_currents()
    if joints is not None:
        recording = recording.renamed(joints)
    return recording if force_constants is None else _with_constants(recording, force_constants)


def _loaded_table(
    path: Path, columns: Path | str | Mapping[str, Any] | None, commanded: bool
) -> Recording:
    """Read a table with its file of names, or in our own form."""
    if path.suffix.lower() not in FOREIGN:
        raise DatasetError(f"'{path}' has an unknown format; expected {FORMS}")
    names = find_mapping(path) if columns is None else columns
    if names is not None:
        if commanded:
            raise DatasetError(
                f"'{path}' has a file of names: let it name the commanded forces as `effort`"
            )
        return load_mapped(path, names)
    readers = {'.csv': load_csv, '.npz': load_npz}
    if path.suffix not in readers:
        reason = (
            f"'{path}' needs a file of names, '{path.stem}{SUFFIX}' beside it or columns= "
            '(--columns), that says what its columns are'
        )
        raise ForeignFormError(reason, proposal_hint(path))
    try:
        return readers[path.suffix](path, commanded)
    except ForeignFormError as error:
        raise ForeignFormError(error.reason, proposal_hint(path)) from None


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


def _with_constants(recording: Recording, given: Mapping[str, Any]) -> Recording:
    """Add force constants; those of the file must not be others."""
    where = f"'{recording.name}'"
    if not recording.has_currents:
        raise DatasetError(
            f'{where} holds no currents: force_constants have nothing to say. Where its efforts '
            "are currents [A], say effort_unit='A'"
        )
    constants, deviations = parsed_constants(given, recording.joint_names, where)
    recorded = dict(recording.force_constants)
    known = [recorded.get(name, float('nan')) for name in constants]
    agreed = constants_of(list(constants), constants, deviations, known, where, PLACES)
    return replace(
        recording,
        force_constants=recorded | dict(zip(constants, agreed.tolist(), strict=True)),
        force_constant_deviations={**recording.force_constant_deviations, **deviations},
    )
