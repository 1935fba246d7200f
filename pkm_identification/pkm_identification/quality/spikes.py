"""Outliers: samples that neither what was before nor what comes after leads to.

A step of the signal, as Coulomb friction makes it, agrees with one of its sides; the end of
a smooth bend lies on opposite sides of both extrapolations. An outlier is off from both, to
the same side; among efforts, its neighbours are not, unless it is a gross one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.prediction import Extrapolation, local_scale

LIMIT = 6.0  # standard deviations
AROUND = 8  # samples to either side that a median is over
ROUNDS = 12
AGREES = 4.0  # standard deviations
LEAST_JUMP = 3.0  # of the resolution
ALONE = 0.75  # of how far an outlier is off: least distance from the line of its neighbours
GROSS = 3.0  # standard deviations of a signal: beyond, neighbours may be off, too


@dataclass(frozen=True)
class Neighbours:
    """How a signal is predicted from its neighbours."""

    reach: int  # samples on each side
    degree: int  # of the polynomial
    # of the standard deviation of the signal: what is off by less does no harm. Signals
    # without noise have bends that nothing before them tells of
    negligible: float = 0.0
    # whether an outlier must stand alone: what lasts longer may be part of the signal
    alone: bool = False


# positions bend within some samples, efforts are noisy and have steps; few samples where slow
SMOOTH = tuple(Neighbours(*each, 1e-4) for each in ((16, 2), (8, 2), (8, 3), (6, 4)))
NOISY = tuple(Neighbours(*each, 1e-2, True) for each in ((24, 1), (12, 1), (6, 1), (8, 2), (6, 3)))


def best_neighbours(time: Array, values: Array, candidates: tuple[Neighbours, ...]) -> Neighbours:
    """Return the neighbours that predict best: many for noise, few or bent for fast motion."""
    errors = []
    moving = values[:, np.ptp(values, axis=0) > 0]
    for each in candidates:
        extrapolation = Extrapolation(time, each.reach, each.degree)
        before, _ = extrapolation.off(moving)
        size = np.nanmedian(np.abs(before), axis=0) * extrapolation.deviation
        errors.append(float(np.sum(np.log(np.maximum(size, 1e-300)))))
    return candidates[int(np.argmin(errors))]


def find_spikes(
    time: Array, values: Array, valid: Mask, resolution: Array, neighbours: Neighbours
) -> tuple[Mask, Array]:
    """Outliers (N, c), and the standard deviation (N, c) of the noise from sample to sample.

    `valid` samples are not bad already; `resolution` are the steps (c,) of the numbers, 0 where
    there are none.
    """
    from scipy.ndimage import maximum_filter1d

    values = _bridged(time, values, valid)
    found = np.zeros(values.shape, dtype=bool)
    spread = values.std(axis=0)
    floor = np.maximum(LEAST_JUMP * resolution, neighbours.negligible * spread)
    noise = np.zeros(values.shape)
    extrapolation = Extrapolation(time, neighbours.reach, neighbours.degree)
    for _ in range(ROUNDS):
        off_left, off_right = extrapolation.off(values)
        # anew each time: an outlier makes the predictions of all its neighbours worse
        noise = local_scale(np.where(np.isnan(off_left), off_right, off_left))
        evidence = _evidence(
            off_left, off_right, _off_line(time, values) if neighbours.alone else None, spread
        ) / np.maximum(LIMIT * noise, np.maximum(floor, 1e-300))
        if not neighbours.alone:
            smooth = _smooth_evidence(extrapolation, values, off_left, off_right, noise, floor)
            evidence = np.maximum(evidence, smooth)
        evidence = np.where(valid & ~found, evidence, 0.0)
        peaks = evidence > 1.0
        around = maximum_filter1d(evidence, 2 * neighbours.reach + 1, axis=0, mode='constant')
        peaks &= evidence >= around
        if not peaks.any():
            break
        if not found.any():  # one is never alone: first those that no predictions are needed for
            gross = _off_median(values, LIMIT * noise + floor) & valid
            peaks = np.where(gross.any(axis=0), gross, peaks)
        found |= peaks
        values = _bridged(time, values, ~peaks)
    return found, noise


def _off_median(values: Array, limit: Array) -> Mask:
    """Which samples (N, c) are off from the median around them by more than motion and noise.

    Outliers close to each other spoil each other's predictions, but not the median.
    """
    from scipy.ndimage import median_filter

    off = np.abs(values - median_filter(values, size=(2 * AROUND + 1, 1), mode='nearest'))
    change = local_scale(np.vstack([np.diff(values, axis=0), np.zeros((1, values.shape[1]))]))
    return np.asarray(off > limit + AROUND * change)


def _smooth_evidence(
    extrapolation: Extrapolation,
    values: Array,
    left: Array,
    right: Array,
    noise: Array,
    floor: Array,
) -> Array:
    """How far (N, c) samples of a smooth signal are off, over how far they may be.

    From both sides together: interpolation is far more certain than extrapolation. Each side
    alone must be off by what that leads to, within its noise: a jump agrees with one of them.
    """
    between, deviation = extrapolation.off_between(values)
    expected = between * deviation / extrapolation.deviation
    agrees = np.maximum(np.abs(left - expected), np.abs(right - expected)) <= AGREES * noise
    limit = np.maximum(LIMIT * local_scale(between), np.maximum(floor, 1e-300))
    return np.where(agrees, np.nan_to_num(np.abs(between)), 0.0) / limit


def _evidence(left: Array, right: Array, off_line: Array | None, spread: Array) -> Array:
    """How far (N, c) samples are off, where they are outliers in all respects but size.

    Off from both sides to the same one; and, where `off_line` is given, by about as much from
    the line through the two neighbours: what lasts longer is part of the signal, unless it is
    gross. At the ends of a recording, with one side only, nothing less is an outlier.
    """
    one_sided = np.isnan(left) | np.isnan(right)
    both = np.where(left * right > 0, np.minimum(np.abs(left), np.abs(right)), 0.0)
    evidence = np.where(one_sided, np.abs(np.where(np.isnan(left), right, left)), both)
    credible = ~one_sided
    if off_line is not None:
        credible &= np.abs(off_line) >= ALONE * evidence
    return np.where(credible | (evidence > GROSS * spread), np.nan_to_num(evidence), 0.0)


def _off_line(time: Array, values: Array) -> Array:
    """Distance (N, c) of samples from the straight line through their neighbours; ends: 0."""
    share = ((time[1:-1] - time[:-2]) / (time[2:] - time[:-2]))[:, None]
    off = np.zeros(values.shape)
    off[1:-1] = values[1:-1] - (1 - share) * values[:-2] - share * values[2:]
    return off


def _bridged(time: Array, values: Array, valid: Mask) -> Array:
    """Return a copy with straight lines in the place of bad samples, for predictions alone."""
    if valid.all():
        return np.array(values)
    bridged = np.array(values)
    for column in np.flatnonzero(~valid.all(axis=0)):
        good = valid[:, column]
        if good.any():
            bad = ~good
            bridged[bad, column] = np.interp(time[bad], time[good], values[good, column])
    return bridged
