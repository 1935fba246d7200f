"""Broken files of every form end in success or in an error of ours.

`python tests/pkm_identification/test_fuzzed_files.py COUNT [SEED]` runs as many inputs of each
form and prints the first errors that are not ours.
"""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from pkm_description.errors import DatasetError, PkmError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_dynamics.trajectories import load_trajectory
from pkm_identification import load

COUNT = 150
LONGEST = 1.0  # [s] of processor time for one input
ODD = (b'nan', b'-1', b'1e400', b'9' * 30, b'[' * 200, b'{', b'&a [*a]', b'\0', b'\xff', b'null')
TIME = np.arange(60) / 100
WAVE = np.sin(3 * TIME)
CSV = 'time,a.position,a.effort\n' + ''.join(
    f'{t},{x},{-x}\n' for t, x in zip(TIME, WAVE, strict=True)
)
NAMES = (
    '{time: {column: t, unit: s}, joints: [a], '
    'position: {column: p, unit: m}, effort: {column: f, unit: N}}'
)
SAMPLED = (
    '{type: sampled, coordinates: actuators, coordinate_names: [a], time: [0.0, 0.5, 1.0, 1.5], '
    'positions: [[0.0], [0.1], [0.1], [0.0]]}'
)


def _csv(path: Path) -> None:
    path.write_text(CSV)


def _npz(path: Path) -> None:
    names, wave = np.array(['a']), WAVE[:, None]
    np.savez_compressed(path, time=TIME, joint_names=names, positions=wave, efforts=-wave)


def _mat(path: Path) -> None:
    savemat(path, {'t': TIME, 'p': WAVE, 'f': -WAVE}, do_compression=True)
    path.with_name('columns.yaml').write_text(NAMES)


def _named(path: Path) -> None:
    path.with_name('data.csv').write_text(CSV.replace(CSV.split()[0], 't,p,f'))
    path.write_text(NAMES)


FORMS = {
    'data.csv': (_csv, load),
    'data.npz': (_npz, load),
    'data.mat': (_mat, load),
    'names.yaml': (_named, lambda path: load(path.with_name('data.csv'), columns=path)),
    'trajectory.yaml': (lambda path: path.write_text(SAMPLED), load_trajectory),
    'text.yaml': (
        lambda path: path.write_text(SAMPLED),
        lambda path: load_yaml(path.read_text('latin-1'), 'text', DatasetError),
    ),
}


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, splice, or put something odd in."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place, kind = int(rng.integers(0, max(len(found), 1))), rng.integers(0, 4)
        if kind == 0 and found:
            found[place] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del found[place:]
        elif kind == 2:
            other = int(rng.integers(0, len(data)))
            found[place : place + 20] = data[other : other + int(rng.integers(1, 60))]
        else:
            found[place : place + int(rng.integers(0, 6))] = ODD[rng.integers(0, len(ODD))]
    return bytes(found)


def defects(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """Errors that are not ours, and inputs that take too long."""
    write, read = FORMS[name]
    path, found = folder / name, []
    write(path)
    read(path)  # whole, it is read
    data, rng = path.read_bytes(), np.random.default_rng(seed)
    for index in range(count):
        path.write_bytes(mutated(data, rng))
        begun = time.process_time()
        try:
            read(path)
        except PkmError:
            pass
        except Exception:
            found.append(f'{name}, input {index}: {traceback.format_exc()[-400:]}')
        if time.process_time() - begun > LONGEST:
            found.append(f'{name}, input {index}: {time.process_time() - begun:.1f} s')
    return found


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('name', FORMS)
def test_broken_files_give_our_errors(tmp_path: Path, name: str) -> None:
    assert defects(tmp_path, name, COUNT, seed=0) == []


if __name__ == '__main__':
    import tempfile
    import warnings

    warnings.simplefilter('ignore')
    for form in FORMS:
        with tempfile.TemporaryDirectory() as scratch:
            wrong = defects(Path(scratch), form, int(sys.argv[1]), int((sys.argv[2:] or ['0'])[0]))
        print(form, len(wrong), *wrong[:3], sep='\n')
