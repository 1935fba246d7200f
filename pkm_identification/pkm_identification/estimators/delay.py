"""Time from positions to efforts, estimated together with the parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.quality.examine import examined
from pkm_identification.regression.numerics import column_sizes, scaled_least_squares
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.weighted_least_squares import inverse_root, whitened_rows
from pkm_identification.result.diagnostics import Delay
from pkm_identification.signals import SignalOptions, Signals, process
from pkm_identification.signals.bands import FilterBand

SHIFT = 1.0  # of a sampling interval, to either side: friction changes sign between samples
MOST_ROUNDS = 20  # five are usual
SMALL_CHANGE = 0.05  # of a standard deviation: no user sees a smaller one
SMALLEST_CHANGE = 1e-4  # of a sampling interval: the end for data without noise
SINGULAR_SHIFT = 1e-9  # of the largest singular value: directions below are not shown
FARTHEST = 0.25  # of the fastest period of the motion: beyond, a shift looks like another one


def estimate_delay(
    dataset: Recording,
    model: ClosedChainModel,
    options: SignalOptions | None = None,
    **parameters: Any,
) -> Delay:
    """Estimate by how much efforts are later than the positions they are recorded with.

    Forces are those of the motion at t + d: F(t) = Psi(t + d) p. Gauss-Newton on p and d with
    the weights of Gauss-Markov, for periodic and other motions alike; the recorded delay is
    the start. It is one number for all axes.

    Parameters
    ----------
    dataset
        Of a long one, the first samples are used.
    model
        The mechanism.
    options
        Of the signals.
    **parameters
        `shared`, `reduced`, `estimate`, `fixed`, `prior` as for `identify`.

    Raises
    ------
    EstimationError
        The motion does not determine it, or it is too far from the recorded one.
    """
    ready = tuple(dataset.joint_names) == tuple(model.actuated_joints)
    is_prepared = ready and dataset.effort_limits is not None
    head = (dataset if is_prepared else dataset.for_model(model)).head
    options = replace(options or SignalOptions(), delay=None)
    if options.bad_samples == 'leave_out':
        head = examined(head, options.clock)
    recorded = head.effort_delay
    step = SHIFT * head.interval
    value, change, deviation, damping = recorded, np.inf, np.inf, 1.0
    start = process(head, options)
    limit = longest_delay(start)
    band = _band_of_all(start, limit + 2 * step)

    def with_delay(delay: float) -> Problem:
        signals = process(head.with_delay(delay), options)
        return build_problem(replace(signals, band=band or signals.band), model, **parameters)

    for _ in range(MOST_ROUNDS):
        problem, before = with_delay(value), change
        nearer, farther = with_delay(value - step), with_delay(value + step)
        change, deviation = _correction(problem, nearer, farther, step)
        if before * change < 0 and abs(change) > 0.5 * abs(before):
            damping /= 2  # beyond the minimum and back again
        value += damping * change
        if abs(value - recorded) > limit:
            raise EstimationError(
                f'the delay found, {value:.4g} s, is more than {limit:.3g} s from the recorded '
                f'{recorded:.4g} s: a quarter of the fastest period of the motion; give an '
                'effort_delay that is nearer'
            )
        if abs(change) < max(SMALL_CHANGE * deviation, SMALLEST_CHANGE * head.interval):
            return Delay(float(value), float(deviation), float(recorded))
    raise EstimationError(
        f'the delay did not converge in {MOST_ROUNDS} rounds (last change {change:.3g} s, standard '
        f'deviation {deviation:.3g} s): the motion hardly determines it'
    )


def _band_of_all(signals: Signals, farther: float) -> FilterBand | None:
    """Return a band of filtered signals for delays up to `farther` [s] longer; else None.

    A filter leaves out more at the ends the longer the delay is. Rows of several delays are of
    the same samples only where all leave out what the longest does.
    """
    band = signals.band
    if not isinstance(band, FilterBand):
        return None
    trim = band.trim + int(np.ceil(farther * band.rate))
    if len(signals) <= 4 * trim:
        raise EstimationError(
            f'{len(signals) / band.rate:.3g} s are too few to find a delay that may be '
            f'{farther:.3g} s off: at least {4 * trim / band.rate:.3g} s'
        )
    return replace(band, trim=trim)


def _correction(
    problem: Problem, nearer: Problem, farther: Problem, step: float
) -> tuple[float, float]:
    """Change of the delay that fits best, and its standard deviation [s]."""
    noise = noise_of_rows(problem)
    design, target = whitened_rows(problem, noise)
    values = scaled_least_squares(design, target, SINGULAR_SHIFT)
    full = problem.expand(values)
    slope = (_predicted(farther, full) - _predicted(nearer, full)) / (2 * step)
    root = inverse_root(noise[0])
    column = (root @ slope[..., None]).ravel()
    own, forces, _ = problem.runs[0].rows.weighted(root)
    residual = forces - own @ values
    prior = problem.prior_rows
    stacked = np.block([[own, column[:, None]], [prior, np.zeros((len(prior), 1))]])
    right = np.concatenate([residual, problem.prior_target - prior @ values])
    sizes = column_sizes(stacked)
    left, singular, vectors = np.linalg.svd(stacked / sizes, full_matrices=False)
    kept = singular > SINGULAR_SHIFT * singular[0]
    step_found = vectors[kept].T @ ((left[:, kept].T @ right) / singular[kept])
    variance = np.sum((vectors[kept][:, -1] / singular[kept]) ** 2)
    ratio = max(1.0, float(np.mean(residual**2)))
    if not column.any():
        raise EstimationError('nothing moves: the delay is not determined')
    return float(step_found[-1] / sizes[-1]), float(np.sqrt(variance * ratio) / sizes[-1])


def _predicted(problem: Problem, values: Array) -> Array:
    """Forces (m, n_a) of all base parameters (r,)."""
    rows, chosen = problem.runs[0].rows, problem.selection
    return np.asarray(rows.regressor @ values[chosen.free] + rows.fixed @ values[chosen.fixed])


def longest_delay(signals: Signals) -> float:
    """Delay [s] beyond which a shift looks like another one.

    By the mean frequency of the accelerations of the fastest axis.
    """
    speeds = np.maximum(signals.velocities.std(axis=0), 1e-300)
    fastest = float((signals.accelerations.std(axis=0) / speeds).max() / (2 * np.pi))
    return FARTHEST / max(fastest, 1e-300)
