"""Distance to singular configurations: the conditioning of the actuator Jacobian."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion


def has_singularities(model: ClosedChainModel) -> bool:
    """Whether actuator forces can grow without bound: only where loops are closed."""
    return bool(model.description.constraints)


def rotation_length(model: ClosedChainModel) -> float:
    """Length [m] at which translation and rotation weigh the same in the home pose."""
    if model.platform_determines_joints:
        home = model.jacobian(model.home_position[None], model.home_rotation[None])[0]
        return _ratio(home[:, 3:], home[:, :3])
    home = model.platform_jacobian(np.asarray(model.home_actuators)[None])[0]
    return _ratio(home[:3], home[3:])


def reciprocal_condition(
    model: ClosedChainModel,
    position: ArrayLike,
    rotation: ArrayLike,
    actuators: ArrayLike,
    joints: ArrayLike | None = None,
    length: float | None = None,
) -> Floats:
    """Reciprocal condition number (N,) of the scaled Jacobian; 0 where it is singular.

    Of the actuators' rates by the platform's twist where the platform has six degrees of
    freedom, else of the twist by the rates; the twist's angular part is multiplied by `length`
    [m] (`rotation_length` by default), so that the unit of length does not matter. `joints`
    (N, n_j) are the joint positions of these poses, where they are known; that saves time.
    """
    length = rotation_length(model) if length is None else length
    if model.platform_determines_joints:
        jacobian = np.array(model.jacobian(position, rotation, joints))
        jacobian[:, :, 3:] /= length
    else:
        if joints is None:
            jacobian = np.array(model.platform_jacobian(actuators))
        else:
            jacobian = np.array(model.platform_jacobian_at(joints, position, rotation))
        jacobian[:, 3:] *= length
    values = np.linalg.svd(jacobian, compute_uv=False)
    return np.asarray(values[:, -1] / values[:, 0])


def jacobian_condition(model: ClosedChainModel, motion: PlatformMotion) -> Floats | None:
    """Condition number (N,) of the scaled Jacobian along a motion; None for open chains."""
    if not has_singularities(model):
        return None
    joints = model.joint_states(motion).positions
    actuators = joints[:, model.mechanism.actuated_scalar]
    reciprocal = reciprocal_condition(model, motion.position, motion.rotation, actuators, joints)
    return np.asarray(1.0 / np.maximum(reciprocal, 1e-300))


def _ratio(numerator: Floats, denominator: Floats) -> float:
    """Ratio of two Frobenius norms; 1 where either vanishes but for rounding."""
    top, bottom = float(np.linalg.norm(numerator)), float(np.linalg.norm(denominator))
    return top / bottom if min(top, bottom) > 1e-9 * max(top, bottom) else 1.0
