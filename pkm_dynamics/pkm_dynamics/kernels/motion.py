"""Velocities and accelerations of all coordinates and bodies at a closed configuration."""

from __future__ import annotations

import numpy as np

from pkm_description.kinematic_tree import BASE, FIXED, FLOATING, POINT_ROW
from pkm_dynamics.kernels.closure import (
    BY_PLATFORM,
    close_rows,
    dependent_solution,
    linearise,
    place_bodies,
)
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.kernels.vectors import solve
from pkm_dynamics.kernels.work import make_work


@compiled
def body_twists(m, w):
    """Twists of the bodies from the rates, and each joint's velocity product."""
    for body in range(len(m.parent)):
        above, kind, first = m.parent[body], m.joint_kind[body], m.coordinate[body]
        twist, product = w.twist[body], w.screw_rates[body]
        for i in range(6):
            twist[i] = 0.0 if above == BASE else w.twist[above, i]
            product[i] = 0.0
        if kind == FIXED:
            continue
        if kind == FLOATING:
            rates = w.rates[first : first + 6]
            p = w.position[body]
            for i in range(6):
                twist[i] = rates[i]
            twist[0] += p[1] * rates[5] - p[2] * rates[4]
            twist[1] += p[2] * rates[3] - p[0] * rates[5]
            twist[2] += p[0] * rates[4] - p[1] * rates[3]
            product[0] = -(rates[4] * rates[2] - rates[5] * rates[1])
            product[1] = -(rates[5] * rates[0] - rates[3] * rates[2])
            product[2] = -(rates[3] * rates[1] - rates[4] * rates[0])
            continue
        rate = w.rates[first]
        screw = w.screws[first]
        # d/dt S = V x S, with V the twist of the parent (the joint's own adds nothing).
        v0, v1, v2, o0, o1, o2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
        s = screw
        product[0] = rate * (o1 * s[2] - o2 * s[1] + v1 * s[5] - v2 * s[4])
        product[1] = rate * (o2 * s[0] - o0 * s[2] + v2 * s[3] - v0 * s[5])
        product[2] = rate * (o0 * s[1] - o1 * s[0] + v0 * s[4] - v1 * s[3])
        product[3] = rate * (o1 * s[5] - o2 * s[4])
        product[4] = rate * (o2 * s[3] - o0 * s[5])
        product[5] = rate * (o0 * s[4] - o1 * s[3])
        for i in range(6):
            twist[i] += rate * screw[i]


@compiled
def body_accelerations(m, w):
    """Derivatives of the bodies' twists from `rates_dot`."""
    for body in range(len(m.parent)):
        above, kind, first = m.parent[body], m.joint_kind[body], m.coordinate[body]
        acceleration = w.acceleration[body]
        for i in range(6):
            acceleration[i] = w.screw_rates[body, i]
            if above != BASE:
                acceleration[i] += w.acceleration[above, i]
        if kind == FIXED:
            continue
        width = 6 if kind == FLOATING else 1
        for j in range(first, first + width):
            rate = w.rates_dot[j]
            for i in range(6):
                acceleration[i] += rate * w.screws[j, i]


@compiled
def row_bias(m, w, out):
    """Second derivatives (n_r,) of the closing rows, with `rates_dot` as it stands."""
    for row in range(len(m.row_kind)):
        parent, child = m.row_parent[row], m.row_child[row]
        v_p = w.still if parent == BASE else w.twist[parent]
        v_c = w.still if child == BASE else w.twist[child]
        a_p = w.still if parent == BASE else w.acceleration[parent]
        a_c = w.still if child == BASE else w.acceleration[child]
        direction = w.row_direction[row]
        total = 0.0
        for i in range(6):
            total += w.row[row, i] * (a_c[i] - a_p[i])
        # The direction turns with the parent; the point or other direction with the child.
        n0 = v_p[4] * direction[2] - v_p[5] * direction[1]
        n1 = v_p[5] * direction[0] - v_p[3] * direction[2]
        n2 = v_p[3] * direction[1] - v_p[4] * direction[0]
        point_row = m.row_kind[row] == POINT_ROW
        arm = w.row_point[row] if point_row else w.row_other[row]
        r0 = v_c[4] * arm[2] - v_c[5] * arm[1]
        r1 = v_c[5] * arm[0] - v_c[3] * arm[2]
        r2 = v_c[3] * arm[1] - v_c[4] * arm[0]
        if point_row:
            r0 += v_c[0]
            r1 += v_c[1]
            r2 += v_c[2]
            total += n0 * (v_c[0] - v_p[0]) + n1 * (v_c[1] - v_p[1]) + n2 * (v_c[2] - v_p[2])
        m0 = r1 * direction[2] - r2 * direction[1] + arm[1] * n2 - arm[2] * n1
        m1 = r2 * direction[0] - r0 * direction[2] + arm[2] * n0 - arm[0] * n2
        m2 = r0 * direction[1] - r1 * direction[0] + arm[0] * n1 - arm[1] * n0
        total += m0 * (v_c[3] - v_p[3]) + m1 * (v_c[4] - v_p[4]) + m2 * (v_c[5] - v_p[5])
        out[row] = total


@compiled
def set_rates(m, w, mode, rates, rates_dot):
    """Rates and accelerations of all coordinates and bodies from the given ones.

    `rates`, `rates_dot`: (n_i,) of the platform or (n_a,) of the actuators, by `mode`.
    Needs `linearise` done at this configuration.
    """
    n_v, n_i, n_a = m.row_sign.shape[1], len(m.independent), len(m.actuated)
    by_actuators = mode != BY_PLATFORM and m.independent_is_platform
    for i in range(n_i):
        w.right[i] = rates[i]
    if by_actuators:
        solve(w.actuation, n_a, w.actuation_pivots, w.right)
    for k in range(n_v):
        w.rates[k] = 0.0
        for i in range(n_i):
            w.rates[k] += w.mapping[k, i] * w.right[i]
    body_twists(m, w)
    w.rates_dot[:] = 0.0
    body_accelerations(m, w)
    row_bias(m, w, w.residual)
    dependent_solution(m, w, w.residual, w.bias)
    for k in range(n_v):
        w.bias[k] = -w.bias[k]
    for i in range(n_i):
        w.right[i] = rates_dot[i]
        if by_actuators:
            w.right[i] -= w.bias[m.actuated[i]]
    if by_actuators:
        solve(w.actuation, n_a, w.actuation_pivots, w.right)
    for k in range(n_v):
        w.rates_dot[k] = w.bias[k]
        for i in range(n_i):
            w.rates_dot[k] += w.mapping[k, i] * w.right[i]
    body_accelerations(m, w)


@compiled
def prepare(m, w, mode, joints, p, r, rates, rates_dot):
    """Fill the whole state of one sample at a closed configuration; returns a status."""
    place_bodies(m, w, joints, p, r)
    close_rows(m, w)
    status = linearise(m, w)
    set_rates(m, w, mode, rates, rates_dot)
    return status


@compiled
def platform_state(m, w, twist, acceleration):
    """[v; omega] and [dv; domega] (6,) of the platform's origin."""
    body = m.platform_body
    p, v, a = w.position[body], w.twist[body], w.acceleration[body]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        twist[i] = v[i] + v[3 + j] * p[k] - v[3 + k] * p[j]
        twist[3 + i] = v[3 + i]
        acceleration[3 + i] = a[3 + i]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        acceleration[i] = a[i] + a[3 + j] * p[k] - a[3 + k] * p[j]
        acceleration[i] += v[3 + j] * twist[k] - v[3 + k] * twist[j]


@compiled
def joint_motion(m, mode, joints, p, r, rates, rates_dot):
    """Rates of all scalar joints (N, n_j) and of the platform (N, 6), with accelerations."""
    n, n_j = joints.shape
    velocity, acceleration = np.empty((n, n_j)), np.empty((n, n_j))
    twist, twist_dot = np.empty((n, 6)), np.empty((n, 6))
    w = make_work(m)
    for k in range(n):
        prepare(m, w, mode, joints[k], p[k], r[k], rates[k], rates_dot[k])
        for body in range(len(m.parent)):
            index = m.scalar_index[body]
            if index >= 0:
                velocity[k, index] = w.rates[m.coordinate[body]]
                acceleration[k, index] = w.rates_dot[m.coordinate[body]]
        platform_state(m, w, twist[k], twist_dot[k])
    return velocity, acceleration, twist, twist_dot


@compiled
def actuator_jacobians(m, joints, p, r):
    """Rates of the actuators from the independent coordinates (N, n_a, n_i)."""
    n = len(joints)
    n_a, n_i = len(m.actuated), len(m.independent)
    out = np.empty((n, n_a, n_i))
    w = make_work(m)
    for k in range(n):
        place_bodies(m, w, joints[k], p[k], r[k])
        close_rows(m, w)
        linearise(m, w)
        for i in range(n_a):
            for j in range(n_i):
                out[k, i, j] = w.mapping[m.actuated[i], j]
    return out


@compiled
def platform_jacobians(m, joints, p, r):
    """Twist of the platform from the actuators' rates (N, 6, n_a)."""
    n, n_a = len(joints), len(m.actuated)
    out = np.empty((n, 6, n_a))
    w = make_work(m)
    zero, rates = np.zeros(n_a), np.zeros(n_a)
    twist, twist_dot = np.empty(6), np.empty(6)
    for k in range(n):
        place_bodies(m, w, joints[k], p[k], r[k])
        close_rows(m, w)
        linearise(m, w)
        for j in range(n_a):
            rates[:] = 0.0
            rates[j] = 1.0
            set_rates(m, w, 1, rates, zero)
            platform_state(m, w, twist, twist_dot)
            for i in range(6):
                out[k, i, j] = twist[i]
    return out
