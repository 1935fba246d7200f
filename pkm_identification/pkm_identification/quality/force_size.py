"""Forces that the described robot cannot have: another unit, other force constants, other signs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from pkm_identification.arrays import Array, Mask
from pkm_identification.quality.report import Defect

# Of a drive's force limit: peaks of drives are two to three times what descriptions give
MOST = 4.0
NEARLY_ALL = 0.99  # of the samples: others may be spikes
# Correlation of measured and described forces from which one is the other times a factor
ALIKE = 0.9
# Factor that no careless mass of a description makes of the forces of all drives
FAR = 5.0
MOST_ALIKE = 0.5  # share of the drives whose forces are as described
SPREAD = 2.0  # of the factors of the drives, that are one factor
UNIT = 1.3  # of a factor, within which it is that of the force constants


def force_limit_defects(efforts: Array, names: Sequence[str], limit: Array) -> list[Defect]:
    """Find joints whose measured forces (N, n) are far beyond what their drives give (n,)."""
    usual = np.quantile(np.abs(efforts), NEARLY_ALL, axis=0)
    times = np.where(np.isfinite(limit) & (limit > 0), usual / np.where(limit > 0, limit, 1.0), 0.0)
    what = 'they are far beyond what the drives give: another unit, or wrong force constants?'
    return [
        _defect('beyond_force', len(efforts), names[int(k)], what, limits=float(times[k]))
        for k in np.flatnonzero(times > MOST)
    ]


def described_force_defects(
    efforts: Array, described: Array, names: Sequence[str], constants: Array
) -> list[Defect]:
    """Compare measured forces (N, n) with those of the described robot in the same motion.

    Found are forces that are the described ones times one factor far from 1, as of another unit,
    and those of the opposite sign; `constants` (n,) are the force constants of the drives. Forces
    of another shape are those of another robot: they tell nothing of units.
    """
    left, right = (each - each.mean(axis=0) for each in (efforts, described))
    sizes = np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0)
    product = np.maximum(np.outer(*sizes), np.finfo(float).tiny)
    each_with_each = left.T @ right / product
    correlation, count = np.diag(each_with_each), len(efforts)
    factors = sizes[0] / np.maximum(sizes[1], np.finfo(float).tiny)
    alike = np.abs(correlation) >= ALIKE
    if not alike.all():
        return _exchanged(each_with_each, count, names) or _dead(factors, alike, count, names)
    what = 'they have the opposite sign of those of the description'
    found = [
        _defect('unlike_robot', count, names[int(k)], what, correlation=float(correlation[k]))
        for k in np.flatnonzero(correlation < 0.0)
    ]
    factor = float(np.median(factors))
    is_one = factors.max() < SPREAD * factor and factors.min() > factor / SPREAD
    if not is_one or 1.0 / FAR < factor < FAR:
        return found
    what = f'they are {factor:.2g} times those of the description: '
    if np.abs(np.log(factors * constants)).max() < np.log(UNIT):
        what += 'currents in A that count as forces?'
    else:
        what += 'another unit, wrong force constants, or masses of the description that nobody set?'
    return [*found, *(_defect('unlike_robot', count, name, what, factor=factor) for name in names)]


def _dead(factors: Array, alike: Mask, count: int, names: Sequence[str]) -> list[Defect]:
    """Find joints whose forces hardly change where most others do as described.

    `factors` (n,) are what the measured forces scatter by over the described ones.
    """
    if np.count_nonzero(alike) < MOST_ALIKE * len(alike):
        return []
    dead = ~alike & (factors < np.median(factors[alike]) / FAR)
    what = 'they hardly change where those of other joints are as described: a dead sensor?'
    return [
        _defect('unlike_robot', count, names[int(k)], what, factor=float(factors[k]))
        for k in np.flatnonzero(dead)
    ]


def _exchanged(correlation: Array, count: int, names: Sequence[str]) -> list[Defect]:
    """Find joints whose forces are those described of other joints, (n, n) being alike."""
    rows, columns = linear_sum_assignment(-correlation)
    if correlation[rows, columns].min() < ALIKE:
        return []
    return [
        _defect('unlike_robot', count, names[i], f'they are those of {names[j]} in the description')
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if i != j
    ]


def _defect(kind: str, count: int, joint: str, what: str, **figures: float) -> Defect:
    treatment = 'forces are used as they are'
    return Defect(kind, count, 1.0, treatment, 'effort', joint, figures=figures, what=what)
