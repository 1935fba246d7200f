"""`RedundantModel`: dynamics of robots with more drives than degrees of freedom.

The positions of as many drives as there are degrees of freedom are the coordinates q of the
mechanism. With the rates J dq of all drives their forces tau do the work of the generalised forces

    Q = J^T tau

at the coordinates, which equations of motion and regressors are in. Q leaves forces open that
tension the drives against each other: those are taken whose sum of ((tau - p) / s)^2 is least,
with the preload p and the scale s of the description,

    tau = p + S^2 J (J^T S^2 J)^-1 (Q - J^T p),   S = diag(s).
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description, DescriptionError
from pkm_description.actuation.redundant_drives import coordinate_description
from pkm_description.description import frozen
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.forward_dynamics import Accelerations
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import ActuatorStates, PlatformMotion, samples


class RedundantModel:
    """Forces of all drives of a closed chain that has more of them than degrees of freedom.

    Parameters
    ----------
    description : Description
        A checked description with `redundant_actuation`.

    Attributes
    ----------
    core : ClosedChainModel
        Kinematics, equations of motion, regressor and base parameters at the coordinates, which
        are its actuated joints; its forces are the generalised forces Q there, its force limits
        those of the drives there alone. Friction and rotors of all drives are parameters of it.
    actuated_joints : list of str
        All joints with a drive: the order of every (N, n_d) array.
    home_actuators, lower, upper, velocity_limit, force_limit : numpy.ndarray
        Position at home and limits (n_d,) of these.
    scale, preload : numpy.ndarray
        (n_d,) [N, N m] of the distribution of forces.

    Raises
    ------
    DescriptionError
        The robot has no drive beyond its degrees of freedom.
    RedundantActuationError
        The robot has drive terms or friction by load besides.
    """

    def __init__(self, description: Description) -> None:
        redundant = description.redundant_actuation
        if redundant is None:
            raise DescriptionError(
                f"robot '{description.name}' has no redundant_actuation: take a ClosedChainModel"
            )
        self.description = description
        self.core = mechanism_model(description)
        self.actuated_joints = list(description.actuated_joints)
        self._scalar = np.array([self.core.joint_names.index(n) for n in self.actuated_joints])
        self.home_actuators = frozen(self.core.home_joints[self._scalar])
        limits = np.array([astuple(description.joint(n).limit) for n in self.actuated_joints])
        self.lower, self.upper, self.velocity_limit, self.force_limit = map(frozen, limits.T)
        self.scale, self.preload = redundant.scale, redundant.preload

    @property
    def n_d(self) -> int:
        """Number of drives."""
        return len(self.actuated_joints)

    def drive_states(self, motion: PlatformMotion) -> ActuatorStates:
        """Positions, velocities and accelerations (N, n_d) of all drives."""
        return ActuatorStates(*(each[:, self._scalar] for each in self.core.joint_states(motion)))

    def drive_jacobian(self, motion: PlatformMotion) -> Floats:
        """Rates of all drives from those of the coordinates, J (N, n_d, n_a)."""
        return self.core.joint_jacobian(motion)[:, self._scalar]

    def generalised_forces(self, motion: PlatformMotion, forces: ArrayLike) -> Floats:
        """Forces Q (N, n_a) [N, N m] at the coordinates of forces (N, n_d) of all drives.

        Raises TrajectoryError where the shape is wrong or a number is not finite.
        """
        given = samples(forces, 'forces', (self.n_d,), len(motion))
        return np.einsum('ndk,nd->nk', self.drive_jacobian(motion), given)

    def distributed(self, motion: PlatformMotion, generalised: ArrayLike) -> Floats:
        """Forces (N, n_d) [N, N m] of all drives that make generalised forces Q (N, n_a).

        Raises TrajectoryError where the shape is wrong or a number is not finite.
        """
        wanted = samples(generalised, 'generalised forces', (self.core.n_a,), len(motion))
        jacobian = self.drive_jacobian(motion)
        missing = wanted - np.einsum('ndk,d->nk', jacobian, self.preload)
        # the least norm of forces over their scale, by the singular values
        inverse = np.linalg.pinv(np.swapaxes(jacobian * self.scale[:, None], 1, 2))
        return np.asarray(self.preload + self.scale * np.einsum('ndk,nk->nd', inverse, missing))

    def inverse_dynamics(
        self, motion: PlatformMotion, parameters: ArrayLike | None = None
    ) -> Floats:
        """Forces (N, n_d) [N, N m] of all drives for a motion, distributed.

        `parameters` (n_p,) are standard parameters of the core; the description's when absent.
        """
        return self.distributed(motion, self.core.inverse_dynamics(motion, parameters))

    def forward_dynamics(
        self,
        state: PlatformMotion,
        forces: ArrayLike,
        parameters: ArrayLike | None = None,
        wrench: PlatformWrench | None = None,
    ) -> Accelerations:
        """Accelerations of a state under forces (N, n_d) of all drives; actuators: coordinates."""
        moved = self.generalised_forces(state, forces)
        return self.core.forward_dynamics(state, moved, parameters, wrench)


def mechanism_model(description: Description) -> ClosedChainModel:
    """Return the model of a robot at its coordinates, whether or not it has more drives.

    Where it has, the forces are generalised forces at the coordinates: `RedundantModel.core`.
    """
    return ClosedChainModel(coordinate_description(description))
