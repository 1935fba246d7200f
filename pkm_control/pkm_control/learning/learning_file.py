"""What has been learned of a motion, in a file: JSON, SI units, replaced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from pkm_control.learning.learned_force import LearningError, MotionKey, Scope
from pkm_control.learning.learning_law import (
    KEPT,
    MotionLearning,
    RepetitionRecord,
    Verdict,
    learned_from,
)
from pkm_control.learning.watch import Expectation, LeadIn
from pkm_description.untrusted.named_files import file_text, foreign_errors
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.atomic_write import replace_atomically

FORMAT = 'pkm_learning/2'
LARGEST = 256 * 1024 * 1024  # bytes: ten minutes of six drives
MOST_DRIVES = 64
TABLES = ('force', 'error', 'applied', 'best_force', 'positions', 'velocities')
EXPECTED = tuple(field.name for field in fields(Expectation))
OF_DRIVES = ('limit', 'weight', 'noise', 'floor')
NUMBERS = ('interval', 'cutoff', 'best_error', 'count', 'noisy', 'caution')
NOT_NEGATIVE = ('noise', 'floor', 'noisy', 'count')
POSITIVE = ('interval', 'cutoff', 'limit', 'weight')


def save_learning(path: Path, learning: MotionLearning) -> None:
    """Write the file, over an older one of the same motion. Raises LearningError."""
    key = {field.name: getattr(learning.key, field.name) for field in fields(MotionKey)}
    content: dict[str, Any] = {'format': FORMAT, 'key': {**key, 'scope': learning.key.scope.value}}
    content['joints'] = list(learning.joints)
    content |= {name: getattr(learning, name) for name in NUMBERS}
    if not np.isfinite(learning.best_error):
        content['best_error'] = None
    content |= {name: getattr(learning, name).tolist() for name in (*OF_DRIVES, *TABLES)}
    content['expected'] = _plain(learning.expected)
    lead_in = learning.lead_in
    content['lead_in'] = None
    if lead_in is not None:
        entry = {'ramp_time': lead_in.ramp_time, 'force': lead_in.force.tolist()}
        content['lead_in'] = {**entry, **_plain(lead_in.expected)}
    content['history'] = [
        {**vars(record), 'verdict': record.verdict.name} for record in learning.history
    ]
    try:
        replace_atomically(path, json.dumps(content, allow_nan=False).encode())
    except OSError as error:
        raise LearningError(f"'{path}' cannot be written: {error.strerror or error}") from None


def load_learning(
    path: Path | str, model: ClosedChainModel | None = None, key: MotionKey | None = None
) -> MotionLearning:
    """Read what `save_learning` has written.

    With a `model` its joints and force limits are checked, with a `key` that it belongs to that
    motion. Raises LearningError, which names file and entry.
    """
    text = file_text(path, LearningError, LARGEST, 'what was learned')
    with foreign_errors(LearningError, f"'{path}' is broken"):
        content = json.loads(text)
        if not isinstance(content, Mapping) or content.get('format') != FORMAT:
            raise ValueError(f'format: needs to be {FORMAT}')
        found = _learning(content)
    if key is not None and (other := found.key.difference(key)):
        raise LearningError(f"'{path}' was learned with another {other}")
    if model is not None:
        if found.joints != tuple(model.actuated_joints):
            joints = ', '.join(model.actuated_joints)
            raise LearningError(f"'{path}': joints: the robot's are {joints}")
        if np.any(found.limit > np.asarray(model.force_limit)):
            raise LearningError(f"'{path}': limit: exceeds the force limit of a drive")
    return found


def learning_at(model: ClosedChainModel, path: Path, key: MotionKey) -> MotionLearning:
    """Read what was learned of a motion; see `load_learning`."""
    return load_learning(path, model, key)


def learn_into(
    model: ClosedChainModel, path: Path | None, arguments: tuple[Any, ...]
) -> tuple[MotionLearning, str]:
    """Learn by `learned_from` with its arguments, and write the file where there is a path.

    Returns what was learned, and why it could not be written, empty if it was.
    """
    found = learned_from(model, *arguments)
    try:
        if path is not None:
            save_learning(path, found)
    except LearningError as error:
        return found, str(error)
    return found, ''


def _learning(content: Mapping[str, Any]) -> MotionLearning:
    joints = content['joints']
    named = isinstance(joints, list) and all(isinstance(each, str) for each in joints)
    if not named or not 0 < len(set(joints)) == len(joints) <= MOST_DRIVES:
        raise ValueError('joints: needs distinct names')
    values = dict(content)
    if values['best_error'] is None:
        values['best_error'] = np.inf
    numbers: dict[str, Any] = {name: float(values[name]) for name in NUMBERS}
    numbers |= {name: int(numbers[name]) for name in ('count', 'noisy')}
    rows = len(content['force'])
    arrays: dict[str, Any] = {name: _array(content, name, (len(joints),)) for name in OF_DRIVES}
    arrays |= {name: _array(content, name, (rows, len(joints))) for name in TABLES}
    expected = _expectation(content['expected'], (rows, len(joints)))
    lead_in = None
    if (entry := content['lead_in']) is not None:
        lead_shape = len(entry['error']), len(joints)
        lead_force = _array(entry, 'force', lead_shape)
        ramp_time = float(entry['ramp_time'])
        lead_in = LeadIn(ramp_time, lead_force, _expectation(entry, lead_shape))
        if not (np.isfinite(lead_in.ramp_time) and lead_in.ramp_time >= 0.0 < lead_shape[0]):
            raise ValueError('lead_in: out of range')
    for name in NOT_NEGATIVE:
        if not np.all({**numbers, **arrays}[name] >= 0.0):
            raise ValueError(f'{name}: must not be negative')
    for name in POSITIVE:
        if not np.all({**numbers, **arrays}[name] > 0.0):
            raise ValueError(f'{name}: must be positive')
    if not (0.0 <= numbers['caution'] <= 1.0 and rows > 2):
        raise ValueError('caution or force: out of range')
    for name in ('force', 'best_force'):
        # of one that was bounded there is rounding, no more
        if np.any(np.abs(arrays[name]) > arrays['limit'] * (1.0 + 1e-9)):
            raise ValueError(f'{name}: exceeds limit')
    key = dict(content['key'])
    history = content['history']
    if not isinstance(history, list) or len(history) > KEPT:
        raise ValueError(f'history: at most {KEPT} repetitions')
    return MotionLearning(
        key=MotionKey(**{**key, 'scope': Scope(key['scope'])}),
        joints=tuple(joints),
        history=tuple(_record(each) for each in history),
        expected=expected,
        lead_in=lead_in,
        **numbers,
        **arrays,
    )


def _plain(expected: Expectation) -> dict[str, Any]:
    return {name: getattr(expected, name).tolist() for name in EXPECTED}


def _expectation(entry: Mapping[str, Any], shape: tuple[int, ...]) -> Expectation:
    return Expectation(**{name: _array(entry, name, shape) for name in EXPECTED})


def _record(entry: Mapping[str, Any]) -> RepetitionRecord:
    numbers = float(entry['rms']), float(entry['largest_force'])
    if not np.isfinite(numbers).all():
        raise ValueError('history: needs finite numbers')
    return RepetitionRecord(*numbers, Verdict[entry['verdict']], bool(entry['harmful']))


def _array(content: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Floats:
    array = np.array(content[name], dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f'{name}: needs finite numbers of shape {shape}')
    array.setflags(write=False)
    return array
