"""Where in the positions of a drive its residuals are periodic: a first look at little cost.

Residuals are summed in cells of the position, and the spectrum of the cells over the wave
numbers is divided by its own mean nearby: friction and bodies that do not fit make it large
over a broad range, force ripple at one wave number. What stands out most is a
candidate; whether it is ripple is for the tests of the candidate to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.problem import Problem
from pkm_identification.signals.bands import FilterBand

# Periods within the travel: what repeats less often may be any force of the position, and need
# not go on beyond it
LEAST_TURNS = 3.0
LEAST_ROWS = 2.5  # a period at the mean speed: of fewer the band passes little
CELLS = 8.0  # a period of the shortest ripple: a cell blurs it by 3 % at most
OVERSAMPLING = 6  # wave numbers in the width of a peak, one over the travel
NEARBY = 6.0  # widths of a peak to either side, in the mean that a peak is compared with
MOST_CELLS = 2**18  # of a drive that turns without end: shorter periods are not looked for
FEWEST = 4.0  # independent wave numbers: with fewer no peak stands out


class Peak(NamedTuple):
    """Wave number that stands out most."""

    wave: float  # [1/m, 1/rad]
    independent: float  # wave numbers that were looked at


def ripple_peak(
    positions: Sequence[Array], residuals: Sequence[Array], rows: Sequence[int] | None = None
) -> Peak | None:
    """Find the peak in residuals (n,) at positions (n,) [m, rad] of one drive, run by run.

    The samples have the information of so many `rows` of the band, by default of as many. None
    where the drive moves too little.
    """
    low, high = min(each.min() for each in positions), max(each.max() for each in positions)
    travel = float(high - low)
    counts = [len(each) for each in positions]
    apart = [count / of for count, of in zip(counts, rows or counts, strict=True)]
    step = max(
        float(np.mean(np.abs(np.diff(each)))) * factor
        for each, factor in zip(positions, apart, strict=True)
    )
    if not travel > 0 or not step > 0:
        return None
    highest = min(1 / (LEAST_ROWS * step), MOST_CELLS / (CELLS * travel))
    independent = travel * highest - LEAST_TURNS
    if independent < FEWEST:
        return None
    width = 1 / (CELLS * highest)
    cells = int(np.ceil(travel / width)) + 1
    sums, visits = np.zeros(cells), np.zeros(cells)
    for place, left in zip(positions, residuals, strict=True):
        index = ((place - low) / width).astype(np.int64)
        sums += np.bincount(index, left, cells)
        visits += np.bincount(index, None, cells)
    sums -= visits * sums.sum() / visits.sum()
    size = int(2 ** np.ceil(np.log2(OVERSAMPLING * cells)))
    power = np.abs(np.fft.rfft(sums, size)) ** 2
    waves = np.arange(len(power)) / (size * width)
    inside = np.flatnonzero((waves >= LEAST_TURNS / travel) & (waves <= highest))
    reach = max(1, int(NEARBY * size * width / travel))
    total = np.cumsum(np.concatenate([[0.0], power[inside]]))
    index = np.arange(len(inside))
    first, last = np.maximum(index - reach, 0), np.minimum(index + reach + 1, len(inside))
    nearby = (total[last] - total[first]) / (last - first)
    best = int(np.argmax(power[inside] / np.maximum(nearby, 1e-300)))
    return Peak(float(waves[inside[best]]), float(independent))


def drive_samples(problem: Problem, residuals: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Positions and residuals (n, n_a) of the same samples, run by run, of residuals in time."""
    positions, found = [], []
    for run, left in zip(problem.runs, residuals, strict=True):
        band, count = run.signals.band, len(run.signals)
        if isinstance(band, FilterBand):
            positions.append(run.signals.positions[band.row_samples(count)])
            found.append(left)
        else:
            positions.append(run.signals.positions)
            spectrum = np.fft.rfft(left, axis=0)
            found.append(np.fft.irfft(spectrum, count, axis=0) * (count / len(left)))
    return positions, found
