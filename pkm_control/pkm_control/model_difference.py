"""How far the forces of one feedforward are from those of another, anywhere in the workspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_control.feedforward import Feedforward
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.random_motion import random_motion

POSES = 60  # of a workspace of six coordinates: differences of masses show in any
SPEED = 0.5  # of the limit of a joint, in the motions that are looked at
EFFORT = 0.5  # of the force limit of a drive, for accelerating in these motions


class ModelDifference(NamedTuple):
    """The largest difference of forces, as a share of the force limit."""

    joint: str
    share: float
    force: float  # [N, N m] of the model
    expected: float  # [N, N m] of the other one


def model_difference(
    model: ClosedChainModel, feedforward: Feedforward, other: Feedforward
) -> ModelDifference:
    """Return the largest difference over poses drawn within the strokes: at rest and moving.

    The motions are as fast as half the limits of speeds and forces let them be. What the drives
    could not do by the `other` model does not count: the robot is never there.
    """
    limit = np.asarray(model.force_limit, dtype=float)
    worst = ModelDifference(model.actuated_joints[0], 0.0, 0.0, 0.0)
    for motion in _motions(model, other):
        ours, theirs = feedforward.forces(model, motion), other.forces(model, motion)
        share = np.abs(ours - theirs) / limit
        share[(np.abs(theirs) > limit).any(axis=1)] = 0.0
        row, axis = np.unravel_index(int(np.argmax(share)), share.shape)
        if share[row, axis] > worst.share:
            joint = model.actuated_joints[int(axis)]
            found = float(share[row, axis]), float(ours[row, axis]), float(theirs[row, axis])
            worst = ModelDifference(joint, *found)
    return worst


def _motions(model: ClosedChainModel, other: Feedforward) -> list[PlatformMotion]:
    """The same poses at rest, at a speed, and accelerating from rest."""
    actuated = [model.joint_names.index(name) for name in model.actuated_joints]
    drawn = random_motion(model, POSES, seed=0)
    states = model.joint_states(drawn)
    q, qd, qdd = (array[:, actuated] for array in states)
    still = np.zeros_like(q)
    start = states.positions

    def moving(speeds: Floats, accelerations: Floats) -> PlatformMotion:
        return model.motion_from_actuators(q, speeds, accelerations, initial=start)

    rest, limit = moving(still, still), np.asarray(model.force_limit, dtype=float)
    pushed = np.abs(other.forces(model, moving(still, qdd)) - other.forces(model, rest))
    slow = _share(SPEED * np.asarray(model.velocity_limit, dtype=float), np.abs(qd))
    gentle = _share(EFFORT * limit, pushed)
    return [rest, moving(slow * qd, still), moving(still, gentle * qdd)]


def _share(limit: Floats, values: Floats) -> Floats:
    """Factors (N, 1), at most 1, that keep the rows of values (N, n_a) within a limit (n_a,)."""
    return np.minimum(1.0, (limit / np.maximum(values, 1e-12)).min(axis=1))[:, None]
