"""Batched rotation mathematics: roll, pitch, yaw and their derivatives.

Fixed-axis angles in the order of URDF: R = Rz(yaw) Ry(pitch) Rx(roll). Angular
velocity and acceleration are expressed in the base frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.tree_geometry import axis_rotations
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kernels.decorator import compiled


def rpy_to_rotation(rpy: ArrayLike) -> Floats:
    """Return rotation matrices (..., 3, 3) of roll, pitch, yaw (..., 3) [rad]."""
    angles = np.ascontiguousarray(rpy, dtype=float)
    zero = np.zeros((angles.size // 3, 3))
    rotation, _, _ = _rpy_kernel(angles.reshape(-1, 3), zero, zero)
    return rotation.reshape(*angles.shape[:-1], 3, 3)


def rotation_to_rpy(rotation: ArrayLike) -> Floats:
    """Return roll, pitch, yaw (..., 3) [rad] of rotation matrices (..., 3, 3).

    Pitch lies in [-pi/2, pi/2]. Where it reaches the ends roll and yaw are not
    separate; roll is then set to zero.
    """
    R = np.asarray(rotation, dtype=float)
    cos_pitch = np.hypot(R[..., 2, 1], R[..., 2, 2])
    pitch = np.arctan2(-R[..., 2, 0], cos_pitch)
    regular = cos_pitch > 1e-12
    roll = np.where(regular, np.arctan2(R[..., 2, 1], R[..., 2, 2]), 0.0)
    yaw = np.where(
        regular, np.arctan2(R[..., 1, 0], R[..., 0, 0]), np.arctan2(-R[..., 0, 1], R[..., 1, 1])
    )
    return np.stack([roll, pitch, yaw], axis=-1)


def rpy_motion(
    rpy: ArrayLike, rates: ArrayLike, accelerations: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Rotations (N, 3, 3), angular velocities and accelerations (N, 3) of a motion in angles.

    Roll, pitch, yaw (N, 3) [rad] and their first and second time derivatives go in.
    """
    angles = (np.ascontiguousarray(array, dtype=float) for array in (rpy, rates, accelerations))
    return _rpy_kernel(*angles)


@compiled
def _rpy_kernel(rpy, rates, accelerations):  # type: ignore[no-untyped-def]
    count = rpy.shape[0]
    rotation = np.empty((count, 3, 3))
    omega = np.empty((count, 3))
    domega = np.empty((count, 3))
    for i in range(count):
        sr, cr = math.sin(rpy[i, 0]), math.cos(rpy[i, 0])
        sp, cp = math.sin(rpy[i, 1]), math.cos(rpy[i, 1])
        sy, cy = math.sin(rpy[i, 2]), math.cos(rpy[i, 2])
        dr, dp, dy = rates[i, 0], rates[i, 1], rates[i, 2]
        ar, ap, ay = accelerations[i, 0], accelerations[i, 1], accelerations[i, 2]
        rotation[i, 0, 0] = cy * cp
        rotation[i, 0, 1] = cy * sp * sr - sy * cr
        rotation[i, 0, 2] = cy * sp * cr + sy * sr
        rotation[i, 1, 0] = sy * cp
        rotation[i, 1, 1] = sy * sp * sr + cy * cr
        rotation[i, 1, 2] = sy * sp * cr - cy * sr
        rotation[i, 2, 0] = -sp
        rotation[i, 2, 1] = cp * sr
        rotation[i, 2, 2] = cp * cr
        # omega = yaw' z + pitch' Rz y + roll' Rz Ry x
        omega[i, 0] = -dp * sy + dr * cy * cp
        omega[i, 1] = dp * cy + dr * sy * cp
        omega[i, 2] = dy - dr * sp
        domega[i, 0] = -ap * sy - dp * dy * cy + ar * cy * cp - dr * (dy * sy * cp + dp * cy * sp)
        domega[i, 1] = ap * cy - dp * dy * sy + ar * sy * cp + dr * (dy * cy * cp - dp * sy * sp)
        domega[i, 2] = ay - ar * sp - dr * dp * cp
    return rotation, omega, domega


def rotation_vectors(rotation: ArrayLike) -> Floats:
    """Return rotation vectors (..., 3) [rad] of rotations (..., 3, 3), angles in [0, pi]."""
    from scipy.spatial.transform import Rotation  # 0.2 s to import, which most models do without

    R = np.asarray(rotation, dtype=float)
    return Rotation.from_matrix(R.reshape(-1, 3, 3)).as_rotvec().reshape(*R.shape[:-1])


def rotations_from_vectors(vectors: ArrayLike) -> Floats:
    """Return rotations (..., 3, 3) of rotation vectors (..., 3) [rad]."""
    v = np.asarray(vectors, dtype=float)
    angle = np.linalg.norm(v, axis=-1)
    return axis_rotations(v / np.maximum(angle, 1e-300)[..., None], angle)
