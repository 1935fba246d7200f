"""Equations of the spanning tree and its closing rows, on symbols or numbers.

All vectors are in base axes. A body is described at its own origin by position,
rotation, velocity v, angular velocity omega and their derivatives; the base accelerates
with minus gravity, which puts gravity into every body's acceleration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_description.kinematic_tree import BASE, FIXED, FLOATING, POINT_ROW, PRISMATIC, REVOLUTE
from pkm_dynamics.codegen.expression import Number, Objects, cosine, sine
from pkm_dynamics.mechanism import Mechanism

# Rounding dust of rotations by right angles, in direction cosines and in metres.
_DUST = 4e-16


class Rates(NamedTuple):
    """Velocities of the bodies' origins and angular velocities (n_b, 3), base axes.

    Or their derivatives, less gravity.
    """

    linear: list[Objects]
    angular: list[Objects]


class Chain:
    """A mechanism at one configuration: joints (n_j,), and the pose of a platform that floats."""

    def __init__(self, m: Mechanism, joints: Objects, position: Objects, rotation: Objects) -> None:
        self.m, self.tree = m, m.tree
        self.gravity: Objects = np.array(m.gravity.tolist(), dtype=object)
        self.position: list[Objects] = []
        self.rotation: list[Objects] = []
        self.axis: list[Objects] = []  # of the joint; zero where it has none
        self.offset: list[Objects] = []  # from the parent's origin
        for body in range(len(m.tree.parent)):
            self._place(body, joints, position, rotation)

    def _place(self, body: int, joints: Objects, p: Objects, r: Objects) -> None:
        tree, kind, above = self.tree, self.tree.joint_kind[body], self.tree.parent[body]
        if kind == FLOATING:
            self._append(p, r, zeros(), p)
            return
        offset, rotation = _exact(tree.origin_position[body]), _exact(tree.origin_rotation[body])
        if above != BASE:
            offset, rotation = self.rotation[above] @ offset, self.rotation[above] @ rotation
        axis = zeros() if kind == FIXED else rotation @ _exact(tree.axis[body])
        if kind == REVOLUTE:
            rotation = rotation @ _about(_exact(tree.axis[body]), joints[tree.scalar_index[body]])
        elif kind == PRISMATIC:
            offset = offset + axis * joints[tree.scalar_index[body]]
        place = offset if above == BASE else self.position[above] + offset
        self._append(place, rotation, axis, offset)

    def _append(self, *found: Objects) -> None:
        known = (self.position, self.rotation, self.axis, self.offset)
        for values, value in zip(known, found, strict=True):
            values.append(value)

    # -- motion -------------------------------------------------------------------

    def velocities(self, rates: Objects) -> Rates:
        """Velocities of all bodies from the coordinates' rates (n_v,)."""
        tree, out = self.tree, Rates([], [])
        for body in range(len(tree.parent)):
            kind, above, first = tree.joint_kind[body], tree.parent[body], tree.coordinate[body]
            if kind == FLOATING:
                out.linear.append(rates[first : first + 3])
                out.angular.append(rates[first + 3 : first + 6])
                continue
            v, w = _at(out.linear, above), _at(out.angular, above)
            v = v + cross(w, self.offset[body])
            if kind == PRISMATIC:
                v = v + self.axis[body] * rates[first]
            elif kind == REVOLUTE:
                w = w + self.axis[body] * rates[first]
            out.linear.append(v)
            out.angular.append(w)
        return out

    def accelerations(self, rates: Objects, rates_dot: Objects, velocities: Rates) -> Rates:
        """Accelerations of all bodies, less gravity."""
        tree, out = self.tree, Rates([], [])
        for body in range(len(tree.parent)):
            kind, above, first = tree.joint_kind[body], tree.parent[body], tree.coordinate[body]
            if kind == FLOATING:
                out.linear.append(rates_dot[first : first + 3] - self.gravity)
                out.angular.append(rates_dot[first + 3 : first + 6])
                continue
            a = zeros() - self.gravity if above == BASE else out.linear[above]
            alpha, w = _at(out.angular, above), _at(velocities.angular, above)
            offset, axis = self.offset[body], self.axis[body]
            a = a + cross(alpha, offset) + cross(w, cross(w, offset))
            if kind == PRISMATIC:
                a = a + axis * rates_dot[first] + cross(w, axis) * (2.0 * rates[first])
            elif kind == REVOLUTE:
                alpha = alpha + axis * rates_dot[first] + cross(w, axis) * rates[first]
            out.linear.append(a)
            out.angular.append(alpha)
        return out

    # -- closing rows -------------------------------------------------------------

    def point(self, row: int, child: bool) -> Objects:
        """Point (3,) of a row that is fixed in the child or the parent."""
        body, arm = self._arm(row, child)
        return arm if body == BASE else self.position[body] + arm

    def direction(self, row: int, child: bool) -> Objects:
        """Direction (3,) of a row: fixed in the child or the parent, or along a base axis."""
        m, tree = self.m, self.tree
        if m.row_base_axis[row] >= 0:
            return np.array([float(k == m.row_base_axis[row]) for k in range(3)], dtype=object)
        body = tree.row_child[row] if child else tree.row_parent[row]
        local = _exact((tree.row_child_direction if child else tree.row_parent_direction)[row])
        return local if body == BASE else self.rotation[body] @ local

    def residual(self, row: int) -> Number:
        """Residual of a row [m, 1]."""
        if self.tree.row_kind[row] == POINT_ROW:
            gap = self.point(row, child=True) - self.point(row, child=False)
            return self.direction(row, child=False) @ gap
        return self.direction(row, child=False) @ self.direction(row, child=True)

    def entry(self, row: int, coordinate: int) -> Number:
        """Change of a row's residual with one coordinate."""
        m, tree = self.m, self.tree
        sign = int(m.row_sign[row, coordinate])
        if sign == 0:
            return 0.0
        joint, unit, turns = self._coordinate(coordinate)
        d = self.direction(row, child=False)
        if tree.row_kind[row] != POINT_ROW:
            other = self.direction(row, child=True)
            return sign * (unit @ cross(other, d)) if turns else 0.0
        if not turns:
            return sign * (d @ unit)
        # A direction fixed in the parent turns with it: as if the parent's point were there.
        at_child = sign > 0 or m.row_base_axis[row] < 0
        return sign * (d @ cross(unit, self._reach(row, at_child, joint)))

    def _coordinate(self, coordinate: int) -> tuple[int, Objects, bool]:
        """Body that a coordinate moves, its axis (3,), and whether it turns it."""
        tree = self.tree
        for body in range(len(tree.parent)):
            kind, first = tree.joint_kind[body], tree.coordinate[body]
            if kind == FLOATING and first <= coordinate < first + 6:
                k = int(coordinate - first)
                unit = np.array([float(i == k % 3) for i in range(3)], dtype=object)
                return body, unit, k >= 3
            if kind in (REVOLUTE, PRISMATIC) and first == coordinate:
                return body, self.axis[body], kind == REVOLUTE
        raise AssertionError(coordinate)

    def _reach(self, row: int, child: bool, joint: int) -> Objects:
        """Vector (3,) from the origin of a body below to the point of a row."""
        body, arm = self._arm(row, child)
        while body not in (joint, BASE):
            arm = arm + self.offset[body]
            body = self.tree.parent[body]
        return arm if body == joint else arm - self.position[joint]

    def row_rates(self, row: int, velocities: Rates) -> Number:
        """Time derivative of a row's residual at a closed configuration."""
        m, tree = self.m, self.tree
        parent, child = tree.row_parent[row], tree.row_child[row]
        d, other = self.direction(row, child=False), self.direction(row, child=True)
        if tree.row_kind[row] != POINT_ROW:
            d_dot = cross(_at(velocities.angular, parent), d)
            return d_dot @ other + d @ cross(_at(velocities.angular, child), other)
        speed = self._point_rate(row, True, velocities) - self._point_rate(row, False, velocities)
        if m.row_is_triple[row]:
            return d @ speed
        gap = self.point(row, child=True) - self.point(row, child=False)
        return cross(_at(velocities.angular, parent), d) @ gap + d @ speed

    def _arm(self, row: int, child: bool) -> tuple[int, Objects]:
        """Body of a row's point and the vector (3,) from its origin to the point."""
        tree = self.tree
        body = int((tree.row_child if child else tree.row_parent)[row])
        local = _exact((tree.row_child_point if child else tree.row_parent_point)[row])
        return body, local if body == BASE else self.rotation[body] @ local

    def _point_rate(self, row: int, child: bool, velocities: Rates) -> Objects:
        body, arm = self._arm(row, child)
        if body == BASE:
            return zeros()
        return velocities.linear[body] + cross(velocities.angular[body], arm)

    def _point_acceleration(
        self, row: int, child: bool, velocities: Rates, accelerations: Rates
    ) -> Objects:
        body, arm = self._arm(row, child)
        if body == BASE:
            return zeros() - self.gravity
        w = velocities.angular[body]
        turning = cross(accelerations.angular[body], arm) + cross(w, cross(w, arm))
        return accelerations.linear[body] + turning

    def row_accelerations(self, row: int, velocities: Rates, accelerations: Rates) -> Number:
        """Second time derivative of a row's residual."""
        m, tree = self.m, self.tree
        parent, child = tree.row_parent[row], tree.row_child[row]
        d, other = self.direction(row, child=False), self.direction(row, child=True)
        d_dot, d_dot_dot = _turned(d, parent, velocities, accelerations)
        if tree.row_kind[row] != POINT_ROW:
            o_dot, o_dot_dot = _turned(other, child, velocities, accelerations)
            return d_dot_dot @ other + 2.0 * (d_dot @ o_dot) + d @ o_dot_dot
        moving = (velocities, accelerations)
        held = self._point_acceleration(row, False, *moving)
        relative = self._point_acceleration(row, True, *moving) - held
        speed = self._point_rate(row, True, velocities) - self._point_rate(row, False, velocities)
        if m.row_is_triple[row]:
            return d @ relative  # where the loops are closed there is neither gap nor speed
        gap = self.point(row, child=True) - self.point(row, child=False)
        return d_dot_dot @ gap + 2.0 * (d_dot @ speed) + d @ relative

    def joint_axis(self, row: int) -> Objects:
        """Axis (3,) of a revolute or prismatic constraint whose first row is `row`."""
        m = self.m
        # Revolute: three point rows, then the two direction rows; prismatic: two point rows.
        start = row + 3 if m.row_is_triple[row] else row
        return cross(self.direction(start, child=False), self.direction(start + 1, child=False))

    def sliding(self, row: int, velocities: Rates) -> Objects:
        """Velocity (3,) of the child against the parent, both at the child's point."""
        speed = self._point_rate(row, True, velocities)
        parent = self.tree.row_parent[row]
        if parent == BASE:
            return speed
        arm = self.point(row, child=True) - self.position[parent]
        return speed - velocities.linear[parent] - cross(velocities.angular[parent], arm)


def _turned(
    vector: Objects, body: int, velocities: Rates, accelerations: Rates
) -> tuple[Objects, Objects]:
    """First and second derivative of a vector fixed in a body."""
    w, alpha = _at(velocities.angular, body), _at(accelerations.angular, body)
    first = cross(w, vector)
    return first, cross(alpha, vector) + cross(w, first)


def cross(a: Objects, b: Objects) -> Objects:
    """Cross product of two vectors of symbols."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
        dtype=object,
    )


def zeros(count: int = 3) -> Objects:
    """Vector (count,) of the number zero."""
    return np.array([0.0] * count, dtype=object)


def _at(values: list[Objects], body: int) -> Objects:
    return zeros() if body == BASE else values[body]


def _exact(values: np.ndarray) -> Objects:
    """Constants as floats, dust of right angles removed."""
    out = np.array(values, dtype=float)
    for exact in (0.0, 1.0, -1.0):
        out[np.abs(out - exact) < _DUST] = exact
    return np.array(out.tolist(), dtype=object)


def _about(axis: Objects, angle: Number) -> Objects:
    """Rotation (3, 3) by an angle about a constant unit axis."""
    c, s = cosine(angle), sine(angle)
    x, y, z = axis
    skew = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
    out = np.empty((3, 3), dtype=object)
    for i in range(3):
        for j in range(3):
            square = axis[i] * axis[j]
            out[i, j] = square + ((1.0 if i == j else 0.0) - square) * c + skew[i][j] * s
    return out
