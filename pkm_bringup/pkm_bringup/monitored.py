"""Recordings of a folder in several processes, each kept until it changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pkm_bringup.inputs import load_model
from pkm_bringup.kept import kept, sources_digest
from pkm_bringup.runner import Runner
from pkm_dynamics import ClosedChainModel
from pkm_identification import load_result
from pkm_identification.datasets.data_file import file_hash
from pkm_identification.requests import monitor_request

PACKAGES = ('pkm_description', 'pkm_dynamics', 'pkm_identification')
TEXTS = {
    'look': 'looking at recordings:',
    'reference_of': 'reference values:',
    'observed': 'identifying:',
}


@lru_cache(maxsize=2)
def _model(robot: str, model_file: str) -> ClosedChainModel:
    """Build a robot once in each process."""
    model = load_model(robot)
    return load_result(model_file, model).model if model_file else model


def _one(name: str, robot: str, model_file: str, sources: str, **case: Any) -> Any:
    """Return what recordings tell, computed or kept."""
    paths = _paths(case)
    model = _model(robot, model_file)
    parts = [model.description.digest, sources, model_file and file_hash(Path(model_file))]
    for path in paths:
        parts += [str(path.stat().st_mtime_ns) if name == 'look' else '', file_hash(path)]
    key = hashlib.sha256('\n'.join([*parts, repr(case)]).encode()).hexdigest()
    make = partial(getattr(monitor_request, name), model=model, **case)
    return kept(f'monitor {name} {robot} {model_file} {paths[0]}', key, make)


def _paths(case: Mapping[str, Any]) -> list[Path]:
    """Recordings that a case is of."""
    return [Path(path).absolute() for path in case.get('paths') or [case['path']]]


def shared_out(runner: Runner, robot: str, model_file: str) -> monitor_request.Run:
    """Return what calls a function for many recordings, in the processes of a runner."""
    sources = sources_digest(*PACKAGES)

    def run(name: str, cases: Sequence[Mapping[str, Any]]) -> list[Any]:
        one = partial(_one, name, robot, model_file, sources)
        return runner.map(one, [dict(case) for case in cases], TEXTS[name])

    return run


class Remembered:
    """Answers of recordings that were seen before: their files are not read again."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def beside(self, run: monitor_request.Run) -> monitor_request.Run:
        """Return what asks `run` for what is not known yet."""

        def known(name: str, cases: Sequence[Mapping[str, Any]]) -> list[Any]:
            keys = [repr((name, case, [_state(path) for path in _paths(case)])) for case in cases]
            fresh = {
                key: case for key, case in zip(keys, cases, strict=True) if key not in self._known
            }
            if fresh:
                self._known.update(zip(fresh, run(name, list(fresh.values())), strict=True))
            return [self._known[key] for key in keys]

        return known


def _state(path: Path) -> list[tuple[int, int]]:
    """Time and size of a file, or of those in a folder, by which a change is noticed."""
    files = sorted(path.rglob('*')) if path.is_dir() else [path]
    states = [each.stat() for each in files]
    return [(each.st_mtime_ns, each.st_size) for each in states]
