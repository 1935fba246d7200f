"""What the neighbours of a sample say it should be: local polynomials without the sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array

MAD_TO_SIGMA = 1.4826
CHUNK = 64  # samples that a local scale is taken from
EVEN = 1e-6  # of an interval
FARTHEST = 100.0  # intervals: what lies behind a longer gap says nothing, as behind an end


class Extrapolation:
    """From `reach` samples before each sample, and from as many after, to the sample itself.

    By polynomials through them, by least squares, over increasing stamps (N,) [s]. Samples behind
    a long gap are none: there the recording ends, and begins again.
    """

    def __init__(self, time: Array, reach: int, degree: int) -> None:
        self._count, self._reach = len(time), min(reach, len(time) - 1)
        steps = np.diff(time)
        interval = float(np.median(steps))
        if np.abs(steps - interval).max() <= EVEN * interval:
            weights = _weights(-np.arange(reach, 0, -1.0)[None], degree)
            self._before, self._after = weights, weights[:, ::-1]
        else:
            self._before = _weights(self._offsets(time / interval), degree)
            self._after = _weights(self._offsets(-time[::-1] / interval), degree)[::-1, ::-1]
        self._time, self._degree = time / interval, degree

    def _offsets(self, time: Array) -> Array:
        rest = self._count - self._reach
        parts = [time[k : k + rest] - time[self._reach :] for k in range(self._reach)]
        return np.stack(parts, axis=1)

    @property
    def deviation(self) -> float:
        """Typical standard deviation of sample minus prediction for white unit noise."""
        return float(np.sqrt(1 + np.nanmedian(np.sum(self._before**2, axis=1))))

    def off(self, values: Array) -> tuple[Array, Array]:
        """Return by how much samples (N, c) are off from both, NaN without enough neighbours.

        In units of the standard deviation that white noise of one unit gives the difference.
        """
        reach = self._reach
        before, _ = _off(values, self._before, range(reach), reach)
        after, _ = _off(values, self._after, range(1, reach + 1), 0)
        return before, after

    def off_between(self, values: Array) -> tuple[Array, float]:
        """As `off`, from the polynomial through the samples on both sides; NaN at the ends.

        Also returns the typical standard deviation of the difference for white unit noise.
        """
        reach, count = self._reach, self._count
        inside = count - 2 * reach
        if inside <= 0:
            return np.full(values.shape, np.nan), 1.0
        places = [*range(reach), *range(reach + 1, 2 * reach + 1)]
        if len(self._before) == 1:
            weights = _weights(np.array([places], dtype=float) - reach, self._degree)
        else:
            own = self._time[reach : reach + inside]
            offsets = [self._time[k : k + inside] - own for k in places]
            weights = _weights(np.stack(offsets, axis=1), self._degree)
        off, deviation = _off(values, weights, places, reach)
        return off, float(np.nanmedian(deviation))


def _off(values: Array, weights: Array, places: Sequence[int], own: int) -> tuple[Array, Array]:
    """Samples (N, c) less the weighted ones at `places`, over the deviation of the difference.

    Of a stretch of samples, the first of which stands at `own`; NaN where it does not reach.
    """
    rest = len(values) - max(*places, own)
    predicted = np.zeros((rest, values.shape[1]))
    for k, place in enumerate(places):
        predicted += weights[:, k : k + 1] * values[place : place + rest]
    deviation = np.sqrt(1 + np.sum(weights**2, axis=1, keepdims=True))
    off = np.full(values.shape, np.nan)
    off[own : own + rest] = (values[own : own + rest] - predicted) / deviation
    return off, deviation


def _weights(offsets: Array, degree: int) -> Array:
    """Weights (k, m) that a least-squares polynomial at offset 0 gives samples at offsets.

    NaN where one of the samples is too far away.
    """
    far = np.abs(offsets).max(axis=1) > FARTHEST
    offsets = np.where(far[:, None], np.arange(1.0, offsets.shape[1] + 1), offsets)
    powers = np.ones((*offsets.shape, degree + 1))
    for k in range(degree):  # several times faster than `**`
        powers[..., k + 1] = powers[..., k] * offsets
    gram = np.einsum('kmi,kmj->kij', powers, powers)
    first = np.zeros((len(offsets), degree + 1, 1))
    first[:, 0] = 1.0
    weights = np.einsum('kmi,ki->km', powers, np.linalg.solve(gram, first)[..., 0])
    weights[far] = np.nan
    return np.asarray(weights)


def local_scale(residuals: Array) -> Array:
    """Robust standard deviation (N, c) around each sample, from its and the next stretches.

    The largest of three: what is quiet on one side only is no reason for an alarm.
    """
    count, columns = residuals.shape
    chunks = max(1, count // CHUNK)
    edges = np.linspace(0, count, chunks + 1).astype(int)
    width = int(np.diff(edges).min())
    index = edges[:-1, None] + np.arange(width)
    sizes = np.abs(np.nan_to_num(residuals))[index]  # (chunks, width, c)
    half = width // 2
    middle = np.partition(sizes, half, axis=1)[:, half]
    around = middle.copy()
    around[1:] = np.maximum(around[1:], middle[:-1])
    around[:-1] = np.maximum(around[:-1], middle[1:])
    whole = np.median(middle, axis=0)
    number = np.searchsorted(edges, np.arange(count), side='right') - 1
    return MAD_TO_SIGMA * np.maximum(around, whole)[np.minimum(number, chunks - 1)].reshape(
        count, columns
    )
