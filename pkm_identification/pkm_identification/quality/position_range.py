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
