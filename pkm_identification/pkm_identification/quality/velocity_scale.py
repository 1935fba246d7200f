"""Factors between measured velocities and positions: a wrong time, unit, gear or sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.source import Block, Source
from pkm_identification.quality.prediction import MAD_TO_SIGMA
from pkm_identification.quality.report import Defect

PIECES = 8  # whose factors scatter by what is not the factor
FEWEST_PIECES = 3  # in which a joint moves
FEWEST = 16  # samples of a piece
GAP = 10.0  # intervals: velocities are not integrated over longer ones
SURE = 3.0  # standard errors
HELD = 1e-3  # of the largest motion of a joint: less is an axis at rest, which its load bends
MEDIAN_ERROR = 1.25  # standard error of a median over that of a mean, of normal numbers
# Factors of all joints: half-way to the nearest usual rates (100 and 120 or 125 Hz)
RATE = 1.1
# Factors of single joints: below the steps of usual gears (80 and 100). Smaller ones are the
# calibration of what the velocities come from, and no doubt of the positions
SCALE = 1.2
MOST_APART = 2.0  # times: bounds of a factor that are farther apart tell none
AGREE = 1.1  # times: factors of joints that are one
COMMON = 0.7  # share of the joints that agree: the stamps are those of all joints
# What a size is known to be. Ten and six times are a rate's, 4.7 % from 30 / pi and 2 pi
LIKE = 0.045
DEGREES, TURNS_PER_MINUTE = float(np.degrees(1.0)), 30.0 / np.pi
UNITS = {
    DEGREES: 'degrees per second?',
    1 / DEGREES: 'positions in degrees?',
    TURNS_PER_MINUTE: 'revolutions per minute?',
    1 / (2 * np.pi): 'revolutions per second?',
}


class _Factors(NamedTuple):
    """Factors (n,) of the velocities and bounds of their sizes; nan where nothing shows them."""

    value: Array
    least: Array
    most: Array

    def beyond(self, by: float, limit: float) -> Mask:
        """Whether (n,) a size is certainly more than `limit` times larger or smaller than `by`."""
        return np.asarray((self.least > by * limit) | (self.most < by / limit))


def velocity_defects(
    source: Source, names: Sequence[str], interval: float, moving: Array
) -> list[Defect]:
    """Find measured velocities that are not the derivative of the positions.

    Integrals of the velocities are compared with the positions: they hardly have noise, and late
    or filtered velocities still end where the positions end. With noise in both, the factor lies
    between the regressions of one on the other and of the other on the one (Frisch 1934). Changes
    of a joint's positions below `moving` (n,) [m, rad] tell nothing, nor those of an axis at rest.
    A factor that the joints share is one of the stamps, an `interval` [s] apart, unless it is that
    of a unit.
    """
    if source.read(slice(0, 1)).velocities is None:
        return []
    spans = np.ptp([end for each in source.probes() for end in _ends(each.positions)], axis=0)
    moving = np.maximum(moving, HELD * spans.max())
    found = _factors(list(_moments(source, interval)), moving)
    known = np.isfinite(found.value)
    if not known.any():
        return []
    rate = _shared(found, known)
    defects = [] if rate == 1.0 else [_of_stamps(rate, interval, source.count)]
    wrong = known & (found.beyond(rate, SCALE) | (found.value < 0))
    for joint in np.flatnonzero(wrong):
        factor = float(found.value[joint]) / rate
        defects.append(_of_joint(factor, names[int(joint)], source.count))
    return defects


def _ends(positions: Array) -> tuple[Array, Array]:
    """Least and largest positions (n,) of some samples (N, n)."""
    return positions.min(axis=0), positions.max(axis=0)


def _shared(found: _Factors, known: Mask) -> float:
    """Size that nearly all factors share for certain; 1 where they do not, or that of a unit."""
    size = np.abs(found.value)
    middle = float(np.median(size[known]))
    one = known & (np.maximum(size / middle, middle / size) < AGREE)
    if np.count_nonzero(known) < 2 or np.count_nonzero(one) < COMMON * np.count_nonzero(known):
        return 1.0
    if _unit(middle) or not found.beyond(1.0, RATE)[one].all():
        return 1.0
    return middle


def _of_stamps(rate: float, interval: float, count: int) -> Defect:
    """Return the defect of stamps by which velocities are wrong by a factor."""
    slower = f'{_figures(rate)} times slower' if rate > 1 else f'{_figures(1 / rate)} times faster'
    text = (
        f'by them the motion is {slower} than its measured velocities '
        f'({_figures(1 / interval)} Hz, {_figures(rate / interval)} Hz would fit): wrong rate or '
        'unit of time?'
    )
    figures = {'factor': rate, 'rate_Hz': rate / interval}
    return Defect('rate', count, 1.0, 'stamps are used as they are', what=text, figures=figures)


def _figures(value: float) -> str:
    """Return a number with three digits, never as a power of ten."""
    return f'{float(f"{value:.3g}"):.15g}'


def _of_joint(factor: float, joint: str, count: int) -> Defect:
    """Return the defect of a joint's velocities that are wrong by a factor."""
    unit = _unit(abs(factor))
    size = next((each for each, text in UNITS.items() if text == unit), abs(factor))
    text = f'{np.sign(factor) * size:.3g} times the derivative of its positions: '
    text += unit or 'another unit or gear?'
    if abs(abs(factor) - 1) < SCALE - 1:
        text = 'they have the opposite sign of the derivative of its positions'
    done = 'positions are used as they are'
    figures = {'factor': factor}
    return Defect('velocity_scale', count, 1.0, done, 'velocity', joint, what=text, figures=figures)


def _unit(size: float) -> str:
    """Return the question which unit it is, '' for none that is known."""
    return next((text for each, text in UNITS.items() if abs(size / each - 1) < LIKE), '')


def _factors(moments: Sequence[Array], moving: Array) -> _Factors:
    """Factors from second moments (3, n) of integrals and positions of each piece."""
    unknown = np.full(len(moving), np.nan)
    if len(moments) < FEWEST_PIECES:
        return _Factors(unknown, unknown, unknown)
    positions, both, integrals = np.moveaxis(np.array(moments), 1, 0)  # (pieces, n) each
    value, least, most = (np.array(unknown) for _ in range(3))
    for joint in range(len(moving)):
        used = positions[:, joint] > moving[joint] ** 2
        if np.count_nonzero(used) < FEWEST_PIECES:
            continue
        sign = float(np.sign(both[used, joint].sum())) or 1.0
        cross = sign * both[used, joint]
        low, weight = cross / positions[used, joint], np.sqrt(positions[used, joint])
        with np.errstate(divide='ignore', invalid='ignore'):
            high = np.where(cross > 0, integrals[used, joint] / np.abs(cross), np.inf)
        (lower, below), (upper, above) = _median(low, weight), _median(high, weight)
        if not 0 < lower <= upper <= MOST_APART * lower:
            continue
        value[joint] = sign * np.sqrt(lower * upper)
        least[joint], most[joint] = lower - SURE * below, upper + SURE * above
    return _Factors(value, least, most)


def _median(values: Array, weights: Array) -> tuple[float, float]:
    """Weighted median and its standard error, from the median deviation."""
    middle = _middle(values, weights)
    if not np.isfinite(middle):
        return middle, np.inf
    count = weights.sum() ** 2 / np.sum(weights**2)
    spread = MAD_TO_SIGMA * _middle(np.abs(values - middle), weights)
    return middle, float(MEDIAN_ERROR * spread / np.sqrt(count))


def _middle(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, 0.5 * reached[-1])])


def _moments(source: Source, interval: float) -> Iterator[Array]:
    """Mean squares and products (3, n) of positions and of integrals, of pieces without gaps.

    Both less a straight line: an offset of the velocities is none of the motion.
    """
    probes = source.probes()
    length = max(sum(len(each.time) for each in probes) // PIECES, FEWEST)
    for block in probes:
        ends = np.flatnonzero(np.diff(block.time) > GAP * interval) + 1
        for first, last in zip([0, *ends], [*ends, len(block.time)], strict=True):
            count = max(1, round((last - first) / length))
            edges = np.linspace(first, last, count + 1).astype(int)
            for low, high in zip(edges[:-1], edges[1:], strict=True):
                if high - low >= FEWEST:
                    yield _of_piece(block.rows(slice(int(low), int(high))))


def _of_piece(block: Block) -> Array:
    """Mean squares and products (3, n) of one piece; zero where too few samples are valid."""
    assert block.velocities is not None
    steps = np.diff(block.time)[:, None]
    rates = block.velocities
    moved = np.cumsum(0.5 * (rates[1:] + rates[:-1]) * steps, axis=0)
    moved = np.concatenate([np.zeros((1, rates.shape[1])), moved])
    found = np.zeros((3, rates.shape[1]))
    for joint in range(rates.shape[1]):
        flags = block.position_valid
        own = np.ones(len(rates), dtype=bool) if flags is None else flags[:, joint]
        if np.count_nonzero(own) < FEWEST:
            continue
        time = block.time[own]
        line = np.column_stack([np.ones(len(time)), time - time.mean()])
        pair = np.column_stack([block.positions[own, joint], moved[own, joint]])
        pair -= pair[0]
        p, q = (pair - line @ np.linalg.lstsq(line, pair, rcond=None)[0]).T
        found[:, joint] = np.mean(p * p), np.mean(p * q), np.mean(q * q)
    return found
