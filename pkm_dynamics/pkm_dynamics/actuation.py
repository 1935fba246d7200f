"""Which robots can be commanded."""

from __future__ import annotations

from pkm_description.errors import UnderactuatedError
from pkm_dynamics.model import ClosedChainModel


def require_drives(model: ClosedChainModel, use: str) -> None:
    """Raise UnderactuatedError where a degree of freedom has no drive; says what `use` needs it."""
    names = ', '.join(f"'{name}'" for name in model.free_joints)
    if names:
        raise UnderactuatedError(
            f"robot '{model.description.name}' cannot be used for {use}: joint {names} is free "
            '(no drive), so not every motion can be commanded; its data can be identified'
        )
