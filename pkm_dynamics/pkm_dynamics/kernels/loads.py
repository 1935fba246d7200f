"""Friction that grows with the load of its joint, sample by sample, as `LoadFriction` has it.

The same equations as those of `equations/load_friction.py`, which batches of NumPy solve and
which say what the symbols are, for one configuration after the other: a control loop has one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pkm_description.kinematic_tree import FLOATING, PRISMATIC, REVOLUTE
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.kernels.vectors import (
    copy_matrix,
    copy_vector,
    factor,
    multiply_into,
    solve_transposed,
)
from pkm_dynamics.layout import (
    COULOMB_NEGATIVE,
    COULOMB_POSITIVE,
    LOAD_ENDLESS,
    LOAD_ITERATIONS,
    LOAD_ROUNDED,
    LOAD_TOLERANCE,
    VISCOUS,
    LoadLayout,
)


@compiled
def cross_into(a, b, out):
    """Out (3,) = a x b; `out` must be another array."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@compiled
def turned_into(matrix, vector, out):
    """Out (3,) = matrix (3, 3) vector; `out` must be another array."""
    for i in range(3):
        out[i] = matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]


@compiled
def turned_back_into(matrix, vector, out):
    """Out (3,) = transposed matrix (3, 3) vector; `out` must be another array."""
    for i in range(3):
        out[i] = matrix[0, i] * vector[0] + matrix[1, i] * vector[1] + matrix[2, i] * vector[2]


@compiled
def fill(out, value):
    """Out (n,) = value; assignments of slices and sums of arrays take Numba long to compile."""
    for i in range(len(out)):
        out[i] = value


@compiled
def add_into(scale, vector, out):
    """Out (n,) += scale vector."""
    for i in range(len(out)):
        out[i] += scale * vector[i]


@compiled
def share_of(kind, rate, slow):
    """Force of a unit friction parameter at a rate."""
    if kind == VISCOUS:
        return rate
    sign = min(1.0, max(-1.0, rate / slow)) if slow > 0.0 else np.sign(rate)
    if kind == COULOMB_POSITIVE:
        return max(sign, 0.0)
    return min(sign, 0.0) if kind == COULOMB_NEGATIVE else sign


class LoadWork(NamedTuple):
    """Scratch arrays of one sample; those of bodies have the base at the end."""

    place: np.ndarray  # (n_b + 1, 3)
    turn: np.ndarray  # (n_b + 1, 3, 3)
    twist: np.ndarray  # (n_b + 1, 6) about the base's origin
    twist_dot: np.ndarray  # (n_b + 1, 6)
    carried: np.ndarray  # (n_b, 6) wrenches that a body and all behind it need
    screws: np.ndarray  # (n_v, 6)
    rates: np.ndarray  # (n_v,)
    rates_dot: np.ndarray  # (n_v,)
    rows: np.ndarray  # (n_r, 6) wrenches of the closing rows
    arms: np.ndarray  # (n_r, 3)
    system: np.ndarray  # (n_d, n_d) factored
    pivots: np.ndarray  # (n_d,)
    right: np.ndarray  # (n_d,)
    given: np.ndarray  # (n_v,) forces that bodies and friction without loads need
    held: np.ndarray  # (n_l, 3) pull of sliding constraints in the joints
    unit: np.ndarray  # (n_l, n_v) forces of a unit of load friction
    pull: np.ndarray  # (n_l, 3) of that in sliding constraints
    loads: np.ndarray  # (n_l,)


@compiled
def place_bodies(m, w, joints, position, rotation):
    """Poses of the bodies and screws of the coordinates of one sample."""
    axis, turned = np.empty(3), np.empty((3, 3))
    for b in range(len(m.parent)):
        above, kind, k = m.parent[b], m.joint_kind[b], m.coordinate[b]
        if kind == FLOATING:
            copy_vector(position, w.place[b])
            copy_matrix(rotation, w.turn[b])
            for i in range(6):
                fill(w.screws[k + i], 0.0)
                w.screws[k + i, i] = 1.0
            for i in range(3):
                fill(axis, 0.0)
                axis[i] = 1.0
                cross_into(position, axis, w.screws[k + 3 + i])
            continue
        turned_into(w.turn[above], m.origin_position[b], w.place[b])
        add_into(1.0, w.place[above], w.place[b])
        multiply_into(w.turn[above], m.origin_rotation[b], w.turn[b])
        turned_into(w.turn[b], m.axis[b], axis)
        if kind == PRISMATIC:
            add_into(joints[m.scalar_index[b]], axis, w.place[b])
            for i in range(3):
                w.screws[k, i], w.screws[k, 3 + i] = axis[i], 0.0
        elif kind == REVOLUTE:
            angle = joints[m.scalar_index[b]]
            s, c = math.sin(angle), math.cos(angle)
            for j in range(3):  # each column turns about the axis in base axes
                x, y, z = w.turn[b, 0, j], w.turn[b, 1, j], w.turn[b, 2, j]
                along = (1.0 - c) * (axis[0] * x + axis[1] * y + axis[2] * z)
                turned[0, j] = c * x + s * (axis[1] * z - axis[2] * y) + along * axis[0]
                turned[1, j] = c * y + s * (axis[2] * x - axis[0] * z) + along * axis[1]
                turned[2, j] = c * z + s * (axis[0] * y - axis[1] * x) + along * axis[2]
            copy_matrix(turned, w.turn[b])
            cross_into(w.place[b], axis, w.screws[k])
            for i in range(3):
                w.screws[k, 3 + i] = axis[i]


@compiled
def carry_bodies(m, w, parameters):
    """Wrenches that each body and all behind it need, about the base's origin, of one sample."""
    cross, speed, acceleration = np.empty(3), np.empty(3), np.empty(3)
    omega, alpha, a, h = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    force, moment, spin, other = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for b in range(len(m.parent)):
        above, k = m.parent[b], m.coordinate[b]
        if m.joint_kind[b] == FLOATING:
            fill(w.twist[b], 0.0)
            fill(w.twist_dot[b], 0.0)
            for i in range(6):
                add_into(w.rates[k + i], w.screws[k + i], w.twist[b])
                add_into(w.rates_dot[k + i], w.screws[k + i], w.twist_dot[b])
            for i in range(3):  # speed of the origin, then rates of the rotation
                speed[i], omega[i] = w.rates[k + i], w.rates[k + 3 + i]
            cross_into(speed, omega, cross)
            add_into(1.0, cross, w.twist_dot[b, :3])
        else:
            copy_vector(w.twist[above], w.twist[b])
            copy_vector(w.twist_dot[above], w.twist_dot[b])
            if m.scalar_index[b] >= 0:
                add_into(w.rates[k], w.screws[k], w.twist[b])
                add_into(w.rates_dot[k], w.screws[k], w.twist_dot[b])
                turning, screw = w.twist[b, 3:], w.screws[k]
                cross_into(turning, screw[:3], cross)
                add_into(w.rates[k], cross, w.twist_dot[b, :3])
                cross_into(w.twist[b, :3], screw[3:], cross)
                add_into(w.rates[k], cross, w.twist_dot[b, :3])
                cross_into(turning, screw[3:], cross)
                add_into(w.rates[k], cross, w.twist_dot[b, 3:])
        fill(w.carried[b], 0.0)
    for index in range(len(m.inertial_body)):
        b = m.inertial_body[index]
        own = parameters[10 * index : 10 * index + 10]
        mass, xx, xy, xz, yy, yz, zz = own[0], own[4], own[5], own[6], own[7], own[8], own[9]
        turning, turning_dot, turn = w.twist[b, 3:], w.twist_dot[b, 3:], w.turn[b]
        copy_vector(own[1:4], h)
        cross_into(turning, w.place[b], speed)
        add_into(1.0, w.twist[b, :3], speed)
        cross_into(turning_dot, w.place[b], acceleration)
        cross_into(turning, speed, cross)
        for i in range(3):
            acceleration[i] += w.twist_dot[b, i] + cross[i] - m.gravity[i]
        turned_back_into(turn, acceleration, a)
        turned_back_into(turn, turning, omega)
        turned_back_into(turn, turning_dot, alpha)
        cross_into(alpha, h, force)
        cross_into(omega, h, other)
        cross_into(omega, other, cross)
        add_into(mass, a, force)
        add_into(1.0, cross, force)
        spin[0] = xx * omega[0] + xy * omega[1] + xz * omega[2]
        spin[1] = xy * omega[0] + yy * omega[1] + yz * omega[2]
        spin[2] = xz * omega[0] + yz * omega[1] + zz * omega[2]
        cross_into(omega, spin, moment)
        cross_into(h, a, other)
        add_into(1.0, other, moment)
        moment[0] += xx * alpha[0] + xy * alpha[1] + xz * alpha[2]
        moment[1] += xy * alpha[0] + yy * alpha[1] + yz * alpha[2]
        moment[2] += xz * alpha[0] + yz * alpha[1] + zz * alpha[2]
        turned_into(turn, force, other)
        add_into(1.0, other, w.carried[b, :3])
        cross_into(w.place[b], other, cross)
        add_into(1.0, cross, w.carried[b, 3:])
        turned_into(turn, moment, other)
        add_into(1.0, other, w.carried[b, 3:])
    for b in range(len(m.parent) - 1, -1, -1):
        if m.parent[b] >= 0:
            add_into(1.0, w.carried[b], w.carried[m.parent[b]])


@compiled
def close_rows(m, w):
    """Wrenches of the closing rows, and their factored system; whether it can be solved."""
    n_d, direction, arm = len(m.rows), np.empty(3), np.empty(3)
    for r in range(len(m.row_parent)):
        turned_into(w.turn[m.row_parent[r]], m.row_parent_direction[r], direction)
        turned_into(w.turn[m.row_child[r]], m.row_held[r], arm)
        fill(w.rows[r], 0.0)
        if m.row_is_point[r]:
            add_into(1.0, w.place[m.row_child[r]], arm)
            add_into(1.0, direction, w.rows[r, :3])
        copy_vector(arm, w.arms[r])
        cross_into(arm, direction, w.rows[r, 3:])
    for i in range(n_d):
        for j in range(n_d):
            w.system[i, j] = row_entry(m, w, m.rows[i], m.passive[j])
    return n_d == 0 or factor(w.system, n_d, w.pivots) != 0.0


@compiled
def row_entry(m, w, row, coordinate):
    """Entry of the closing rows' Jacobian."""
    sign = m.row_sign[row, coordinate]
    if sign == 0.0:
        return 0.0
    total = 0.0
    for i in range(6):
        total += w.rows[row, i] * w.screws[coordinate, i]
    return sign * total


@compiled
def rub(m, w, parameters):
    """Forces of the tree that bodies and friction without loads need, and units of that of loads.

    Into `w.given` (n_v,), `w.held` (n_l, 3), `w.unit` (n_l, n_v) and `w.pull` (n_l, 3).
    """
    n_v, own, slow = len(w.given), m.own_terms, m.transition_velocity
    force, wrench, moving = np.empty(n_v), np.empty(6), np.empty(6)
    axis, cross = np.empty(3), np.empty(3)
    for k in range(n_v):
        total = 0.0
        for i in range(6):
            total += w.screws[k, i] * w.carried[m.body[k], i]
        w.given[k] = total
    for index in range(len(w.held)):
        fill(w.held[index], 0.0)
    for t in range(len(m.term_kind)):
        kind, k, row = m.term_kind[t], m.term_coordinate[t], m.term_row[t]
        fill(force, 0.0)
        fill(wrench, 0.0)
        if k >= 0:
            force[k] = share_of(kind, w.rates[k], slow)
        elif row < 0:
            rate = 0.0
            for v in range(n_v):
                rate += m.term_shaft[t, v] * w.rates[v]
            if kind != VISCOUS:
                rate /= m.term_shaft_size[t]
            add_into(share_of(kind, rate, slow), m.term_shaft[t], force)
        else:
            parent, child = m.row_parent[row], m.row_child[row]
            copy_vector(w.twist[child], moving)
            add_into(-1.0, w.twist[parent], moving)
            if not m.term_has_axis[t]:
                size = math.sqrt(moving[3] ** 2 + moving[4] ** 2 + moving[5] ** 2)
                scale = 1.0 if kind == VISCOUS else 1.0 / max(size, slow, 1e-12)
                add_into(scale, moving[3:], wrench[3:])
            else:
                turned_into(w.turn[parent], m.term_axis[t], axis)
                rate = 0.0
                if m.term_slides[t]:
                    cross_into(moving[3:], w.arms[row], cross)
                    for i in range(3):
                        rate += axis[i] * (moving[i] + cross[i])
                    add_into(share_of(kind, rate, slow), axis, wrench[:3])
                    cross_into(w.arms[row], wrench[:3], wrench[3:])
                else:
                    for i in range(3):
                        rate += axis[i] * moving[3 + i]
                    add_into(share_of(kind, rate, slow), axis, wrench[3:])
            for v in range(n_v):
                if m.row_sign[row, v] != 0.0:
                    total = 0.0
                    for i in range(6):
                        total += w.screws[v, i] * wrench[i]
                    force[v] = m.row_sign[row, v] * total
        if t >= own:
            copy_vector(force, w.unit[t - own])
            copy_vector(wrench[:3], w.pull[t - own])
            continue
        value = parameters[m.term_parameter[t]]
        add_into(value, force, w.given)
        if m.term_slides[t]:
            for index in range(len(w.held)):
                at = m.term_coordinate[own + index]
                if at >= 0:
                    add_into(value * m.row_sign[row, at], wrench[:3], w.held[index])


@compiled
def find_loads(m, w, friction, loads):
    """Loads (n_l,) of the joints under load friction of forces (n_l,)."""
    n_d, own, axis = len(m.rows), m.own_terms, np.empty(3)
    for i in range(n_d):
        total = w.given[m.passive[i]]
        for index in range(len(friction)):
            total += friction[index] * w.unit[index, m.passive[i]]
        w.right[i] = total
    solve_transposed(w.system, n_d, w.pivots, w.right)
    for index in range(len(loads)):
        t = own + index
        k, row = m.term_coordinate[t], m.term_row[t]
        x, y, z = w.held[index, 0], w.held[index, 1], w.held[index, 2]
        if k >= 0:
            body = m.body[k]
            x += w.carried[body, 0]
            y += w.carried[body, 1]
            z += w.carried[body, 2]
        for i in range(n_d):
            r = m.rows[i]
            if k < 0:
                sign = 1.0 if m.row_constraint[r] == m.row_constraint[row] else 0.0
            else:
                sign = -m.row_sign[r, k]
            if sign != 0.0:
                x += sign * w.right[i] * w.rows[r, 0]
                y += sign * w.right[i] * w.rows[r, 1]
                z += sign * w.right[i] * w.rows[r, 2]
        if k >= 0:
            for other in range(len(friction)):
                if m.term_slides[own + other]:
                    scale = m.row_sign[m.term_row[own + other], k] * friction[other]
                    x += scale * w.pull[other, 0]
                    y += scale * w.pull[other, 1]
                    z += scale * w.pull[other, 2]
            first = 0 if m.joint_kind[m.body[k]] == PRISMATIC else 3
            for i in range(3):
                axis[i] = w.screws[k, first + i]
        else:
            turned_into(w.turn[m.row_parent[row]], m.term_axis[t], axis)
        along = axis[0] * x + axis[1] * y + axis[2] * z
        x, y, z = x - along * axis[0], y - along * axis[1], z - along * axis[2]
        loads[index] = math.sqrt(x**2 + y**2 + z**2)


@compiled
def settle_loads(m, w, factors):
    """Loads under the friction that they make into `w.loads` (n_l,); whether there are some."""
    n_l = len(factors)
    friction, after = np.zeros(n_l), np.empty(n_l)
    find_loads(m, w, friction, w.loads)
    off = math.inf
    for _ in range(LOAD_ITERATIONS):
        for index in range(n_l):
            friction[index] = factors[index] * w.loads[index]
        find_loads(m, w, friction, after)
        further, off, size = off, 0.0, 0.0
        for index in range(n_l):
            off = max(off, abs(after[index] - w.loads[index]))
            size = max(size, abs(after[index]))
            w.loads[index] = after[index]
        if not size < LOAD_ENDLESS:
            return False
        if off <= LOAD_TOLERANCE * size or (off >= further and off <= LOAD_ROUNDED * size):
            return True
    return False


@compiled
def load_forces(m, w, motion, parameters, factors):
    """Actuator forces (N, n_a) of load friction with factors (n_l,), nan where there are none.

    `motion` are joints (N, n_j), platform positions and rotations, rates of the joints and the
    platform, and their derivatives; the loads are those of parameters (n_p,).
    """
    joints, position, rotation, velocity, twist, acceleration, twist_dot = motion
    n_l, n_d = len(w.unit), len(m.rows)
    out = np.full((len(joints), len(m.actuated)), np.nan)
    own = np.empty(n_l)
    for index in range(n_l):
        own[index] = parameters[m.term_parameter[m.own_terms + index]]
    total = np.empty(len(w.given))
    for s in range(len(joints)):
        for b in range(len(m.parent)):
            k = m.coordinate[b]
            if m.scalar_index[b] >= 0:
                w.rates[k] = velocity[s, m.scalar_index[b]]
                w.rates_dot[k] = acceleration[s, m.scalar_index[b]]
            elif m.joint_kind[b] == FLOATING:
                for i in range(6):
                    w.rates[k + i], w.rates_dot[k + i] = twist[s, i], twist_dot[s, i]
        place_bodies(m, w, joints[s], position[s], rotation[s])
        carry_bodies(m, w, parameters)
        if not close_rows(m, w):
            continue
        rub(m, w, parameters)
        if not settle_loads(m, w, own):
            continue
        fill(total, 0.0)
        for index in range(n_l):
            add_into(factors[index] * w.loads[index], w.unit[index], total)
        for i in range(n_d):
            w.right[i] = total[m.passive[i]]
        solve_transposed(w.system, n_d, w.pivots, w.right)
        for a in range(len(m.actuated)):
            force = total[m.actuated[a]]
            for i in range(n_d):
                force -= w.right[i] * row_entry(m, w, m.rows[i], m.actuated[a])
            out[s, a] = force
    return out


def make_load_work(m: LoadLayout) -> LoadWork:
    """Allocate the scratch arrays of a layout."""
    n_b, n_v, n_r, n_d = len(m.parent), len(m.body), len(m.row_parent), len(m.rows)
    n_l = len(m.term_kind) - m.own_terms
    turn = np.zeros((n_b + 1, 3, 3))
    turn[-1] = np.eye(3)
    bodies = np.zeros((n_b + 1, 3)), turn, np.zeros((n_b + 1, 6)), np.zeros((n_b + 1, 6))
    coordinates = np.zeros((n_b, 6)), np.zeros((n_v, 6)), np.zeros(n_v), np.zeros(n_v)
    rows = np.zeros((n_r, 6)), np.zeros((n_r, 3))
    system = np.zeros((n_d, n_d)), np.zeros(n_d, dtype=np.int64), np.zeros(n_d)
    loads = np.zeros(n_v), np.zeros((n_l, 3)), np.zeros((n_l, n_v)), np.zeros((n_l, 3))
    return LoadWork(*bodies, *coordinates, *rows, *system, *loads, np.zeros(n_l))
