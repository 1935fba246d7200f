"""Sensors that stand still while the robot moves, signals cut off at a level, quantised numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets.source import Source
from pkm_identification.quality.report import Defect, stretches

MOST_EQUAL = 0.5  # of the changes of a signal that are none: equal samples tell nothing then
SHORTEST = 5  # equal samples in a row that may be a stuck sensor
AROUND = 6  # samples before and after such a row that show how the signal was changing
JUMP = 3.5  # steps of the resolution
NOISE = 6.0  # standard deviations
CHANCE = 1e-3  # expected rows of equal samples that noise alone makes
EQUAL = 0.5 / np.sqrt(np.pi)  # of step / noise: probability that two rounded normal numbers agree
MOVING = 10.0  # noise or steps that another joint must go while one stands still
FLAT = 3  # samples in a row at the limit
AT_LIMIT = 1e-3  # of the limit
BEYOND = 0.1  # of the samples at a limit may be beyond it
PILE = 5.0  # samples at the cut over those one step below
MOST_SAMPLES = 20_000  # samples whose steps are looked at
SMALLEST_STEP = 1e-10  # of the range: finer steps are those of floating-point numbers
EXACT = 0.05  # of a step
SHARE_ON_STEPS = 0.99  # of the values that must lie on multiples of it
FEWEST_LEVELS = 2  # different values
LEAST_STEPS = 8  # between them, that show whether they are multiples of one
OFTEN = 10  # samples a level, which only numbers of few digits repeat: fewer steps show it then
MOST_STEPS = 1e7
NEARLY_ALL = 0.99  # of the samples: some may be spikes, or from before a sensor died
ENTRY = 0.25  # of the last changes before a flat top


def find_stuck(
    values: Array,
    valid: Mask,
    resolution: Array,
    noise: Array,
    motion: Array,
    moving: Array,
    *,
    is_motion: bool,
) -> Mask:
    """Find rows of equal samples (N, c) that are no standstill.

    A sensor that freezes stops between two samples, or has to catch up with a jump when it comes
    back; or its noise has gone. And its joint moves meanwhile: of the positions `motion` (N, n) of
    all joints, changes beyond `moving` (n,) are motion rather than noise. Where the values are
    positions themselves (`is_motion`), that must be another joint. `resolution` (c,) and `noise`
    (N, c) are steps and standard deviations of the numbers.
    """
    found = np.zeros(values.shape, dtype=bool)
    for column in range(values.shape[1]):
        x, step = values[:, column], float(resolution[column])
        if not np.ptp(x):
            continue  # locked, or dead all the time: nothing to tell it by
        deviation = float(np.median(noise[:, column]))
        scale = max(JUMP * step, NOISE * deviation, 1e-9 * float(np.ptp(x)))
        same = np.diff(x) == 0
        runs = _equal_rows(same)
        if not len(runs) or _repeats_by_nature(same, runs):
            continue
        ordinary = int(same.sum()) - int((runs[:, 1] - runs[:, 0]).sum())
        repeats = max(ordinary, 1) / len(same)
        if deviation > step:  # where the joint turns, noise over some steps repeats more often
            repeats = max(repeats, min(1.0, EQUAL * step / deviation))
        has_noise = deviation > max(step, 1e-6 * float(x.std()))
        for first, last in runs:
            if not valid[first : last + 1, column].any():
                continue
            goes = np.ptp(motion[first : last + 1], axis=0) > moving
            # a controller asks for the same force as long as its own axis stands
            if not (np.delete(goes, column).any() if is_motion else goes[column]):
                continue
            # a joint at rest may be held without noise: its positions tell by their ends alone
            unlikely = has_noise and len(x) * repeats ** (last - first) < CHANCE and not is_motion
            if unlikely or _breaks_off(x, first, last, scale):
                found[first + 1 : last + 1, column] = True
    return found


def find_constant(source: Source, names: Sequence[str], moving: Array) -> list[Defect]:
    """Find efforts that have one value throughout while their joint moves: a dead sensor.

    The positions of a joint that moves change by more than `moving` (n,) [m, rad].
    """
    head = source.head
    assert head.efforts is not None
    value = np.median(head.efforts, axis=0)
    same = sum(
        np.count_nonzero(block.efforts == value, axis=0)
        for block in source.blocks()
        if block.efforts is not None
    )
    low, high = np.quantile(head.positions, [1 - NEARLY_ALL, NEARLY_ALL], axis=0)
    dead = (same >= NEARLY_ALL * source.count) & (high - low > moving)
    return [
        Defect(
            'constant',
            int(same[k]),
            float(same[k] / source.count),
            'used as it is',
            'effort',
            names[int(k)],
            figures={'value': float(value[k])},
            what=f'{value[k]:.4g} throughout, though the joint moves: a dead sensor?',
        )
        for k in np.flatnonzero(dead)
    ]


def _repeats_by_nature(same: Mask, runs: Indices) -> bool:
    """Whether most samples repeat the one before even without the longest row: coarse levels."""
    longest = int((runs[:, 1] - runs[:, 0]).max())
    return bool(same.sum() - longest > MOST_EQUAL * (len(same) - longest))


def _equal_rows(same: Mask) -> Indices:
    """First and last sample (k, 2) of each row of at least `SHORTEST` equal ones."""
    runs = stretches(np.flatnonzero(same))
    runs = runs[runs[:, 1] - runs[:, 0] + 2 >= SHORTEST]
    return runs + np.array([0, 1])


def _breaks_off(x: Array, first: int, last: int, scale: float) -> bool:
    """Whether a signal stops suddenly before a row of equal samples, or jumps after it."""
    before = np.abs(np.diff(x[max(0, first - AROUND) : first + 1]))
    after = np.abs(np.diff(x[last + 1 : last + 2 + AROUND]))
    if len(before) >= 3 and np.median(before) > scale and before[-1] > scale:
        return True
    if last + 1 >= len(x) or len(after) < 3:
        return False
    jump = abs(x[last + 1] - x[last])
    return bool(jump > scale + 3.0 * np.median(after))


def find_saturated(
    values: Array,
    valid: Mask,
    limits: Array | None,
    resolution: Array,
    motion: Array,
    moving: Array,
    extremes: Array | None = None,
) -> Mask:
    """Find samples at the limit of a drive, and flat tops where a signal was cut off.

    `limits` are the largest absolute values (c,), None or infinite where unknown; `extremes`
    smallest and largest values (2, c) of the whole recording, None: those of the values. The others
    are as for `find_stuck`.
    """
    found = np.zeros(values.shape, dtype=bool)
    for column in range(values.shape[1]):
        x, step = values[:, column], float(resolution[column])
        if not valid[:, column].any():
            continue
        if limits is not None and np.isfinite(limits[column]) and limits[column] > 0:
            at = np.abs(x) >= (1 - AT_LIMIT) * limits[column]
            beyond = np.abs(x) > (1 + AT_LIMIT) * limits[column]
            # forces beyond the limit show that it is none: another drive, another constant
            if np.count_nonzero(beyond) <= BEYOND * np.count_nonzero(at):
                found[:, column] |= _rows_of(at, FLAT)
        good = x[valid[:, column]]
        levels = (good.min(), good.max()) if extremes is None else extremes[:, column]
        for level in levels:
            top = _flat_top(x, float(level), step, motion, moving)
            if top is not None:
                found[:, column] |= top
    return found


def _rows_of(flags: Mask, shortest: int) -> Mask:
    """Keep what lasts at least so many samples."""
    kept = np.zeros(len(flags), dtype=bool)
    for first, last in stretches(np.flatnonzero(flags)):
        if last - first + 1 >= shortest:
            kept[first : last + 1] = True
    return kept


def _flat_top(x: Array, level: float, step: float, motion: Array, moving: Array) -> Mask | None:
    """Return the samples of a cut at an extreme level, None where it is none."""
    at = x == level
    runs = stretches(np.flatnonzero(at))
    long = runs[runs[:, 1] - runs[:, 0] + 1 >= FLAT]
    if not len(long) or at.sum() < SHORTEST:
        return None
    equal = _equal_rows(np.diff(x) == 0)
    elsewhere = [run for run in equal if x[run[0]] != level]
    if len(elsewhere) > len(long):  # rows of equal samples are nothing special here
        return None
    changes = np.abs(np.diff(x))
    # too few levels to show a resolution, as of an axis at rest: one to the next is no cut
    step = step or float(changes[changes > 0].min(initial=np.inf))
    beside = np.count_nonzero(np.abs(x - level) < 1.5 * step) - at.sum()
    if at.sum() <= PILE * beside:
        return None
    abrupt = 0
    for first, last in long:
        if not (np.ptp(motion[first : last + 1], axis=0) > moving).any() and last - first > AROUND:
            return None
        before = changes[max(0, first - AROUND) : first]
        if len(before) and before[-1] > max(2.5 * step, ENTRY * float(np.median(before))):
            abrupt += 1
    return at if 2 * abrupt > len(long) else None


def resolution(values: Array) -> Array:
    """Return the step (c,) between the values (N, c) of each column; 0 where there is none."""
    return np.array([_step(values[:MOST_SAMPLES, k]) for k in range(values.shape[1])])


def _step(values: Array) -> float:
    levels = np.unique(values)
    if len(levels) < FEWEST_LEVELS:
        return 0.0
    size = float(levels[-1] - levels[0])
    apart = np.diff(levels)
    apart = apart[apart > SMALLEST_STEP * max(size, float(np.abs(levels).max()))]
    if not len(apart):
        return 0.0
    guess = float(apart.min())
    is_seldom = len(apart) < LEAST_STEPS and len(values) < OFTEN * len(levels)
    if size > MOST_STEPS * guess or is_seldom:
        return 0.0
    refined = float(np.median(apart[apart < 1.5 * guess]))  # one difference is rounded
    counts = apart / refined
    near = np.abs(counts - np.round(counts)) <= EXACT
    return refined if near.mean() >= SHARE_ON_STEPS else 0.0
