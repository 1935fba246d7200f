"""Physical bodies and nonlinear friction: what the limits cost and bring [M 4, Table 3].

Limits: the same excitation with more and more noise; how often an estimate can belong to
real bodies, with and without being told to, and the error on another motion.

Friction: a robot with Stribeck friction, identified with linear friction and with
nonlinear laws; the error on another motion.
"""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import effects_of
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, plant, robot, runs
from pkm_bringup.studies.runs.plants import (
    exact_forces,
    excitation_of,
    held_out_motion,
    model_of,
    recorded,
    scaled_noise,
)
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects
from pkm_identification import identify, load_result, validate
from pkm_identification.estimators.consistent.physically_consistent import ConsistencyDiagnostics
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.option import POSITIVE, Option, choice
from pkm_identification.physical.nearest import smallest_eigenvalues
from pkm_identification.regression.problem import build_problem
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import process
from pkm_identification.validation.validate import relative_absolute_error

LAWS = ('stribeck', 'atan', 'power')
UNLIMITED = 'gauss_markov'
LIMITED = 'feasible'
NONLINEAR = 'nonlinear_friction'
RAMP_TIME = 2.0  # [s]: the circle at 1 m/s begins far from home
ERRORS = ('error', 'error_measured')


def stribeck_effects(model: ClosedChainModel) -> PlantEffects:
    """Return the effects of a plant with Stribeck friction, which must be declared; no cogging."""
    effects = PlantEffects.from_description(model.description).switched(cogging=False)
    if not effects.stribeck:
        raise EstimationError(
            f"robot '{model.description.name}' declares no simulation.stribeck friction"
        )
    return effects


def linear_effects(model: ClosedChainModel, noise: float) -> PlantEffects:
    """Return the effects of a plant with linear friction and its noise times a factor."""
    return scaled_noise(effects_of(model.description, 'modelled'), noise, noise)


def one_run(
    plant: str, periods: int, laws: Sequence[str], robot: str, noise: float | None, seed: int
) -> dict[str, dict[str, float]]:
    """Errors of all estimators in one run, on the held-out motion.

    With `noise`, a factor on the described one, the plant has linear friction; without, it has
    Stribeck friction. Relative absolute errors [M 33]: `error` of forces predicted for the
    exact motion against noise-free ones and `error_measured` against measured ones.
    """
    model = model_of(robot)
    effects = stribeck_effects(model) if noise is None else linear_effects(model, noise)
    trajectory = held_out_motion(model)
    data = recorded(model, excitation_of(model), plant, effects, periods, 2 * seed, RAMP_TIME)
    other = recorded(model, trajectory, plant, effects, periods, 2 * seed + 1, RAMP_TIME)
    motion, forces = exact_forces(model, trajectory, effects)
    results = {name: identify(data, model, name) for name in (UNLIMITED, LIMITED)}
    results |= {law: identify(data, model, NONLINEAR, law=law) for law in laws}
    found = {}
    for name, result in results.items():
        errors = validate(other, result, model)
        own = result.diagnostics.own
        active = own.active_constraints if isinstance(own, ConsistencyDiagnostics) else ()
        found[name] = {
            'physical': float(is_physical_when_read(result, model)),
            'error': relative_absolute_error(result.predict(motion), forces)[1],
            'error_measured': errors.against_measured.overall,
            'active': float(len(active)),
        }
    return found


def is_physical_when_read(result: IdentificationResult, model: ClosedChainModel) -> bool:
    """Whether the estimate is physical, also as read from its file, by its own numbers.

    Eigenvalues of all pseudo-inertias, friction and rotors of the standard parameters that
    it is made of; not the verdict in the file.
    """
    if not result.is_physical:
        return False
    with tempfile.TemporaryDirectory() as folder:
        read = load_result(result.save(Path(folder) / 'model.yaml'), model)
    standard = read.standard_parameters
    exact = np.allclose(read.matrix @ standard, read.values, rtol=1e-6, atol=1e-9)
    others = model.parameter_mask('friction') | model.parameter_mask('rotor')
    smallest = min(smallest_eigenvalues(model, standard).values())
    return bool(exact and smallest > 0 and (standard[others] >= 0).all())


def cpu_time(plant: str, robot: str, noise: float, seed: int) -> dict[str, float]:
    """CPU time [s] of one estimate with limits, with designs shared and each body on its own."""
    model = model_of(robot)
    effects = linear_effects(model, noise)
    data = recorded(model, excitation_of(model), plant, effects, 2, seed, RAMP_TIME)
    signals, found = process(data.for_model(model)), {}
    for name, shared in (('shared', True), ('each', False)):
        problem = build_problem(signals, model, shared=shared)
        assert problem.regressor.size
        solve = find_estimator(LIMITED)
        solve(problem)  # imports
        start = time.process_time()
        solve(problem)
        found[name] = time.process_time() - start
    return found


def summary(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean figures of all runs, and the errors against those with limits.

    `<error>_ratio`: with limits over without, median and largest; by estimator `<error>_lower`
    and `<error>_lower_least`: by how much lower than those of `feasible`, mean and least.
    """
    content: dict[str, Any] = {
        name: {key: np.mean([run[name][key] for run in found]) for key in found[0][name]}
        for name in found[0]
    }
    for key in ERRORS:
        for name in found[0]:
            lower = [1 - run[name][key] / run[LIMITED][key] for run in found]
            content[name][f'{key}_lower'] = np.mean(lower)
            content[name][f'{key}_lower_least'] = np.min(lower)
        ratio = [run[LIMITED][key] / run[UNLIMITED][key] for run in found]
        content[f'{key}_ratio'] = {'median': np.median(ratio), 'largest': max(ratio)}
    return content


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Compare at multiples of the robot's noise, then on a plant with Stribeck friction."""
    plant = options.plant
    model_of(options.robot)
    stribeck_effects(model_of(options.friction_robot))  # no minutes before the second part fails

    def part(robot: str, noise: float | None, laws: Sequence[str], name: str) -> dict[str, Any]:
        one = partial(one_run, plant, options.periods, tuple(laws))
        told = f'{robot}: run'
        found = runner.map_seeds(one, options, told, name, robot=robot, noise=noise)
        return {'runs': options.runs, **summary(found)}

    levels = []
    for number, noise in enumerate(options.noise):
        content = part(options.robot, noise, (), f'limits_{number}')
        case = {'robot': options.robot, 'noise': noise, 'seed': options.seed}
        one, name = partial(cpu_time, plant), f'time_{number}'
        (times,) = runner.map(one, [case], f'{options.robot}: CPU time', name)
        levels.append({'noise': noise, **content, 'cpu_time': times})
    friction = part(options.friction_robot, None, options.laws, 'friction')
    content = {'plant': plant, 'periods': options.periods, 'seed': options.seed}
    content['limits'] = {'robot': options.robot, 'levels': levels}
    return content | {'friction': {'robot': options.friction_robot, **friction}}


STUDY = Study(
    'feasible',
    'estimates that real bodies and real friction can have',
    'How often an estimate without limits is physical and what the limits change on another '
    'motion, at multiples of the noise; then linear against nonlinear friction on a robot with '
    'Stribeck friction [M Table 3]. The other motion is the benchmark circle, else the excitation '
    'at 1 / 1.7 of its speed.',
    (
        robot('palida', 'of the first part: '),
        robot(
            'rps_upv',
            'of the second part, with simulation.stribeck in its description: ',
            'friction_robot',
        ),
        Option(
            'noise', POSITIVE, 'in units of that of the description', [1.0, 5.0], '1', nargs='+'
        ),
        Option('laws', choice(*LAWS), 'of friction', list(LAWS), nargs='+'),
        *runs(10, 'seeds of each part'),
        Option('periods', COUNT, 'averaged in each run', 5, '1'),
        plant('robot', 'noise'),
    ),
    run,
)
