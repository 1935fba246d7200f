"""One identification in a process of its own: `python -m pkm_bringup.bench.identify_process`.

Arguments: data file, robot, estimator (or `numpy`, the peer), method of the signals. Prints
its figures as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

import pkm_description
from pkm_bringup.bench.frame import MICRO, cost
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.estimators.maximum_likelihood.likelihood import Likelihood
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

PEER = 'numpy'
AT_ONCE = 4096  # samples of a regressor
CUTOFF = 20.0  # [Hz] of the peer's low pass
EDGE = 1000  # samples that the peer leaves out at both ends
STEPS = 3


def main(path: str, robot: str, estimator: str, method: str) -> dict[str, Any]:
    """Identify, measure."""
    model = ClosedChainModel(pkm_description.load(robot))
    begin, cpu = time.perf_counter(), time.process_time()
    data = load(path).for_model(model)
    if estimator == PEER:
        figures: dict[str, Any] = {'parameters': len(in_memory(data, model))}
    else:
        result = identify(data, model, estimator, method=method)
        signals = result.diagnostics.data[0].signals
        equations = result.diagnostics.parameters.equations
        figures = {'parameters': len(result.names), 'equations': equations}
        figures |= {key: signals.get(key) for key in ('cutoff', 'periods')}
    figures['wall'] = time.perf_counter() - begin
    figures['cpu'] = time.process_time() - cpu
    figures['memory'] = peak_memory()
    if estimator == 'maximum_likelihood':
        figures['derivative'] = derivative_cost(data, model)
    return figures


def in_memory(data: Recording, model: ClosedChainModel) -> Array:
    """Weighted least squares as one writes it with NumPy and SciPy: all samples at once.

    Zero-phase low pass of positions and forces, differences for the derivatives, one
    regressor of all samples, `numpy.linalg.lstsq` twice, the second with the variances of
    the first.
    """
    time, efforts = data.time, data.efforts
    assert efforts is not None
    interval = float(np.median(np.diff(time)))
    low_pass = butter(4, CUTOFF, fs=1 / interval, output='sos')
    positions = sosfiltfilt(low_pass, data.positions, axis=0)
    forces = sosfiltfilt(low_pass, efforts, axis=0)
    velocities = np.gradient(positions, interval, axis=0)
    accelerations = np.gradient(velocities, interval, axis=0)
    base = model.base_parameters(shared=True, reduced=True)
    rows = range(EDGE, len(time) - EDGE, AT_ONCE)
    blocks = [slice(k, min(k + AT_ONCE, len(time) - EDGE)) for k in rows]
    states = ((positions[k], velocities[k], accelerations[k]) for k in blocks)
    regressor = np.concatenate([base.regressor(model.motion_from_actuators(*s)) for s in states])
    forces = forces[EDGE : len(time) - EDGE]
    size, deviation = regressor.shape[-1], np.ones(forces.shape[1])
    for _ in range(2):
        design = (regressor / deviation[:, None]).reshape(-1, size)
        values = np.linalg.lstsq(design, (forces / deviation).ravel(), rcond=None)[0]
        deviation = (forces - regressor @ values).std(axis=0)
    return np.asarray(values)


def derivative_cost(data: Recording, model: ClosedChainModel) -> dict[str, float]:
    """CPU time [s] of the likelihood's derivative with the motion, ours and by differences.

    Forward differences cost one evaluation of all forces for each unknown; that is computed
    from the time of one.
    """
    likelihood = Likelihood(build_problem(process(data, SignalOptions(method='fourier')), model))
    run, start = likelihood.runs[0], likelihood.start()
    parameters = likelihood.problem.expand(start.values)

    gain = cost(lambda: run.gain(start.motion[0], parameters), STEPS) / MICRO
    once = cost(lambda: run.rows(start.motion[0]), STEPS) / MICRO
    return {'unknowns': run.unknowns, 'ours': gain, 'differences': once * run.unknowns}


def peak_memory() -> int:
    """Largest resident memory of this process so far [bytes]."""
    try:
        with open('/proc/self/status', encoding='ascii') as file:
            return int(file.read().split('VmHWM:')[1].split()[0]) * 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == '__main__':
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + '\n')
