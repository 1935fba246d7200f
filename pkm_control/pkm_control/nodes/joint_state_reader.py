"""Measured positions of the actuated joints from `sensor_msgs/JointState`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from pkm_control.control_types import ControlFault, ErrorCode

Array = NDArray[np.float64]


class JointStateReader:
    """Finds the actuated joints by name and refuses what is not a valid state.

    The `actuated` joints must be there, in the order of the result; the `known` ones may be.
    """

    def __init__(self, actuated: Sequence[str], known: Sequence[str] = ()) -> None:
        self._actuated = list(actuated)
        self._known = set(actuated) | set(known)
        self._names: list[str] | None = None
        self._order: NDArray[np.intp] | None = None

    def read(self, message: JointState) -> Array:
        """Return positions (n_a,) [m, rad].

        Raises ControlFault, BAD_STATE, naming the joint, when one is missing, unknown or not
        finite, or names and positions differ in number.
        """
        if self._names is None or message.name != self._names:
            self._order = self._match(list(message.name))
            self._names = list(message.name)
        positions = np.array(message.position, dtype=float)
        if len(positions) != len(self._names):
            raise _bad(f'{len(self._names)} joint names, but {len(positions)} positions')
        measured = positions[self._order]
        if not np.isfinite(measured).all():
            joint = self._actuated[int(np.argmin(np.isfinite(measured)))]
            raise _bad(f'{joint}: measured position is not finite')
        return measured

    def _match(self, names: list[str]) -> NDArray[np.intp]:
        for name in names:
            if name not in self._known:
                raise _bad(f"unknown joint '{name}'; actuated are {', '.join(self._actuated)}")
        if len(set(names)) < len(names):
            raise _bad(f'a joint is named twice: {", ".join(names)}')
        for name in self._actuated:
            if name not in names:
                raise _bad(f"joint '{name}' is missing; got {', '.join(names) or 'none'}")
        return np.array([names.index(name) for name in self._actuated], dtype=np.intp)


def _bad(message: str) -> ControlFault:
    return ControlFault(ErrorCode.BAD_STATE, f'joint_states: {message}')
