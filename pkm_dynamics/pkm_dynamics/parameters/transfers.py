"""Mass that can move across a joint without any force telling, from the joints alone.

A body's mass distribution is its pseudo-inertia S = sum of m [x; 1][x; 1]^T (4, 4). What
the joint between two bodies leaves where it is can belong to either of them: point
masses at the centre of a spherical or universal joint, rods of no width on the axis of a
revolute joint, inertia (without mass or first moment) across a prismatic joint, anything
across a fixed one. Only numbers of the description enter, so these combinations carry no
error from motions, and the coefficients are the geometry's own [Mayeda, Yoshida, Osuka
1990; Khalil and Bennis 1995].
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np

from pkm_description.description import Description, Pose
from pkm_dynamics.array_types import Floats
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES

_HINGES = ('revolute', 'continuous')
_RANK_TOLERANCE = 1e-10  # only numbers of the description enter, so that rounding is 1e-15


def parameters_of_distribution(distribution: Floats) -> Floats:
    """Ten standard parameters of a mass distribution (4, 4), inertia about the origin."""
    s = distribution
    xx, yy, zz = s[1, 1] + s[2, 2], s[0, 0] + s[2, 2], s[0, 0] + s[1, 1]
    return np.array([s[3, 3], *s[:3, 3], xx, -s[0, 1], -s[0, 2], yy, -s[1, 2], zz])


def transfers(description: Description, parameter_names: list[str]) -> Floats:
    """Changes (k, n_p) of the standard parameters that move mass across joints, no force.

    Bodies without parameters take part (the massless ring of a universal joint), but
    keep nothing. Independent rows, of unit length.
    """
    links = [link.name for link in description.links]
    names = [f'{link}.{field}' for link in links for field in INERTIAL_NAMES]
    rows = []
    for parent, child, at_parent, at_child in _shared_distributions(description):
        row = np.zeros((len(links), 10))
        row[links.index(child)] += parameters_of_distribution(at_child)
        row[links.index(parent)] -= parameters_of_distribution(at_parent)
        rows.append(row.ravel())
    moves = np.array(rows).reshape(-1, 10 * len(links))
    known = {name: i for i, name in enumerate(parameter_names)}
    ground = _ground(description)
    massless = [
        i
        for i, name in enumerate(names)
        if name not in known and name.rpartition('.')[0] not in ground
    ]
    moves = _left_null_space(moves[:, massless]) @ moves
    result = np.zeros((len(moves), len(parameter_names)))
    for i, name in enumerate(names):
        if name in known:
            result[:, known[name]] = moves[:, i]
    length = np.linalg.norm(result, axis=1)
    return result[length > _RANK_TOLERANCE] / length[length > _RANK_TOLERANCE, None]


def _shared_distributions(description: Description) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Distributions that a joint leaves in place, seen in the parent's and the child's frame."""
    for joint in description.joints:
        ends = (joint.origin, joint.axis), (Pose(), joint.axis)
        for at_parent, at_child in _distributions(joint.type, *ends):
            yield joint.parent, joint.child, at_parent, at_child
    for item in description.constraints:
        ends = (item.parent_origin, item.parent_axis), (item.child_origin, item.child_axis)
        for at_parent, at_child in _distributions(item.type, *ends):
            yield item.parent, item.child, at_parent, at_child


def _distributions(
    kind: str, parent: tuple[Pose, Floats], child: tuple[Pose, Floats]
) -> list[tuple[Floats, Floats]]:
    ends = (parent, child)
    if kind in (*_HINGES, 'spherical', 'universal'):
        points = [np.append(pose.position, 1.0) for pose, _ in ends]
        found = [[np.outer(x, x) for x in points]]
        if kind in _HINGES:
            axes = [np.append(pose.rotation @ axis, 0.0) for pose, axis in ends]
            found.append(
                [np.outer(x, u) + np.outer(u, x) for x, u in zip(points, axes, strict=True)]
            )
            found.append([np.outer(u, u) for u in axes])
    elif kind == 'prismatic':
        frames = [np.pad(pose.rotation, ((0, 1), (0, 1))) for pose, _ in ends]
        found = [[x @ s @ x.T for x in frames] for s in _symmetric(3)]
    elif kind == 'fixed':
        frames = [_homogeneous(pose) for pose, _ in ends]
        found = [[x @ s @ x.T for x in frames] for s in _symmetric(4)]
    else:
        found = []
    return [(at_parent, at_child) for at_parent, at_child in found]


def _symmetric(size: int) -> list[Floats]:
    unit = np.eye(4)
    pairs = combinations_with_replacement(range(size), 2)
    return [np.maximum(np.outer(unit[i], unit[j]), np.outer(unit[j], unit[i])) for i, j in pairs]


def _homogeneous(pose: Pose) -> Floats:
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = pose.rotation, pose.position
    return frame


def _ground(description: Description) -> set[str]:
    """Return the base and the links that the tree fixes to it: they never move."""
    ground = {description.base_link}
    for _ in description.joints:
        ground |= {j.child for j in description.joints if j.type == 'fixed' and j.parent in ground}
    return ground


def _left_null_space(matrix: Floats) -> Floats:
    """Rows (k, n) that give zero times `matrix` (n, m)."""
    if matrix.size == 0:
        return np.eye(len(matrix))
    left, singular, _ = np.linalg.svd(matrix)
    rank = int(np.sum(singular > _RANK_TOLERANCE * max(1.0, singular[0])))
    return left[:, rank:].T
