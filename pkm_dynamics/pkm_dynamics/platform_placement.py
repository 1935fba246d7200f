"""Where a floating platform stands when all joints are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from pkm_dynamics.tree_geometry import TreeGeometry, TreeLayout

Floats = NDArray[np.float64]

_ITERATIONS = 30
_LARGEST_TURN = 0.5  # [rad] of one iteration


def place_platform(
    layout: TreeLayout, joints: Floats, position: Floats, rotation: Floats
) -> tuple[Floats, Floats]:
    """Poses (N, 3) [m], (N, 3, 3) that close the loops best at joint positions (N, n_j).

    Gauss-Newton on the closing rows over the platform alone, from `position` (3,) and
    `rotation` (3, 3); how well the loops close then is for the caller to judge.
    """
    first = int(layout.tree.coordinate[layout.tree.floating_body])
    p = np.repeat(np.asarray(position)[None], len(joints), axis=0)
    r = np.repeat(np.asarray(rotation)[None], len(joints), axis=0)
    for _ in range(_ITERATIONS):
        geometry = TreeGeometry.build(layout, joints, p, r)
        rows = geometry.row_jacobian[:, :, first : first + 6]
        step = -np.einsum('nij,nj->ni', np.linalg.pinv(rows), geometry.residual())
        angle = np.linalg.norm(step[:, 3:], axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_TURN / np.maximum(angle, 1e-300))
        p += step[:, :3]
        r = Rotation.from_rotvec(step[:, 3:]).as_matrix() @ r
        if np.abs(step).max(initial=0.0) < 1e-14:
            break
    return p, r
