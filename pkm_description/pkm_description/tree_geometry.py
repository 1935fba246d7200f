"""The spanning tree in batches: poses, screws, closing rows and their time derivatives.

The kinematics of a tree in NumPy, for one configuration and for many. The compiled loops of
`pkm_dynamics` have their own, so that each checks the other.
Twists [v0; omega] and wrenches [f; m0] are in base axes about the base's origin; the
velocity coordinates are those of `KinematicTree`. With the rates v of all coordinates,

    twist of a body       V_b = sum of s_k v_k over the coordinates k that move it
    closing rows          A v = 0,  A[r, k] = w_r . s_k (+ if k moves the child only)
    accelerations         A dv + dA v = 0

so that everything quadratic in the rates follows from the rates of s and w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.errors import KinematicsError
from pkm_description.kinematic_tree import (
    BASE,
    FIXED,
    FLOATING,
    POINT_ROW,
    PRISMATIC,
    REVOLUTE,
    Floats,
    Integers,
    KinematicTree,
)


@dataclass(frozen=True)
class TreeLayout:
    """Index arrays of a tree that do not depend on the configuration."""

    tree: KinematicTree
    levels: tuple[Integers, ...]  # (k,) each: bodies by their depth in the tree
    moved: Floats  # (n_b, n_v) 1 where a coordinate moves a body
    # (n_r, n_v) 1 where a coordinate moves only the child of a closing row, -1 only the parent
    row_sign: Floats
    body: Integers  # (n_v,) body whose joint a coordinate belongs to
    scalar: Integers  # (n_j,) coordinate of each scalar joint

    @classmethod
    def build(cls, tree: KinematicTree) -> TreeLayout:
        """Lay a tree out."""
        depth = np.zeros(tree.n_b, dtype=int)
        body_of = np.zeros(tree.n_v, dtype=np.int64)
        for body in range(tree.n_b):
            above = tree.parent[body]
            depth[body] = 0 if above == BASE else depth[above] + 1
            if tree.joint_kind[body] != FIXED:
                width = 6 if tree.joint_kind[body] == FLOATING else 1
                body_of[tree.coordinate[body] : tree.coordinate[body] + width] = body
        still = np.zeros(tree.n_v, dtype=bool)
        sign = np.zeros((len(tree.row_kind), tree.n_v))
        for row in range(len(tree.row_kind)):
            child, parent = tree.row_child[row], tree.row_parent[row]
            sign[row] += still if child == BASE else tree.ancestors[child]
            sign[row] -= still if parent == BASE else tree.ancestors[parent]
        levels = range(int(depth.max(initial=-1)) + 1)
        return cls(
            tree,
            tuple(np.flatnonzero(depth == level) for level in levels),
            tree.ancestors.astype(float),
            sign,
            body_of,
            np.array([tree.coordinate_of(name) for name in tree.joint_names], dtype=np.int64),
        )


@dataclass(frozen=True)
class TreeGeometry:
    """A batch of configurations."""

    layout: TreeLayout
    position: Floats  # (N, n_b, 3) [m]
    rotation: Floats  # (N, n_b, 3, 3)
    screws: Floats  # (N, n_v, 6) twist of a unit rate of each coordinate
    row_wrench: Floats  # (N, n_r, 6) wrench on the child of a unit multiplier of each closing row
    # (N, n_r, 3) direction that the parent holds; point or direction that the child holds
    row_direction: Floats
    row_arm: Floats  # (N, n_r, 3)
    row_jacobian: Floats  # (N, n_r, n_v)

    @classmethod
    def build(
        cls, layout: TreeLayout, joints: Floats, position: Floats, rotation: Floats
    ) -> TreeGeometry:
        """Place all bodies at joints (N, n_j) [m, rad].

        The poses (N, 3) [m], (N, 3, 3) of the platform are used where it floats.
        """
        places, turns = body_poses(layout, joints, position, rotation)
        screws = _screws(layout, places, turns)
        direction, arm, wrench = _rows(layout.tree, places, turns)
        jacobian = layout.row_sign * (wrench @ screws.transpose(0, 2, 1))
        return cls(layout, places, turns, screws, wrench, direction, arm, jacobian)

    def twists(self, rates: Floats) -> Floats:
        """Twists (N, n_b, 6) of the bodies at rates (N, n_v)."""
        return np.asarray(self.layout.moved @ (self.screws * rates[:, :, None]))

    def jacobians(self, transfer: Floats) -> Floats:
        """Twists (N, n_b, 6, k) of the bodies per column of transfer (N, n_v, k)."""
        columns = self.screws[:, :, :, None] * transfer[:, :, None, :]
        n, n_v, _, k = columns.shape
        flat = self.layout.moved @ columns.reshape(n, n_v, 6 * k)
        return np.asarray(flat.reshape(n, -1, 6, k))

    def residual(self) -> Floats:
        """How far the closing rows are open (N, n_r) [m, 1]."""
        tree = self.layout.tree
        places, turns = with_base(self.position, self.rotation)
        held = np.einsum('nrij,rj->nri', turns[:, tree.row_parent], tree.row_parent_point)
        point = (tree.row_kind == POINT_ROW)[:, None]
        gap = self.row_arm - np.where(point, held + places[:, tree.row_parent], 0.0)
        return np.asarray(np.einsum('nri,nri->nr', self.row_direction, gap))

    def screw_rates(self, twists: Floats) -> Floats:
        """Time derivative (N, n_v, 6) of the screws when the bodies move at twists (N, n_b, 6)."""
        tree = self.layout.tree
        of_joint = twists[:, self.layout.body]
        linear, angular = self.screws[..., :3], self.screws[..., 3:]
        v, omega = of_joint[..., :3], of_joint[..., 3:]
        rates = np.concatenate(
            [cross(omega, linear) + cross(v, angular), cross(omega, angular)], axis=-1
        )
        if tree.floating_body >= 0:
            # Its angular rates turn about axes that move with its origin but do not turn.
            body = twists[:, tree.floating_body]
            speed = body[:, :3] + cross(body[:, 3:], self.position[:, tree.floating_body])
            rates[:, tree.floating] = 0.0
            rates[:, tree.floating][:, 3:, :3] = cross(speed[:, None], np.eye(3))
        return rates

    def row_jacobian_rate(self, twists: Floats, screw_rates: Floats) -> Floats:
        """Time derivative (N, n_r, n_v) of `row_jacobian` at twists (N, n_b, 6).

        `screw_rates` (N, n_v, 6) are those of these twists.
        """
        tree = self.layout.tree
        padded = np.concatenate([twists, np.zeros((len(twists), 1, 6))], axis=1)
        parent, child = padded[:, tree.row_parent], padded[:, tree.row_child]
        direction_rate = cross(parent[..., 3:], self.row_direction)
        arm_rate = cross(child[..., 3:], self.row_arm)
        point = (tree.row_kind == POINT_ROW)[:, None]
        arm_rate += np.where(point, child[..., :3], 0.0)
        moment = cross(arm_rate, self.row_direction) + cross(self.row_arm, direction_rate)
        wrench = np.concatenate([np.where(point, direction_rate, 0.0), moment], axis=-1)
        change = wrench @ self.screws.transpose(0, 2, 1)
        change += self.row_wrench @ screw_rates.transpose(0, 2, 1)
        return np.asarray(self.layout.row_sign * change)


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products (..., 3) of vectors that broadcast; faster than NumPy's on small batches."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    first = y * w - z * v
    out = np.empty((*first.shape, 3))
    out[..., 0], out[..., 1], out[..., 2] = first, z * u - x * w, x * v - y * u
    return out


def solve_rows(jacobian: Floats, chosen: Integers, right: Floats, free: Floats) -> Floats:
    """Solve jacobian (N, n_r, n_v) x = right (N, n_r, k) with x[chosen] = free (N, n_c, k).

    Redundant rows are allowed where they do not contradict the others.
    Raises KinematicsError where `chosen` do not determine the other coordinates.
    """
    n, _, n_v = jacobian.shape
    selection = np.zeros((n, len(chosen), n_v))
    selection[:, np.arange(len(chosen)), chosen] = 1.0
    system = np.concatenate([jacobian, selection], axis=1)
    target = np.concatenate([right, free], axis=1)
    try:
        if system.shape[1] == n_v:
            return np.asarray(np.linalg.solve(system, target))
        q, r = np.linalg.qr(system)
        return np.asarray(np.linalg.solve(r, q.transpose(0, 2, 1) @ target))
    except np.linalg.LinAlgError as error:
        raise KinematicsError(
            'the mechanism is singular at one of the samples: the chosen coordinates do not '
            'determine the others'
        ) from error


def body_poses(
    layout: TreeLayout, joints: Floats, position: Floats, rotation: Floats
) -> tuple[Floats, Floats]:
    """Positions (N, n_b, 3) and rotations (N, n_b, 3, 3) of the bodies, level by level.

    Parameters as those of `TreeGeometry.build`.
    """
    tree, n = layout.tree, len(joints)
    places, turns = np.empty((n, tree.n_b, 3)), np.empty((n, tree.n_b, 3, 3))
    values = np.zeros((n, tree.n_b))
    scalar = tree.scalar_index >= 0
    values[:, scalar] = joints[:, tree.scalar_index[scalar]]
    for bodies in layout.levels:
        above = tree.parent[bodies]
        if np.all(above == BASE):
            places[:, bodies] = tree.origin_position[bodies]
            turns[:, bodies] = tree.origin_rotation[bodies]
        else:
            turn = turns[:, above]
            places[:, bodies] = places[:, above] + np.einsum(
                'nbij,bj->nbi', turn, tree.origin_position[bodies]
            )
            turns[:, bodies] = turn @ tree.origin_rotation[bodies]
        turning = bodies[tree.joint_kind[bodies] == REVOLUTE]
        if len(turning):
            turn = axis_rotations(tree.axis[turning], values[:, turning])
            turns[:, turning] = turns[:, turning] @ turn
        sliding = bodies[tree.joint_kind[bodies] == PRISMATIC]
        if len(sliding):
            axis = np.einsum('nbij,bj->nbi', turns[:, sliding], tree.axis[sliding])
            places[:, sliding] += values[:, sliding, None] * axis
        if tree.floating_body in bodies:
            places[:, tree.floating_body] = position
            turns[:, tree.floating_body] = rotation
    return places, turns


def with_base(places: Floats, turns: Floats) -> tuple[Floats, Floats]:
    """Poses of the bodies and, last, of the base, where its index -1 finds it."""
    n = len(places)
    places = np.concatenate([places, np.zeros((n, 1, 3))], axis=1)
    return places, np.concatenate([turns, np.broadcast_to(np.eye(3), (n, 1, 3, 3))], axis=1)


def skew(vector: Floats) -> Floats:
    """Matrices (..., 3, 3) of the cross product with vectors (..., 3)."""
    return np.asarray(cross(vector[..., None, :], np.eye(3)).swapaxes(-1, -2))


def axis_rotations(axis: Floats, angle: Floats) -> Floats:
    """Rotations (..., 3, 3) about unit axes (..., 3) by angles (...) [rad] that broadcast."""
    turn = skew(axis)
    sine, cosine = np.sin(angle)[..., None, None], np.cos(angle)[..., None, None]
    return np.asarray(np.eye(3) + sine * turn + (1.0 - cosine) * (turn @ turn))


def _screws(layout: TreeLayout, places: Floats, turns: Floats) -> Floats:
    tree = layout.tree
    screws = np.zeros((len(places), tree.n_v, 6))
    kind = tree.joint_kind[layout.body]
    axis = np.einsum('nkij,kj->nki', turns[:, layout.body], tree.axis[layout.body])
    turning, sliding = kind == REVOLUTE, kind == PRISMATIC
    screws[:, turning, 3:] = axis[:, turning]
    screws[:, turning, :3] = cross(places[:, layout.body[turning]], axis[:, turning])
    screws[:, sliding, :3] = axis[:, sliding]
    if tree.floating_body >= 0:
        screws[:, tree.floating] = np.eye(6)
        arm = places[:, tree.floating_body, None]
        screws[:, tree.floating][:, 3:, :3] = cross(arm, np.eye(3))
    return screws


def _rows(tree: KinematicTree, places: Floats, turns: Floats) -> tuple[Floats, Floats, Floats]:
    """Directions (N, n_r, 3), arms (N, n_r, 3) and wrenches (N, n_r, 6) of the closing rows."""
    places, turns = with_base(places, turns)
    point = (tree.row_kind == POINT_ROW)[:, None]
    direction = np.einsum('nrij,rj->nri', turns[:, tree.row_parent], tree.row_parent_direction)
    held = np.where(point, tree.row_child_point, tree.row_child_direction)
    arm = np.einsum('nrij,rj->nri', turns[:, tree.row_child], held)
    arm = arm + np.where(point, places[:, tree.row_child], 0.0)
    force = np.where(point, direction, 0.0)
    return direction, arm, np.concatenate([force, cross(arm, direction)], axis=-1)
