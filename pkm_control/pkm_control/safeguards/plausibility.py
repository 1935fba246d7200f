"""Whether measured positions and their stamps can be those of the robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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


def checked_positions(model: ClosedChainModel, positions: ArrayLike) -> Floats:
    """Return measured positions (n_a,) [m, rad]; ControlFault, BAD_STATE, where they are none."""
    try:
        measured = np.array(positions, dtype=float)
    except (TypeError, ValueError):
        raise ControlFault(ErrorCode.BAD_STATE, 'positions: not an array of numbers') from None
    if measured.shape != (model.n_a,):
        message = f'positions: {model.n_a} are needed, got shape {measured.shape}'
        raise ControlFault(ErrorCode.BAD_STATE, message)
    if not np.isfinite(measured).all():
        joint = model.actuated_joints[int(np.argmin(np.isfinite(measured)))]
        raise ControlFault(ErrorCode.BAD_STATE, f'{joint}: measured position is not finite')
    return measured


def checked_interval(last: float | None, time: float, longest: float) -> float:
    """Return the time [s] from the stamp of the last cycle, if there was one, to this one.

    Raises ControlFault, BAD_STATE, where stamps [s] go back, or ahead by more than `longest` [s].
    """
    interval = 0.0 if last is None else time - last
    if not np.isfinite(time) or interval < 0.0:
        raise ControlFault(
            ErrorCode.BAD_STATE, f'time stamp went back by {-interval:.6f} s to {time:.6f} s'
        )
    if interval > longest:
        raise ControlFault(
            ErrorCode.BAD_STATE,
            f'time stamp jumped ahead by {interval:.6f} s to {time:.6f} s (limit {longest:g} s)',
        )
    return interval
