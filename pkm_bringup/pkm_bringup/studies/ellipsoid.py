"""Set membership on exact motions: what truly bounded errors guarantee [P].

Errors of three kinds on the forces of the exact motion: the set must hold the true
parameters, and the forces that it allows must hold the true ones of another motion, every
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.ellipsoid_robot import held_out
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.datasets import Recording
from pkm_identification.estimators.set_membership.parameter_ellipsoid import ellipsoid
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.signals import process

Array = NDArray[np.float64]

SAMPLING_RATE = 1000.0  # [Hz]
ERRORS = ('uniform', 'two values', 'drift')
PERIODS = ('mean', 'each')
HELD_OUT_SAMPLES = 500
ROUNDING = 1e-9


@dataclass(frozen=True)
class ExactMotions:
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
    other: Trajectory | None = None,
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
    seed, workers
        Of the first run; processes, see `over_seeds`.
    other
        Motion whose forces are predicted; `held_out` of the robot by default.

    Returns
    -------
    dict
        By use of the periods: in how many runs the truth was inside, the share of the
        noise-free forces of another motion inside their bounds, the largest distance of
        the truth from the centre (1 on the surface), the median half-width of the set over
        the parameters' magnitudes, and outliers.
    """
    recording = _exact(model, held_out(model) if other is None else other)
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


def _exact(model: Any, other: Trajectory) -> ExactMotions:
    """The shipped excitation on whole samples, and the motion that is predicted."""
    trajectory = load_excitation(model.description.name)
    assert trajectory.period is not None
    count = round(trajectory.period * SAMPLING_RATE)
    interval = trajectory.period / count
    motion = trajectory.motion(interval * np.arange(count), model)
    end = other.duration if other.period is None else other.period
    test = other.motion(np.linspace(0.0, end, HELD_OUT_SAMPLES), model)
    base = model.base_parameters(shared=True, reduced=True)
    return ExactMotions(
        interval,
        model.actuator_states(motion).positions,
        model.inverse_dynamics(motion),
        base.regressor(test),
        model.inverse_dynamics(test),
    )


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
    model: Any, recording: ExactMotions, limits: Array, periods: int, seed: int
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    count, axes = recording.forces.shape
    noise = bounded_noise(ERRORS[seed % len(ERRORS)], periods * count, axes, rng)
    dataset = Recording.from_arrays(
        recording.interval * np.arange(periods * count),
        tuple(model.actuated_joints),
        np.tile(recording.positions, (periods, 1)),
        np.tile(recording.forces, (periods, 1)) + limits * noise,
        period=recording.interval * count,
    )
    problem = build_problem(process(dataset.for_model(model)), model)
    return {use: _figures(problem, recording, limits, use) for use in PERIODS}


def _figures(
    problem: Problem, recording: ExactMotions, limits: Array, use: str
) -> dict[str, float]:
    found = ellipsoid(problem, limits.tolist(), 'force', periods=use)
    assert found.guaranteed_root is not None
    guaranteed = GuaranteedSet(problem.expand(found.values), found.guaranteed_root, problem.free)
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
