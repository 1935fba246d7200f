"""The loop closures of a compiled MuJoCo model: their friction, stiffness and mobility."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from pkm_description import Description
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.kernels.decorator import compiled
from pkm_dynamics.simulation.effects import PlantEffects
from pkm_dynamics.simulation.generalised_forces import NO_FRICTION, friction_row

#: Bodies with less mass [kg] do not count for the stiffness of the closures.
LEAST_MASS = 1e-4


class CutFriction:
    """Friction torques of spherical, universal and revolute closures.

    A revolute closure rubs about its axis. The others rub against the relative angular
    velocity: its magnitude goes through the friction law, its direction is the torque's.
    (A prismatic closure has a joint of its own in the exported model.) The closures whose
    friction grows with their load stand at the end once more, with that friction alone.
    """

    def __init__(
        self,
        description: Description,
        effects: PlantEffects,
        model: mujoco.MjModel,
        loaded: Sequence[str] = (),
    ) -> None:
        rubbing = [
            constraint
            for constraint in description.constraints
            if effects.friction
            and constraint.friction is not None
            and constraint.type in ('spherical', 'universal', 'revolute')
            and any(friction_row(constraint.friction)[:3])
        ]
        first = len(rubbing)
        by_name = {constraint.name: constraint for constraint in description.constraints}
        rubbing += [by_name[name] for name in loaded]
        self.names = [constraint.name for constraint in rubbing]
        bodies = [(model.body(c.parent).id, model.body(c.child).id) for c in rubbing]
        self._bodies = np.array(bodies, dtype=np.int64).reshape(-1, 2)
        rows = [friction_row(c.friction) for c in rubbing[:first] if c.friction is not None]
        self.table = np.array([*rows, *[NO_FRICTION] * len(loaded)]).reshape(-1, 6)
        axes = [
            c.parent_origin.rotation @ c.parent_axis if c.type == 'revolute' else np.zeros(3)
            for c in rubbing
        ]
        self._axes = np.array(axes, dtype=float).reshape(-1, 3)
        self._transition = float(description.transition_velocity)

    def __len__(self) -> int:
        """Return the number of closures that rub."""
        return len(self.names)

    def apply(self, data: mujoco.MjData) -> None:
        """Write the torques of the present velocities into `xfrc_applied`."""
        moving, of_closures = (data.cvel, data.xmat), (self._bodies, self._axes, self.table)
        apply_torques(*moving, data.xfrc_applied, *of_closures, self._transition)

    def stiffness(self, model: mujoco.MjModel, data: mujoco.MjData, mobility: Floats) -> Floats:
        """Return the decay rates (n,) [1/s] at standstill, for a mobility (n_v, n_v)."""
        rates = []
        jacobians = np.zeros((2, 3, model.nv))
        coulomb = np.maximum(self.table[:, 0], self.table[:, 1])
        slopes = coulomb / self._transition + self.table[:, 2]
        for bodies, slope in zip(self._bodies, slopes, strict=True):
            for jacobian, body in zip(jacobians, bodies, strict=True):
                mujoco.mj_jacBody(model, data, None, jacobian, int(body))
            spin = jacobians[1] - jacobians[0]
            rates.append(slope * np.linalg.eigvalsh(spin @ mobility @ spin.T)[-1])
        return np.array(rates)


@compiled
def apply_torques(
    velocities: Floats,  # (n_b, 6) angular first, in world axes
    rotations: Floats,  # (n_b, 9) row by row
    wrenches: Floats,  # (n_b, 6) output: forces and torques on the bodies, in world axes
    bodies: Integers,  # (n, 2) parent and child of each closure
    axes: Floats,  # (n, 3) in the parent, zero where the rotation is free
    friction: Floats,  # (n, 6) friction table
    transition_velocity: float,  # [rad/s] Coulomb friction is linear between plus and minus this
) -> None:
    """Write friction torques between pairs of bodies."""
    wrenches[:] = 0.0
    axis = np.zeros(3)
    for j in range(bodies.shape[0]):
        parent, child = bodies[j]
        rate = 0.0
        turn = rotations[parent]
        on_axis = axes[j, 0] != 0.0 or axes[j, 1] != 0.0 or axes[j, 2] != 0.0
        for i in range(3):
            spin = velocities[child, i] - velocities[parent, i]
            if on_axis:
                axis[i] = (
                    turn[3 * i] * axes[j, 0]
                    + turn[3 * i + 1] * axes[j, 1]
                    + turn[3 * i + 2] * axes[j, 2]
                )
                rate += spin * axis[i]
            else:
                axis[i] = spin
                rate += spin * spin
        if not on_axis:
            rate = np.sqrt(rate)
            if rate == 0.0:
                continue
            axis /= rate
        sat = min(1.0, max(-1.0, rate / transition_velocity))
        level = friction[j, 0] if rate >= 0.0 else friction[j, 1]
        torque = level * sat + friction[j, 2] * rate
        for i in range(3):
            wrenches[child, 3 + i] -= torque * axis[i]
            wrenches[parent, 3 + i] += torque * axis[i]


def stiffen_massless(model: mujoco.MjModel) -> None:
    """Make closures at massless links as stiff as at the others.

    MuJoCo softens a constraint in proportion to the mobility of its bodies alone, which
    for a massless link is a million times that of its neighbours in the loop.
    """
    solid = model.body_mass > LEAST_MASS
    if solid.any():
        bound = model.body_invweight0[solid].max(axis=0)
        model.body_invweight0[:] = np.minimum(model.body_invweight0, bound)


def closed_mobility(model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
    """Return the accelerations (n_v, n_v) of the closed robot per unit generalised force.

    `data` is at the configuration in question, after `mj_forward`.
    """
    inverse = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    equality = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    jacobian = np.reshape(_dense_jacobian(model, data), (data.nefc, model.nv))[equality]
    if len(jacobian):
        response = jacobian @ inverse
        coupling = np.linalg.pinv(response @ jacobian.T, rcond=1e-12, hermitian=True)
        inverse = inverse - response.T @ coupling @ response
    return inverse


def _dense_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J)
    dense = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    )
    return dense
