"""Many runs of one trajectory: recorded, and identified one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.offline import measured_arrays, simulate
from pkm_bringup.studies.noise_plant import noisy_periods
from pkm_control.feedforward import nominal_feedforward
from pkm_dynamics.simulation import PlantEffects
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import gauss_markov, ls
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, Signals, process

Array = NDArray[np.float64]

ESTIMATORS = {'gauss_markov': gauss_markov, 'ls': ls}
SAMPLING_RATE = 1000.0  # [Hz]
SETTLING = 2  # periods left out after the ramp


@dataclass(frozen=True)
class Record:
    """Whole periods of one trajectory, with noise.

    Attributes
    ----------
    positions, forces : (N, n_a) [m, rad], [N, N m]
    delay : float
        Time from a position to the force of the same sample [s].
    limits_left : {limit: fraction}
    saturated : float
        Fraction of the samples with a force at its limit.
    """

    positions: Array
    forces: Array
    delay: float
    limits_left: dict[str, float]
    saturated: float


def record(
    model: Any, design: ExcitationDesign, runs: int, seed: Sequence[int], plant: str
) -> Record:
    """Return consecutive periods of a design, without those in which the motion settles.

    Parameters
    ----------
    plant : str
        `robot` or `noise`, see `run_designs`.
    """
    if plant == 'noise':
        return _noisy(model, design, runs, seed)
    recording = simulate(
        model,
        design.trajectory,
        runs + SETTLING,
        ramp_time=design.ramp_time,
        feedforward=nominal_feedforward(model),
        seed=int(np.random.default_rng(seed).integers(2**31)),
    )
    arrays = measured_arrays(recording, model, design.period)
    settled = slice(SETTLING * round(design.period * SAMPLING_RATE), None)
    forces = arrays.get('efforts')
    if forces is None:
        forces = arrays['currents'] * arrays['force_constants']
    return Record(
        arrays['positions'][settled],
        forces[settled],
        float(arrays['effort_delay']),
        _limits_left(model, recording),
        float(recording.saturated.any(axis=1).mean()),
    )


def joined(records: Sequence[Record]) -> Record:
    """Return the records one after another; the worst of their limits."""
    limits = {
        name: min(part.limits_left[name] for part in records) for name in records[0].limits_left
    }
    return Record(
        np.concatenate([part.positions for part in records]),
        np.concatenate([part.forces for part in records]),
        records[0].delay,
        limits,
        float(np.mean([part.saturated for part in records])),
    )


def signals_of(model: Any, measured: Record, design: ExcitationDesign) -> Signals:
    """Return all periods, folded, with the noise from their spread [A]."""
    dataset = Recording.from_arrays(
        np.arange(len(measured.positions)) / SAMPLING_RATE,
        tuple(model.actuated_joints),
        measured.positions,
        efforts=measured.forces,
        effort_delay=measured.delay,
        period=design.period,
    )
    found = process(dataset.for_model(model), SignalOptions(method='fourier', skip_periods=0))
    assert isinstance(found, Signals)  # filtered ones alone may be too long for memory
    return found


def estimate_runs(model: Any, signals: Signals, chosen: Sequence[int]) -> dict[str, Array]:
    """Return the estimates (runs, n) of the chosen runs by estimator.

    The covariance of the noise and the number of harmonics are taken from all runs [A];
    everything else an estimator uses is of its own run.
    """
    found: dict[str, list[Array]] = {name: [] for name in ESTIMATORS}
    for run in chosen:
        problem = build_problem(signals.with_periods(np.arange(signals.averaged) == run), model)
        for name, solve in ESTIMATORS.items():
            found[name].append(solve(problem).values)
    return {name: np.array(values) for name, values in found.items()}


def executed_deviations(model: Any, signals: Signals) -> dict[str, Array]:
    """Return the standard deviations (n,) of one run, by estimator.

    They are those of the motion as executed, the mean of all runs, and of the noise that
    the estimators see: forces by the spread over the runs, positions through the
    accelerations, no information beyond the harmonics that are used.
    """
    problem = build_problem(signals, model)
    return {
        name: np.sqrt(np.diag(solve(problem).covariance) * signals.averaged)
        for name, solve in ESTIMATORS.items()
    }


def _noisy(model: Any, design: ExcitationDesign, periods: int, seed: Sequence[int]) -> Record:
    """Return periods of the exact motion and its forces, with the simulated robot's noise."""
    effects = PlantEffects.from_description(model.description)
    rng = np.random.default_rng(seed)
    samples = round(design.period * SAMPLING_RATE)
    motion = design.trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    positions, forces = model.actuator_states(motion).positions, model.inverse_dynamics(motion)
    return Record(*noisy_periods(positions, forces, periods, effects, rng), 0.0, {}, 0.0)


def _limits_left(model: Any, recording: Any) -> dict[str, float]:
    """Return the least distance to each limit of the plant, as a fraction of it."""
    positions = recording.truth_positions
    inside = np.minimum(positions - model.lower, model.upper - positions)
    return {
        'stroke': float((inside / (model.upper - model.lower)).min()),
        'velocity': float((1.0 - np.abs(recording.truth_velocities) / model.velocity_limit).min()),
        'force': float((1.0 - np.abs(recording.truth_forces) / model.force_limit).min()),
    }
