"""Recordings from NPZ files."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description import Payload
from pkm_description.errors import DatasetError
from pkm_description.untrusted.named_files import MAX_WHOLE, foreign_errors
from pkm_identification.datasets import source
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.recorded_metadata import recorded_payload, recorded_side
from pkm_identification.datasets.stored_array import in_parts, stored
from pkm_identification.datasets.tables.column_mapping import ForeignFormError
from pkm_identification.datasets.truth import Truth

AnyArray = NDArray[Any]
Content = Mapping[str, AnyArray]

REQUIRED = ('time', 'joint_names', 'positions')
SAMPLES = ('time', 'positions', 'efforts', 'currents', 'velocities', 'commands')
TRUTH = ('truth_time', 'truth_positions', 'truth_velocities', 'truth_forces')
BY_JOINT = ('force_constants', 'force_constant_deviations')
OPTIONAL = (
    'efforts',
    'currents',
    'velocities',
    'commands',
    'period',
    'effort_delay',
    'effort_filter',
    'side',
    *BY_JOINT,
    'payload',
    *TRUTH,
)
# What a ZIP file may become without a doubt, and how often its size beyond: numbers that are
# measured halve, constant channels of double precision shrink to a hundredth.
UNPACKED = 1 << 26  # [bytes]
DENSEST = 100


def open_npz(path: Path) -> Callable[[bool], Recording]:
    """Read `time`, `joint_names`, `positions`, `efforts` and/or `currents`.

    Optional: measured `velocities` (N, n_a) [m/s, rad/s], `period` [s], `effort_delay` [s],
    `effort_filter` (order and cutoff [Hz] of a Butterworth low pass in the efforts), `side`
    (`motor` where `joint_names` and all numbers are of motors),
    `force_constants` (n_a,) [N/A, N m/A] with their standard deviations
    `force_constant_deviations`, `payload` (its YAML text, see `pkm_description.payload_of`), and
    all of `truth_time` (M,) [s], `truth_positions`, `truth_velocities`, `truth_forces` (M, n_a) of
    a simulated robot. What is returned makes a recording of that; given True, with `commands`
    (N, n_a) [N, N m], which the controller gave at the times of the positions, in place of efforts
    and currents.
    """
    with foreign_errors(DatasetError, f"'{path}' cannot be read as an NPZ file"):
        content = _content(path)
    missing = [name for name in REQUIRED if name not in content]
    if missing:
        there = ', '.join(sorted(content)) or 'nothing'
        raise ForeignFormError(f"'{path}' lacks {', '.join(missing)}; it holds {there}")
    return partial(_recording, path, content)


def _recording(path: Path, content: Content, commanded: bool) -> Recording:
    unknown = sorted(set(content) - set(REQUIRED) - set(OPTIONAL))
    names = _names(content['joint_names'], path)
    fields: dict[str, Any] = {
        name: _number(content, name, path) for name in ('period', 'effort_delay') if name in content
    }
    if 'effort_filter' in content:
        fields['effort_filter'] = _effort_filter(content, path)
    fields |= {name: _by_joint(content, name, names, path) for name in BY_JOINT if name in content}
    if 'side' in content:
        fields['side'] = recorded_side({'side': content['side'].item()}, str(path))
    if 'payload' in content:
        fields['payload'] = _payload(content['payload'], path)
    forces = [content.get('efforts'), content.get('currents')]
    if commanded:
        if 'commands' not in content:
            raise DatasetError(f"'{path}' has no array `commands` of commanded forces")
        forces = [content['commands'], None]
    recording = Recording.from_arrays(
        content['time'],
        names,
        content['positions'],
        *forces,
        velocities=content.get('velocities'),
        truth=_truth(content, len(names), path),
        provenance={'source': str(path), 'format': 'npz', 'left_out': unknown},
        **fields,
    )
    return recording.as_commanded() if commanded else recording


def _content(path: Path) -> dict[str, AnyArray]:
    """Read all arrays; those of samples into files of their own where they are many."""
    with np.load(path, allow_pickle=False) as archive, zipfile.ZipFile(path) as file:
        whole = check_declared(file, path)
        shapes = {name: _shape(file, name) for name in archive.files if name in (*SAMPLES, *TRUTH)}
        numbers = sum(int(np.prod(shapes[name])) for name in SAMPLES if name in shapes)
        spooled = shapes if numbers > source.LONG else {}
        require_memory(sum(whole[name] for name in whole if name not in spooled), path)
        return {
            name: stored(_rows(file, name)) if name in spooled else archive[name]
            for name in archive.files
        }


def check_declared(file: zipfile.ZipFile, path: Path) -> dict[str, int]:
    """Return the sizes [bytes] of the arrays of an NPZ file, which its members must have.

    NumPy takes the memory that a header declares before it reads a single number. Raises
    DatasetError, also where the file is packed as no measurement can be.
    """
    packed = sum(member.compress_size for member in file.infolist())
    whole = sum(member.file_size for member in file.infolist())
    if packed > path.stat().st_size or whole > max(UNPACKED, DENSEST * packed):
        raise DatasetError(
            f"'{path}' says that its {path.stat().st_size} bytes hold {whole}: no measurement is "
            'packed so densely'
        )
    found = {}
    for member in file.infolist():
        with file.open(member) as stream:
            shape, _, dtype = _header(stream)
        size = math.prod(shape) * dtype.itemsize
        if size > member.file_size or size < 0:
            raise DatasetError(
                f"'{path}': '{member.filename}' declares an array of {size} bytes {shape}, but has "
                f'{member.file_size}'
            )
        found[member.filename.removesuffix('.npy')] = size
    return found


def require_memory(size: int, path: Path) -> None:
    """Refuse arrays [bytes] that are read as a whole and too large for that; DatasetError."""
    if size > MAX_WHOLE:
        raise DatasetError(
            f"'{path}' holds {size} bytes in arrays that are read as a whole; at most {MAX_WHOLE}"
        )


def _shape(file: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with file.open(f'{name}.npy') as stream:
        return _header(stream)[0]


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an NPY stream, which then stands at the numbers."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _rows(file: zipfile.ZipFile, name: str) -> Iterator[AnyArray]:
    """Yield the rows of an array that is too long for memory, some thousand at once.

    NumPy reads only whole arrays from a zip file. Columns of a Fortran array lie one behind
    the other: each is read by a stream of its own.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(file.open(f'{name}.npy'))
        shape, fortran, dtype = _header(stream)
        if dtype.kind not in 'fiu':
            raise ValueError(f'{name} does not hold numbers')
        streams, width = [stream], int(np.prod(shape[1:], dtype=int))
        if fortran and len(shape) == 2:
            width = 1
            for column in range(1, shape[1]):
                stream = stack.enter_context(file.open(f'{name}.npy'))
                _header(stream)
                stream.seek(column * shape[0] * dtype.itemsize, 1)
                streams.append(stream)
        for begin in range(0, shape[0], source.BLOCK):
            count = min(source.BLOCK, shape[0] - begin)
            parts = []
            for stream in streams:
                data = stream.read(count * width * dtype.itemsize)
                parts.append(np.frombuffer(data, dtype).reshape(count, width))
            rows = np.concatenate(parts, axis=1).astype(float)
            yield rows.reshape(count, *shape[1:])


def _payload(text: AnyArray, path: Path) -> Payload | None:
    if text.shape != () or text.dtype.kind not in 'US':
        raise DatasetError(
            f"'{path}': payload must be one text in YAML, got {text.dtype} of shape {text.shape}"
        )
    return recorded_payload(text.item(), str(path))


def _names(values: AnyArray, path: Path) -> tuple[str, ...]:
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


def _by_joint(content: Content, name: str, names: tuple[str, ...], path: Path) -> dict[str, float]:
    """Numbers by joint, without those that are NaN: not known."""
    numbers = _numbers(content, name, path)
    if numbers.shape != (len(names),):
        raise DatasetError(f"'{path}': {name} have shape {numbers.shape}, expected ({len(names)},)")
    is_deviation = name == 'force_constant_deviations'
    wrong = numbers < 0 if is_deviation else numbers == 0
    if wrong.any() or np.isinf(numbers).any():
        raise DatasetError(
            f"'{path}': {name} must be finite and "
            f'{"not negative" if is_deviation else "other than 0"} [N/A, N m/A], got '
            f'{numbers.tolist()}'
        )
    by_joint = zip(names, numbers.tolist(), strict=True)
    return {joint: number for joint, number in by_joint if not np.isnan(number)}


def _numbers(content: Content, name: str, path: Path) -> AnyArray:
    try:
        values = content[name]
        return values if isinstance(values, np.memmap) else np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise DatasetError(f"'{path}': {name} does not hold numbers: {error}") from error


def _number(content: Content, name: str, path: Path) -> float:
    values = _numbers(content, name, path)
    if values.size != 1 or not np.isfinite(values).all():
        raise DatasetError(
            f"'{path}': {name} must be one finite number, got shape {values.shape}: {values}"
        )
    return float(values.item())


def _effort_filter(content: Content, path: Path) -> EffortFilter:
    numbers = _numbers(content, 'effort_filter', path)
    if numbers.shape != (2,):
        raise DatasetError(f"'{path}': effort_filter must be order and cutoff [Hz], got {numbers}")
    order = int(numbers[0]) if numbers[0] == np.round(numbers[0]) else float(numbers[0])
    return EffortFilter.of({'order': order, 'cutoff': float(numbers[1])}, f"'{path}'")


def _truth(content: Content, joints: int, path: Path) -> Truth | None:
    """Noise-free signals, where the file has them."""
    given = [name for name in TRUTH if name in content]
    if not given:
        return None
    missing = [name for name in TRUTH if name not in content]
    if missing:
        raise DatasetError(f"'{path}' has {given[0]} but lacks {', '.join(missing)}")
    time, *signals = (_numbers(content, name, path) for name in TRUTH)
    for name, values in zip(TRUTH, (time, *signals), strict=True):
        expected = (len(time),) if name == TRUTH[0] else (len(time), joints)
        finite = all(np.isfinite(part).all() for part in in_parts(values))
        if values.shape != expected or not finite:
            raise DatasetError(
                f"'{path}': {name} must be finite and {expected}, got {values.shape}"
            )
    return Truth(time, *signals)
