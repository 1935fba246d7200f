"""Loads of joints from MuJoCo's reactions, for friction that grows with them."""

from __future__ import annotations

import mujoco
import numpy as np

from pkm_description import Description
from pkm_description.friction import load_factors
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.simulation.effects import PlantEffects

ROWS = {int(mujoco.mjtEq.mjEQ_CONNECT): 3, int(mujoco.mjtEq.mjEQ_WELD): 6}  # of an equality


class JointLoads:
    """Joints and closures whose friction grows with their load, and that friction.

    What a joint of the tree transmits is the force between its body and the parent, what a
    closure transmits the sum of the forces of its equalities. A prismatic closure is a joint.
    """

    def __init__(
        self, description: Description, effects: PlantEffects, model: mujoco.MjModel
    ) -> None:
        given = load_factors(description) if effects.friction else {}
        factors = {name: factor for name, factor in given.items() if factor}
        closures = [item for item in description.constraints if item.name in factors]
        slides = [item.name for item in closures if item.type == 'prismatic']
        cuts = [item for item in closures if item.type != 'prismatic']
        closed = [item.name for item in closures]
        tree = [name for name in factors if name not in closed]
        self.joints = (*tree, *(f'{name}_auxiliary' for name in slides))
        self.constraints = tuple(item.name for item in cuts)
        self._factors = np.array([factors[name] for name in (*tree, *slides, *self.constraints)])
        self._ids = np.array([model.joint(name).id for name in self.joints], dtype=np.int64)
        self._rows = [_rows(model, item.name) for item in cuts]
        self._parents = [model.body(item.parent).id for item in cuts]
        about = [item.parent_origin.rotation @ item.parent_axis for item in cuts]
        turns = [item.type == 'revolute' for item in cuts]
        self._axes = [np.where(each, axis, 0.0) for each, axis in zip(turns, about, strict=True)]

    def __len__(self) -> int:
        """Return the number of joints and closures."""
        return len(self._factors)

    def friction(self, model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
        """Friction (n,) [N, N m] at the accelerations that are there: factors times loads."""
        mujoco.mj_rnePostConstraint(model, data)
        forces = [*data.cfrc_int[model.jnt_bodyid[self._ids], 3:]]
        axes = [*data.xaxis[self._ids]]
        for rows, parent, axis in zip(self._rows, self._parents, self._axes, strict=True):
            forces.append(data.efc_force[rows].sum(axis=0))
            axes.append(data.xmat[parent].reshape(3, 3) @ axis)
        force, axis = np.array(forces), np.array(axes)
        along = np.sum(force * axis, axis=1, keepdims=True)
        return np.asarray(self._factors * np.linalg.norm(force - along * axis, axis=1))


def _rows(model: mujoco.MjModel, name: str) -> Integers:
    """Rows (k, 3) of the forces of a closure's equalities, which stand first in MuJoCo's rows."""
    first = np.cumsum([0, *(ROWS[int(kind)] for kind in model.eq_type)])
    found = [i for i in range(model.neq) if model.equality(i).name in (name, f'{name}_axis')]
    return first[found][:, None] + np.arange(3)
