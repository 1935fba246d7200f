"""Datasets from CSV and NPZ files."""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description import Payload
from pkm_description.errors import DatasetError
from pkm_identification.datasets.dataset import Dataset, Truth, recorded_payload
from pkm_identification.datasets.long_dataset import LONG, LongDataset
from pkm_identification.datasets.long_truth import npz_truth
from pkm_identification.datasets.sources import NpzSource, SpooledSource, npz_shapes

BYTES_A_NUMBER = 10  # of text
ROWS = 2**14  # of a table, read at once
CSV_FORM = 'time, <joint>.position, <joint>.effort and/or <joint>.current'
COLUMN = re.compile(r'(?P<joint>.+)\.(?P<kind>position|effort|current)')
NPZ_REQUIRED = ('time', 'joint_names', 'positions')
NPZ_TRUTH = ('truth_time', 'truth_positions', 'truth_velocities', 'truth_forces')
NPZ_STREAMED = (*NpzSource.MEMBERS, *NPZ_TRUTH)
NPZ_OPTIONAL = (
    'efforts',
    'currents',
    'period',
    'effort_delay',
    'force_constants',
    'force_constant_deviations',
    'payload',
    *NPZ_TRUTH,
)


def load_csv(path: Path) -> Dataset | LongDataset:
    """Read `time, <joint>.position, <joint>.effort, <joint>.current` in any column order.

    SI units: [s], [m, rad], [N, N m], [A]. Joints with a position only are left out.
    """
    header = [name.strip().strip('"') for name in _first_line(path).rstrip('\r\n').split(',')]
    if header == ['']:
        raise DatasetError(f"'{path}' is empty; expected a header {CSV_FORM}")
    columns: dict[str, dict[str, int]] = {'position': {}, 'effort': {}, 'current': {}}
    for index, name in enumerate(header):
        if name == 'time':
            continue
        match = COLUMN.fullmatch(name)
        if match is None:
            raise DatasetError(f"'{path}': unknown column '{name}'; expected {CSV_FORM}")
        if match['joint'] in columns[match['kind']]:
            raise DatasetError(f"'{path}': column '{name}' appears twice")
        columns[match['kind']][match['joint']] = index
    if header.count('time') != 1:
        raise DatasetError(
            f"'{path}': needs exactly one column 'time', separated by commas; expected "
            f'{CSV_FORM}, the header is {",".join(header)[:80]}'
        )
    driven = [
        joint
        for joint in columns['position']
        if joint in columns['effort'] or joint in columns['current']
    ]
    for kind in ('effort', 'current'):
        for joint in columns[kind]:
            if joint not in columns['position']:
                raise DatasetError(f"'{path}': '{joint}.{kind}' has no column '{joint}.position'")
    if not driven:
        raise DatasetError(f"'{path}' has no joint with a position and an effort or current column")
    places = {
        'time': [header.index('time')],
        'positions': [columns['position'][joint] for joint in driven],
    }
    for kind in ('effort', 'current'):
        lacking = [joint for joint in driven if joint not in columns[kind]]
        if not lacking:
            places[f'{kind}s'] = [columns[kind][joint] for joint in driven]
        elif len(lacking) < len(driven):
            raise DatasetError(
                f"'{path}': column '{lacking[0]}.{kind}' is missing, other joints have one"
            )
    provenance = {
        'source': str(path),
        'format': 'csv',
        'left_out': [joint for joint in columns['position'] if joint not in driven],
    }
    if path.stat().st_size > LONG * BYTES_A_NUMBER:
        source = SpooledSource(_table_blocks(path, len(header)), places)
        return LongDataset.of(source, driven, provenance=provenance)
    table = _read_table(path, len(header))
    return Dataset(
        time=table[:, header.index('time')],
        joint_names=tuple(driven),
        positions=table[:, places['positions']],
        efforts=table[:, places['efforts']] if 'efforts' in places else None,
        currents=table[:, places['currents']] if 'currents' in places else None,
        provenance=provenance,
    )


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding='utf-8-sig') as file:
            return file.readline()
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"'{path}': the header is not text in UTF-8 ({error}); expected {CSV_FORM}"
        ) from error
    except OSError as error:
        raise DatasetError(f"'{path}' cannot be read: {error.strerror}") from error


def _read_table(path: Path, width: int) -> np.ndarray:
    table = _numbers_of(path, path, width, 1)
    if not table.size:
        raise DatasetError(f"'{path}' has a header but no samples")
    return table


def _table_blocks(path: Path, width: int) -> Iterator[np.ndarray]:
    """Yield the rows of a long table, some thousand at once."""
    with path.open(encoding='utf-8-sig') as file:
        file.readline()
        while lines := list(islice(file, ROWS)):
            table = _numbers_of(path, lines, width, 0)
            if table.size:
                yield table


def _numbers_of(path: Path, text: Any, width: int, skip: int) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', UserWarning)
            table = np.loadtxt(
                text, delimiter=',', skiprows=skip, ndmin=2, encoding='utf-8-sig', comments=None
            )
    except ValueError as error:
        raise DatasetError(f"'{path}' cannot be read as numbers: {error}") from error
    if table.size and table.shape[1] != width:
        raise DatasetError(f"'{path}' has {width} column names but rows of {table.shape[1]} values")
    return table


def load_npz(path: Path) -> Dataset | LongDataset:
    """Read `time`, `joint_names`, `positions`, `efforts` and/or `currents`.

    Optional: `period` [s], `effort_delay` [s], `force_constants` (n_a,) [N/A, N m/A] with
    their standard deviations `force_constant_deviations`, `payload` (its YAML text, see
    `pkm_description.payload_of`), and all of `truth_time` (M,) [s], `truth_positions`,
    `truth_velocities`, `truth_forces` (M, n_a) of a simulated robot. A file too long for memory
    is read in blocks, without its truth.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            streamed = NPZ_STREAMED if _is_long(path) else ()
            there = list(archive.files)
            content = {name: archive[name] for name in there if name not in streamed}
        source = NpzSource(path) if streamed else None
    except (
        ValueError,
        TypeError,
        OSError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
    ) as error:
        raise DatasetError(f"'{path}' cannot be read as an NPZ file: {error}") from error
    missing = [name for name in NPZ_REQUIRED if name not in there]
    if missing:
        held = ', '.join(sorted(there)) or 'nothing'
        raise DatasetError(f"'{path}' lacks {', '.join(missing)}; it holds {held}")
    unknown = sorted(set(there) - set(NPZ_REQUIRED) - set(NPZ_OPTIONAL))
    names = _names(content['joint_names'], path)
    by_joint = {}
    for name in ('force_constants', 'force_constant_deviations'):
        if name in content:
            numbers = _numbers(content, name, path)
            if numbers.shape != (len(names),):
                raise DatasetError(
                    f"'{path}': {name} have shape {numbers.shape}, expected ({len(names)},)"
                )
            wrong = numbers < 0 if name.endswith('deviations') else numbers == 0
            if wrong.any() or np.isinf(numbers).any():
                raise DatasetError(
                    f"'{path}': {name} must be finite and "
                    f'{"not negative" if name.endswith("deviations") else "other than 0"} '
                    f'[N/A, N m/A], got {numbers.tolist()}'
                )
            by_joint[name] = {
                joint: number
                for joint, number in zip(names, numbers.tolist(), strict=True)
                if not np.isnan(number)  # not known
            }
    fields: dict[str, Any] = {
        name: _number(content, name, path) for name in ('period', 'effort_delay') if name in content
    }
    if 'payload' in content:
        fields['payload'] = _payload(content['payload'], path)
    fields |= by_joint
    provenance = {'source': str(path), 'format': 'npz', 'left_out': unknown}
    if source is not None:
        long = LongDataset.of(source, names, provenance=provenance, **fields)
        truth = npz_truth(path, len(names))
        return replace(long, truth=None if truth is None else truth.with_columns(long.columns))
    return Dataset(
        time=content['time'],
        joint_names=names,
        positions=content['positions'],
        efforts=content.get('efforts'),
        currents=content.get('currents'),
        truth=_truth(content, len(names), path),
        provenance=provenance,
        **fields,
    )


def _payload(text: np.ndarray, path: Path) -> Payload | None:
    if text.shape != () or text.dtype.kind not in 'US':
        raise DatasetError(
            f"'{path}': payload must be one text in YAML, got {text.dtype} of shape {text.shape}"
        )
    return recorded_payload(text.item(), str(path))


def _is_long(path: Path) -> bool:
    """Whether the samples of an NPZ file are too many for memory."""
    shapes = npz_shapes(path)
    if any(name not in shapes for name in NPZ_REQUIRED) or len(shapes['time']) != 1:
        return False
    measured = [shapes[name] for name in NpzSource.MEMBERS if name in shapes]
    return sum(int(np.prod(shape)) for shape in measured) > LONG


def _names(values: np.ndarray, path: Path) -> tuple[str, ...]:
    values = np.atleast_1d(values)
    if values.ndim != 1 or values.dtype.kind not in 'US':
        raise DatasetError(
            f"'{path}': joint_names must be a list of texts, got {values.dtype} of shape "
            f'{values.shape}'
        )
    try:
        return tuple(n.decode() if isinstance(n, bytes) else str(n) for n in values.tolist())
    except UnicodeDecodeError as error:
        raise DatasetError(f"'{path}': joint_names are not text in UTF-8 ({error})") from error


def _numbers(content: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    try:
        return np.asarray(content[name], dtype=float)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"'{path}': {name} does not hold numbers: {error}") from error


def _number(content: dict[str, np.ndarray], name: str, path: Path) -> float:
    values = _numbers(content, name, path)
    if values.size != 1 or not np.isfinite(values).all():
        raise DatasetError(
            f"'{path}': {name} must be one finite number, got shape {values.shape}: {values}"
        )
    return float(values.item())


def _truth(content: dict[str, np.ndarray], joints: int, path: Path) -> Truth | None:
    """Noise-free signals, where the file has them."""
    given = [name for name in NPZ_TRUTH if name in content]
    if not given:
        return None
    missing = [name for name in NPZ_TRUTH if name not in content]
    if missing:
        raise DatasetError(f"'{path}' has {given[0]} but lacks {', '.join(missing)}")
    time, *signals = (_numbers(content, name, path) for name in NPZ_TRUTH)
    for name, values in zip(NPZ_TRUTH[1:], signals, strict=True):
        if values.shape != (time.size, joints) or not np.all(np.isfinite(values)):
            raise DatasetError(
                f"'{path}': {name} must be finite and ({time.size}, {joints}), got {values.shape}"
            )
    return Truth(time, *signals)
