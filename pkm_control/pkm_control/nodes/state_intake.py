"""What is measured: the newest joint state that commands may answer."""

from __future__ import annotations

from typing import NamedTuple

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.nodes.joint_state_reader import JointStateReader
from pkm_control.safeguards.lost_states import LostStates
from pkm_control.safeguards.plausibility import PositionLeaps
from pkm_control.safeguards.state_sources import StateSources
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

LEAPS = 10  # implausible positions in a row that are bridged


class Measurement(NamedTuple):
    """A joint state, of the robot's own joints in their order."""

    stamp: Time
    nanoseconds: int
    positions: Floats  # (n_a,) [m, rad]
    heard: float  # [s] of the steady clock, when it came
    arrival: float  # [s] when its stamp was new
    efforts: Floats | None = None  # (n_a,) [N, N m], where the message has them


class StateIntake:
    """Keeps the newest state that is valid, plausible and of one source.

    Times `now` [s] are of a steady clock.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        reader: JointStateReader,
        timeout: float,  # [s] without a state with a new stamp until none counts as recent
        bridged_cycles: int,
    ) -> None:
        self.latest: Measurement | None = None
        self.bad: ControlFault | None = None  # why the newest one is not valid
        self.lost = LostStates(bridged_cycles)
        self._reader = reader
        self._timeout = timeout
        self._leaps = PositionLeaps(model, LEAPS)
        self._sources = StateSources()

    def begin(self) -> None:
        """Take the next positions as they are: commands begin."""
        self._leaps.reset()

    def take(self, message: JointState, number: int | None, now: float, commanding: bool) -> bool:
        """Take a message; whether it is a valid one of the robot.

        `number` is that of the message among those of its publisher, where it is known. Raises
        ControlFault where it is not valid, or, while `commanding`, positions leap and stay there.
        """
        if not self._reader.concerns(message) or not self._sources.hear(number, now):
            return False
        stamp = message.header.stamp
        nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec
        try:
            positions = self._reader.read(message)
            if commanding and not self._leaps.plausible(nanoseconds * 1e-9, positions):
                return False
        except ControlFault as fault:
            self.bad = fault
            raise
        self.bad = None
        latest, arrival = self.latest, now
        if latest is None or latest.nanoseconds != nanoseconds:
            self.lost.heard(nanoseconds * 1e-9)
        elif commanding:
            arrival = latest.arrival  # a clock that stands still is no sign of life
        efforts = self._reader.read_efforts(message)
        self.latest = Measurement(stamp, nanoseconds, positions, now, arrival, efforts)
        return True

    def several(self, now: float) -> bool:
        """Whether states of the robot's joints come from more than one source."""
        return self._sources.several(now)

    def age(self, now: float) -> float:
        """Time [s] since a state with a new stamp came, infinite before the first."""
        return float('inf') if self.latest is None else now - self.latest.arrival

    def is_recent(self, now: float) -> bool:
        """Whether the newest state is valid and young enough to begin with."""
        return self.bad is None and self.age(now) <= self._timeout

    def recent(self, now: float) -> Measurement:
        """Return the newest state; raises ControlFault where it is not valid or too old."""
        if self.bad is not None:
            raise self.bad
        if self.latest is None or not self.is_recent(now):
            message = f'no joint state within {self._timeout:g} s'
            raise ControlFault(ErrorCode.STATE_TIMEOUT, message)
        return self.latest

    def require(self, now: float, since: float) -> None:
        """Raise ControlFault where states, needed `since` this time [s], have stopped coming."""
        age = min(self.age(now), now - since)
        if self.latest is None or age <= self._timeout:
            return
        heard = now - self.latest.heard <= self._timeout
        what = 'no joint state with a new stamp' if heard else 'no joint state'
        message = f'{what} for {age:.3f} s (limit {self._timeout:g} s)'
        raise ControlFault(ErrorCode.STATE_TIMEOUT, message)
