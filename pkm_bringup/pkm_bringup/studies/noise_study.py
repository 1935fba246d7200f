"""Noise of the measured forces, and the error of the model against it [A IV.B, V].

One robot under control runs periods of its excitation: their deviations from the mean period are
the noise that estimators weigh by. A model from them predicts the benchmark circle and its mirror
image. Where that model lacks nothing, the noise explains what it leaves of the measured forces.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from pkm_bringup.offline import effects_of
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, runs
from pkm_bringup.studies.effects_study import other_motions
from pkm_bringup.studies.runs.noise_statistics import normality_in_time, spread_with_intervals
from pkm_bringup.studies.runs.plants import excitation_of, model_of, recorded
from pkm_bringup.studies.runs.spread_statistics import CONFIDENCE, TAILS
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects
from pkm_identification import identify
from pkm_identification.arrays import Array
from pkm_identification.covariance.residual_tests import bartlett_test
from pkm_identification.option import TEXT, Option, Values
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import SignalOptions, Signals, process
from pkm_identification.signals.averaging import average
from pkm_identification.signals.folding import Folded
from pkm_identification.validation.figures import noise_test
from pkm_identification.validation.reference import motion_variance, own_noise, predicted_forces

EFFECTS = ('all', 'no_cogging', 'modelled')  # of the plant; the last is all that a model has
NOISE_OF = EFFECTS[0]
ESTIMATORS = ('ls', 'gauss_markov', 'maximum_likelihood')  # of [A]
SIGNIFICANCE = 0.05
FEWEST_PERIODS = 2  # that have a spread
MOTIONS_A_RUN = 3  # each with noise of its own


def plant_effects(model: ClosedChainModel, name: str) -> PlantEffects:
    """Return the effects of a plant by their name."""
    if name == 'no_cogging':
        return effects_of(model.description, 'all').switched(cogging=False)
    return effects_of(model.description, name)


def one_run(
    robot: str, periods: int, circles: int, estimators: Sequence[str], effects: str, seed: int
) -> dict[str, Any]:
    """Figures of the noise, and errors of each estimator's model on each other motion.

    `periods` of the excitation, `circles` of each other motion.
    """
    model = model_of(robot)
    plant, seed = plant_effects(model, effects), MOTIONS_A_RUN * seed
    trajectory = excitation_of(model)
    data = recorded(model, trajectory, 'robot', plant, periods, seed)
    tests = {}
    for number, (name, motion) in enumerate(other_motions(model).items(), 1):
        test = recorded(model, motion, 'robot', plant, circles, seed + number)
        options = SignalOptions(method='fourier', skip_periods=0)
        tests[name] = process(test.for_model(model), options)
    # as `identify` averages them
    averaged = average(data.for_model(model), trajectory.period, skip=0)
    assert data.truth is not None
    by_period = np.reshape(data.truth.forces, (periods, -1, len(model.actuated_joints)))
    found: dict[str, Any] = {
        'forces': noise_figures(averaged.forces),
        'positions': noise_figures(averaged.positions),
        'drives': np.sqrt(by_period.var(axis=0, ddof=1).mean(axis=0)),
        'errors': {},
    }
    for name in estimators:
        result = identify(data, model, name)
        found['errors'][name] = {
            motion: error_figures(signals, result, model) for motion, signals in tests.items()
        }
    return found


def noise_figures(folded: Folded) -> dict[str, Any]:
    """Products of the deviations from the mean period (P, n_a, n_a), and tests by axis."""
    deviations = folded.deviations
    periods, samples, axes = deviations.shape
    series = deviations.reshape(-1, axes)
    tests = [normality_in_time(column) for column in series.T]
    # the mean period has taken every harmonic of the motion away
    ordinates = np.abs(np.fft.rfft(series, axis=0)) ** 2
    left = np.arange(len(ordinates)) % periods != 0
    lag = np.sum(series[1:] * series[:-1], axis=0) / np.sum(series**2, axis=0)
    return {
        'moments': np.einsum('pna,pnb->pab', deviations, deviations) / samples,
        'skewness': [test.skewness for test in tests],
        'excess_kurtosis': [test.excess_kurtosis for test in tests],
        'normality_p': [test.p_value for test in tests],
        'whiteness_p': [bartlett_test(column) for column in ordinates[left].T],
        'lag_1': lag,
    }


def error_figures(
    signals: Signals, result: IdentificationResult, model: ClosedChainModel
) -> dict[str, Array]:
    """Variances [N^2] by actuator of one recording, and the test of one against the other.

    `measurement_error` is that of a sample by the spread over the periods; `model_error` that of
    measured minus predicted forces, of single samples; `systematic` what is left of it less the
    measurement error, that of the parameters and that of the measured motion, as far as they are
    known. `ratio` is the variance of the mean over the periods over what these three make of it,
    `p_value` its chance where they are all there is (F-distribution, with the degrees of freedom
    that the colour of the noise leaves).
    """
    noise, of_sample = own_noise(signals), signals.force_noise
    assert noise is not None and of_sample is not None
    predicted, deviation = predicted_forces(signals, result, model)
    square = np.mean((signals.forces - predicted) ** 2, axis=0)
    known = np.mean(deviation**2, axis=0) + motion_variance(signals, result, model)
    test = noise_test(square, len(signals), noise + np.diag(known), of_sample)
    of_mean = np.diag(noise)
    return {
        'measurement_error': signals.averaged * of_mean,
        'model_error': signals.averaged * of_mean + square - of_mean,
        'systematic': square - of_mean - known,
        'known': known,
        'ratio': test.variance_ratio,
        'p_value': test.p_value,
    }


def summary_of_noise(found: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Any]:
    """Return the noise of all runs, with intervals, and the tests.

    `normality_p` is the chance of so small a p-value of any axis in any run (Bonferroni),
    `rejected` in how many runs any of their axes is not normal at 5 %.
    """
    of = {key: np.array([each[kind][key] for each in found]) for key in found[0][kind]}
    moments = of.pop('moments')
    p_values = of['normality_p']
    return {
        **spread_with_intervals(moments.reshape(-1, *moments.shape[2:])),
        'periods': int(np.prod(moments.shape[:2])),
        **{key: of[key].mean(axis=0) for key in ('skewness', 'excess_kurtosis', 'lag_1')},
        'normality_p_by_axis': np.minimum(len(found) * p_values.min(axis=0), 1.0),
        'normality_p': min(float(p_values.size * p_values.min()), 1.0),
        'rejected': int(np.sum(p_values.shape[1] * p_values.min(axis=1) < SIGNIFICANCE)),
        'whiteness_p_by_axis': np.minimum(len(found) * of['whiteness_p'].min(axis=0), 1.0),
    }


def summary_of_errors(
    found: Sequence[Mapping[str, Any]], estimator: str, motion: str, joints: Sequence[str]
) -> dict[str, Any]:
    """Return variances of all runs with intervals (Student's t over runs), and the tests.

    `p` (n_a,): Fisher's combination of all runs, times the number of actuators; `above` names
    the actuators whose model error is beyond the measurement error with that at 5 %; `rejected`
    (n_a,): runs in which it is by itself (Bonferroni over the actuators).
    """
    own = [each['errors'][estimator][motion] for each in found]
    of = {key: np.array([each[key] for each in own]) for key in own[0]}
    size = len(joints)
    combined = np.array([stats.combine_pvalues(column).pvalue for column in of['p_value'].T])
    chance = np.minimum(size * combined, 1.0)
    figures: dict[str, Any] = {'estimator': estimator, 'motion': motion}
    for key in ('model_error', 'measurement_error', 'systematic', 'known', 'ratio'):
        figures[key] = of[key].mean(axis=0)
        figures[f'{key}_interval'] = _interval(of[key])
    figures |= {'p': chance, 'rejected': np.sum(size * of['p_value'] < SIGNIFICANCE, axis=0)}
    figures['above'] = [joint for joint, p in zip(joints, chance, strict=True) if p < SIGNIFICANCE]
    return figures


def _interval(values: Array) -> Array | None:
    """Confidence interval (n, 2) of the mean of runs (R, n); None of one run."""
    count = len(values)
    if count < 2:
        return None
    width = stats.t.ppf(TAILS[1], count - 1) * stats.sem(values, axis=0)
    return np.stack([values.mean(axis=0) - width, values.mean(axis=0) + width], axis=1)


def small_p_values(found: Sequence[Mapping[str, Any]], estimator: str) -> dict[str, Any]:
    """Return how many of all p-values are below 5 %: as many where the model lacks nothing."""
    motions = [each['errors'][estimator].values() for each in found]
    values = np.array([[own['p_value'] for own in each] for each in motions]).ravel()
    count = int(np.sum(values < SIGNIFICANCE))
    interval = stats.binomtest(count, len(values)).proportion_ci(CONFIDENCE)
    share = count / len(values)
    return {'of': len(values), 'share': share, 'interval': [interval.low, interval.high]}


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run the robot with all its effects, without cogging, and with what its model has."""
    model = model_of(options.robot)
    joints, estimators = list(model.actuated_joints), list(options.estimators)
    given = (options.robot, options.periods, options.circles, estimators)
    one, cases, noise = partial(one_run, *given), [], {}
    for effects in EFFECTS:
        found = runner.map_seeds(one, options, f'effects {effects}: run', effects, effects=effects)
        if effects == NOISE_OF:
            noise = {kind: summary_of_noise(found, kind) for kind in ('forces', 'positions')}
            noise['forces']['drives'] = np.mean([each['drives'] for each in found], axis=0)
        motions = list(found[0]['errors'][estimators[0]])
        pairs = [(name, motion) for motion in motions for name in estimators]
        cases.append(
            {
                'effects': effects,
                'errors': [summary_of_errors(found, *pair, joints) for pair in pairs],
                'small_p_values': {name: small_p_values(found, name) for name in estimators},
            }
        )
    plant = plant_effects(model, NOISE_OF)
    described = {
        'forces': np.sqrt(np.diag(plant.force_covariance)),
        'positions': np.sqrt(np.diag(plant.position_covariance)),
        'cogging': 0.5 * np.square(plant.cogging_amplitude),  # variance of a sine
    }
    content = {'robot': options.robot, 'joints': joints, 'runs': options.runs}
    content |= {'force_limit': model.force_limit, 'described': described}
    return content | {'noise': noise, 'cases': cases}


SPREADING = Values('at least two periods: one has no spread', (int,), low=FEWEST_PERIODS)
STUDY = Study(
    'noise',
    'noise of the measured forces, and the error of the model against it on two circles',
    'Are deviations from the mean period normal, how large, and how do the axes go together; is '
    'the error of the model larger than the noise, with all effects, without cogging, and with '
    'those alone that the model has [A].',
    (
        robot('palida'),
        Option('periods', SPREADING, 'of the excitation', 20, '1'),
        Option('circles', SPREADING, 'periods of each predicted motion', 5, '1'),
        Option('estimators', TEXT, 'of the models', list(ESTIMATORS), nargs='+', metavar='NAME'),
        *runs(3),
    ),
    run,
)
