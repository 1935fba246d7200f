"""Section about where everything comes from: files with their hashes, versions, options."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pkm_bringup.reports.page_blocks import Block, Lines, Section, TableBlock
from pkm_bringup.reports.report_run import Run
from pkm_bringup.views.console import Table
from pkm_identification.recording.metadata import git_revision
from pkm_identification.result.provenance import installed, versions

OWN = ('pkm_bringup', 'pkm_control', 'matplotlib', 'jinja2')
COMMIT = 'git'  # key of a recording's metadata


def provenance_of(run: Run) -> dict[str, Any]:
    """Return files with their hashes, versions, options and commits, as plain values."""
    files = []
    for kind, paths in (('model', run.files.models[:1]), ('design', run.files.designs[:1])):
        files += [{'file': str(path), 'kind': kind, 'sha256': _digest(path)} for path in paths]
    for each in run.recordings:
        data = each.look.recording
        digest = '' if data is None else str(data.provenance.get('sha256', ''))
        kind = 'recording of the model' if each.of_model else 'recording'
        files.append({'file': each.path, 'kind': kind, 'sha256': digest})
    files += [
        {'file': str(path), 'kind': 'validation', 'sha256': _digest(path)}
        for path in run.files.validations
        if str(path) in dict(run.validations)
    ]
    result = run.result
    recorded = () if result is None else result.provenance.recording
    commits = {str(each[COMMIT]) for each in recorded if each.get(COMMIT)}
    return {
        'files': files,
        'robot': run.robot,
        'description': '' if run.model is None else run.model.description.digest,
        'estimator': '' if result is None else result.estimator,
        'options': {} if result is None else dict(result.provenance.options),
        'versions_of_model': {} if result is None else dict(result.provenance.versions),
        'versions_of_report': {**versions(), **installed(OWN)},
        'commits_of_recordings': sorted(commits),
        'commit_of_report': git_revision(Path(__file__).parent),
    }


def provenance_section(run: Run, found: Mapping[str, Any]) -> Section:
    """Return the same as tables."""
    rows = [[_shown(each['file'], run), each['kind'], each['sha256']] for each in found['files']]
    blocks: list[Block] = [TableBlock(Table(('file', 'what', 'SHA-256'), rows))]
    about = [['robot', found['robot']], ['digest of its description', found['description']]]
    about += [['estimator', found['estimator']]] if found['estimator'] else []
    about += [[f'option {name}', _text(value)] for name, value in found['options'].items()]
    about += [['commit that recorded', commit] for commit in found['commits_of_recordings']]
    about += [['commit of the report', found['commit_of_report']]]
    blocks.append(TableBlock(Table(('', 'value'), about)))
    of_model, own = found['versions_of_model'], found['versions_of_report']
    names = sorted({*of_model, *own})
    table = [[name, of_model.get(name), own.get(name)] for name in names]
    header = ('version of', 'model', 'report')
    blocks.append(TableBlock(Table(header, table), 'Versions', folded=True))
    if run.left_out:
        blocks.append(Lines(run.left_out))
    return Section('provenance', 'Where it comes from', tuple(blocks))


def _shown(file: str, run: Run) -> str:
    """Return a path from the folder of the run, where it lies there."""
    place = Path(run.files.place).resolve()
    path = Path(file).resolve()
    return str(path.relative_to(place)) if place in path.parents else file


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text(value: Any) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list | tuple) else str(value)
