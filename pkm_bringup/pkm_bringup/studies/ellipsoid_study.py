"""Set membership: what bounded errors guarantee, and a robot under control [P].

First on exact motions with errors of three kinds on the forces that never leave their bounds:
the set must hold the true parameters, and the forces that it allows must hold the true ones of
another motion, every time. Then on a robot under control, with bounds in per cent of its
largest forces [P IV.B].
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import dataset_of, effects_of
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, runs
from pkm_bringup.studies.runs.ellipsoid_forms import compare_forms
from pkm_bringup.studies.runs.plants import (
    dataset,
    excitation_of,
    model_of,
    sampled_period,
    simulated,
)
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.estimators.set_membership.consistent_strips import scaled
from pkm_identification.estimators.set_membership.error_bounds import strips_of
from pkm_identification.estimators.set_membership.parameter_ellipsoid import (
    EllipsoidDiagnostics,
    ellipsoid,
)
from pkm_identification.option import POSITIVE, Option
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.bands import FilterBand

ERRORS = ('uniform', 'two values', 'drift')
USES = ('mean', 'each')  # bounds of the mean period, or of each sample
PERIODS = 4  # of a run with bounded errors
HELD_OUT = ('circle', 'point_to_point', 'sine_all')  # presets; the first that the robot has
HELD_OUT_SAMPLES = 500
ON_SURFACE = 1e-9  # relative rounding of a truth that lies on the surface of its set
TOLD = ('strips', 'outliers', 'outlier_share', 'passes')  # of the estimator's diagnostics
NACELLE = {'M_nac': 'platform.m', 'I_bc': 'platform.Izz'}  # names of [P], and of base parameters
SMALLEST = 1e-12  # [SI units] of a parameter's magnitude, so that zeros have a relative width


def held_out(model: ClosedChainModel) -> Trajectory:
    """Return the motion that is predicted: of the presets of the robot."""
    names = [name for name in HELD_OUT if name in preset_names(model)]
    if not names:
        raise EstimationError(
            f"robot '{model.description.name}' has none of the presets {', '.join(HELD_OUT)}"
        )
    return preset(model, names[0])


class Motion(NamedTuple):
    """One period of the exact motion, and another motion to predict."""

    interval: float  # [s]
    positions: Array  # (n, n_a)
    forces: Array  # (n, n_a)
    regressor: Array  # (k, n_a, r) of the other motion
    held_out: Array  # (k, n_a) its forces


@lru_cache(maxsize=1)
def exact_motion(robot: str) -> Motion:
    """Return the shipped excitation on whole samples, and the motion that is predicted."""
    model = model_of(robot)
    time, motion = sampled_period(model, excitation_of(model))
    other = held_out(model)
    end = other.duration if other.period is None else other.period
    test = other.motion(np.linspace(0.0, end, HELD_OUT_SAMPLES), model)
    regressor = model.base_parameters(shared=True, reduced=True).regressor(test)
    positions, forces = model.actuator_states(motion).positions, model.inverse_dynamics(motion)
    return Motion(float(time[1]), positions, forces, regressor, model.inverse_dynamics(test))


def bounded_noise(kind: str, samples: int, axes: int, random: np.random.Generator) -> Array:
    """Errors (samples, axes) of magnitude 1 at most: uniform, +-1, or a slow drift."""
    if kind == 'uniform':
        return random.uniform(-1, 1, (samples, axes))
    if kind == 'two values':
        return random.choice([-1.0, 1.0], (samples, axes))
    phase = random.uniform(0, 2 * np.pi, axes)
    cycles = random.uniform(0.1, 1.0, axes) * np.arange(samples)[:, None] / samples
    return np.sin(2 * np.pi * cycles + phase)


def one_run(bound: float, robot: str, seed: int) -> dict[str, dict[str, float]]:
    """Figures of one recording whose errors never leave their bounds, by use of the periods.

    `bound` is the largest error [% of the actuator's largest force]; the kinds of errors take
    turns with the seed.
    """
    model, motion = model_of(robot), exact_motion(robot)
    limits = 0.01 * bound * np.asarray(model.force_limit)
    samples, axes = motion.forces.shape
    random = np.random.default_rng(seed)
    noise = bounded_noise(ERRORS[seed % len(ERRORS)], PERIODS * samples, axes, random)
    time, period = motion.interval * np.arange(PERIODS * samples), motion.interval * samples
    positions, forces = (np.tile(each, (PERIODS, 1)) for each in (motion.positions, motion.forces))
    data = dataset(model, time, positions, period, efforts=forces + limits * noise)
    problem = build_problem(process(data.for_model(model)), model)
    return {use: _figures(problem, motion, limits, use) for use in USES}


def _figures(problem: Problem, motion: Motion, limits: Array, use: str) -> dict[str, float]:
    solution = ellipsoid(problem, limits.tolist(), 'force', periods=use)
    found = _set_of(problem, solution)
    half = found.force_half_widths(motion.regressor)
    off = np.abs(motion.held_out - motion.regressor @ found.centre)
    size = np.maximum(np.abs(problem.all_nominal), SMALLEST)
    return {
        'distance': found.distance(problem.all_nominal),
        'forces_inside': float(np.mean(off <= half * (1 + ON_SURFACE))),
        'relative_half_width': float(np.median(found.half_widths / size)),
        'force_half_range': float(np.median(half / limits)),
        'outliers': solution.diagnostics.outliers,
        'passes': solution.diagnostics.passes,
    }


def _set_of(problem: Problem, solution: Estimate) -> GuaranteedSet:
    assert solution.guaranteed_root is not None
    return GuaranteedSet(problem.expand(solution.values), solution.guaranteed_root, problem.free)


def summary(found: Sequence[Mapping[str, Any]], use: str) -> dict[str, Any]:
    """Return the figures of all runs with one use of the periods; distance 1: on the surface."""
    of = {name: np.array([each[use][name] for each in found]) for name in found[0][use]}
    medians = ('relative_half_width', 'force_half_range', 'passes')
    return {
        'inside': int(np.sum(of['distance'] <= 1 + ON_SURFACE)),
        'largest_distance': of['distance'].max(),
        'forces_inside': of['forces_inside'].mean(),
        'outliers': int(of['outliers'].sum()),
        **{name: np.median(of[name]) for name in medians},
    }


def controlled_run(bounds: Sequence[float], periods: int, robot: str, seed: int) -> dict[str, Any]:
    """Identify the robot under control with bounds in per cent of its largest forces [P IV].

    Velocities and accelerations by the zero-phase filter, forces filtered alike and bounded
    after it, as there; no average over periods. One case a bound: outliers, det M^-1, centre and
    intervals of the set, how both forms of the update agree, and what of another run lies in the
    predicted bounds: noise-free and filtered measured forces in those of the set [P eq. 37,
    Fig. 4], the latter also in those and the bound of the errors.
    """
    model = model_of(robot)
    problem, _ = _rows_under_control(model, excitation_of(model), periods, seed)
    other = held_out(model)
    again = periods if other.period is not None else 1
    test, noise_free = _rows_under_control(model, other, again, seed + 1)
    rows = test.runs[0].rows
    cases = []
    for bound in bounds:
        solution = ellipsoid(problem, bound, 'limit', bound_at='rows')
        found, figures = _set_of(problem, solution), solution.diagnostics
        half = found.force_half_widths(rows.regressor)
        forces = rows.regressor @ found.centre
        width = 0.01 * bound * np.asarray(model.force_limit)
        off, missed = np.abs(rows.forces - forces), np.abs(noise_free - forces)
        cases.append(
            {
                'bound': bound,
                **{name: getattr(figures, name) for name in TOLD},
                'determinant': float(np.exp(found.log_determinant)),
                'centre': found.centre,
                'half_widths': found.half_widths,
                'distance_of_truth': found.distance(problem.all_nominal),
                'truth_in_intervals': _inside(found, problem.all_nominal),
                'nominal_in_intervals': _inside(found, design_values(model, problem.base.names)),
                'noise_free_inside': float(np.mean(missed <= half)),
                'measured_inside': float(np.mean(off <= half + width)),
                'measured_in_set': np.mean(off <= half, axis=0),
                'force_half_range': np.median(half, axis=0),
                'forms': _forms(problem, width, figures),
            }
        )
    names = problem.base.names
    base = {'parameters': list(names), 'units': list(problem.base.units)}
    content = {'robot': model.description.name, 'periods': periods, 'seed': seed, **base}
    known = [None if np.isnan(value) else float(value) for value in design_values(model, names)]
    return content | {'truth': problem.all_nominal, 'nominal': known, 'cases': cases}


def design_values(model: ClosedChainModel, names: Sequence[str]) -> Array:
    """Values (r,) that a design has by the notes of a robot [P Table I], else nan."""
    told = model.description.sidecar.get('notes', {}).get('a_priori', {})
    motors = [f'{joint}.rotor' for joint in model.actuated_joints]
    known = dict(zip(motors, told.get('I_mot', ()), strict=False))
    known |= {name: told[key] for key, name in NACELLE.items() if key in told}
    return np.array([known.get(name, np.nan) for name in names])


def _inside(found: GuaranteedSet, values: Array) -> int:
    """Return how many values (r,) lie in the intervals of their parameters; nan in none."""
    return int(np.sum(np.abs(values - found.centre) <= found.half_widths))


def _forms(problem: Problem, width: Array, figures: EllipsoidDiagnostics) -> list[dict[str, Any]]:
    """Take the strips of a run in by both forms, from the start of the estimator."""
    (strips,) = strips_of(problem, [width], 'mean')
    parts = list(scaled(strips, problem.nominal, figures.start.radius))
    rows, middles = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return compare_forms(rows, middles)


def _rows_under_control(
    model: ClosedChainModel, trajectory: Trajectory, periods: int, seed: int
) -> tuple[Problem, Array]:
    """Rows of a simulated run, and its noise-free forces (m, n_a) filtered alike."""
    effects = effects_of(model.description, 'all')
    arrays, _ = simulated(model, trajectory, periods, seed, effects, settling=0)
    data = dataset_of(arrays).for_model(model)
    signals = process(data, SignalOptions(method='filter'))
    assert isinstance(signals.band, FilterBand)
    chosen = SignalOptions(method='filter', cutoff=signals.band.cutoff)
    exact = {'time': data.time, 'joint_names': data.joint_names, 'positions': data.positions}
    exact |= {'efforts': arrays['truth_forces'], 'effort_delay': data.effort_delay}
    noise_free = build_problem(process(dataset_of(exact).for_model(model), chosen), model)
    return build_problem(signals, model), noise_free.forces


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run both parts."""
    held_out(model_of(options.robot))
    bound = options.bounds[0]
    told, case = 'bounded errors: run', {'robot': options.robot, 'seed': options.seed}
    found = runner.map_seeds(partial(one_run, bound), options, told, 'bounded', robot=options.robot)
    one = partial(controlled_run, options.bounds, options.periods)
    (controlled,) = runner.map(one, [case], 'under control: run', 'controlled')
    bounded = {'runs': options.runs, 'bound': bound, 'periods': PERIODS, 'errors': list(ERRORS)}
    bounded |= {use: summary(found, use) for use in USES}
    return {'bounded_errors': bounded, 'controlled_robot': controlled}


STUDY = Study(
    'ellipsoid',
    'set membership: truth and forces inside for bounded errors, outliers under control',
    'Errors are uniform, plus or minus the bound, or a slow drift, in turn. Under control the '
    'robot has all its effects, and the filtered forces are bounded by per cent of the largest '
    'ones [P].',
    (
        robot('h4'),
        Option(
            'bounds',
            POSITIVE,
            "largest errors, shares of the actuator's largest force [percent], the first for the "
            'runs with bounded errors, all under control',
            [5.0, 15.0],
            nargs='+',
            metavar='PERCENT',
        ),
        Option('periods', COUNT, 'under control', 20, '1'),
        *runs(200, 'with bounded errors'),
    ),
    run,
)
