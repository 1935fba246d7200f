"""What a model says at the states of a motion: regressor and limited quantities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics import PlatformMotion
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.conditioning import reciprocal_condition, rotation_length
from pkm_dynamics.kinematics.rotations import rpy_motion
from pkm_dynamics.limits.limits import LimitOptions, aperture_limits, force_allowance

Array = NDArray[np.float64]
POSE_FIELDS = ('dexterity', 'aperture', 'clearance')


@dataclass(frozen=True)
class Samples:
    """What the model says at M states.

    Attributes
    ----------
    regressor : (M, n_a, n)
        Base regressor; where weights were given, the sum (M,) of their products with it.
    high, low : (M, n_a)
        Largest and smallest force that the nominal model and its uncertainty allow [N, N m].
    positions, velocities, accelerations : (M, n_j)
        All scalar joints [m, rad].
    platform : (M, 3)
        Position of the platform [m].
    upright : (M, 1)
        Cosine of the platform's tilt.
    dexterity : (M, 1)
        Reciprocal condition number of the scaled actuator Jacobian.
    aperture : (M, n_s)
        Of the spherical and universal closures [rad].
    clearance : (M, n_c)
        Between bodies [m].
    """

    regressor: Array
    high: Array
    low: Array
    positions: Array
    velocities: Array
    accelerations: Array
    platform: Array
    upright: Array
    dexterity: Array
    aperture: Array
    clearance: Array


class Evaluator:
    """Evaluates one robot at states (M, 3, n_c) of trajectory coordinates.

    Parameters
    ----------
    model, base
        Robot and base parameters.
    coordinates : 'platform' or 'actuators'
    options : LimitOptions
        For the uncertainty of the forces.
    distances : BodyDistances
    wanted : collection of str
        Which of the costly `POSE_FIELDS` are needed; the others are zero.
    """

    def __init__(
        self,
        model: Any,
        base: Any,
        coordinates: str,
        options: LimitOptions,
        distances: BodyDistances,
        wanted: Collection[str],
    ) -> None:
        self.model, self.coordinates = model, coordinates
        self.options, self.distances, self.wanted = options, distances, set(wanted)
        self._closures = len(aperture_limits(model, options)[0])
        self._used = np.flatnonzero(np.any(base.columns != 0.0, axis=1))
        self._columns = np.asarray(base.columns)[self._used]
        self._actuated = [model.joint_names.index(name) for name in model.actuated_joints]
        self._length = rotation_length(model) if 'dexterity' in self.wanted else 1.0

    def motion(self, states: Array, guess: Array | None = None) -> PlatformMotion:
        """Return the motion of states (M, 3, n_c) with all joint states.

        `guess` (M, n_j) are joint positions close to those of the samples; forward
        kinematics follow the samples before instead.
        """
        x, xd, xdd = states[:, 0], states[:, 1], states[:, 2]
        if self.coordinates == 'actuators':
            found: PlatformMotion = self.model.motion_from_actuators(x, xd, xdd)
            return found
        rotation, omega, domega = rpy_motion(x[:, 3:], xd[:, 3:], xdd[:, 3:])
        motion = PlatformMotion(
            x[:, :3],
            rotation,
            np.concatenate([xd[:, :3], omega], axis=1),
            np.concatenate([xdd[:, :3], domega], axis=1),
            guess,
        )
        complete: PlatformMotion = self.model.with_joint_states(motion)
        return complete

    def weights(self, slope: Array) -> Array:
        """Return weights (M, n_a, n_p) of the standard regressor from those of the base's."""
        full = np.zeros((*slope.shape[:2], self.model.n_p))
        full[:, :, self._used] = slope @ self._columns.T
        return full

    def evaluate(
        self,
        states: Array,
        guess: Array | None = None,
        poses: NDArray[np.intp] | None = None,
        weights: Array | None = None,
    ) -> Samples:
        """Evaluate at states (M, 3, n_c).

        Parameters
        ----------
        states : (M, 3, n_c)
        guess : (M, n_j), optional
            Positions of the joints nearby.
        poses : (K,), optional
            Samples at which the pose fields are wanted; all by default.
        weights : (M / k, n_a, n_p), optional
            For each k consecutive samples, what multiplies their regressors; only the sum
            is kept.
        """
        motion = self.motion(states, guess)
        joints = self.model.joint_states(motion)
        full = self.model.regressor(motion)
        forces = full @ self.model.nominal_parameters
        allowance = force_allowance(self.model, self.options, lambda: full, forces)
        if weights is None:
            regressor = full[:, :, self._used] @ self._columns
        else:
            grouped = full.reshape(len(weights), -1, weights[0].size)
            regressor = (grouped @ weights.reshape(len(weights), -1, 1)).ravel()
        at = slice(None) if poses is None else poses
        return Samples(
            regressor,
            forces + allowance,
            forces - allowance,
            joints.positions,
            joints.velocities,
            joints.accelerations,
            motion.position,
            motion.rotation[:, 2:, 2],
            **self._pose_fields(motion, joints.positions, at),
        )

    def _pose_fields(
        self, motion: PlatformMotion, positions: Array, at: slice | NDArray[np.intp]
    ) -> dict[str, Array]:
        joints, position, rotation = positions[at], motion.position[at], motion.rotation[at]
        sizes = (1, self._closures, len(self.distances.pairs))
        fields = {
            name: np.zeros((len(motion), size))
            for name, size in zip(POSE_FIELDS, sizes, strict=True)
        }
        if len(joints) == 0:
            return fields
        if 'dexterity' in self.wanted:
            fields['dexterity'][at, 0] = reciprocal_condition(
                self.model, position, rotation, joints[:, self._actuated], joints, self._length
            )
        if 'aperture' in self.wanted:
            fields['aperture'][at] = apertures_of_joints(
                self.model, joints, position, rotation
            ).angles
        if 'clearance' in self.wanted:
            fields['clearance'][at] = self.distances.clearances(joints, position, rotation)
        return fields
