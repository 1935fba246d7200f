"""Where a floating platform stands when all joints are given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pkm_description.tree_geometry import TreeGeometry, TreeLayout
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotations_from_vectors

_ITERATIONS = 30  # far more than Gauss-Newton takes where it converges at all
_LARGEST_TURN = 0.5  # [rad] of one iteration
_CLOSED = 1e-6  # [m, 1] below which no other start is tried: the tolerance of given states


def place_platform(
    layout: TreeLayout, joints: Floats, position: Floats, rotation: Floats
) -> tuple[Floats, Floats, Floats]:
    """Poses (N, 3) [m], (N, 3, 3) that close the loops best at joint positions (N, n_j).

    Gauss-Newton on the closing rows over the platform alone, from `position` (3,) and
    `rotation` (3, 3), then from other rotations where the loops stay open. Third comes
    by how much they are open (N,) [m, 1].
    """
    n = len(joints)
    p, r, gap = np.empty((n, 3)), np.empty((n, 3, 3)), np.full(n, np.inf)
    for turn in _turns():
        index = np.flatnonzero(gap > _CLOSED)
        if len(index) == 0:
            break
        found = _place(layout, joints[index], position, turn @ rotation)
        better = found[2] < gap[index]
        for mine, new in zip((p, r, gap), found, strict=True):
            mine[index[better]] = new[better]
    return p, r, gap


def _turns() -> Iterator[Floats]:
    """Rotations from which the platform is searched for: none, then those of a cube."""
    yield np.eye(3)
    from scipy.spatial.transform import Rotation  # 0.2 s to import, for what is seldom needed

    yield from Rotation.create_group('O').as_matrix()[1:]


def _place(
    layout: TreeLayout, joints: Floats, position: Floats, rotation: Floats
) -> tuple[Floats, Floats, Floats]:
    p = np.repeat(np.asarray(position)[None], len(joints), axis=0)
    r = np.repeat(np.asarray(rotation)[None], len(joints), axis=0)
    gap = np.zeros(len(joints))
    for _ in range(_ITERATIONS):
        geometry = TreeGeometry.build(layout, joints, p, r)
        rows = geometry.row_jacobian[:, :, layout.tree.floating]
        residual = geometry.residual()
        gap = np.abs(residual).max(axis=1, initial=0.0)
        step = -np.einsum('nij,nj->ni', np.linalg.pinv(rows), residual)
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
        angle = np.linalg.norm(step[:, 3:], axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_TURN / np.maximum(angle, 1e-300))
        p = p + step[:, :3]
        r = rotations_from_vectors(step[:, 3:]) @ r
    return p, r, gap
