"""A client of the whole graph: excite, identify, choose the model, switch effects."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from std_srvs.srv import SetBool

from pkm_bringup.nodes.excite_client import run_excitation
from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite
from pkm_msgs.srv import ApplyModel, Identify, SetModel

Progress = Callable[[str, float], None]

START_TIMEOUT = 90.0  # [s] for nodes to come up on a loaded machine
ANSWER_TIMEOUT = 120.0
STATE_TIMEOUT = 5.0  # [s] until a state is asked for again: an answer to a new client can be lost


class RobotClient(GraphClient):
    """Calls the nodes of a running robot, blocking."""

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        super().__init__('pkm_client', check)
        self._clients: dict[str, Any] = {}

    def wait_until_ready(self) -> None:
        """Wait for all servers, and for the controller to be active."""
        name = 'excitation_server/excite'
        self._require(self.action(Excite, name).server_is_ready, name)
        self._service(Identify, 'estimation_server/identify')
        name, label = 'trajectory_controller/get_state', 'silent'
        states = self._service(GetState, name)
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            answer = states.call_async(GetState.Request())
            if self.wait(answer.done, STATE_TIMEOUT):
                label = answer.result().current_state.label
                if answer.result().current_state.id == State.PRIMARY_STATE_ACTIVE:
                    return
            self.spin(0.2)
        raise GraphError(
            f"'trajectory_controller' is {label}, not active, after {START_TIMEOUT:g} s"
        )

    def excite(
        self, trajectory: Trajectory, periods: int, bag: Path, progress: Progress
    ) -> Excite.Result:
        """Run and record a trajectory; raises GraphError unless the recording is usable."""
        goal = Excite.Goal(trajectory=to_message(trajectory), periods=periods, bag=str(bag))

        def told(feedback: Excite.Feedback) -> None:
            progress(feedback.phase, float(feedback.fraction))

        result = run_excitation(self, goal, 'excitation_server', ANSWER_TIMEOUT, told)
        if not result.quality.usable:
            raise GraphError(f"the recording '{bag}' is not usable: {result.quality.warnings}")
        return result

    def identify(
        self, data: Path, estimator: str, output: Path, **options: Any
    ) -> Identify.Response:
        """Identify from a recording and write a model file."""
        request = Identify.Request(
            data=str(data),
            estimator=estimator,
            output=str(output),
            option_name=list(options),
            option_value=[json.dumps(value) for value in options.values()],
        )
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
        answer = self._service(kind, name).call_async(request)
        if not self.wait(answer.done, ANSWER_TIMEOUT):
            raise GraphError(f"'{name}' did not answer within {ANSWER_TIMEOUT:g} s")
        return answer.result()

    def _service(self, kind: Any, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        self._require(self._clients[name].service_is_ready, name)
        return self._clients[name]

    def _require(self, is_ready: Callable[[], bool], name: str) -> None:
        if not self.wait(is_ready, START_TIMEOUT):
            raise GraphError(f"nobody serves '{name}' after {START_TIMEOUT:g} s")
