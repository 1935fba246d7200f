"""Parameters of the controller that may change at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.controller_parameters import controller_options
from pkm_control.safeguards.bound_changes import TUNABLE
from pkm_description.errors import PkmError


class BoundTuning:
    """Takes new bounds between two cycles, or refuses them with the reason.

    `values` are those of the node's parameters; accepted ones are written there, so that the
    next configuration begins with them. ROS has checked ranges and read-only parameters before.
    """

    def __init__(
        self, node: Node, values: dict[str, Any], loop: Callable[[], ControlLoop | None]
    ) -> None:
        self._node, self._values, self._loop = node, values, loop
        node.add_on_set_parameters_callback(self._on_set)

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        wanted = {each.name: each.value for each in parameters if each.name in TUNABLE}
        if not wanted:
            return SetParametersResult(successful=True)
        try:
            self._change(wanted)
        except PkmError as refusal:
            self._node.get_logger().error(f'parameters refused: {refusal}')
            return SetParametersResult(successful=False, reason=str(refusal))
        self._values.update(wanted)
        told = ', '.join(f'{name} {value:g}' for name, value in wanted.items())
        self._node.get_logger().info(f'bounds changed: {told}')
        return SetParametersResult(successful=True)

    def _change(self, wanted: dict[str, Any]) -> None:
        options = controller_options({**self._values, **wanted})
        loop = self._loop()
        if loop is not None:
            with loop.lock:
                loop.controller.change_bounds(options)
