"""Recordings of a folder in several processes, each kept until it changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pkm_bringup.inputs import load_model
from pkm_bringup.kept import kept, sources_digest
from pkm_bringup.studies.runner import Runner
from pkm_dynamics import ClosedChainModel
from pkm_identification import load_result
from pkm_identification.datasets.load import file_hash
from pkm_identification.requests import monitor_request

PACKAGES = ('pkm_description', 'pkm_dynamics', 'pkm_identification')
TEXTS = {'look': 'looking at recordings:', 'observed': 'identifying:'}


@lru_cache(maxsize=2)
def _model(robot: str, model_file: str) -> ClosedChainModel:
    """Build a robot once in each process."""
    model = load_model(robot)
    return load_result(model_file, model).model if model_file else model


def _one(name: str, robot: str, model_file: str, sources: str, **case: Any) -> Any:
    """Return what one recording tells, computed or kept."""
    path = Path(case['path']).absolute()
    model = _model(robot, model_file)
    state = path.stat()
    parts = [model.description.digest, sources, model_file and file_hash(Path(model_file))]
    parts += [str(state.st_mtime_ns) if name == 'look' else '', file_hash(path), repr(case)]
    key = hashlib.sha256('\n'.join(parts).encode()).hexdigest()
    make = partial(getattr(monitor_request, name), model=model, **case)
    return kept(f'monitor {name} {robot} {model_file} {path}', key, make)


def shared_out(runner: Runner, robot: str, model_file: str) -> monitor_request.Run:
    """Return what calls `look` or `observed` for many recordings, in the processes of a runner."""
    sources = sources_digest(*PACKAGES)

    def run(name: str, cases: Sequence[Mapping[str, Any]]) -> list[Any]:
        one = partial(_one, name, robot, model_file, sources)
        return runner.map(one, [dict(case) for case in cases], TEXTS[name])

    return run
