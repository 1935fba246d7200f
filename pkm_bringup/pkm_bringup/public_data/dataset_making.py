"""Make a dataset in several processes; ended, it goes on where it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pkm_bringup.outputs import OutputError, check_output
from pkm_bringup.public_data.dataset_cases import (
    FORMATS,
    TEST,
    TRAIN,
    Case,
    DatasetOptions,
    require_known,
)
from pkm_bringup.public_data.dataset_contents import Content, text_digest
from pkm_bringup.public_data.dataset_files import write_content
from pkm_bringup.public_data.dataset_manifest import MANIFEST, README, RECORDINGS, Manifest
from pkm_bringup.public_data.dataset_readme import readme_text
from pkm_bringup.public_data.dataset_recordings import (
    Contents,
    case_contents,
    period_of,
    require_robot,
    robot_contents,
)
from pkm_bringup.runner import KeptRuns, Runner, origin_of
from pkm_bringup.studies.runs.plants import model_of

Entries = dict[str, dict[str, Any]]


def make_dataset(
    folder: Path, options: DatasetOptions, runner: Callable[[KeptRuns], Runner]
) -> Manifest:
    """Make a dataset in a new folder, which appears when it is whole.

    `runner` gets where runs are kept. What is done lies in FOLDER.runs until then; errors are those
    of `check_output`, of robots that are unknown or cannot be recorded, and of the disk.
    """
    check_output(folder)
    require_known(options.formats, FORMATS, 'format')
    for robot in options.robots:
        require_robot(model_of(robot))
    origin = origin_of('dataset', options.to_dict())
    kept = KeptRuns(folder, origin)
    part = kept.folder / 'files'
    found = runner(kept).map(partial(_written, str(part), options), units(options), 'part', 'part')
    contents: Entries = {path: entry for each in found for path, entry in each.items()}
    manifest = Manifest(folder, options, origin['versions'], contents)
    page = readme_text(manifest)
    manifest = Manifest(
        folder, options, origin['versions'], {**contents, README: {'sha256': text_digest(page)}}
    )
    try:
        (part / README).write_text(page, encoding='utf-8')
        (part / MANIFEST).write_text(manifest.text(), encoding='utf-8')
        if folder.exists():
            raise OutputError(f"'{folder}' exists already and is not overwritten")
        part.rename(folder)
    except OSError as error:
        raise OutputError(f"'{folder}' cannot be written: {error.strerror or error}") from error
    kept.remove()
    return manifest


def units(options: DatasetOptions) -> list[dict[str, Any]]:
    """Parts that are made each by itself: what a robot has alone, and each of its cases."""
    found: list[dict[str, Any]] = []
    for robot in options.robots:
        found.append({'robot': robot})
        found += [case.to_dict() for case in options.cases if case.robot == robot]
    return found


def unit_contents(options: DatasetOptions, unit: dict[str, Any]) -> Contents:
    """Return what a part holds, by path."""
    if len(unit) == 1:
        return robot_contents(unit['robot'], options.seed)
    return case_contents(Case(**unit), options)


def entry_of(path: str, content: Content | str, robot: str) -> dict[str, Any]:
    """What the manifest says of a content."""
    if isinstance(content, str):
        return {'sha256': text_digest(content)}
    entry: dict[str, Any] = {'sha256': content.digest(), 'samples': len(content.signals['time'])}
    if path.startswith(RECORDINGS):
        entry['period'] = _period(path, robot)
    return entry


def _period(path: str, robot: str) -> float | None:
    if not path.startswith(RECORDINGS):
        return None
    return period_of(robot, TRAIN if path.endswith(f'/{TRAIN}') else TEST)


def _written(part: str, options: DatasetOptions, **unit: Any) -> Entries:
    """Write a part, over what an ended run may have left of it; return its entries."""
    folder, robot = Path(part), unit['robot']
    contents = unit_contents(options, unit)
    if len(unit) > 1:
        shutil.rmtree(folder / RECORDINGS / Case(**unit).name, ignore_errors=True)
    for path, content in contents.items():
        write_content(folder, path, content, options.formats, _period(path, robot))
    return {path: entry_of(path, content, robot) for path, content in contents.items()}
