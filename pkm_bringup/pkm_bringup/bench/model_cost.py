"""Cost of the model in batches and single calls, beside other engines in the same run.

Pinocchio and MuJoCo compute the forces of the open tree; what closes it (the joints'
motion and the projection to the actuators) is NumPy here, as a user of theirs would
write it. Rigid bodies only: friction and rotor inertias are left out on both sides.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_bringup.bench.frame import Bench, cost
from pkm_description import export, library, load
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.simulation import SimulatedPlant
from pkm_identification.arrays import Array

Peer = Callable[[PlatformMotion], Array]

SAMPLES = 10_000  # of the batches
REPEATS = 9  # an odd number has a median that was measured
SINGLE = 200  # calls of a microsecond each, so that the clock's resolution does not show
PEER_SAMPLES = 500  # they take a Python call a sample
PEER_REPEATS = 3
LIBRARY_SAMPLES = 2000  # fewer, for all robots


def measure(bench: Bench) -> dict[str, Any]:
    """Measure inverse dynamics and regressor of a motion in one thread.

    [us], see `measure_functions`; `peers`: [us a sample] by name; `agreement`: largest difference
    of their forces over the largest force, where they compute the same; `ratios`: ours over
    theirs; `import`: of pkm_dynamics in a fresh process [s].
    """
    bench.update('inverse dynamics and regressor', None)
    model, trajectory = bench.model, bench.trajectory
    motion = trajectory.motion(np.arange(SAMPLES) / SAMPLES * trajectory.duration, model)
    ours = measure_functions(model, motion)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    few = motion[:PEER_SAMPLES]
    forces = model.inverse_dynamics(few, rigid)
    closed = {
        'Pinocchio RNEA, kinematics and projection in batches': pinocchio_peer(model),
        'MuJoCo RNE and projection': mujoco_peer(model),
    }
    peers, agreement = {}, {}
    for name, peer in closed.items():
        if peer is not None:
            peers[name] = _cost(peer, few, PEER_REPEATS, len(few))
            agreement[name] = float(np.max(np.abs(peer(few) - forces)) / np.max(np.abs(forces)))
    peers['MuJoCo step of the closed chain'] = _mujoco_step(model)
    if (rnea := _pinocchio_rnea(model)) is not None:
        peers['Pinocchio RNEA of the open tree alone'] = rnea
    figures = ours['inverse_dynamics']
    ratios = {
        f'{what} / {peer}': figures[what] / time
        for peer, time in peers.items()
        for what in ('batch', 'single')
    }
    found = {'peers': peers, 'agreement': agreement, 'ratios': ratios, 'import': import_time()}
    return {'samples': len(motion), **ours, **found}


def measure_functions(
    model: ClosedChainModel, motion: PlatformMotion
) -> dict[str, dict[str, float]]:
    """Times of inverse dynamics and regressor.

    Each with `batch` [us a sample], `batch_with_joint_states` (positions of all joints
    known), `single` and `single_with_joint_states` [us a call].
    """
    known, found = model.with_joint_states(motion), {}
    for name in ('inverse_dynamics', 'regressor'):
        function, times = getattr(model, name), {}
        for what, moving in (('', motion), ('_with_joint_states', known)):
            times[f'batch{what}'] = _cost(function, moving, REPEATS, len(motion))
            times[f'single{what}'] = _cost(function, moving[:1], SINGLE, 1)
        found[name] = times
    return found


def measure_library(bench: Bench) -> dict[str, dict[str, Any]]:
    """Inverse dynamics and regressor of every library robot on random motions."""
    result = {}
    names = library()
    for k, name in enumerate(names):
        bench.update(name, k / len(names))
        model = ClosedChainModel(load(name))
        times = measure_functions(model, random_motion(model, LIBRARY_SAMPLES, seed=0))
        result[name] = {'actuators': model.n_a, 'parameters': model.n_p, **times}
    return result


def import_time() -> float:
    """Shortest of three times to import `pkm_dynamics` in a fresh process [s]."""
    script = (
        'import time; begin = time.perf_counter(); import pkm_dynamics; '
        'print(time.perf_counter() - begin)'
    )
    times = [
        subprocess.run([sys.executable, '-c', script], capture_output=True, check=True, text=True)
        for _ in range(3)
    ]
    return min(float(done.stdout) for done in times)


def _cost(function: Callable[[Any], Any], motion: Any, repeats: int, amount: int) -> float:
    return cost(lambda: function(motion), repeats, amount)


def _mujoco_step(model: ClosedChainModel) -> float:
    """One integration step of the simulated robot's engine [us]."""
    import mujoco

    plant = SimulatedPlant(model.description)
    engine, data = plant.mujoco_model, plant.mujoco_data

    def steps() -> None:
        for _ in range(SINGLE):
            mujoco.mj_step(engine, data)

    return cost(steps, REPEATS, SINGLE)


def _pinocchio_rnea(model: ClosedChainModel) -> float | None:
    """Inverse dynamics of the tree with its loops open, from Python [us]; None if absent."""
    try:
        import pinocchio
    except ImportError:
        return None
    tree = pinocchio.buildModelFromXML(export(model.description, 'urdf'))
    data = tree.createData()
    rng = np.random.default_rng(0)
    q = pinocchio.neutral(tree)
    v, a = rng.standard_normal((2, tree.nv))

    def calls() -> None:
        for _ in range(SINGLE):
            pinocchio.rnea(tree, data, q, v, a)

    return cost(calls, REPEATS, SINGLE)


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
