"""What people, safety devices and drives tell the controller besides goals."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, Float64
from std_srvs.srv import Trigger

from pkm_control.interlocks import Interlocks
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.joint_state_reader import PolledSubscription
from pkm_control.safeguards.protective_stop import ProtectiveStop
from pkm_control.safeguards.stop_requests import StopRequests
from pkm_control.stops import StopEvent
from pkm_description.errors import TrajectoryError
from pkm_description.nodes.qos import LATCHED

REQUESTS = QoSProfile(depth=10)


class SafetyInputs:
    """Topics and services beside the goals; `poll` runs in the thread of the control loop.

    `~/protective_stop` (std_msgs/Bool, or the service std_srvs/Trigger) stops the robot by
    category 1 and keeps it from being activated until the service `~/reset_protective_stop`,
    which is refused while a publisher of the topic has said True last and is there.
    `~/speed_override` (std_msgs/Float64, 0 to 1) slows motions down on their paths.
    `drives/ready`, `drives/homed` and `~/enabling_device` (std_msgs/Bool) are for the interlocks.
    """

    def __init__(
        self, node: Node, loop: Callable[[], ControlLoop | None], interlocks: Interlocks
    ) -> None:
        self._node = node
        self._loop = loop
        self.interlocks = interlocks
        self._hindered = False  # whether the motion under way was told to stop for an interlock
        self.protective_stop = ProtectiveStop()
        self._asking = StopRequests()
        self.override = 1.0
        self._requests = PolledSubscription(node, Bool, '~/protective_stop', REQUESTS)
        self._overrides = PolledSubscription(node, Float64, '~/speed_override', REQUESTS)
        self._drives = PolledSubscription(node, Bool, 'drives/ready', LATCHED)
        self._homed = PolledSubscription(node, Bool, 'drives/homed', LATCHED)
        self._enabling = PolledSubscription(node, Bool, '~/enabling_device', REQUESTS)
        self._latched = node.create_publisher(Bool, '~/protective_stop_active', LATCHED)
        group = ReentrantCallbackGroup()
        services = (('~/protective_stop', self._on_stop), ('~/reset_protective_stop', self._reset))
        for name, callback in services:
            node.create_service(Trigger, name, callback, callback_group=group)
        self._latched.publish(Bool(data=False))

    def poll(self) -> None:
        """Take what has come."""
        while (request := self._requests.take()) is not None:
            self._asking.hear(self._requests.number, bool(request.data), time.monotonic())
            if request.data:
                self._stop('asked for on the topic protective_stop', lasting=True)
            elif not self._asking.open:
                self.protective_stop.release()
        while (override := self._overrides.take()) is not None:
            self._set_override(override.data)
        while (drives := self._drives.take()) is not None:
            self.interlocks.hear_drives(bool(drives.data))
        while (homed := self._homed.take()) is not None:
            self.interlocks.hear_homed(bool(homed.data))
        while (device := self._enabling.take()) is not None:
            self.interlocks.hear_enabling_device(bool(device.data), time.monotonic())
        self._lock()

    def destroy(self) -> None:
        """Remove the subscriptions; no thread may poll any more."""
        self._requests.destroy()
        self._overrides.destroy()
        self._drives.destroy()
        self._homed.destroy()
        self._enabling.destroy()

    def _lock(self) -> None:
        """Stop what must not go on."""
        loop = self._loop()
        if loop is None or not loop.commanding or loop.stopping:
            return
        if (hindrance := self.interlocks.of_power) is not None:
            loop.shut_down(*hindrance)
            return
        hindrance = self.interlocks.of_motion(time.monotonic())
        if hindrance is None or not loop.controller.busy:
            self._hindered = False
        elif not self._hindered:
            self._hindered = True
            with loop.lock:
                loop.controller.stop(*hindrance)

    def _stop(self, reason: str, lasting: bool = False) -> None:
        if not self.protective_stop.request(reason, lasting):
            return
        self._node.get_logger().fatal(f'protective stop: {reason}')
        self._latched.publish(Bool(data=True))
        loop = self._loop()
        if loop is not None:
            loop.shut_down(StopEvent.PROTECTIVE_STOP, f'protective stop {reason}')

    def _set_override(self, rate: float) -> None:
        loop = self._loop()
        if loop is None:
            return
        try:
            with loop.lock:
                loop.controller.set_rate(float(rate))
        except TrajectoryError as error:
            self._node.get_logger().error(f'speed_override: {error}', throttle_duration_sec=1.0)
            return
        self.override = float(rate)

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._stop('asked for by the service')
        response.success = True
        response.message = self.protective_stop.reason
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        loop = self._loop()
        if self._asking.abandoned(len(self._requests.publishers), time.monotonic()):
            self._asking.clear()
            self.protective_stop.release()
        if loop is not None and loop.commanding:
            response.message = 'the robot is still stopping'
        elif not self.protective_stop.reset():
            response.message = 'a publisher of the topic protective_stop still asks for it'
        else:
            self._latched.publish(Bool(data=False))
            response.success, response.message = True, 'the controller may be activated'
        return response
