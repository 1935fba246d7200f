"""Which joint state an effort command answers, carried in the command's layout.

`std_msgs/Float64MultiArray` has no header. In lockstep the simulated robot publishes
a joint state again when no command comes, and would take a late second answer for the
answer to the next state. A controller that stamps its commands cannot be misunderstood;
an unstamped command is taken as the answer to the latest state.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

PREFIX = 'stamp:'


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
