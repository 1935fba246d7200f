"""Forces that somebody else predicts for the motions of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pkm_bringup.public_data.dataset_cases import Case, require_known
from pkm_bringup.public_data.dataset_contents import FORCES, Content
from pkm_bringup.public_data.dataset_files import read_table
from pkm_description.errors import DatasetError


def foreign_files(folder: Path, cases: Sequence[Case]) -> dict[str, Path]:
    """Return CASE.csv of a folder by case; DatasetError where there is none, or one of no case."""
    if not folder.is_dir():
        raise DatasetError(f"'{folder}' is no folder of estimates: it holds a file CASE.csv a case")
    files = {file.stem: file for file in sorted(folder.glob('*.csv'))}
    if not files:
        raise DatasetError(f"'{folder}' holds no CASE.csv, such as '{cases[0].name}.csv'")
    require_known(list(files), [case.name for case in cases], f"case in '{folder}':")
    return files


def foreign_forces(file: Path, truth: Content) -> Content:
    """Return predicted forces, as `truth` has them: `time` and `<joint>.effort` [N, N m]."""
    return read_table(file, FORCES, truth)
