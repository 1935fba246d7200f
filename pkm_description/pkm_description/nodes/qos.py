"""Quality of service that several nodes share."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile

# The last word reaches whoever comes later.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
