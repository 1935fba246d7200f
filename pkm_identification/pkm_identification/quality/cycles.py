"""Cycles of the robot's clock from its motion: which sample belongs to which, whatever the stamps.

A robot samples evenly. How far its joints go from one sample to the next, over what they go in a
cycle, is the number of cycles between the two; stamps count where too little moves.
"""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.quality.prediction import MAD_TO_SIGMA, Extrapolation

AT_ONCE = 2**14  # samples whose windows are in memory
AROUND = 8  # cycles to either side that show how fast the joints go
ROUNDS = 3  # of cycle numbers and of the velocities over them
CERTAIN = 0.12  # of a cycle, standard deviation of a progress that is rounded: four to a half
CLEAR = 0.3  # of a cycle: farther from a whole number, a progress is none of an even clock
MOST_CYCLES = 6  # between two samples over which the velocity tells the progress
STILL = 0.4  # of a cycle: with less progress beside it, a large one is that of an outlier
SIDE = 10  # samples to either side of a long gap that a polynomial goes through
DEGREE = 3
LONGEST = 64  # cycles of a gap that the motion tells
FITS = 4.0  # of the noise's variance: more is left of a polynomial over a gap of another length
APART = 25.0  # twice a log likelihood: the gap next in likelihood is less likely by so much
NEARBY = 25  # samples to either side whose median is free of jitter
LEAP = 3.0  # intervals: the clock of the stamps leaps by more
ROUNDED = 0.1  # of its deviation: how sure a progress is after it was rounded
SUREST = 1e-3  # of a cycle, likewise: smaller ones lose the stamps in the sums
UNKNOWN = 0.3  # of a cycle: standard deviation of a step that only the stamps tell
REWEIGHTED = 8  # rounds of robust least squares
TAIL = 2.0  # standard deviations: what is farther off counts less (Cauchy)
WANDER = 1001  # samples over which the clock of the stamps wanders by less than half a cycle
FARTHEST = 100.0  # cycles: stamps farther off still count, so that the sums are not singular
LEAST_JITTER = 0.05  # of a cycle: better stamps are not relied on
LAGS = (200, 100, 50, 20, 10, 5, 2, 1)  # samples between two stamps that an interval is taken from
ENOUGH = 100  # of them
LEAST = 1e-300  # information of a joint that stands still

Leaps = Array  # (k, 2): row, size [s]


def sample_noise(numbers: Indices, positions: Array, step: Array) -> Array:
    """Standard deviation (c,) of positions (N, c) at cycles (N,), at least that of rounding."""
    off, _ = Extrapolation(numbers.astype(float), 4, 2).off(positions)
    spread = np.nan_to_num(MAD_TO_SIGMA * np.nanmedian(np.abs(off), axis=0))
    return np.maximum(np.maximum(spread, step / np.sqrt(12)), 1e-9 * np.ptp(positions, axis=0))


def velocities(numbers: Indices, positions: Array) -> Array:
    """Typical change (N - 1, c) of positions (N, c) a cycle around each pair of samples.

    The mean of the middle half of those of the surrounding pairs: neither an outlier nor a
    wrong number of cycles changes it much.
    """
    change = np.diff(positions, axis=0) / np.diff(numbers)[:, None]
    width = min(2 * AROUND + 1, len(change))
    pad = width // 2
    padded = np.pad(change, ((pad, width - 1 - pad), (0, 0)), mode='reflect')
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=0)
    middle = slice(width // 4, width - width // 4)
    parts = (windows[k : k + AT_ONCE] for k in range(0, len(windows), AT_ONCE))
    return np.concatenate([np.sort(part, axis=-1)[..., middle].mean(axis=-1) for part in parts])


def progress(numbers: Indices, positions: Array, noise: Array) -> tuple[Array, Array]:
    """Cycles (N - 1,) from sample to sample by the motion, and their standard deviations."""
    scaled = positions / np.where(noise > 0, noise, np.inf)
    speed = velocities(numbers, scaled)
    information = np.sum(speed**2, axis=1)
    done = np.sum(speed * np.diff(scaled, axis=0), axis=1) / np.maximum(information, LEAST)
    return done, np.sqrt(2 / np.maximum(information, LEAST))


def cycle_numbers(time: Array, positions: Array, step: Array) -> tuple[Indices, Leaps] | None:
    """Numbers (N,) of the cycles that samples with stamps (N,) [s] were taken in.

    Positions (N, c) have steps (c,), 0 where they have none. Also returns the leaps (k, 2) of the
    clock of the stamps: the row behind, and the size [s]. None where too little moves.
    """
    numbers, time = np.arange(len(time)), time - time[0]
    leaps = np.zeros((0, 2))
    for _ in range(ROUNDS):
        noise = sample_noise(numbers, positions, step)
        done, deviation = progress(numbers, positions, noise)
        certain = deviation < CERTAIN
        if np.count_nonzero(certain) < 2 * AROUND:
            return None
        typical = _typical(done[certain])
        whole, is_long = _whole_steps(np.where(certain, done / typical, np.nan))
        interval = _interval(time, whole)
        is_long |= np.abs(np.diff(time) / interval - whole) > MOST_CYCLES
        whole[is_long] = 0
        spanned = _spanned(numbers, positions, noise, np.flatnonzero(is_long))
        whole[spanned > 0] = spanned[spanned > 0]
        leaps = _leaps(time, interval, whole, np.flatnonzero(spanned))
        stamps = np.array(time)
        for row, size in leaps:
            stamps[int(row) :] -= size
        scale = np.where(whole > 0, np.maximum(deviation * ROUNDED, SUREST), UNKNOWN)
        scale[spanned > 0] = ROUNDED * CERTAIN
        steps = _steps(stamps / interval, whole, scale)
        found = np.concatenate([[0], np.cumsum(steps)])
        if (found == numbers).all():
            break
        numbers = found
    return numbers, leaps


def _typical(done: Array) -> float:
    """Progress of one cycle, where velocities are over samples of which some are lost."""
    middle = float(np.median(done))
    near = done[np.abs(done - middle) < CLEAR * middle]
    return float(np.median(near)) if len(near) else middle


def _whole_steps(done: Array) -> tuple[Indices, Mask]:
    """Cycles (N - 1,) from sample to sample, 0 where the motion does not tell, and which are many.

    Progress (N - 1,) that is large, negative or beside a standstill is that of an outlier, or of
    a longer gap; NaN where it is not known.
    """
    finite = np.isfinite(done)
    done = np.nan_to_num(done)
    whole = np.round(done)
    beside = np.minimum(np.append(done[1:], np.inf), np.insert(done[:-1], 0, np.inf))
    is_long = finite & ((done > MOST_CYCLES + 0.5) | (done < -STILL))
    usable = finite & (np.abs(done - whole) < CLEAR) & (whole >= 1) & (whole <= MOST_CYCLES)
    usable &= (whole == 1) | (beside > STILL)
    return np.where(usable, whole, 0).astype(np.int64), is_long


def _interval(time: Array, steps: Indices) -> float:
    """Interval [s] of a cycle: the median over stretches of samples whose steps are known."""
    numbers = np.concatenate([[0], np.cumsum(np.maximum(steps, 1))])
    unknown = np.concatenate([[0], np.cumsum(steps == 0)])
    for lag in LAGS:
        known = unknown[lag:] == unknown[:-lag]
        if np.count_nonzero(known) >= ENOUGH:
            break
    slopes = (time[lag:] - time[:-lag]) / (numbers[lag:] - numbers[:-lag])
    return float(np.median(slopes[known] if known.any() else slopes))


def _steps(stamps: Array, whole: Indices, scale: Array) -> Indices:
    """Cycles (N - 1,) from sample to sample, by what the motion tells of them and by the stamps.

    Robust least squares for the instants (N,) of the samples in cycles: they differ by `whole`
    (N - 1,), 0: unknown, within `scale`, and are the stamps (N,) in cycles but for jitter. A step
    that the motion tells stays unless the stamps behind contradict it for long.
    """
    from scipy.linalg import solveh_banded
    from scipy.ndimage import uniform_filter1d
    from scipy.optimize import isotonic_regression

    expected = np.maximum(whole, 1)
    numbers = np.concatenate([[0], np.cumsum(expected)])
    late = stamps - numbers
    found = late - np.median(late)
    weight = np.ones(len(late))
    tie = 1 / scale**2
    for _ in range(REWEIGHTED):
        off = late - found
        off -= np.median(off)
        spread = max(MAD_TO_SIGMA * float(np.median(np.abs(off))), LEAST_JITTER)
        weight = 1 / (spread**2 + np.minimum(off / TAIL, FARTHEST) ** 2)
        bands = np.zeros((2, len(late)))
        bands[1] = weight
        bands[1, :-1] += tie
        bands[1, 1:] += tie
        bands[0, 1:] = -tie
        found = solveh_banded(bands, weight * late)
        tie = 1 / (scale**2 + (np.diff(found) / TAIL) ** 2)
    # the clock of the stamps may wander: whole cycles are counted from its phase
    phase = uniform_filter1d(np.exp(2j * np.pi * found), min(WANDER, len(found)))
    jumps = np.diff(np.round(found - np.unwrap(np.angle(phase)) / (2 * np.pi)))
    known = whole > 0
    sure = np.flatnonzero(known & (np.abs(np.diff(found)) < 0.5) & (jumps != 0))
    unknown = np.flatnonzero(~known)
    if len(sure) and len(unknown):  # the motion tells that it was not there, but nearby
        right = np.clip(np.searchsorted(unknown, sure), 1, len(unknown) - 1)
        left_off, right_off = sure - unknown[right - 1], unknown[right] - sure
        np.add.at(jumps, unknown[np.where(left_off < right_off, right - 1, right)], jumps[sure])
        jumps[sure] = 0.0
    excess = np.concatenate([[0.0], np.cumsum(expected - 1 + jumps)])
    # one sample a cycle at most
    return 1 + np.diff(np.round(isotonic_regression(excess).x)).astype(np.int64)


def _leaps(time: Array, interval: float, whole: Indices, rows: Indices) -> Leaps:
    """Jumps (k, 2) of the stamps (N,) at `rows` with known steps: the row behind, and size [s]."""
    numbers = np.concatenate([[0], np.cumsum(np.maximum(whole, 1))])
    late = time - interval * numbers
    found = []
    for row in rows:
        before, behind = late[max(0, row + 1 - NEARBY) : row + 1], late[row + 1 :][:NEARBY]
        size = float(np.median(behind) - np.median(before))
        jitter = max(np.ptp(np.quantile(part, (0.1, 0.9))) for part in (before, behind))
        if abs(size) > max(LEAP * interval, 2 * jitter):
            found.append((row + 1, size))
    return np.array(found, dtype=float).reshape(-1, 2)


def _spanned(numbers: Indices, positions: Array, noise: Array, rows: Indices) -> Indices:
    """Cycles (N - 1,) of those long steps in `rows` that a smooth motion over them tells; 0: not.

    A cubic through the samples on both sides leaves noise alone, and more with any other length.
    """
    found = np.zeros(len(numbers) - 1, dtype=np.int64)
    moving = noise > 0
    for row in rows[(rows >= SIDE - 1) & (rows < len(found) - SIDE)]:
        near = slice(row - SIDE + 1, row + SIDE + 1)
        values = positions[near][:, moving] / noise[moving]
        own = numbers[near] - np.repeat([numbers[row], numbers[row + 1]], SIDE)
        cycles = own + np.outer(np.arange(1, LONGEST + 1), np.repeat([0, 1], SIDE))
        powers = (cycles[..., None] / LONGEST) ** np.arange(DEGREE + 1)
        base = np.linalg.qr(powers)[0]
        rest = values - base @ (np.swapaxes(base, 1, 2) @ values)
        size = np.sum(rest**2, axis=(1, 2))
        best = int(np.argmin(size))
        degrees = (2 * SIDE - DEGREE - 1) * values.shape[1]
        others = np.delete(size, best)
        if size[best] < FITS * degrees and others.min() > size[best] + APART:
            found[row] = best + 1
    return found
