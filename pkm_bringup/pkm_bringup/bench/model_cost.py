"""Cost of the model in batches and single calls, beside other engines in the same run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pkm_bringup.bench.frame import Bench, cost
from pkm_bringup.bench.peers import mujoco_peer, pinocchio_peer
from pkm_description import export, library, load
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.simulation import SimulatedPlant

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
        if peer is None:
            continue
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
    return {
        'samples': len(motion),
        **ours,
        'peers': peers,
        'agreement': agreement,
        'ratios': ratios,
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


def measure_library(bench: Bench) -> dict[str, dict[str, Any]]:
    """Inverse dynamics and regressor of every library robot on random motions."""
    result = {}
    names = library()
    for k, name in enumerate(names):
        bench.update(name, k / len(names))
        model = ClosedChainModel(load(name))
        motion = random_motion(model, LIBRARY_SAMPLES, seed=0)
        result[name] = {
            'actuators': model.n_a,
            'parameters': model.n_p,
            **measure_functions(model, motion),
        }
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
