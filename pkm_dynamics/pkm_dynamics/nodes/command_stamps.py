"""Which joint state an effort command answers, carried in the command's layout.

`std_msgs/Float64MultiArray` has no header. In lockstep the simulated robot publishes
a joint state again when no command comes, and would take a late second answer for the
answer to the next state. A controller that stamps its commands cannot be misunderstood;
an unstamped command is taken as the answer to the latest state. The stamp is of the drive's own
clock, so the drive sees how old the state is that a command answers, whatever clock the
controller's machine has. Who does not look at labels, as forward_command_controller, takes the
numbers as they are.
"""

from __future__ import annotations

from math import inf, nan

from builtin_interfaces.msg import Time
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

PREFIX = 'stamp:'
ROUNDING = 1e-9  # [s] of stamps


def stamp_label(stamp: Time) -> str:
    """Return the label that names a joint state's stamp."""
    return f'{PREFIX}{stamp.sec}.{stamp.nanosec:09d}'


def stamp_command(command: Float64MultiArray, stamp: Time) -> None:
    """Write the stamp of the joint state that a command answers into its layout."""
    size = len(command.data)
    dimension = MultiArrayDimension(label=stamp_label(stamp), size=size, stride=size)
    command.layout.dim = [dimension]


def label_of(command: Float64MultiArray) -> str | None:
    """Return the stamp label of a command, None where it has none."""
    for dimension in command.layout.dim:
        if dimension.label.startswith(PREFIX):
            return str(dimension.label)
    return None


def answered_time(command: Float64MultiArray) -> float | None:
    """Return the stamp [s] in a command's label; None without one, NaN if it is no time."""
    label = label_of(command)
    if label is None:
        return None
    try:
        time = float(label.removeprefix(PREFIX))
    except ValueError:
        return nan
    return time if 0.0 <= time < inf else nan


class CommandDeadline:
    """Tells commands that come too late, as a drive should that heeds their stamps.

    A command without a stamp is never late. Nor is zero force, which ends whatever force there
    is.
    """

    def __init__(self, longest: float) -> None:
        self.longest = longest  # [s] age of the state that a command answers
        self.late = 0  # commands so far

    def allows(self, command: Float64MultiArray, now: float) -> bool:
        """Whether a command is to be applied by a drive whose latest state is of `now` [s].

        It is not where it answers a state that is too old, or that has not been yet.
        """
        answered = answered_time(command)
        if answered is None or not any(command.data):
            return True
        if 0.0 <= now - answered + ROUNDING <= self.longest + 2 * ROUNDING:
            return True
        self.late += 1
        return False
