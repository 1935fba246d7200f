"""Recordings of a folder, each identified alone: one model file for what is the same."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pkm_bringup.inputs import load_mechanism
from pkm_bringup.kept import contents_digest
from pkm_bringup.outputs import OutputError
from pkm_bringup.runner import LIBRARIES, Runner
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.atomic_write import replace_atomically
from pkm_identification.datasets.data_file import file_hash
from pkm_identification.requests.identify_request import IdentifyRequest, identify_recordings
from pkm_identification.requests.monitor_request import recordings_in
from pkm_identification.result.provenance import installed

INDEX = 'identified.json'  # in the folder of the models: which recording has which
PACKAGES = ('pkm_description', 'pkm_dynamics', 'pkm_identification')


@lru_cache(maxsize=2)
def _model(robot: str) -> ClosedChainModel:
    """Build a robot once in each process."""
    return load_mechanism(robot)


@lru_cache(maxsize=1)
def _code() -> str:
    """What computes: sources of this project by content, and versions of what they use."""
    versions = {'python': platform.python_version(), **installed(LIBRARIES)}
    return f'{contents_digest(*PACKAGES)} {versions}'


def _by_content(value: Any) -> Any:
    """Return an option's value with the content of each file that it names."""
    if isinstance(value, Mapping):
        return [[str(key), _by_content(each)] for key, each in sorted(value.items())]
    if isinstance(value, list | tuple):
        return [_by_content(each) for each in value]
    if isinstance(value, str) and len(value) < 4096 and Path(value).is_file():
        return file_hash(Path(value))
    return repr(value)


def key_of(request: IdentifyRequest, model: ClosedChainModel) -> str:
    """Return what an identification depends on as a digest; where files lie is no part of it."""
    description = model.description
    parts = [
        _code(),
        description.digest,
        repr(sorted(description.calibration.items())),
        [file_hash(Path(path)) for path in request.data],
        request.estimator,
        _by_content(request.options),
        _by_content(request.loading),
        request.threshold,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def identified(
    robot: str,
    estimator: str,
    options: Mapping[str, Any],
    loading: Mapping[str, Any],
    models: str,
    path: str,
) -> dict[str, str]:
    """Identify one recording, unless its model file is there; its name, or what is wrong."""
    name = Path(path).name
    try:
        model = _model(robot)
        request = IdentifyRequest([path], estimator, options, loading)
        file = Path(models) / f'{key_of(request, model)}.yaml'
        if not file.is_file():
            try:
                identify_recordings(replace(request, output=str(file)), model)
            except PkmError:
                if not file.is_file():  # else one of the same content has been faster
                    raise
        return {'recording': name, 'model': file.name}
    except Exception as error:  # of this recording: the others go on
        what = '' if isinstance(error, PkmError) else f'{type(error).__name__}: '
        return {'recording': name, 'error': f'{what}{error}'}


def identify_folder(
    folder: str,
    robot: str,
    estimator: str,
    options: Mapping[str, Any],
    loading: Mapping[str, Any],
    models: Path,
    runner: Runner,
) -> list[dict[str, str]]:
    """Identify each recording of a folder; the names of model files, or errors, in their order.

    A model that `models` holds is not computed again: its name is the digest of recording,
    options, robot and code. Raises PkmError for what is wrong with all of them.
    """
    IdentifyRequest([], estimator, options, loading)  # a wrong option is none of a recording
    try:
        models.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"'{models}': {error.strerror or error}") from error
    load_mechanism(robot)
    paths = [str(path.absolute()) for path in recordings_in(folder)]
    one = partial(identified, robot, estimator, dict(options), dict(loading), str(models))
    found = runner.map(one, [{'path': path} for path in paths], 'identifying:')
    try:
        index = {each['recording']: {**each} for each in found}
        for each in index.values():
            del each['recording']
        replace_atomically(models / INDEX, json.dumps(index, indent=2).encode())
    except OSError as error:
        raise OutputError(f"'{models / INDEX}': {error.strerror or error}") from error
    return found
