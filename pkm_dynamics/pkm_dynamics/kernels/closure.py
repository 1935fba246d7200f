"""Positions: body poses, closing rows, their linear systems, Newton with step control.

A Newton step moves the independent coordinates towards their target and the dependent
ones so that the loops stay closed to first order; steps are bounded, so a distant
target is approached along a path that stays on the branch it started from.
"""

from __future__ import annotations

import numpy as np

from pkm_description.kinematic_tree import (
    BASE,
    FIXED,
    FLOATING,
    POINT_ROW,
    PRISMATIC,
    REVOLUTE,
)
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.kernels.vectors import (
    axis_rotation_into,
    factor,
    multiply_into,
    rotate_into,
    rotation_vector_into,
    solve,
    vector_rotation_into,
)
from pkm_dynamics.kernels.work import make_work

CONVERGED, NOT_CONVERGED, SINGULAR, WRONG_BRANCH = 0, 1, 2, 3
BY_PLATFORM, BY_ACTUATORS = 0, 1
STEP_TOLERANCE = 1e-11
# Of rows that were left out as redundant; the chosen ones close with the last step.
RESIDUAL_TOLERANCE = 1e-6
LARGEST_STEP = 0.3
MAX_ITERATIONS = 60


@compiled
def place_bodies(m, w, joints, p_platform, r_platform):
    """Poses of all bodies and screws of all coordinates."""
    for body in range(len(m.parent)):
        above, kind = m.parent[body], m.joint_kind[body]
        position, rotation = w.position[body], w.rotation[body]
        if kind == FLOATING:
            position[:] = p_platform
            rotation[:, :] = r_platform
        elif above == BASE:
            position[:] = m.origin_position[body]
            rotation[:, :] = m.origin_rotation[body]
        else:
            rotate_into(w.rotation[above], m.origin_position[body], position)
            for i in range(3):
                position[i] += w.position[above, i]
            multiply_into(w.rotation[above], m.origin_rotation[body], rotation)
        if kind == REVOLUTE:
            axis_rotation_into(m.axis[body], joints[m.scalar_index[body]], w.m1)
            w.m2[:, :] = rotation
            multiply_into(w.m2, w.m1, rotation)
        if kind == FIXED:
            continue
        first = m.coordinate[body]
        if kind == FLOATING:
            for i in range(3):
                for j in range(6):
                    w.screws[first + i, j] = 0.0
                    w.screws[first + 3 + i, j] = 0.0
                w.screws[first + i, i] = 1.0
                w.screws[first + 3 + i, 3 + i] = 1.0
            x, y, z = position[0], position[1], position[2]
            w.screws[first + 3, 1], w.screws[first + 3, 2] = z, -y
            w.screws[first + 4, 0], w.screws[first + 4, 2] = -z, x
            w.screws[first + 5, 0], w.screws[first + 5, 1] = y, -x
            continue
        rotate_into(rotation, m.axis[body], w.a)
        screw = w.screws[first]
        if kind == PRISMATIC:
            value = joints[m.scalar_index[body]]
            for i in range(3):
                position[i] += value * w.a[i]
                screw[i] = w.a[i]
                screw[3 + i] = 0.0
        else:
            screw[0] = position[1] * w.a[2] - position[2] * w.a[1]
            screw[1] = position[2] * w.a[0] - position[0] * w.a[2]
            screw[2] = position[0] * w.a[1] - position[1] * w.a[0]
            for i in range(3):
                screw[3 + i] = w.a[i]


@compiled
def close_rows(m, w):
    """Directions, points, residuals and wrenches of all closing rows."""
    for row in range(len(m.row_kind)):
        parent, child = m.row_parent[row], m.row_child[row]
        direction, other, point = w.row_direction[row], w.row_other[row], w.row_point[row]
        wrench = w.row[row]
        for i in range(3):
            if parent == BASE:
                direction[i] = m.row_parent_direction[row, i]
            else:
                direction[i] = 0.0
                for j in range(3):
                    direction[i] += w.rotation[parent, i, j] * m.row_parent_direction[row, j]
            if child == BASE:
                other[i] = m.row_child_direction[row, i]
                point[i] = m.row_child_point[row, i]
            else:
                other[i] = 0.0
                point[i] = w.position[child, i]
                for j in range(3):
                    other[i] += w.rotation[child, i, j] * m.row_child_direction[row, j]
                    point[i] += w.rotation[child, i, j] * m.row_child_point[row, j]
        residual = 0.0
        if m.row_kind[row] == POINT_ROW:
            for i in range(3):
                gap = point[i]
                if parent == BASE:
                    gap -= m.row_parent_point[row, i]
                else:
                    gap -= w.position[parent, i]
                    for j in range(3):
                        gap -= w.rotation[parent, i, j] * m.row_parent_point[row, j]
                residual += direction[i] * gap
                wrench[i] = direction[i]
            arm = point
        else:
            for i in range(3):
                residual += direction[i] * other[i]
                wrench[i] = 0.0
            arm = other
        wrench[3] = arm[1] * direction[2] - arm[2] * direction[1]
        wrench[4] = arm[2] * direction[0] - arm[0] * direction[2]
        wrench[5] = arm[0] * direction[1] - arm[1] * direction[0]
        w.residual[row] = residual


@compiled
def row_entry(m, w, row, coordinate):
    """One entry of the closing rows' Jacobian."""
    sign = m.row_sign[row, coordinate]
    if sign == 0:
        return 0.0
    total = 0.0
    for i in range(6):
        total += w.screws[coordinate, i] * w.row[row, i]
    return sign * total


@compiled
def linearise(m, w):
    """Factor the components' systems and fill the mapping; returns a status."""
    n_i, n_a = len(m.independent), len(m.actuated)
    status = CONVERGED
    for i in range(n_i):
        for j in range(n_i):
            w.mapping[m.independent[i], j] = 1.0 if i == j else 0.0
    for c in range(len(m.component_start) - 1):
        start, end = m.component_start[c], m.component_start[c + 1]
        n = end - start
        system = w.systems[c]
        for i in range(n):
            for j in range(n):
                system[i, j] = row_entry(
                    m, w, m.component_rows[start + i], m.component_coordinates[start + j]
                )
        determinant = factor(system, n, w.pivots[c])
        if determinant == 0.0:
            return SINGULAR
        if determinant * m.component_home_sign[c] < 0.0:
            status = WRONG_BRANCH
        for k in range(n_i):
            for i in range(n):
                w.right[i] = -row_entry(m, w, m.component_rows[start + i], m.independent[k])
            solve(system, n, w.pivots[c], w.right)
            for i in range(n):
                w.mapping[m.component_coordinates[start + i], k] = w.right[i]
    for i in range(n_a):
        for j in range(n_i):
            w.actuation[i, j] = w.mapping[m.actuated[i], j]
    determinant = factor(w.actuation, n_a, w.actuation_pivots)
    if determinant == 0.0:
        return SINGULAR
    if determinant * m.actuation_home_sign < 0.0:
        status = WRONG_BRANCH
    return status


@compiled
def dependent_solution(m, w, rows, out):
    """Out (n_v,): dependent coordinates that answer `rows` (n_r,); zero elsewhere."""
    out[:] = 0.0
    for c in range(len(m.component_start) - 1):
        start, end = m.component_start[c], m.component_start[c + 1]
        n = end - start
        for i in range(n):
            w.right[i] = rows[m.component_rows[start + i]]
        solve(w.systems[c], n, w.pivots[c], w.right)
        for i in range(n):
            out[m.component_coordinates[start + i]] = w.right[i]


@compiled
def independent_step(m, w, mode, p_target, r_target, q_target, joints, p, r):
    """Change of the independent coordinates that would reach the target."""
    n_i, n_a = len(m.independent), len(m.actuated)
    step = w.independent
    if mode == BY_PLATFORM:
        for i in range(3):
            step[i] = p_target[i] - p[i]
        for i in range(3):
            for j in range(3):
                w.m1[i, j] = r[j, i]
        multiply_into(r_target, w.m1, w.m2)
        rotation_vector_into(w.m2, w.a)
        for i in range(3):
            step[3 + i] = w.a[i]
        return
    for i in range(n_a):
        missing = q_target[i] - joints[m.actuated_scalar[i]]
        w.right[i] = missing - w.change[m.actuated[i]]
    if m.independent_is_platform:
        solve(w.actuation, n_a, w.actuation_pivots, w.right)
    for i in range(n_i):
        step[i] = w.right[i]


@compiled
def newton(m, w, mode, p_target, r_target, q_target, joints, p, r, largest):
    """Move `joints`, `p`, `r` in place to the target; leaves `w` at the solution."""
    n_v, n_i = m.row_sign.shape[1], len(m.independent)
    for _ in range(MAX_ITERATIONS):
        place_bodies(m, w, joints, p, r)
        close_rows(m, w)
        status = linearise(m, w)
        if status == SINGULAR:
            return SINGULAR
        dependent_solution(m, w, w.residual, w.change)
        for k in range(n_v):
            w.change[k] = -w.change[k]
        independent_step(m, w, mode, p_target, r_target, q_target, joints, p, r)
        for k in range(n_v):
            for j in range(n_i):
                w.change[k] += w.mapping[k, j] * w.independent[j]
        longest = 0.0
        for body in range(len(m.parent)):
            first, kind = m.coordinate[body], m.joint_kind[body]
            if kind == FIXED:
                continue
            if kind == FLOATING:
                for i in range(3):
                    longest = max(longest, abs(w.change[first + i]) / m.length_scale)
                    longest = max(longest, abs(w.change[first + 3 + i]))
            elif kind == PRISMATIC:
                longest = max(longest, abs(w.change[first]) / m.length_scale)
            else:
                longest = max(longest, abs(w.change[first]))
        if not np.isfinite(longest):
            return NOT_CONVERGED
        if longest < STEP_TOLERANCE:
            for row in range(len(w.residual)):
                if abs(w.residual[row]) > RESIDUAL_TOLERANCE * (1.0 + m.length_scale):
                    return NOT_CONVERGED
            return status
        scale = min(1.0, largest / longest)
        move(m, w, scale, joints, p, r)
    return NOT_CONVERGED


@compiled
def move(m, w, scale, joints, p, r):
    """Apply `scale` times the change to the configuration."""
    for body in range(len(m.parent)):
        first = m.coordinate[body]
        if m.scalar_index[body] >= 0:
            joints[m.scalar_index[body]] += scale * w.change[first]
        elif m.joint_kind[body] == FLOATING:
            for i in range(3):
                p[i] += scale * w.change[first + i]
                w.a[i] = scale * w.change[first + 3 + i]
            vector_rotation_into(w.a, w.m1)
            w.m2[:, :] = r
            multiply_into(w.m1, w.m2, r)


@compiled
def search(m, w, mode, p_target, r_target, q_target, joints, p, r, home_joints, home_p, home_r):
    """Close one sample from where `joints`, `p`, `r` stand, else from home in short steps."""
    result = NOT_CONVERGED
    for attempt in range(2):
        if attempt == 1:
            joints[:] = home_joints
            p[:] = home_p
            r[:, :] = home_r
        largest = LARGEST_STEP if attempt == 0 else 0.2 * LARGEST_STEP
        result = newton(m, w, mode, p_target, r_target, q_target, joints, p, r, largest)
        if result == CONVERGED:
            break
    return result


@compiled
def largest_residual(w):
    """Largest residual of the closing rows [m, 1]."""
    largest = 0.0
    for row in range(len(w.residual)):
        largest = max(largest, abs(w.residual[row]))
    return largest


@compiled
def closure_gaps(m, joints, p, r):
    """Largest residual (N,) [m, 1] of the closing rows of given configurations."""
    gaps = np.empty(len(joints))
    w = make_work(m)
    for k in range(len(joints)):
        place_bodies(m, w, joints[k], p[k], r[k])
        close_rows(m, w)
        gaps[k] = largest_residual(w)
    return gaps


@compiled
def solve_positions(
    m, mode, p_target, r_target, q_target, guess, per_sample, home_joints, home_p, home_r
):
    """Close every sample of a batch.

    `guess` (N, n_j) starts each sample where `per_sample`, else its first row starts the
    first sample and every later one starts at its predecessor. A sample that fails is
    tried again from home in short steps. Returns joints (N, n_j), positions (N, 3),
    rotations (N, 3, 3), largest residuals (N,) and statuses (N,).
    """
    n = max(len(p_target), len(q_target))
    n_j = len(home_joints)
    joints, p, r = np.empty((n, n_j)), np.empty((n, 3)), np.empty((n, 3, 3))
    status = np.zeros(n, np.int64)
    residual = np.zeros(n)
    w = make_work(m)
    last = -1
    none3, none33, none_q = home_p, home_r, np.zeros(len(m.actuated))
    for k in range(n):
        pt = p_target[k] if mode == BY_PLATFORM else none3
        rt = r_target[k] if mode == BY_PLATFORM else none33
        qt = q_target[k] if mode == BY_ACTUATORS else none_q
        if per_sample:
            joints[k] = guess[k]
        elif last >= 0:
            joints[k] = joints[last]
        else:
            joints[k] = guess[0]
        if mode == BY_PLATFORM and per_sample:
            p[k], r[k] = pt, rt
        elif last >= 0:
            p[k], r[k] = p[last], r[last]
        else:
            p[k], r[k] = home_p, home_r
        status[k] = search(
            m, w, mode, pt, rt, qt, joints[k], p[k], r[k], home_joints, home_p, home_r
        )
        if status[k] == CONVERGED:
            last = k
        residual[k] = largest_residual(w)
        if m.floating_body < 0:
            p[k], r[k] = w.position[m.platform_body], w.rotation[m.platform_body]
    return joints, p, r, residual, status
