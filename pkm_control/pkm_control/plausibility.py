"""Whether measured positions can be those of the robot."""

from __future__ import annotations

import numpy as np

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

# A joint moves at most this many times as fast as its limit: faster is a leap of its sensor.
FASTEST = 1.5
# Of the stroke: noise and rounding of a sensor, which no interval explains.
NOISE = 0.005
UNBOUNDED_STROKE = 2.0 * np.pi  # [m, rad] where a joint has no limits


class PositionLeaps:
    """Leaves out single positions (n_a,) that the robot cannot have reached."""

    def __init__(
        self,
        model: ClosedChainModel,
        most: int,  # implausible samples in a row that are left out
    ) -> None:
        self._joints = list(model.actuated_joints)
        self._speed = FASTEST * np.asarray(model.velocity_limit, dtype=float)
        stroke = np.asarray(model.upper) - np.asarray(model.lower)
        self._noise = NOISE * np.where(np.isfinite(stroke), stroke, UNBOUNDED_STROKE)
        self._most = most
        self._last: tuple[float, Floats] | None = None
        self.left_out = 0  # in a row

    def reset(self) -> None:
        """Take the next positions as they are."""
        self._last, self.left_out = None, 0

    def plausible(self, time: float, positions: Floats) -> bool:
        """Whether these positions, measured at `time` [s], are to be used.

        Raises ControlFault, BAD_STATE, naming the joint, where too many in a row are not.
        """
        if self._last is not None:
            before, last = self._last
            leap = np.abs(positions - last)
            allowed = self._noise + self._speed * max(time - before, 0.0)
            if (leap > allowed).any():
                self.left_out += 1
                if self.left_out <= self._most:
                    return False
                axis = int(np.argmax(leap - allowed))
                raise ControlFault(
                    ErrorCode.BAD_STATE,
                    f'{self._joints[axis]}: measured position leapt from {last[axis]:.5g} to '
                    f'{positions[axis]:.5g} in {time - before:.4f} s and stays there',
                )
        self._last, self.left_out = (time, positions), 0
        return True
