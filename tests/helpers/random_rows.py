"""Linear problems of random rows, and the dense matrices over all their equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.signal import butter

from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows, Run
from pkm_identification.regression.selection import Selection
from pkm_identification.regression.weighted_least_squares import Estimate, weighted_least_squares
from pkm_identification.signals.bands import Band, FilterBand, HarmonicBand

AXES = 2
NOMINAL = np.array([2.0, -0.5, 3.0, 10.0, 0.2])
SIZES = np.array([1.0, 4.0, 0.5, 0.1, 6.0])  # of the columns


class RowSignals(SimpleNamespace):
    """What is asked of signals, without any by default."""

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)


def filter_band(step: int = 25, rate: float = 1000.0) -> FilterBand:
    """A low pass at 20 Hz."""
    return FilterBand(butter(4, 20.0, fs=rate, output='sos'), 20.0, rate, step, 100)


def random_problem(
    bands: Sequence[Band],
    *,
    rows: int = 40,
    fixed: dict[int, float] | None = None,
    prior: bool = False,
    unshown: int | None = None,
    knows_noise: bool = True,
    seed: int = 0,
) -> Problem:
    """Return a problem of five parameters and two axes, one run a band.

    Filtered runs have so many `rows`; `fixed` are parameters with their deviations; nothing shows
    the parameter `unshown`. The noise differs from row to row, except in filtered runs.
    """
    random = np.random.default_rng(seed)
    given = fixed or {}
    index = np.array(sorted(given), dtype=np.int64)
    free = np.setdiff1d(np.arange(len(NOMINAL)), index)
    spread = np.diag([given[k] ** 2 for k in index]) if given else np.zeros((0, 0))
    selection = Selection(free, index, 1.1 * NOMINAL[index], spread)
    model: Any = SimpleNamespace(actuated_joints=['left', 'right'])
    base: Any = SimpleNamespace(names=[f'p{k}' for k in range(len(NOMINAL))], rank=len(NOMINAL))
    runs = []
    for band in bands:
        count = 2 * band.harmonics + 1 if isinstance(band, HarmonicBand) else rows
        full = random.normal(size=(count, AXES, len(NOMINAL))) * SIZES
        if unshown is not None:
            full[..., unshown] = 0.0
        one = not isinstance(band, HarmonicBand)
        noise = random_covariances(random, 1 if one else count)
        eta = np.linalg.cholesky(noise) @ random.normal(size=(count, AXES, 1))
        forces = full @ NOMINAL + eta[..., 0] - full[..., index] @ selection.values
        signals: Any = RowSignals(band=band, row_count=count, is_long=False)
        known = Rows(full[..., free], forces, full[..., index])
        runs.append(
            Run(signals, base, model, selection, noise if knows_noise and not one else None)
        )
        runs[-1].known_rows = known
    information = np.zeros((0, len(NOMINAL))), np.zeros(0)
    if prior:
        rows_before = np.zeros((2, len(NOMINAL)))
        rows_before[0, free[0]], rows_before[1, free[:2]] = 3.0, [0.5, -2.0]
        information = rows_before, rows_before @ NOMINAL + [0.7, -0.4]
    return Problem(tuple(runs), base, model, selection, NOMINAL, information)


def with_signals(problem: Problem, number: int, **entries: Any) -> Problem:
    """The problem with more entries of the signals of a run."""
    runs = [*problem.runs]
    signals: Any = RowSignals(**vars(runs[number].signals), **entries)
    runs[number] = replace(runs[number], signals=signals)
    return replace(problem, runs=tuple(runs))


def with_twins(problem: Problem) -> Problem:
    """A problem that shows the sum of the first and the last free parameter alone."""
    runs = []
    for run in problem.runs:
        regressor = run.rows.regressor.copy()
        forces = run.forces + (regressor[..., 0] - regressor[..., -1]) * problem.nominal[-1]
        regressor[..., -1] = regressor[..., 0]
        runs.append(run.with_rows(replace(run.rows, regressor=regressor, forces=forces)))
    return replace(problem, runs=tuple(runs))


def random_covariances(random: np.random.Generator, count: int) -> np.ndarray:
    """Correlated covariances (count, n_a, n_a) of unlike sizes."""
    root = random.normal(size=(count, AXES, AXES)) * 0.3
    return (root @ np.swapaxes(root, 1, 2) + np.diag([0.2, 0.8])) * 0.1


def solved(problem: Problem, *, constant: bool = False, seed: int = 1) -> Estimate:
    """Weighted least squares with weights that are not the inverse of the noise.

    `constant`: weights and noise are the same for all rows of a run.
    """
    random = np.random.default_rng(seed)
    weights, noise = [], []
    for run in problem.runs:
        weights.append(np.eye(AXES) * 3.0 + random.normal(size=(run.count, AXES, AXES)))
        noise.append(random_covariances(random, run.count))
        if run.covariance is not None and not constant:
            noise[-1] = run.covariance
        if constant or not run.is_periodic:
            weights[-1], noise[-1] = weights[-1][0], noise[-1][0]
    return weighted_least_squares(problem, weights, noise)


@dataclass(frozen=True)
class Dense:
    """An estimate by weighted least squares as matrices over all n equations of its problem."""

    problem: Problem
    estimate: Estimate

    def equations(self, number: int) -> slice:
        """Which equations are those of a run."""
        ends = np.cumsum([0, *(run.count * AXES for run in self.problem.runs)])
        return slice(ends[number], ends[number + 1])

    def diagonal(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Matrices (m, n_a, n_a) or (n_a, n_a) of each run as blocks (n, n)."""
        blocks = []
        for run, each in zip(self.problem.runs, arrays, strict=True):
            blocks += list(np.broadcast_to(each, (run.count, AXES, AXES)))
        return np.asarray(block_diag(*blocks))

    @cached_property
    def design(self) -> np.ndarray:
        """Regressor (n, f)."""
        runs = self.problem.runs
        return np.concatenate([run.regressor.reshape(run.count * AXES, -1) for run in runs])

    @cached_property
    def fixed(self) -> np.ndarray:
        """Regressor (n, g) of the fixed parameters."""
        runs = self.problem.runs
        return np.concatenate([run.rows.fixed.reshape(run.count * AXES, -1) for run in runs])

    @cached_property
    def forces(self) -> np.ndarray:
        """Forces (n,) less those of the fixed parameters."""
        return np.concatenate([run.forces.ravel() for run in self.problem.runs])

    @cached_property
    def noise(self) -> np.ndarray:
        """Covariance (n, n) of the forces."""
        return self.diagonal(self.estimate.row_noise)

    @cached_property
    def weight(self) -> np.ndarray:
        """W (n, n) of the sum of squares r^T W r that the estimate minimises."""
        assert self.estimate.weights is not None
        root = self.diagonal(self.estimate.weights)
        return root.T @ root

    @cached_property
    def inverse(self) -> np.ndarray:
        """Inverse (f, f) of the normal matrix, zero for what nothing shows."""
        prior = self.problem.prior_rows
        square = self.design.T @ self.weight @ self.design + prior.T @ prior
        scale = np.sqrt(np.diag(square)) + (np.diag(square) == 0)
        return np.linalg.pinv(square / np.outer(scale, scale)) / np.outer(scale, scale)

    @cached_property
    def gain(self) -> np.ndarray:
        """Change (f, n) of the estimate with the forces."""
        return self.inverse @ self.design.T @ self.weight

    @cached_property
    def prior_gain(self) -> np.ndarray:
        """Change (f, k) of the estimate with the targets of the prior."""
        return self.inverse @ self.problem.prior_rows.T

    @cached_property
    def by_fixed(self) -> np.ndarray:
        """Change (f, g) of the estimate with the fixed parameters."""
        return -self.gain @ self.fixed - self.prior_gain @ self.problem.prior_fixed

    @cached_property
    def residuals(self) -> np.ndarray:
        """Forces less those of the estimate (n,)."""
        return self.forces - self.design @ self.estimate.values

    def covariance(self, noise: np.ndarray) -> np.ndarray:
        """Covariance (f, f) of the estimate for forces with this noise (n, n)."""
        return self.gain @ noise @ self.gain.T + self.prior_gain @ self.prior_gain.T

    @cached_property
    def residual_covariance(self) -> np.ndarray:
        """Covariance (n, n) that the noise of forces and prior gives the residuals."""
        turn = np.eye(len(self.forces)) - self.design @ self.gain
        by_prior = self.design @ self.prior_gain
        return turn @ self.noise @ turn.T + by_prior @ by_prior.T

    def expected_square(self, number: int) -> float:
        """Expected r^T noise^-1 r of the residuals r of a run."""
        own = self.equations(number)
        return float(np.trace(np.linalg.solve(self.noise[own, own], self.part(number))))

    def part(self, number: int) -> np.ndarray:
        """Covariance of the residuals of a run."""
        own = self.equations(number)
        return self.residual_covariance[own, own]

    def square(self, number: int) -> float:
        """r^T noise^-1 r of the residuals r of a run."""
        own = self.equations(number)
        left = self.residuals[own]
        return float(left @ np.linalg.solve(self.noise[own, own], left))
