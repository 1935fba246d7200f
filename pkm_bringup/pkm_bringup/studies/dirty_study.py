"""Identification from dirty recordings: what the examination finds, what the estimates suffer.

Each run is one recording of the shipped excitation with noise, clean and dirty. Errors of the
dirty ones are compared with those of the clean ones, run by run.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT, NOT_NEGATIVE, ROBOT
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, runs
from pkm_bringup.studies.runs.plants import (
    SAMPLING_RATE,
    dataset,
    excitation_of,
    model_of,
    noisy_effects,
    noisy_periods,
    true_base_parameters,
)
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets import Recording
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.excitation_options import FRACTION
from pkm_identification.option import POSITIVE, TEXT, Option
from pkm_identification.quality import Quality
from pkm_identification.quality.clock import stale_rows
from pkm_identification.quality.examine import examined
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

# positions and efforts (N, n_a) without noise at any instants (N,) [s]
Sampler = Callable[[Array], tuple[Array, Array]]

ESTIMATORS = ('ls', 'wls', 'gauss_markov', 'irls')
UNTREATED = 'ls, nothing left out'
UNIT = 'gauss_markov'  # whose standard deviations from clean data are the unit of the errors
LATEST = 0.45  # [1] of an interval: later instants would exchange neighbours
MOST_JITTER = 0.15  # [1] three standard deviations and more before samples change places
MOST_LATE = 8.0  # [1] intervals: later messages are lost ones
MOST_BAD = 0.3  # [1] share of samples beyond which nothing is left to examine


@dataclass(frozen=True)
class Dirt:
    """What is wrong with a recording, and how much."""

    jitter: float  # standard deviation of the sampling instants, in intervals; stamps tell them
    lost: float  # share of the samples that are missing
    outliers: float  # share of the positions and of the efforts, of each joint, that are wrong
    size: Sequence[float]  # least and most of an outlier, in standard deviations of the noise
    stuck: float  # for how long one position sensor stands still [s]
    late: float  # how late the stamps are, standard deviation before its sign is lost, in intervals
    repeated: float  # share of the rows that repeat the one before

    def __post_init__(self) -> None:
        """Check the values."""
        if not 0 <= self.jitter <= MOST_JITTER:
            raise EstimationError(
                f'jitter of {self.jitter:g} intervals would exchange samples; valid are 0 to '
                f'{MOST_JITTER:g}'
            )
        if self.jitter and self.late:
            raise EstimationError(
                'stamps tell the instants of sampling (jitter) or are late, not both: give '
                'jitter 0 with late'
            )
        for name in ('lost', 'outliers', 'repeated'):
            if not 0 <= (share := getattr(self, name)) <= MOST_BAD:
                raise EstimationError(
                    f'a share of {share:g} {name} leaves no recording to examine; valid are 0 to '
                    f'{MOST_BAD:g}'
                )
        if not 0 < self.size[0] <= self.size[1]:
            raise EstimationError(
                f'size of the outliers: {self.size[0]:g} to {self.size[1]:g} is no range'
            )


@dataclass(frozen=True)
class Corrupt:
    """A corrupt recording and what was done to it: bad samples (N, n_a), number of lost ones."""

    dataset: Recording
    position_outliers: Mask
    effort_outliers: Mask
    stuck: Mask
    lost: int
    repeated: Mask  # rows (N,) that hold the sample of the row before

    def found(self) -> Corrupt:
        """Return the same without the rows that are taken for repeats."""
        own = ~stale_rows(self.dataset.source.whole)
        return replace(
            self,
            position_outliers=self.position_outliers[own],
            effort_outliers=self.effort_outliers[own],
            stuck=self.stuck[own],
        )


def corrupt(
    model: ClosedChainModel,
    sample: Sampler,
    clean: Recording,
    noise: tuple[Array, Array],
    dirt: Dirt,
    seed: int,
) -> Corrupt:
    """Record the same motion as a clean dataset, with its noise, through bad equipment.

    `clean` is evenly sampled from 0 s on; `noise` are the standard deviations (n_a,) of positions
    and of efforts.
    """
    assert clean.efforts is not None
    random = np.random.default_rng(seed)
    samples, axes = clean.positions.shape
    even, interval = np.array(clean.time), clean.interval
    late = np.clip(dirt.jitter * random.normal(size=samples), -LATEST, LATEST)
    time = even + interval * late
    exact, jittered = sample(even), sample(time)
    positions = np.array(jittered[0] + clean.positions - exact[0])
    efforts = np.array(jittered[1] + clean.efforts - exact[1])
    hit = []
    for values, deviation in ((positions, noise[0]), (efforts, noise[1])):
        wrong = random.random((samples, axes)) < dirt.outliers
        size = random.uniform(dirt.size[0], dirt.size[1], (samples, axes))
        values += wrong * size * random.choice([-1, 1], (samples, axes)) * deviation
        hit.append(wrong)
    stuck, length = np.zeros((samples, axes), dtype=bool), round(dirt.stuck / interval)
    if length > samples // 2:
        raise EstimationError(
            f'a sensor that stands still for {dirt.stuck:g} s leaves no recording of '
            f'{samples * interval:g} s to examine'
        )
    if length > 1:
        begin, joint = int(random.integers(samples // 10, samples - length)), random.integers(axes)
        positions[begin : begin + length, joint] = positions[begin, joint]
        stuck[begin + 1 : begin + length, joint] = True
        hit[0][stuck] = False
    kept = np.flatnonzero(random.random(samples) >= dirt.lost)
    stamps = time[kept]
    lost = int(samples - len(kept))
    # which sample a row holds: some hold that of the row before
    again = np.append(False, random.random(len(kept) - 1) < dirt.repeated)
    kept = kept[np.maximum.accumulate(np.where(again, 0, np.arange(len(kept))))]
    late = np.minimum(np.abs(dirt.late * random.normal(size=len(kept))), MOST_LATE)
    stamps = np.sort(stamps + interval * late)  # messages do not overtake each other
    data = dataset(model, stamps, positions[kept], clean.period, efforts=efforts[kept])
    return Corrupt(data, hit[0][kept], hit[1][kept], stuck[kept], lost, again)


def record(
    model: ClosedChainModel, periods: int, seed: int
) -> tuple[Recording, Sampler, tuple[Array, Array]]:
    """Return a clean recording, the sampler of the exact motion, and the noise of both signals."""
    trajectory, effects = excitation_of(model), noisy_effects(model.description)
    random = np.random.default_rng(seed)
    time = np.arange(periods * round(trajectory.period * SAMPLING_RATE)) / SAMPLING_RATE

    def sample(instants: Array) -> tuple[Array, Array]:
        motion = trajectory.motion(instants % trajectory.period, model)
        return model.actuator_states(motion).positions, model.inverse_dynamics(motion)

    positions, efforts = noisy_periods(*sample(time), 1, effects, random)
    data = dataset(model, time, positions, trajectory.period, efforts=efforts)
    position_noise = np.sqrt(np.diag(effects.position_covariance))
    return data, sample, (position_noise, np.sqrt(np.diag(effects.force_covariance)))


def one_run(dirt: Dirt, periods: int, robot: str, seed: int) -> dict[str, Any]:
    """Estimates from one recording, clean and dirty, and what the examination found."""
    model = model_of(robot)
    clean, sample, noise = record(model, periods, seed)
    bad = corrupt(model, sample, clean, noise, dirt, seed + 10_000)
    data = examined(bad.dataset.for_model(model))
    before = _estimates(clean.for_model(model), model, ESTIMATORS)
    after = _estimates(data, model, ESTIMATORS)
    raw = _estimates(bad.dataset.for_model(model), model, ('ls',), bad_samples='keep')
    return {
        'clean': {name: values for name, (values, _) in before.items()},
        'dirty': {name: values for name, (values, _) in after.items()} | {UNTREATED: raw['ls'][0]},
        'deviations': before[UNIT][1],
        'found': figures(bad.found(), data),
        'named': _named(bad, data.quality, data.joint_names),
    }


def _estimates(
    data: Recording, model: ClosedChainModel, estimators: Sequence[str], **options: Any
) -> dict[str, tuple[Array, Array]]:
    signals = process(data, SignalOptions(method='fourier', skip_periods=0, **options))
    problem = build_problem(signals, model)
    found = {name: find_estimator(name)(problem) for name in estimators}
    return {name: (each.values, np.sqrt(np.diag(each.covariance))) for name, each in found.items()}


def figures(bad: Corrupt, data: Recording) -> dict[str, float]:
    """Compare what was found in a corrupt recording with what was done to it.

    Shares of the outliers of positions and efforts and of the stuck samples that were left
    out; `false_alarms`, the share of good samples that were left out, too.
    """
    assert data.quality is not None
    good = np.ones(data.positions.shape, dtype=bool)
    out_positions = ~(good if data.position_valid is None else data.position_valid)
    out_efforts = ~(good if data.effort_valid is None else data.effort_valid)
    false = np.count_nonzero(out_positions & ~(bad.position_outliers | bad.stuck))
    false += np.count_nonzero(out_efforts & ~bad.effort_outliers)
    # a dropped repeat is the gap of the sample that was not read
    repeats = sum(each.count for each in data.quality.of_kind('stale'))
    lost = sum(each.count for each in data.quality.of_kind('gap')) - repeats
    return {
        'position_outliers_found': _share(out_positions, bad.position_outliers),
        'effort_outliers_found': _share(out_efforts, bad.effort_outliers),
        'stuck_found': _share(out_positions, bad.stuck),
        'lost_found': lost / max(bad.lost, 1),
        'repeats_found': repeats / max(int(np.count_nonzero(bad.repeated)), 1),
        'false_alarms': false / (2 * good.size),
    }


def _share(found: Mask, wanted: Mask) -> float:
    return float(np.count_nonzero(found & wanted)) / max(int(np.count_nonzero(wanted)), 1)


def _named(bad: Corrupt, quality: Quality | None, names: Sequence[str]) -> dict[str, bool]:
    """Whether every defect that is there has its line with its joint, by kind."""
    assert quality is not None
    lines = {(each.kind, each.signal, each.joint) for each in quality.defects}
    named = {'jitter': 'jitter' in quality.kinds, 'gap': 'gap' in quality.kinds}
    if bad.repeated.any():
        named['stale'] = 'stale' in quality.kinds
    for kind, signal, flags in (
        ('outlier', 'position', bad.position_outliers),
        ('outlier', 'effort', bad.effort_outliers),
        ('stuck', 'position', bad.stuck),
    ):
        wanted = [names[int(k)] for k in np.flatnonzero(flags.any(axis=0))]
        named[f'{kind} of {signal}'] = all((kind, signal, name) in lines for name in wanted)
    return named


def summary(robot: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return errors and shares of all runs of a robot.

    The error of a run is the root mean square over the parameters, in standard deviations
    that `UNIT` reports for the clean recordings (their median).
    """
    truth = true_base_parameters(model_of(robot))
    unit = np.median([run['deviations'] for run in found], axis=0)

    def errors(kind: str, name: str) -> Array:
        values = np.array([run[kind][name] for run in found])
        return np.sqrt(np.mean(((values - truth) / unit) ** 2, axis=1))

    table = {}
    for name in (*ESTIMATORS, UNTREATED):
        clean, dirty = errors('clean', 'ls' if name == UNTREATED else name), errors('dirty', name)
        medians = {'clean': np.median(clean), 'dirty': np.median(dirty)}
        ratio = medians['dirty'] / medians['clean']
        table[name] = {**medians, 'ratio': ratio, 'worst_ratio': np.max(dirty / clean)}

    def mean(kind: str) -> dict[str, Any]:
        return {key: np.mean([run[kind][key] for run in found]) for key in found[0][kind]}

    content = {'robot': model_of(robot).description.name, 'runs': len(found), 'errors': table}
    return content | {kind: mean(kind) for kind in ('found', 'named')}


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Corrupt, examine, identify, compare."""
    dirt = Dirt(**{each.name: getattr(options, each.name) for each in fields(Dirt)})
    one = partial(one_run, dirt, options.periods)
    found = [
        runner.map_seeds(one, options, f'{robot}: run', f'robot_{number}', robot=robot)
        for number, robot in enumerate(options.robot)
    ]
    return {'robots': [summary(*each) for each in zip(options.robot, found, strict=True)]}


STUDY = Study(
    'dirty',
    'recordings with jitter, lost samples, outliers and a stuck sensor',
    'which defects are found, and the error of the estimates against that from clean recordings '
    'of the same motion and noise.',
    (
        Option('robot', TEXT, ROBOT, ['palida', 'rps_upv'], nargs='+', metavar='ROBOT'),
        *runs(10),
        Option('periods', COUNT, 'in each run', 6, '1'),
        Option('jitter', NOT_NEGATIVE, 'standard deviation of instants, in intervals', 0.1, '1'),
        Option('lost', FRACTION, 'share of lost samples', 0.02, '1'),
        Option('outliers', FRACTION, 'share of wrong positions and of wrong efforts', 0.005, '1'),
        Option(
            'size', POSITIVE, 'least and most, in deviations of noise', [15.0, 100.0], '1', nargs=2
        ),
        Option('stuck', NOT_NEGATIVE, 'how long one position sensor stands still', 0.05, 's'),
        Option(
            'late',
            NOT_NEGATIVE,
            'by how much stamps are late, in intervals (instead of jitter of the sampling)',
            0.0,
            '1',
        ),
        Option('repeated', FRACTION, 'share of rows that repeat the one before', 0.0, '1'),
    ),
    run,
)
