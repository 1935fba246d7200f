"""A closed chain as MuJoCo reads it from MJCF."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from pkm_dynamics.array_types import Floats
from pkm_dynamics.simulation.closed_tree import TRANSITION_VELOCITY, ClosedTree, saturated


class MjcfTree(ClosedTree):
    """MuJoCo's tree forces and equality Jacobian, without its soft constraint forces.

    Coulomb friction is that of the model: linear below the transition velocity.
    """

    def __init__(
        self, text: str, actuated: Sequence[str], transition: float = TRANSITION_VELOCITY
    ) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.data = mujoco.MjData(self.model)
        self.transition = transition
        self.nv = self.model.nv
        joints = [self.model.joint(name).id for name in actuated]
        self.actuated = self.model.jnt_dofadr[joints].tolist()
        self._addresses = self.model.jnt_qposadr[joints]
        self.q = self.model.key_qpos[0].copy()

    def integrate(self, q: Floats, change: Floats) -> Floats:
        """Return the configuration after a change (n_v,)."""
        q = q.copy()
        mujoco.mj_integratePos(self.model, q, np.ascontiguousarray(change), 1.0)
        return q

    def rows(self, q: Floats) -> tuple[Floats, Floats]:
        """Residual (n_r,) of the equality constraints and its Jacobian (n_r, n_v)."""
        data = self.data
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_fwdPosition(self.model, data)
        equality = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        jacobian = np.reshape(data.efc_J, (data.nefc, self.nv))
        return data.efc_pos[equality].copy(), jacobian[equality].copy()

    def positions(self, q: Floats) -> Floats:
        """Positions of the actuated joints."""
        return np.asarray(q[self._addresses])

    def tree_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Generalised forces (n_v,) of the open tree, friction included."""
        data, model = self.data, self.model
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        before = model.opt.disableflags
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        mujoco.mj_inverse(model, data)
        model.opt.disableflags = before
        friction = model.dof_frictionloss * saturated(v, self.transition)
        return np.asarray(data.qfrc_inverse + friction)
