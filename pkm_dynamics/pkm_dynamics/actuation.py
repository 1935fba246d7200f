"""Which robots can be commanded."""

from __future__ import annotations

from pkm_description.errors import UnderactuatedError
from pkm_dynamics.model import ClosedChainModel


def require_drives(model: ClosedChainModel, use: str) -> None:
    """Raise UnderactuatedError where a degree of freedom of the robot has no drive.

    Parameters
    ----------
    model : ClosedChainModel
    use : str
        What the robot is wanted for, as the message shall say it.
    """
    free = model.free_joints
    if free:
        names = ', '.join(f"'{name}'" for name in free)
        raise UnderactuatedError(
            f"robot '{model.description.name}' cannot be used for {use}: joint {names} is free "
            '(no drive), so not every motion can be commanded; its data can be identified'
        )
