"""Motions: arrays over samples that cross the library's boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Booleans, Floats, Integers

ROTATION_TOLERANCE = 1e-6  # of R R^T: what single precision and text files leave


class ActuatorStates(NamedTuple):
    """Positions [m, rad], velocities and accelerations (N, n_a) of the actuated joints."""

    positions: Floats
    velocities: Floats
    accelerations: Floats


class JointStates(NamedTuple):
    """Positions [m, rad], velocities and accelerations (N, n_j) of all scalar joints."""

    positions: Floats
    velocities: Floats
    accelerations: Floats


class PlatformMotion:
    """Motion of the link `platform`, expressed in the base frame.

    Parameters
    ----------
    position : (N, 3) [m]
    rotation : (N, 3, 3)
    twist : (N, 6) [v; omega] [m/s, rad/s], v of the platform frame's origin
    acceleration : (N, 6) [dv; domega] [m/s^2, rad/s^2]
    joint_positions, joint_velocities, joint_accelerations : (N, n_j), optional
        All scalar joints, in the order of `ClosedChainModel.joint_names`. Needed where
        the platform's pose does not determine them (fewer than six degrees of freedom,
        serial arms); otherwise a first guess that saves time.
    drive_states : (N, n_s), optional
        States of the drives along time, of `ClosedChainModel.with_drive_states`.

    Raises
    ------
    TrajectoryError
        Where a shape is wrong or a number is not finite; the message names the array
        and the first bad sample.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        *('position', 'rotation', 'twist', 'acceleration'),
        *('joint_positions', 'joint_velocities', 'joint_accelerations'),
    )
    __slots__ = (*FIELDS, 'drive_states')

    def __init__(
        self,
        position: ArrayLike,
        rotation: ArrayLike,
        twist: ArrayLike,
        acceleration: ArrayLike,
        joint_positions: ArrayLike | None = None,
        joint_velocities: ArrayLike | None = None,
        joint_accelerations: ArrayLike | None = None,
        drive_states: ArrayLike | None = None,
    ) -> None:
        self.position = samples(position, 'position', (3,))
        count = len(self.position)
        self.rotation = rotations(rotation, 'rotation', count)
        self.twist = samples(twist, 'twist', (6,), count)
        self.acceleration = samples(acceleration, 'acceleration', (6,), count)
        self.joint_positions = _optional(joint_positions, 'joint_positions', count)
        self.joint_velocities = _optional(joint_velocities, 'joint_velocities', count)
        self.joint_accelerations = _optional(joint_accelerations, 'joint_accelerations', count)
        self.drive_states = _optional(drive_states, 'drive_states', count)
        joints = (getattr(self, name) for name in self.FIELDS[4:])
        shapes = [array.shape for array in joints if array is not None]
        if shapes and (self.joint_positions is None or len(set(shapes)) > 1):
            raise TrajectoryError(
                'joint velocities and accelerations need joint positions of the same shape'
            )

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, index: slice | Integers | Booleans) -> PlatformMotion:
        """Return the motion of some samples; `index` is a slice, a mask or an index array."""
        if isinstance(index, int | np.integer):
            index = slice(index, index + 1) if index != -1 else slice(-1, None)
        arrays = (getattr(self, name) for name in self.__slots__)
        chosen: list[Any] = [None if array is None else array[index] for array in arrays]
        return PlatformMotion(*chosen)

    def __repr__(self) -> str:
        return f'PlatformMotion({len(self)} samples)'


def joined_motions(motions: Sequence[PlatformMotion]) -> PlatformMotion:
    """Return motions that all have joint states as one."""
    arrays = ([getattr(motion, name) for motion in motions] for name in PlatformMotion.FIELDS)
    return PlatformMotion(*map(np.concatenate, arrays))


def samples(
    values: ArrayLike, name: str, shape: tuple[int, ...], count: int | None = None
) -> Floats:
    """Copy `values` into a read-only array (N, *shape) and check it."""
    array = np.array(values, dtype=np.float64, order='C')
    if array.ndim != 1 + len(shape) or array.shape[1:] != shape:
        raise TrajectoryError(
            f'{name} must have the shape (N, {", ".join(map(str, shape))}), got {array.shape}'
        )
    if count is not None and len(array) != count:
        raise TrajectoryError(f'{name} has {len(array)} samples where the others have {count}')
    return _finite(array, name)


def rotations(values: ArrayLike, name: str, count: int | None = None) -> Floats:
    """Copy `values` into a read-only array (N, 3, 3) of rotations and check it."""
    array = samples(values, name, (3, 3), count)
    defect = np.abs(array @ array.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    wrong = np.flatnonzero((defect > ROTATION_TOLERANCE) | (np.linalg.det(array) < 0.0))
    if len(wrong):
        raise TrajectoryError(
            f'{name} of sample {wrong[0]} is no rotation matrix (R R^T differs from 1 by '
            f'{defect[wrong[0]]:.2g}, determinant {np.linalg.det(array[wrong[0]]):.3g})'
        )
    return array


def _finite(array: Floats, name: str) -> Floats:
    """Return an array as read-only, if all of its numbers are finite."""
    if not np.isfinite(array.sum()):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            where = bad[0].tolist()
            raise TrajectoryError(
                f'{name} is not finite at sample {where[0]}, component {where[1:]}'
            )
    array.setflags(write=False)
    return array


def _optional(values: ArrayLike | None, name: str, count: int) -> Floats | None:
    if values is None:
        return None
    array = np.array(values, dtype=np.float64, order='C')
    if array.ndim != 2 or len(array) != count:
        raise TrajectoryError(f'{name} must have the shape ({count}, n_j), got {array.shape}')
    return _finite(array, name)
