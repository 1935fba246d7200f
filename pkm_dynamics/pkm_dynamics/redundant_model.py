"""`RedundantModel`: dynamics of robots with more drives than degrees of freedom."""

from __future__ import annotations

from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.actuation.redundant_drives import coordinate_description
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_distribution import DriveDistribution
from pkm_dynamics.equations.forward_dynamics import Accelerations
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion


class RedundantModel(DriveDistribution):
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
        those that all drives can have together at home. Friction and rotors of all drives are
        parameters of it.

    Further attributes are those of `DriveDistribution`.

    Raises
    ------
    DescriptionError
        The robot has no drive beyond its degrees of freedom.
    RedundantActuationError
        The robot has drive terms or friction by load besides.
    """

    core: ClosedChainModel

    def __init__(self, description: Description) -> None:
        super().__init__(mechanism_model(description))

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
