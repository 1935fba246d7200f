"""Inverse dynamics and regressor by virtual power [A, H].

Forces of the spanning tree are projected to the actuators with the transfer matrix
T = dq/dq_a: Q_a = T^T (sum_b J_b^T Y_b p_b + friction + rotor).
"""

from __future__ import annotations

import math

import numpy as np

from pkm_description.kinematic_tree import BASE, FIXED, FLOATING, POINT_ROW
from pkm_dynamics.kernels.closure import BY_PLATFORM, largest_residual, search
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.kernels.motion import prepare, set_rates
from pkm_dynamics.kernels.vectors import rotate_back_into, rotate_into, solve, solve_transposed
from pkm_dynamics.kernels.work import make_work
from pkm_dynamics.mechanism import (
    COULOMB,
    COULOMB_NEGATIVE,
    COULOMB_POSITIVE,
    ON_AXIS_ROTATION,
    ON_AXIS_SLIDE,
    ON_COORDINATE,
    VISCOUS,
)


@compiled
def friction_factor(kind, rate, v0):
    """Multiplier of one friction parameter at a rate: saturated sign or the rate."""
    if kind == VISCOUS:
        return rate
    if v0 > 0.0:
        sign = min(1.0, max(-1.0, rate / v0))
    else:
        sign = 1.0 if rate > 0.0 else (-1.0 if rate < 0.0 else 0.0)
    if kind == COULOMB_POSITIVE:
        return max(sign, 0.0)
    if kind == COULOMB_NEGATIVE:
        return min(sign, 0.0)
    return sign


@compiled
def local_motion(m, w, body):
    """Local acceleration less gravity (w.b), omega (w.c) and its derivative (w.d)."""
    o, v, a = w.position[body], w.twist[body], w.acceleration[body]
    x, y, z = o[0], o[1], o[2]
    v0 = v[0] + v[4] * z - v[5] * y
    v1 = v[1] + v[5] * x - v[3] * z
    v2 = v[2] + v[3] * y - v[4] * x
    w.a[0] = a[0] + a[4] * z - a[5] * y + v[4] * v2 - v[5] * v1 - m.gravity[0]
    w.a[1] = a[1] + a[5] * x - a[3] * z + v[5] * v0 - v[3] * v2 - m.gravity[1]
    w.a[2] = a[2] + a[3] * y - a[4] * x + v[3] * v1 - v[4] * v0 - m.gravity[2]
    rotate_back_into(w.rotation[body], w.a, w.b)
    rotate_back_into(w.rotation[body], v[3:], w.c)
    rotate_back_into(w.rotation[body], a[3:], w.d)


@compiled
def body_wrench(m, w, body, p):
    """Add to `w.wrench` the wrench that moves a body of standard parameters p (10,)."""
    local_motion(m, w, body)
    a, o, d = w.b, w.c, w.d
    mass, hx, hy, hz = p[0], p[1], p[2], p[3]
    # Inertia times omega and domega.
    l0 = p[4] * o[0] + p[5] * o[1] + p[6] * o[2]
    l1 = p[5] * o[0] + p[7] * o[1] + p[8] * o[2]
    l2 = p[6] * o[0] + p[8] * o[1] + p[9] * o[2]
    # omega x h
    c0 = o[1] * hz - o[2] * hy
    c1 = o[2] * hx - o[0] * hz
    c2 = o[0] * hy - o[1] * hx
    f0 = mass * a[0] + d[1] * hz - d[2] * hy + o[1] * c2 - o[2] * c1
    f1 = mass * a[1] + d[2] * hx - d[0] * hz + o[2] * c0 - o[0] * c2
    f2 = mass * a[2] + d[0] * hy - d[1] * hx + o[0] * c1 - o[1] * c0
    n0 = p[4] * d[0] + p[5] * d[1] + p[6] * d[2] + o[1] * l2 - o[2] * l1 + hy * a[2] - hz * a[1]
    n1 = p[5] * d[0] + p[7] * d[1] + p[8] * d[2] + o[2] * l0 - o[0] * l2 + hz * a[0] - hx * a[2]
    n2 = p[6] * d[0] + p[8] * d[1] + p[9] * d[2] + o[0] * l1 - o[1] * l0 + hx * a[1] - hy * a[0]
    w.a[0], w.a[1], w.a[2] = f0, f1, f2
    rotate_into(w.rotation[body], w.a, w.b)
    w.a[0], w.a[1], w.a[2] = n0, n1, n2
    rotate_into(w.rotation[body], w.a, w.c)
    add_wrench(w, body, w.b, w.c, w.position[body], 1.0)


@compiled
def add_wrench(w, body, force, moment, point, sign):
    """Add sign times a force (3,) at `point` and a moment (3,) to a body's wrench."""
    wrench = w.wrench[body]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[i] += sign * force[i]
        wrench[3 + i] += sign * (moment[i] + point[j] * force[k] - point[k] * force[j])


@compiled
def joint_friction_wrench(m, w, term, out):
    """Out (6,): wrench about the base origin, per unit parameter, that a cut joint needs.

    It acts from the parent on the child: the actuators have to supply it.
    """
    row, where, kind = m.friction_target[term], m.friction_where[term], m.friction_kind[term]
    parent, child = m.row_parent[row], m.row_child[row]
    point = w.row_point[row]
    for i in range(6):
        out[i] = 0.0
    axis, spin, slide = np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        if child != BASE:
            spin[i] += w.twist[child, 3 + i]
            t = w.twist[child]
            slide[i] += t[i] + t[3 + j] * point[k] - t[3 + k] * point[j]
        if parent != BASE:
            spin[i] -= w.twist[parent, 3 + i]
            t = w.twist[parent]
            slide[i] -= t[i] + t[3 + j] * point[k] - t[3 + k] * point[j]
    if where == ON_AXIS_ROTATION or where == ON_AXIS_SLIDE:
        joint_axis(m, w, row, axis)
        motion = spin if where == ON_AXIS_ROTATION else slide
        rate = axis[0] * motion[0] + axis[1] * motion[1] + axis[2] * motion[2]
        size = friction_factor(kind, rate, m.transition_velocity)
        if where == ON_AXIS_ROTATION:
            for i in range(3):
                out[3 + i] = size * axis[i]
        else:
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                out[i] = size * axis[i]
                out[3 + i] = size * (point[j] * axis[k] - point[k] * axis[j])
        return
    speed = math.sqrt(spin[0] ** 2 + spin[1] ** 2 + spin[2] ** 2)
    size = 1.0
    if kind == COULOMB:
        size = 1.0 / max(speed, max(m.transition_velocity, 1e-12))
    for i in range(3):
        out[3 + i] = size * spin[i]


@compiled
def joint_axis(m, w, row, axis):
    """Axis (3,) of a revolute or prismatic constraint: normal to its two side directions."""
    start = row
    if m.row_kind[row + 2] == POINT_ROW:
        start = row + 3  # revolute: three point rows, then the two direction rows
    first, second = w.row_direction[start], w.row_direction[start + 1]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        axis[i] = first[j] * second[k] - first[k] * second[j]


@compiled
def tree_forces(m, w, parameters):
    """Generalised forces (n_v,) of the spanning tree in `w.force`."""
    n_b = len(m.parent)
    w.wrench[:, :] = 0.0
    w.force[:] = 0.0
    for k in range(len(m.inertial_body)):
        body_wrench(m, w, m.inertial_body[k], parameters[10 * k : 10 * k + 10])
    unit = np.zeros(6)
    for term in range(len(m.friction_target)):
        value = parameters[m.friction_parameter[term]]
        if m.friction_where[term] == ON_COORDINATE:
            target = m.friction_target[term]
            w.force[target] += value * friction_factor(
                m.friction_kind[term], w.rates[target], m.transition_velocity
            )
        else:
            joint_friction_wrench(m, w, term, unit)
            row = m.friction_target[term]
            for i in range(6):
                if m.row_child[row] != BASE:
                    w.wrench[m.row_child[row], i] += value * unit[i]
                if m.row_parent[row] != BASE:
                    w.wrench[m.row_parent[row], i] -= value * unit[i]
    for k in range(len(m.rotor_coordinate)):
        target = m.rotor_coordinate[k]
        w.force[target] += parameters[m.rotor_parameter[k]] * w.rates_dot[target]
    for back in range(n_b):
        body = n_b - 1 - back
        kind, first, above = m.joint_kind[body], m.coordinate[body], m.parent[body]
        if kind != FIXED:
            for j in range(first, first + (6 if kind == FLOATING else 1)):
                total = 0.0
                for i in range(6):
                    total += w.screws[j, i] * w.wrench[body, i]
                w.force[j] += total
        if above != BASE:
            for i in range(6):
                w.wrench[above, i] += w.wrench[body, i]


@compiled
def inverse_dynamics(m, mode, joints, p, r, rates, rates_dot, parameters):
    """Actuator forces (N, n_a)."""
    n, n_a = len(joints), len(m.actuated)
    out = np.empty((n, n_a))
    w = make_work(m)
    for k in range(n):
        prepare(m, w, mode, joints[k], p[k], r[k], rates[k], rates_dot[k])
        tree_forces(m, w, parameters)
        actuator_forces(m, w, out[k])
    return out


@compiled
def states_and_forces(m, p, r, rates, rates_dot, guess, home_joints, home_p, home_r, parameters):
    """One pass from platform motions to joint states (N, n_j) each and forces (N, n_a).

    Each sample starts at its own `guess` (N, n_j). Returns positions, velocities,
    accelerations, forces, largest residuals (N,) and statuses (N,); the rows of a sample
    that failed are those of where its search ended.
    """
    n, n_j, n_a = len(p), len(home_joints), len(m.actuated)
    joints, velocity, acceleration = guess.copy(), np.empty((n, n_j)), np.empty((n, n_j))
    out, residual, status = np.empty((n, n_a)), np.empty(n), np.zeros(n, np.int64)
    no_actuators = np.zeros(n_a)
    w = make_work(m)
    for k in range(n):
        pose_p, pose_r = p[k].copy(), r[k].copy()
        status[k] = search(
            m, w, BY_PLATFORM, p[k], r[k], no_actuators, joints[k], pose_p, pose_r,
            home_joints, home_p, home_r,
        )  # fmt: skip
        residual[k] = largest_residual(w)
        set_rates(m, w, BY_PLATFORM, rates[k], rates_dot[k])
        for body in range(len(m.parent)):
            index = m.scalar_index[body]
            if index >= 0:
                velocity[k, index] = w.rates[m.coordinate[body]]
                acceleration[k, index] = w.rates_dot[m.coordinate[body]]
        tree_forces(m, w, parameters)
        actuator_forces(m, w, out[k])
    return joints, velocity, acceleration, out, residual, status


@compiled
def actuator_forces(m, w, out):
    """Project the spanning tree's forces in `w.force` to the actuators, out (n_a,)."""
    n_a, n_i, n_v = len(m.actuated), len(m.independent), m.row_sign.shape[1]
    for i in range(n_i):
        total = 0.0
        for v in range(n_v):
            total += w.mapping[v, i] * w.force[v]
        w.right[i] = total
    if m.independent_is_platform:
        solve_transposed(w.actuation, n_a, w.actuation_pivots, w.right)
    for i in range(n_a):
        out[i] = w.right[i]


@compiled
def transfer_matrices(m, w):
    """Rates of coordinates (n_v, n_a) and twists of bodies (n_b, 6, n_a) from the actuators."""
    n_a, n_i, n_v = len(m.actuated), len(m.independent), m.row_sign.shape[1]
    for j in range(n_a):
        for i in range(n_i):
            w.right[i] = 1.0 if i == j else 0.0
        if m.independent_is_platform:
            solve(w.actuation, n_a, w.actuation_pivots, w.right)
        for v in range(n_v):
            total = 0.0
            for i in range(n_i):
                total += w.mapping[v, i] * w.right[i]
            w.transfer[v, j] = total
    for body in range(len(m.parent)):
        above, kind, first = m.parent[body], m.joint_kind[body], m.coordinate[body]
        width = 0 if kind == FIXED else (6 if kind == FLOATING else 1)
        for i in range(6):
            for j in range(n_a):
                total = 0.0 if above == BASE else w.jacobian[above, i, j]
                for v in range(first, first + width):
                    total += w.screws[v, i] * w.transfer[v, j]
                w.jacobian[body, i, j] = total


@compiled
def unit_wrenches(w):
    """Local wrenches (6, 10) per standard parameter, from the local motion in w.b, w.c, w.d."""
    a, o, d, y = w.b, w.c, w.d, w.unit
    y[:, :] = 0.0
    for i in range(3):
        y[i, 0] = a[i]
    # Force of the first moments: domega x + omega x (omega x), column by column.
    for j in range(3):
        for i in range(3):
            y[i, 1 + j] = o[i] * o[j]
        y[j, 1 + j] -= o[0] * o[0] + o[1] * o[1] + o[2] * o[2]
    y[1, 1] += d[2]
    y[2, 1] -= d[1]
    y[0, 2] -= d[2]
    y[2, 2] += d[0]
    y[0, 3] += d[1]
    y[1, 3] -= d[0]
    # Moment of the first moments: h x a.
    y[4, 1], y[5, 1] = -a[2], a[1]
    y[3, 2], y[5, 2] = a[2], -a[0]
    y[3, 3], y[4, 3] = -a[1], a[0]
    # Moment of the inertia: I domega + omega x (I omega); entries xx xy xz yy yz zz.
    index = 4
    for i in range(3):
        for j in range(i, 3):
            moment = np.zeros(3)
            rate = np.zeros(3)
            moment[i] += o[j]
            rate[i] += d[j]
            if i != j:
                moment[j] += o[i]
                rate[j] += d[i]
            y[3, index] = rate[0] + o[1] * moment[2] - o[2] * moment[1]
            y[4, index] = rate[1] + o[2] * moment[0] - o[0] * moment[2]
            y[5, index] = rate[2] + o[0] * moment[1] - o[1] * moment[0]
            index += 1


@compiled
def local_jacobian(w, body, n_a):
    """Body-frame Jacobian (6, n_a) of the body's origin in `w.local`."""
    o, r, jacobian = w.position[body], w.rotation[body], w.jacobian[body]
    for j in range(n_a):
        s0, s1, s2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
        v0 = jacobian[0, j] + s1 * o[2] - s2 * o[1]
        v1 = jacobian[1, j] + s2 * o[0] - s0 * o[2]
        v2 = jacobian[2, j] + s0 * o[1] - s1 * o[0]
        for i in range(3):
            w.local[i, j] = r[0, i] * v0 + r[1, i] * v1 + r[2, i] * v2
            w.local[3 + i, j] = r[0, i] * s0 + r[1, i] * s1 + r[2, i] * s2


@compiled
def regressor(m, mode, joints, p, r, rates, rates_dot):
    """Actuator forces per standard parameter (N, n_a, n_p)."""
    n, n_a = len(joints), len(m.actuated)
    out = np.zeros((n, n_a, m.n_parameters))
    w = make_work(m)
    unit = np.zeros(6)
    for k in range(n):
        prepare(m, w, mode, joints[k], p[k], r[k], rates[k], rates_dot[k])
        transfer_matrices(m, w)
        for index in range(len(m.inertial_body)):
            body = m.inertial_body[index]
            local_motion(m, w, body)
            unit_wrenches(w)
            local_jacobian(w, body, n_a)
            for a in range(n_a):
                for column in range(10):
                    total = 0.0
                    for i in range(6):
                        total += w.local[i, a] * w.unit[i, column]
                    out[k, a, 10 * index + column] = total
        for term in range(len(m.friction_target)):
            target, column = m.friction_target[term], m.friction_parameter[term]
            if m.friction_where[term] == ON_COORDINATE:
                size = friction_factor(
                    m.friction_kind[term], w.rates[target], m.transition_velocity
                )
                for a in range(n_a):
                    out[k, a, column] = size * w.transfer[target, a]
                continue
            joint_friction_wrench(m, w, term, unit)
            for a in range(n_a):
                total = 0.0
                for i in range(6):
                    if m.row_child[target] != BASE:
                        total += w.jacobian[m.row_child[target], i, a] * unit[i]
                    if m.row_parent[target] != BASE:
                        total -= w.jacobian[m.row_parent[target], i, a] * unit[i]
                out[k, a, column] = total
        for index in range(len(m.rotor_coordinate)):
            target, column = m.rotor_coordinate[index], m.rotor_parameter[index]
            for a in range(n_a):
                out[k, a, column] = w.rates_dot[target] * w.transfer[target, a]
    return out
