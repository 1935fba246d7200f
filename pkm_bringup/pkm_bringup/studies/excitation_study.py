"""Deterministic against statistical design of an excitation [A IV.C].

Two trajectories are optimised from the same start: T_d for the condition number of the
regressor, which knows nothing of the noise, T_s for the volume of the confidence
ellipsoid (d-optimal). Both are run many times with the simulated robot's correlated
noise, each run is identified on its own, and the spread of the estimates is compared.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from pkm_bringup.arguments import COUNT
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Output, Study, plant, robot, runs
from pkm_bringup.studies.runs.design_runs import (
    ESTIMATORS,
    Information,
    Record,
    estimate_runs,
    executed_deviations,
    force_noise,
    joined,
    predict,
    record,
    signals_of,
)
from pkm_bringup.studies.runs.plants import SAMPLING_RATE, model_of, true_base_parameters
from pkm_bringup.studies.runs.spread_statistics import agreement, bias, compare, independence
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.design import build_design_problem, suggested_period
from pkm_identification.excitation.search.starts import random_start
from pkm_identification.option import POSITIVE, Option, choice
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import HarmonicBand

DETERMINISTIC, STATISTICAL = 'T_d', 'T_s'
CONDITIONS = ('condition_number', 'condition_number_scaled')
MAIN = 'gauss_markov'  # what the information matrix of a design describes
SOURCES = ('predicted', 'executed')  # standard deviations that the observed ones are held against
CANDIDATES = 5  # random starts, the best of which is improved
BATCH = 25  # runs that are consecutive periods of one simulation, and identified by one process
LEAST_RUNS = 3  # that have a spread, and a correlation of one with the next


@dataclass(frozen=True)
class Runs:
    """What many runs of one design gave; estimates (runs, n) by estimator.

    `executed` are the standard deviations (n,) of one run that follow from the motion as it was
    run, the mean of all runs, and the noise of forces and positions as it was found.
    """

    design: ExcitationDesign
    information: Information  # of one period of the motion as designed, with force noise alone
    estimates: dict[str, Array]
    executed: dict[str, Array]
    signals: Signals  # the mean of all runs
    record: Record


def design_pair(
    model: ClosedChainModel,
    harmonics: int,
    period: float | None,
    iterations: int,
    seed: int,
    deterministic: str,
    update: Callable[[str, float | None], None],
) -> dict[str, ExcitationDesign]:
    """Design T_d and T_s from one random feasible start.

    Both have the same period, a whole number of milliseconds, so that a run of either has
    as many samples. T_d is for noise of unit variance: the deterministic approach has no
    statistics; its criterion is one of `CONDITIONS`. T_s is for the simulated robot's force noise.
    """
    noise = force_noise(model)
    base = model.base_parameters(shared=True, reduced=True)
    period = suggested_period(model, harmonics) if period is None else period
    period = max(round(period * SAMPLING_RATE), 1) / SAMPLING_RATE
    problem = build_design_problem(
        model, base, {'d_optimal': 1.0}, harmonics, period, DesignLimits(), noise_covariance=noise
    )
    z, _ = random_start(problem, CANDIDATES, np.random.default_rng(seed))
    start = problem.trajectory(z)
    designs = {}

    def tell(name: str, text: str, fraction: float, left: float, criterion: float) -> None:
        update(f'{name}: {text}', fraction)

    for name, criterion, covariance in (
        (DETERMINISTIC, deterministic, None),
        (STATISTICAL, 'd_optimal', noise),
    ):
        search: dict[str, Any] = {'starts': 0, 'iterations': iterations, 'workers': 1}
        search |= {'noise_covariance': covariance, 'initial': start}
        designs[name] = design_excitation(
            model, criterion, harmonics, period, **search, progress=partial(tell, name)
        )
    return designs


def run_designs(
    robot: str,
    designs: Mapping[str, ExcitationDesign],
    runs: int,
    seed: int,
    plant: str,
    runner: Runner,
) -> dict[str, Runs]:
    """Run all designs on a plant (see `plants`) and identify each run on its own."""
    model, chosen = model_of(robot), list(designs.values())
    firsts = range(0, runs, BATCH)
    batches = [
        {'design': index, 'number': number, 'size': min(BATCH, runs - first)}
        for index in range(len(chosen))
        for number, first in enumerate(firsts)
    ]
    motions = [(design.trajectory, design.ramp_time) for design in chosen]
    one = partial(record_batch, robot, motions, plant, seed)
    found = runner.map(one, batches, 'recording', 'recording')
    count = len(firsts)
    records = [joined(found[k * count : (k + 1) * count]) for k in range(len(chosen))]
    pairs = zip(records, chosen, strict=True)
    signals = [signals_of(model, measured, design.period) for measured, design in pairs]
    one = partial(estimate_batch, robot, signals)
    parts = runner.map(one, batches, 'identification of each run', 'estimates')
    result = {}
    for k, (name, design) in enumerate(designs.items()):
        mine = parts[k * count : (k + 1) * count]
        estimates = {key: np.concatenate([part[key] for part in mine]) for key in ESTIMATORS}
        told, executed = predict(model, design.trajectory), executed_deviations(model, signals[k])
        result[name] = Runs(design, told, estimates, executed, signals[k], records[k])
    return result


def record_batch(
    robot: str,
    motions: Sequence[tuple[Trajectory, float]],
    plant: str,
    seed: int,
    design: int,
    number: int,
    size: int,
) -> dict[str, Any]:
    """Record some consecutive runs of a design; `number` counts the batches."""
    return asdict(record(model_of(robot), *motions[design], size, [seed, design, number], plant))


def estimate_batch(
    robot: str, signals: Sequence[Signals], design: int, number: int, size: int
) -> dict[str, Array]:
    """Identify the runs of a batch one by one."""
    chosen = range(number * BATCH, number * BATCH + size)
    return estimate_runs(model_of(robot), signals[design], chosen)


def summary(model: ClosedChainModel, pair: Mapping[str, Runs]) -> dict[str, Any]:
    """Return everything the study found, as plain values; the deterministic design is first."""
    first, second = pair.values()
    truth = true_base_parameters(model)
    volumes = [0.5 * runs.information.figures['d_optimal'] for runs in (first, second)]
    content: dict[str, Any] = {
        'robot': first.design.trajectory.robot,
        'runs': len(first.estimates[MAIN]),
        'period': first.design.period,
        'parameters': list(first.design.names),
        'truth': truth,
        'designs': {name: _design_figures(runs) for name, runs in pair.items()},
        'log_volume_ratio_predicted': volumes[1] - volumes[0],
    }
    for estimator in ESTIMATORS:
        content[estimator] = {
            **compare(first.estimates[estimator], second.estimates[estimator]),
            'of': {name: _agreement(runs, estimator, truth) for name, runs in pair.items()},
        }
    return content


def _design_figures(runs: Runs) -> dict[str, Any]:
    signals = runs.signals
    band, measured = signals.band, signals.measured_harmonics
    assert signals.force_noise is not None and signals.position_noise is not None
    assert isinstance(band, HarmonicBand) and measured is not None
    return {
        'criterion': runs.design.criterion,
        'iterations': runs.design.origin['iterations'],
        **runs.information.figures,
        'harmonics_used': band.harmonics,
        'harmonics_measured': int(measured[1:].sum()),
        'force_noise': np.sqrt(np.diag(signals.force_noise.covariance)),
        'position_noise': np.sqrt(np.diag(signals.position_noise.covariance)),
        'limits_left': dict(runs.record.limits_left),
        'saturated': runs.record.saturated,
    }


def _agreement(runs: Runs, estimator: str, truth: Array) -> dict[str, Any]:
    """Return how the estimates of one design spread, against both predictions."""
    estimates = runs.estimates[estimator]
    observed = estimates.std(axis=0, ddof=1)
    predictions = (runs.information.deviations[estimator], runs.executed[estimator])
    sources = dict(zip(SOURCES, predictions, strict=True))
    error, uncertainty = bias(estimates, truth)
    limit = stats.t.ppf(0.975, len(estimates) - 1)
    return {
        **sources,
        'mean_error': error,
        'biased': int(np.sum(np.abs(error) > limit * uncertainty)),
        'agreement': {key: agreement(sources[key], observed, len(estimates)) for key in sources},
        'independence': independence(estimates),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Design, run, compare."""
    model = model_of(options.robot)
    names = ('harmonics', 'period', 'iterations', 'seed', 'deterministic')
    given = {name: getattr(options, name) for name in names}
    designs = design_pair(model, **given, update=runner.update)
    runner.files |= {f'{name}.yaml': design.save for name, design in designs.items()}
    found = run_designs(options.robot, designs, options.runs, options.seed, options.plant, runner)
    return summary(model, found) | {'plant': options.plant, 'seed': options.seed}


STUDY = Study(
    'excitation',
    'deterministic against statistical design: spread of the estimates over many runs',
    'T_d minimises the condition number, T_s -ln det F, both from one start and with one period; '
    'every run is identified on its own. Predicted standard deviations are those of the motion as '
    'designed with force noise alone; those of the motion as run also know how it deviated and the '
    'noise of forces and positions, from the spread over all runs.',
    (
        robot('palida'),
        *runs(100, 'of each', least=LEAST_RUNS),
        Option('harmonics', COUNT, 'of each coordinate', 5, '1'),
        Option('period', POSITIVE, 'of both, rounded to milliseconds', None, 's', 'by the limits'),
        Option('iterations', COUNT, 'steps of each design [1], fewer where it converges', 400),
        Option(
            'deterministic', choice(*CONDITIONS), 'of T_d, in SI units or scaled', CONDITIONS[0]
        ),
        plant('robot', 'noise'),
    ),
    run,
    Output.FOLDER,
)
