"""States of drives from sample to sample, as `drive_states` says them."""

from __future__ import annotations

import math

import numpy as np

from pkm_dynamics.kernels.decorator import compiled


@compiled
def drive_steps(time, q, qd, depths, axes, times, coulomb, viscous):
    """Factors and summands (N - 1, n_a + n_w) that take the states from sample to sample.

    Of bristles with deflections (n_a,), and of low passes of drives `axes` (n_w,) with times
    [s], Coulomb and viscous friction (n_w,).
    """
    n_a, n_w, count = len(depths), len(axes), len(time) - 1
    kept, gained = np.empty((count, n_a + n_w)), np.empty((count, n_a + n_w))
    for k in range(count):
        step = time[k + 1] - time[k]
        for a in range(n_a):
            before, after = qd[k, a], qd[k + 1, a]
            ahead, back = 0.0, q[k + 1, a] - q[k, a]
            if before * after < 0.0:  # with a constant acceleration it turns after this share
                share = before / (before - after)
                ahead = 0.5 * before * share * step
                back = 0.5 * after * (1.0 - share) * step
            first, second = math.exp(-abs(ahead) / depths[a]), math.exp(-abs(back) / depths[a])
            kept[k, a] = first * second
            gained[k, a] = np.sign(ahead) * (1.0 - first) * second + np.sign(back) * (1.0 - second)
        for w in range(n_w):
            heated = 0.0
            for end in range(2):
                speed = abs(qd[k + end, axes[w]])
                heated += 0.5 * (coulomb[w] + viscous[w] * speed) * speed
            lasting = math.exp(-step / times[w])
            kept[k, n_a + w] = lasting
            gained[k, n_a + w] = (1.0 - lasting) * heated
    return kept, gained
