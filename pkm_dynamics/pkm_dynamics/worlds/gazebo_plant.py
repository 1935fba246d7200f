"""A robot in a Gazebo server that runs in this process, through Gazebo's own Python modules."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from signal import SIGINT, SIGTERM
from types import ModuleType
from typing import Any

import numpy as np
from lxml import etree
from transforms3d.quaternions import quat2mat

from pkm_description.errors import MissingWorldError, SimulationError
from pkm_description.exporters import build_sdf
from pkm_dynamics.array_types import Floats
from pkm_dynamics.worlds.stepped_plant import SteppedPlant, standing_at

#: Python modules of Gazebo, each with its library: Harmonic, Ionic, and those after them.
MODULES = ('gz.sim8', 'gz.sim9', 'gz.sim10', 'gz.sim')
MISSING = (
    f'no Gazebo: none of its Python modules is installed ({", ".join(MODULES)}; '
    'python3-gz-sim8 of Harmonic)'
)

SIGACTION_SIZE = 1024  # bytes; more than `struct sigaction` has on any Linux


def gazebo_module() -> ModuleType:
    """Return Gazebo's Python module; MissingWorldError where there is none."""
    for name in MODULES:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise MissingWorldError(MISSING)


@contextmanager
def kept_signals() -> Iterator[None]:
    """Leave SIGINT and SIGTERM to who had them before; Python's own way is for one thread alone."""
    sigaction = ctypes.CDLL(None).sigaction
    kept = {number: ctypes.create_string_buffer(SIGACTION_SIZE) for number in (SIGINT, SIGTERM)}
    for number, action in kept.items():
        sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in kept.items():
            sigaction(int(number), action, None)


class GazeboPlant(SteppedPlant):
    """A robot in the world that `pkm export --to sdf --form gazebo` writes, as fast as it goes.

    Viscous friction is a force of the velocity at each step's begin: Dart's own damping takes the
    velocity that a step would end with if no loop were closed.

    Raises MissingWorldError where Gazebo is not installed.
    """

    _fixture: Any = None
    _server: Any = None
    _wanted = _told = False

    @cached_property
    def _gazebo(self) -> Any:
        return gazebo_module()

    def closure_gap(self) -> float:
        """Return the largest distance [m] between points that the loops hold together.

        That of the end of the latest step; looked at from the first call on.
        """
        self._wanted = True
        return self._gap

    def _begin(self, positions: Floats) -> None:
        """Start a server whose world has the robot there."""
        self._fixture = self._server = None
        description = standing_at(self.description, positions)
        exported = build_sdf(description, 'gazebo', self.step_time / self.substeps, 0.0)
        text, self._viscous = _without_damping(exported.text)
        self._origin = positions
        self._forces = np.zeros_like(positions)
        self._state = (positions, self.velocities)
        self._joints: list[Any] = []
        self._moved: dict[str, Any] = {}
        self._links: dict[str, Any] = {}
        self._welds = _welds(text)
        self._gap = 0.0
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / 'world.sdf'
            file.write_text(text)
            with kept_signals():  # Gazebo puts its own handlers there
                self._fixture = self._gazebo.TestFixture(str(file))
            self._fixture.on_pre_update(self._before)
            self._fixture.on_post_update(self._after)
            self._fixture.finalize()
            self._server = self._fixture.server()

    def _stepped(self, forces: Floats) -> tuple[Floats, Floats]:
        self._forces = forces
        self._told = False
        self._server.run(True, 1, False)
        if not self._told:
            name = self.description.name
            raise SimulationError(
                f"Gazebo does not simulate the world of robot '{name}': no joint tells its state "
                '(its log says which system it did not find)'
            )
        positions, velocities = self._state
        return positions, velocities

    def _before(self, _: Any, ecm: Any) -> None:
        if not self._joints:
            self._find(ecm)
        driven = dict(zip(self.actuated_joints, self._forces.tolist(), strict=True))
        for name, joint in self._moved.items():
            viscous = self._viscous.get(name, [0.0])
            velocities = joint.velocity(ecm) or [0.0] * len(viscous)  # none before the first step
            forces = [-d * v for d, v in zip(viscous, velocities, strict=True)]
            joint.set_force(ecm, [forces[0] + driven.get(name, 0.0), *forces[1:]])

    def _find(self, ecm: Any) -> None:
        sim = self._gazebo
        world = sim.World(sim.world_entity(ecm))
        model = sim.Model(world.model_by_name(ecm, self.description.name))
        for name in dict.fromkeys([*self.actuated_joints, *self._viscous]):
            joint = sim.Joint(model.joint_by_name(ecm, name))
            joint.enable_position_check(ecm)
            joint.enable_velocity_check(ecm)
            self._moved[name] = joint
        self._joints = [self._moved[name] for name in self.actuated_joints]
        for link in {name for parent, child, _ in self._welds for name in (parent, child)}:
            self._links[link] = sim.Link(model.link_by_name(ecm, link))
            self._links[link].enable_velocity_checks(ecm)  # Gazebo keeps its pose up to date then

    def _after(self, _: Any, ecm: Any) -> None:
        if not self._joints:
            return
        found = [(joint.position(ecm), joint.velocity(ecm)) for joint in self._joints]
        if all(position and velocity for position, velocity in found):
            values = np.array([[position[0], velocity[0]] for position, velocity in found])
            self._state = (self._origin + values[:, 0], values[:, 1])
            self._told = True
        if self._wanted and self._links:
            poses = {name: _pose(link.world_pose(ecm)) for name, link in self._links.items()}
            self._gap = max(
                (
                    float(np.linalg.norm(poses[parent][0] - (at + turn @ place)))
                    for parent, child, place in self._welds
                    for at, turn in [poses[child]]
                ),
                default=0.0,
            )


def _without_damping(text: str) -> tuple[str, dict[str, list[float]]]:
    """The world without viscous friction, and that of each joint that has some, axis by axis."""
    root = etree.fromstring(text.encode())
    found = {}
    for joint in root.iterfind('world/model/joint'):
        axes = [joint.find(f'{tag}/dynamics/damping') for tag in ('axis', 'axis2')]
        values = [0.0 if each is None else float(each.text) for each in axes]
        if any(values):
            count = 1 if joint.find('axis2') is None else 2
            found[joint.get('name')] = values[:count]
        for each in axes:
            if each is not None:
                each.text = '0'
    return etree.tostring(root, encoding='unicode'), found


def _welds(text: str) -> list[tuple[str, str, Floats]]:
    """Both links of each weld, and where the origin of the first lies in the second."""
    model = etree.fromstring(text.encode()).find('world/model')
    poses = {}
    for link in model.findall('link'):
        x, y, z, *turn = (float(part) for part in link.findtext('pose').split())
        poses[link.get('name')] = np.array([x, y, z]), quat2mat([turn[3], *turn[:3]])
    found = []
    for plugin in model.findall('plugin'):
        parent, child = plugin.findtext('parent_link'), plugin.findtext('child_link')
        if parent is not None:
            (origin, _), (at, turn) = poses[parent], poses[child]
            found.append((parent, child, turn.T @ (origin - at)))
    return found


def _pose(pose: Any) -> tuple[Floats, Floats]:
    at, turn = pose.pos(), pose.rot()
    rotation = quat2mat([turn.w(), turn.x(), turn.y(), turn.z()])
    return np.array([at.x(), at.y(), at.z()]), rotation
