"""A robot in Dart, built from the parts of the world that Gazebo gets."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from pkm_description.description import Pose
from pkm_description.errors import MissingWorldError
from pkm_description.exporters.sdf_parts import SdfStructure
from pkm_description.exporters.sdf_structure import build_structure
from pkm_description.readers.sdf_content import SdfAxis, SdfJoint
from pkm_dynamics.array_types import Floats
from pkm_dynamics.worlds.stepped_plant import SteppedPlant, standing_at

MISSING = 'no Dart: its Python module dartpy is not installed'


def dart_module() -> ModuleType:
    """Return Dart's Python module; MissingWorldError where there is none."""
    try:
        return import_module('dartpy')
    except ModuleNotFoundError:
        raise MissingWorldError(MISSING) from None


class DartPlant(SteppedPlant):
    """A robot in Dart; loops are closed by its weld constraints.

    Viscous friction is a force of the velocity at each step's begin: Dart's own damping takes the
    velocity that a step would end with if no loop were closed.

    Raises MissingWorldError where dartpy is not installed.
    """

    @cached_property
    def _dart(self) -> Any:
        return dart_module()

    def closure_gap(self) -> float:
        """Return the largest distance [m] between points that the loops hold together."""
        moved = [
            np.linalg.norm(_place(*pair) - place)
            for pair, place in zip(self._welds, self._places, strict=True)
        ]
        return float(max(moved, default=0.0))

    def _begin(self, positions: Floats) -> None:
        description = standing_at(self.description, positions)
        structure = build_structure(description, 'gazebo')
        self._origin = positions
        self._skeleton: Any = self._dart.dynamics.Skeleton(description.name)
        self._bodies: dict[str, Any] = {}
        self._damped: list[tuple[Any, Floats]] = []
        self._build(structure, description.base_link)
        self._world: Any = self._dart.simulation.World()
        self._world.setGravity(np.asarray(description.gravity))
        self._world.setTimeStep(self.step_time / self.substeps)
        self._world.addSkeleton(self._skeleton)
        self._welds = [(self._bodies[w.parent], self._bodies[w.child]) for w in structure.welds]
        solver = self._world.getConstraintSolver()
        for parent, child in self._welds:
            solver.addConstraint(self._dart.constraint.WeldJointConstraint(parent, child))
        self._places = [_place(parent, child) for parent, child in self._welds]
        self._joints = [self._skeleton.getJoint(name) for name in self.actuated_joints]

    def _stepped(self, forces: Floats) -> tuple[Floats, Floats]:
        for joint, viscous in self._damped:
            joint.setForces(-viscous * joint.getVelocities())
        for joint, force in zip(self._joints, forces.tolist(), strict=True):
            joint.setForce(0, force + joint.getForce(0))  # Dart forgets forces after each step
        self._world.step()
        positions = np.array([joint.getPosition(0) for joint in self._joints])
        return self._origin + positions, np.array([joint.getVelocity(0) for joint in self._joints])

    def _build(self, structure: SdfStructure, base: str) -> None:
        links = {link.name: link for link in structure.links}
        hung = {joint.child for joint in structure.joints}
        for name in links:
            if name not in hung:
                stands = name == base
                make = (
                    self._skeleton.createWeldJointAndBodyNodePair
                    if stands
                    else self._skeleton.createFreeJointAndBodyNodePair
                )
                joint, self._bodies[name] = make()
                joint.setTransformFromParentBodyNode(self._transform(links[name].pose))
                self._bodies[name].setName(name)
        pending = list(structure.joints)
        while pending:
            joint = next(each for each in pending if each.parent in self._bodies)
            pending.remove(joint)
            self._add(joint, links[joint.parent].pose, links[joint.child].pose)
        for name, link in links.items():
            if link.inertial is not None:
                values = (link.inertial.mass, link.inertial.com, link.inertial.inertia)
                self._bodies[name].setInertia(self._dart.dynamics.Inertia(*values))

    def _add(self, joint: SdfJoint, parent: Pose, child: Pose) -> None:
        make = {
            'fixed': self._skeleton.createWeldJointAndBodyNodePair,
            'revolute': self._skeleton.createRevoluteJointAndBodyNodePair,
            'prismatic': self._skeleton.createPrismaticJointAndBodyNodePair,
            'screw': self._skeleton.createScrewJointAndBodyNodePair,
            'universal': self._skeleton.createUniversalJointAndBodyNodePair,
            'ball': self._skeleton.createBallJointAndBodyNodePair,
        }[joint.type]
        made, body = make(self._bodies[joint.parent])
        made.setName(joint.name)
        body.setName(joint.child)
        self._bodies[joint.child] = body
        above = parent.inverse() @ child @ joint.frame
        made.setTransformFromParentBodyNode(self._transform(above))
        made.setTransformFromChildBodyNode(self._transform(joint.frame))
        if joint.type == 'universal':
            made.setAxis1(joint.axes[0].direction)
            made.setAxis2(joint.axes[1].direction)
        elif joint.axes:
            made.setAxis(joint.axes[0].direction)
        if joint.pitch is not None:
            made.setPitch(-2.0 * np.pi / joint.pitch)  # [m] a turn
        made.setLimitEnforcement(True)
        for index, axis in enumerate(joint.axes):
            _set_axis(made, index, axis)
        viscous = np.array([axis.viscous for axis in joint.axes])
        if np.any(viscous):
            self._damped.append((made, viscous))

    def _transform(self, pose: Pose) -> Any:
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = pose.rotation, pose.position
        return self._dart.math.Isometry3(matrix)


def _set_axis(joint: Any, index: int, axis: SdfAxis) -> None:
    joint.setPositionLowerLimit(index, axis.lower)
    joint.setPositionUpperLimit(index, axis.upper)
    if np.isfinite(axis.velocity) and axis.velocity > 0:
        joint.setVelocityLowerLimit(index, -axis.velocity)
        joint.setVelocityUpperLimit(index, axis.velocity)
    joint.setCoulombFriction(index, axis.coulomb)
    joint.setSpringStiffness(index, axis.stiffness)
    joint.setRestPosition(index, axis.rest)


def _place(parent: Any, child: Any) -> Floats:
    """Where the origin of the first body lies in the second (3,) [m]."""
    at = child.getWorldTransform().inverse().multiply(parent.getWorldTransform().translation())
    return np.asarray(at, dtype=float).ravel()
