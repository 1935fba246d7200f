"""A wrench on the platform: what the actuators feel of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.description import frozen
from pkm_description.errors import TrajectoryError
from pkm_description.tree_geometry import cross
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.motion import PlatformMotion

AXES = ('base', 'platform')


@dataclass(frozen=True)
class PlatformWrench:
    """A force and a moment that the surroundings exert ON the platform.

    Raises TrajectoryError where a shape, a number or the axes cannot be used.
    """

    force: ArrayLike = (0.0, 0.0, 0.0)  # (3,) or (N, 3) [N] acts at `point`
    moment: ArrayLike = (0.0, 0.0, 0.0)  # (3,) or (N, 3) [N m]
    # (3,) or (N, 3) [m] in the platform's frame; its origin by default
    point: ArrayLike = (0.0, 0.0, 0.0)
    axes: str = 'base'  # axes in which force and moment are given: 'base' or 'platform'

    def __post_init__(self) -> None:
        if self.axes not in AXES:
            raise TrajectoryError(f"axes: 'base' or 'platform' is needed, got {self.axes!r}")
        for name in ('force', 'moment', 'point'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim not in (1, 2) or array.shape[-1] != 3 or not np.all(np.isfinite(array)):
                raise TrajectoryError(
                    f'{name} of a wrench must be finite numbers of the shape (3,) or (N, 3), got '
                    f'the shape {array.shape}'
                )
            object.__setattr__(self, name, frozen(array))

    def at_origin(self, rotation: Floats) -> Floats:
        """Force and moment (N, 6) in base axes about the platform's origin.

        `rotation` (N, 3, 3) is the platform's.
        """
        n, parts = len(rotation), []
        for name in ('force', 'moment', 'point'):
            array = np.asarray(getattr(self, name))
            if array.ndim == 2 and len(array) != n:
                raise TrajectoryError(
                    f'{name} of the wrench has {len(array)} samples where the motion has {n}'
                )
            parts.append(np.broadcast_to(array, (n, 3)))
        force, moment, point = parts
        if self.axes == 'platform':
            force, moment = _turned(rotation, force), _turned(rotation, moment)
        return np.concatenate([force, moment + cross(_turned(rotation, point), force)], axis=1)


def wrench_forces(model: DynamicModel, motion: PlatformMotion, wrench: PlatformWrench) -> Floats:
    """Actuator forces (N, n_a) that a wrench on the platform is equivalent to: J^T w [N, N m].

    Positive along positive velocity: the equations of motion are M qdd + ... = Q + J^T w,
    so that to hold against the wrench the actuators have to supply its opposite.
    """
    return body_wrench_forces(model.body_motion(motion), wrench)


def body_wrench_forces(motion: BodyMotion, wrench: PlatformWrench) -> Floats:
    """J^T w (N, n_a), where the bodies' motion is at hand."""
    platform = motion.geometry.layout.tree.platform_body
    load = wrench.at_origin(motion.rotation[:, platform])
    return np.asarray(np.einsum('nia,ni->na', motion.jacobian[:, platform], load))


def _turned(rotation: Floats, vector: Floats) -> Floats:
    return np.asarray(np.einsum('nij,nj->ni', rotation, vector))
