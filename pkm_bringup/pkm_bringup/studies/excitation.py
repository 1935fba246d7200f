"""Deterministic against statistical design of an excitation [A IV.C].

Two trajectories are optimised from the same start: T_d for the condition number of the
regressor, which knows nothing of the noise, T_s for the volume of the confidence
ellipsoid (d-optimal). Both are run many times with the simulated robot's correlated
noise, each run is identified on its own, and the spread of the estimates is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.excitation_runs import (
    ESTIMATORS,
    SAMPLING_RATE,
    Record,
    estimate_runs,
    executed_deviations,
    joined,
    record,
    signals_of,
)
from pkm_bringup.studies.prediction import Information, force_noise, predict
from pkm_bringup.studies.seeds import Update, in_processes
from pkm_description.errors import EstimationError
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.design import build_design_problem, suggested_period
from pkm_identification.excitation.search.starts import random_start
from pkm_identification.signals import Signals

Array = NDArray[np.float64]

NAMES = ('T_d', 'T_s')
DETERMINISTIC = ('condition_number', 'condition_number_scaled')
CANDIDATES = 5
BATCH = 25  # runs that are consecutive periods of one simulation, and identified by one process
LEAST_RUNS = 3


@dataclass(frozen=True)
class Runs:
    """What many runs of one trajectory gave.

    Attributes
    ----------
    name : str
        T_d or T_s.
    design : ExcitationDesign
    information : Information
        What one period of the motion as designed tells, with the force noise alone.
    estimates : {estimator: (runs, n)}
        One row a run.
    executed : {estimator: (n,)}
        Standard deviations of one run that follow from the motion as it was run, the mean
        of all runs, and the noise of forces and positions as it was found.
    truth : (n,)
        Parameters of the plant.
    noise : {signal: (n_a,)}
        Standard deviations that were found in the runs: `forces` [N, N m], `positions`
        [m, rad].
    harmonics, measured_harmonics : int
        Of the fundamental, that the estimators use; those in which the motion stands out
        of the position noise.
    limits_left : {limit: fraction}
        Least distance to each limit that the plant kept, of the limit, over approach,
        ramps and all runs; empty where no plant moved.
    saturated : float
        Fraction of the samples with a force at its limit.
    """

    name: str
    design: ExcitationDesign
    information: Information
    estimates: dict[str, Array]
    executed: dict[str, Array]
    truth: Array
    noise: dict[str, Array]
    harmonics: int
    measured_harmonics: int
    limits_left: dict[str, float]
    saturated: float


def design_pair(
    model: Any,
    harmonics: int = 5,
    period: float | None = None,
    iterations: int = 400,
    seed: int = 0,
    deterministic: str = 'condition_number',
    update: Update = lambda text, fraction: None,
) -> dict[str, ExcitationDesign]:
    """Design T_d and T_s from one random feasible start.

    Both have the same period, a whole number of milliseconds, so that a run of either has
    as many samples. T_d is for noise of unit variance: the deterministic approach has no
    statistics. T_s is for the force noise of the simulated robot.

    Parameters
    ----------
    deterministic : str
        Criterion of T_d: one of `DETERMINISTIC`.
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
    for name, criterion, covariance in zip(
        NAMES, (deterministic, 'd_optimal'), (None, noise), strict=True
    ):
        designs[name] = design_excitation(
            model,
            criterion,
            harmonics,
            period,
            noise_covariance=covariance,
            initial=start,
            starts=0,
            iterations=iterations,
            workers=1,
            progress=lambda text, fraction, left, name=name: update(f'{name}: {text}', fraction),  # type: ignore[misc]
        )
    return designs


def run_designs(
    model: Any,
    designs: dict[str, ExcitationDesign],
    runs: int = 100,
    seed: int = 0,
    plant: str = 'robot',
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> list[Runs]:
    """Run all designs and identify each run on its own.

    Parameters
    ----------
    plant : str
        `robot`: the simulated robot under control with all its effects (friction with
        Stribeck, cogging, noise of forces and positions). `noise`: the exact motion and
        its nominal forces with the same noise added.
    workers : int, optional
        Processes, one a core by default; no effect on the result.

    Raises
    ------
    EstimationError
        Fewer than three runs.
    SimulationError, FeasibilityError
        The plant does not follow a design.
    """
    if runs < LEAST_RUNS:
        raise EstimationError(f'{runs} runs have no spread to compare: at least {LEAST_RUNS}')
    sizes = [min(BATCH, runs - done) for done in range(0, runs, BATCH)]
    chosen = list(designs.values())
    batches = [
        Batch(index, number, number * BATCH, size)
        for index in range(len(chosen))
        for number, size in enumerate(sizes)
    ]
    records = in_processes(
        partial(_record, model, chosen, seed, plant), batches, workers, update, 'recording'
    )
    sets = [
        joined(records[index * len(sizes) : (index + 1) * len(sizes)])
        for index in range(len(designs))
    ]
    signals = [
        signals_of(model, measured, design)
        for measured, design in zip(sets, designs.values(), strict=True)
    ]
    parts = in_processes(
        partial(_estimate, model, signals), batches, workers, update, 'identification of each run'
    )
    grouped = [parts[i * len(sizes) : (i + 1) * len(sizes)] for i in range(len(designs))]
    return [
        _runs(name, model, designs[name], measured, each, found)
        for name, measured, each, found in zip(designs, sets, signals, grouped, strict=True)
    ]


class Batch(NamedTuple):
    """Some runs of one design: its index, their number, the first of them, how many."""

    design: int
    number: int
    first: int
    size: int


def _record(
    model: Any, designs: list[ExcitationDesign], seed: int, plant: str, batch: Batch
) -> Record:
    random = [seed, batch.design, batch.number]
    return record(model, designs[batch.design], batch.size, random, plant)


def _estimate(model: Any, signals: list[Signals], batch: Batch) -> dict[str, Array]:
    runs = range(batch.first, batch.first + batch.size)
    return estimate_runs(model, signals[batch.design], runs)


def _runs(
    name: str, model: Any, design: ExcitationDesign, measured: Record, signals: Any, parts: Any
) -> Runs:
    base = model.base_parameters(shared=True, reduced=True)
    return Runs(
        name,
        design,
        predict(model, design),
        {key: np.concatenate([part[key] for part in parts]) for key in ESTIMATORS},
        executed_deviations(model, signals),
        np.asarray(base.matrix @ model.nominal_parameters),
        {
            'forces': np.sqrt(np.diag(signals.force_noise.covariance)),
            'positions': np.sqrt(np.diag(signals.position_noise.covariance)),
        },
        int(signals.band.harmonics),
        int(signals.measured_harmonics[1:].sum()),
        measured.limits_left,
        measured.saturated,
    )
