"""Identified models in the formats of other tools, and their forces, read again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import pkm_description
from pkm_control.cpp_controller import controller_header, ros2_control_package
from pkm_description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters import Exported
from pkm_description.exporters.exported import refuse_losses
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.cpp import CppSources, build_cpp, build_solver
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.random_motion import random_motion
from pkm_identification import IdentificationResult, load_result
from pkm_identification.result.identified_robot import identified_robot, source_of
from pkm_identification.result.payload_formats import payload_text

MOTIONS = 20
CPP_FORMS = ('ros2_control', 'inverse_dynamics_solver')
READERS = {'urdf': "this project's loader", 'mjcf': 'MuJoCo'}


@dataclass(frozen=True)
class Parity:
    """How far two sets of forces differ."""

    reader: str  # of the exported file
    motions: int
    largest: float  # difference over the largest force of the same drive
    joint: str  # where
    # the same of the nearest real bodies and the estimate itself, which no real bodies have
    moved: float = 0.0

    def __str__(self) -> str:
        """One line."""
        text = (
            f'parity: forces of the file, read by {self.reader}, differ from those of the model by '
            f'at most {self.largest:.1e} of the largest of a drive ({self.joint}), in '
            f'{self.motions} random motions'
        )
        bodies = f'; those of the nearest real bodies from the estimate by {self.moved:.1e}'
        return text + (bodies if self.moved else '')


def export_model(
    description: Description, file: str | None, to: str, form: str | None, strict: bool
) -> tuple[Exported, tuple[str, ...]]:
    """Write the model of a file as a format; the export, and what is to be said of it.

    Raises ExportError where there is no model, or something is lost and `strict` forbids it.
    """
    if file is None:
        raise ExportError(f'{to} is written from an identified model: name it by --model')
    result = load_result(file, ClosedChainModel(description))
    if to == 'payload':
        if form is not None:
            raise ExportError(f"payload has no form '{form}'")
        exported = Exported(*payload_text(result.payloads, source_of(result)))
        parity = None
    else:
        robot = identified_robot(result)
        built = pkm_description.build_export(robot.description, to, form, False, robot.remarks)
        lost = (*robot.losses, *robot.law_losses, *built.losses)
        exported = replace(built, losses=lost)
        # the loops of a tree are open: it has other forces
        parity = None if form == 'tree' else export_parity(result, robot.description, exported, to)
    if strict:
        refuse_losses(description.name, to, exported.losses)
    return exported, () if parity is None else (str(parity),)


def export_cpp(
    description: Description, file: str | None, form: str | None, strict: bool
) -> CppSources:
    """Write the numbers of a description, or the model of a file, as C++ or a package with it.

    Raises ExportError where something is lost and `strict` forbids it.
    """
    if form not in (None, *CPP_FORMS):
        raise ExportError(f"cpp has no form '{form}'")
    build = build_solver if form == 'inverse_dynamics_solver' else build_cpp
    model = ClosedChainModel(description)
    if file is None:
        sources = build(model)
    else:
        result = load_result(file, model)
        robot, friction = identified_robot(result), result.drive_friction
        law = None if friction is None else friction.law
        model = ClosedChainModel(robot.description)
        built = build(model, law, robot.remarks)
        sources = replace(built, losses=(*robot.losses, *built.losses))
    if strict:
        refuse_losses(description.name, 'C++', sources.losses)
    if form == 'ros2_control':
        return ros2_control_package(sources, model)
    if form is None:
        return replace(sources, files={**sources.files, **dict([controller_header(model)])})
    return sources


def export_parity(
    result: IdentificationResult, robot: Description, exported: Exported, form: str, seed: int = 0
) -> Parity | None:
    """Compare forces in random motions with those of the model's real bodies.

    None for a format that nothing here reads. Friction laws of the drives that descriptions do not
    have are left out of both.
    """
    if form not in READERS:
        return None
    model, physical = result.model, result.as_physical()
    motion = random_motion(model, MOTIONS, seed)
    forces = physical.predict(motion)
    wanted = forces - _law_forces(result, motion)
    if form == 'urdf':
        found = _from_urdf(exported, motion)
    else:
        found = _from_mjcf(model, robot.transition_velocity, exported, motion)
    size = np.abs(wanted).max(axis=0)
    off = np.abs(found - wanted).max(axis=0) / size
    worst = int(np.argmax(off))
    moved = 0.0
    if not result.is_physical:
        moved = float((np.abs(forces - result.predict(motion)) / size).max())
    joint = model.actuated_joints[worst]
    return Parity(READERS[form], len(motion), float(off[worst]), joint, moved)


def _law_forces(result: IdentificationResult, motion: PlatformMotion) -> Floats:
    if result.drive_friction is None:
        return np.zeros((len(motion), result.model.n_a))
    law: DriveFriction = result.drive_friction.law
    return law.forces(result.model.actuator_states(motion).velocities)


def _from_urdf(exported: Exported, motion: PlatformMotion) -> Floats:
    model = ClosedChainModel(pkm_description.loads(exported.text, exported.sidecar))
    return model.inverse_dynamics(motion)


def _from_mjcf(
    model: ClosedChainModel, transition: float, exported: Exported, motion: PlatformMotion
) -> Floats:
    from pkm_dynamics.simulation.mjcf_tree import MjcfTree

    states = model.actuator_states(motion)
    tree = MjcfTree(exported.text, model.actuated_joints, transition)
    rows = zip(states.positions, states.velocities, states.accelerations, strict=True)
    return np.array([tree.forces(*row) for row in rows])
