"""Deterministic against statistical design of an excitation [A IV.C].

Two trajectories are optimised from the same start: T_d for the condition number of the
regressor, T_s for the volume of the confidence ellipsoid (d-optimal). Both are run many
times on the simulated robot with its correlated noise, each run is identified on its own,
and the spread of the estimates is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pkm_bringup.offline import measured_arrays, simulate
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects
from pkm_identification.datasets import Dataset
from pkm_identification.estimators.linear import gauss_markov, ls
from pkm_identification.estimators.problem import build_problem
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.design import build_design_problem, suggested_period
from pkm_identification.excitation.starts import random_start
from pkm_identification.signals import SignalOptions, process

Array = NDArray[np.float64]
Update = Callable[[str, float | None], None]

CRITERIA = {'T_d': 'condition_number', 'T_s': 'd_optimal'}
ESTIMATORS = {'ls': ls, 'gauss_markov': gauss_markov}
PLANTS = ('robot', 'noise')
SAMPLING_RATE = 1000.0  # [Hz]
SETTLING = 2  # periods left out after the ramp
CANDIDATES = 5


@dataclass(frozen=True)
class Runs:
    """What many runs of one trajectory gave.

    Attributes
    ----------
    name : str
        T_d or T_s.
    design : ExcitationDesign
    estimates : {estimator: (runs, n)}
        One row a run.
    predicted : {estimator: (n,)}
        Standard deviations that the motion as designed and the covariance of the noise
        lead to.
    limits_left : {limit: fraction}
        Least distance to each limit that the plant kept, of the limit, over approach,
        ramps and all runs; empty where no plant moved.
    saturated : float
        Fraction of the samples with a force at its limit.
    """

    name: str
    design: ExcitationDesign
    estimates: dict[str, Array]
    predicted: dict[str, Array]
    limits_left: dict[str, float]
    saturated: float


def design_pair(
    model: Any,
    harmonics: int = 5,
    period: float | None = None,
    iterations: int = 150,
    seed: int = 0,
    update: Update = lambda text, fraction: None,
) -> dict[str, ExcitationDesign]:
    """Design T_d and T_s from one random feasible start, for the simulated robot's noise.

    Both have the same period, a whole number of milliseconds, so that a run of either has
    as many samples.
    """
    noise = force_noise(model)
    base = model.base_parameters(shared=True, reduced=True)
    period = suggested_period(model, harmonics) if period is None else period
    period = round(period * SAMPLING_RATE) / SAMPLING_RATE
    problem = build_design_problem(
        model, base, {'d_optimal': 1.0}, harmonics, period, DesignLimits(), noise_covariance=noise
    )
    z, _ = random_start(problem, CANDIDATES, np.random.default_rng(seed))
    start = problem.trajectory(z)
    designs = {}
    for name, criterion in CRITERIA.items():
        designs[name] = design_excitation(
            model,
            criterion,
            harmonics,
            period,
            noise_covariance=noise,
            initial=start,
            starts=0,
            iterations=iterations,
            workers=1,
            progress=lambda text, fraction, left, name=name: update(f'{name}: {text}', fraction),  # type: ignore[misc]
        )
    return designs


def force_noise(model: Any) -> Array:
    """Return the covariance (n_a, n_a) [N^2] of the simulated robot's force noise."""
    covariance = PlantEffects.from_description(model.description).force_covariance
    if np.linalg.eigvalsh(covariance)[0] <= 0.0:
        raise EstimationError(
            f"robot '{model.description.name}' declares no force noise (simulation.force_noise) "
            'for each of its drives: there is nothing to compare'
        )
    return covariance


def run_designs(
    description: Any, designs: dict[str, ExcitationDesign], runs: int, seed: int, plant: str
) -> list[Runs]:
    """Run all designs, in processes of their own."""
    jobs = [
        delayed(run_many)(description, name, design, runs, [seed, index], plant)
        for index, (name, design) in enumerate(designs.items())
    ]
    return list(Parallel(n_jobs=-1 if plant == 'robot' else 1)(jobs))


def run_many(
    description: Any,
    name: str,
    design: ExcitationDesign,
    runs: int,
    seed: list[int],
    plant: str = 'robot',
) -> Runs:
    """Run one trajectory many times and identify each run on its own.

    Parameters
    ----------
    plant : 'robot' or 'noise'
        `robot`: the simulated robot under control with all its effects (friction with
        Stribeck, cogging, noise of forces and positions); the runs are consecutive
        periods, after `SETTLING` that are left out. `noise`: the exact motion and its
        nominal forces with the same noise added, which takes no time.
    """
    model = ClosedChainModel(description)
    limits_left: dict[str, float] = {}
    saturated = 0.0
    if plant == 'robot':
        recording = simulate(
            model,
            design.trajectory,
            runs + SETTLING,
            ramp_time=design.ramp_time,
            feedforward=nominal_feedforward(model),
            seed=int(np.random.default_rng(seed).integers(2**31)),
        )
        arrays = measured_arrays(recording, model, design.period)
        limits_left = _limits_left(model, recording)
        saturated = float(recording.saturated.any(axis=1).mean())
    else:
        arrays = _noisy(model, design, runs + SETTLING, seed)
    estimates = estimate_runs(model, arrays, design.period)
    return Runs(name, design, estimates, predicted(model, design), limits_left, saturated)


def estimate_runs(model: Any, arrays: dict[str, Any], period: float) -> dict[str, Array]:
    """Return the estimates (runs, n) of every run by itself, by estimator.

    The covariance of the noise is taken from the spread over all runs [A]; everything
    else an estimator uses is of its own run.
    """
    constants = dict(zip(model.actuated_joints, np.asarray(model.force_constants), strict=True))
    dataset = Dataset(
        arrays['time'],
        tuple(str(name) for name in arrays['joint_names']),
        arrays['positions'],
        efforts=arrays.get('efforts'),
        currents=arrays.get('currents'),
        effort_delay=arrays['effort_delay'],
        force_constants=constants if 'currents' in arrays else {},
        period=period,
    )
    options = SignalOptions(method='fourier', skip_periods=SETTLING)
    signals = process(dataset.for_model(model), options)
    found: dict[str, list[Array]] = {name: [] for name in ESTIMATORS}
    for run in range(signals.averaged):
        chosen = np.arange(signals.averaged) == run
        problem = build_problem(signals.with_periods(chosen), model)
        for name, solve in ESTIMATORS.items():
            found[name].append(solve(problem).values)
    return {name: np.array(values) for name, values in found.items()}


def predicted(model: Any, design: ExcitationDesign) -> dict[str, Array]:
    """Return the standard deviations (n,) of one run that the design leads to, by estimator.

    Gauss-Markov: roots of the diagonal of F^-1, the design's own figures. Least squares:
    H (sum Psi^T S Psi) H with H = (Psi^T Psi)^-1 and S the covariance of the noise.
    """
    base = model.base_parameters(shared=True, reduced=True)
    samples = round(design.period * SAMPLING_RATE)
    motion = design.trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    psi = base.regressor(motion)
    scale = np.linalg.norm(psi, axis=(0, 1))
    psi = psi / scale
    bread = np.linalg.inv(np.einsum('kan,kam->nm', psi, psi))
    meat = np.einsum('kan,ab,kbm->nm', psi, force_noise(model), psi, optimize=True)
    deviations = design.figures['standard_deviation']
    return {
        'ls': np.sqrt(np.diag(bread @ meat @ bread)) / scale,
        'gauss_markov': np.array([deviations[name] for name in base.names]),
    }


def _noisy(model: Any, design: ExcitationDesign, periods: int, seed: list[int]) -> dict[str, Any]:
    """Return periods of the exact motion and its forces, with the simulated robot's noise."""
    effects = PlantEffects.from_description(model.description)
    rng = np.random.default_rng(seed)
    samples = round(design.period * SAMPLING_RATE)
    motion = design.trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    positions = np.tile(model.actuator_states(motion).positions, (periods, 1))
    forces = np.tile(model.inverse_dynamics(motion), (periods, 1))
    zero = np.zeros(model.n_a)
    count = len(positions)
    return {
        'time': np.arange(count) / SAMPLING_RATE,
        'joint_names': np.array(model.actuated_joints),
        'positions': positions + rng.multivariate_normal(zero, effects.position_covariance, count),
        'efforts': forces + rng.multivariate_normal(zero, effects.force_covariance, count),
        'effort_delay': 0.0,
    }


def _limits_left(model: Any, recording: Any) -> dict[str, float]:
    """Return the least distance to each limit of the plant, as a fraction of it."""
    positions = recording.truth_positions
    inside = np.minimum(positions - model.lower, model.upper - positions)
    return {
        'stroke': float((inside / (model.upper - model.lower)).min()),
        'velocity': float((1.0 - np.abs(recording.truth_velocities) / model.velocity_limit).min()),
        'force': float((1.0 - np.abs(recording.truth_forces) / model.force_limit).min()),
    }
