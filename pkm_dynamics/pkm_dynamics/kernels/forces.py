"""Inverse dynamics and regressor by virtual power [A, H], a block of samples at a time.

Forces of the spanning tree are projected to the actuators with the transfer matrix
T = dq/dq_a: Q_a = T^T (sum_b J_b^T Y_b p_b + friction + rotor).
"""

from __future__ import annotations

import numpy as np

from pkm_dynamics.kernels.decorator import compiled, inlined
from pkm_dynamics.kernels.joint_rates import (
    block_rates,
    block_solve_rates,
    block_transfer,
    joint_rates,
    linear_systems,
    take_rates,
)
from pkm_dynamics.kernels.vectors import solve_transposed
from pkm_dynamics.kernels.work import block_of, evaluate, evaluate_part, make_work, put, put_block
from pkm_dynamics.layout import LANES


@inlined
def block_forces(m, code, w, mode, first, count, joints, p, r, rates, rates_dot, parameters, out):
    """Actuator forces of one block into `out` (N, n_a); leaves `w.rates`, `w.rates_dot`."""
    n_v, n_i, n_a = m.n_v, len(m.independent), len(m.actuated)
    row = put_block(w, first, count, joints, p, r)
    if code.inline:
        for lane in range(count):
            after = put(w, lane, row, rates[first + lane])
            put(w, lane, after, rates_dot[first + lane])
        evaluate(code.dynamics, w.inputs, parameters, w.outputs)
        for lane in range(count):
            for i in range(n_a):
                out[first + lane, i] = w.outputs[2 * n_v + 12 + i, lane]
        return True
    linear_systems(m, code, w, count)
    block_solve_rates(m, code, w, mode, first, count, row, rates, rates_dot)
    evaluate(code.forces, w.inputs, parameters, w.outputs)
    for lane in range(count):
        for i in range(n_i):
            total = 0.0
            for v in range(n_v):
                total += w.mapping[lane, v, i] * w.outputs[12 + v, lane]
            w.right[i] = total
        if m.independent_is_platform:
            solve_transposed(w.actuation[lane], n_a, w.actuation_pivots[lane], w.right)
        for i in range(n_a):
            out[first + lane, i] = w.right[i]
    return False


@compiled
def states_and_forces(m, code, mode, joints, p, r, rates, rates_dot, parameters):
    """Velocities and accelerations of the joints (N, n_j) and actuator forces (N, n_a)."""
    n, n_j = joints.shape
    velocity, acceleration = np.empty((n, n_j)), np.empty((n, n_j))
    out = np.empty((n, len(m.actuated)))
    w = make_work(m)
    for first in range(0, n, LANES):
        count = block_of(first, n)
        inside = block_forces(
            m, code, w, mode, first, count, joints, p, r, rates, rates_dot, parameters, out
        )
        if inside:
            take_rates(m, w, count)
        for lane in range(count):
            joint_rates(m, w, lane, velocity[first + lane], acceleration[first + lane])
    return velocity, acceleration, out


@compiled
def regressor(m, code, mode, joints, p, r, rates, rates_dot):
    """Actuator forces per standard parameter (N, n_a, n_p)."""
    n, n_a, n_v = len(joints), len(m.actuated), m.n_v
    out = np.empty((n, n_a, m.n_p))
    w = make_work(m)
    transfer = np.empty((n_v, n_a))
    row = joints.shape[1] + 12
    width = 9 + 6 * n_a
    for first in range(0, n, LANES):
        count = block_of(first, n)
        block_rates(m, code, w, mode, first, count, joints, p, r, rates, rates_dot)
        for lane in range(count):
            after = put(w, lane, row, w.rates[lane])
            after = put(w, lane, after, w.rates_dot[lane])
            if not code.inline:
                block_transfer(m, w, lane, transfer)
                for v in range(n_v):
                    after = put(w, lane, after, transfer[v])
        evaluate(code.columns, w.inputs, w.no_parameters, w.outputs)
        for index in range(m.inertial_bodies):
            evaluate_part(code.inertial, w.outputs, width * index, w.no_parameters, w.columns)
            for lane in range(count):
                for a in range(n_a):
                    for c in range(10):
                        out[first + lane, a, 10 * index + c] = w.columns[10 * a + c, lane]
        start = width * m.inertial_bodies
        for column in m.other_parameters:
            for lane in range(count):
                for a in range(n_a):
                    out[first + lane, a, column] = w.outputs[start + a, lane]
            start += n_a
    return out
