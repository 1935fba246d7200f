"""Rates and derivatives of all coordinates at closed configurations, a block at a time."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.kernels.closure import BY_PLATFORM, SINGULAR, dependent_solution, linearise
from pkm_dynamics.kernels.decorator import compiled, inlined
from pkm_dynamics.kernels.vectors import solve
from pkm_dynamics.kernels.work import block_of, evaluate, make_work, put, put_block
from pkm_dynamics.layout import LANES


@inlined
def linear_systems(m, code, w, count):
    """Factor the linear systems of a block whose configurations are in the inputs.

    What is computed of a singular configuration is nan.
    """
    evaluate(code.systems, w.inputs, w.no_parameters, w.outputs)
    for lane in range(count):
        if linearise(m, w, lane) == SINGULAR:
            w.mapping[lane].fill(np.nan)
            w.actuation[lane].fill(np.nan)


@inlined
def block_rates(m, code, w, mode, first, count, joints, p, r, rates, rates_dot):
    """Fill `w.rates`, `w.rates_dot` (LANES, n_v) of a block.

    Returns where in the outputs the platform's twist and its derivative (12) start.
    """
    start = put_block(w, first, count, joints, p, r)
    if code.inline:
        for lane in range(count):
            row = put(w, lane, start, rates[first + lane])
            put(w, lane, row, rates_dot[first + lane])
        address = code.actuated
        if mode == BY_PLATFORM or not m.independent_is_platform:
            address = code.kinematics
        evaluate(address, w.inputs, w.no_parameters, w.outputs)
        take_rates(m, w, count)
        return 2 * m.n_v
    linear_systems(m, code, w, count)
    block_solve_rates(m, code, w, mode, first, count, start, rates, rates_dot)
    evaluate(code.platform, w.inputs, w.no_parameters, w.outputs)
    return 0


@inlined
def take_rates(m, w, count):
    """Copy the rates that a generated function put out."""
    n_v = m.n_v
    for lane in range(count):
        for v in range(n_v):
            w.rates[lane, v] = w.outputs[v, lane]
            w.rates_dot[lane, v] = w.outputs[n_v + v, lane]


@compiled
def block_solve_rates(m, code, w, mode, first, count, row, rates, rates_dot):
    """Rates and derivatives with the factors of `linear_systems`; leaves them in the inputs."""
    n_v, n_i, n_a = m.n_v, len(m.independent), len(m.actuated)
    n_d = len(m.component_rows)
    by_actuators = mode != BY_PLATFORM and m.independent_is_platform
    chosen, change = np.zeros(n_d), np.zeros(n_v)
    for lane in range(count):
        for i in range(n_i):
            w.right[i] = rates[first + lane, i]
        if by_actuators:
            solve(w.actuation[lane], n_a, w.actuation_pivots[lane], w.right)
        for v in range(n_v):
            total = 0.0
            for i in range(n_i):
                total += w.mapping[lane, v, i] * w.right[i]
            w.rates[lane, v] = total
            w.inputs[row + v, lane] = total
            w.inputs[row + n_v + v, lane] = 0.0
    evaluate(code.bias, w.inputs, w.no_parameters, w.outputs)
    for lane in range(count):
        for i in range(n_d):
            chosen[i] = -w.outputs[i, lane]
        for v in range(n_v):
            change[v] = 0.0
        dependent_solution(m, w, lane, chosen, change)
        for i in range(n_i):
            w.right[i] = rates_dot[first + lane, i]
            if by_actuators:
                w.right[i] -= change[m.actuated[i]]
        if by_actuators:
            solve(w.actuation[lane], n_a, w.actuation_pivots[lane], w.right)
        for v in range(n_v):
            total = change[v]
            for i in range(n_i):
                total += w.mapping[lane, v, i] * w.right[i]
            w.rates_dot[lane, v] = total
            w.inputs[row + n_v + v, lane] = total


@compiled
def joint_motion(m, code, mode, joints, p, r, rates, rates_dot):
    """Rates of all scalar joints (N, n_j) and of the platform (N, 6), with accelerations."""
    n, n_j = joints.shape
    velocity, acceleration = np.empty((n, n_j)), np.empty((n, n_j))
    twist, twist_dot = np.empty((n, 6)), np.empty((n, 6))
    w = make_work(m)
    for first in range(0, n, LANES):
        count = block_of(first, n)
        row = block_rates(m, code, w, mode, first, count, joints, p, r, rates, rates_dot)
        for lane in range(count):
            k = first + lane
            for i in range(6):
                twist[k, i] = w.outputs[row + i, lane]
                twist_dot[k, i] = w.outputs[row + 6 + i, lane]
            joint_rates(m, w, lane, velocity[k], acceleration[k])
    return velocity, acceleration, twist, twist_dot


@inlined
def joint_rates(m, w, lane, velocity, acceleration):
    """Pick one lane's rates of the scalar joints (n_j,) and their derivatives."""
    for body in range(len(m.joint_kind)):
        index = m.scalar_index[body]
        if index >= 0:
            velocity[index] = w.rates[lane, m.coordinate[body]]
            acceleration[index] = w.rates_dot[lane, m.coordinate[body]]


@compiled
def actuator_jacobians(m, code, joints, p, r):
    """Rates of the actuators from the independent coordinates (N, n_a, n_i)."""
    n, n_a, n_i = len(joints), len(m.actuated), len(m.independent)
    out = np.empty((n, n_a, n_i))
    w = make_work(m)
    for first in range(0, n, LANES):
        count = block_of(first, n)
        put_block(w, first, count, joints, p, r)
        linear_systems(m, code, w, count)
        for lane in range(count):
            for i in range(n_a):
                for j in range(n_i):
                    out[first + lane, i, j] = w.mapping[lane, m.actuated[i], j]
    return out


@inlined
def block_transfer(m, w, lane, out):
    """Rates of all coordinates from the actuators, out (n_v, n_a), by the lane's factors."""
    n_v, n_i, n_a = m.n_v, len(m.independent), len(m.actuated)
    for j in range(n_a):
        for i in range(n_i):
            w.right[i] = 1.0 if i == j else 0.0
        if m.independent_is_platform:
            solve(w.actuation[lane], n_a, w.actuation_pivots[lane], w.right)
        for v in range(n_v):
            total = 0.0
            for i in range(n_i):
                total += w.mapping[lane, v, i] * w.right[i]
            out[v, j] = total


@compiled
def platform_jacobians(m, code, joints, p, r):
    """Twist of the platform from the actuators' rates (N, 6, n_a)."""
    n, n_a, n_v = len(joints), len(m.actuated), m.n_v
    out = np.empty((n, 6, n_a))
    w = make_work(m)
    transfer = np.empty((LANES, n_v, n_a))
    for first in range(0, n, LANES):
        count = block_of(first, n)
        row = put_block(w, first, count, joints, p, r)
        linear_systems(m, code, w, count)
        for lane in range(count):
            block_transfer(m, w, lane, transfer[lane])
        for j in range(n_a):
            for lane in range(count):
                put(w, lane, row, transfer[lane, :, j])
            evaluate(code.twist, w.inputs, w.no_parameters, w.outputs)
            for lane in range(count):
                for i in range(6):
                    out[first + lane, i, j] = w.outputs[i, lane]
    return out
