"""Flat arrays of a closed-chain mechanism: the spanning tree and its closing rows.

Every constraint becomes scalar rows of two kinds, both stated between two points or
directions that are fixed in the parent and in the child body:

- a *point row* `n . (x_child - x_parent) = 0`, `n` fixed in the parent body;
- a *direction row* `a_parent . a_child = 0`.

With twists V = [v0; omega] about the base origin, either row's rate is
`w . (V_child - V_parent)`; `w` is `[n; x_child x n]` or `[0; a_child x a_parent]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.description import Constraint, Description, Pose
from pkm_description.errors import DescriptionError

FIXED, REVOLUTE, PRISMATIC, FLOATING = 0, 1, 2, 3
POINT_ROW, DIRECTION_ROW = 0, 1
JOINT_KINDS = {
    'fixed': FIXED,
    'revolute': REVOLUTE,
    'continuous': REVOLUTE,
    'prismatic': PRISMATIC,
    'floating': FLOATING,
}
BASE = -1

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class KinematicTree:
    """Arrays over bodies (n_b) in topological order and over rows (n_r).

    The velocity coordinates are the scalar joints' rates and, for a floating
    platform, [v; omega] of the platform's origin in base axes.
    """

    body_names: tuple[str, ...]
    parent: Integers
    joint_kind: Integers
    coordinate: Integers
    scalar_index: Integers
    joint_names: tuple[str, ...]
    origin_position: Floats
    origin_rotation: Floats
    axis: Floats
    n_v: int
    platform_body: int
    floating_body: int
    row_kind: Integers
    row_parent: Integers
    row_child: Integers
    row_parent_point: Floats
    row_child_point: Floats
    row_parent_direction: Floats
    row_child_direction: Floats
    row_constraint: Integers
    ancestors: NDArray[np.bool_]

    @classmethod
    def from_description(cls, description: Description) -> KinematicTree:
        """Lay the mechanism out; raises DescriptionError on a broken tree."""
        return _Builder(description).build()

    @property
    def floating(self) -> slice:
        """Velocity coordinates of a floating platform; none of them where none floats."""
        floats = self.floating_body >= 0
        first = int(self.coordinate[self.floating_body]) if floats else 0
        return slice(first, first + 6 * floats)

    @property
    def lengths(self) -> NDArray[np.bool_]:
        """Which velocity coordinates (n_v,) are lengths."""
        lengths = np.zeros(self.n_v, dtype=bool)
        lengths[self.coordinate[self.joint_kind == PRISMATIC]] = True
        lengths[self.floating][:3] = True
        return lengths

    @property
    def n_b(self) -> int:
        """Number of bodies other than the base."""
        return len(self.body_names)

    def coordinate_of(self, joint: str) -> int:
        """Velocity coordinate of a scalar joint."""
        body = int(np.flatnonzero(self.scalar_index == self.joint_names.index(joint))[0])
        return int(self.coordinate[body])


def perpendicular_axes(axis: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors (3,) that complete `axis` (3,) to a right-handed frame."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(helper, axis)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def tree_order(description: Description) -> list[int]:
    """Order the joints so that each parent link comes before its children."""
    children: dict[str, list[int]] = {}
    for index, joint in enumerate(description.joints):
        children.setdefault(joint.parent, []).append(index)
    order: list[int] = []
    pending = [description.base_link]
    while pending:
        for index in children.get(pending.pop(0), []):
            order.append(index)
            pending.append(description.joints[index].child)
    if len(order) != len(description.joints):
        lost = next(j for k, j in enumerate(description.joints) if k not in set(order))
        raise DescriptionError(
            f"joint '{lost.name}' is not connected to the base link "
            f"'{description.base_link}': its parent link '{lost.parent}' is unreachable"
        )
    return order


class _Builder:
    def __init__(self, description: Description) -> None:
        self.description = description
        self.bodies: dict[str, int] = {description.base_link: BASE}
        self.rows: list[tuple] = []

    def build(self) -> KinematicTree:
        description = self.description
        joints = [description.joints[k] for k in tree_order(description)]
        n_b = len(joints)
        parent = np.empty(n_b, dtype=np.int64)
        kind = np.empty(n_b, dtype=np.int64)
        coordinate = np.full(n_b, -1, dtype=np.int64)
        scalar = np.full(n_b, -1, dtype=np.int64)
        names: list[str] = []
        n_v = 0
        floating = -1
        for body, joint in enumerate(joints):
            self.bodies[joint.child] = body
            parent[body] = self.bodies[joint.parent]
            kind[body] = JOINT_KINDS[joint.type]
            if kind[body] == FLOATING:
                floating = body
            if joint.is_scalar:
                scalar[body] = len(names)
                names.append(joint.name)
            if kind[body] != FIXED:
                coordinate[body] = n_v
                n_v += 6 if kind[body] == FLOATING else 1
        for index, constraint in enumerate(description.constraints):
            self._add_rows(index, constraint)
        rows = list(zip(*self.rows, strict=True)) if self.rows else [()] * 8
        tree: dict[str, Any] = {
            'body_names': tuple(joint.child for joint in joints),
            'parent': parent,
            'joint_kind': kind,
            'coordinate': coordinate,
            'scalar_index': scalar,
            'joint_names': tuple(names),
            'origin_position': np.array([j.origin.position for j in joints]).reshape(-1, 3),
            'origin_rotation': np.array([j.origin.rotation for j in joints]).reshape(-1, 3, 3),
            'axis': np.array([j.axis for j in joints]).reshape(-1, 3),
            'n_v': n_v,
            'platform_body': self.bodies[description.platform],
            'floating_body': floating,
            'row_kind': np.array(rows[0], dtype=np.int64),
            'row_parent': np.array(rows[1], dtype=np.int64),
            'row_child': np.array(rows[2], dtype=np.int64),
            'row_parent_point': np.array(rows[3], dtype=float).reshape(-1, 3),
            'row_child_point': np.array(rows[4], dtype=float).reshape(-1, 3),
            'row_parent_direction': np.array(rows[5], dtype=float).reshape(-1, 3),
            'row_child_direction': np.array(rows[6], dtype=float).reshape(-1, 3),
            'row_constraint': np.array(rows[7], dtype=np.int64),
            'ancestors': _ancestor_coordinates(parent, kind, coordinate, n_v),
        }
        for value in tree.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        return KinematicTree(**tree)

    def _add_rows(self, index: int, constraint: Constraint) -> None:
        parent = self.bodies[constraint.parent]
        child = self.bodies[constraint.child]
        origin_p, origin_c = constraint.parent_origin, constraint.child_origin
        points = (origin_p.position, origin_c.position)
        on_parent, on_child = constraint.held_axes
        axis_p, axis_c = origin_p.rotation @ on_parent, origin_c.rotation @ on_child
        side = perpendicular_axes(axis_p)
        zero = np.zeros(3)

        def point_row(direction: Floats) -> None:
            self.rows.append((POINT_ROW, parent, child, *points, direction, zero, index))

        def direction_row(first: Floats, second: Floats) -> None:
            self.rows.append((DIRECTION_ROW, parent, child, *points, first, second, index))

        for direction in side if constraint.type == 'prismatic' else np.eye(3):
            point_row(direction)
        if constraint.type in ('fixed', 'prismatic'):
            for first, second in ((0, 1), (1, 2), (2, 0)):
                direction_row(_axis(origin_p, first), _axis(origin_c, second))
        elif constraint.type == 'revolute':
            direction_row(side[0], axis_c)
            direction_row(side[1], axis_c)
        elif constraint.holds == 'universal':
            direction_row(axis_p, axis_c)


def _axis(origin: Pose, index: int) -> Floats:
    return origin.rotation[:, index]


def _ancestor_coordinates(
    parent: Integers, kind: Integers, coordinate: Integers, n_v: int
) -> NDArray[np.bool_]:
    """Which velocity coordinates (n_b, n_v) move which body."""
    moves = np.zeros((len(parent), n_v), dtype=bool)
    for body, above in enumerate(parent):
        if above != BASE:
            moves[body] = moves[above]
        if kind[body] != FIXED:
            width = 6 if kind[body] == FLOATING else 1
            moves[body, coordinate[body] : coordinate[body] + width] = True
    return moves
