"""Masses of the UF-PKM by the unscented filter from forces [O chapter 4]."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_dynamics.presets import preset
from pkm_identification.estimators.filters.nonlinear_filters import FilterOptions, unscented_filter

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

BODIES = {'me': 'leg*_slider', 'mb': 'leg*_stator', 'mp': 'platform'}
MASS_TERMS = ('m', 'mx', 'my', 'mz')
START = 0.9  # of the true values [O 5.3.1]
START_DEVIATION = 0.5  # of the true values
FLOOR = 1e-6  # of the largest force


def mass_columns(model: ClosedChainModel) -> tuple[Array, Array]:
    """Return true masses (3,) and the standard parameters (n_p, 3) that a unit of each makes.

    Centres of mass stay where they are, inertias about the centres of mass as they are; what a
    mass adds to the inertias about the frames' origins moves with it.
    """
    names = list(model.parameter_names)
    nominal = np.asarray(model.nominal_parameters)
    masses, columns = [], np.zeros((len(names), len(BODIES)))
    for column, pattern in enumerate(BODIES.values()):
        links = [
            name[:-2] for name in names if name.endswith('.m') and _matches(name[:-2], pattern)
        ]
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


def estimate_masses(
    model: ClosedChainModel, noise: float, samples: int = 2000, seed: int = 0
) -> dict[str, Any]:
    """Run the filter on sines of x and y together (case XY of [O Table 4.3]).

    Parameters
    ----------
    model
        Of `uf_pkm`.
    noise
        Largest error of forces, velocities and accelerations over their value, and of
        positions over their way from home, uniform.
    samples, seed
        Number of samples; of the noise.

    Returns
    -------
    dict
        `values`, `true`, `errors`, `standard_deviation` by name, `time` [s of CPU time].
    """
    trajectory = preset(model, 'sine_xy')
    times = np.arange(samples) / samples * trajectory.duration
    exact = model.actuator_states(trajectory.motion(times, model))
    forces = model.inverse_dynamics(trajectory.motion(times, model))
    random = np.random.default_rng(seed)

    def disturbed(values: Array) -> Array:
        return np.asarray(values * (1 + noise * random.uniform(-1, 1, values.shape)))

    home = np.asarray(model.home_actuators)
    motion = model.motion_from_actuators(
        home + disturbed(exact.positions - home),
        disturbed(exact.velocities),
        disturbed(exact.accelerations),
    )
    measured = disturbed(forces)
    masses, columns = mass_columns(model)
    regressor = model.regressor(motion)
    rest = regressor @ (model.nominal_parameters - columns @ masses)
    slopes, target = regressor @ columns, measured - rest
    spread = noise / np.sqrt(3.0) * np.sqrt(np.mean(measured**2, axis=0))  # of uniform errors
    size = np.maximum(spread, FLOOR * np.abs(measured).max())
    begin = time.thread_time()
    found = unscented_filter(
        lambda points, k: points @ slopes[k].T,
        target,
        START * masses,
        START_DEVIATION * masses,
        np.diag(size**2),
        alpha=1e-4,
        kappa=0.0,
        options=FilterOptions(history=100),
    )
    spent = time.thread_time() - begin
    deviation = np.sqrt(np.diag(found.covariance))
    return {
        'noise': noise,
        'time': spent,
        'values': dict(zip(BODIES, found.values.tolist(), strict=True)),
        'true': dict(zip(BODIES, masses.tolist(), strict=True)),
        'errors': dict(zip(BODIES, (found.values / masses - 1).tolist(), strict=True)),
        'standard_deviation': dict(zip(BODIES, deviation.tolist(), strict=True)),
    }


def study_masses(
    model: ClosedChainModel,
    noise: float,
    seed: int = 0,
    runs: int = 10,
    samples: int = 2000,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Repeat `estimate_masses` with other noise.

    Returns
    -------
    dict
        `noise`, `runs`; `true` [kg], `values` (means) [kg], and of the errors [1] root mean
        square `errors` and largest `worst`, by name; `standard_deviation`, the mean reported
        one [kg]; `time`, mean CPU time [s].
    """
    count = runs if noise else 1
    one = partial(estimate_masses, model, noise, samples)
    found = over_seeds(one, count, seed, workers, update, f'noise {100 * noise:g} %: ')

    def over_runs(key: str, figure: Any) -> dict[str, float]:
        return {name: float(figure(np.array([run[key][name] for run in found]))) for name in BODIES}

    return {
        'noise': noise,
        'runs': count,
        'true': found[0]['true'],
        'values': over_runs('values', np.mean),
        'errors': over_runs('errors', lambda errors: np.sqrt(np.mean(errors**2))),
        'worst': over_runs('errors', lambda errors: np.abs(errors).max()),
        'standard_deviation': over_runs('standard_deviation', np.mean),
        'time': float(np.mean([run['time'] for run in found])),
    }


def _matches(link: str, pattern: str) -> bool:
    start, _, end = pattern.partition('*')
    return link == pattern or (bool(end) and link.startswith(start) and link.endswith(end))
