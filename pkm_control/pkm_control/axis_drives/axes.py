"""What a controller needs of its axes, whatever their drives are told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_control.desired_motion import DesiredState
from pkm_control.feedforward import Feedforward
from pkm_control.supervision import Finding
from pkm_dynamics.array_types import Floats


class AxisCommand(NamedTuple):
    """What the drives are told in a cycle, and what it is made of: arrays (n_a,).

    Forces [N, N m], or signals of valves.
    """

    feedforward: Floats
    feedback: Floats
    command: Floats  # within the limits of the drives
    saturated: NDArray[np.bool_]


class Axes(ABC):
    """Axes that follow desired states; arrays (n_a,).

    Attributes
    ----------
    inertia : [kg, kg m^2] that each moves
    slip : [m/s, rad/s] by which desired speeds are larger than measured ones
    bandwidth_share : of the slowest axis, what late states leave
    longest_hold : [s] of a command, lately
    """

    inertia: Floats
    slip: Floats
    bandwidth_share = 1.0
    longest_hold = 0.0

    @abstractmethod
    def begin(self, feedforward: Feedforward) -> None:
        """Forget the past: commands begin."""

    @abstractmethod
    def leap(self, error: Floats) -> None:
        """Go on with another desired motion, at this error [m, rad] and the measured speeds."""

    @abstractmethod
    def command(
        self,
        time: float,
        interval: float,
        desired: DesiredState,
        feedforward: Feedforward,
        measured: Floats,
        efforts: Floats | None,
    ) -> AxisCommand:
        """Answer positions [m, rad] and efforts [N, N m] measured at `time` [s].

        `interval` [s] after the last ones. Raises ControlFault where efforts are needed and are not
        there.
        """

    @abstractmethod
    def bridge(
        self, time: float, interval: float, desired: DesiredState, feedforward: Feedforward
    ) -> Floats:
        """Command for `time` [s], of which nothing is measured, `interval` [s] after the last."""

    def check(self, time: float, measured: Floats, velocity: Floats) -> Finding | None:
        """Return what the drives do wrong after the command of `time` [s]."""
        return None
