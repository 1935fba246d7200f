"""Distances between capsules that move with bodies."""

from __future__ import annotations

from math import sqrt

import numpy as np

from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.kernels.decorator import compiled

TINY = 1e-18  # [m^2] below which an axis is a point


@compiled
def capsule_gaps(
    places: Floats,
    turns: Floats,
    body: Integers,
    ends: Floats,
    radii: Floats,
    first: Integers,
    second: Integers,
    column: Integers,
    out: Floats,
) -> None:
    """Lower `out` (N, n_out) to the distances [m] of pairs of capsules; negative inside.

    Capsule i belongs to body `body[i]` (a body of -1 stands still), whose axis has the
    `ends` (n, 2, 3) in the body's frame. Pair k, of the capsules first[k] and second[k],
    counts for `column[k]`. Poses: places (N, n_b, 3), turns (N, n_b, 3, 3).
    """
    n = len(radii)
    start, along = np.empty((n, 3)), np.empty((n, 3))
    for t in range(len(places)):
        for i in range(n):
            b = body[i]
            for row in range(3):
                if b < 0:
                    start[i, row] = ends[i, 0, row]
                    along[i, row] = ends[i, 1, row] - ends[i, 0, row]
                    continue
                at, to = places[t, b, row], 0.0
                for k in range(3):
                    at += turns[t, b, row, k] * ends[i, 0, k]
                    to += turns[t, b, row, k] * (ends[i, 1, k] - ends[i, 0, k])
                start[i, row], along[i, row] = at, to
        for p in range(len(first)):
            i, j = first[p], second[p]
            gap = segment_distance(start[i], along[i], start[j], along[j]) - radii[i] - radii[j]
            if gap < out[t, column[p]]:
                out[t, column[p]] = gap


@compiled
def segment_distance(a: Floats, u: Floats, c: Floats, v: Floats) -> float:
    """Return the distance of the segments a to a + u and c to c + v (3,).

    The nearest points of the two lines, moved into the segments one after the other: the
    squared distance is convex, so that the second projection is the nearest point.
    """
    uu = vv = uv = uw = vw = 0.0
    for k in range(3):
        w = a[k] - c[k]
        uu += u[k] * u[k]
        vv += v[k] * v[k]
        uv += u[k] * v[k]
        uw += u[k] * w
        vw += v[k] * w
    determinant = uu * vv - uv * uv
    s = 0.0
    if determinant > TINY:
        s = min(max((uv * vw - vv * uw) / determinant, 0.0), 1.0)
    t = min(max((uv * s + vw) / max(vv, TINY), 0.0), 1.0)
    s = min(max((uv * t - uw) / max(uu, TINY), 0.0), 1.0)
    square = 0.0
    for k in range(3):
        difference = a[k] + s * u[k] - c[k] - t * v[k]
        square += difference * difference
    return sqrt(square)
