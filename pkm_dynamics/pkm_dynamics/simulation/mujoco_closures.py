"""Loop closures of a compiled MuJoCo model: their stiffness and the closed mobility."""

from __future__ import annotations

import mujoco
import numpy as np

from pkm_dynamics.array_types import Floats

#: Bodies with less mass [kg] do not count for the stiffness of the closures.
LEAST_MASS = 1e-4


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
