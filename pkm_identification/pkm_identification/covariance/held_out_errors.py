"""Errors of predicted forces from parts of the data that the estimate does not know."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from pkm_identification.arrays import Array, Indices
from pkm_identification.covariance.blocks import BLOCKS, LEAST_ROWS, blocks_of, effect_of_rows
from pkm_identification.regression.numerics import determined_directions
from pkm_identification.regression.problem import Problem, row_covariance
from pkm_identification.regression.run import PeriodicRun, Rows, Run
from pkm_identification.regression.weighted_least_squares import Estimate, weights_of
from pkm_identification.result.force_errors import (
    LEVELS,
    TERMS,
    ForceErrors,
    error_terms,
    rest_share,
)
from pkm_identification.signals.bands import FilterBand

# Parts of a recording that are held out: each is long enough to be another motion, and the others
# still tell the parameters
FOLDS = 5
PASSES = 5  # of the weights of squared errors, which change little after three
SPEEDLESS = 2  # terms of a variance that need no velocity: the constant and that of the force
LEAST_VARIANCE = 1e-3  # of the mean square: below it a variance from some hundred samples is chance
# Rows from which a variance is known to 20 %. Fewer do not tell where errors are small, nor how
# they are distributed: no variance is then much below the mean, no quantile below normal ones
EVEN = 50.0
EXACT = 1e-18  # of the mean square of the forces: less is rounding


class _HeldOut(NamedTuple):
    """Residuals of samples (k, n_a) that the estimate was not made from."""

    residuals: Array
    forces: Array  # predicted ones
    known: Array  # variances of noise and of parameters
    rows: int  # number of independent ones
    motion: tuple[Array, Array] | None  # velocities and accelerations; None of a long recording


def held_out_errors(
    problem: Problem,
    estimate: Estimate,
    in_time: list[Array | None],
    covariance: Array,
    holding: Array,
) -> ForceErrors:
    """Fit the variances of errors of predictions to held-out residuals.

    `in_time` are measured minus predicted forces (n, n_a) of each run, before the band, as for
    `analyse_residuals`; `covariance` (f, f) that of the estimate; `holding` friction
    (n_a,) of the drives at rest, from where nothing is learnt about drives that slide.
    """
    covariance = np.where(np.isfinite(covariance), covariance, 0.0)
    parts = []
    for number, (run, residuals) in enumerate(zip(problem.runs, in_time, strict=True)):
        if run.is_periodic:
            assert residuals is not None
            parts.append(_of_period(problem, estimate, number, residuals, covariance))
        else:
            parts.append(_of_rows(problem, estimate, number, covariance))
    residuals, forces, known = (np.concatenate([part[k] for part in parts]) for k in range(3))
    squares = residuals**2
    motions = [part.motion for part in parts if part.motion is not None]
    is_motion_known = len(motions) == len(parts)
    if is_motion_known:
        velocities, accelerations = (np.concatenate([each[k] for each in motions]) for k in (0, 1))
    else:
        velocities = accelerations = np.zeros_like(forces)
    speed, quickness, size = (_size(each) for each in (velocities, accelerations, forces))
    terms = error_terms(velocities / speed, accelerations / quickness, forces / size)
    count = TERMS if is_motion_known else SPEEDLESS
    least = EXACT * size**2
    share = EVEN / (EVEN + sum(part.rows for part in parts))
    slow = float(problem.model.description.transition_velocity)
    rests = rest_share(velocities, accelerations, speed, quickness, slow) > 0
    slides = ~rests | rests.all(axis=0) if is_motion_known else np.ones(squares.shape, dtype=bool)
    found = [
        _variances(squares[own, a], known[own, a], terms[own, a, :count], float(least[a]))
        for a, own in enumerate(slides.T)
    ]
    even = share * np.maximum(np.mean(squares - known, axis=0), 0.0)
    variances = np.array([np.pad(each, (0, TERMS - count)) for each in found])
    lacking = np.maximum(np.einsum('nat,at->na', terms, variances), even)
    expected = np.maximum(known + lacking, least)
    rms = np.sqrt(squares.mean(axis=0))
    scores = np.sqrt(squares / expected)
    quantiles = np.array([np.quantile(scores[own, a], LEVELS) for a, own in enumerate(slides.T)])
    normal = ndtri(0.5 + 0.5 * LEVELS)
    bands = [run.signals.band for run in problem.runs]
    cutoffs = [band.cutoff for band in bands if isinstance(band, FilterBand)]
    return ForceErrors(
        variances=variances,
        least=even,
        velocity=speed,
        acceleration=quickness,
        force=size,
        quantiles=np.maximum(quantiles, (1 - share) * quantiles + share * normal),
        rms=rms,
        relative=rms / _size(forces + residuals),
        holds_noise=any(run.signals.force_noise is None for run in problem.runs),
        holding=holding,
        transition_velocity=slow,
        cutoff=max(cutoffs) if len(cutoffs) == len(bands) else None,
        **_wider_band(problem),
    )


def _wider_band(problem: Problem) -> dict[str, Any]:
    """Return what is known of errors in the band of predictions, where it is wider."""
    choices = [run.signals.diagnostics.band_choice for run in problem.runs]
    wider = next((each.prediction for each in choices if each and each.prediction), None)
    if wider is None or wider.cutoff == wider.trials[0].cutoff:
        return {}
    return {'wider_cutoff': wider.cutoff, 'wider_growth': wider.error_growth}


def _size(values: Array) -> Array:
    """Root mean square (n_a,) to divide by."""
    size = np.sqrt(np.mean(values**2, axis=0))
    return np.where(size > 0, size, 1.0)


def _variances(squares: Array, known: Array, terms: Array, least: float) -> Array:
    """Coefficients (t,), none negative, so that known + terms @ c are the means of the squares.

    Each square has a standard deviation in proportion to its mean: by reweighted non-negative
    least squares.
    """
    from scipy.optimize import nnls

    floor = max(LEAST_VARIANCE * float(squares.mean()), least)
    expected = np.full(len(squares), max(float(squares.mean()), least))
    found = np.zeros(terms.shape[1])
    for _ in range(PASSES):
        found = nnls(terms / expected[:, None], (squares - known) / expected)[0]
        expected = np.maximum(known + terms @ found, floor)
    return np.asarray(found)


def _of_rows(problem: Problem, estimate: Estimate, number: int, covariance: Array) -> _HeldOut:
    """Rows of a run in time, block by block without the block."""
    run = problem.runs[number]
    pieces: list[tuple[int, Rows, Array]] = []
    if estimate.weights is None or estimate.bread is None:
        nothing = np.zeros(problem.size)
        pieces = [
            (*pair, nothing) for pair in zip(run.folded.starts, run.folded.sample, strict=True)
        ]
    else:
        blocks = blocks_of(problem, estimate, number, FOLDS)
        pieces = [(each.first, each.rows, each.change) for each in blocks]
    residuals: list[Array] = []
    forces: list[Array] = []
    known: list[Array] = []
    for _, rows, change in pieces:
        left = rows.residuals(estimate.values)
        forces.append(rows.forces + rows.fixed @ problem.selection.values - left)
        residuals.append(left + rows.regressor @ change)
        known.append(_prediction_variance(rows.regressor, covariance))
    motion = None
    if not run.signals.is_long:
        numbers = np.concatenate([first + np.arange(len(rows)) for first, rows, _ in pieces])
        chosen = _samples_of_rows(run)[numbers]
        motion = run.signals.velocities[chosen], run.signals.accelerations[chosen]
    return _HeldOut(
        np.concatenate(residuals), np.concatenate(forces), np.concatenate(known), run.count, motion
    )


def _samples_of_rows(run: Run) -> Indices:
    """Number of the sample (m,) of each row of a filtered run."""
    band, count = run.signals.band, len(run.signals)
    assert isinstance(band, FilterBand)
    inside = slice(band.trim, count - band.trim, band.step)
    return np.arange(count)[band.picked(slice(0, count), inside)]


def _of_period(
    problem: Problem, estimate: Estimate, number: int, in_time: Array, covariance: Array
) -> _HeldOut:
    """Samples of a period; what the estimate changes without a block is known in the band."""
    run = problem.runs[number]
    signals, band = run.signals, PeriodicRun(run).band
    count, few = len(signals), 2 * band.harmonics + 1
    residuals = np.array(in_time)
    edges = np.linspace(0, few, min(BLOCKS, max(few // LEAST_ROWS, 1)) + 1).astype(int)
    if estimate.weights is not None and estimate.bread is not None and len(edges) > 2:
        root = determined_directions(estimate.bread)
        weight = weights_of(problem, estimate)[number]
        design, forces, _ = run.rows.weighted(weight)
        left = (forces - design @ estimate.values).reshape(few, -1)
        design = band.samples(design.reshape(few, run.axes, -1), few)
        left = band.samples(left, few)
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            block = design[low:high].reshape(-1, problem.size)
            _, change = effect_of_rows(block, left[low:high].ravel(), root)
            own = slice(-(-low * count // few), -(-high * count // few))
            residuals[own] += band.samples(run.regressor @ change, count)[own]
    regressor = band.samples(run.regressor, few) * np.sqrt(few / count)
    near = np.arange(count) * few // count
    known = _prediction_variance(regressor, covariance)[near] + _noise_of_samples(run)
    used = signals.usable
    predicted = signals.forces - in_time
    motion = signals.velocities[used], signals.accelerations[used]
    return _HeldOut(residuals[used], predicted[used], known[used], few, motion)


def _noise_of_samples(run: Run) -> Array:
    """Variances (n_a,) of the mean's samples: their noise, and that of the motion as force."""
    signals = run.signals
    if signals.force_noise is None or run.covariance is None:
        return np.zeros(run.axes)
    own = np.diag(signals.force_noise.covariance) / signals.averaged
    forces = row_covariance(signals, None)
    assert forces is not None
    moved = np.einsum('kaa->a', run.covariance - forces) / len(signals)
    return np.asarray(own + np.maximum(moved, 0.0))


def _prediction_variance(regressor: Array, covariance: Array) -> Array:
    """Variances (k, n_a) of forces with this regressor (k, n_a, f)."""
    return np.asarray(np.sum((regressor @ covariance) * regressor, axis=-1))
