"""Listens to the graph of a robot that rests, for the check-list; publishes and asks no motion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameters
from rclpy.exceptions import InvalidNamespaceException, InvalidTopicNameException
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.validate_namespace import validate_namespace
from rclpy.validate_topic_name import validate_topic_name
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray, String

from pkm_bringup.commissioning import graph_at_rest, states_at_rest
from pkm_bringup.commissioning.check_lines import Finding, failed
from pkm_bringup.commissioning.graph_at_rest import Brakes
from pkm_bringup.commissioning.robot_topics import RobotTopics
from pkm_bringup.commissioning.states_at_rest import Heard
from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_description.nodes.qos import LATCHED
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import BANDWIDTH
from pkm_msgs.msg import MotorCurrents

CONTROLLER = 'trajectory_controller'
PATIENCE = 5.0  # [s] for an answer of the controller
MEASURED = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
FORCES = {
    'pkm_msgs/msg/MotorCurrents': MotorCurrents,
    'sensor_msgs/msg/JointState': JointState,
    'std_msgs/msg/Float64MultiArray': Float64MultiArray,
}
# Of a controller that does not answer: its own defaults.
DEFAULTS: dict[str, Any] = {
    'bandwidth': BANDWIDTH,
    'state_timeout': 0.1,
    'update_mode': 'timer',
    'drives_say_ready': False,
    'drives_say_homed': False,
}


class CommissionClient(GraphClient):
    """Hears a robot for a while and judges it.

    One that `moves` the robot afterwards is a node of another name: with SROS 2 it takes another
    key.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        topics: RobotTopics | None = None,
        namespace: str = '',  # of the robot's nodes and topics
        check: Callable[[], None] = lambda: None,
        moves: bool = False,
    ) -> None:
        self.model, self.topics = model, topics or RobotTopics()
        for topic in self.topics:
            with _refusing(topic, 'name of a topic'):
                validate_topic_name(topic)
        names = dict(zip(RobotTopics(), self.topics, strict=True))
        if namespace:
            names['__ns'] = f'/{namespace.strip("/")}'
            with _refusing(namespace, 'namespace'):
                validate_namespace(names['__ns'])
        super().__init__(
            'pkm_commission_move' if moves else 'pkm_commission', check, remappings=names
        )
        self.states: list[tuple[float, JointState]] = []
        self._forces = self._efforts = 0
        self._said: dict[str, Any] = {}
        self._services: dict[str, Any] = {}
        self._force_kind: str | None = None
        node = self.node
        self._hearing = node.create_subscription(
            JointState, self.topics.joint_states, self._hear, MEASURED
        )
        for name in ('brakes_closed', 'drives_ready', 'drives_homed'):
            topic = getattr(self.topics, name)
            node.create_subscription(Bool, topic, partial(self._note, name), LATCHED)
        ready = f'{CONTROLLER}/ready_to_move'
        node.create_subscription(String, ready, partial(self._note, 'ready'), LATCHED)

    def listen(self, seconds: float, done: Callable[[], bool] = lambda: False) -> list[Finding]:
        """Listen for `seconds` [s], or until `done`, and return the check-list."""
        values = DEFAULTS | self.parameters(*DEFAULTS)
        label, active = self.state()
        begin = time.monotonic()
        self.hear(seconds, done)
        return self._judge(time.monotonic() - begin, values, label, active)

    def hear(self, seconds: float, done: Callable[[], bool] = lambda: False) -> None:
        """Hear states and forces for `seconds` [s], or until `done`; ask nobody anything."""
        self.states.clear()
        self._forces = self._efforts = 0

        def heard() -> bool:
            if self._force_kind is None:
                self._find_forces()
            return done()

        self.wait(heard, seconds)

    def deafen(self) -> None:
        """Hear no more states: who goes on listening has the time for it."""
        self.node.destroy_subscription(self._hearing)

    @property
    def hindrance(self) -> str | None:
        """What `~/ready_to_move` said last, None where it said nothing."""
        return self._said.get('ready')

    @property
    def brakes(self) -> Brakes:
        """Who heeds the brakes' topic, and what the brakes said last."""
        topics, listeners = self.topics, self.node.count_subscribers(self.topics.brakes_close)
        closed = self._said.get('brakes_closed')
        return Brakes(listeners, closed, topics.brakes_close, topics.brakes_closed)

    def ask(self, kind: Any, name: str, request: Any, patience: float | None = None) -> Any:
        """Return the answer of a service of the controller, None where none comes."""
        patience = PATIENCE if patience is None else patience
        if name not in self._services:
            self._services[name] = self.node.create_client(kind, f'{CONTROLLER}/{name}')
        client = self._services[name]
        if not self.wait(client.service_is_ready, patience):
            return None
        answer = client.call_async(request)
        return answer.result() if self.wait(answer.done, patience) else None

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return parameters of the controller by name, those that it has."""
        answer = self.ask(GetParameters, 'get_parameters', GetParameters.Request(names=names))
        if answer is None:
            return {}
        values = map(parameter_value_to_python, answer.values)
        return {name: v for name, v in zip(names, values, strict=False) if v is not None}

    def state(self) -> tuple[str | None, bool]:
        """Return the state of the controller, None where it is silent, and whether it is active."""
        answer = self.ask(GetState, 'get_state', GetState.Request())
        if answer is None:
            return None, False
        state = answer.current_state
        return state.label, state.id == State.PRIMARY_STATE_ACTIVE

    # -- internals ----------------------------------------------------------------

    def _hear(self, message: JointState) -> None:
        self.states.append((time.time(), message))
        self._efforts += len(message.effort) > 0

    def _note(self, name: str, message: Any) -> None:
        self._said[name] = message.data

    def _count(self, _: Any) -> None:
        self._forces += 1

    def _find_forces(self) -> None:
        wanted = self.node.resolve_topic_name(self.topics.motor_currents)
        kinds = dict(self.node.get_topic_names_and_types()).get(wanted, [])
        for kind in kinds:
            if kind in FORCES and self._force_kind is None:
                self._force_kind = kind
                self.node.create_subscription(FORCES[kind], wanted, self._count, MEASURED)

    def _judge(
        self, seconds: float, values: dict[str, Any], label: str | None, active: bool
    ) -> list[Finding]:
        findings = self._judge_states(values)
        if self._forces or not self._efforts:
            came, what = self._forces, self._force_kind or ''
        else:
            came, what = self._efforts, f'efforts on {self.topics.joint_states}'
        findings.append(graph_at_rest.forces(came, len(self.states), seconds, what))
        commands, node = self.topics.effort_commands, self.node
        sent, taken = (
            [each.node_name for each in ends(commands) if each.node_name != node.get_name()]
            for ends in (node.get_publishers_info_by_topic, node.get_subscriptions_info_by_topic)
        )
        findings += graph_at_rest.commands(sent, taken, CONTROLLER)
        findings.append(graph_at_rest.brakes(self.brakes))
        for what in ('ready', 'homed'):
            name, awaited = f'drives_{what}', values[f'drives_say_{what}']
            topic, said = getattr(self.topics, name), self._said.get(name)
            findings.append(graph_at_rest.drives(what, topic, said, awaited))
        return findings + graph_at_rest.controller(label, active, self.hindrance)

    def _judge_states(self, values: dict[str, Any]) -> list[Finding]:
        whole = [each for each in self.states if len(each[1].position) == len(each[1].name)]
        if not whole:
            found = f'{len(self.states)} heard, none of them with a position for each name'
            return [failed('states', found, 'start the driver, or compare the topic of the states')]
        names = tuple(whole[-1][1].name)
        same = [(at, each) for at, each in whole if tuple(each.name) == names]
        heard = Heard(
            names,
            np.array(
                [each.header.stamp.sec + 1e-9 * each.header.stamp.nanosec for _, each in same]
            ),
            np.array([at for at, _ in same]),
            np.array([each.position for _, each in same]),
        )
        motors = spoken_by(self.model.description)
        joints = list(self.model.actuated_joints if motors is None else motors.motors)
        lockstep = values['update_mode'] == 'state'
        findings = [states_at_rest.names_and_order(joints, heard)]
        timeout = values['state_timeout']
        findings += states_at_rest.timing(heard, values['bandwidth'], timeout, lockstep)
        if not set(joints) <= set(names):
            return findings
        positions = heard.positions[:, [names.index(name) for name in joints]]
        if motors is not None:
            positions = motors.joint_positions(positions)
        findings += states_at_rest.places(self.model, positions[-1])
        return findings + states_at_rest.noise(self.model, positions)


@contextmanager
def _refusing(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except (InvalidTopicNameException, InvalidNamespaceException):
        raise GraphError(f"'{name}' is no {what}: letters, digits, '_' and '/'") from None
