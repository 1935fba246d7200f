"""Distances between a robot's collision shapes as MuJoCo places and measures them."""

from __future__ import annotations

import mujoco
import numpy as np
from lxml import etree

import pkm_description
from pkm_description import Description


class MujocoCapsules:
    """The shapes of one robot, cylinders with round ends.

    Attributes
    ----------
    links : {int: str}
        The link of each geometry.
    radii : {int: float}
    """

    def __init__(self, description: Description) -> None:
        root = etree.fromstring(pkm_description.export(description, 'mjcf').encode())
        for geom in root.iter('geom'):
            if geom.get('group') == '3' and geom.get('type') == 'cylinder':
                geom.set('type', 'capsule')
        self.model = mujoco.MjModel.from_xml_string(etree.tostring(root).decode())
        self.data = mujoco.MjData(self.model)
        names = [self.model.geom(i).name for i in range(self.model.ngeom)]
        self.links = {
            i: name.rsplit('_collision_', 1)[0]
            for i, name in enumerate(names)
            if '_collision_' in name
        }
        self.radii = {i: float(self.model.geom_size[i, 0]) for i in self.links}

    def place(self, joints: dict[str, float], position: np.ndarray, rotation: np.ndarray) -> None:
        """Move the robot to joint positions by name and a pose of the platform."""
        self.data.qpos[:] = self.model.key_qpos[0]
        for i in range(self.model.njnt):
            address, name = self.model.jnt_qposadr[i], self.model.joint(i).name
            if self.model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE:
                self.data.qpos[address : address + 3] = position
                turn = np.ascontiguousarray(rotation).ravel()
                mujoco.mju_mat2Quat(self.data.qpos[address + 3 : address + 7], turn)
            elif name in joints:
                self.data.qpos[address] = joints[name]
        mujoco.mj_kinematics(self.model, self.data)

    def gaps(self, first: str, second: str) -> dict[tuple[int, int], float]:
        """Distances [m] of all shapes of one link to all of another."""
        return {
            (i, j): mujoco.mj_geomDistance(self.model, self.data, i, j, 1e2, None)
            for i, a in self.links.items()
            for j, b in self.links.items()
            if (a, b) == (first, second)
        }
