"""What a model says at the states of a motion, and its local derivatives.

A sample of a motion is its state (x, xd, xdd) in trajectory coordinates, 3 n_c numbers.
Everything that a design needs depends on one sample at a time, so the derivatives with
respect to Fourier coefficients and period follow exactly from those with respect to the
state by the chain rule: 3 n_c directions, however many harmonics. The local derivatives
are differences of the compiled model, exact in accelerations, in which all quantities are
affine. Positions and velocities move by so little that one-sided differences err by some
1e-6, far below what the curvature estimate of an optimiser can tell.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from pkm_dynamics import BaseParameters, ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.singularities import reciprocal_condition, rotation_length
from pkm_dynamics.kinematics.roll_pitch_yaw import rpy_motion
from pkm_dynamics.limits.robot_limits import LimitOptions, aperture_limits, force_allowance
from pkm_identification.arrays import Array, Indices, Mask

POSE_FIELDS = ('dexterity', 'aperture', 'clearance')
STATE_STEPS = 3e-6, 1e-6, 1.0  # of position, velocity, acceleration [SI]; the last is exact


@dataclass(frozen=True)
class Samples:
    """What the model says at M states."""

    regressor: Array  # of the base (M, n_a, n); with weights, the sum (M,) of their products
    high: Array  # largest force (M, n_a) that model and its uncertainty allow [N, N m]
    low: Array  # smallest
    positions: Array  # (M, n_j) of all scalar joints [m, rad]
    velocities: Array
    accelerations: Array
    platform: Array  # position (M, 3) [m]
    upright: Array  # cosine (M, 1) of the platform's tilt
    dexterity: Array  # (M, 1), reciprocal condition number of the scaled actuator Jacobian
    aperture: Array  # (M, n_s) of the spherical and universal closures [rad]
    clearance: Array  # (M, n_c) between bodies [m]
    # what a servo does depends on all forces of the motion: no matter of the evaluator
    tracking: Array  # errors (M, n_a) [m, rad] that it leaves
    commands: Array  # its forces (M, n_a) [N, N m]


class Evaluator:
    """Evaluates one robot at states (M, 3, n_c) of `platform` or `actuators` coordinates.

    The `options` are for the uncertainty of the forces; of the costly `POSE_FIELDS` those that are
    not `wanted` are zero.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        base: BaseParameters,
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
            return self.model.motion_from_actuators(x, xd, xdd)
        rotation, omega, domega = rpy_motion(x[:, 3:], xd[:, 3:], xdd[:, 3:])
        motion = PlatformMotion(
            x[:, :3],
            rotation,
            np.concatenate([xd[:, :3], omega], axis=1),
            np.concatenate([xdd[:, :3], domega], axis=1),
            guess,
        )
        return self.model.with_joint_states(motion)

    def weights(self, slope: Array) -> Array:
        """Return weights (M, n_a, n_p) of the standard regressor from those of the base's."""
        full = np.zeros((*slope.shape[:2], self.model.n_p))
        full[:, :, self._used] = slope @ self._columns.T
        return full

    def evaluate(
        self,
        states: Array,
        guess: Array | None = None,
        poses: Indices | None = None,
        weights: Array | None = None,
    ) -> Samples:
        """Evaluate at states (M, 3, n_c).

        `guess` (M, n_j) are positions of the joints nearby, `poses` (K,) the samples at which the
        pose fields are wanted, all by default. `weights` (M / k, n_a, n_p) multiply the regressors
        of each k consecutive samples, of which only the sum is kept.
        """
        return self.samples_of(self.motion(states, guess), poses, weights)

    def samples_of(
        self, motion: PlatformMotion, poses: Indices | None = None, weights: Array | None = None
    ) -> Samples:
        """Evaluate along M samples of a motion; as `evaluate`."""
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
            tracking=np.zeros_like(forces),
            commands=np.zeros_like(forces),
        )

    def _pose_fields(
        self, motion: PlatformMotion, positions: Array, at: slice | Indices
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


def local_derivatives(
    evaluator: Evaluator, states: Array, samples: Samples, slope: Array, near: Mask
) -> list[tuple[int, int, Samples]]:
    """Return (order, coordinate, derivatives) at states (M, 3, n_c) by the states.

    By the position (order 0), velocity (1) or acceleration (2) of a coordinate, of every field of
    `Samples`; in place of the regressor's, that of a criterion (M,), whose derivative by the
    regressor is `slope` (M, n_a, n). `samples` is what the evaluator says there. Those of
    `POSE_FIELDS` are costly: they are zero but where a sample is `near` (M,) a limit.
    """
    count, _, n_c = states.shape
    # neighbours in time stay neighbours in the batch
    shifts = np.zeros((3 * n_c, 3, n_c))
    for order, step in enumerate(STATE_STEPS):
        shifts[order * n_c : (order + 1) * n_c, order] = step * np.eye(n_c)
    batch = (states[:, None] + shifts).reshape(-1, 3, n_c)
    guess = np.repeat(samples.positions, len(shifts), axis=0)
    poses = np.zeros((count, len(shifts)), dtype=bool)
    poses[near, :n_c] = True
    flat = evaluator.evaluate(batch, guess, np.flatnonzero(poses), evaluator.weights(slope))
    here: dict[str, Array] = dict(vars(samples))
    here['regressor'] = np.einsum('tan,tan->t', slope, samples.regressor)
    slopes = {}
    for name, values in vars(flat).items():
        moved = values.reshape(count, 3, n_c, *values.shape[1:])
        changes = moved - here[name][:, None, None]
        if name in POSE_FIELDS:
            changes[~poses.reshape(count, 3, n_c)] = 0.0
        changes /= np.array(STATE_STEPS).reshape(1, 3, *[1] * (changes.ndim - 2))
        slopes[name] = changes
    return [
        (order, i, Samples(**{name: change[:, order, i] for name, change in slopes.items()}))
        for order in range(3)
        for i in range(n_c)
    ]
