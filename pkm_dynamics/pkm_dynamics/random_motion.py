"""Random motions around home, for ranks and tests."""

from __future__ import annotations

import numpy as np

from pkm_description import ConvergenceError
from pkm_dynamics.array_types import Booleans
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.kinematics.roll_pitch_yaw import rotations_from_vectors
from pkm_dynamics.motion import PlatformMotion, joined_motions

# Wide enough for all parameters to show, small enough for most draws to assemble.
_STROKE_FRACTION = 0.25
_POSE_FRACTION = 0.12  # of the robot's length
_POSE_ANGLE = 0.35  # [rad]


def random_motion(
    model: DynamicModel, count: int, seed: int, scale: float = 1.0, within_limits: bool = True
) -> PlatformMotion:
    """Random motions around home, `count` samples inside the stroke, for ranks and tests.

    Platform poses where the platform has six degrees of freedom, actuator positions
    elsewhere, wider with `scale`; samples that do not assemble or leave the stroke are
    drawn again from a smaller range. Without limits the stroke does not count: what
    holds for all motions is no question of limits. Raises ConvergenceError where too few
    configurations assemble.
    """
    rng = np.random.default_rng(seed)
    drawn: list[PlatformMotion] = []
    left = count
    for _ in range(40):
        draw = _random_poses if model.platform_determines_joints else _random_actuators
        motion = draw(model, max(left, 20), scale, rng, within_limits)
        if len(motion) == 0:
            scale *= 0.7
            continue
        drawn.append(motion[:left])
        left -= len(drawn[-1])
        if left == 0:
            motion = joined_motions(drawn)
            if model.drive_states:
                motion.drive_states = model.drive_states.drawn(len(motion), rng)
            return motion
        scale *= 0.9
    raise ConvergenceError(
        f"robot '{model.description.name}': too few random configurations assemble around home"
    )


def _random_poses(
    model: DynamicModel, count: int, scale: float, rng: np.random.Generator, limits: bool
) -> PlatformMotion:
    reach = scale * _POSE_FRACTION * model.length_scale
    position = model.home_position + reach * rng.uniform(-1, 1, (count, 3))
    turn = rotations_from_vectors(scale * _POSE_ANGLE * rng.uniform(-1, 1, (count, 3)))
    rotation = turn @ model.home_rotation
    rates = np.array([4.0 * reach] * 3 + [4.0 * scale * _POSE_ANGLE] * 3)
    twist = rates * rng.uniform(-1, 1, (count, 6))
    acceleration = 4.0 * rates * rng.uniform(-1, 1, (count, 6))
    motion = PlatformMotion(position, rotation, twist, acceleration)
    try:
        q = model.inverse_kinematics(position, rotation)
    except ConvergenceError as error:
        motion = motion[np.setdiff1d(np.arange(count), error.samples)]
        if len(motion) == 0:
            return motion
        q = model.inverse_kinematics(motion.position, motion.rotation)
    if limits:
        motion = motion[np.all((q >= model.lower) & (q <= model.upper), axis=1)]
    return model.with_joint_states(motion) if len(motion) else motion


def _random_actuators(
    model: DynamicModel, count: int, scale: float, rng: np.random.Generator, limits: bool
) -> PlatformMotion:
    half = np.where(_prismatic(model), _POSE_FRACTION * characteristic_length(model), _POSE_ANGLE)
    if limits:
        half = np.minimum(half, _STROKE_FRACTION * (model.upper - model.lower))
    half = scale * half
    q = model.home_actuators + half * rng.uniform(-1, 1, (count, model.n_a))
    if limits:
        q = np.clip(q, model.lower, model.upper)
    # A sample starts the search of the next one: where some are left out, others may fail.
    for _ in range(5):
        qd = 4.0 * half * rng.uniform(-1, 1, q.shape)
        qdd = 16.0 * half * rng.uniform(-1, 1, q.shape)
        try:
            return model.motion_from_actuators(q, qd, qdd)
        except ConvergenceError as error:
            q = np.delete(q, error.samples, axis=0)
    return model.motion_from_actuators(q[:0], q[:0], q[:0])


def characteristic_length(model: DynamicModel) -> float:
    """Size of the robot [m]: distance of its bodies from the base, or longest stroke."""
    stroke = (model.upper - model.lower)[_prismatic(model)]
    return max(model.length_scale, float(stroke[np.isfinite(stroke)].max(initial=0.0)))


def _prismatic(model: DynamicModel) -> Booleans:
    types = [model.description.joint(name).type for name in model.actuated_joints]
    return np.array([kind == 'prismatic' for kind in types], dtype=bool)
