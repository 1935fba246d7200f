"""Mean over the periods and the noise that their spread shows, some periods at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.datasets import Recording
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.quality.prediction import MAD_TO_SIGMA
from pkm_identification.signals.even_grid import bridged
from pkm_identification.signals.folding import (
    Folded,
    Periods,
    filled,
    low_harmonics,
    settling_spectra,
)
from pkm_identification.signals.noise import Noise, noise_from_blocks

NEGLIGIBLE = 1e-9  # noise below this share of a signal is rounding
STRAY = 8.0  # standard deviations of the spread over periods: never by chance
MOST_STRAYS = 0.01  # share; more of them are how the periods differ
FEWEST = 3  # periods whose median an outlier does not move


@dataclass(frozen=True)
class Averaged:
    """Positions and forces of P whole periods."""

    positions: Folded  # folded onto one grid
    forces: Folded
    position_noise: Noise | None  # from the spread; None for one period
    force_noise: Noise | None
    periods: int  # number P
    skipped: int  # number of those left out before them
    start: float  # stamp of the first sample [s]
    strays: int = 0  # samples that were left out for being far from the other periods'


def average(recording: Recording, period: float, skip: int | None) -> Averaged:
    """Average the periods [s] of a recording, in memory that does not grow with their number.

    `skip` of them are left out at the beginning; None: those in which the motion still settles.
    """
    axes = len(recording.joint_names)
    if skip is None:
        blocks = Periods.of(recording, period, 0).blocks()
        skip = settling_spectra(
            np.concatenate([low_harmonics(filled(block[..., :axes])) for block in blocks])
        )
    periods = Periods.of(recording, period, skip)
    mean, hits = _mean(periods)
    strays = 0
    if recording.quality is not None and hits.min() < periods.grid.periods:
        periods, strays = without_strays(periods, mean, hits)
        mean, hits = _mean(periods) if strays else (mean, hits)
    positions, forces = (_part(periods, mean, hits, part) for part in _parts(axes))
    grid = periods.grid
    if recording.effort_filter is not None:
        forces = _before(recording.effort_filter, forces)
    return Averaged(
        positions,
        forces,
        _noise(positions, grid.periods),
        _noise(forces, grid.periods),
        grid.periods,
        skip,
        grid.start,
        strays,
    )


def _parts(axes: int) -> tuple[slice, slice]:
    """Columns of positions and of forces."""
    return slice(0, axes), slice(axes, 2 * axes)


def _mean(periods: Periods) -> tuple[Array, Indices]:
    """Mean (n, 2 n_a) of all periods, and of how many samples."""
    total: Array | float = 0.0
    hits: Indices | int = 0
    for block in periods.blocks():
        total = total + np.nansum(block, axis=0)
        hits = hits + np.count_nonzero(~np.isnan(block), axis=0)
    assert isinstance(total, np.ndarray) and isinstance(hits, np.ndarray)
    return bridged(total, hits, is_period=True), hits


def without_strays(periods: Periods, mean: Array, hits: Indices) -> tuple[Periods, int]:
    """Leave samples out that are far from those of the same phase in other periods.

    Outliers so close to each other that their neighbours do not show them, in recordings
    from which samples were left out already. Of a long recording, the first periods show
    where the others should be. Returns how many these are, too.
    """
    some = next(periods.blocks())
    if len(some) < FEWEST:
        return periods, 0
    measured = ~np.isnan(some)
    some = np.where(measured, some, mean)
    middle = np.median(some, axis=0)
    # from the mean: of few periods, one is always its own median
    spread = np.where(measured, np.abs(some - mean), np.nan)
    unbiased = np.sqrt(len(some) / (len(some) - 1))
    limit = STRAY * MAD_TO_SIGMA * unbiased * np.nanmedian(spread, axis=(0, 1))
    counts = sum(np.sum(np.abs(block - middle) > limit, axis=(0, 1)) for block in periods.blocks())
    count = 0
    for part in _parts(mean.shape[1] // 2):
        strays, size = int(counts[part].sum()), periods.grid.periods * mean[:, part].size
        if hits[:, part].min() < periods.grid.periods and strays <= MOST_STRAYS * size:
            count += strays
        else:
            limit[part] = np.inf
    return (replace(periods, nearby=(middle, limit)), count) if count else (periods, 0)


def _part(periods: Periods, mean: Array, hits: Indices, part: slice) -> Folded:
    def measured() -> Iterator[Array]:
        for block in periods.blocks():
            yield block[..., part]

    grid, own = periods.grid, hits[:, part]
    known = None if own.min() == grid.periods else own
    return Folded(measured, mean[:, part], grid.period, grid.interpolated, known)


def _before(drive: EffortFilter, forces: Folded) -> Folded:
    """Forces without the low pass of the drives: each harmonic over its gain."""

    def measured() -> Iterator[Array]:
        for block in forces.measured():
            missing = np.isnan(block)
            whole = np.where(missing, forces.mean, block)
            yield np.where(missing, np.nan, drive.undone(whole, forces.period))

    return replace(forces, measured=measured, mean=drive.undone(forces.mean, forces.period))


def _noise(folded: Folded, periods: int) -> Noise | None:
    if periods < 2:
        return None
    return noise_from_blocks(
        folded.scaled_deviations(periods),
        use_total=not folded.interpolated,  # interpolation takes noise at high frequencies away
        negligible=(NEGLIGIBLE * folded.mean.std(axis=0)) ** 2,
    )
