"""Files of a dataset: bags, CSV and NPZ, as `pkm_identification.load` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.public_data.dataset_contents import RECORDING, Content, Decimals
from pkm_bringup.public_data.dataset_manifest import RECORDINGS
from pkm_bringup.simulated_bag import write_joint_states
from pkm_description.errors import DatasetError
from pkm_identification import load
from pkm_identification.datasets import Recording
from pkm_identification.datasets.tables.column_mapping import Column, TextForm
from pkm_identification.datasets.tables.text_table import TextTable

ENDINGS = {'npz': '.npz', 'csv': '.csv', 'bag': ''}  # the first that is there is read
SAME_STAMP = 1e-6  # [s]


def write_content(
    folder: Path, path: str, content: Content | str, formats: tuple[str, ...], period: float | None
) -> None:
    """Write what a dataset has at a path: a text, a table, or a recording in all formats."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        file.write_text(content, encoding='utf-8')
    elif not path.startswith(RECORDINGS):
        write_table(Path(f'{file}.csv'), content)
    else:
        assert period is not None
        for each in formats:
            _WRITERS[each](Path(f'{file}{ENDINGS[each]}'), content, period)


def write_table(path: Path, content: Content, period: float | None = None) -> None:
    """Write CSV with all digits: time [s] and `<joint>.<kind>`; the period has no place there."""
    columns = content.columns
    forms = [f'%.{content.decimals[name.rpartition(".")[2]]}f' for name in columns]
    numbers = np.column_stack(list(columns.values()))
    np.savetxt(path, numbers, forms, ',', header=','.join(columns), comments='')


def _write_npz(path: Path, content: Content, period: float) -> None:
    np.savez_compressed(path, **_arrays(content), period=period)


def _write_bag(path: Path, content: Content, period: float) -> None:
    write_joint_states(path, _arrays(content), {'period': period})


_WRITERS = {'bag': _write_bag, 'csv': write_table, 'npz': _write_npz}


def _arrays(content: Content) -> dict[str, Any]:
    signals = content.signals
    return {
        'time': signals['time'],
        'joint_names': np.array(content.joints),
        'positions': signals['position'],
        'efforts': signals['effort'],
    }


def recording_content(path: Path) -> Content:
    """Return what a recording holds, of any format; DatasetError where it cannot be read."""
    data = load(path)
    if data.efforts is None:
        raise DatasetError(f"'{path}' holds no efforts")
    return Content.of(data.joint_names, RECORDING, data.time, data.positions, data.efforts)


def recording_of(folder: Path, path: str) -> Recording:
    """Return a recording of a dataset in the first format that is there."""
    for ending in ENDINGS.values():
        file = folder / f'{path}{ending}'
        if file.exists():
            return load(file)
    raise DatasetError(f"'{folder / path}' is missing, in all formats: {', '.join(ENDINGS)}")


def read_table(path: Path, decimals: Decimals, like: Content | None = None) -> Content:
    """Return a table as `write_table` writes it, its joints in the order of `like`.

    DatasetError where it is none, has other columns than `like`, other stamps, or numbers that are
    not finite.
    """
    if not path.is_file():
        raise DatasetError(f"'{path}' does not exist")
    text = TextTable(path, TextForm())
    names = list(text.names)
    kinds = [kind for kind in decimals if kind != 'time']
    joints = (
        like.joints
        if like
        else tuple(
            name.removesuffix(f'.{kinds[0]}') for name in names if name.endswith(f'.{kinds[0]}')
        )
    )
    wanted = ['time', *(f'{joint}.{kind}' for kind in kinds for joint in joints)]
    _require_columns(path, names, wanted)
    numbers = text.numbers([Column(names.index(name)) for name in wanted], str(path))
    numbers = np.asarray(numbers, dtype=float)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = bad[0]
        raise DatasetError(f"'{path}': '{wanted[column]}' is not finite in sample {row + 1}")
    signals = np.split(numbers[:, 1:], len(kinds), axis=1)
    if like is not None:
        _require_stamps(path, numbers[:, 0], like.signals['time'])
    named: Mapping[str, Any] = dict(zip(kinds, signals, strict=True))
    return Content(joints, {'time': numbers[:, 0], **named}, decimals)


def _require_columns(path: Path, names: list[str], wanted: list[str]) -> None:
    missing = [name for name in wanted if name not in names]
    if missing or len(wanted) == 1:
        what = ', '.join(missing) or '<joint>.effort'
        raise DatasetError(f"'{path}' lacks the column {what}; it has {','.join(names)[:200]}")
    others = [name for name in names if name not in wanted or names.count(name) > 1]
    if others:
        raise DatasetError(f"'{path}': column '{others[0]}' is unknown, or there twice")


def _require_stamps(path: Path, time: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    if len(time) != len(expected):
        raise DatasetError(
            f"'{path}' has {len(time)} samples; the motion has {len(expected)}, each once"
        )
    off = np.abs(time - expected)
    worst = int(np.argmax(off))
    if off[worst] > SAME_STAMP:
        raise DatasetError(
            f"'{path}': time {time[worst]:.9g} s in sample {worst + 1}; the motion has "
            f'{expected[worst]:.9g} s there'
        )
