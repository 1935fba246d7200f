"""Hears the estimates of an online estimator."""

from __future__ import annotations

import time

import numpy as np

from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_description import Description
from pkm_msgs.msg import DynamicParameters

Estimate = tuple[float, list[str], np.ndarray, np.ndarray]  # time [s], names, values, covariance
FIRST = 30.0  # [s] until somebody must publish


class EstimateListener(GraphClient):
    """Estimates of one robot, as they come."""

    def __init__(self, topic: str, description: Description) -> None:
        super().__init__('pkm_monitor')
        self._topic, self._description = topic, description
        self._heard: list[DynamicParameters] = []
        self.node.create_subscription(DynamicParameters, topic, self._heard.append, 10)
        self._begun = time.monotonic()
        self._silent = True

    def next(self) -> Estimate | None:
        """Wait a moment for an estimate; None where none has come.

        GraphError where nobody publishes, or estimates are of another robot.
        """
        if not self._heard:
            self.spin()
        if not self._heard:
            late = time.monotonic() - self._begun > FIRST
            if self._silent and late and not self.node.count_publishers(self._topic):
                raise GraphError(
                    f"'{self._topic}' is no folder, and nobody publishes estimates there; start "
                    'the online estimator (control.launch.py online:=true)'
                )
            return None
        self._silent = False
        message, own = self._heard.pop(0), self._description
        if (message.robot, message.description_digest) != (own.name, own.digest):
            raise GraphError(
                f"'{self._topic}': estimates of robot '{message.robot}', or of another version of "
                f"its description than '{own.name}'"
            )
        stamp, count = message.header.stamp, len(message.name)
        covariance = np.array(message.covariance)
        if len(covariance) != count**2:
            raise GraphError(f"'{self._topic}': estimates without their covariance")
        when = stamp.sec + 1e-9 * stamp.nanosec
        values = np.array(message.value)
        return when, list(message.name), values, covariance.reshape(count, count)
