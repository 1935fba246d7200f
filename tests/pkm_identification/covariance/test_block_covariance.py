"""Intervals of parameters from blocks of rows, in repeated recordings with honest and bad noise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from random_rows import filter_band, random_problem, solved
from scipy import stats
from scipy.signal import lfilter

from pkm_identification.covariance.block_covariance import variance_between_runs
from pkm_identification.covariance.blocks import BLOCKS, blocks_of
from pkm_identification.covariance.residual_scaling import residual_scaled_covariance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, Run
from pkm_identification.regression.selection import Selection
from pkm_identification.regression.weighted_least_squares import weighted_least_squares

ROWS = 400
AXES = 2
KINDS = 4  # of parameters of an axis: inertia, viscous and Coulomb friction, offset
REPEATS = 60  # recordings of other motions and noise
# Chance that a right method fails a test: the limits below are so many standard deviations of a
# binomial off 95 %, with as many independent intervals as there are repeats and axes
CHANCE = 1e-4


def motion(random: np.random.Generator, rows: int = ROWS) -> np.ndarray:
    """Regressor (rows, n_a, f) of axes that swing at 3 to 40 cycles in the recording."""
    phase = 2 * np.pi * np.arange(rows) / rows
    regressor = np.zeros((rows, AXES, AXES * KINDS))
    for axis in range(AXES):
        cycles, start = random.uniform(3, 40, 8), random.uniform(0, 2 * np.pi, 8)
        angle = phase[:, None] * cycles + start
        velocity = np.cos(angle).sum(axis=1)
        acceleration = -np.sin(angle) @ cycles / 10
        columns = (acceleration, velocity, np.tanh(velocity / 0.05), np.ones(rows))
        regressor[:, axis, KINDS * axis : KINDS * (axis + 1)] = np.stack(columns, axis=1)
        regressor[:, axis, KINDS * (AXES - 1 - axis)] += 0.4 * acceleration  # coupled inertias
    return regressor


def noise(random: np.random.Generator, memory: float, rows: int = ROWS) -> np.ndarray:
    """Noise (rows, n_a) of unit variance whose correlation falls to 1/e within `memory` rows."""
    if not memory:
        return random.normal(size=(rows, AXES))
    kept = np.exp(-1 / memory)
    steps = random.normal(size=(rows, AXES)) * np.sqrt(1 - kept**2)
    steps[0] /= np.sqrt(1 - kept**2)
    return np.asarray(lfilter([1.0], [1.0, -kept], steps, axis=0))


def problem_of(*runs: tuple[np.ndarray, np.ndarray]) -> Problem:
    """A problem of runs in time with these regressors and forces."""
    size = runs[0][0].shape[-1]
    selection = Selection(np.arange(size), np.zeros(0, int), np.zeros(0), np.zeros((0, 0)))
    model: Any = SimpleNamespace(actuated_joints=['left', 'right'])
    base: Any = SimpleNamespace(names=[f'p{k}' for k in range(size)], rank=size)
    found = []
    for regressor, forces in runs:
        signals: Any = SimpleNamespace(band=filter_band(), row_count=len(forces), is_long=False)
        found.append(Run(signals, base, model, selection))
        found[-1].known_rows = Rows(regressor, forces, regressor[..., :0])
    nothing = np.zeros((0, size)), np.zeros(0)
    return Problem(tuple(found), base, model, selection, np.ones(size), nothing)


def intervals(problem: Problem, truth: np.ndarray) -> np.ndarray:
    """Whether the 95 % intervals (f,) hold the truth."""
    weights = [np.eye(AXES) for _ in problem.runs]
    size = [np.eye(AXES) * np.mean(run.forces**2) for run in problem.runs]
    estimate = weighted_least_squares(problem, weights, size)
    covariance, fit = residual_scaled_covariance(problem, estimate)
    assert fit.covariance_freedom is not None
    reach = stats.t.ppf(0.975, fit.covariance_freedom) * np.sqrt(np.diag(covariance))
    return np.asarray(np.abs(estimate.values - truth) <= reach)


def limits(count: int) -> tuple[float, float]:
    """Shares of so many independent intervals that a level of 93 to 97 % makes."""
    low, high = stats.binom.ppf([CHANCE, 1 - CHANCE], count, [0.93, 0.97])
    return low / count, high / count


@pytest.mark.parametrize(
    ('memory', 'is_uneven'),
    [(0.0, False), (0.0, True), (4.0, False), (ROWS / 40, True), (ROWS / 10, False)],
)
def test_intervals_hold_the_truth_where_the_noise_is_coloured_or_uneven(memory, is_uneven):
    """Correlated over up to a tenth of the recording, or larger where an axis is fast."""
    random = np.random.default_rng(0)
    truth = np.linspace(-2.0, 3.0, AXES * KINDS)
    held = []
    for _ in range(REPEATS):
        regressor = motion(random)
        eta = noise(random, memory)
        if is_uneven:
            speed = np.stack([regressor[:, a, KINDS * a + 1] for a in range(AXES)], axis=1)
            eta *= 0.3 + 0.7 * np.abs(speed) / speed.std()
        held.append(intervals(problem_of((regressor, regressor @ truth + eta)), truth))
    share = np.mean(held, axis=0)
    low, high = limits(REPEATS * AXES)
    for kind in range(KINDS):
        assert share[kind::KINDS].mean() >= low
    # of all parameters, which are as many as independent ones of one axis
    assert low <= share.mean() <= high


def test_intervals_hold_what_the_best_model_without_an_effect_has():
    """Stribeck friction that the model lacks: the truth is the fit to very many motions."""
    random = np.random.default_rng(1)
    truth = np.linspace(-2.0, 3.0, AXES * KINDS)

    def recording() -> tuple[np.ndarray, np.ndarray]:
        regressor = motion(random)
        speed = np.stack([regressor[:, a, KINDS * a + 1] for a in range(AXES)], axis=1)
        lacking = 2.0 * np.sign(speed) * np.exp(-np.abs(speed))
        return regressor, regressor @ truth + lacking + 0.3 * noise(random, 3.0)

    recordings = [recording() for _ in range(REPEATS)]
    design = np.concatenate([each[0].reshape(-1, AXES * KINDS) for each in recordings])
    forces = np.concatenate([each[1].ravel() for each in recordings])
    best = np.linalg.lstsq(design, forces, rcond=None)[0]
    share = np.mean([intervals(problem_of(each), best) for each in recordings])
    low, high = limits(REPEATS * AXES)
    assert low <= share <= high


def test_forces_are_as_uncertain_where_the_data_hardly_tell_parameters_apart():
    """Other parameters of the same model have other values, and the same forces.

    Their correlations are 1 but for 1e-8. Mean variance of the forces of the data: the same within
    a factor of three, as the directions are others (six deviations of its logarithm over 100
    seeds); factors of single parameters make it 1e6 and more.
    """
    random = np.random.default_rng(3)
    regressor = motion(random)
    speed = np.stack([regressor[:, a, KINDS * a + 1] for a in range(AXES)], axis=1)
    forces = regressor @ np.linspace(-2.0, 3.0, AXES * KINDS)
    forces = forces + noise(random, 4.0) * (0.3 + 0.7 * np.abs(speed) / speed.std())
    mixing = np.ones((AXES * KINDS,) * 2) + 1e-4 * random.normal(size=(AXES * KINDS,) * 2)
    variances = []
    for design in (regressor, regressor @ mixing):
        problem = problem_of((design, forces))
        size = [np.eye(AXES) * np.mean(forces**2)]
        estimate = weighted_least_squares(problem, [np.eye(AXES)], size)
        covariance, _ = residual_scaled_covariance(problem, estimate)
        variances.append(np.mean(np.sum((design @ covariance) * design, axis=-1)))
    assert 1 / 3 < variances[1] / variances[0] < 3


def test_recordings_that_differ_widen_the_intervals():
    """An offset of each recording: few recordings leave few degrees of freedom."""
    random = np.random.default_rng(2)
    truth = np.linspace(-2.0, 3.0, AXES * KINDS)
    held, offsets = [], slice(KINDS - 1, None, KINDS)
    for _ in range(REPEATS):
        runs = []
        for _ in range(4):
            regressor = motion(random)
            own = truth.copy()
            own[offsets] += random.normal(size=AXES)
            runs.append((regressor, regressor @ own + 0.3 * noise(random, 0.0)))
        held.append(intervals(problem_of(*runs), truth))
    low, high = limits(REPEATS * AXES)
    assert low <= np.mean(np.array(held)[:, offsets]) <= high


def test_the_spread_between_recordings_counts_what_the_longest_one_takes():
    """One recording tells 70 % of the parameters and bends the fit towards its own errors.

    Independent noise of variance one: the spread then means (Psi^T Psi)^-1, which it scatters about
    with a deviation of about its size: a mean of so many parameters and draws by 3 %.
    """
    random = np.random.default_rng(4)
    truth = np.linspace(-2.0, 3.0, AXES * KINDS)
    ratios = []
    for _ in range(4 * REPEATS):
        designs = [motion(random, rows) for rows in (ROWS, 60, 60, 60)]
        runs = [(each, each @ truth + noise(random, 0.0, len(each))) for each in designs]
        problem = problem_of(*runs)
        weights = [np.eye(AXES) for _ in runs]
        estimate = weighted_least_squares(problem, weights, weights)
        found = variance_between_runs(problem, estimate, np.eye(AXES * KINDS))
        rows = np.concatenate([each.reshape(-1, AXES * KINDS) for each in designs])
        ratios.append(found / np.diag(np.linalg.inv(rows.T @ rows)))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)  # five deviations; 0.65 without


def test_a_fit_without_a_block_is_told_without_another_fit():
    """The change is that of the estimate from all other rows."""
    problem = random_problem((filter_band(),), rows=120, prior=True)
    estimate = solved(problem)
    blocks = blocks_of(problem, estimate, 0)
    assert len(blocks) == BLOCKS and sum(len(each.rows) for each in blocks) == 120
    rows = problem.runs[0].rows
    for number in (0, 7, 19):
        kept = np.ones(120, dtype=bool)
        kept[6 * number : 6 * number + 6] = False
        fewer = Rows(rows.regressor[kept], rows.forces[kept], rows.fixed[kept])
        run = problem.runs[0].with_rows(fewer)
        without = weighted_least_squares(
            Problem(**{**vars(problem), 'runs': (run,)}), estimate.weights, estimate.row_noise
        )
        np.testing.assert_allclose(
            estimate.values - blocks[number].change, without.values, rtol=1e-7, atol=1e-9
        )
