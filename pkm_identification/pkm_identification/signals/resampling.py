"""Long recordings on an even grid, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from pkm_identification.datasets import LongDataset

Array = NDArray[np.float64]

REACH = 64  # samples to either side that a spline of order 5 still depends on (1e-20)


def resampled(
    dataset: LongDataset, start: float, step: float, count: int, order: int | None
) -> Iterator[Array]:
    """Yield positions and efforts (k, 2 n_a) at start + step * (0 ... count - 1).

    Parameters
    ----------
    dataset
        With efforts.
    start, step
        First stamp and interval of the grid [s].
    count
        Number of samples on it.
    order
        Of the spline through the samples; None: the stamps lie on the grid, the samples are
        handed on.
    """
    if order is None:
        skip = round((start - dataset.scan.first) / dataset.scan.interval)
        for _, values in _samples(dataset):
            values, skip = values[skip:], max(0, skip - len(values))
            if len(values) and count > 0:
                yield values[:count]
                count -= min(count, len(values))
        return
    done = 0
    time, values = np.zeros(0), np.zeros((0, 0))
    for stamps, block in _samples(dataset, last=True):
        if stamps is not None:
            time = np.concatenate([time, stamps])
            values = np.concatenate([values, block]) if values.size else block
            if len(time) <= 2 * REACH + order:
                continue
        ahead = time[-1 - REACH] if stamps is not None else np.inf
        end = count if np.isinf(ahead) else min(count, int(np.ceil((ahead - start) / step)))
        if end > done:
            grid = start + step * np.arange(done, end)
            spline = make_interp_spline(time, values, k=order)
            yield spline(np.clip(grid, time[0], time[-1]))
            done = end
        keep = int(np.searchsorted(time, start + step * done)) - REACH - order
        keep = max(0, min(keep, len(time) - 2 * REACH))
        time, values = time[keep:], values[keep:]


def _samples(dataset: LongDataset, last: bool = False) -> Iterator[tuple[Array, Array]]:
    """Yield stamps and [positions, efforts]; at the end, where asked for, nothing once more."""
    for block in dataset.blocks():
        assert block.efforts is not None
        yield block.time, np.concatenate([block.positions, block.efforts], axis=1)
    if last:
        yield None, np.zeros(0)  # type: ignore[misc]
