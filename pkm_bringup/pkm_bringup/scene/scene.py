"""A robot along a motion: what moves where, its forces, and how close it is to its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pkm_bringup.scene.drawn_links import Bodies, build_bodies
from pkm_bringup.scene.limit_use import limit_use
from pkm_bringup.scene.meshes import Mesh
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Booleans, Floats, Integers

ARROW = 0.28  # length of the largest force, by the size of the robot
ROUNDING = 1e-9  # [N, N m]: no force, of which an arrow would be drawn where there is no other


@dataclass(frozen=True)
class Arrows:
    """Forces of the drives on the bodies that they move, in base axes."""

    names: tuple[str, ...]  # (k,) joints
    bodies: tuple[int, ...]  # (k,) which they push
    moment: tuple[bool, ...]  # (k,) N m about an axis, not N along it
    tail: Floats  # (N, k, 3) [m]
    vector: Floats  # (N, k, 3) [N, N m]


@dataclass(frozen=True)
class Scene:
    """All that is shown of a robot at N instants; nothing of it needs the model any more.

    `use` are shares of limits (N, n) of n bodies, as of `limit_use`. `actuators` are values
    (N, n_a) of the drives by what they are, with a unit each in `units`.
    """

    robot: str
    bodies: Bodies
    platform: int  # among the bodies
    time: Floats  # (N,) [s]
    position: Floats  # (N, n, 3) [m] of the bodies' frames
    rotation: Floats  # (N, n, 3, 3)
    use: Mapping[str, Floats]
    arrows: Arrows
    actuated_joints: tuple[str, ...]
    actuators: Mapping[str, Floats]
    units: Mapping[str, tuple[str, ...]]
    known: Booleans  # (N,) false where nothing was measured, and what was before is shown
    title: str = ''
    notes: tuple[str, ...] = ()
    workspace: Mesh | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def path(self) -> Floats:
        """Positions (N, 3) [m] of the platform."""
        return self.position[:, self.platform]

    def at(self, index: Integers) -> Scene:
        """Return the scene of other instants (M,), each one of those here."""
        arrows = replace(
            self.arrows, tail=self.arrows.tail[index], vector=self.arrows.vector[index]
        )
        return replace(
            self,
            time=self.time[index],
            position=self.position[index],
            rotation=self.rotation[index],
            use={name: values[index] for name, values in self.use.items()},
            arrows=arrows,
            actuators={name: values[index] for name, values in self.actuators.items()},
            known=self.known[index],
        )

    def held(self, rows: Integers, time: Floats) -> Scene:
        """Return the scene at times (M,) [s] of which those at increasing `rows` are here.

        In between, and before the first one, the nearest instant before, or the first one, stands,
        and is not `known`.
        """
        index = np.searchsorted(rows, np.arange(len(time)), side='right') - 1
        known = np.zeros(len(time), dtype=bool)
        known[rows] = True
        return replace(self.at(np.maximum(index, 0)), time=np.array(time), known=known)


def build_scene(
    model: ClosedChainModel,
    motion: PlatformMotion,
    time: ArrayLike,
    forces: ArrayLike | None = None,
    *,
    bodies: Bodies | None = None,
    title: str = '',
    notes: Sequence[str] = (),
    workspace: Mesh | None = None,
) -> Scene:
    """Return a robot along a motion at its times (N,) [s].

    `forces` (N, n_a) [N, N m] of the actuators are those of the model as described, where none are
    given; free joints have none. `bodies` save time where they are at hand. Errors as of
    `inverse_dynamics` and `joint_states`.
    """
    motion = model.with_joint_states(motion)
    given = model.inverse_dynamics(motion) if forces is None else np.asarray(forces, dtype=float)
    given = np.where(np.abs(given) > ROUNDING, given, 0.0)
    bodies = build_bodies(model) if bodies is None else bodies
    place = model.body_motion(motion)
    count = len(motion)
    still = np.zeros((count, 1, 3)), np.broadcast_to(np.eye(3), (count, 1, 3, 3))
    position = np.concatenate([still[0], place.position], axis=1)
    rotation = np.concatenate([still[1], place.rotation], axis=1)
    actuators = model.actuator_states(motion)
    prismatic = [
        model.description.joint(name).type == 'prismatic' for name in model.actuated_joints
    ]
    length = ['m' if straight else 'rad' for straight in prismatic]
    units = {
        'position': tuple(length),
        'velocity': tuple(f'{unit}/s' for unit in length),
        'force': tuple('N' if straight else 'N m' for straight in prismatic),
    }
    values = {'position': actuators.positions, 'velocity': actuators.velocities, 'force': given}
    return Scene(
        robot=model.description.name,
        bodies=bodies,
        platform=1 + model.tree_layout.tree.platform_body,
        time=np.array(time, dtype=float),
        position=position,
        rotation=rotation,
        use=limit_use(model, motion, given),
        arrows=_arrows(model, bodies, position, rotation, given),
        actuated_joints=tuple(model.actuated_joints),
        actuators=values,
        units=units,
        known=np.ones(count, dtype=bool),
        title=title or model.description.name,
        notes=(*notes, *bodies.notes),
        workspace=workspace,
    )


def _arrows(
    model: ClosedChainModel, bodies: Bodies, position: Floats, rotation: Floats, forces: Floats
) -> Arrows:
    """Forces along and moments about the axes of the driven joints, at their children."""
    names = model.description.driven_joints
    joints = [model.description.joint(name) for name in names]
    children = [bodies.names.index(joint.child) for joint in joints]
    columns = [model.actuated_joints.index(name) for name in names]
    axes = np.array([joint.axis for joint in joints]).reshape(-1, 3)
    turned = np.einsum('nkij,kj->nki', rotation[:, children], axes)
    return Arrows(
        tuple(names),
        tuple(children),
        tuple(joint.type != 'prismatic' for joint in joints),
        position[:, children],
        turned * forces[:, columns, None],
    )
