"""Make a dataset anew and compare: what is damaged, and what comes out otherwise here."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pkm_bringup.public_data.dataset_contents import (
    FORCES,
    MOTION,
    Content,
    difference,
    text_digest,
)
from pkm_bringup.public_data.dataset_files import ENDINGS, read_table, recording_content
from pkm_bringup.public_data.dataset_making import unit_contents, units
from pkm_bringup.public_data.dataset_manifest import README, RECORDINGS, Manifest, read_manifest
from pkm_bringup.public_data.dataset_readme import readme_text
from pkm_bringup.public_data.dataset_recordings import MOTIONS
from pkm_bringup.runner import Runner, origin_of
from pkm_description.errors import DatasetError, PkmError

Finding = dict[str, Any]


def check_dataset(folder: Path, runner: Runner) -> dict[str, Any]:
    """Compare all files with the manifest, and all numbers with those made here.

    A finding for each content: `file` of those that differ from the manifest or cannot be read with
    `damage`; `remade` says whether it comes out bit-equal here, `difference` by how much it does
    not (see `difference`). `versions`: those that differ, there and here.
    """
    manifest = read_manifest(folder)
    parts = runner.map(partial(_compared, str(folder), manifest), units(manifest.options), 'part')
    findings = [finding for part in parts for finding in part]
    findings.append(_finding(folder, manifest, README, readme_text(manifest)))
    here = origin_of('dataset', {})['versions']
    names = sorted({*here, *manifest.versions})
    differing = [
        {'name': name, 'there': manifest.versions.get(name), 'here': here.get(name)}
        for name in names
        if manifest.versions.get(name) != here.get(name)
    ]
    return {
        'contents': len(findings),
        'damaged': [finding for finding in findings if finding['damage']],
        'differing': [finding for finding in findings if not finding['remade']],
        'versions': differing,
    }


def _compared(folder: str, manifest: Manifest, **unit: Any) -> list[Finding]:
    contents = unit_contents(manifest.options, unit)
    return [_finding(Path(folder), manifest, *each) for each in contents.items()]


def _finding(folder: Path, manifest: Manifest, path: str, made: Content | str) -> Finding:
    """Compare files, manifest and what was made here."""
    expected = manifest.contents.get(path, {}).get('sha256')
    digest = text_digest(made) if isinstance(made, str) else made.digest()
    found: Finding = {'path': path, 'damage': {}, 'remade': digest == expected, 'difference': None}
    for file in _files(path, made, manifest.options.formats):
        try:
            there = _read(folder / file, path)
        except (PkmError, OSError, UnicodeDecodeError) as error:
            found['damage'][file] = str(error)
            continue
        same = text_digest(there) if isinstance(there, str) else there.digest()
        if same != expected:
            found['damage'][file] = 'differs from the manifest'
        elif not found['remade'] and not isinstance(made, str) and not isinstance(there, str):
            try:
                found['difference'] = difference(made, there)
            except DatasetError as error:
                found['difference'] = {'reason': str(error)}
    return found


def _files(path: str, made: Content | str, formats: tuple[str, ...]) -> list[str]:
    if isinstance(made, str):
        return [path]
    if not path.startswith(RECORDINGS):
        return [f'{path}.csv']
    return [f'{path}{ENDINGS[each]}' for each in formats]


def _read(file: Path, path: str) -> Content | str:
    if path.startswith(RECORDINGS):
        return recording_content(file)
    if file.suffix == '.csv' and not path.endswith('.csv'):
        return read_table(file, MOTION if path.startswith(MOTIONS) else FORCES)
    return file.read_text(encoding='utf-8')
