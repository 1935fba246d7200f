"""Follow a mechanism along the straight way of its actuators in many small steps.

Plain NumPy on the tree's geometry: shares nothing with the compiled search that it
checks but the description.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.tree_geometry import TreeGeometry
from pkm_dynamics import ClosedChainModel


class Path(NamedTuple):
    """End poses (N, 3), (N, 3, 3), and how regular the way was (N,): 0 at a singularity."""

    position: np.ndarray
    rotation: np.ndarray
    regularity: np.ndarray


def follow_actuators(model: ClosedChainModel, start, q, steps: int = 100) -> Path:
    """From configurations (joints, position, rotation) to actuator positions (N, n_a)."""
    layout = model.tree_layout
    tree = layout.tree
    joints, p, r = (np.array(array, dtype=float) for array in start)
    columns = [model.joint_names.index(name) for name in model.actuated_joints]
    coordinates = np.array([tree.coordinate_of(name) for name in model.actuated_joints])
    begin = joints[:, columns].copy()
    regularity = np.full(len(q), np.inf)
    sign = None
    for step in range(1, steps + 1):
        target = begin + (q - begin) * step / steps
        for _ in range(4):
            geometry = TreeGeometry.build(layout, joints, p, r)
            selection = np.zeros((len(q), len(columns), tree.n_v))
            selection[:, np.arange(len(columns)), coordinates] = 1.0
            system = np.concatenate([geometry.row_jacobian, selection], axis=1)
            wanted = np.concatenate([-geometry.residual(), target - joints[:, columns]], axis=1)
            if system.shape[1] != tree.n_v:  # redundant rows
                square = system.transpose(0, 2, 1) @ system
                wanted = np.einsum('nij,ni->nj', system, wanted)
                orientation = np.ones(len(q))
            else:
                square, orientation = system, np.sign(np.linalg.det(system))
            change = np.linalg.solve(square, wanted[..., None])[..., 0]
            change = np.clip(change, -0.1, 0.1)
            joints += change[:, layout.scalar]
            if tree.floating_body >= 0:
                first = int(tree.coordinate[tree.floating_body])
                p += change[:, first : first + 3]
                r = Rotation.from_rotvec(change[:, first + 3 : first + 6]).as_matrix() @ r
        smallest = np.linalg.svd(system, compute_uv=False)[:, -1]
        sign = orientation if sign is None else sign
        open_loop = np.abs(geometry.residual()).max(axis=1, initial=0.0) > 1e-7
        regularity = np.minimum(regularity, smallest)
        regularity[open_loop | (orientation != sign)] = 0.0
    geometry = TreeGeometry.build(layout, joints, p, r)
    body = tree.platform_body
    return Path(geometry.position[:, body], geometry.rotation[:, body], regularity)
