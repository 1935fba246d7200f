"""Forces of all drives of a robot with more of them than degrees of freedom.

The positions of as many drives as there are degrees of freedom are the coordinates q of the
mechanism. With the rates J dq of all drives their forces tau do the work of the generalised forces

    Q = J^T tau

at the coordinates, which equations of motion and regressors are in. Q leaves forces open that
tension the drives against each other: those are taken whose sum of ((tau - p) / s)^2 is least,
with the preload p and the scale s of the description,

    tau = p + S^2 J (J^T S^2 J)^-1 (Q - J^T p),   S = diag(s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.actuation.redundant_drives import drive_description
from pkm_description.description import frozen
from pkm_description.errors import DescriptionError
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.kinematics.kinematic_model import KinematicModel
from pkm_dynamics.motion import ActuatorStates, PlatformMotion, samples

NO_SHARE = 1e-12  # of a unit force: rounding, and no share at all


class DriveDistribution:
    """Rates and forces of all drives, beside those at the coordinates of a `core`.

    Parameters
    ----------
    core : KinematicModel
        Model at the coordinates, as `mechanism_model` returns it.

    Attributes
    ----------
    core : KinematicModel
    description : Description
        The robot with all its drives.
    joint_names : list of str
        All scalar joints, as those of the core.
    actuated_joints : list of str
        All joints with a drive: the order of every (N, n_d) array.
    coordinates : (n_a,)
        Which of these are the actuated joints of the core, in their order.
    home_actuators, lower, upper, velocity_limit, force_limit : numpy.ndarray
        Position at home and limits (n_d,) of these.
    force_constants : numpy.ndarray
        [N/A, N m/A] (n_d,), nan where unknown.
    scale, preload : numpy.ndarray
        (n_d,) [N, N m] of the distribution of forces.

    Raises
    ------
    DescriptionError
        The robot has no drive beyond its degrees of freedom.
    """

    def __init__(self, core: KinematicModel) -> None:
        redundant = core.description.redundant_actuation
        if redundant is None:
            raise DescriptionError(
                f"robot '{core.description.name}' has no redundant_actuation: take a "
                'ClosedChainModel'
            )
        self.core = core
        self.description = drive_description(core.description)
        self.joint_names = core.joint_names
        self.actuated_joints = list(redundant.joints)
        self.coordinates = coordinates_among(self.actuated_joints, core)
        self._scalar = np.array([core.joint_names.index(n) for n in self.actuated_joints])
        self.home_actuators = frozen(core.home_joints[self._scalar])
        limits = [astuple(core.description.joint(n).limit) for n in self.actuated_joints]
        self.lower, self.upper, self.velocity_limit, self.force_limit = map(
            frozen, np.array(limits).T
        )
        constants = [each.force_constant for each in self.description.actuators]
        self.force_constants = frozen(np.array(constants))
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
        still, shares = self.shares(motion)
        return np.asarray(still + np.einsum('ndk,nk->nd', shares, wanted))

    def shares(self, motion: PlatformMotion) -> tuple[Floats, Floats]:
        """Forces (N, n_d) for none at the coordinates, and (N, n_d, n_a) for one at each.

        The first tension the drives against each other.
        """
        jacobian = self.drive_jacobian(motion)
        # the least norm of forces over their scale, by the singular values
        inverse = np.linalg.pinv(np.swapaxes(jacobian * self.scale[:, None], 1, 2))
        shares = self.scale[:, None] * inverse
        pulled = np.einsum('ndk,d->nk', jacobian, self.preload)
        return self.preload - np.einsum('ndk,nk->nd', shares, pulled), shares

    def force_box(self) -> Floats:
        """Forces (n_a,) at the coordinates that the drives can have at home, all together.

        No larger ones in the same proportions: those in which the drives can have each alone.
        """
        home = self.core.motion_from_actuators(
            self.core.home_actuators[None], *np.zeros((2, 1, self.core.n_a))
        )
        still, shares = (each[0] for each in self.shares(home))
        left = np.maximum(self.force_limit - np.abs(still), 0.0)
        size = np.maximum(np.abs(shares), NO_SHARE)
        alone = np.min(left[:, None] / size, axis=0)
        used = size @ np.where(np.isfinite(alone), alone, 0.0)
        together = np.min(left[used > 0] / used[used > 0], initial=1.0)
        return np.asarray(alone * together)


def coordinates_among(joints: Sequence[str], model: KinematicModel) -> Integers:
    """Indices (n_a,) of the actuated joints of a model among those of all drives."""
    return np.array([list(joints).index(name) for name in model.actuated_joints])


def all_drives(model: KinematicModel) -> KinematicModel | DriveDistribution:
    """Return what knows names, limits and force constants of all drives of a robot."""
    return DriveDistribution(model) if model.description.followers else model
