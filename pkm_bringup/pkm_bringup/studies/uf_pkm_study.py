"""Masses and inertias of the UF-PKM by the unscented filter, as in the tables of [O chapter 4].

From forces or from energy, in four motions, with and without friction, with the samples in order,
at random or every tenth, without and with noise.
"""

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
from pkm_bringup.studies.runs.plants import model_of, rms
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.equations.energy import actuator_work, energy_balance
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.presets import preset
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.nonlinear_filters import FilterOptions, unscented_filter
from pkm_identification.option import POSITIVE, Option

ROBOT = 'uf_pkm'
BODIES = {'me': 'leg*_slider', 'mb': 'leg*_stator', 'mp': 'platform'}
MASS_TERMS = ('m', 'mx', 'my', 'mz')
INERTIAS = {'Ixx': 'Ixx', 'Iyy': 'Izz', 'Izz': 'Iyy'}  # of [O], whose y is our z, along the struts
MASSES, ALL = 'masses', 'masses and inertias'  # that are unknown
SAMPLES, STEP = 2000, 1e-3  # [s] as in [O]
FALL = 0.1  # [s] of a free fall: 5 cm
SPREAD = 10  # every tenth sample
START = 0.9  # of the true values [O 5.3.1]
START_DEVIATION = 0.5  # of the true values
FLOOR = 1e-6  # of the largest row: the noise that the filter assumes where there is none
FREE_FALL = 'fall'
MOTIONS = ('x', 'z', 'xy', FREE_FALL)
# Tables of [O] without noise: friction of the plant (none; known to the filter; neglected by it),
# what is measured, and the order of the samples
TABLES: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ('4.4', MOTIONS, {}),
    ('4.6', MOTIONS, {'friction': 'known'}),
    ('4.6', MOTIONS[:3], {'friction': 'neglected'}),
    ('4.8', MOTIONS[:3], {'measured': 'energy'}),
    ('4.10', MOTIONS, {'order': 'random'}),
    ('4.12', MOTIONS, {'order': 'spread'}),
    # forces of a fall without friction are zero, with any multiple of all of these
    ('4.5', MOTIONS[:3], {'unknown': ALL}),
    ('4.7', MOTIONS, {'unknown': ALL, 'friction': 'known'}),
    ('4.9', MOTIONS[:3], {'unknown': ALL, 'measured': 'energy'}),
    ('4.11', MOTIONS[:3], {'unknown': ALL, 'order': 'random'}),
    ('4.13', MOTIONS[:3], {'unknown': ALL, 'order': 'spread'}),
)
# Of sines of x and y together
NOISY_TABLES: tuple[tuple[str, dict[str, str]], ...] = (
    ('4.14', {}),
    ('4.16', {'measured': 'energy'}),
    ('4.15', {'unknown': ALL}),
    ('4.17', {'unknown': ALL, 'measured': 'energy'}),
)
LEVELS = np.array([1.0, 5.0])  # of the noise: [O] has 1 and 5 %
USUAL: dict[str, Any] = {
    'motion': 'xy',
    'friction': 'none',
    'measured': 'force',
    'order': 'original',
}
USUAL |= {'unknown': MASSES, 'noise': 0.0}


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


def unknowns(model: ClosedChainModel, unknown: str) -> tuple[tuple[str, ...], Array, Array]:
    """Return names (n,), true values (n,) and standard parameters (n_p, n) that a unit makes."""
    masses, columns = mass_columns(model)
    if unknown == MASSES:
        return tuple(BODIES), masses, columns
    names, nominal = list(model.parameter_names), np.asarray(model.nominal_parameters)
    told, values, more = list(BODIES), list(masses), [columns]
    for (body, pattern), mass, column in zip(BODIES.items(), masses, columns.T, strict=True):
        for inertia, term in INERTIAS.items():
            rows = [i for i, name in enumerate(names) if fnmatchcase(name, f'{pattern}.{term}')]
            about_centre = nominal[rows[0]] - mass * column[rows[0]]
            told.append(inertia + body.removeprefix('m'))
            values.append(about_centre)
            more.append(np.isin(np.arange(len(names)), rows).astype(float)[:, None])
    return tuple(told), np.array(values), np.hstack(more)


def moved(
    model: ClosedChainModel, motion: str, samples: int, parameters: Array
) -> tuple[Array, PlatformMotion]:
    """Return times (N,) [s] and a motion of [O Table 4.3]: sines of 2 Hz, or a fall from home."""
    count = round(FALL / STEP) if motion == FREE_FALL else samples
    times: Array = np.multiply(STEP, np.arange(count))
    if motion == FREE_FALL:
        return times, integrate_motion(model, times, parameters=parameters, method='LSODA').motion
    return times, preset(model, f'sine_{motion}').motion(times, model)


def one_run(
    samples: int,
    motion: str,
    friction: str,
    measured: str,
    order: str,
    unknown: str,
    noise: float,
    seed: int,
) -> dict[str, Any]:
    """Run the filter once; returns figures by name and `time` [s of CPU].

    `noise` is the largest error of forces, velocities and accelerations over their value, and of
    positions over their way from home, uniform. Energy is the work of the drives between two
    samples, against what energy and friction change there [O 2.56].
    """
    model = model_of(ROBOT)
    nominal = np.asarray(model.nominal_parameters)
    bodies = np.where(model.parameter_mask('rigid_body'), nominal, 0.0)
    true = bodies if friction == 'none' else nominal
    times, exact_motion = moved(model, motion, samples, true)
    exact = model.actuator_states(exact_motion)
    forces = model.inverse_dynamics(exact_motion, true)
    random = np.random.default_rng(seed)

    def disturbed(values: Array) -> Array:
        return np.asarray(values * (1 + noise * random.uniform(-1, 1, values.shape)))

    home = np.asarray(model.home_actuators)
    positions = home + disturbed(exact.positions - home)
    seen = model.motion_from_actuators(
        positions, disturbed(exact.velocities), disturbed(exact.accelerations)
    )
    forces = disturbed(forces)
    if measured == 'energy':
        rows = energy_balance(model, seen, times)[:, None]
        given = actuator_work(model, seen, times, forces)[:, None]
    else:
        rows, given = model.regressor(seen), forces
    if order == 'random':
        chosen = random.permutation(len(rows))
    else:
        chosen = np.arange(0, len(rows), SPREAD if order == 'spread' else 1)
    rows, given = rows[chosen], given[chosen]
    names, true_values, columns = unknowns(model, unknown)
    known = nominal if friction == 'known' else bodies
    slopes, target = rows @ columns, given - rows @ (known - columns @ true_values)
    spread = noise / np.sqrt(3.0) * np.sqrt(np.mean(given**2, axis=0))  # of uniform errors
    size = np.maximum(spread, FLOOR * np.abs(rows @ columns @ true_values).max())

    def predicted(points: Array, k: int) -> Array:
        return points @ slopes[k].T

    begin = time.thread_time()
    start = (target, START * true_values, START_DEVIATION * true_values, np.diag(size**2))
    options = FilterOptions(history=100)
    found = unscented_filter(predicted, *start, alpha=1e-4, kappa=0.0, options=options)
    spent = time.thread_time() - begin
    figures = {
        'values': found.values,
        'true': true_values,
        'errors': found.values / true_values - 1,
        'standard_deviation': np.sqrt(np.diag(found.covariance)),
    }
    by_name = {key: dict(zip(names, each.tolist(), strict=True)) for key, each in figures.items()}
    return {'time': spent, **by_name}


def summary(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return means, root mean square and worst errors [1] of the runs of a case, by name."""

    def over_runs(key: str, figure: Callable[[list[float]], Any]) -> dict[str, Any]:
        return {name: figure([run[key][name] for run in found]) for name in found[0][key]}

    return {
        'runs': len(found),
        'true': found[0]['true'],
        'values': over_runs('values', np.mean),
        'errors': over_runs('errors', rms),
        'worst': over_runs('errors', lambda errors: max(map(abs, errors))),
        'start_deviation': START_DEVIATION,
        'standard_deviation': over_runs('standard_deviation', np.mean),
        'time': np.mean([run['time'] for run in found]),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Estimate without noise once, and with each noise as often as asked for."""
    model_of(ROBOT)
    rows = [
        {'table': table, **USUAL, 'motion': motion, **other}
        for table, motions, other in TABLES
        for motion in motions
    ]
    rows += [
        {'table': table, **USUAL, 'noise': float(noise), **other}
        for table, other in NOISY_TABLES
        for noise in options.noise * LEVELS
    ]
    found = []
    for number, row in enumerate(rows):
        repeats = options.runs if row['noise'] else 1
        case = {name: row[name] for name in USUAL}
        cases = [{**case, 'seed': options.seed + k} for k in range(repeats)]
        text = f'table {row["table"]}, {number + 1} of {len(rows)}: run'
        told = runner.map(partial(one_run, SAMPLES), cases, text, f'case_{number:02}')
        found.append({**row, **summary(told)})
    return {'robot': ROBOT, 'seed': options.seed, 'cases': found}


STUDY = Study(
    'uf_pkm',
    'masses and inertias of the UF-PKM by the UKF from forces and from energy',
    'In sines of x, z, x and y, and in free fall, with and without friction, with samples in '
    'order, at random or every tenth, without and with noise [O chapter 4].',
    (
        Option(
            'noise',
            POSITIVE,
            'largest error of forces and motion over their value, and five times that',
            0.01,
            '1',
        ),
        *runs(10, 'of the noise'),
    ),
    run,
)
