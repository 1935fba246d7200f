"""One entry for all data formats."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bag_dataset import load_bag
from pkm_identification.datasets.dataset import Dataset
from pkm_identification.datasets.long_dataset import LongDataset
from pkm_identification.datasets.table_files import load_csv, load_npz

FORMS = 'a rosbag2 folder, .mcap, .db3, .csv or .npz'


def load(path: Path | str, **options: Any) -> Dataset | LongDataset:
    """Read a dataset.

    Parameters
    ----------
    path
        rosbag2 folder, `.mcap`, `.db3`, `.csv` or `.npz` file.
    **options
        For bags: `allow_incomplete`, `only_run`, `topics` (see `load_bag`).

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
    is_bag = path.is_dir() or path.suffix in ('.mcap', '.db3')
    valid = ('allow_incomplete', 'only_run', 'topics') if is_bag else ()
    unknown = sorted(set(options) - set(valid))
    if unknown:
        raise DatasetError(
            f"unknown option '{unknown[0]}' for '{path}'; valid are {', '.join(valid) or 'none'}"
        )
    if is_bag:
        return _with_hash(load_bag(path, **options), path)
    if path.suffix == '.csv':
        return _with_hash(load_csv(path), path)
    if path.suffix == '.npz':
        return _with_hash(load_npz(path), path)
    raise DatasetError(f"'{path}' has an unknown format; expected {FORMS}")


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
