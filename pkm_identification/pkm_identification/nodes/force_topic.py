"""The topic of measured currents or forces: which messages it has, and what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from pkm_description.nodes.node_parameters import NodeParameter
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets.force_messages import (
    ARRAY,
    AUTO,
    CURRENTS,
    FIELDS,
    JOINT_STATE,
    MOTOR_CURRENTS,
    ForceMessages,
    chosen_messages,
    require_force_unit,
)
from pkm_msgs.msg import MotorCurrents

MESSAGES: dict[str, Any] = {
    MOTOR_CURRENTS: MotorCurrents,
    JOINT_STATE: JointState,
    ARRAY: Float64MultiArray,
}
FORCE_UNIT = NodeParameter(
    'force_unit', AUTO, 'of measured currents or forces: ampere, newton (also N m), auto'
)


class ForceTopic:
    """Finds out what the robot publishes of its currents or forces.

    That is what stands on `motor_currents`; where nobody publishes that topic, the efforts of
    `joint_states`. A robot that speaks of its motors means these.
    """

    def __init__(self, node: Node, model: ClosedChainModel, unit: str) -> None:
        self._node = node
        self._unit = require_force_unit(unit)
        motors = spoken_by(model.description)
        self.names = list(model.actuated_joints if motors is None else motors.motors)
        self._has_efforts = False

    def hear_state(self, message: JointState) -> None:
        """Take one joint state, which may tell the effort of each joint."""
        given = dict(zip(message.name, message.effort, strict=False))
        if not set(self.names).isdisjoint(message.name):
            efforts = [given.get(name, np.nan) for name in self.names]
            self._has_efforts = bool(np.isfinite(efforts).all())

    def chosen(self) -> ForceMessages | None:
        """Return the messages to take, as the graph is now; raises DatasetError."""
        topic = self._node.resolve_topic_name(CURRENTS)
        types = [each.topic_type for each in self._node.get_publishers_info_by_topic(topic)]
        return chosen_messages(types, self._has_efforts, self._unit, self.names)


def numbers_by_name(message: Any, messages: ForceMessages) -> tuple[Sequence[str], Sequence[float]]:
    """Return the names and the currents or forces in a message of the chosen kind."""
    names = messages.names if messages.message_type == ARRAY else message.name
    return names, getattr(message, FIELDS[messages.message_type])
