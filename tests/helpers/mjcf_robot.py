"""A closed chain as MuJoCo reads it from MJCF."""

from __future__ import annotations

import mujoco
import numpy as np
from closed_loop import ClosedLoop, saturated


class MjcfRobot(ClosedLoop):
    """MuJoCo's tree forces and equality Jacobian, without its soft constraint forces."""

    def __init__(self, text: str, actuated: list[str], transition: float = 0.002) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.data = mujoco.MjData(self.model)
        self.transition = transition
        self.nv = self.model.nv
        joints = [self.model.joint(name).id for name in actuated]
        self.actuated = self.model.jnt_dofadr[joints].tolist()
        self._addresses = self.model.jnt_qposadr[joints]
        self.q = self.model.key_qpos[0].copy()

    def integrate(self, q, change):
        q = q.copy()
        mujoco.mj_integratePos(self.model, q, np.ascontiguousarray(change), 1.0)
        return q

    def rows(self, q):
        data = self.data
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_fwdPosition(self.model, data)
        equality = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        jacobian = np.reshape(data.efc_J, (data.nefc, self.nv))
        return data.efc_pos[equality].copy(), jacobian[equality].copy()

    def positions(self, q):
        return q[self._addresses]

    def tree_forces(self, q, v, a):
        data, model = self.data, self.model
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        before = model.opt.disableflags
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        mujoco.mj_inverse(model, data)
        model.opt.disableflags = before
        return data.qfrc_inverse + model.dof_frictionloss * saturated(v, self.transition)
