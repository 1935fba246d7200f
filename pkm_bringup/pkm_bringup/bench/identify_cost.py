"""Time and memory of identifications, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.bench.frame import Bench
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array

RATE = 1000.0  # [Hz]
BLOCK = 20_000  # samples
LONGER = 10
WAVES = 6
SLOW, FAST = 0.1, 4.0  # [Hz] of the motion
STROKE, SPEED = 0.03, 0.25  # [m, rad], [m/s, rad/s]
FORCE_NOISE, POSITION_NOISE = 5.0, 2e-6  # [N, N m], [m, rad]
LIKELIHOOD_PERIODS, LIKELIHOOD_PERIOD = 10, 5.0  # of the recording for maximum likelihood, [s]
RATIOS = (('time', 'cpu'), ('memory', 'memory'))
PEER = 'numpy'  # of `identify_process`


def measure(bench: Bench) -> dict[str, Any]:
    """Measure `identify` from files: `wls` on two lengths, and `maximum_likelihood`.

    By kind of motion (`filter`: it does not repeat, `fourier`: it does): `short` and `long`, each
    with `duration`, `wall` and `cpu` [s], `memory` (peak resident, of the whole process [bytes]),
    `parameters`; `time_ratio` (CPU time) and `memory_ratio` of the two. `filter` also has the
    `peer`: the same in memory with NumPy and SciPy, from the short recording.
    `maximum_likelihood`: the same figures of ten periods of 5 s, and of the `derivative` with the
    motion (`unknowns`, CPU time `ours` and by `differences` [s]).
    """
    result: dict[str, Any] = {}
    model, robot, duration = bench.model, bench.robot, bench.recording
    with tempfile.TemporaryDirectory(prefix='pkm_bench_') as folder:

        def measured(
            method: str, length: float, period: float, *estimators: str
        ) -> list[dict[str, Any]]:
            """Write one recording, identify from it by each estimator."""
            name = f'{method}, {length:g} s'
            bench.update(f'recording, {name}', None)
            path = write_recording(
                Path(folder) / 'data.npz', model, length, period, named=method == 'fourier'
            )
            found = []
            for estimator in estimators:
                bench.update(f'{estimator}, {name}', None)
                figures = _in_own_process(path, robot, estimator, method)
                found.append({'duration': length, **figures})
            path.unlink()
            return found

        for method, period in (('filter', duration), ('fourier', 2.0)):
            peers = (PEER,) if method == 'filter' else ()
            short, *peer = measured(method, duration, period, 'wls', *peers)
            (long,) = measured(method, LONGER * duration, period, 'wls')
            ratios = {f'{key}_ratio': long[of] / short[of] for key, of in RATIOS}
            result[method] = {'short': short, 'long': long, **ratios}
            result[method] |= {'peer': peer[0]} if peer else {}
        name, period = 'maximum_likelihood', LIKELIHOOD_PERIOD
        (result[name],) = measured('fourier', LIKELIHOOD_PERIODS * period, period, name)
    return result


def write_recording(
    path: Path,
    model: ClosedChainModel,
    duration: float,
    period: float,
    *,
    named: bool,
    seed: int = 0,
) -> Path:
    """Write an NPZ file of a smooth motion about home with noise, in little memory.

    After `period` the motion (not the noise) begins anew; the file tells it where it is `named`.
    """
    count = round(duration * RATE)
    once = list(_motion(model, min(period, duration), seed))
    columns = {'positions': (0, POSITION_NOISE), 'efforts': (1, FORCE_NOISE)}
    with zipfile.ZipFile(path, 'w') as archive:
        small = {'joint_names': np.array(model.actuated_joints)}
        small |= {'period': np.array(period)} if named else {}
        for name, values in small.items():
            with archive.open(f'{name}.npy', 'w') as stream:
                np.lib.format.write_array(stream, values)
        with archive.open('time.npy', 'w', force_zip64=True) as stream:
            _header(stream, (count,))
            for begin in range(0, count, BLOCK):
                stream.write((np.arange(begin, min(begin + BLOCK, count)) / RATE).tobytes())
        for name, (which, noise) in columns.items():
            random = np.random.default_rng([seed, which])
            with archive.open(f'{name}.npy', 'w', force_zip64=True) as stream:
                _header(stream, (count, model.n_a))
                left = count
                while left > 0:
                    for part in once:
                        values = part[which][:left]
                        noisy = values + noise * random.standard_normal(values.shape)
                        stream.write(np.ascontiguousarray(noisy).tobytes())
                        left -= len(values)
    return path


def _motion(model: ClosedChainModel, period: float, seed: int) -> Iterator[tuple[Array, Array]]:
    """Positions and forces of one period, in blocks."""
    random = np.random.default_rng(seed)
    slowest, fastest = max(1, round(SLOW * period)), max(2, round(FAST * period))
    harmonics = random.integers(slowest, fastest, (WAVES, model.n_a), endpoint=True)
    frequency = 2 * np.pi * harmonics / period
    amplitude = np.minimum(STROKE, SPEED / frequency) / WAVES**0.5 / 2
    phase = random.uniform(0, 2 * np.pi, (WAVES, model.n_a))
    count = round(period * RATE)
    for begin in range(0, count, BLOCK):
        time = np.arange(begin, min(begin + BLOCK, count)) / RATE
        angle = time[:, None, None] * frequency + phase
        sine, cosine = amplitude * np.sin(angle), amplitude * np.cos(angle)
        q = model.home_actuators + sine.sum(axis=1)
        qd, qdd = (frequency * cosine).sum(axis=1), -(frequency**2 * sine).sum(axis=1)
        yield q, model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))


def _header(stream: Any, shape: tuple[int, ...]) -> None:
    header = {'descr': '<f8', 'fortran_order': False, 'shape': shape}
    np.lib.format.write_array_header_2_0(stream, header)


def _in_own_process(path: Path, robot: str, estimator: str, method: str) -> dict[str, Any]:
    command = [sys.executable, '-m', 'pkm_bringup.bench.identify_process', str(path)]
    done = subprocess.run([*command, robot, estimator, method], capture_output=True, text=True)
    if done.returncode:
        raise EstimationError(f'the identification failed: {done.stderr.strip()[-500:]}')
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
