"""Inverse dynamics of the same closed chain on other engines, for comparison.

Pinocchio and MuJoCo compute the forces of the open tree; what closes it (the joints'
motion and the projection to the actuators) is NumPy here, as a user of theirs would
write it. Rigid bodies only: friction and rotor inertias are left out on both sides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description import export
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array

Peer = Callable[[PlatformMotion], Array]


def pinocchio_peer(model: ClosedChainModel) -> Peer | None:
    """RNEA of the open tree, sample by sample; kinematics and projection in batches.

    For robots whose platform floats with six degrees of freedom; None where Pinocchio is
    not installed or the robot is another.
    """
    if not model.platform_determines_joints:
        return None
    try:
        import pinocchio
    except ImportError:
        return None
    tree = pinocchio.buildModelFromXML(export(model.description, 'urdf'))
    tree.gravity.linear = np.array(model.description.gravity)
    data = tree.createData()
    joints = [tree.joints[tree.getJointId(name)] for name in model.joint_names]
    index_q = [joint.idx_q for joint in joints]
    index_v = [joint.idx_v for joint in joints]
    (platform,) = [joint for joint in tree.joints if joint.nq == 7]
    pose, twist = platform.idx_q, slice(platform.idx_v, platform.idx_v + 6)
    actuated = [model.joint_names.index(name) for name in model.actuated_joints]

    def forces(motion: PlatformMotion) -> Array:
        n = len(motion)
        states = model.joint_states(motion)
        units = _unit_rates(model, motion)
        q, v, a = np.zeros((n, tree.nq)), np.zeros((n, tree.nv)), np.zeros((n, tree.nv))
        q[:, index_q], v[:, index_v], a[:, index_v] = states
        q[:, pose : pose + 3] = motion.position
        q[:, pose + 3 : pose + 7] = _quaternions(motion.rotation)
        back = motion.rotation.transpose(0, 2, 1)
        v[:, twist] = _rotated(back, motion.twist)
        acceleration = motion.acceleration.copy()
        acceleration[:, :3] -= np.cross(motion.twist[:, 3:], motion.twist[:, :3])  # spatial
        a[:, twist] = _rotated(back, acceleration)
        samples = zip(q, v, a, strict=True)
        tau = np.array([pinocchio.rnea(tree, data, *sample) for sample in samples])
        wrench = _rotated(motion.rotation, tau[:, twist])
        return _projected(wrench, tau[:, index_v], units, actuated)

    return forces


def mujoco_peer(model: ClosedChainModel) -> Peer:
    """RNE of the open tree and projection with the equalities' Jacobian, sample by sample."""
    import mujoco

    engine = mujoco.MjModel.from_xml_string(export(model.description, 'mjcf'))
    engine.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(engine)
    joints = [engine.joint(name) for name in model.joint_names]
    index_q = [int(joint.qposadr[0]) for joint in joints]
    index_v = [int(joint.dofadr[0]) for joint in joints]
    free = np.flatnonzero(engine.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    actuated = [index_v[model.joint_names.index(name)] for name in model.actuated_joints]
    passive = [v for v in range(engine.nv) if v not in actuated]
    tau = np.zeros(engine.nv)

    def forces(motion: PlatformMotion) -> Array:
        states = model.joint_states(motion)
        out = np.empty((len(motion), len(actuated)))
        quaternions = _quaternions(motion.rotation)[:, [3, 0, 1, 2]]
        for k in range(len(motion)):
            data.qpos[index_q], data.qvel[index_v], data.qacc[index_v] = (s[k] for s in states)
            if len(free):
                q, v = int(engine.jnt_qposadr[free[0]]), int(engine.jnt_dofadr[free[0]])
                data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = motion.position[k], quaternions[k]
                for target, six in ((data.qvel, motion.twist), (data.qacc, motion.acceleration)):
                    target[v : v + 3] = six[k, :3]
                    target[v + 3 : v + 6] = motion.rotation[k].T @ six[k, 3:]
            mujoco.mj_fwdPosition(engine, data)
            mujoco.mj_fwdVelocity(engine, data)
            mujoco.mj_rne(engine, data, 1, tau)
            rows = data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
            jacobian = data.efc_J.reshape(-1, engine.nv)[: data.nefc][rows]
            pushed = np.linalg.lstsq(jacobian[:, passive].T, tau[passive], rcond=None)[0]
            out[k] = tau[actuated] - jacobian[:, actuated].T @ pushed
        return out

    return forces


def _unit_rates(model: ClosedChainModel, motion: PlatformMotion) -> Array:
    """Rates of all joints per unit twist of the platform (N, n_j, 6)."""
    zero, columns = np.zeros((len(motion), 6)), []
    for direction in np.eye(6):
        unit = zero + direction
        moving = PlatformMotion(
            motion.position, motion.rotation, unit, zero, motion.joint_positions
        )
        columns.append(model.joint_states(moving).velocities)
    return np.stack(columns, axis=2)


def _projected(platform: Array, tau: Array, units: Array, actuated: list[int]) -> Array:
    """Actuator forces (N, n_a) from forces on the platform (N, 6) and the joints (N, n_j)."""
    wrench = platform + np.einsum('njk,nj->nk', units, tau)
    jacobian = units[:, actuated, :]
    return np.asarray(np.linalg.solve(jacobian.transpose(0, 2, 1), wrench[:, :, None])[:, :, 0])


def _rotated(rotation: Array, vectors: Array) -> Array:
    """Rotate both halves of vectors (N, 6)."""
    halves = vectors.reshape(-1, 2, 3)
    return np.asarray(np.einsum('nij,nkj->nki', rotation, halves).reshape(-1, 6))


def _quaternions(rotation: Array) -> Array:
    """Quaternions (N, 4) x, y, z, w."""
    return np.asarray(Rotation.from_matrix(rotation).as_quat())
