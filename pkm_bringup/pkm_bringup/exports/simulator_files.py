"""Files and forces with which another simulator starts a robot under ros2_control."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pkm_description
from pkm_description.exporters import build_mjcf
from pkm_description.exporters.ros2_control import build_controllers, build_ros2_control_urdf
from pkm_description.friction import without_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

MUJOCO_PLUGIN = 'mujoco_ros2_control/MujocoSystemInterface'
KEYFRAME = 'home'  # of the exported MJCF
RATE = 1000  # [Hz] of the controller manager, as the simulated robot's node


@dataclass(frozen=True)
class SimulatorFiles:
    """A robot as `mujoco_ros2_control` takes it."""

    world: Path  # MJCF
    controllers: Path  # YAML
    urdf: str  # with the `<ros2_control>` tag, which names the world
    forces: tuple[float, ...]  # (n_a,) [N, N m] that hold the robot at home


def write_mujoco_files(
    robot: str, folder: Path, namespace: str = '', headless: bool = False, speed: float = 1.0
) -> SimulatorFiles:
    """Write the MJCF and the controllers of a robot into a folder, which is made.

    `speed` is simulated over elapsed time. Raises PkmError where the robot or the folder does not
    allow it.
    """
    description = pkm_description.load(robot)
    world, controllers = folder / f'{description.name}.xml', folder / 'controllers.yaml'
    parameters = {
        'mujoco_model': str(world),
        'initial_keyframe': KEYFRAME,
        'headless': str(headless).lower(),
        'sim_speed_factor': f'{speed:g}',
    }
    urdf = build_ros2_control_urdf(description, MUJOCO_PLUGIN, parameters)
    texts = {
        world: build_mjcf(description).text,
        controllers: build_controllers(description, RATE, namespace),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding='utf-8')
    forces = tuple(holding_forces(ClosedChainModel(description)).tolist())
    return SimulatorFiles(world, controllers, urdf, forces)


def holding_forces(model: ClosedChainModel) -> Floats:
    """Return the forces (n_a,) [N, N m] of gravity and springs at home and at rest."""
    bare = ClosedChainModel(without_friction(model.description))
    still = np.zeros((1, bare.n_a))
    motion = bare.motion_from_actuators(bare.home_actuators[None], still, still)
    return np.asarray(bare.inverse_dynamics(motion)[0])
