"""What the controller's node publishes and takes as parameters, without a graph."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402

from pkm_control.control_types import ErrorCode, StepResult  # noqa: E402
from pkm_control.loop_statistics import LoopStatistics  # noqa: E402
from pkm_control.nodes.controller_diagnostics import ControllerDiagnostics  # noqa: E402
from pkm_control.nodes.controller_parameters import PARAMETERS, controller_options  # noqa: E402
from pkm_control.nodes.controller_publishers import ControllerPublishers  # noqa: E402
from pkm_dynamics.trajectories import Phase  # noqa: E402


class Node:
    """Keeps a copy of what is published, by topic."""

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}
        self.messages: list = []

    def create_publisher(self, kind, topic, qos):
        def publish(message) -> None:
            self.sent.setdefault(topic, []).append(repr(message))
            self.messages.append(message)

        return SimpleNamespace(publish=publish)

    def get_fully_qualified_name(self) -> str:
        return '/trajectory_controller'

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))


def result() -> StepResult:
    vectors = [np.array([k + 0.25, -k - 0.5]) for k in range(6)]
    flags = np.array([[False, True], [False, False]])
    return StepResult(7.0, Phase.RUN, 1.5, 3, 0.4, 2.5, *vectors, *flags, 'wls', None)


def test_each_field_of_the_state_is_what_it_is_called() -> None:
    node, expected = Node(), result()
    publishers = ControllerPublishers(node, ['a', 'b'])
    publishers.publish(expected, Time(sec=4, nanosec=9), 0.00012)
    command, state = node.messages
    assert list(command.data) == expected.command.tolist()
    assert list(state.name) == ['a', 'b'] and state.header.stamp == Time(sec=4, nanosec=9)
    assert (state.phase, state.trajectory_time, state.period_index) == (int(Phase.RUN), 1.5, 3)
    for field in (
        'desired_position',
        'desired_velocity',
        'position',
        'feedforward',
        'feedback',
        'command',
    ):
        assert list(getattr(state, field)) == getattr(expected, field).tolist(), field
    assert list(state.saturated) == [False, True]
    assert (state.model, state.compute_time) == ('wls', 0.00012)


def test_the_last_command_is_repeated_and_zero_is_zero() -> None:
    node = Node()
    publishers = ControllerPublishers(node, ['a', 'b'])
    publishers.publish(result(), Time(), 0.0)
    publishers.repeat()
    first, again = node.sent['effort_controller/commands']
    assert first == again
    publishers.zero()
    assert list(node.messages[-1].data) == [0.0, 0.0]
    assert len(node.sent['~/state']) == 1


def loop(**changes):
    facts = {'commanding': True, 'running': True, 'last_result': result(), 'state_age': 0.002}
    facts |= {'statistics': LoopStatistics(), 'period': None}
    facts |= {'stopping': False, 'has_recent_state': True}
    named = SimpleNamespace(name='nominal')
    facts['controller'] = SimpleNamespace(feedforward=named, bandwidth_share=0.62, busy=False)
    return SimpleNamespace(**(facts | changes))


def test_diagnostics_keep_a_fault_until_commands_flow_again() -> None:
    node = Node()
    diagnostics = ControllerDiagnostics(node, 'palida')

    def status(of) -> DiagnosticStatus:
        diagnostics.publish(of)
        return node.messages[-1].status[0]

    assert status(None).message == 'not configured'
    active = status(loop())
    values = {item.key: item.value for item in active.values}
    assert (active.level, active.message) == (DiagnosticStatus.OK, 'active')
    assert (active.name, active.hardware_id) == ('/trajectory_controller', 'palida')
    assert (values['phase'], values['feedforward']) == ('RUN', 'nominal')
    assert float(values['position error [m, rad]']) == 2.0
    diagnostics.fault(ErrorCode.STATE_TIMEOUT, 'no joint state')
    for _ in range(2):
        stopped = status(loop(commanding=False))
        assert stopped.level == DiagnosticStatus.ERROR
        assert stopped.message == 'stopped commanding: STATE_TIMEOUT (105): no joint state'
    assert status(loop()).level == DiagnosticStatus.OK
    idle = status(loop(commanding=False))
    assert (idle.level, idle.message) == (DiagnosticStatus.OK, 'inactive, no commands')
    assert {item.key: item.value for item in idle.values}['phase'] == 'IDLE'
    dead = status(loop(running=False))
    assert dead.level == DiagnosticStatus.ERROR and 'thread has ended' in dead.message


def test_diagnostics_show_the_figures_of_the_loop() -> None:
    node, statistics = Node(), LoopStatistics()
    for k in range(101):
        statistics.add(start=k * 0.004, compute=k * 1e-6, late=k * 1e-5)
    statistics.miss(7)
    for _ in range(9):
        statistics.wait(lost=True)
    for _ in range(5):
        statistics.wait(lost=False)
    ControllerDiagnostics(node, 'palida').publish(loop(statistics=statistics))
    values = {item.key: item.value for item in node.messages[-1].status[0].values}
    assert values == {
        'ready to move': 'yes',
        'last rejected goal': '',
        'phase': 'RUN',
        'feedforward': 'nominal',
        'position error [m, rad]': '2.000e+00',
        'joint state age [s]': '0.0020',
        'cycles': '101',
        'success rate [%]': '86.3',
        'servo bandwidth [%]': '62',
        'rate [Hz]': '250.0',
        'missed deadlines': '7',
        'cycles between states': '5',
        'bridged cycles': '9',
        'bounded feedforward [cycles]': '0',
        'compute time p50 [s]': '0.000050',
        'compute time p99 [s]': '0.000099',
        'compute time max [s]': '0.000100',
        'deadline lateness p50 [s]': '0.000500',
        'deadline lateness p99 [s]': '0.000990',
    }


def test_diagnostics_warn_of_cycles_longer_than_their_period() -> None:
    node, statistics = Node(), LoopStatistics()
    for k in range(20):
        statistics.add(start=k * 0.003, compute=0.0024, late=0.0)

    def status(period: float | None) -> DiagnosticStatus:
        ControllerDiagnostics(node, 'palida').publish(loop(statistics=statistics, period=period))
        return node.messages[-1].status[0]

    late = status(0.001)
    assert late.level == DiagnosticStatus.WARN
    assert late.message == (
        'active, but a cycle takes 2.4 ms and the period is 1 ms: lower the rate'
    )
    for period in (0.005, None):
        assert status(period).level == DiagnosticStatus.OK


def test_diagnostics_warn_of_states_that_come_too_late() -> None:
    node, statistics = Node(), LoopStatistics()
    for k in range(900):
        statistics.add(start=k * 0.001, compute=0.0, late=0.0)

    def status() -> DiagnosticStatus:
        ControllerDiagnostics(node, 'palida').publish(loop(statistics=statistics, period=0.001))
        return node.messages[-1].status[0]

    for expected in (DiagnosticStatus.OK, DiagnosticStatus.WARN):
        last = status()
        assert last.level == expected
        statistics.miss(300)
    assert last.message == (
        'active, but only 70% of the states come and are answered in time; the servo keeps 62% of '
        'its bandwidth'
    )


def test_diagnostics_warn_of_a_feedforward_at_its_bound() -> None:
    node, named = Node(), SimpleNamespace(name='wls')
    model = SimpleNamespace(actuated_joints=['a', 'b'])
    controller = SimpleNamespace(feedforward=named, bandwidth_share=1.0, model=model, busy=True)
    bounded = replace(result(), bounded=np.array([False, True]))
    ControllerDiagnostics(node, 'palida').publish(loop(last_result=bounded, controller=controller))
    status = node.messages[-1].status[0]
    assert status.level == DiagnosticStatus.WARN
    assert status.message == (
        'active, but the feedforward of b is held at max_model_difference from that of the '
        'description'
    )


def test_diagnostics_before_the_first_cycle_and_after_a_rejection() -> None:
    node = Node()
    diagnostics = ControllerDiagnostics(node, 'palida')
    diagnostics.rejected(ErrorCode.BUSY, 'another goal')
    diagnostics.publish(None)
    diagnostics.publish(loop(last_result=None))
    unconfigured, waiting = (
        {item.key: item.value for item in message.status[0].values} for message in node.messages
    )
    rejection = {'last rejected goal': 'BUSY (104): another goal'}
    assert unconfigured == {'ready to move': 'yes', **rejection}
    assert waiting['last rejected goal'] == 'BUSY (104): another goal'
    assert (waiting['phase'], waiting['position error [m, rad]']) == ('IDLE', '0.000e+00')
    assert waiting['rate [Hz]'] == 'nan'


def test_parameters_become_the_bounds_of_the_controller() -> None:
    values = {entry.name: entry.default for entry in PARAMETERS}
    given = {
        'velocity_cutoff': 90.0,
        'max_position_error': 0.02,
        'fault_position_error': 0.03,
        'stroke_tolerance': 0.004,
        'stop_time': 0.7,
    }
    values |= given | {'state_timeout': 0.25, 'lockstep_timeout': 8.0}
    timed = controller_options(values | {'update_mode': 'timer'})
    assert {name: getattr(timed, name) for name in given} == given
    assert timed.max_interval == 0.25
    assert controller_options(values | {'update_mode': 'state'}).max_interval == 0.1
