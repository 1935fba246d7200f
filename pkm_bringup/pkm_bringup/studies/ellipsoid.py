"""Set membership on simulated robots: what bounds guarantee, and the case of [P].

First truly bounded errors of three kinds on the forces of the exact motion: the set must
hold the true parameters, and the forces that it allows must hold the true ones of another
motion, every time. Then the robot under control with all its effects, with bounds as in
[P] IV.B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.offline import effects_of, measured_arrays, simulate
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_control.feedforward import nominal_feedforward
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.datasets import Dataset
from pkm_identification.estimators.ellipsoid import ellipsoid
from pkm_identification.estimators.problem import Problem, build_problem
from pkm_identification.excitation.library import load_excitation
from pkm_identification.guaranteed_set import GuaranteedSet
from pkm_identification.signals import SignalOptions, process

Array = NDArray[np.float64]

SAMPLING_RATE = 1000.0  # [Hz]
ERRORS = ('uniform', 'two values', 'drift')
PERIODS = ('mean', 'each')
HELD_OUT = ('circle', 'point_to_point', 'sine_all')  # the first that the robot has
HELD_OUT_SAMPLES = 500
ROUNDING = 1e-9


@dataclass(frozen=True)
class Recording:
    """One period of the exact motion, and another motion to predict.

    Attributes
    ----------
    interval
        [s].
    positions, forces
        (n, n_a) of one period.
    regressor, held_out
        Base regressor (k, n_a, r) and forces (k, n_a) of the other motion.
    """

    interval: float
    positions: Array
    forces: Array
    regressor: Array
    held_out: Array


def bounded_errors(
    model: Any,
    runs: int = 200,
    bound: float = 5.0,
    periods: int = 4,
    seed: int = 0,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Identify many runs whose errors never leave their bounds.

    Parameters
    ----------
    model
        The mechanism; its shipped excitation is run.
    runs, periods
        Recordings, and periods in each. The kinds of errors take turns.
    bound
        Largest error [% of the actuator's largest force].
    seed
        Of the first run.

    Returns
    -------
    dict
        By use of the periods: in how many runs the truth was inside, the share of the
        noise-free forces of another motion inside their bounds, the largest distance of
        the truth from the centre (1 on the surface), the median half-width of the set over
        the parameters' magnitudes, and outliers.
    """
    recording = _exact(model)
    limits = 0.01 * bound * np.asarray(model.force_limit)
    one = partial(_bounded_run, model, recording, limits, periods)
    found = over_seeds(one, runs, seed, workers, update)
    return {
        'runs': runs,
        'bound': bound,
        'periods': periods,
        'errors': list(ERRORS),
        **{use: _summary([each[use] for each in found]) for use in PERIODS},
    }


def _summary(found: Sequence[dict[str, float]]) -> dict[str, float]:
    def of(name: str) -> Array:
        return np.array([each[name] for each in found])

    distance = of('distance')
    return {
        'inside': int(np.sum(distance <= 1 + ROUNDING)),
        'largest_distance': float(distance.max()),
        'forces_inside': float(of('forces_inside').mean()),
        'relative_half_width': float(np.median(of('relative_half_width'))),
        'force_half_range': float(np.median(of('force_half_range'))),
        'outliers': int(of('outliers').sum()),
        'passes': float(np.median(of('passes'))),
    }


def _exact(model: Any) -> Recording:
    """The shipped excitation on whole samples, and the motion that is predicted."""
    trajectory = load_excitation(model.description.name)
    assert trajectory.period is not None
    count = round(trajectory.period * SAMPLING_RATE)
    interval = trajectory.period / count
    motion = trajectory.motion(interval * np.arange(count), model)
    other = held_out(model)
    end = other.duration if other.period is None else other.period
    test = other.motion(np.linspace(0.0, end, HELD_OUT_SAMPLES), model)
    base = model.base_parameters(shared=True, reduced=True)
    return Recording(
        interval,
        model.actuator_states(motion).positions,
        model.inverse_dynamics(motion),
        base.regressor(test),
        model.inverse_dynamics(test),
    )


def held_out(model: Any) -> Trajectory:
    """Return the motion that is predicted: of the presets of the robot."""
    names = preset_names(model)
    return preset(model, next(name for name in HELD_OUT if name in names))


def bounded_noise(kind: str, count: int, axes: int, rng: np.random.Generator) -> Array:
    """Errors (count, axes) of magnitude 1 at most: uniform, +-1, or a slow drift."""
    if kind == 'uniform':
        return rng.uniform(-1, 1, (count, axes))
    if kind == 'two values':
        return rng.choice([-1.0, 1.0], (count, axes))
    phase = rng.uniform(0, 2 * np.pi, axes)
    cycles = rng.uniform(0.1, 1.0, axes) * np.arange(count)[:, None] / count
    return np.sin(2 * np.pi * cycles + phase)


def _bounded_run(
    model: Any, recording: Recording, limits: Array, periods: int, seed: int
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    count, axes = recording.forces.shape
    noise = bounded_noise(ERRORS[seed % len(ERRORS)], periods * count, axes, rng)
    dataset = Dataset(
        recording.interval * np.arange(periods * count),
        tuple(model.actuated_joints),
        np.tile(recording.positions, (periods, 1)),
        np.tile(recording.forces, (periods, 1)) + limits * noise,
        period=recording.interval * count,
    )
    problem = build_problem(process(dataset.for_model(model)), model)
    return {use: _figures(problem, recording, limits, use) for use in PERIODS}


def _figures(
    problem: Problem, recording: Recording, limits: Array, use: str
) -> dict[str, float]:
    found = ellipsoid(problem, limits.tolist(), 'force', periods=use)
    assert found.guaranteed_root is not None
    guaranteed = GuaranteedSet(
        problem.expand(found.values), found.guaranteed_root, problem.free
    )
    half = guaranteed.force_half_widths(recording.regressor)
    off = np.abs(recording.held_out - recording.regressor @ guaranteed.centre)
    size = np.maximum(np.abs(problem.all_nominal), 1e-12)
    return {
        'distance': guaranteed.distance(problem.all_nominal),
        'forces_inside': float(np.mean(off <= half * (1 + ROUNDING))),
        'relative_half_width': float(np.median(guaranteed.half_widths / size)),
        'force_half_range': float(np.median(half / limits)),
        'outliers': found.diagnostics['outliers'],
        'passes': found.diagnostics['passes'],
    }


def controlled_robot(
    model: Any,
    bounds: Sequence[float] = (5.0, 15.0),
    periods: int = 20,
    effects: PlantEffects | None = None,
    seed: int = 0,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Identify the robot under control with bounds in per cent of its largest forces [P IV].

    Velocities and accelerations by the zero-phase filter, forces filtered alike and bounded
    after it, as there; no average over periods.

    Returns
    -------
    dict
        One case a bound: outliers, det M^-1, centre and intervals of the set, and what
        of another run lies in the predicted bounds: noise-free forces in those of the set,
        filtered measured forces in those and the bound of the errors.
    """
    effects = effects_of(model.description, 'all') if effects is None else effects
    excitation = load_excitation(model.description.name)
    problem, _ = _run(model, excitation, periods, effects, seed, update)
    other = held_out(model)
    again = periods if other.period is not None else 1
    test, noise_free = _run(model, other, again, effects, seed + 1, update)
    rows = test.runs[0].rows
    cases = []
    for bound in bounds:
        update(f'bound {bound:g} %', None)
        found = ellipsoid(problem, bound, 'limit', bound_at='rows')
        assert found.guaranteed_root is not None
        guaranteed = GuaranteedSet(
            problem.expand(found.values), found.guaranteed_root, problem.free
        )
        half = guaranteed.force_half_widths(rows.regressor)
        forces = rows.regressor @ guaranteed.centre
        width = 0.01 * bound * np.asarray(model.force_limit)
        diagnostics = found.diagnostics
        cases.append(
            {
                'bound': bound,
                'strips': diagnostics['strips'],
                'outliers': diagnostics['outliers'],
                'outlier_share': diagnostics['outlier_share'],
                'determinant': float(np.exp(guaranteed.log_determinant)),
                'passes': diagnostics['passes'],
                'centre': guaranteed.centre.tolist(),
                'half_widths': guaranteed.half_widths.tolist(),
                'distance_of_truth': guaranteed.distance(problem.all_nominal),
                'noise_free_inside': float(np.mean(np.abs(noise_free - forces) <= half)),
                'measured_inside': float(np.mean(np.abs(rows.forces - forces) <= half + width)),
                'force_half_range': (np.median(half, axis=0)).tolist(),
            }
        )
    return {
        'robot': model.description.name,
        'periods': periods,
        'seed': seed,
        'parameters': list(problem.base.names),
        'units': list(problem.base.units),
        'truth': problem.all_nominal.tolist(),
        'cases': cases,
    }


def _run(
    model: Any, trajectory: Trajectory, periods: int, effects: PlantEffects, seed: int,
    update: Update,
) -> tuple[Problem, Array]:  # fmt: skip
    """Rows of a simulated run, and its noise-free forces (m, n_a) filtered alike."""
    recording = simulate(
        model,
        trajectory,
        periods,
        effects=effects,
        feedforward=nominal_feedforward(model),
        seed=seed,
        progress=update,
    )
    arrays = measured_arrays(recording, model, None)
    constants = dict(zip(model.actuated_joints, np.asarray(model.force_constants), strict=True))
    dataset = Dataset(
        arrays['time'],
        tuple(str(name) for name in arrays['joint_names']),
        arrays['positions'],
        efforts=arrays.get('efforts'),
        currents=arrays.get('currents'),
        effort_delay=arrays['effort_delay'],
        force_constants=constants if 'currents' in arrays else {},
    ).for_model(model)
    options = SignalOptions(method='filter')
    signals = process(dataset, options)
    chosen = SignalOptions(method='filter', cutoff=signals.diagnostics['cutoff'])
    clean = Dataset(
        dataset.time, dataset.joint_names, dataset.positions, arrays['truth_forces'],
        effort_delay=dataset.effort_delay,
    )  # fmt: skip
    noise_free = build_problem(process(clean.for_model(model), chosen), model)
    return build_problem(signals, model), noise_free.forces
