"""Many runs of one motion, identified one by one, and the deviations that they should have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_bringup.studies.runs.plants import (
    SAMPLING_RATE,
    dataset,
    exact_forces,
    noisy_effects,
    noisy_periods,
    sampled_period,
    simulated,
)
from pkm_control.closed_loop import ClosedLoopRecording
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import gauss_markov, ls
from pkm_identification.excitation.search.criteria import figures
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, Signals, process

ESTIMATORS = {'gauss_markov': gauss_markov, 'ls': ls}


@dataclass(frozen=True)
class Record:
    """Whole settled periods of one motion, with noise.

    `limits_left` is the least distance to each limit that the plant kept, as a fraction of it,
    over approach, ramps and all runs; empty where no plant moved.
    """

    positions: Array  # (N, n_a) [m, rad]
    forces: Array  # (N, n_a) [N, N m]
    delay: float  # [s] from a position to the force of the same sample
    limits_left: Mapping[str, float]
    saturated: float  # fraction of the samples with a force at its limit


def record(
    model: ClosedChainModel,
    trajectory: Trajectory,
    ramp_time: float,
    runs: int,
    seed: Sequence[int],
    plant: str,
) -> Record:
    """Return consecutive periods of a motion on a plant, `robot` or `noise` (see `plants`)."""
    if plant == 'noise':
        effects = PlantEffects.from_description(model.description)
        random = np.random.default_rng(seed)
        motion, forces = exact_forces(model, trajectory)
        positions = model.actuator_states(motion).positions
        return Record(*noisy_periods(positions, forces, runs, effects, random), 0.0, {}, 0.0)
    drawn = int(np.random.default_rng(seed).integers(2**31))
    arrays, recording = simulated(model, trajectory, runs, drawn, ramp_time=ramp_time)
    measured = arrays.get('efforts')
    if measured is None:
        measured = arrays['currents'] * arrays['force_constants']
    limits, saturated = _limits_left(model, recording), recording.saturated.any(axis=1).mean()
    # full speed begins between two samples, elsewhere in every recording
    late = float(recording.trajectory_time[recording.running][0]) * SAMPLING_RATE
    positions, forces = (in_phase(signal, late) for signal in (arrays['positions'], measured))
    delay = float(arrays['effort_delay'])
    return Record(positions, forces, delay, limits, float(saturated))


def in_phase(signal: Array, late: float) -> Array:
    """Return whole periods of a signal (N, n), sampled `late` samples too late, as in phase."""
    frequencies = np.fft.rfftfreq(len(signal))
    turned = np.fft.rfft(signal, axis=0) * np.exp(-2j * np.pi * frequencies * late)[:, None]
    return np.asarray(np.fft.irfft(turned, len(signal), axis=0))


def _limits_left(model: ClosedChainModel, recording: ClosedLoopRecording) -> dict[str, float]:
    positions = recording.truth_positions
    inside = np.minimum(positions - model.lower, model.upper - positions)
    return {
        'stroke': float((inside / (model.upper - model.lower)).min()),
        'velocity': float((1.0 - np.abs(recording.truth_velocities) / model.velocity_limit).min()),
        'force': float((1.0 - np.abs(recording.truth_forces) / model.force_limit).min()),
    }


def joined(records: Sequence[Mapping[str, Any]]) -> Record:
    """Return records, given as plain values, one after another; the worst of their limits."""
    each = {key: [record[key] for record in records] for key in records[0]}
    limits = {
        name: min(left[name] for left in each['limits_left']) for name in each['limits_left'][0]
    }
    positions, forces = (np.concatenate(each[key]) for key in ('positions', 'forces'))
    return Record(positions, forces, each['delay'][0], limits, float(np.mean(each['saturated'])))


def signals_of(model: ClosedChainModel, measured: Record, period: float) -> Signals:
    """Return all periods, folded, with the noise from their spread [A]."""
    time = np.arange(len(measured.positions)) / SAMPLING_RATE
    forces = {'efforts': measured.forces, 'effort_delay': measured.delay}
    data = dataset(model, time, measured.positions, period, **forces)
    found = process(data.for_model(model), SignalOptions(method='fourier', skip_periods=0))
    assert isinstance(found, Signals)  # filtered ones alone may be too long for memory
    return found


def estimate_runs(
    model: ClosedChainModel, signals: Signals, chosen: Sequence[int]
) -> dict[str, Array]:
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


def executed_deviations(model: ClosedChainModel, signals: Signals) -> dict[str, Array]:
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


@dataclass(frozen=True)
class Information:
    """What one period of the exact motion tells, all samples used, with force noise alone.

    `deviations` (n,) by estimator. Gauss-Markov: roots of the diagonal of F^-1,
    F = sum Psi^T S^-1 Psi with S the covariance of the noise. Least squares: of
    H (sum Psi^T S Psi) H, with H = (sum Psi^T Psi)^-1. `figures`: see `criteria.figures`, of F;
    the condition numbers are those of Psi itself.
    """

    deviations: dict[str, Array]
    figures: dict[str, float]


def force_noise(model: ClosedChainModel) -> Array:
    """Return the covariance (n_a, n_a) [N^2] of the simulated robot's force noise."""
    return noisy_effects(model.description, needed=('force',)).force_covariance


def predict(model: ClosedChainModel, trajectory: Trajectory) -> Information:
    """Return what one period of a motion tells about the base parameters."""
    base = model.base_parameters(shared=True, reduced=True)
    psi = base.regressor(sampled_period(model, trajectory)[1])
    noise = force_noise(model)
    whitening = np.linalg.inv(np.linalg.cholesky(noise))
    plain = psi.reshape(-1, psi.shape[-1])
    white = (whitening @ psi).reshape(plain.shape)
    # H Psi^T = pinv(Psi), whose rows are long where Psi hardly shows a parameter
    spread = _inverse(plain).reshape(-1, *psi.shape[:2])
    found = {
        'ls': np.sqrt(np.einsum('nka,ab,nkb->n', spread, noise, spread, optimize=True)),
        'gauss_markov': np.linalg.norm(_inverse(white), axis=1),
    }
    conditions = ('condition_number', 'condition_number_scaled')
    return Information(found, figures(white) | {key: figures(plain)[key] for key in conditions})


def _inverse(rows: Array) -> Array:
    """Return the pseudo-inverse (n, m) of full rank, columns scaled first."""
    scale = np.linalg.norm(rows, axis=0)
    return np.asarray(np.linalg.pinv(rows / scale) / scale[:, None])
