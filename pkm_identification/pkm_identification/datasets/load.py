"""One entry for all data formats."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags.bag_dataset import load_bag
from pkm_identification.datasets.dataset import Dataset
from pkm_identification.datasets.long_dataset import LongDataset
from pkm_identification.datasets.table_files import load_csv, load_npz
from pkm_identification.datasets.units import constants_of, parsed_constants

PLACES = ('force_constants=', 'the file')
UNITS = ('N', 'A')
SLOWEST = 100.0  # [s] between samples
BAG_OPTIONS = ('topic', 'allow_incomplete', 'only_run', 'topics')
COMMON_OPTIONS = ('joints', 'effort_unit', 'force_constants')
FORMS = 'a rosbag2 folder, .mcap, .db3, .csv or .npz'


def load(
    path: Path | str,
    *,
    joints: Mapping[str, str] | None = None,
    effort_unit: str = 'N',
    force_constants: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset | LongDataset:
    """Read a dataset.

    Parameters
    ----------
    path
        rosbag2 folder, `.mcap`, `.db3`, `.csv` or `.npz` file.
    joints
        {name in the file: name of the robot's joint}; the dataset then holds these joints
        alone. By default all, by the names in the file.
    effort_unit
        Of the efforts in the file: `N` (also N m), or `A` where a driver reports motor
        currents as efforts.
    force_constants
        {robot's joint: constant or (constant, standard deviation)} [N/A, N m/A]. The
        deviation goes into the covariance of what is identified.
    **options
        For bags: `topic`, `allow_incomplete`, `only_run`, `topics` (see `load_bag`).

    Returns
    -------
    Dataset or LongDataset
        The latter, of the same attributes, where the samples are too many for memory.
        Measured signals; use `dataset.for_model(model)` for a robot's joint order.

    Raises
    ------
    DatasetError
        The file is missing, unreadable or inconsistent; the message names the offender.
    """
    path = Path(path)
    if not path.exists():
        raise DatasetError(f"data file '{path}' does not exist; expected {FORMS}")
    if effort_unit not in UNITS:
        raise DatasetError(f"unknown effort_unit '{effort_unit}'; valid are {', '.join(UNITS)}")
    is_bag = path.is_dir() or path.suffix in ('.mcap', '.db3')
    valid = BAG_OPTIONS if is_bag else ()
    unknown = sorted(set(options) - set(valid))
    if unknown:
        raise DatasetError(
            f"unknown option '{unknown[0]}' for '{path}'; valid are "
            f'{", ".join((*valid, *COMMON_OPTIONS))}'
        )
    dataset: Dataset | LongDataset
    if is_bag:
        dataset = load_bag(path, joints=tuple(joints or ()), **options)
    elif path.suffix == '.csv':
        dataset = load_csv(path)
    elif path.suffix == '.npz':
        dataset = load_npz(path)
    else:
        raise DatasetError(f"'{path}' has an unknown format; expected {FORMS}")
    if dataset.interval > SLOWEST:
        raise DatasetError(
            f"'{path}': time goes on by {dataset.interval:g} from sample to sample; it must be in "
            'seconds (of nanoseconds: times 1e-9)'
        )
    dataset = _with_hash(dataset, path)
    if effort_unit == 'A':
        dataset = _as_currents(dataset, path)
    if joints is not None:
        dataset = dataset.renamed(joints)
    return dataset if force_constants is None else _with_constants(dataset, force_constants, path)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, or of names and contents of the files in a folder."""
    total = hashlib.sha256()
    if path.is_file():
        with path.open('rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest()
    for part in sorted(path.rglob('*')):
        if part.is_file():
            total.update(f'{part.relative_to(path).as_posix()}\0{file_hash(part)}\0'.encode())
    return total.hexdigest()


def _with_hash(dataset: Dataset | LongDataset, path: Path) -> Dataset | LongDataset:
    provenance = {**dataset.provenance, 'sha256': file_hash(path)}
    return replace(dataset, provenance=provenance)


def _as_currents(dataset: Dataset | LongDataset, path: Path) -> Dataset | LongDataset:
    """Take efforts for the currents [A] that they are."""
    if isinstance(dataset, LongDataset):
        return dataset.with_efforts_as_currents()
    if dataset.efforts is None or dataset.currents is not None:
        there = 'no efforts' if dataset.efforts is None else 'currents besides efforts'
        raise DatasetError(f"'{path}' holds {there}: effort_unit 'A' has nothing to say")
    return replace(dataset, currents=dataset.efforts, efforts=None)


def _with_constants(
    dataset: Dataset | LongDataset, given: Mapping[str, Any], path: Path
) -> Dataset | LongDataset:
    """Add force constants; those of the file must not be others."""
    head = dataset.scan.head if isinstance(dataset, LongDataset) else dataset
    if head.currents is None:
        raise DatasetError(
            f"'{path}' holds no currents: force_constants have nothing to say. Where its efforts "
            "are currents [A], say effort_unit='A'"
        )
    constants, deviations = parsed_constants(given, dataset.joint_names, f"'{path}'")
    recorded = dict(dataset.force_constants)
    known = [recorded.get(name, float('nan')) for name in constants]
    agreed = constants_of(list(constants), constants, deviations, known, f"'{path}'", PLACES)
    together = recorded | dict(zip(constants, agreed.tolist(), strict=True))
    if isinstance(dataset, LongDataset):
        return dataset.with_force_constants(together, deviations)
    return replace(
        dataset,
        force_constants=together,
        force_constant_deviations={**dataset.force_constant_deviations, **deviations},
    )
