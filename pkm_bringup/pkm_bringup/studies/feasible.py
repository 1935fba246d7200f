"""Physical bodies and nonlinear friction: what the limits cost and bring [M 4, Table 3].

Limits: the same excitation with more and more noise; how often an estimate can belong to
real bodies, with and without being told to, and the error on another motion.

Friction: a robot with Stribeck friction, identified with linear friction and with
nonlinear laws; the error on another motion.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.friction_plant import exact_forces, held_out_motion, recorded, scaled_noise
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects
from pkm_identification import identify, load_result, validate
from pkm_identification.datasets import Recording
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.physical.nearest import smallest_eigenvalues
from pkm_identification.regression.problem import build_problem
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import process
from pkm_identification.validation.validate import relative_absolute_error

Array = NDArray[np.float64]
Run = dict[str, dict[str, float]]

UNLIMITED = 'gauss_markov'
LIMITED = 'feasible'
NONLINEAR = 'nonlinear_friction'


def limits_study(
    model: ClosedChainModel,
    noise: Sequence[float],
    runs: int,
    periods: int,
    plant: str = 'noise',
    seed: int = 0,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> list[dict[str, Any]]:
    """Compare the estimate with and without limits at multiples of the robot's noise.

    Returns
    -------
    list of dict
        For each multiple: by estimator the share of physical estimates, the mean relative
        absolute errors [M 33] on the held-out motion, `error` of forces predicted for the
        exact motion against noise-free ones and `error_measured` against measured ones; the
        ratios of both with and without limits, median and largest over the runs; the CPU
        time of one estimate [s].
    """
    found = []
    for factor in noise:
        effects = scaled_noise(PlantEffects.from_description(model.description), factor)
        effects = effects.without_unmodelled()
        choices: dict[str, dict[str, Any]] = {UNLIMITED: {}, LIMITED: {}}
        each = _runs(model, plant, effects, periods, choices, seed, runs, workers, update)
        content = _means(each)
        for key in ('error', 'error_measured'):
            ratio = np.array([run[LIMITED][key] / run[UNLIMITED][key] for run in each])
            content[f'{key}_ratio'] = {
                'median': float(np.median(ratio)),
                'largest': float(ratio.max()),
            }
        data = recorded(model, load_excitation(model.description.name), plant, effects, 2, seed)
        found.append({'noise': factor, 'runs': runs, **content, 'cpu_time': _cpu_time(model, data)})
    return found


def friction_study(
    model: ClosedChainModel,
    laws: Sequence[str],
    runs: int,
    periods: int,
    plant: str = 'robot',
    seed: int = 0,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Identify a plant with Stribeck friction by linear and by nonlinear friction.

    Returns
    -------
    dict
        By estimator (laws of `nonlinear_friction` by their names) the mean relative absolute
        errors on the held-out motion, and how much lower they are than those of `feasible`.

    Raises
    ------
    EstimationError
        The description has no Stribeck friction.
    """
    effects = stribeck_effects(model)
    choices: dict[str, dict[str, Any]] = {UNLIMITED: {}, LIMITED: {}}
    choices |= {law: {'law': law} for law in laws}
    each = _runs(model, plant, effects, periods, choices, seed, runs, workers, update)
    content = _means(each)
    for name in choices:
        for key in ('error', 'error_measured'):
            lower = [1 - run[name][key] / run[LIMITED][key] for run in each]
            content[name][f'{key}_lower'] = float(np.mean(lower))
            content[name][f'{key}_lower_least'] = float(np.min(lower))
    return {'runs': runs, **content}


def stribeck_effects(model: ClosedChainModel) -> PlantEffects:
    """Return the effects of a plant with Stribeck friction, without cogging.

    Raises
    ------
    EstimationError
        The description has no Stribeck friction.
    """
    effects = PlantEffects.from_description(model.description).switched(cogging=False)
    if not effects.stribeck:
        raise EstimationError(
            f"robot '{model.description.name}' declares no simulation.stribeck friction"
        )
    return effects


def _runs(
    model: ClosedChainModel,
    plant: str,
    effects: PlantEffects,
    periods: int,
    choices: Mapping[str, dict[str, Any]],
    seed: int,
    runs: int,
    workers: int | None,
    update: Update,
) -> list[Run]:
    """Errors of all estimators in all runs."""
    one = partial(_run, model, plant, effects, periods, choices)
    return over_seeds(one, runs, seed, workers, update, f'{model.description.name}: ')


def _run(
    model: ClosedChainModel,
    plant: str,
    effects: PlantEffects,
    periods: int,
    choices: Mapping[str, dict[str, Any]],
    seed: int,
) -> Run:
    excitation = load_excitation(model.description.name)
    data = recorded(model, excitation, plant, effects, periods, 2 * seed)
    other = recorded(model, held_out_motion(model), plant, effects, periods, 2 * seed + 1)
    motion, forces = exact_forces(model, held_out_motion(model), effects)
    found = {}
    for name, options in choices.items():
        estimator = name if name in (UNLIMITED, LIMITED) else NONLINEAR
        result = identify(data, model, estimator, **options)
        errors = validate(other, result, model)
        found[name] = {
            'physical': float(is_physical_when_read(result, model)),
            'error': relative_absolute_error(result.predict(motion), forces)[1],
            'error_measured': errors.against_measured.overall,
            'active': float(len(result.diagnostics.get('active_constraints', []))),
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


def _means(runs: list[Run]) -> dict[str, Any]:
    return {
        name: {key: float(np.mean([run[name][key] for run in runs])) for key in runs[0][name]}
        for name in runs[0]
    }


def _cpu_time(model: ClosedChainModel, data: Recording) -> dict[str, float]:
    """CPU time [s] of one estimate with limits, and its number of bodies, by sharing."""
    found: dict[str, float] = {}
    signals = process(data.for_model(model))
    for name, shared in (('shared', True), ('each', False)):
        problem = build_problem(signals, model, shared=shared)
        assert problem.regressor.size
        solve = find_estimator(LIMITED)
        solve(problem)  # imports
        start = time.process_time()
        solve(problem)
        found[name] = time.process_time() - start
    return found
