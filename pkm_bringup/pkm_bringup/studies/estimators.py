"""Least squares, Gauss-Markov and maximum likelihood on noisy positions [A Table III].

One robot runs the same excitation many times, with other noise each time. What the
estimators make of it is compared with the true parameters: how far off, whether on the
same side each time (bias), and whether the reported standard deviations are the spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pkm_bringup.offline import dataset_of, effects_of, measured_arrays, simulate
from pkm_bringup.studies.noise_plant import noisy_periods
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_bringup.studies.servo_plant import under_servo
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory, benchmark_circle
from pkm_identification.datasets import Recording
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.solution import solve_problem
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.signals import PeriodicDiagnostics

Array = NDArray[np.float64]

ESTIMATORS = ('ls', 'gauss_markov', 'tls', 'maximum_likelihood')
BEST = 'maximum_likelihood'  # or the last of the estimators
OPTIONS = {'output_error': {'feedforward': 'nominal'}}  # what the servo adds here
SAMPLING_RATE = 1000.0  # [Hz]
SETTLING = 2  # periods of a simulated robot left out after the ramp
WELL_DETERMINED = 0.15  # relative standard deviation [M 5.3]
SIGNIFICANCE = 0.01
HELD_OUT = 500  # samples of the motion that errors of the parameters are judged by


@dataclass(frozen=True)
class Estimates:
    """What one estimator found in all runs.

    Attributes
    ----------
    values, deviations
        Parameters (runs, n) and the standard deviations reported with them.
    """

    values: Array
    deviations: Array


@dataclass(frozen=True)
class Study:
    """All runs with one level of position noise.

    Attributes
    ----------
    names, truth
        Base parameters (n,) of the plant.
    position_noise
        Mean standard deviation of a measured position [m, rad].
    harmonics
        Median number of harmonics in which the motion was known.
    estimates
        By estimator.
    force_root
        R (n, n): |R (p - p_true)| is the root mean square error [N, N m] of the forces of
        another motion, see `force_root`.
    """

    names: list[str]
    truth: Array
    position_noise: float
    harmonics: float
    estimates: dict[str, Estimates]
    force_root: Array


def run_study(
    description: Any,
    plant: str = 'noise',
    runs: int = 30,
    periods: int = 10,
    scale: float = 1.0,
    seed: int = 0,
    estimators: Sequence[str] = ESTIMATORS,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> Study:
    """Identify many runs of the excitation that is shipped for a robot.

    Parameters
    ----------
    description
        Of the robot.
    plant : 'noise', 'servo' or 'robot'
        `noise`: the exact motion and its forces, with noise added to both. `servo`: the same
        of the motion that the robot settles to under its servo. `robot`:
        simulated under control, where the servo makes motion and forces of its sensors'
        noise; without the effects that the model does not have.
    runs, periods
        Seeds, and periods averaged in each.
    scale
        Position noise in units of that of the description.
    seed, workers
        Of the first run; processes, see `over_seeds`.
    """
    model = ClosedChainModel(description)
    base = model.base_parameters(shared=True, reduced=True)
    noise = plant_effects(description, scale)
    one = partial(_run, model, plant, periods, scale, tuple(estimators))
    found = over_seeds(one, runs, seed, workers, update, f'position noise x {scale:g}: ')
    estimates = {
        name: Estimates(
            np.array([each[name][0] for each, _ in found]),
            np.array([each[name][1] for each, _ in found]),
        )
        for name in estimators
    }
    return Study(
        list(base.names),
        np.asarray(base.matrix @ model.nominal_parameters),
        float(np.sqrt(np.mean(np.diag(noise.position_covariance)))),
        float(np.median([kept for _, kept in found])),
        estimates,
        force_root(model, base),
    )


def force_root(model: Any, base: Any) -> Array:
    """R (n, n) with |R dp| the root mean square of the forces that parameters dp make.

    Along the benchmark circle [A V]; random motions where a robot cannot run it.
    """
    if model.platform_determines_joints:
        circle = benchmark_circle(model)
        motion = circle.motion(np.linspace(0.0, circle.duration, HELD_OUT), model)
    else:
        motion = random_motion(model, HELD_OUT, seed=1)
    rows = base.regressor(motion).reshape(-1, len(base.names))
    return np.asarray(np.linalg.qr(rows, mode='r')) / np.sqrt(len(rows))


def plant_effects(description: Any, scale: float) -> PlantEffects:
    """Return what the plant has beyond the model: noise, positions' scaled.

    Raises
    ------
    EstimationError
        The robot declares no noise of both.
    """
    effects = effects_of(description, 'modelled')
    for covariance, name in (
        (effects.force_covariance, 'force_noise'),
        (effects.position_covariance, 'position_noise'),
    ):
        if np.linalg.eigvalsh(covariance)[0] <= 0.0:
            raise EstimationError(
                f"robot '{description.name}' declares no simulation.{name} for each of its "
                'drives: there is nothing to compare'
            )
    return replace(effects, position_covariance=effects.position_covariance * scale**2)


def _run(
    model: Any, plant: str, periods: int, scale: float, estimators: tuple[str, ...], seed: int
) -> tuple[dict[str, tuple[Array, Array]], int]:
    """Estimates of one run, and the number of its harmonics."""
    trajectory = load_excitation(model.description.name)
    effects = plant_effects(model.description, scale)
    record = {'robot': _simulated, 'servo': under_servo, 'noise': _noisy}[plant]
    dataset = record(model, trajectory, periods, effects, seed)
    options = SignalOptions(method='fourier', skip_periods=SETTLING if plant == 'robot' else 0)
    signals = process(dataset.for_model(model), options)
    problem = build_problem(signals, model)
    found = {}
    for name in estimators:
        # as `identify`, with its covariance
        solution = solve_problem(problem, name, OPTIONS.get(name, {}))
        found[name] = solution.values, np.sqrt(np.diag(solution.covariance))
    assert isinstance(signals.diagnostics, PeriodicDiagnostics)
    return found, signals.diagnostics.kept_harmonics


def _noisy(
    model: Any, trajectory: Trajectory, periods: int, effects: PlantEffects, seed: int
) -> Recording:
    """Periods of the exact motion and its forces, with noise."""
    assert trajectory.period is not None
    rng = np.random.default_rng(seed)
    samples = round(trajectory.period * SAMPLING_RATE)
    motion = trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    positions, forces = model.actuator_states(motion).positions, model.inverse_dynamics(motion)
    return Recording.from_arrays(
        np.arange(periods * samples) / SAMPLING_RATE,
        tuple(model.actuated_joints),
        *noisy_periods(positions, forces, periods, effects, rng),
        period=trajectory.period,
    )


def _simulated(
    model: Any, trajectory: Trajectory, periods: int, effects: PlantEffects, seed: int
) -> Recording:
    """Periods of the robot under control."""
    assert trajectory.period is not None
    recording = simulate(
        model,
        trajectory,
        periods + SETTLING,
        effects=effects,
        feedforward=nominal_feedforward(model),
        seed=seed,
    )
    dataset = dataset_of(measured_arrays(recording, model, trajectory.period))
    return replace(dataset, provenance={'metadata': {'trajectory': trajectory.to_dict()}})


def report(study: Study) -> dict[str, Any]:
    """Return figures of each estimator, and paired tests between neighbours.

    Errors of a run: `error` is the root mean square over the parameters in one common unit
    for each, the standard deviation of the best estimator; `relative_error` the mean relative
    error [M 34] of the parameters that it determines within 15 %; `force_error` the root mean
    square [N, N m] of what the errors of the parameters make of the forces of another motion,
    which needs no unit of the parameters. `bias`: the mean over all runs in standard
    deviations of one, its largest Student's t over the parameters with its p-value after
    Bonferroni, and in how many parameters it is significant at 1 % by itself.
    """
    best = BEST if BEST in study.estimates else list(study.estimates)[-1]
    unit = np.sqrt(np.mean(study.estimates[best].deviations ** 2, axis=0))
    well = unit < WELL_DETERMINED * np.abs(study.truth)
    errors = {}
    content: dict[str, Any] = {
        'parameters': study.names,
        'truth': study.truth.tolist(),
        'position_noise': study.position_noise,
        'harmonics': study.harmonics,
        'well_determined': [name for name, good in zip(study.names, well, strict=True) if good],
        'runs': len(study.estimates[best].values),
    }
    for name, found in study.estimates.items():
        off = found.values - study.truth
        errors[name] = {
            'error': np.sqrt(np.mean((off / unit) ** 2, axis=1)),
            'relative_error': np.mean(np.abs(off[:, well] / study.truth[well]), axis=1),
            'force_error': np.linalg.norm(off @ study.force_root.T, axis=1),
        }
        content[name] = {
            **{key: float(np.mean(values)) for key, values in errors[name].items()},
            **_bias(off, unit),
            'reported_to_observed': float(
                np.median(
                    np.sqrt(np.mean(found.deviations**2, axis=0)) / found.values.std(axis=0, ddof=1)
                )
            ),
        }
    content['paired'] = {
        f'{better} below {worse}': {
            key: _paired(errors[worse][key], errors[better][key]) for key in errors[better]
        }
        for worse, better in (('ls', 'gauss_markov'), ('gauss_markov', best), ('ls', best))
        if worse in errors and better in errors and worse != better
    }
    return content


def _bias(off: Array, unit: Array) -> dict[str, Any]:
    runs, size = off.shape
    mean, spread = off.mean(axis=0), off.std(axis=0, ddof=1) / np.sqrt(runs)
    student = np.abs(mean) / spread
    p_values = 2 * stats.t.sf(student, runs - 1)
    return {
        'bias': (mean / unit).tolist(),
        'bias_t': (mean / spread).tolist(),
        'largest_bias_t': float(student.max()),
        'bias_p': float(min(1.0, size * p_values.min())),
        'biased_parameters': int(np.sum(p_values < SIGNIFICANCE)),
    }


def _paired(worse: Array, better: Array) -> dict[str, float | int]:
    """Mean decrease of an error, run by run, its one-sided p-value, runs with a decrease."""
    decrease = worse - better
    return {
        'decrease': float(np.mean(decrease)),
        'share': float(np.mean(decrease) / np.mean(worse)),
        'p': float(stats.ttest_rel(worse, better, alternative='greater').pvalue),
        'runs': int(np.sum(decrease > 0)),
    }
