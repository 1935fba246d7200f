"""Cost of the model in batches and single calls, beside other engines in the same run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pkm_bringup.bench.timing import cost
from pkm_description import export
from pkm_dynamics.simulation import SimulatedPlant

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel, PlatformMotion

REPEATS = 9
SINGLE = 200


def measure_model(model: ClosedChainModel, motion: PlatformMotion) -> dict[str, Any]:
    """Measure inverse dynamics and regressor of a motion (N samples).

    Returns
    -------
    dict
        `samples`; `inverse_dynamics` and `regressor`, each with `batch` [us a sample],
        `batch_with_joint_states` (positions of all joints known) and `single` [us a call];
        `peers`: [us a call] by name; `ratios`: ours over theirs.
    """
    known = model.with_joint_states(motion)
    count = len(motion)
    one, one_known = motion[:1], known[:1]
    ours: dict[str, dict[str, float]] = {}
    functions: dict[str, Callable[[Any], Any]] = {
        'inverse_dynamics': model.inverse_dynamics,
        'regressor': model.regressor,
    }
    for name, function in functions.items():
        ours[name] = {
            'batch': _cost(function, motion, REPEATS, count),
            'batch_with_joint_states': _cost(function, known, REPEATS, count),
            'single': _cost(function, one, SINGLE, 1),
            'single_with_joint_states': _cost(function, one_known, SINGLE, 1),
        }
    peers = {'MuJoCo step of the closed chain': _mujoco_step(model)}
    pinocchio = _pinocchio_rnea(model)
    if pinocchio is not None:
        peers['Pinocchio RNEA of the open tree'] = pinocchio
    figures = ours['inverse_dynamics']
    ratios = {
        f'{what} / {peer}': figures[what] / time
        for peer, time in peers.items()
        for what in ('batch', 'single')
    }
    return {'samples': count, **ours, 'peers': peers, 'ratios': ratios}


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
