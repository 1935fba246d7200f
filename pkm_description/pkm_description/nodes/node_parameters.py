"""Node parameters, declared in one table a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class NodeParameter:
    """One parameter: its default carries the type, `unit` goes into the description."""

    name: str
    default: Any
    description: str
    unit: str = ''
    lower: float | None = None
    upper: float | None = None
    read_only: bool = True

    def descriptor(self) -> ParameterDescriptor:
        """Return the ROS description, with the range where there is one."""
        unit = f' [{self.unit}]' if self.unit else ''
        descriptor = ParameterDescriptor(
            description=self.description + unit, read_only=self.read_only
        )
        if self.lower is None or self.upper is None:
            return descriptor
        if isinstance(self.default, float):
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(self.lower), to_value=float(self.upper))
            ]
        else:
            descriptor.integer_range = [
                IntegerRange(from_value=int(self.lower), to_value=int(self.upper), step=1)
            ]
        return descriptor


def declare_parameters(node: Node, table: Iterable[NodeParameter]) -> dict[str, Any]:
    """Declare a node's table and return the values by name."""
    return {
        entry.name: node.declare_parameter(entry.name, entry.default, entry.descriptor()).value
        for entry in table
    }
