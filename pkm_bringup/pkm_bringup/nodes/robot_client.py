"""A client of the whole graph: excite, identify, choose the model, switch effects."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool

from pkm_bringup.processes import ProcessError
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite
from pkm_msgs.srv import ApplyModel, Identify, SetModel

Progress = Callable[[str, float], None]

START_TIMEOUT = 90.0  # [s] for nodes to come up on a loaded machine
ANSWER_TIMEOUT = 120.0
SPIN = 0.05


class GraphError(ProcessError):
    """A server refused, failed or did not answer; the message is the server's own."""


class RobotClient:
    """Calls the nodes of a running robot, blocking.

    Parameters
    ----------
    check : callable
        Called while waiting; raises when waiting has become pointless (a node has ended).
    """

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self._check = check
        rclpy.init(args=[])
        self._node = rclpy.create_node('pkm_client')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._excite = ActionClient(self._node, Excite, 'excitation_server/excite')
        self._clients: dict[str, Any] = {}

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._node.destroy_node()
        rclpy.try_shutdown()

    def __enter__(self) -> RobotClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def wait_until_ready(self) -> None:
        """Wait for all servers, and for the controller to be active."""
        self._until(self._excite.server_is_ready, 'excitation_server/excite')
        self._service(Identify, 'estimation_server/identify')
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            answer = self._call(GetState, 'trajectory_controller/get_state', GetState.Request())
            if answer.current_state.id == State.PRIMARY_STATE_ACTIVE:
                return
            self._spin(0.2)
        raise GraphError(
            f"'trajectory_controller' is {answer.current_state.label}, not active, after "
            f'{START_TIMEOUT:g} s'
        )

    def excite(
        self, trajectory: Trajectory, periods: int, bag: Path, progress: Progress
    ) -> Excite.Result:
        """Run and record a trajectory; raises GraphError unless the recording is usable."""
        goal = Excite.Goal(trajectory=to_message(trajectory), periods=periods, bag=str(bag))

        def on_feedback(message: Any) -> None:
            progress(message.feedback.phase, float(message.feedback.fraction))

        handle = self._wait(
            self._excite.send_goal_async(goal, feedback_callback=on_feedback),
            'excitation_server/excite',
        )
        if not handle.accepted:
            raise GraphError(f"the excitation server rejected the goal for '{bag}'")
        try:
            answer = self._wait(handle.get_result_async(), 'excitation_server/excite', math.inf)
        except KeyboardInterrupt:
            self._wait(handle.cancel_goal_async(), 'excitation_server/excite')
            raise
        result = answer.result
        if result.error_code:
            raise GraphError(f'excite (error {result.error_code}): {result.error_msg}')
        if not result.quality.usable:
            raise GraphError(f"the recording '{bag}' is not usable: {result.quality.warnings}")
        return result

    def identify(self, data: Path, estimator: str, output: Path) -> Identify.Response:
        """Identify from a recording and write a model file."""
        request = Identify.Request(data=str(data), estimator=estimator, output=str(output))
        return self._succeed(Identify, 'estimation_server/identify', request)

    def apply_model(self, model: Path, friction: bool = True) -> None:
        """Make the controller use an identified model, with or without its friction."""
        request = ApplyModel.Request(model=str(model), friction=friction)
        self._succeed(ApplyModel, 'estimation_server/apply_model', request)

    def remove_model(self) -> None:
        """Make the controller use feedback alone."""
        request = SetModel.Request(source=SetModel.Request.NONE)
        self._succeed(SetModel, 'trajectory_controller/set_model', request)

    def switch_unmodelled_effects(self, on: bool) -> None:
        """Switch what the simulated robot has and the model does not."""
        name = 'simulated_robot/unmodelled_effects'
        answer = self._call(SetBool, name, SetBool.Request(data=on))
        if not answer.success:
            raise GraphError(f"'{name}': {answer.message}")

    # -- internals ----------------------------------------------------------------

    def _succeed(self, kind: Any, name: str, request: Any) -> Any:
        answer = self._call(kind, name, request)
        if not answer.success:
            raise GraphError(f"'{name}' (error {answer.error_code}): {answer.error_msg}")
        return answer

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        return self._wait(self._service(kind, name).call_async(request), name)

    def _service(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        client = self._clients[name]
        self._until(client.service_is_ready, name)
        return client

    def _until(self, condition: Callable[[], bool], name: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not condition():
            if time.monotonic() > deadline:
                raise GraphError(f"nobody serves '{name}' after {START_TIMEOUT:g} s")
            self._spin(SPIN)

    def _wait(self, future: Any, name: str, timeout: float = ANSWER_TIMEOUT) -> Any:
        deadline = time.monotonic() + timeout
        while not future.done():
            if time.monotonic() > deadline:
                raise GraphError(f"'{name}' did not answer within {timeout:g} s")
            self._spin(SPIN)
        return future.result()

    def _spin(self, seconds: float) -> None:
        self._check()
        self._executor.spin_once(timeout_sec=seconds)
