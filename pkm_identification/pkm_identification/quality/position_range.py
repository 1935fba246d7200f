"""Positions that no motion within the strokes of a robot can have: another unit or gear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.datasets.source import Source
from pkm_identification.quality.report import Defect

# Of the stroke, that positions range over: whatever their zero, they move over one stroke at most.
# Descriptions give conservative strokes, and turns of a wrist that are not limited
MOST = 2.0
FAR_OUT = 0.5  # of the stroke beyond its ends: zeros are off by less
STILL = 0.01  # of what the joints usually move: a joint that moves less stands still
NEARLY_ALL = 0.99  # of the samples: others may be spikes


def stroke_defects(
    source: Source, names: Sequence[str], lower: Array, upper: Array
) -> list[Defect]:
    """Find joints whose positions range over far more than their stroke (n,) [m, rad].

    Joints without limits have none.
    """
    strokes = np.asarray(upper) - np.asarray(lower)
    positions = source.head.positions
    low, high = np.quantile(positions, [1 - NEARLY_ALL, NEARLY_ALL], axis=0)
    times = np.where(np.isfinite(strokes) & (strokes > 0), (high - low) / strokes, 0.0)
    return [
        Defect(
            'beyond_stroke',
            source.count,
            1.0,
            'positions are used as they are',
            'position',
            names[int(k)],
            figures={'strokes': float(times[k])},
            what='they range over more than twice the stroke: degrees, another unit or gear?',
        )
        for k in np.flatnonzero(times > MOST)
    ]


def why_impossible(names: Sequence[str], positions: Array, lower: Array, upper: Array) -> str:
    """Say what is probably wrong with positions (N, n) in which no closed robot can be.

    Strokes end at (n,) [m, rad].
    """
    strokes = np.asarray(upper) - np.asarray(lower)
    has_stroke = np.isfinite(strokes) & (strokes > 0)
    low, high = np.quantile(positions, [1 - NEARLY_ALL, NEARLY_ALL], axis=0)
    out = np.maximum(np.asarray(lower) - low, high - np.asarray(upper))
    share = np.where(has_stroke, out / strokes, 0.0)
    k = int(np.argmax(share))
    if share[k] > FAR_OUT:
        return (
            f'positions of {names[k]} go from {low[k]:.4g} to {high[k]:.4g}, its stroke from '
            f'{lower[k]:.4g} to {upper[k]:.4g}: another unit, zero or order of the joints?'
        )
    moved = np.where(has_stroke, (high - low) / strokes, high - low)
    k = int(np.argmin(moved))
    if moved[k] < STILL * np.median(moved):
        return f'positions of {names[k]} hardly change while others do: a dead sensor?'
    return 'are the joints in the right order, their zeros right?'
