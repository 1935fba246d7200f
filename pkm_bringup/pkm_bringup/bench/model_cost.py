"""Cost of the model in batches and single calls, beside other engines in the same run.

The engines of `open_trees` compute the forces of the open tree, and get the motion of all joints;
what projects these to the actuators does not count for them. MuJoCo gets it too, and its forces are
projected by the Jacobian of its equalities. Ours beside them: rigid bodies too, the same samples,
the motion of all joints known, projection included.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pkm_bringup.bench.frame import Bench, cost, slow_motion
from pkm_bringup.bench.open_trees import closed_forces, open_trees, quaternions
from pkm_description import export, library, load
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.simulation import SimulatedPlant
from pkm_identification.arrays import Array

Forces = Callable[[PlatformMotion], Array]

SAMPLES = 10_000  # of the batches
REPEATS = 9  # an odd number has a median that was measured
SINGLE = 200  # calls of a microsecond each, so that the clock's resolution does not show
PEER_SAMPLES = 1000  # of other engines and ours beside them: most take a Python call a sample
PEER_REPEATS = 3
LIBRARY_SAMPLES = 2000  # fewer, for all robots
MUJOCO = 'MuJoCo, with projection'


def measure(bench: Bench) -> dict[str, Any]:
    """Measure inverse dynamics and regressor of a motion in one thread.

    [us], see `measure_functions`; `engines`: see `measure_engines`; `mujoco_step`: of the
    simulated robot's engine, which closes the loops; `import`: of `ClosedChainModel` in a fresh
    process [s].
    """
    bench.update('inverse dynamics and regressor', None)
    model, trajectory = bench.model, bench.trajectory
    motion = trajectory.motion(np.arange(SAMPLES) / SAMPLES * trajectory.duration, model)
    ours = measure_functions(model, motion)
    return {
        'samples': len(motion),
        **ours,
        'engines': measure_engines(model, motion[:PEER_SAMPLES]),
        'mujoco_step': _mujoco_step(model),
        'import': import_time(),
    }


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


def measure_engines(model: ClosedChainModel, motion: PlatformMotion) -> dict[str, Any]:
    """Compare forces of rigid bodies with those of other engines, the motion of all joints known.

    `ours` and `times` by engine [us a sample], `ratios` of ours to theirs, `agreement`: largest
    difference of the forces over the largest of them; `left_out`: engines that fail, and why.
    """
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    known = model.with_joint_states(motion)
    forces = model.inverse_dynamics(known, rigid)
    ours = _cost(lambda moving: model.inverse_dynamics(moving, rigid), known, REPEATS, len(known))
    trees, left_out = open_trees(model)
    engines: dict[str, Callable[[PlatformMotion], Any]] = {**trees, MUJOCO: mujoco_peer(model)}
    closed = {name: closed_forces(model, tree) for name, tree in trees.items()}
    closed[MUJOCO] = engines[MUJOCO]
    largest = np.max(np.abs(forces))
    times = {name: _cost(each, known, PEER_REPEATS, len(known)) for name, each in engines.items()}
    return {
        'ours': ours,
        'times': times,
        'ratios': {name: ours / time for name, time in times.items()},
        'agreement': {
            name: float(np.max(np.abs(each(known) - forces)) / largest)
            for name, each in closed.items()
        },
        'left_out': left_out,
    }


def measure_library(bench: Bench) -> dict[str, dict[str, Any]]:
    """Inverse dynamics and regressor of every library robot on slow motions, beside others.

    `engines` as `measure_engines`.
    """
    result = {}
    names = library()
    for k, name in enumerate(names):
        bench.update(name, k / len(names))
        model = ClosedChainModel(load(name))
        trajectory = slow_motion(model)
        time = np.arange(LIBRARY_SAMPLES) / LIBRARY_SAMPLES * trajectory.duration
        motion = trajectory.motion(time, model)
        result[name] = {
            'actuators': model.n_a,
            'parameters': model.n_p,
            **measure_functions(model, motion),
            'engines': measure_engines(model, motion[:PEER_SAMPLES]),
        }
    return result


def import_time() -> float:
    """Shortest of three times to import `ClosedChainModel` in a fresh process [s]."""
    script = (
        'import time; begin = time.perf_counter(); from pkm_dynamics import ClosedChainModel; '
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


def mujoco_peer(model: ClosedChainModel) -> Forces:
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
        turns = quaternions(motion.rotation)[:, [3, 0, 1, 2]]
        for k in range(len(motion)):
            data.qpos[index_q], data.qvel[index_v], data.qacc[index_v] = (s[k] for s in states)
            if len(free):
                q, v = int(engine.jnt_qposadr[free[0]]), int(engine.jnt_dofadr[free[0]])
                data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = motion.position[k], turns[k]
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
