"""Masses of the UF-PKM by the unscented filter from forces [O chapter 4]."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, runs
from pkm_bringup.studies.plants import model_of, rms
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.nonlinear_filters import FilterOptions, unscented_filter
from pkm_identification.option import POSITIVE, Option

ROBOT = 'uf_pkm'
BODIES = {'me': 'leg*_slider', 'mb': 'leg*_stator', 'mp': 'platform'}
MASS_TERMS = ('m', 'mx', 'my', 'mz')
SAMPLES = 2000
START = 0.9  # of the true values [O 5.3.1]
START_DEVIATION = 0.5  # of the true values
FLOOR = 1e-6  # of the largest force: the noise that the filter assumes where there is none


def mass_columns(model: ClosedChainModel) -> tuple[Array, Array]:
    """Return true masses (3,) and the standard parameters (n_p, 3) that a unit of each makes.

    Centres of mass stay where they are, inertias about the centres of mass as they are; what a
    mass adds to the inertias about the frames' origins moves with it.
    """
    names = list(model.parameter_names)
    nominal = np.asarray(model.nominal_parameters)
    masses, columns = [], np.zeros((len(names), len(BODIES)))
    for column, pattern in enumerate(BODIES.values()):
        links = [name[:-2] for name in names if fnmatchcase(name, f'{pattern}.m')]
        masses.append(nominal[names.index(f'{links[0]}.m')])
        for link in links:
            index = {term: names.index(f'{link}.{term}') for term in MASS_TERMS}
            mass = nominal[index['m']]
            centre = nominal[[index['mx'], index['my'], index['mz']]] / mass
            for term in MASS_TERMS:
                columns[index[term], column] = nominal[index[term]] / mass
            parallel = np.eye(3) * (centre @ centre) - np.outer(centre, centre)
            for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
                row = names.index(f'{link}.I{"xyz"[i]}{"xyz"[j]}')
                columns[row, column] = parallel[i, j]
    return np.array(masses), columns


def one_run(samples: int, noise: float, seed: int) -> dict[str, Any]:
    """Run the filter on sines of x and y together (case XY of [O Table 4.3]).

    `noise` is the largest error of forces, velocities and accelerations over their value, and of
    positions over their way from home, uniform. Returns figures by name and `time` [s of CPU].
    """
    model = model_of(ROBOT)
    trajectory = preset(model, 'sine_xy')
    motion = trajectory.motion(np.arange(samples) / samples * trajectory.duration, model)
    exact, forces = model.actuator_states(motion), model.inverse_dynamics(motion)
    random = np.random.default_rng(seed)

    def disturbed(values: Array) -> Array:
        return np.asarray(values * (1 + noise * random.uniform(-1, 1, values.shape)))

    home = np.asarray(model.home_actuators)
    positions = home + disturbed(exact.positions - home)
    velocities, accelerations = disturbed(exact.velocities), disturbed(exact.accelerations)
    motion = model.motion_from_actuators(positions, velocities, accelerations)
    measured = disturbed(forces)
    masses, columns = mass_columns(model)
    regressor = model.regressor(motion)
    rest = regressor @ (model.nominal_parameters - columns @ masses)
    slopes, target = regressor @ columns, measured - rest
    spread = noise / np.sqrt(3.0) * np.sqrt(np.mean(measured**2, axis=0))  # of uniform errors
    size = np.maximum(spread, FLOOR * np.abs(measured).max())

    def predicted(points: Array, k: int) -> Array:
        return points @ slopes[k].T

    begin = time.thread_time()
    given = (target, START * masses, START_DEVIATION * masses, np.diag(size**2))
    options = FilterOptions(history=100)
    found = unscented_filter(predicted, *given, alpha=1e-4, kappa=0.0, options=options)
    spent = time.thread_time() - begin
    figures = {
        'values': found.values,
        'true': masses,
        'errors': found.values / masses - 1,
        'standard_deviation': np.sqrt(np.diag(found.covariance)),
    }
    by_name = {key: dict(zip(BODIES, each.tolist(), strict=True)) for key, each in figures.items()}
    return {'time': spent, **by_name}


def summary(noise: float, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return means, root mean square and worst errors [1] of the runs with one noise, by name."""

    def over_runs(key: str, figure: Callable[[list[float]], Any]) -> dict[str, Any]:
        return {name: figure([run[key][name] for run in found]) for name in BODIES}

    return {
        'noise': noise,
        'runs': len(found),
        'true': found[0]['true'],
        'values': over_runs('values', np.mean),
        'errors': over_runs('errors', rms),
        'worst': over_runs('errors', lambda errors: max(map(abs, errors))),
        'standard_deviation': over_runs('standard_deviation', np.mean),
        'time': np.mean([run['time'] for run in found]),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Estimate without noise, and with it as often as asked for."""
    model_of(ROBOT)
    found = []
    for noise, repeats in ((0.0, 1), (options.noise, options.runs)):
        cases = [{'noise': noise, 'seed': options.seed + k} for k in range(repeats)]
        text, name = f'noise {100 * noise:g} %: run', 'noisy' if noise else 'exact'
        found.append(summary(noise, runner.map(partial(one_run, SAMPLES), cases, text, name)))
    return {'robot': ROBOT, 'seed': options.seed, 'cases': found}


STUDY = Study(
    'uf_pkm',
    'masses of the UF-PKM by the UKF from forces, without and with noise',
    'From sines of x and y together [O chapter 4].',
    (
        Option('noise', POSITIVE, 'largest error of forces and motion over their value', 0.01, '1'),
        *runs(10, 'of the noise'),
    ),
    run,
)
