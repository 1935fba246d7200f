"""Extrema of sampled signals, bounded between the samples too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_dynamics.array_types import Floats


class Extremum(NamedTuple):
    """The sample of a signal that comes closest to its limit."""

    margin: float
    value: float
    limit: float
    column: int
    time: float


def peaks(values: Floats) -> Floats:
    """Evenly spaced samples (N, n), local maxima raised to the apex of the parabola through them.

    The parabola goes through the neighbours; no sample is lowered.
    """
    raised = np.array(values, dtype=float)
    if len(raised) < 3:
        return raised
    before, middle, after = values[:-2], values[1:-1], values[2:]
    curvature = before - 2.0 * middle + after
    apex = (middle >= before) & (middle >= after) & (curvature < 0.0)
    safe = np.where(apex, curvature, -1.0)
    raised[1:-1] += np.where(apex, -((after - before) ** 2) / (8.0 * safe), 0.0)
    return raised


def largest(values: Floats, limit: Floats, time: Floats) -> list[Extremum]:
    """Return where each column of `values` (N, n) comes closest to its upper `limit` (n,).

    Columns without a finite limit are left out. What is no number exceeds every limit.
    """
    finite = np.flatnonzero(np.isfinite(limit))
    if finite.size == 0 or values.shape[0] == 0:
        return []
    raised = peaks(values[:, finite])
    margins = limit[finite] - raised
    margins = np.where(np.isnan(margins), -np.inf, margins)
    rows = np.argmin(margins, axis=0)
    found = zip(margins.min(axis=0), raised[rows, np.arange(len(rows))], finite, rows, strict=True)
    return [
        Extremum(float(margin), float(value), float(limit[column]), int(column), float(time[row]))
        for margin, value, column, row in found
    ]


def smallest(values: Floats, limit: Floats, time: Floats) -> list[Extremum]:
    """Return where each column of `values` (N, n) comes closest to its lower `limit` (n,)."""
    found = largest(-values, -np.asarray(limit), time)
    return [e._replace(value=-e.value, limit=-e.limit) for e in found]
