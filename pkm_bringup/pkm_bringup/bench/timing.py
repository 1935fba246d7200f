"""Figures of measured times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MICRO = 1e6


def spread(seconds: ArrayLike) -> dict[str, float]:
    """Return p50, p99 and the largest of times (N,) [s], in us."""
    values = np.asarray(seconds, dtype=float) * MICRO
    p50, p99 = np.percentile(values, [50, 99])
    return {'p50': float(p50), 'p99': float(p99), 'max': float(values.max())}


def cost(call: Callable[[], Any], repeats: int, amount: int = 1) -> float:
    """Return the CPU time of one of `amount` things that a call does [us].

    The median over `repeats` calls, after one to warm up. CPU time of this thread: what
    else the machine does counts little.
    """
    call()
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        call()
        times.append(time.thread_time() - begin)
    return float(np.median(times)) * MICRO / amount
