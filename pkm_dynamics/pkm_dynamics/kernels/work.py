"""Scratch arrays of one sample, allocated once a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_dynamics.kernels.decorator import compiled


class Work(NamedTuple):
    """State of one sample in base axes; twists and wrenches about the base origin."""

    position: np.ndarray  # (n_b, 3) body origins [m]
    rotation: np.ndarray  # (n_b, 3, 3)
    screws: np.ndarray  # (n_v, 6) [v0; omega] per unit rate
    screw_rates: np.ndarray  # (n_b, 6) velocity product of each body's own joint
    twist: np.ndarray  # (n_b, 6)
    acceleration: np.ndarray  # (n_b, 6) time derivative of the twist
    residual: np.ndarray  # (n_r,)
    row: np.ndarray  # (n_r, 6) wrench of each closing row
    row_direction: np.ndarray  # (n_r, 3) direction fixed in the parent
    row_other: np.ndarray  # (n_r, 3) direction fixed in the child
    row_point: np.ndarray  # (n_r, 3) point fixed in the child [m]
    mapping: np.ndarray  # (n_v, n_i) rates of all coordinates from the independent ones
    systems: np.ndarray  # (n_c, k, k) factors of the components' systems
    pivots: np.ndarray  # (n_c, k)
    actuation: np.ndarray  # (n_a, n_i) factors of the actuators' rows of the mapping
    actuation_pivots: np.ndarray  # (n_a,)
    rates: np.ndarray  # (n_v,)
    rates_dot: np.ndarray  # (n_v,)
    bias: np.ndarray  # (n_v,) accelerations at zero independent acceleration
    change: np.ndarray  # (n_v,)
    independent: np.ndarray  # (n_i,)
    right: np.ndarray  # (k,)
    wrench: np.ndarray  # (n_b, 6)
    force: np.ndarray  # (n_v,) generalised forces of the spanning tree
    transfer: np.ndarray  # (n_v, n_a) rates of all coordinates from the actuators
    jacobian: np.ndarray  # (n_b, 6, n_a) twists of the bodies from the actuators
    local: np.ndarray  # (6, n_a)
    unit: np.ndarray  # (6, 10)
    still: np.ndarray  # (6,) zeros: the base's twist
    m1: np.ndarray  # (3, 3)
    m2: np.ndarray  # (3, 3)
    a: np.ndarray  # (3,)
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


@compiled
def make_work(m):
    """Allocate the scratch arrays of a mechanism."""
    n_b, n_v, n_r = len(m.parent), m.row_sign.shape[1], len(m.row_kind)
    n_i, n_a, n_c = len(m.independent), len(m.actuated), len(m.component_start) - 1
    k = 1
    for c in range(n_c):
        k = max(k, m.component_start[c + 1] - m.component_start[c])
    return Work(
        np.zeros((n_b, 3)), np.zeros((n_b, 3, 3)), np.zeros((n_v, 6)), np.zeros((n_b, 6)),
        np.zeros((n_b, 6)), np.zeros((n_b, 6)), np.zeros(n_r), np.zeros((n_r, 6)),
        np.zeros((n_r, 3)), np.zeros((n_r, 3)), np.zeros((n_r, 3)),
        np.zeros((n_v, n_i)), np.zeros((n_c, k, k)), np.zeros((n_c, k), np.int64),
        np.zeros((n_a, n_i)), np.zeros(n_a, np.int64), np.zeros(n_v), np.zeros(n_v),
        np.zeros(n_v), np.zeros(n_v), np.zeros(n_i), np.zeros(max(k, n_a)),
        np.zeros((n_b, 6)), np.zeros(n_v), np.zeros((n_v, n_a)), np.zeros((n_b, 6, n_a)),
        np.zeros((6, n_a)), np.zeros((6, 10)), np.zeros(6), np.zeros((3, 3)), np.zeros((3, 3)),
        np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3),
    )  # fmt: skip
