"""An independent closed-chain inverse dynamics on Pinocchio.

Pinocchio reads the plain tree of our URDF; the loops are closed here with Pinocchio's
own frame Jacobians and drifts. Only the joint positions are taken from our model, and
their closure is checked with Pinocchio's frames.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pkm_description import Description
from pkm_description.kinematic_tree import perpendicular_axes
from pkm_dynamics import ClosedChainModel, PlatformMotion


class PinocchioOracle:
    """Closed-chain forces of one description."""

    def __init__(self, description: Description, urdf: str | None = None) -> None:
        """`urdf` stands for the description's own, where bodies shall have other inertias."""
        self.description = description
        self.model = pin.buildModelFromXML(description.urdf if urdf is None else urdf)
        self.model.gravity.linear = np.array(description.gravity)
        self.data = self.model.createData()

    def configuration(self, model: ClosedChainModel, motion: PlatformMotion, k: int) -> np.ndarray:
        """Pinocchio's q of sample k, from our joint positions and the platform's pose."""
        joints = dict(zip(model.joint_names, model.joint_states(motion).positions[k], strict=True))
        return self.place(joints, motion.position[k], motion.rotation[k])

    def place(self, joints: dict[str, float], position, rotation) -> np.ndarray:
        """Pinocchio's q of joint positions by name and a pose of the platform."""
        q = pin.neutral(self.model)
        for name, value in joints.items():
            joint = self.model.joints[self.model.getJointId(name)]
            turned = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]  # continuous
            q[joint.idx_q : joint.idx_q + joint.nq] = turned
        for joint in self.description.joints:
            if joint.type == 'floating':
                index = self.model.joints[self.model.getJointId(joint.name)].idx_q
                q[index : index + 3] = position
                q[index + 3 : index + 7] = pin.Quaternion(rotation).coeffs()
        return q

    def _frame(self, link: str) -> int:
        return self.model.getFrameId(link)

    def _point(self, link: str, origin, q, v):
        """Position, velocity Jacobian, drift and rotation of a frame fixed in a link."""
        frame = self._frame(link)
        placement = self.data.oMf[frame]
        arm = placement.rotation @ origin.position
        jacobian = pin.getFrameJacobian(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED)
        drift = pin.getFrameClassicalAcceleration(
            self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED
        )
        omega = jacobian[3:] @ v
        j_point = jacobian[:3] - pin.skew(arm) @ jacobian[3:]
        d_point = drift.linear + np.cross(drift.angular, arm)
        d_point += np.cross(omega, np.cross(omega, arm))
        return (
            placement.translation + arm,
            placement.rotation @ origin.rotation,
            j_point,
            jacobian[3:],
            d_point,
            drift.angular,
        )

    def _closing_rows(self, q, v):
        """Residual, Jacobian and drift of all constraints at (q, v)."""
        zero = np.zeros(self.model.nv)
        pin.forwardKinematics(self.model, self.data, q, v, zero)
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        residual, rows, drift = [], [], []
        for c in self.description.constraints:
            x1, r1, j1, w1, d1, e1 = self._point(c.parent, c.parent_origin, q, v)
            x2, r2, j2, w2, d2, e2 = self._point(c.child, c.child_origin, q, v)
            assert c.type in ('spherical', 'revolute', 'universal')
            residual.append(x2 - x1)
            rows.append(j2 - j1)
            drift.append(d2 - d1)
            a2 = r2 @ c.child_axis
            sides = perpendicular_axes(np.asarray(c.parent_axis))
            firsts = {'revolute': sides, 'universal': (c.parent_axis,)}.get(c.type, ())
            for first in firsts:
                a1 = r1 @ first
                normal = np.cross(a1, a2)
                o1, o2 = w1 @ v, w2 @ v
                residual.append([a1 @ a2])
                rows.append((normal @ (w1 - w2))[None])
                normal_dot = np.cross(np.cross(o1, a1), a2) + np.cross(a1, np.cross(o2, a2))
                drift.append([normal @ (e1 - e2) + normal_dot @ (o1 - o2)])
        if not rows:
            return np.zeros(0), np.zeros((0, self.model.nv)), np.zeros(0)
        return np.concatenate(residual), np.vstack(rows), np.concatenate(drift)

    def _driven(self, model: ClosedChainModel, motion: PlatformMotion, k: int):
        """Configuration, rates and accelerations of sample k, and joint rates per actuator rate."""
        states = model.actuator_states(motion)
        return self.driven(
            self.configuration(model, motion, k),
            model.actuated_joints,
            states.velocities[k],
            states.accelerations[k],
        )

    def driven(self, q, actuated, velocities, accelerations):
        """Rates and accelerations of all coordinates at q when the actuators move like this."""
        index = [self.model.joints[self.model.getJointId(n)].idx_v for n in actuated]
        selection = np.zeros((len(index), self.model.nv))
        selection[np.arange(len(index)), index] = 1.0
        residual, rows, _ = self._closing_rows(q, np.zeros(self.model.nv))
        assert np.max(np.abs(residual), initial=0.0) < 1e-9
        system = np.vstack([rows, selection])
        v = np.linalg.lstsq(system, np.concatenate([np.zeros(len(rows)), velocities]), rcond=1e-10)[
            0
        ]
        _, _, drift = self._closing_rows(q, v)
        a = np.linalg.lstsq(system, np.concatenate([-drift, accelerations]), rcond=1e-10)[0]
        targets = np.vstack([np.zeros((len(rows), len(index))), np.eye(len(index))])
        transfer = np.linalg.lstsq(system, targets, rcond=1e-10)[0]
        return q, v, a, transfer

    def forces(self, model: ClosedChainModel, motion: PlatformMotion, k: int) -> np.ndarray:
        """Frictionless actuator forces (n_a,) of sample k, driven by our actuator rates."""
        q, v, a, transfer = self._driven(model, motion, k)
        tau = pin.rnea(self.model, self.data, q, v, a)
        self.platform_twist = self._platform_twist(q, v)
        return transfer.T @ tau

    def regressor(self, model: ClosedChainModel, motion: PlatformMotion, k: int) -> np.ndarray:
        """Actuator forces per rigid-body parameter (n_a, n_rigid), in our order."""
        names, theirs = self.rigid_columns(*self._driven(model, motion, k))
        rigid = np.flatnonzero(model.parameter_mask('rigid_body'))
        columns = {name: i for i, name in enumerate(names)}
        return theirs[:, [columns[model.parameter_names[i]] for i in rigid]]

    def rigid_columns(self, q, v, a, transfer):
        """Names of all rigid-body parameters and the actuator forces (n_a, n) of a unit of each."""
        theirs = transfer.T @ pin.computeJointTorqueRegressor(self.model, self.data, q, v, a)
        fields = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
        child = {joint.name: joint.child for joint in self.description.joints}
        bodies = [child[name] for name in list(self.model.names)[1:]]
        return [f'{body}.{field}' for body in bodies for field in fields], theirs

    def rate_index(self, name: str) -> int:
        """Place of a joint's rate in Pinocchio's velocities."""
        return int(self.model.joints[self.model.getJointId(name)].idx_v)

    def _platform_twist(self, q, v) -> np.ndarray:
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        return (
            pin.getFrameJacobian(
                self.model, self.data, self._frame('platform'), pin.LOCAL_WORLD_ALIGNED
            )
            @ v
        )
