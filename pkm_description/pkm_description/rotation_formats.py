"""Rotation mathematics at the file boundary (single rotations)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from transforms3d.axangles import axangle2mat, mat2axangle
from transforms3d.euler import euler2mat

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
    """Roll, pitch, yaw (3,) [rad] of a rotation matrix (3, 3), exact at a pitch of pi / 2 too."""
    r = np.asarray(rotation, dtype=float)
    yaw = np.arctan2(r[1, 0], r[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    # Of the rotation without its yaw: near a pitch of pi / 2 roll makes up for what yaw is off.
    pitch = np.arctan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = np.arctan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return np.array([roll, pitch, yaw])
