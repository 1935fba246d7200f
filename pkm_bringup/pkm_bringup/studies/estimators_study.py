"""Least squares, Gauss-Markov and maximum likelihood on noisy positions [A Table III].

One robot runs the same excitation many times, with other noise each time. What the
estimators make of it is compared with the true parameters: how far off, whether on the
same side each time (bias), and whether the reported standard deviations are the spread.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from scipy import stats

from pkm_bringup.arguments import COUNT
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, plant, robot, runs
from pkm_bringup.studies.runs.plants import (
    excitation_of,
    model_of,
    noisy_effects,
    recorded,
    true_base_parameters,
)
from pkm_dynamics import BaseParameters, ClosedChainModel
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.trajectories import benchmark_circle
from pkm_identification.arrays import Array
from pkm_identification.option import POSITIVE, TEXT, Option
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.solution import solve_problem
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.signals import PeriodicDiagnostics

ESTIMATORS = ('ls', 'gauss_markov', 'tls', 'maximum_likelihood')
BEST = 'maximum_likelihood'  # or the last of the estimators
OPTIONS = {'output_error': {'feedforward': 'nominal'}}  # what the servo adds here
WELL_DETERMINED = 0.15  # relative standard deviation [M 5.3]
SIGNIFICANCE = 0.01
HELD_OUT = 500  # samples of the motion that errors of the parameters are judged by


def force_root(model: ClosedChainModel, base: BaseParameters) -> Array:
    """R (n, n) with |R dp| the root mean square of the forces that parameters dp make.

    Along the benchmark circle [A V]; random motions where a robot cannot run it.
    """
    motion = random_motion(model, HELD_OUT, seed=1)
    if model.platform_determines_joints:
        circle = benchmark_circle(model)
        motion = circle.motion(np.linspace(0.0, circle.duration, HELD_OUT), model)
    rows = base.regressor(motion).reshape(-1, len(base.names))
    return np.asarray(np.linalg.qr(rows, mode='r')) / np.sqrt(len(rows))


def one_run(
    plant: str, periods: int, estimators: Sequence[str], robot: str, scale: float, seed: int
) -> dict[str, Any]:
    """Estimates of one run and their deviations; `scale`: position noise over the described one."""
    model = model_of(robot)
    effects = noisy_effects(model.description, scale)
    data = recorded(model, excitation_of(model), plant, effects, periods, seed)
    signals = process(data.for_model(model), SignalOptions(method='fourier', skip_periods=0))
    problem = build_problem(signals, model)
    assert isinstance(signals.diagnostics, PeriodicDiagnostics)
    found: dict[str, Any] = {'harmonics': signals.diagnostics.kept_harmonics}
    for name in estimators:
        # as `identify`, with its covariance
        solution = solve_problem(problem, name, OPTIONS.get(name, {}))
        deviations = np.sqrt(np.diag(solution.covariance))
        found[name] = {'values': solution.values, 'deviations': deviations}
    return found


def summary(
    found: Sequence[Mapping[str, Any]],
    estimators: Sequence[str],
    truth: Array,
    root: Array,
    names: Sequence[str],
) -> dict[str, Any]:
    """Return figures of each estimator, and paired tests between neighbours.

    Errors of a run: `error` is the root mean square over the parameters in one common unit
    for each, the standard deviation of the best estimator; `relative_error` the mean relative
    error [M 34] of the parameters that it determines within 15 %; `force_error` the root mean
    square [N, N m] of what the errors of the parameters make of the forces of another motion,
    which needs no unit of the parameters (`root`: see `force_root`). `bias`: the mean over all
    runs in standard deviations of one, its largest Student's t over the parameters with its
    p-value after Bonferroni, and in how many parameters it is significant at 1 % by itself.
    """

    def of(name: str, key: str) -> Array:
        return np.array([run[name][key] for run in found])

    best = BEST if BEST in estimators else estimators[-1]
    unit = np.sqrt(np.mean(of(best, 'deviations') ** 2, axis=0))
    well = unit < WELL_DETERMINED * np.abs(truth)
    errors: dict[str, dict[str, Array]] = {}
    content: dict[str, Any] = {'parameters': list(names), 'truth': truth, 'runs': len(found)}
    content['harmonics'] = np.median([run['harmonics'] for run in found])
    content['well_determined'] = list(compress(names, well))
    for name in estimators:
        values, deviations = of(name, 'values'), of(name, 'deviations')
        off = values - truth
        errors[name] = {
            'error': np.sqrt(np.mean((off / unit) ** 2, axis=1)),
            'relative_error': np.mean(np.abs(off[:, well] / truth[well]), axis=1),
            'force_error': np.linalg.norm(off @ root.T, axis=1),
        }
        reported = np.sqrt(np.mean(deviations**2, axis=0))
        content[name] = {
            **{key: np.mean(values) for key, values in errors[name].items()},
            **_bias(off, unit),
            'reported_to_observed': np.median(reported / values.std(axis=0, ddof=1)),
        }
    content['paired'] = {
        f'{better} below {worse}': {
            key: _paired(errors[worse][key], errors[better][key]) for key in errors[better]
        }
        for worse, better in (('ls', 'gauss_markov'), ('gauss_markov', best), ('ls', best))
        if worse in errors and better in errors and worse != better
    }
    return content


def _bias(off: Array, unit: Array) -> dict[str, Any]:
    runs, size = off.shape
    mean, spread = off.mean(axis=0), off.std(axis=0, ddof=1) / np.sqrt(runs)
    student = np.abs(mean) / spread
    p_values = 2 * stats.t.sf(student, runs - 1)
    return {
        'bias': mean / unit,
        'bias_t': mean / spread,
        'largest_bias_t': student.max(),
        'bias_p': min(1.0, size * p_values.min()),
        'biased_parameters': int(np.sum(p_values < SIGNIFICANCE)),
    }


def _paired(worse: Array, better: Array) -> dict[str, Any]:
    """Mean decrease of an error, run by run, its one-sided p-value, runs with a decrease."""
    decrease = worse - better
    return {
        'decrease': np.mean(decrease),
        'share': np.mean(decrease) / np.mean(worse),
        'p': float(stats.ttest_rel(worse, better, alternative='greater').pvalue),
        'runs': int(np.sum(decrease > 0)),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Identify many runs of the shipped excitation at each level of noise."""
    model = model_of(options.robot)
    base, truth = model.base_parameters(shared=True, reduced=True), true_base_parameters(model)
    root, estimators = force_root(model, base), options.estimators
    one, levels = partial(one_run, options.plant, options.periods, tuple(estimators)), []
    for number, scale in enumerate(options.scale):
        noise = noisy_effects(model.description, scale).position_covariance
        told, name = f'position noise x {scale:g}: run', f'level_{number}'
        found = runner.map_seeds(one, options, told, name, robot=options.robot, scale=scale)
        figures = summary(found, estimators, truth, root, base.names)
        level = {'position_noise': np.sqrt(np.mean(np.diag(noise))), **figures}
        levels.append(level | {'plant': options.plant, 'scale': scale})
    return {'robot': options.robot, 'levels': levels}


STUDY = Study(
    'estimators',
    'least squares, Gauss-Markov, total least squares, maximum likelihood on noisy positions',
    'Error, bias and uncertainty over many runs of one excitation.',
    (
        robot('palida'),
        *runs(30, least=2),
        Option('periods', COUNT, 'averaged in each run', 10, '1'),
        # from where it does not matter to where it biases least squares
        Option(
            'scale',
            POSITIVE,
            'position noise in units of that of the description',
            [1.0, 200.0],
            '1',
            nargs='+',
        ),
        plant('noise', 'servo', 'robot'),
        Option(
            'estimators',
            TEXT,
            'with the one that the errors are counted in last, or maximum_likelihood; '
            'output_error needs a servo or robot',
            list(ESTIMATORS),
            nargs='+',
            metavar='NAME',
        ),
    ),
    run,
)
