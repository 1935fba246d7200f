"""Forces of an exported model, read again, against those of the identified one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import pkm_description
from pkm_description import Description
from pkm_description.exporters import Exported
from pkm_description.friction import without_friction
from pkm_description.loader import loads_sdf
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.random_motion import random_motion
from pkm_identification import IdentificationResult

MOTIONS = 20


@dataclass(frozen=True)
class Parity:
    """How far two sets of forces differ, as shares of the largest force of the same drive."""

    reader: str  # of the exported file
    motions: int
    largest: float
    joint: str  # where
    rigid: float  # the largest without friction, of which formats say different shares
    # the same of the nearest real bodies and the estimate itself, which no real bodies have
    moved: float = 0.0

    def __str__(self) -> str:
        """One line."""
        text = (
            f'parity: forces of the file, read by {self.reader}, differ from those of the model by '
            f'at most {self.largest:.1e} of the largest of a drive ({self.joint}), without '
            f'friction by {self.rigid:.1e}, in {self.motions} random motions'
        )
        bodies = f'; those of the nearest real bodies from the estimate by {self.moved:.1e}'
        return text + (bodies if self.moved else '')


def export_parity(
    result: IdentificationResult, robot: Description, exported: Exported, form: str, seed: int = 0
) -> Parity:
    """Compare forces in random motions with those of the model's real bodies.

    `robot` is the identified one that was exported. Friction laws of the drives that descriptions
    do not have are left out of both. An SDF whose joints had to be renamed raises DescriptionError.
    """
    model, physical = result.model, result.as_physical()
    motion = random_motion(model, MOTIONS, seed)
    forces = physical.predict(motion)
    wanted = forces - _law_forces(result, motion)
    reader, forces_of = READERS[form]
    found, found_bare = forces_of(exported, robot, model, motion)
    size = np.abs(wanted).max(axis=0)
    off = np.abs(found - wanted).max(axis=0) / size
    worst = int(np.argmax(off))
    bare = ClosedChainModel(without_friction(robot)).inverse_dynamics(motion)
    rigid = np.abs(found_bare - bare).max(axis=0) / size
    moved = 0.0
    if not result.is_physical:
        moved = float((np.abs(forces - result.predict(motion)) / size).max())
    joint = model.actuated_joints[worst]
    return Parity(reader, len(motion), float(off[worst]), joint, float(rigid.max()), moved)


def _law_forces(result: IdentificationResult, motion: PlatformMotion) -> Floats:
    if result.drive_friction is None:
        return np.zeros((len(motion), result.model.n_a))
    law: DriveFriction = result.drive_friction.law
    return law.forces(result.model.actuator_states(motion).velocities)


def _from_urdf(
    exported: Exported, robot: Description, model: ClosedChainModel, motion: PlatformMotion
) -> tuple[Floats, Floats]:
    read = pkm_description.loads(exported.text, exported.sidecar)
    whole, bare = ClosedChainModel(read), ClosedChainModel(without_friction(read))
    return whole.inverse_dynamics(motion), bare.inverse_dynamics(motion)


def _from_mjcf(
    exported: Exported, robot: Description, model: ClosedChainModel, motion: PlatformMotion
) -> tuple[Floats, Floats]:
    from pkm_dynamics.simulation.mjcf_tree import MjcfTree

    states = model.actuator_states(motion)
    rows = list(zip(states.positions, states.velocities, states.accelerations, strict=True))
    tree = MjcfTree(exported.text, model.actuated_joints, robot.transition_velocity)
    whole = np.array([tree.forces(*row) for row in rows])
    for name in ('dof_damping', 'dof_frictionloss', 'tendon_damping', 'tendon_frictionloss'):
        getattr(tree.model, name)[:] = 0.0
    return whole, np.array([tree.forces(*row) for row in rows])


def _from_sdf(
    exported: Exported, robot: Description, model: ClosedChainModel, motion: PlatformMotion
) -> tuple[Floats, Floats]:
    read = replace(loads_sdf(exported.text), transition_velocity=robot.transition_velocity)
    whole, bare = ClosedChainModel(read), ClosedChainModel(without_friction(read))
    for name in model.actuated_joints:
        read.joint(name)  # which says what there is instead
    order = [whole.actuated_joints.index(name) for name in model.actuated_joints]
    states = model.actuator_states(motion)
    arrays = (states.positions, states.velocities, states.accelerations)
    moved = whole.motion_from_actuators(*(array[:, np.argsort(order)] for array in arrays))
    return whole.inverse_dynamics(moved)[:, order], bare.inverse_dynamics(moved)[:, order]


Reader = Callable[[Exported, Description, ClosedChainModel, PlatformMotion], tuple[Floats, Floats]]
#: Of each format, who reads it, and forces (N, n_a) of what was read, with friction and without.
READERS: dict[str, tuple[str, Reader]] = {
    'urdf': ("this project's loader", _from_urdf),
    'mjcf': ('MuJoCo', _from_mjcf),
    'sdf': ("this project's reader of SDF", _from_sdf),
}
