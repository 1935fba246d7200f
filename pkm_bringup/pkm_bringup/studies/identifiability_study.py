"""Which base parameters of the 3-RPS data identify, and what they are worth [M 6].

Base parameters: those of the project beside Table 1 of [M]. Several motions: a model from one of
them predicts the others, with linear friction by least squares and by physical bodies, and with
nonlinear friction [M Table 4]. Models 1 to 4: all base parameters down to those that are known
within 15 %, and what each predicts [M Tables 5 to 8].
"""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.runner import Runner
from pkm_bringup.studies.conditioning_study import with_symmetric_friction
from pkm_bringup.studies.declaration import Study, plant, runs
from pkm_bringup.studies.feasible_study import LAWS, linear_effects, stribeck_effects
from pkm_bringup.studies.runs.plants import (
    excitation_of,
    model_of,
    recorded,
    sampled_period,
    scaled_noise,
    slowed,
)
from pkm_bringup.studies.runs.rps_base_parameters import (
    BOUNDED_BY_BODIES,
    MODEL_4,
    combinations_of_mata,
    compared_with_mata,
)
from pkm_bringup.studies.runs.spread_statistics import mean_of_runs
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_dynamics.trajectories.trajectory_files import trajectory_from_dict
from pkm_identification import identify, validate
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.excitation import design_excitation
from pkm_identification.excitation.motion_figures import folded_regressor
from pkm_identification.excitation.search.criteria import figures
from pkm_identification.model_selection.model_comparison import Candidate, compare_models
from pkm_identification.model_selection.reduction import Reduction, reduce_model
from pkm_identification.option import POSITIVE, Option, Values, choice
from pkm_identification.options import THRESHOLD
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.figures import parameter_error
from pkm_identification.validation.validation import Validation

ROBOT = 'rps_upv'
FULL, SMALLEST = 'model_1', 'model_4'
EQUAL_LEGS = 'model_3'
REDUCED = ('model_2', EQUAL_LEGS, SMALLEST)
ALL: dict[str, Any] = {
    'shared': False,
    'reduced': False,
}  # each leg with its own parameters, none left out
LEAST_SQUARES, FEASIBLE, NONLINEAR = 'linear_ls', 'linear_feasible', 'nonlinear_feasible'
STRIBECK = 'stribeck'
AGAINST = ('measured', 'truth')
DESIGN_RATE = 100.0  # [Hz], as the robot of [M]
DESIGN_STEPS = 30  # of one start: motions of several condition numbers, not the least one
LOW_VELOCITY = 5.0  # the motion that is identified from, at 1/5 of its speed
RAMP_TIME = 2.0  # [s]
SOME_RUNS = 2  # have a spread

Content = dict[str, Any]

FRICTIONS = ('linear', STRIBECK)


@lru_cache(maxsize=1)
def symmetric_model() -> ClosedChainModel:
    """The 3-RPS as [M] reduces it: one Coulomb coefficient a drive, equal legs, own friction."""
    description = with_symmetric_friction(model_of(ROBOT).description)
    drives = set(description.actuated_joints)
    designs = tuple(each for each in description.same_design if not drives & set(each))
    return ClosedChainModel(dataclasses.replace(description, same_design=designs))


def one_design(seed: int) -> Content:
    """A motion of small condition number from one random start, as plain values."""
    found = design_excitation(
        model_of(ROBOT),
        'condition_number',
        sampling_rate=DESIGN_RATE,
        starts=1,
        iterations=DESIGN_STEPS,
        seed=seed,
        workers=1,
        **ALL,
    )
    return found.trajectory.to_dict()


def motions_of(designs: Sequence[Content]) -> dict[str, FourierTrajectory]:
    """Motions by name, the first of them to identify from."""
    read = [trajectory_from_dict(design) for design in designs]
    fourier = [each for each in read if isinstance(each, FourierTrajectory)]
    found = {f'design_{number}': each for number, each in enumerate(fourier, 1)}
    return found | {
        'shipped': excitation_of(model_of(ROBOT)),
        'low_velocity': slowed(fourier[0], LOW_VELOCITY),
    }


def figures_of(name: str, trajectory: FourierTrajectory) -> Content:
    """Return what a motion tells about all base parameters, and its speed [m/s]."""
    model = model_of(ROBOT)
    base, noise = model.base_parameters(**ALL), np.eye(model.n_a)
    found = figures(folded_regressor(model, base, trajectory, DESIGN_RATE, noise))
    speeds = model.actuator_states(sampled_period(model, trajectory)[1]).velocities
    return {
        'name': name,
        'period': trajectory.period,
        **{key: found[key] for key in ('condition_number', 'condition_number_scaled')},
        'largest_velocity': np.abs(speeds).max(),
    }


def one_run(
    plant: str,
    periods: int,
    motions: Mapping[str, FourierTrajectory],
    law: str,
    noise: float,
    friction: str,
    seed: int,
) -> Content:
    """Identify from the first motion and predict the others, on a plant with some friction."""
    model = model_of(ROBOT)
    if friction == STRIBECK:
        effects = scaled_noise(stribeck_effects(model), noise, noise)
    else:
        effects = linear_effects(model, noise)
    first, *others = (
        recorded(model, each, plant, effects, periods, len(motions) * seed + i, RAMP_TIME)
        for i, each in enumerate(motions.values())
    )
    found = {
        LEAST_SQUARES: identify(first, model, 'ls', **ALL),
        FEASIBLE: identify(first, model, 'feasible', **ALL),
        NONLINEAR: identify(first, model, 'nonlinear_friction', law=law, **ALL),
    }
    recordings = dict(zip(motions, (first, *others), strict=True))
    errors = {
        name: {key: _errors(validate(each, result, model)) for key, each in recordings.items()}
        for name, result in found.items()
    }
    return {'estimators': errors, **_levels(first, others)}


def _levels(first: Recording, others: list[Recording]) -> Content:
    """Figures of models 1 to 4, and of what the 15 % rule leaves of models 1 and 3."""
    model, symmetric = model_of(ROBOT), symmetric_model()
    candidates = compare_models(first, model, levels=[FULL], validation=others)
    candidates += compare_models(first, symmetric, levels=REDUCED, validation=others)
    by_name = {each.name: each for each in candidates}
    levels, kept = {name: _level(each) for name, each in by_name.items()}, {}
    for level, mechanism in ((FULL, model), (EQUAL_LEGS, symmetric)):
        found = reduce_model(first, mechanism, validation=others, shared=False, reduced=level)
        levels[f'{level}_reduced'] = _reduced_level(found, mechanism)
        kept[level] = found.kept
    values = {name: _of_mata(_result(by_name[name])) for name in (FULL, SMALLEST)}
    full = by_name[FULL].identifiability
    assert full is not None
    return {'levels': levels, 'kept': kept, 'full': full.rows(), 'mata': values}


def _reduced_level(found: Reduction, model: ClosedChainModel) -> Content:
    """Figures of what is left; [M 34] over what is estimated and not zero in truth."""
    last, known = found.steps[-1], found.identifiability
    relative = parameter_error(found.result, model.nominal_parameters).relative
    error = np.nanmean(np.where(known.is_estimated, relative, np.nan))
    errors = {f'error_{key}': last.held_out[key] for key in AGAINST}
    return {
        'parameters': last.parameters,
        'proper': last.proper,
        'parameter_error': error,
        **errors,
    }


def _result(candidate: Candidate) -> IdentificationResult:
    if candidate.result is None or candidate.error:
        raise EstimationError(f'{candidate.name}: {candidate.error}')
    return candidate.result


def _level(candidate: Candidate) -> Content:
    _result(candidate)
    errors = [_errors(each) for each in candidate.validations]
    row = candidate.row()
    return {
        **{key: row[key] for key in ('parameters', 'proper', 'parameter_error')},
        **{f'error_{key}': np.mean([each[key] for each in errors]) for key in AGAINST},
    }


def _errors(validation: Validation) -> dict[str, float]:
    """Relative absolute errors [M 33] against measured forces, and noise-free ones in the band."""
    truth = validation.against_truth_in_band
    assert truth is not None
    return {'measured': validation.against_measured.overall, 'truth': truth.overall}


def _of_mata(result: IdentificationResult) -> dict[str, list[float]]:
    """Values (25,) of the combinations of [M] Table 1, and their standard deviations."""
    rows = combinations_of_mata(result.model) @ result.columns
    deviation = np.sqrt(np.einsum('ij,jk,ik->i', rows, result.covariance, rows))
    return {'values': (rows @ result.values).tolist(), 'deviations': deviation.tolist()}


def trajectories(found: Sequence[Content]) -> Content:
    """Summarise the errors by estimator and motion over runs [M Table 4].

    `growth`: mean error on the other motions over that on the one identified from.
    `nonlinear_ratio`: error with nonlinear over that with linear friction, both feasible, on the
    other motions; `least_squares_ratio`: that of least squares over that of linear feasible ones.
    """
    names = list(found[0]['estimators'][LEAST_SQUARES])
    content: Content = {'identified_from': names[0], 'motions': names, 'errors': {}, 'growth': {}}
    others: dict[tuple[str, str], Array] = {}
    for estimator in (LEAST_SQUARES, FEASIBLE, NONLINEAR):
        runs = [run['estimators'][estimator] for run in found]
        errors = {
            key: np.array([[run[name][key] for name in names] for run in runs]) for key in AGAINST
        }
        content['errors'][estimator] = {
            key: {name: mean_of_runs(values[:, i]) for i, name in enumerate(names)}
            for key, values in errors.items()
        }
        others |= {(estimator, key): values[:, 1:].mean(axis=1) for key, values in errors.items()}
        content['growth'][estimator] = {
            key: mean_of_runs(others[estimator, key] / values[:, 0])
            for key, values in errors.items()
        }
    for ratio, upper in (('nonlinear_ratio', NONLINEAR), ('least_squares_ratio', LEAST_SQUARES)):
        content[ratio] = {
            key: mean_of_runs(others[upper, key] / others[FEASIBLE, key]) for key in AGAINST
        }
    return content


def models(found: Sequence[Content]) -> Content:
    """Summarise models 1 to 4 over runs [M Tables 5 to 8]; errors are those on other motions.

    `error_<against>_ratio`: error of a model over that of model 1 in the same run. `kept`:
    share of the runs in which the 15 % rule keeps a parameter of a model. `full`: each parameter of
    model 1. `mata`: the combinations that [M] Table 8 lists, by model.
    """
    rows = []
    for name in found[0]['levels']:
        levels = [run['levels'][name] for run in found]
        row: Content = {'name': name}
        row |= {key: mean_of_runs([each[key] for each in levels]) for key in levels[0]}
        for key in (f'error_{against}' for against in AGAINST):
            row[f'{key}_ratio'] = mean_of_runs(
                [run['levels'][name][key] / run['levels'][FULL][key] for run in found]
            )
        rows.append(row)
    shares = {level: _shares([run['kept'][level] for run in found]) for level in found[0]['kept']}
    table = {name: _table_8(found, name) for name in (FULL, SMALLEST)}
    return {'levels': rows, 'kept': shares, 'full': _table_5(found), 'mata': table}


def _shares(kept: Sequence[Sequence[str]]) -> dict[str, float]:
    """Share of the runs in which each name is kept."""
    every = [name for names in kept for name in names]
    return {name: every.count(name) / len(kept) for name in sorted(set(every))}


def _table_5(found: Sequence[Content]) -> list[Content]:
    exact = model_of(ROBOT).base_parameters(**ALL).values()
    rows = []
    for i, truth in enumerate(exact):
        each = [run['full'][i] for run in found]
        verdicts = [one['verdict'] for one in each]
        shares = {
            key: verdicts.count(verdict) / len(found)
            for key, verdict in (('impossible', 'impossible sign'), ('proper', 'proper'))
        }
        rows.append(
            {
                'name': each[0]['name'],
                'exact': truth,
                'first': each[0]['value'],
                'identified': mean_of_runs([one['value'] for one in each]),
                'relative_deviation': np.median(
                    [one['relative_standard_deviation'] / 100 for one in each]
                ),
                **shares,
            }
        )
    return rows


def _table_8(found: Sequence[Content], level: str) -> list[Content]:
    model = model_of(ROBOT)
    exact = combinations_of_mata(model) @ model.nominal_parameters
    texts = compared_with_mata(model)['papers']
    rows = []
    for number in sorted((*MODEL_4, *(BOUNDED_BY_BODIES if level == FULL else ()))):
        values = [run['mata'][level]['values'][number - 1] for run in found]
        deviations = [run['mata'][level]['deviations'][number - 1] for run in found]
        row = {'number': number, 'name': texts[number - 1], 'exact': exact[number - 1]}
        row |= {'first': values[0], 'identified': mean_of_runs(values)}
        rows.append(row | {'standard_deviation': np.median(deviations)})
    return rows


def run(options: Namespace, runner: Runner) -> Content:
    """Design the motions, then identify and predict on both plants."""
    base = compared_with_mata(model_of(ROBOT))
    seeds = range(options.seed, options.seed + options.designs)
    designs = runner.map(one_design, [{'seed': seed} for seed in seeds], 'design', 'design')
    motions = motions_of(designs)
    one = partial(one_run, options.plant, options.periods, motions, options.law, options.noise)
    content: Content = {'robot': ROBOT, 'plant': options.plant, 'periods': options.periods}
    content |= {'runs': options.runs, 'threshold': 0.01 * THRESHOLD.default, 'law': options.law}
    content['noise'] = options.noise
    content |= {'base_parameters': base}
    content['motions'] = [figures_of(name, each) for name, each in motions.items()]
    for friction in FRICTIONS:
        text = f'{friction} friction: run'
        found = runner.map_seeds(one, options, text, friction, friction=friction)
        content[friction] = {**models(found), 'trajectories': trajectories(found)}
    return content


STUDY = Study(
    'identifiability',
    'few well identified parameters predict as well as all base parameters [M Tables 1 to 8]',
    'The 3-RPS: its base parameters beside those of [M]; models of all of them down to those known '
    'within 15 %, each identified from one motion and predicting others; least squares against '
    'estimates that real bodies and friction can have. The plant has linear, then Stribeck '
    'friction.',
    (
        Option('noise', POSITIVE, 'in units of that of the description', 1.0, '1'),
        Option('law', choice(*LAWS), 'of nonlinear friction', 'atan'),
        Option(
            'designs',
            Values('a number of designs: at least 2', (int,), low=2),
            'motions of small condition number, one to identify from and others, at least 2',
            4,
            '1',
        ),
        *runs(5, 'seeds of each friction', SOME_RUNS),
        Option('periods', COUNT, 'averaged in each run', 4, '1'),
        plant('noise', 'robot'),
    ),
    run,
)
