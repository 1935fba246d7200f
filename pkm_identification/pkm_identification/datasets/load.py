"""One entry for all data formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkm_description.errors import DatasetError
from pkm_identification.datasets.data_file import DataFile
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.units import constants_of, parsed_constants

PLACES = ('force_constants=', 'the file')
UNITS = ('N', 'A')


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
        For bags: `topic`, `allow_incomplete`, `only_run`, `topics` (see `open_bag`).

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
    if effort_unit not in UNITS:
        raise DatasetError(f"unknown effort_unit '{effort_unit}'; valid are {', '.join(UNITS)}")
    if forces == 'commanded' and (effort_unit == 'A' or force_constants):
        raise DatasetError(
            'commanded forces are in N and N m: effort_unit and force_constants have nothing to say'
        )
    names = tuple(joints or ())
    file = DataFile(
        *(path, (forces,), names), truth=truth, columns=columns, start=start, stop=stop, **options
    )
    recording = file.recording(forces, side)
    if effort_unit == 'A':
        recording = recording.with_efforts_as_currents()
    if joints is not None:
        recording = recording.renamed(joints)
    return recording if force_constants is None else _with_constants(recording, force_constants)


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
