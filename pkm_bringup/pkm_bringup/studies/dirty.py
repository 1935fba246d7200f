"""Identification from dirty recordings: what the examination finds, what the estimates suffer.

Each run is one recording of the shipped excitation with noise, clean and dirty. Errors of the
dirty ones are compared with those of the clean ones, run by run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.dirt import Dirt, Dirty, soil
from pkm_bringup.studies.estimators import SAMPLING_RATE, plant_effects
from pkm_bringup.studies.noise_plant import noisy_periods
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.quality import Quality
from pkm_identification.quality.examine import examined
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

Array = NDArray[np.float64]

ESTIMATORS = ('ls', 'wls', 'gauss_markov', 'irls')
UNTREATED = 'ls, nothing left out'
UNIT = 'gauss_markov'


@dataclass(frozen=True)
class Run:
    """One recording, clean and dirty.

    Attributes
    ----------
    clean, dirty
        Parameters (r,) by estimator; `dirty` also of `UNTREATED`.
    deviations
        Standard deviations (r,) that `UNIT` reports for the clean recording.
    found
        Figures of the examination.
    """

    clean: dict[str, Array]
    dirty: dict[str, Array]
    deviations: Array
    found: dict[str, Any]


def run_study(
    description: Any,
    runs: int = 10,
    periods: int = 6,
    dirt: Dirt | None = None,
    seed: int = 0,
    estimators: Sequence[str] = ESTIMATORS,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Identify many clean and dirty recordings of one robot; return the report.

    Parameters
    ----------
    description
        Of the robot.
    runs, periods
        Seeds, and periods in each recording.
    dirt
        What is wrong with the dirty ones.
    seed, workers
        Of the first run; processes, see `over_seeds`.
    estimators
        Names; with `UNIT` among them.
    """
    dirt = dirt or Dirt()
    model = ClosedChainModel(description)
    base = model.base_parameters(shared=True, reduced=True)
    one = partial(_run, model, periods, dirt, tuple(estimators))
    found = over_seeds(one, runs, seed, workers, update, f'{description.name}: ')
    truth = np.asarray(base.matrix @ model.nominal_parameters)
    return report(description.name, found, truth, tuple(estimators))


def record(model: Any, periods: int, seed: int) -> tuple[Recording, Any, tuple[Array, Array]]:
    """Return a clean recording, the sampler of the exact motion, and the noise of both signals."""
    trajectory = load_excitation(model.description.name)
    effects = plant_effects(model.description, 1.0)
    period = trajectory.period
    assert period is not None
    random = np.random.default_rng(seed)
    count = periods * round(period * SAMPLING_RATE)
    time = np.arange(count) / SAMPLING_RATE
    cached: dict[bytes, tuple[Array, Array]] = {}

    def sample(instants: Array) -> tuple[Array, Array]:
        key = instants.tobytes()
        if key not in cached:
            motion = trajectory.motion(instants % period, model)
            states = model.actuator_states(motion)
            cached[key] = (states.positions, model.inverse_dynamics(motion))
        return cached[key]

    exact = sample(time)
    dataset = Recording.from_arrays(
        time,
        tuple(model.actuated_joints),
        *noisy_periods(*exact, 1, effects, random),
        period=period,
    )
    noise = tuple(
        np.sqrt(np.diag(each)) for each in (effects.position_covariance, effects.force_covariance)
    )
    return dataset, sample, (noise[0], noise[1])


def _run(model: Any, periods: int, dirt: Dirt, estimators: tuple[str, ...], seed: int) -> Run:
    clean, sample, noise = record(model, periods, seed)
    dirty = soil(sample, clean, noise, dirt, seed + 10_000)
    data = examined(dirty.dataset.for_model(model))
    before = _estimates(clean.for_model(model), model, estimators)
    after = _estimates(data, model, estimators)
    raw = _estimates(dirty.dataset.for_model(model), model, ('ls',), bad_samples='keep')
    return Run(
        {name: values for name, (values, _) in before.items()},
        {name: values for name, (values, _) in after.items()} | {UNTREATED: raw['ls'][0]},
        before[UNIT][1],
        figures(dirty, data),
    )


def _estimates(
    dataset: Recording, model: Any, estimators: Sequence[str], **options: Any
) -> dict[str, tuple[Array, Array]]:
    signals = process(dataset, SignalOptions(method='fourier', skip_periods=0, **options))
    problem = build_problem(signals, model)
    found = {name: find_estimator(name)(problem) for name in estimators}
    return {name: (each.values, np.sqrt(np.diag(each.covariance))) for name, each in found.items()}


def figures(dirty: Dirty, data: Recording) -> dict[str, Any]:
    """Compare what was found in a dirty recording with what was done to it.

    Shares of the outliers of positions and efforts and of the stuck samples that were left
    out; `false_alarms`, the share of good samples that were left out, too; `named`, whether
    the report names each defect with its joint.
    """
    quality = data.quality
    assert quality is not None
    good = np.ones(data.positions.shape, dtype=bool)
    out_positions = ~(good if data.position_valid is None else data.position_valid)
    out_efforts = ~(good if data.effort_valid is None else data.effort_valid)
    bad = dirty.position_outliers | dirty.stuck
    false = np.count_nonzero(out_positions & ~bad)
    false += np.count_nonzero(out_efforts & ~dirty.effort_outliers)
    return {
        'position_outliers_found': _share(out_positions, dirty.position_outliers),
        'effort_outliers_found': _share(out_efforts, dirty.effort_outliers),
        'stuck_found': _share(out_positions, dirty.stuck),
        'lost_found': sum(each.count for each in quality.of_kind('gap')) / max(dirty.lost, 1),
        'false_alarms': false / (2 * good.size),
        'named': _named(dirty, quality, data.joint_names),
    }


def _share(found: Any, wanted: Any) -> float:
    return float(np.count_nonzero(found & wanted)) / max(int(np.count_nonzero(wanted)), 1)


def _named(dirty: Dirty, quality: Quality, names: Sequence[str]) -> dict[str, bool]:
    """Whether every defect that is there has its line, by kind."""
    lines = {(each.kind, each.signal, each.joint) for each in quality.defects}
    named = {'jitter': 'jitter' in quality.kinds, 'gap': 'gap' in quality.kinds}
    for kind, signal, bad in (
        ('outlier', 'position', dirty.position_outliers),
        ('outlier', 'effort', dirty.effort_outliers),
        ('stuck', 'position', dirty.stuck),
    ):
        wanted = [names[int(k)] for k in np.flatnonzero(bad.any(axis=0))]
        named[f'{kind} of {signal}'] = all((kind, signal, name) in lines for name in wanted)
    return named


def report(
    robot: str, runs: Sequence[Run], truth: Array, estimators: Sequence[str]
) -> dict[str, Any]:
    """Return errors and shares of all runs.

    The error of a run is the root mean square over the parameters, in standard deviations
    that `UNIT` reports for the clean recordings (their median).
    """
    unit = np.median([run.deviations for run in runs], axis=0)

    def errors(values: Sequence[Array]) -> Array:
        return np.sqrt(np.mean(((np.array(values) - truth) / unit) ** 2, axis=1))

    table = {}
    for name in (*estimators, UNTREATED):
        clean = errors([run.clean[name if name in run.clean else 'ls'] for run in runs])
        dirty = errors([run.dirty[name] for run in runs])
        table[name] = {
            'clean': float(np.median(clean)),
            'dirty': float(np.median(dirty)),
            'ratio': float(np.median(dirty) / np.median(clean)),
            'worst_ratio': float(np.max(dirty / clean)),
        }
    named = [run.found['named'] for run in runs]
    return {
        'robot': robot,
        'runs': len(runs),
        'errors': table,
        'found': {
            key: float(np.mean([run.found[key] for run in runs]))
            for key in runs[0].found
            if key != 'named'
        },
        'named': {kind: float(np.mean([each[kind] for each in named])) for kind in named[0]},
    }
