"""A file of names that would fit a table: for a person to check, never taken by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.errors import DatasetError
from pkm_identification.datasets.tables.column_mapping import SUFFIX, TIME_UNITS, UNITS, Column
from pkm_identification.datasets.tables.foreign_table import FOREIGN, TEXT, Table, open_table
from pkm_identification.datasets.tables.text_table import form_keys, sniffed

WORDS = {
    'position': ('position', 'positions', 'pos', 'q', 'theta', 'angle', 'angles'),
    'velocity': ('velocity', 'velocities', 'vel', 'qd', 'dq', 'qdot', 'speed', 'speeds', 'omega'),
    'effort': ('effort', 'efforts', 'eff', 'torque', 'torques', 'trq', 'tau', 'force', 'moment'),
    'current': ('current', 'currents', 'cur', 'i', 'iq', 'amps'),
}
SIGNAL_OF = {word: signal for signal, words in WORDS.items() for word in words}
TIME = ('time', 't', 'stamp', 'timestamp', 'timestamps')
WANTED = ('target', 'desired', 'des', 'command', 'commanded', 'cmd', 'reference', 'ref', 'setpoint')
MEASURED = ('measured', 'meas', 'msr', 'actual', 'act', 'feedback', 'fbk', 'read', 'raw')
IN_BRACKETS = re.compile(r'[\[(]\s*([^\])]*?)\s*[\])]')
# What people write for our names of units, and words that stand for a unit without brackets
SPELLINGS = {'degs': 'deg', 'degree': 'deg', 'degrees': 'deg', '°': 'deg', 'µs': 'us', 'μs': 'us'}
UNIT_WORDS = frozenset((*SPELLINGS, 'rad', 'deg', 'mm', 'nm', 'rpm', 'ms', 'us', 'ns'))
SLOWEST = 0.1  # [s] between samples: with it the unit of a time follows from its steps
TOKEN = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+')


@dataclass(frozen=True)
class _Found:
    """A column that is called like a signal, and what else its name says."""

    name: str
    signal: str
    rest: tuple[str, ...]


def proposed_mapping(path: Path, joints: Sequence[str] = ()) -> str:
    """Return the text of a file of names for a table, empty where its names tell nothing.

    `joints` are those of the robot, where it is known.
    """
    if path.suffix.lower() not in FOREIGN:
        return ''
    form = sniffed(path)
    try:
        table = open_table(path, form)
        content = _content(table, joints)
    except DatasetError:
        return ''
    if not content:
        return ''
    if path.suffix.lower() in TEXT:
        content = {**form_keys(form), **content}
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)


def proposal_hint(path: Path, joints: Sequence[str] = ()) -> str:
    """Return the end of a message that proposes a file of names; empty where there is none."""
    text = proposed_mapping(path, joints)
    if not text:
        return ''
    name = path.with_name(path.stem + SUFFIX)
    return f"; if these are the columns, write into '{name}':\n\n{text}"


def _content(table: Table, joints: Sequence[str]) -> dict[str, Any]:
    shapes = table.shapes
    found = _by_joint([*_signals(shapes)])
    wide = {name: shape for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1}
    if not found and wide:
        return _of_arrays(table, wide, joints)
    if not found:
        return {}
    names = _joint_names(list(found), joints)
    entries = [
        {signal: _entry(signal, name) for signal, name in each.items()} for each in found.values()
    ]
    first = next(iter(found.values()))['position']
    samples = max(shapes[first], default=0)  # the columns of a text have no shape
    return {**_time(table, samples), 'joints': dict(zip(names, entries, strict=True))}


def _signals(shapes: Mapping[str, tuple[int, ...]]) -> Iterable[_Found]:
    """Columns that are called like a signal of one joint."""
    for name, shape in shapes.items():
        tokens = _tokens(name)
        places = [k for k, token in enumerate(tokens) if token in SIGNAL_OF]
        if not places or (len(shape) == 2 and min(shape) > 1):
            continue
        rest = tuple(
            token for k, token in enumerate(tokens) if k != places[-1] and token not in UNIT_WORDS
        )
        yield _Found(name, SIGNAL_OF[tokens[places[-1]]], rest)


def _by_joint(found: Sequence[_Found]) -> dict[tuple[str, ...], dict[str, str]]:
    """Columns by joint and signal, of joints with a position and an effort or current.

    Joints are told by all of a name beside the signal; where that leaves none, by its end.
    """
    measured = [each for each in found if not set(each.rest) & set(WANTED)] or list(found)
    for length in (None, 1):
        groups: dict[tuple[str, ...], dict[str, str]] = {}
        clear = True
        for each in measured:
            key = each.rest if length is None else each.rest[-length:]
            clear &= each.signal not in groups.setdefault(key, {})
            groups[key][each.signal] = each.name
        driven = {
            key: signals
            for key, signals in groups.items()
            if 'position' in signals and signals.keys() & {'effort', 'current'}
        }
        if driven and clear:
            shared = set.intersection(*(set(signals) for signals in driven.values()))
            return {
                key: {signal: name for signal, name in signals.items() if signal in shared}
                for key, signals in driven.items()
            }
    return {}


def _of_arrays(
    table: Table, shapes: Mapping[str, tuple[int, ...]], joints: Sequence[str]
) -> dict[str, Any]:
    """Propose arrays with a column a joint."""
    found: dict[str, str] = {}
    for name in sorted(shapes, key=lambda each: not set(_tokens(each)) & set(MEASURED)):
        tokens = _tokens(name)
        signal = next((SIGNAL_OF[token] for token in reversed(tokens) if token in SIGNAL_OF), None)
        if signal is not None and not set(tokens) & set(WANTED):
            found.setdefault(signal, name)
    if 'position' not in found or not found.keys() & {'effort', 'current'}:
        return {}
    count = min(shapes[found['position']])
    keys = [(str(number),) for number in range(1, count + 1)]
    entries = {signal: _entry(signal, name) for signal, name in found.items()}
    time = _time(table, max(shapes[found['position']]))
    return {**time, 'joints': _joint_names(keys, joints), **entries}


def _entry(signal: str, name: str) -> str | dict[str, str]:
    """Column of a signal, with its unit where its name says another than our own."""
    units = UNITS[signal]
    unit = _unit(name, units)
    if unit is None or units[unit] == 1.0:
        return name
    return {'column': name, 'unit': unit}


def _unit(name: str, units: Mapping[str, float]) -> str | None:
    """Which of some units a name has in brackets or among its words; None where it has none."""
    plain = {_plain(unit): unit for unit in units}
    for text in IN_BRACKETS.findall(name):
        if _plain(text) in plain:
            return plain[_plain(text)]
    words = {_plain(token) for token in _tokens(name) if token in UNIT_WORDS}
    # A word has no case and no stroke: `deg` of a velocity is deg/s
    short = (unit for unit in units if _plain(unit).removesuffix('/s').lower() in words)
    return next(short, None)


def _plain(unit: str) -> str:
    """Spell a unit in one way: without spaces and points, each part by its usual name."""
    parts = re.sub(r'[\s*·.]', '', unit).split('/')
    return '/'.join(SPELLINGS.get(part, part) for part in parts)


KNOWN_UNITS = frozenset(
    map(_plain, (*TIME_UNITS, *(name for each in UNITS.values() for name in each)))
)


def _tokens(name: str) -> list[str]:
    """Words and numbers of a name, without a unit in brackets."""
    without = IN_BRACKETS.sub(lambda m: ' ' if _plain(m[1]) in KNOWN_UNITS else m[0], name)
    return [token.lower() for token in TOKEN.findall(without)]


def _joint_names(keys: Sequence[tuple[str, ...]], joints: Sequence[str]) -> list[str]:
    """Names of joints: the robot's where the columns have them or are as many."""
    plain = {''.join(re.findall(r'[a-z0-9]+', name.lower())): name for name in joints}
    own = [''.join(key) for key in _without_common(keys)]
    matched = [
        plain.get(text) or plain.get(''.join(key)) for text, key in zip(own, keys, strict=True)
    ]
    if all(name is not None for name in matched) and len(set(matched)) == len(matched):
        return [str(name) for name in matched]
    if len(joints) == len(keys):
        return list(joints)
    return [
        f'joint{text}' if text.isdigit() or not text else '_'.join(key)
        for text, key in zip(own, _without_common(keys), strict=True)
    ]


def _without_common(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Names of joints without the words that begin or end all of them."""
    left = [list(key) for key in keys]
    for end in (0, -1):
        while len(left) > 1 and all(len(key) > 1 for key in left):
            if len({key[end] for key in left}) > 1:
                break
            for key in left:
                key.pop(end)
    return [tuple(key) for key in left]


def _time(table: Table, samples: int) -> dict[str, Any]:
    """Time column with its unit, by the name and the usual steps; else a rate to be written."""
    names = [name for name, shape in table.shapes.items() if max(shape, default=0) == samples]
    tokens = {name: _tokens(name) for name in names}
    seconds = [name for name in names if tokens[name][-1:] in (['sec'], ['secs'])]
    parts = [name for name in names if tokens[name][-1:] in (['nanosec'], ['nsec'], ['nsecs'])]
    if seconds and parts:
        return {'time': {'seconds': seconds[0], 'nanoseconds': parts[0]}}
    called = [
        name
        for name in names
        if set(tokens[name]) & set(TIME) and not set(tokens[name]) & set(SIGNAL_OF)
    ]
    if not called:
        return {'rate': 'the rate in Hz'}
    name = min(called, key=lambda each: len(tokens[each]))
    unit = _unit(name, TIME_UNITS) or _time_unit(table, name)
    return {'time': name if unit == 's' else {'column': name, 'unit': unit}}


def _time_unit(table: Table, name: str) -> str:
    """Unit in which samples come at 10 Hz to 10 kHz; ten to the third lies between two units."""
    column = table.numbers([Column(name, what='time')], 'the proposal')[:, 0]
    steps = np.diff(column)
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    return next((unit for unit, size in TIME_UNITS.items() if step * size <= SLOWEST), 's')
