"""Errors of predicted forces from parts of the data that the estimate does not know."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.covariance.blocks import BLOCKS, LEAST_ROWS, blocks_of, effect_of_rows
from pkm_identification.covariance.error_variances import error_variances
from pkm_identification.regression.numerics import determined_directions
from pkm_identification.regression.problem import Problem, row_covariance
from pkm_identification.regression.run import PeriodicRun, Run
from pkm_identification.regression.weighted_least_squares import Estimate, weights_of
from pkm_identification.result.force_errors import (
    LEVELS,
    TERMS,
    Domain,
    ForceErrors,
    error_terms,
    rest_share,
)
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand
from pkm_identification.signals.signals import PeriodicDiagnostics, Rows

# Parts of a recording that are held out. Each shall be as far from the others as the next motion
# will be: short parts lie among samples like their own, and their errors are then too small. Two
# thirds of the data still tell the parameters
FOLDS = 3
# Rows from which a variance is known to 20 %. Fewer do not tell where errors are small: no variance
# is then much below the mean
EVEN = 50.0
EXACT = 1e-18  # of the mean square of the forces: less is rounding


class Motion(NamedTuple):
    """Motion of samples (k, n_a)."""

    positions: Array
    velocities: Array
    accelerations: Array


class _HeldOut(NamedTuple):
    """Residuals of samples (k, n_a) that the estimate was not made from."""

    residuals: Array
    inside: Array  # residuals of the same samples when the estimate was made from them, too
    forces: Array  # predicted ones
    noise: Array  # variances (n_a,) of the noise
    spread: Array  # variances (k, n_a) by the parameters from all other data
    rows: int  # number of independent ones
    alone: int  # directions of the parameters that one part alone tells
    durations: tuple[float, ...]  # of the parts [s]
    motion: Motion | None  # None of a long recording


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
    residuals, forces = (np.concatenate([part[k] for part in parts]) for k in (0, 2))
    known = np.concatenate([part.noise + part.spread for part in parts])
    inside = np.concatenate([part.inside**2 - part.noise for part in parts])
    thirds = [np.arange(len(part.residuals)) * FOLDS // len(part.residuals) for part in parts]
    places = np.concatenate([FOLDS * number + each for number, each in enumerate(thirds)])
    squares = residuals**2
    motions = [part.motion for part in parts if part.motion is not None]
    if len(motions) == len(parts):
        known_motion = [np.concatenate(each) for each in zip(*motions, strict=True)]
        positions, velocities, accelerations = known_motion
        limits = (positions.min(axis=0), positions.max(axis=0), np.abs(velocities).max(axis=0))
        domain = Domain(*limits)
    else:
        velocities = accelerations = np.zeros_like(forces)
        domain = None
    speed, quickness, size = (_size(each) for each in (velocities, accelerations, forces))
    slow = float(problem.model.description.transition_velocity)
    if len(motions) == len(parts):
        terms = error_terms(velocities / speed, accelerations / quickness)
        rests = rest_share(velocities, accelerations, speed, quickness, slow) > 0
    else:
        terms = np.ones((*squares.shape, 1))
        rests = np.zeros(squares.shape, dtype=bool)
    slides = ~rests | rests.all(axis=0)
    share = EVEN / (EVEN + sum(part.rows for part in parts))
    least = np.maximum(share * np.mean(squares - known, axis=0), EXACT * size**2)
    # forces scatter about a model no less where it was not fitted than where it was
    fitted = inside.mean(axis=0)
    found = [
        error_variances(
            squares[own, a], known[own, a], terms[own, a], places[own], least[a], fitted[a]
        )
        for a, own in enumerate(slides.T)
    ]
    variances = np.zeros((problem.axes, TERMS))
    variances[:, : terms.shape[-1]] = [each.coefficients for each in found]
    rms = np.sqrt(squares.mean(axis=0))
    bands = [run.signals.band for run in problem.runs]
    cutoffs = [band.cutoff for band in bands if isinstance(band, FilterBand)]
    return ForceErrors(
        variances=variances,
        least=least,
        velocity=speed,
        acceleration=quickness,
        force=size,
        quantiles=np.array([each.quantiles(LEVELS) for each in found]),
        rms=rms,
        relative=rms / _size(forces + residuals),
        holds_noise=any(run.signals.force_noise is None for run in problem.runs),
        holding=holding,
        transition_velocity=slow,
        cutoff=max(cutoffs) if len(cutoffs) == len(bands) else None,
        domain=domain,
        parts=tuple(duration for part in parts for duration in part.durations),
        untested=sum(part.alone for part in parts) / max(problem.size, 1),
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


def _of_rows(problem: Problem, estimate: Estimate, number: int, covariance: Array) -> _HeldOut:
    """Rows of a run in time, block by block without the block."""
    run = problem.runs[number]
    alone, durations = 0, tuple[float, ...]()
    if estimate.weights is None or estimate.bread is None:
        nothing, inner = np.zeros(problem.size), covariance
        samples = zip(run.folded.starts, run.folded.sample, strict=True)
        pieces = [(*pair, nothing, np.eye(problem.size)) for pair in samples]
    else:
        inner = _in_directions(covariance, determined_directions(estimate.bread))
        blocks = blocks_of(problem, estimate, number, FOLDS)
        pieces = [(each.first, each.rows, each.change, each.root) for each in blocks]
        alone = sum(each.alone for each in blocks)
        interval = run.filter.step / run.filter.rate
        durations = tuple(interval * len(each.rows) for each in blocks)
    inside: list[Array] = []
    residuals: list[Array] = []
    forces: list[Array] = []
    spread: list[Array] = []
    for _, rows, change, without in pieces:
        left = rows.residuals(estimate.values)
        inside.append(left)
        forces.append(rows.forces + rows.fixed @ problem.selection.values - left)
        residuals.append(left + rows.regressor @ change)
        spread.append(_prediction_variance(rows.regressor @ without, inner))
    motion = None
    if not run.signals.is_long:
        numbers = np.concatenate([first + np.arange(len(rows)) for first, rows, *_ in pieces])
        chosen = _samples_of_rows(run)[numbers]
        motion = _motion(run.signals, chosen)
    return _HeldOut(
        residuals=np.concatenate(residuals),
        inside=np.concatenate(inside),
        forces=np.concatenate(forces),
        noise=np.zeros(run.axes),  # it is not known of these rows, and in the residuals
        spread=np.concatenate(spread),
        rows=run.count,
        alone=alone,
        durations=durations,
        motion=motion,
    )


def _motion(signals: Signals, chosen: Rows) -> Motion:
    return Motion(
        signals.positions[chosen], signals.velocities[chosen], signals.accelerations[chosen]
    )


def _in_directions(covariance: Array, root: Array) -> Array:
    """Return K (k, k) with T K T^T = covariance, for the directions of a root T (f, k).

    T (1 - G)^-1/2 K (1 - G)^-1/2 T^T is then the covariance without a block; see `blocks_of`.
    """
    size = np.linalg.norm(root, axis=1)
    scale = np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv(root / scale[:, None]) / scale
    found = inverse @ covariance @ inverse.T
    values, axes = np.linalg.eigh((found + found.T) / 2)
    return np.asarray((axes * np.maximum(values, 0.0)) @ axes.T)


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
    regressor = band.samples(run.regressor, few) * np.sqrt(few / count)
    near = np.arange(count) * few // count
    spread = _prediction_variance(regressor, covariance)
    alone, durations = 0, tuple[float, ...]()
    edges = np.linspace(0, few, min(BLOCKS, max(few // LEAST_ROWS, 1)) + 1).astype(int)
    if estimate.weights is not None and estimate.bread is not None and len(edges) > 2:
        root = determined_directions(estimate.bread)
        inner = _in_directions(covariance, root)
        assert isinstance(signals.diagnostics, PeriodicDiagnostics)
        durations = tuple((np.diff(edges) * signals.diagnostics.period / few).tolist())
        weight = weights_of(problem, estimate)[number]
        design, forces, _ = run.rows.weighted(weight)
        left = (forces - design @ estimate.values).reshape(few, -1)
        design = band.samples(design.reshape(few, run.axes, -1), few)
        left = band.samples(left, few)
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            block = design[low:high].reshape(-1, problem.size)
            _, change, without, only = effect_of_rows(block, left[low:high].ravel(), root)
            alone += only
            spread[low:high] = _prediction_variance(regressor[low:high] @ without, inner)
            own = slice(-(-low * count // few), -(-high * count // few))
            residuals[own] += band.samples(run.regressor @ change, count)[own]
    used = signals.usable
    predicted = signals.forces - in_time
    return _HeldOut(
        residuals=residuals[used],
        inside=in_time[used],
        forces=predicted[used],
        noise=_noise_of_samples(run),
        spread=spread[near][used],
        rows=few,
        alone=alone,
        durations=durations,
        motion=_motion(signals, used),
    )


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
