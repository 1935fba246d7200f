"""The first moves of a robot, for the check-list: hold, each axis there and back, stop, brakes.

The controller does them, with all of its safeguards, by its own services and its action `~/jog`.
Its bounds of position errors are tight meanwhile: beyond them it powers off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy

from pkm_bringup.commissioning import first_moves
from pkm_bringup.commissioning.check_lines import Finding, Verdict, any_failed, failed, skipped
from pkm_bringup.commissioning.first_moves import Way
from pkm_bringup.nodes.commission_client import CONTROLLER, PATIENCE, CommissionClient
from pkm_bringup.nodes.graph_client import GraphError
from pkm_bringup.nodes.lifeline import Lifeline
from pkm_control.control_types import ControllerOptions, ErrorCode
from pkm_control.nodes.joint_state_reader import PolledSubscription
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_control.safeguards.bound_changes import ERRORS
from pkm_dynamics.array_types import Floats
from pkm_identification.nodes.measured_samples import MEASURED, MeasuredSamples
from pkm_msgs.action import Jog
from pkm_msgs.msg import ControllerState

DISTANCE = 5e-3  # [m, rad] of each axis: seen by the eye, and little harm done
STROKE_SHARE = 0.1  # of the stroke: where that is less
STOP_DISTANCE = 3.0  # times that, for the stop
UNDER_WAY = 0.1  # of the way, where it is canceled: it has half of its speed there
BOUND_SHARE = 0.1  # of the tightest of the bounds of position errors that are set
HOLD = 1.0  # [s] of robot's time
SLOW = 120.0  # [s] for what takes a second, on any machine
LOOK = 1.0  # [s] between looks whether the controller is active
EDGE = 20  # states of rest before and after a motion
WAIT = 0.01  # [s] between looks at what has come
TOLD = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class _Drained(MeasuredSamples):
    """Samples that are taken all at once: an executor is too slow for those of 1 kHz."""

    def __init__(self, *given: Any) -> None:
        self._polled: dict[PolledSubscription, Callable[[Any], None]] = {}
        super().__init__(*given)

    def _subscribe(self, kind: Any, topic: str, take: Callable[[Any], None]) -> Any:
        polled = PolledSubscription(self._node, kind, topic, MEASURED)
        self._polled[polled] = take
        return polled

    def _unsubscribe(self, subscription: Any) -> None:
        del self._polled[subscription]
        subscription.destroy()

    def drain(self) -> None:
        """Take all that has come."""
        for polled, take in self._polled.items():
            while (message := polled.take()) is not None:
                take(message)


class CommissionMoves:
    """Moves the robot that a `CommissionClient` listens to; raises GraphError where it cannot.

    `tell` is called with what comes next.
    """

    def __init__(self, client: CommissionClient, tell: Callable[[str], None]) -> None:
        self._client, self._model, self._tell = client, client.model, tell
        self._states: list[ControllerState] = []
        self._forces: list[tuple[float, Floats]] = []
        self._places: list[tuple[float, Floats]] = []
        node = client.node
        client.deafen()
        self._told = PolledSubscription(node, ControllerState, f'{CONTROLLER}/state', TOLD)
        self._samples = _Drained(
            *(node, self._model, None),
            lambda time, values: self._places.append((time, values)),
            lambda time, values: self._forces.append((time, values)),
        )

    def run(self, active: bool) -> list[Finding]:
        """Make the moves and return their lines; the first failed one ends them.

        Where the controller was `active` it is so again afterwards, if all went well; else it is
        inactive, whatever ends the moves.
        """
        findings: list[Finding] = []
        try:
            with self._tight_bounds() as stop_time:
                if not active:
                    self._tell('activates the controller: the brakes open')
                    self._change(Transition.TRANSITION_ACTIVATE)
                for finding in self._moves(stop_time):
                    findings.append(finding)
                    if finding.verdict is Verdict.FAILED:
                        raise _Ended(None)
                findings.append(self._brakes())
            if active and not any_failed(findings):
                self._change(Transition.TRANSITION_ACTIVATE)
        except _Ended as end:
            findings += [] if end.finding is None else [end.finding]
        return findings

    # -- the moves ------------------------------------------------------------------

    def _moves(self, stop_time: float) -> Iterator[Finding]:
        model = self._model
        self._tell('holds')
        yield first_moves.hold(model, self._hold())
        for axis, name in enumerate(model.actuated_joints):
            way = self._distance(axis)
            self._tell(f'moves {name} by {1e3 * way:+.3g} mm or mrad and back')
            there, back = self._jog(axis, way), self._jog(axis, -way)
            yield first_moves.axis_moves(model, axis, way, there, back)
            yield from first_moves.load_and_friction(model, axis, there, back)
            yield first_moves.measured_force(model, axis, there, back)
        self._tell('stops a motion')
        yield self._stop(stop_time)

    def _distance(self, axis: int, share: float = 1.0) -> float:
        """Return a small way [m, rad] of an axis, towards the middle of its stroke."""
        lower, upper = self._model.lower[axis], self._model.upper[axis]
        way = share * DISTANCE
        if not np.isfinite(upper - lower):
            return way
        way = min(way, STROKE_SHARE * (upper - lower))
        return way if self._states[-1].position[axis] <= 0.5 * (lower + upper) else -way

    def _hold(self) -> Way:
        self._begin()
        self._require(lambda: self._span() >= HOLD and len(self._states) > EDGE)
        return self._way()

    def _jog(self, axis: int, distance: float, cancel: bool = False) -> Way:
        """Move an axis; canceled under way where that is asked for."""
        self._begin()
        client, name = self._client, self._model.actuated_joints[axis]
        action = client.action(Jog, f'{CONTROLLER}/jog')
        if not client.wait(action.server_is_ready, PATIENCE):
            raise GraphError(f"no node serves the action '{CONTROLLER}/jog'")
        with Lifeline(client, CONTROLLER, action.server_is_ready) as line:
            timeout = line.heartbeat_timeout
            goal = Jog.Goal(coordinate=name, distance=distance, heartbeat_timeout=timeout)
            sent = action.send_goal_async(goal, goal_uuid=line.goal)
            self._wait(sent.done, line=line)
            if not sent.result().accepted:
                raise _Ended(failed(f'way of {name}', 'not accepted', 'see the controller'))
            ended = sent.result().get_result_async()
            try:
                if cancel:
                    begun, part = self._states[-1].position[axis], UNDER_WAY * abs(distance)
                    self._wait(
                        lambda: ended.done() or abs(self._states[-1].position[axis] - begun) > part,
                        line=line,
                    )
                    sent.result().cancel_goal_async()
                self._wait(ended.done, line=line)
            except BaseException:  # Ctrl-C too: the robot comes to rest
                sent.result().cancel_goal_async()
                client.wait(lambda: ended.done() or line.gone(), PATIENCE)
                raise
        result = ended.result().result
        code = ErrorCode(result.error_code)
        if code is not ErrorCode.NONE and not (cancel and code is ErrorCode.CANCELED):
            found = f'{code.name}: {result.error_msg}'
            raise _Ended(failed(f'way of {name}', found, 'mend that before anything moves'))
        self._require(self._rests)  # states may come later than the result
        return self._way()

    def _rests(self) -> bool:
        """Whether all states of a motion have come, and some of the rest after it."""
        rest = [each.phase == ControllerState.HOLD for each in self._states[-EDGE:]]
        return (
            len(rest) == EDGE
            and all(rest)
            and not all(each.phase == ControllerState.HOLD for each in self._states)
        )

    def _stop(self, stop_time: float) -> Finding:
        axis = 0
        way = self._distance(axis, STOP_DISTANCE)
        began = self._states[-1].position[axis]
        found = self._jog(axis, way, cancel=True)
        finding = first_moves.stop(self._model, axis, stop_time, found)
        rest = began - self._states[-1].position[axis]
        if abs(rest) > 1e-6:
            self._jog(axis, float(rest))
        return finding

    def _brakes(self) -> Finding:
        self._tell('closes the brakes')
        before = np.array(self._states[-1].position)
        self._change(Transition.TRANSITION_DEACTIVATE)
        self._begin()
        if not self._wait(lambda: self._span() >= HOLD, HOLD + PATIENCE):
            return skipped('brakes bear the robot', 'the robot sends no states without commands')
        after = self._places[-1][1]
        return first_moves.brakes(self._model, self._client.brakes, before, after)

    # -- the controller ---------------------------------------------------------------

    @contextmanager
    def _tight_bounds(self) -> Iterator[float]:
        """Let the bounds of position errors be tight; gives the time of a stop [s]."""
        values = self._client.parameters(*ERRORS, 'stop_time')
        if not set(ERRORS) <= values.keys():
            raise GraphError(f"'{CONTROLLER}' does not tell its bounds of position errors")
        usual = {name: values[name] for name in ERRORS}
        bounds = error_bounds(self._model, ControllerOptions(**usual))
        tight = [BOUND_SHARE * float(each.min()) for each in bounds]
        self._set(dict(zip(ERRORS, tight, strict=True)))
        try:
            yield values['stop_time']
        except BaseException:  # Ctrl-C too; the first error counts
            self._change(Transition.TRANSITION_DEACTIVATE, required=False)
            try:
                self._set(usual)
            except GraphError as refusal:
                self._tell(f'the bounds of position errors stay tight: {refusal}')
            raise
        self._set(usual)

    def _set(self, values: dict[str, float]) -> None:
        wanted: list[ParameterMessage] = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        request = SetParametersAtomically.Request(parameters=wanted)
        answer = self._client.ask(SetParametersAtomically, 'set_parameters_atomically', request)
        if answer is None:
            raise GraphError(f"'{CONTROLLER}' takes no bounds of position errors")
        if not answer.result.successful:
            raise GraphError(f"'{CONTROLLER}': {answer.result.reason}")

    def _change(self, number: int, required: bool = True) -> None:
        request = ChangeState.Request(transition=Transition(id=number))
        answer = self._client.ask(ChangeState, 'change_state', request, SLOW)
        if required and (answer is None or not answer.success):
            what = 'activated' if number == Transition.TRANSITION_ACTIVATE else 'deactivated'
            hindrance = self._client.hindrance or 'see its log'
            raise _Ended(failed('controller', f'cannot be {what}: {hindrance}', 'mend that first'))

    # -- what comes ---------------------------------------------------------------------

    def _wait(
        self, done: Callable[[], bool], limit: float = inf, line: Lifeline | None = None
    ) -> bool:
        """Take all that comes until a condition holds, for `limit` [s] at most; whether it does.

        Raises GraphError where the controller, at the other end of the `line`, is gone.
        """

        def looked() -> bool:
            while (state := self._told.take()) is not None:
                self._states.append(state)
                if line is not None:
                    line.hear()
            self._samples.drain()
            if done():
                return True
            if line is not None and line.gone():
                raise GraphError(f"'{CONTROLLER}' is gone or silent: look at the robot")
            return False

        return self._client.wait(looked, limit, WAIT)

    def _begin(self) -> None:
        last = self._states[-EDGE:]
        for heard in (self._states, self._forces, self._places):
            heard.clear()
        self._states += last

    def _span(self) -> float:
        """Robot's time [s] since `_begin`."""
        return self._places[-1][0] - self._places[0][0] if self._places else 0.0

    def _require(self, done: Callable[[], bool]) -> None:
        """Wait while the controller is active."""
        end = time.monotonic() + SLOW
        while not self._wait(done, LOOK):
            if time.monotonic() > end:
                advice = 'compare the topics of the states and the namespaces'
                raise _Ended(failed('controller', f"'{CONTROLLER}/state' is silent", advice))
            label, active = self._client.state()
            if not active and not done():
                found = f'the controller is {label}: {self._client.hindrance}'
                raise _Ended(failed('controller', found, 'mend that before anything moves'))

    def _way(self) -> Way:
        states = self._states
        time = np.array([_stamp(each) for each in states])
        arrays = {
            name: np.array([getattr(each, name) for each in states])
            for name in ('position', 'desired_velocity', 'command')
        }
        return Way(
            time=time,
            stopping=np.array([each.phase == ControllerState.STOPPING for each in states]),
            force=self._forces_at(time),
            **arrays,
        )

    def _forces_at(self, time: Floats) -> Floats | None:
        """Return measured forces (N, n_a) between those that were heard, nan outside of them."""
        if len(self._forces) < 2:
            return None
        stamps = np.array([each[0] for each in self._forces])
        values = np.array([each[1] for each in self._forces])
        columns = [np.interp(time, stamps, column, np.nan, np.nan) for column in values.T]
        return np.array(columns).T


class _Ended(Exception):
    """The moves end, with this line where the last one does not say why."""

    def __init__(self, finding: Finding | None) -> None:
        super().__init__(finding and finding.found)
        self.finding = finding


def _stamp(state: Any) -> float:
    return float(state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec)
