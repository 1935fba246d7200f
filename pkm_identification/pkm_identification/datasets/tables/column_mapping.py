"""Which columns of a foreign table hold what: a YAML file of names kept beside the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pkm_description.description import JOINT, SIDES
from pkm_description.errors import DatasetError, DescriptionError, listed
from pkm_description.sidecar import MAX_CHARACTERS, known_keys, number, read_mapping
from pkm_description.untrusted.named_files import file_text
from pkm_description.xml_elements import suggestion

Name = str | int  # of a column or an array; a number counts columns from 0

SUFFIX = '.columns.yaml'
OF_FOLDER = 'columns.yaml'  # for all data files of a folder
SIGNALS = ('position', 'velocity', 'effort', 'current')
TEXT_KEYS = ('delimiter', 'header', 'first_sample', 'comment', 'decimal')
KEYS = ('time', 'rate', 'side', 'joints', *SIGNALS, *TEXT_KEYS)
ENTRY_KEYS = ('column', 'unit', 'scale', 'sign', 'offset', 'gear', 'counts_per_turn')
DELIMITERS = {'tab': '\t', 'space': None}  # None: any white space
TURN = 2 * math.pi
TIME_UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
LENGTHS = {'rad': 1.0, 'deg': TURN / 360, 'turn': TURN, 'm': 1.0, 'mm': 1e-3}
UNITS = {
    'position': LENGTHS | {'count': math.nan},
    'velocity': {f'{name}/s': size for name, size in LENGTHS.items()}
    | {'rpm': TURN / 60, 'count/s': math.nan},
    'effort': {'N': 1.0, 'kN': 1e3, 'N m': 1.0, 'Nm': 1.0, 'mN m': 1e-3, 'kN m': 1e3},
    'current': {'A': 1.0, 'mA': 1e-3},
}


class ForeignFormError(DatasetError):
    """A table does not have the names of our own: a file of names may say what is what."""

    def __init__(self, reason: str, proposal: str = '') -> None:
        super().__init__(reason + proposal)
        self.reason = reason


@dataclass(frozen=True)
class Column:
    """A column of a table, or one of an array, and how its numbers become SI units."""

    name: Name
    index: int | None = None  # within an array; None: all of it, or the joint's own column
    place: int = 0  # of the joint in the list of joints
    factor: float = 1.0
    offset: float = 0.0  # [SI], added last
    what: str = ''  # in messages: which key names it


@dataclass(frozen=True)
class TextForm:
    """How a text file writes its table."""

    delimiter: str | None = ','  # None: any white space
    header: int | None = None  # number of the line, from 1; None: the first that is no comment
    has_header: bool = True
    first_sample: int | None = None  # number of its line, from 1; None: the one after the header
    comment: str = '#'
    decimal: str = '.'


@dataclass(frozen=True)
class ColumnMapping:
    """What `time`, the joints and their signals are called in a table."""

    source: str  # where it stands, for messages
    joints: tuple[str, ...]
    signals: Mapping[str, tuple[Column, ...]]  # one a joint, by `SIGNALS`
    time: tuple[Column, ...] = ()  # whose sum [s] is the time; empty: there is a rate
    rate: float = math.nan  # [Hz]
    text: TextForm = TextForm()
    side: str = JOINT  # or `MOTOR`: `joints` are motors


def find_mapping(path: Path) -> Path | None:
    """Return the file of names beside a data file, of its own or of its folder.

    A `DatasetError` where a file is there that only nearly has that name.
    """
    right = path.with_name(path.stem + SUFFIX)
    for wrong in (f'{path.stem}.columns.yml', f'{path.name}{SUFFIX}', f'{path.stem}.column.yaml'):
        if path.with_name(wrong).is_file():
            raise DatasetError(
                f"'{path.with_name(wrong)}' is not read: the file of names for '{path.name}' must "
                f"be called '{right.name}'"
            )
    found = (right, path.with_name(OF_FOLDER))
    return next((each for each in found if each.is_file()), None)


def read_column_mapping(given: Path | str | Mapping[str, Any]) -> ColumnMapping:
    """Read a file of names, or what one would hold; `DatasetError` names the key."""
    if isinstance(given, Mapping):
        return _checked(given, 'columns')
    path = Path(given)
    text = file_text(path, DatasetError, MAX_CHARACTERS, 'file of names')
    try:
        content = read_mapping(text, str(path))
    except DescriptionError as error:
        raise DatasetError(str(error)) from None
    return _checked(content, str(path))


def _checked(content: Mapping[str, Any], source: str) -> ColumnMapping:
    try:
        return _parsed(content, source)
    except DescriptionError as error:
        raise DatasetError(f"'{source}': {error}") from None


def _parsed(content: Mapping[str, Any], source: str) -> ColumnMapping:
    known_keys(content, 'the file of names', KEYS)
    joints, own = _joints(content.get('joints'))
    signals = {}
    for signal in SIGNALS:
        entries = [each.get(signal) for each in own]
        if signal in content or any(each is not None for each in entries):
            signals[signal] = tuple(
                _column(signal, content.get(signal), entry, joint, place)
                for place, (joint, entry) in enumerate(zip(joints, entries, strict=True))
            )
    if 'position' not in signals or not signals.keys() & {'effort', 'current'}:
        lacking = 'position' if 'position' not in signals else 'effort or current'
        raise DescriptionError(f'no {lacking} is named')
    if ('time' in content) == ('rate' in content):
        raise DescriptionError('one of time (a column) and rate [Hz] must be given, not both')
    rate = number(content['rate'], 'rate') if 'rate' in content else math.nan
    if rate <= 0:
        raise DescriptionError(f'rate must be positive [Hz], not {rate:g}')
    time = _time(content['time']) if 'time' in content else ()
    side = content.get('side', JOINT)
    if side not in SIDES:
        raise DescriptionError(f'side must be {" or ".join(SIDES)}, not {side!r}')
    return ColumnMapping(source, joints, signals, time, rate, _text_form(content), side)


def _joints(value: Any) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
    """Names of the joints, and what is said of each alone."""
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        twice = [name for name in value if value.count(name) > 1]
        if twice:
            raise DescriptionError(f"joints lists '{twice[0]}' twice")
        return tuple(value), [{}] * len(value)
    if isinstance(value, Mapping) and value:
        entries = [
            known_keys(entry or {}, f'joint {name}', SIGNALS) for name, entry in value.items()
        ]
        return tuple(str(name) for name in value), entries
    raise DescriptionError(
        'joints must be a list of names of joints, or a mapping {joint: {position: column, '
        f'effort: column}}}}, not {value!r}'
    )


def _column(signal: str, common: Any, own: Any, joint: str, place: int) -> Column:
    """Column of one joint, from what is said of all joints and of this one."""
    what = f'{signal} of joint {joint}'
    entry = {**_entry(common, signal), **_entry(own, what)}
    name, index = _name_and_index(entry, what, joint, place)
    return Column(name, index, place, *_conversion(entry, signal, what), what)


def _entry(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    return (
        dict(known_keys(value, what, ENTRY_KEYS))
        if isinstance(value, Mapping)
        else {'column': value}
    )


def _name_and_index(
    entry: Mapping[str, Any], what: str, joint: str, place: int
) -> tuple[Name, int | None]:
    value = entry.get('column')
    if isinstance(value, str):
        for mark, text in (('{n}', place + 1), ('{i}', place), ('{joint}', joint)):
            value = value.replace(mark, str(text))
        return value, None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value, None
    if isinstance(value, list) and len(value) == 2:
        name, index = value
        if isinstance(name, str) and type(index) is int and index >= 0:
            return name, index
    raise DescriptionError(
        f'{what} must name a column: a text (in which {{n}} counts the joints from 1, {{i}} from 0 '
        f'and {{joint}} is their name), a number from 0, or [array, index from 0], not {value!r}'
    )


def _conversion(entry: Mapping[str, Any], signal: str, what: str) -> tuple[float, float]:
    """Factor and offset that make SI units of the numbers."""
    units = UNITS[signal]
    unit = entry.get('unit', next(iter(units)))
    if not isinstance(unit, str) or unit not in units:
        raise DescriptionError(
            f"{what} has the unknown unit '{unit}'{suggestion(str(unit), units)}; units are "
            f'{", ".join(units)}'
        )
    numbers = {
        key: number(entry.get(key, usual), f'{key} of {what}')
        for key, usual in (('scale', 1.0), ('sign', 1), ('offset', 0.0), ('gear', 1.0))
    }
    for key in ('scale', 'gear'):
        if numbers[key] == 0:
            raise DescriptionError(f'{key} of {what} must not be 0')
    if numbers['sign'] not in (1, -1):
        raise DescriptionError(f'sign of {what} must be 1 or -1, not {numbers["sign"]:g}')
    if signal == 'current' and 'gear' in entry:
        raise DescriptionError(f'{what} has a gear: force constants are of joints, leave it out')
    factor = units[unit] * numbers['scale'] * numbers['sign']
    counted = math.isnan(units[unit])
    if counted != ('counts_per_turn' in entry):
        raise DescriptionError(f'{what}: unit count and counts_per_turn need each other')
    if counted:
        counts = number(entry['counts_per_turn'], f'counts_per_turn of {what}')
        if counts <= 0:
            raise DescriptionError(f'counts_per_turn of {what} must be positive, not {counts:g}')
        factor = TURN / counts * numbers['scale'] * numbers['sign']
    # A drive turns `gear` times as far as its joint; the joint's torque is as many times its own.
    gear = numbers['gear']
    return (factor * gear if signal == 'effort' else factor / gear), numbers['offset']


def _time(value: Any) -> tuple[Column, ...]:
    if isinstance(value, Mapping) and 'seconds' in value:
        parts = known_keys(value, 'time', ('seconds', 'nanoseconds'))
        return tuple(
            Column(_time_name(parts[key]), factor=factor, what=f'{key} of time')
            for key, factor in (('seconds', 1.0), ('nanoseconds', 1e-9))
            if key in parts
        )
    entry = (
        known_keys(value, 'time', ('column', 'unit'))
        if isinstance(value, Mapping)
        else {'column': value}
    )
    unit = entry.get('unit', 's')
    if not isinstance(unit, str) or unit not in TIME_UNITS:
        raise DescriptionError(
            f"time has the unknown unit '{unit}'; units are {', '.join(TIME_UNITS)}"
        )
    return (Column(_time_name(entry.get('column')), factor=TIME_UNITS[unit], what='time'),)


def _time_name(value: Any) -> Name:
    if isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise DescriptionError(f'time must name a column by text or number from 0, not {value!r}')


def _text_form(content: Mapping[str, Any]) -> TextForm:
    delimiter = content.get('delimiter', ',')
    if delimiter not in DELIMITERS and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise DescriptionError(
            f'delimiter must be one character, tab or space (any white space), not {delimiter!r}'
        )
    decimal = content.get('decimal', '.')
    if decimal not in ('.', ',') or decimal == delimiter:
        raise DescriptionError(f"decimal must be '.' or ',' and not the delimiter, not {decimal!r}")
    header, comment = content.get('header', True), content.get('comment', '#')
    if not isinstance(comment, str):
        raise DescriptionError(f'comment must be what comment lines begin with, not {comment!r}')
    has_header = header not in ('none', False)
    return TextForm(
        DELIMITERS.get(delimiter, delimiter),
        _line(header, 'header', 'none or ') if has_header and header is not True else None,
        has_header,
        _line(content['first_sample'], 'first_sample') if 'first_sample' in content else None,
        comment,
        decimal,
    )


def _line(value: Any, key: str, further: str = '') -> int:
    if type(value) is int and value >= 1:
        return value
    raise DescriptionError(f'{key} must be {further}the number of a line, from 1, not {value!r}')


def named_columns(mapping: ColumnMapping) -> Sequence[Column]:
    """Return all columns of a mapping, those of the time first."""
    return [*mapping.time, *(each for columns in mapping.signals.values() for each in columns)]


def unknown_column(path: Path, column: Column, source: str, names: Iterable[str]) -> DatasetError:
    """Return the error that a table lacks a column; names the nearest and where it is asked for."""
    names = list(names)
    return DatasetError(
        f"'{path}' has no column '{column.name}'{suggestion(str(column.name), names)}, which "
        f"'{source}' names as {column.what}; columns are {listed(names)}"
    )


def same_column(path: Path, one: Column, other: str, source: str) -> DatasetError:
    """Return the error that two signals or joints name one column."""
    return DatasetError(
        f"'{path}': {other} and {one.what} are the same column '{one.name}'; in '{source}', {{n}} "
        'or {i} tells joints apart'
    )
