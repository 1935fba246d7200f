"""Random configurations in a robot's workspace, each with a neighbour beside it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.reachability import Reachability, reachable, reachable_actuators
from pkm_dynamics.analysis.workspace import random_rotations, region


def pose_pairs(
    model: ClosedChainModel, count: int, seed: int = 0, fraction: float = 0.05
) -> tuple[Reachability, Reachability]:
    """Starts and targets, `fraction` of the workspace apart, all within every limit.

    Six degrees of freedom: poses, whose joints come from inverse kinematics. Fewer: the
    nearest poses that the platform can take to those, each approached from home; actuator
    positions approached from home where the platform does not tell the joints or the
    YAML declares no box.
    """
    rng = np.random.default_rng(seed)
    starts, targets, found = [], [], 0
    while found < count:
        one, other = _draw(model, 2 * (count - found) + 50, rng, fraction)
        good = np.flatnonzero(one.reachable & other.reachable)[: count - found]
        assert len(good), 'no pair of the workspace can be reached'
        starts.append((one.joints[good], one.position[good], one.rotation[good]))
        targets.append((other.joints[good], other.position[good], other.rotation[good]))
        found += len(good)
    return _together(starts), _together(targets)


def _draw(model, count, rng, fraction):
    declared = model.description.sidecar.get('workspace') or {}
    free = model.platform_determines_joints
    if not free and ('position_lower' not in declared or model.free_joints):
        low, high = region(model, 'actuators')
        points = rng.uniform(low, high, (count, model.n_a))
        beside = points + fraction * (high - low) * _directions(rng, count, model.n_a)
        return reachable_actuators(model, points, 1e-3), reachable_actuators(model, beside, 1e-3)
    low, high = region(model, 'platform')
    points = rng.uniform(low, high, (count, 3))
    beside = points + fraction * (high - low) * _directions(rng, count, 3)
    tilt = declared.get('tilt', 0.2)
    turn = random_rotations(model, count, tilt, rng)
    by = Rotation.from_rotvec(2.0 * tilt * fraction * _directions(rng, count, 3))
    nearest = None if free else 'pose'
    return (
        reachable(model, points, turn, 1e-3, nearest),
        reachable(model, beside, by.as_matrix() @ turn, 1e-3, nearest),
    )


def _directions(rng, count, width):
    directions = rng.normal(size=(count, width))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


class Configurations:
    """Joints (N, n_j) and platform poses (N, 3), (N, 3, 3)."""

    def __init__(self, joints, position, rotation):
        self.joints, self.position, self.rotation = joints, position, rotation


def _together(parts):
    return Configurations(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
