"""Inverse dynamics of the open tree by other engines, each from the same description.

They get the motion of all joints and of the platform, and compute what the joints and the platform
would have to bear if no loop were closed. `closed_forces` projects that to the actuators. Rigid
bodies only. Engines that are not installed are left out: `pip install pin drake casadi` (the last
with a C compiler).
"""

from __future__ import annotations

import ctypes
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description import export
from pkm_description.kinematic_tree import tree_order
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array


class TreeForces(NamedTuple):
    """What an open tree needs to move."""

    joints: Array  # (N, n_j)
    platform: Array  # force and torque (N, 6) about its origin, along the axes of the world


COMPILERS = ('cc', 'gcc', 'clang')
LOOP = """
void samples(long n, const double *x, double *y) {{
  const casadi_real *arg[{arguments}];
  casadi_real *res[{results}];
  casadi_int iw[{integers}];
  casadi_real w[{reals}];
  for (long k = 0; k < n; ++k, x += {inputs}, y += {outputs}) {{
    arg[0] = x;
    res[0] = y;
    newton_euler(arg, res, iw, w, 0);
  }}
}}
"""

# From a motion with its joint states
OpenTree = Callable[[PlatformMotion], TreeForces]


def open_trees(model: ClosedChainModel) -> tuple[dict[str, OpenTree], dict[str, str]]:
    """Return the engines that are installed, by name, and why some of them fail."""
    makers = {'Pinocchio': pinocchio_tree, 'Drake': drake_tree, 'CasADi, compiled': casadi_tree}
    found, left_out = {}, {}
    for name, make in makers.items():
        try:
            found[name] = make(model)
        except ImportError:  # not installed
            continue
        except Exception as error:  # foreign code on anybody's robot must not end the bench
            left_out[name] = f'{type(error).__name__}: {error}'
    return found, left_out


def closed_forces(model: ClosedChainModel, tree: OpenTree) -> Callable[[PlatformMotion], Array]:
    """Forces of the actuators (N, n_a) by an engine and this project's projection."""

    def forces(motion: PlatformMotion) -> Array:
        moving = model.with_joint_states(motion)
        joints, platform = tree(moving)
        by_joints = model.joint_jacobian(moving)
        by_platform = model.platform_jacobian_at(
            _joints(moving)[0], moving.position, moving.rotation
        )
        found = np.einsum('nja,nj->na', by_joints, joints)
        return np.asarray(found + np.einsum('nka,nk->na', by_platform, platform))

    return forces


def quaternions(rotation: Array) -> Array:
    """Quaternions (N, 4) x, y, z, w."""
    return np.asarray(Rotation.from_matrix(rotation).as_quat())


def pinocchio_tree(model: ClosedChainModel) -> OpenTree:
    """RNEA of Pinocchio, sample by sample."""
    import pinocchio

    tree = pinocchio.buildModelFromXML(export(model.description, 'urdf'))
    tree.gravity.linear = np.array(model.description.gravity)
    data = tree.createData()
    joints = [tree.joints[tree.getJointId(name)] for name in model.joint_names]
    index_q, index_v = [joint.idx_q for joint in joints], [joint.idx_v for joint in joints]
    free = [joint for joint in tree.joints if joint.nq == 7]
    turning = [joint.nq == 2 for joint in joints]  # without limits: cosine and sine

    def forces(motion: PlatformMotion) -> TreeForces:
        n = len(motion)
        q, v, a = np.zeros((n, tree.nq)), np.zeros((n, tree.nv)), np.zeros((n, tree.nv))
        angles, v[:, index_v], a[:, index_v] = _joints(motion)
        for index, angle, turns in zip(index_q, angles.T, turning, strict=True):
            if turns:
                q[:, index], q[:, index + 1] = np.cos(angle), np.sin(angle)
            else:
                q[:, index] = angle
        for joint in free:
            pose, twist = joint.idx_q, slice(joint.idx_v, joint.idx_v + 6)
            q[:, pose : pose + 3] = motion.position
            q[:, pose + 3 : pose + 7] = quaternions(motion.rotation)
            back = motion.rotation.transpose(0, 2, 1)
            v[:, twist] = _rotated(back, motion.twist)
            acceleration = motion.acceleration.copy()
            acceleration[:, :3] -= np.cross(motion.twist[:, 3:], motion.twist[:, :3])  # spatial
            a[:, twist] = _rotated(back, acceleration)
        samples = zip(q, v, a, strict=True)
        tau = np.array([pinocchio.rnea(tree, data, *sample) for sample in samples])
        platform = np.zeros((n, 6))
        for joint in free:
            platform = _rotated(motion.rotation, tau[:, joint.idx_v : joint.idx_v + 6])
        return TreeForces(tau[:, index_v], platform)

    return forces


def drake_tree(model: ClosedChainModel) -> OpenTree:
    """`CalcInverseDynamics` of Drake's MultibodyPlant, sample by sample."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    plant = MultibodyPlant(0.0)
    log = logging.getLogger('drake')
    before = log.level
    log.setLevel(logging.ERROR)  # it warns of friction, which it does not know
    try:
        Parser(plant).AddModelsFromString(export(model.description, 'urdf'), 'urdf')
    finally:
        log.setLevel(before)
    root = model.description.base_link
    if root != 'world':  # which it takes for its own
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(root))
    for name in model.joint_names:  # rigid bodies alone
        plant.GetJointByName(name).set_default_damping_vector(np.zeros(1))
    plant.mutable_gravity_field().set_gravity_vector(model.description.gravity)
    plant.Finalize()
    context, gravity = plant.CreateDefaultContext(), MultibodyForces(plant)
    joints = [plant.GetJointByName(name) for name in model.joint_names]
    index_q = [joint.position_start() for joint in joints]
    index_v = [joint.velocity_start() for joint in joints]
    free = [plant.get_body(index) for index in plant.GetFloatingBaseBodies()]

    def forces(motion: PlatformMotion) -> TreeForces:
        n = len(motion)
        q, v = np.zeros((n, plant.num_positions())), np.zeros((n, plant.num_velocities()))
        a = np.zeros_like(v)
        q[:, index_q], v[:, index_v], a[:, index_v] = _joints(motion)
        for body in free:
            pose = body.floating_positions_start()
            twist = body.floating_velocities_start_in_v()
            q[:, pose : pose + 4] = quaternions(motion.rotation)[:, [3, 0, 1, 2]]
            q[:, pose + 4 : pose + 7] = motion.position
            for target, six in ((v, motion.twist), (a, motion.acceleration)):
                target[:, twist : twist + 3] = six[:, 3:]
                target[:, twist + 3 : twist + 6] = six[:, :3]
        tau = np.empty((n, plant.num_velocities()))
        for k in range(n):
            plant.SetPositionsAndVelocities(context, np.concatenate([q[k], v[k]]))
            plant.CalcForceElementsContribution(context, gravity)
            tau[k] = plant.CalcInverseDynamics(context, a[k], gravity)
        platform = np.zeros((n, 6))
        for body in free:
            at = body.floating_velocities_start_in_v()
            platform = tau[:, [*range(at + 3, at + 6), *range(at, at + 3)]]
        return TreeForces(tau[:, index_v], platform)

    return forces


def casadi_tree(model: ClosedChainModel) -> OpenTree:
    """Newton-Euler recursion that CasADi writes as C, compiled here with a loop over samples."""
    import casadi

    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise ImportError('no C compiler')
    x, tau = _recursion(casadi, model)
    written = casadi.Function('newton_euler', [x], [casadi.densify(tau)], {'cse': True})
    generator = casadi.CodeGenerator('newton_euler.c')
    generator.add(written)
    loop = LOOP.format(
        arguments=written.sz_arg(),
        results=written.sz_res(),
        integers=written.sz_iw() + 1,
        reals=written.sz_w() + 1,
        inputs=x.numel(),
        outputs=tau.numel(),
    )
    folder = Path(tempfile.mkdtemp(prefix='pkm_bench_'))
    try:
        source, library = folder / 'newton_euler.c', folder / 'newton_euler.so'
        source.write_text(generator.dump() + loop, encoding='utf-8')
        flags = ('-O3', '-march=native', '-shared', '-fPIC')
        subprocess.run([compiler, *flags, str(source), '-o', str(library)], check=True)
        samples = ctypes.CDLL(str(library)).samples
    finally:
        shutil.rmtree(folder)
    array = np.ctypeslib.ndpointer(dtype=np.float64, ndim=2, flags='C_CONTIGUOUS')
    samples.argtypes, samples.restype = (ctypes.c_long, array, array), None
    count = len(model.joint_names)

    def forces(motion: PlatformMotion) -> TreeForces:
        n = len(motion)
        turn = motion.rotation.transpose(0, 2, 1).reshape(n, 9)  # columns one after the other
        moving = (motion.position, turn, motion.twist, motion.acceleration)
        given, found = np.concatenate([*_joints(motion), *moving], axis=1), np.empty((n, count + 6))
        samples(n, given, found)
        return TreeForces(found[:, :count], found[:, count:])

    return forces


def _recursion(casadi: Any, model: ClosedChainModel) -> tuple[Any, Any]:
    """Symbols of one sample (3 n_j + 24), and forces of joints and platform (n_j + 6).

    Recursive Newton-Euler [Featherstone 2008, ch. 5] in the axes of each body: outwards the
    velocities and the accelerations less gravity, inwards the forces.
    """
    description, names = model.description, list(model.joint_names)
    count = len(names)
    x = casadi.SX.sym('x', 3 * count + 24)
    q, v, a, pose = casadi.vertsplit(x, [0, count, 2 * count, 3 * count, 3 * count + 24])
    position, turn = pose[:3], casadi.reshape(pose[3:12], 3, 3)
    twist, acceleration = pose[12:18], pose[18:24]
    gravity = casadi.DM(np.array(description.gravity))
    rest = casadi.SX.zeros(3)
    state = {description.base_link: (rest, rest, -gravity)}
    bodies = {link.name: link.inertial for link in description.links}
    order = [description.joints[index] for index in tree_order(description)]
    placed = {}
    for joint in order:
        if joint.type == 'floating':
            back = turn.T
            state[joint.child] = (
                back @ twist[3:],
                back @ acceleration[3:],
                back @ (acceleration[:3] - gravity),
            )
            placed[joint.child] = (turn, position)
            continue
        spin, change, pull = state[joint.parent]
        axes, at = casadi.DM(joint.origin.rotation), casadi.DM(joint.origin.position)
        axis = casadi.DM(np.array(joint.axis, dtype=float))
        value, rate, rate_dot = 0, 0, 0
        if joint.is_scalar:
            index = names.index(joint.name)
            value, rate, rate_dot = q[index], v[index], a[index]
        if joint.type == 'prismatic':
            at = at + axes @ (axis * value)
        elif joint.is_scalar:
            axes = axes @ _about(casadi, axis, value)
        back = axes.T
        moved = pull + casadi.cross(change, at) + casadi.cross(spin, casadi.cross(spin, at))
        spin, change, pull = back @ spin, back @ change, back @ moved
        if joint.type == 'prismatic':
            pull = pull + 2 * casadi.cross(spin, axis * rate) + axis * rate_dot
        elif joint.is_scalar:
            change = change + casadi.cross(spin, axis * rate) + axis * rate_dot
            spin = spin + axis * rate
        state[joint.child], placed[joint.child] = (spin, change, pull), (axes, at)
    load = {name: (casadi.SX.zeros(3), casadi.SX.zeros(3)) for name in state}
    tau, platform = casadi.SX.zeros(count), casadi.SX.zeros(6)
    for joint in reversed(order):
        force, torque = load[joint.child]
        body = bodies[joint.child]
        if body is not None:
            spin, change, pull = state[joint.child]
            com, inertia = casadi.DM(np.array(body.com)), casadi.DM(np.array(body.inertia))
            own = casadi.cross(change, com) + casadi.cross(spin, casadi.cross(spin, com))
            own = body.mass * (pull + own)
            force = force + own
            torque = torque + inertia @ change + casadi.cross(spin, inertia @ spin)
            torque = torque + casadi.cross(com, own)
        axes, at = placed[joint.child]
        outer = axes @ force, axes @ torque
        if joint.type == 'floating':
            platform = casadi.vertcat(*outer)
            continue
        if joint.is_scalar:
            axis = casadi.DM(np.array(joint.axis, dtype=float))
            along = force if joint.type == 'prismatic' else torque
            tau[names.index(joint.name)] = casadi.dot(axis, along)
        inner = load[joint.parent]
        load[joint.parent] = (inner[0] + outer[0], inner[1] + outer[1] + casadi.cross(at, outer[0]))
    return x, casadi.vertcat(tau, platform)


def _about(casadi: Any, axis: Any, angle: Any) -> Any:
    """Rotation about an axis by an angle [Rodrigues]."""
    skew = casadi.skew(axis)
    return casadi.DM.eye(3) + casadi.sin(angle) * skew + (1 - casadi.cos(angle)) * (skew @ skew)


def _joints(motion: PlatformMotion) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (N, n_j) of a motion that has them."""
    found = motion.joint_positions, motion.joint_velocities, motion.joint_accelerations
    q, v, a = (np.asarray(each) for each in found)
    return q, v, a


def _rotated(rotation: Array, vectors: Array) -> Array:
    """Rotate both halves of vectors (N, 6)."""
    halves = vectors.reshape(-1, 2, 3)
    return np.asarray(np.einsum('nij,nkj->nki', rotation, halves).reshape(-1, 6))
