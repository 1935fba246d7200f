"""Rotation mathematics at the file boundary (single rotations)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from transforms3d.axangles import axangle2mat, mat2axangle
from transforms3d.euler import euler2mat, mat2euler

from pkm_description.description import Array


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of roll, pitch, yaw (3,) [rad] about the fixed axes x, y, z."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    return np.asarray(euler2mat(roll, pitch, yaw, axes='sxyz'), dtype=float)


def rotation_from_vector(vector: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,) [rad]."""
    vector = np.asarray(vector, dtype=float)
    angle = float(np.linalg.norm(vector))
    if angle < 1e-300:
        return np.eye(3)
    return np.asarray(axangle2mat(vector / angle, angle, is_normalized=True), dtype=float)


def rotation_vector(rotation: ArrayLike) -> Array:
    """Rotation vector (3,) [rad] of a rotation matrix (3, 3), angle in [0, pi]."""
    axis, angle = mat2axangle(np.asarray(rotation, dtype=float), unit_thresh=1e-4)
    return np.asarray(axis, dtype=float) * float(angle)


def rpy_from_rotation(rotation: ArrayLike) -> Array:
    """Roll, pitch, yaw (3,) [rad] of a rotation matrix (3, 3)."""
    return np.array(mat2euler(np.asarray(rotation, dtype=float), axes='sxyz'), dtype=float)
