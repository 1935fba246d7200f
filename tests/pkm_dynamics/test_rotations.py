"""Angles, rotation matrices and their derivatives against SciPy and finite differences."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy, rpy_motion, rpy_to_rotation


def test_rotation_against_scipy() -> None:
    rpy = np.random.default_rng(3).uniform(-1.5, 1.5, (4, 5, 3))
    expected = Rotation.from_euler('xyz', rpy.reshape(-1, 3)).as_matrix().reshape(4, 5, 3, 3)
    np.testing.assert_allclose(rpy_to_rotation(rpy), expected, atol=1e-14)
    np.testing.assert_allclose(rotation_to_rpy(expected), rpy, atol=1e-12)


def test_gimbal_lock_still_gives_the_rotation() -> None:
    for pitch in (np.pi / 2, -np.pi / 2):
        R = rpy_to_rotation([0.3, pitch, -0.8])
        np.testing.assert_allclose(rpy_to_rotation(rotation_to_rpy(R)), R, atol=1e-8)


def test_angular_velocity_and_acceleration_against_differences_of_the_matrix() -> None:
    def angles(t):
        t = np.asarray(t)[:, None]
        a, w = np.array([0.4, 0.5, 0.6]), np.array([3.0, 2.0, 4.0])
        return a * np.sin(w * t), a * w * np.cos(w * t), -a * w**2 * np.sin(w * t)

    t, h = np.linspace(0.0, 3.0, 31), 1e-5
    (Rm, om, _), (R, omega, domega), (Rp, op, _) = (rpy_motion(*angles(t + d)) for d in (-h, 0, h))
    skew = (Rp - Rm) / (2.0 * h) @ R.transpose(0, 2, 1)
    from_matrix = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    np.testing.assert_allclose(omega, from_matrix, atol=1e-8)
    np.testing.assert_allclose(domega, (op - om) / (2.0 * h), atol=1e-8)
