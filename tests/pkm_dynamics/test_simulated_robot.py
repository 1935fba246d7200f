"""Node `simulated_robot` on real rclpy."""

import signal
import subprocess
import sys

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from graph import Graph  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray, MultiArrayDimension  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from pkm_description.nodes.qos import LATCHED  # noqa: E402
from pkm_dynamics.nodes.command_stamps import CommandDeadline, answered_time, stamp_command  # noqa: E402
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot  # noqa: E402
from pkm_msgs.msg import MotorCurrents  # noqa: E402

pytestmark = pytest.mark.ros
QUIET = ('effects.force_noise:=false', 'effects.position_noise:=false')


class Robot(Graph):
    """A graph of a simulated robot and a tester that commands it."""

    def __enter__(self):
        super().__enter__()
        for message_type, topic in (
            (JointState, 'joint_states'),
            (JointState, 'ground_truth'),
            (MotorCurrents, 'motor_currents'),
            (Clock, '/clock'),
            (DiagnosticArray, 'diagnostics'),
        ):
            self.listen(message_type, topic)
        self.publisher = self.tester.create_publisher(
            Float64MultiArray, 'effort_controller/commands', 10
        )
        self.robot = self.add(SimulatedRobot)
        self.until(lambda: self.heard['joint_states'])
        self.until(lambda: self.publisher.get_subscription_count() > 0)
        return self

    def command(self, forces, stamp=None):
        message = Float64MultiArray(data=list(map(float, forces)))
        if stamp is not None:
            stamp_command(message, stamp)
        self.publisher.publish(message)

    def time(self):
        return seconds(self.heard['joint_states'][-1])

    def diagnosed(self, key):
        values = self.heard['diagnostics'][-1].status[0].values if self.heard['diagnostics'] else []
        return {item.key: item.value for item in values}.get(key)


def seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_lockstep_takes_one_step_for_each_command():
    with Robot('lockstep:=true', *QUIET) as robot:
        for step in range(1, 21):
            robot.command(np.full(6, -27.0) + np.arange(6))
            robot.until(lambda step=step: robot.time() >= step * 1e-3 - 1e-9)
        robot.until(lambda: seconds(robot.heard['ground_truth'][-1]) > 0.019)
        robot.until(lambda: seconds(robot.heard['motor_currents'][-1]) > 0.019)
        robot.until(lambda: robot.heard['/clock'][-1].clock.nanosec == 20_000_000)
        assert robot.time() == pytest.approx(0.020, abs=1e-9)
        truth, current = robot.heard['ground_truth'][-1], robot.heard['motor_currents'][-1]
        state = robot.heard['joint_states'][-1]
    assert list(state.name) == [f'leg{i}_strut' for i in range(1, 7)] == list(current.name)
    assert len(state.velocity) == len(state.effort) == 0
    assert seconds(truth) == seconds(current) == pytest.approx(0.01945, abs=1e-9)
    np.testing.assert_allclose(truth.effort, np.full(6, -27.0) + np.arange(6))
    np.testing.assert_allclose(np.array(current.current) * 23.0, truth.effort, rtol=1e-12)
    assert np.max(np.abs(np.array(state.position) - truth.position)) < 1e-4


def test_answers_to_another_state_are_stale():
    with Robot('lockstep:=true') as robot:
        first = robot.heard['joint_states'][-1].header.stamp
        robot.command(np.zeros(6), first)
        robot.until(lambda: robot.time() == 0.001)
        robot.command(np.zeros(6), first)
        second = robot.heard['joint_states'][-1].header.stamp
        robot.until(lambda: robot.diagnosed('stale commands') == '1')
        assert robot.time() == 0.001
        robot.command(np.zeros(6), second)
        robot.until(lambda: robot.time() == 0.002)


def test_commands_that_come_too_late_are_not_applied():
    """They answer old states, states yet to come, or none; zero force is taken at any age."""
    with Robot('lockstep:=false', 'command_age:=0.5', 'command_timeout:=5.0', *QUIET) as robot:
        robot.until(lambda: robot.time() > 0.6)
        home = np.array(robot.heard['joint_states'][-1].position)
        old, coming = robot.heard['joint_states'][0].header.stamp, Time(sec=10_000)
        robot.command(np.ones(6), old)
        robot.command(np.ones(6), coming)
        message = Float64MultiArray(data=[1.0] * 6)
        message.layout.dim = [MultiArrayDimension(label='stamp:soon', size=6, stride=6)]
        robot.publisher.publish(message)
        robot.until(lambda: robot.diagnosed('late commands') == '3')
        np.testing.assert_array_equal(robot.heard['joint_states'][-1].position, home)

        def pushed():
            robot.command(np.ones(6), robot.heard['joint_states'][-1].header.stamp)
            return np.any(robot.heard['ground_truth'][-1].effort)

        robot.until(pushed)
        robot.command(np.zeros(6), old)
        robot.until(lambda: not np.any(robot.heard['ground_truth'][-1].effort))


def test_a_run_that_is_always_behind_takes_commands():
    """A command waited for more than a hundred steps here: the run never let go of its lock."""
    rate = 20e3  # [Hz] more than any machine steps; each takes 50 substeps
    slow = f'rate:={rate}', 'substep:=1e-6'
    patient = 'command_timeout:=60.0', 'command_age:=60.0'
    with Robot(*slow, *patient, *QUIET) as robot:
        node, waited = robot.robot, []
        plant = node._plant
        for _ in range(20):
            begun = plant.time
            robot.until(lambda begun=begun: plant.time > begun + 5 / rate)
            before = plant.time
            node._on_command(Float64MultiArray(data=np.full(6, -27.0)))
            waited.append((plant.time - before) * rate)
        robot.until(lambda: int(robot.diagnosed('missed deadlines') or 0) > 0)
    assert np.median(waited) < 20


def test_the_age_of_commands():
    """The limit itself is in time; a command without a stamp has no age."""
    deadline, command = CommandDeadline(0.02), Float64MultiArray(data=[1.0])
    assert answered_time(command) is None and deadline.allows(command, 1e6)
    stamp_command(command, Time(sec=3, nanosec=5_000_000))
    assert answered_time(command) == 3.005
    ages = {-0.001: False, 0.0: True, 0.02: True, 0.0201: False}
    assert {age: deadline.allows(command, 3.005 + age) for age in ages} == ages
    assert deadline.late == 2


def test_an_unanswered_state_is_repeated():
    with Robot('lockstep:=true') as robot:
        robot.until(lambda: len(robot.heard['joint_states']) >= 3)
        assert {seconds(message) for message in robot.heard['joint_states']} == {0.0}


@pytest.mark.parametrize('lockstep', ['true', 'false'])
def test_unfit_commands_are_rejected_and_counted(lockstep):
    with Robot(f'lockstep:={lockstep}', *QUIET) as robot:
        home = np.array(robot.heard['joint_states'][-1].position)
        robot.command([np.nan, 0, 0, 0, 0, 0])
        robot.command(np.zeros(5))
        robot.command([0, 0, 0, 0, 0, np.inf])
        robot.until(lambda: robot.diagnosed('rejected commands') == '3')
        np.testing.assert_array_equal(robot.heard['joint_states'][-1].position, home)
        if lockstep == 'true':
            assert robot.time() == 0.0
            robot.command(np.zeros(6))
            robot.until(lambda: robot.time() == 0.001)


def test_without_commands_the_brakes_hold():
    with Robot('lockstep:=false', *QUIET) as robot:
        robot.until(lambda: robot.time() > 0.05)
        assert not np.any(robot.heard['ground_truth'][-1].velocity)

        def falling():
            robot.command(np.zeros(6))
            return np.min(np.abs(robot.heard['ground_truth'][-1].velocity)) > 0.01

        robot.until(falling)
        assert np.all(np.array(robot.heard['joint_states'][-1].position) > 0.8087)
        robot.until(lambda: not np.any(robot.heard['ground_truth'][-1].velocity))
        at_rest = seconds(robot.heard['ground_truth'][-1])  # the other topic may be behind
        robot.until(lambda: seconds(robot.heard['joint_states'][-1]) >= at_rest)
        held = np.array(robot.heard['joint_states'][-1].position)
        later = robot.time() + 0.05
        robot.until(lambda: robot.time() > later)
        np.testing.assert_array_equal(robot.heard['joint_states'][-1].position, held)


def test_services():
    with Robot('lockstep:=true') as robot:
        home = np.full(6, np.sqrt(0.6540350845))
        for step in range(1, 11):
            robot.command(np.full(6, -200.0))
            robot.until(lambda step=step: robot.time() >= step * 1e-3 - 1e-9)
        robot.until(lambda: seconds(robot.heard['ground_truth'][-1]) > 0.009)
        moved = np.array(robot.heard['ground_truth'][-1].position)
        assert np.min(np.abs(moved - home)) > 1e-4
        assert robot.call(Trigger, 'simulated_robot/reset', Trigger.Request()).success
        robot.until(lambda: robot.time() > 0.0105)
        robot.until(lambda: seconds(robot.heard['ground_truth'][-1]) > 0.0105)
        np.testing.assert_allclose(robot.heard['ground_truth'][-1].position, home, atol=1e-7)
        name = 'simulated_robot/unmodelled_effects'
        response = robot.call(SetBool, name, SetBool.Request(data=False))
        assert response.success and 'cogging are off' in response.message


def test_another_world_is_behind_the_same_topics():
    with Robot('world:=equations', 'substep:=0.001', 'lockstep:=true', *QUIET) as robot:
        home = np.full(6, np.sqrt(0.6540350845))
        for step in range(1, 6):
            robot.command(np.full(6, -200.0))
            robot.until(lambda step=step: robot.time() >= step * 1e-3 - 1e-9)
        robot.until(lambda: seconds(robot.heard['ground_truth'][-1]) > 0.004)
        truth = robot.heard['ground_truth'][-1]
        # the same forces, more than those of gravity, as in MuJoCo: the struts shorten
        assert np.max(np.array(truth.position) - home) < -1e-5 and max(truth.velocity) < -0.01
        np.testing.assert_array_equal(truth.effort, -200.0)
        assert robot.call(Trigger, 'simulated_robot/reset', Trigger.Request()).success
        robot.until(lambda: seconds(robot.heard['ground_truth'][-1]) > 0.0054)
        np.testing.assert_allclose(robot.heard['ground_truth'][-1].position, home, atol=1e-7)
        name = 'simulated_robot/unmodelled_effects'
        response = robot.call(SetBool, name, SetBool.Request(data=False))
        assert not response.success and 'no part of this world' in response.message


@pytest.mark.parametrize('lockstep', ['true', 'false'])
def test_an_error_of_the_simulation_closes_the_brakes_until_a_reset(lockstep):
    def broken(_):
        raise ZeroDivisionError('by nothing')

    with Robot(f'lockstep:={lockstep}') as robot:
        plant = robot.nodes[-1]._plant
        plant.step = broken

        def status():
            return robot.heard['diagnostics'][-1].status[0] if robot.heard['diagnostics'] else None

        def failed():
            robot.command(np.zeros(6))
            return status() is not None and 'ZeroDivisionError: by nothing' in status().message

        robot.until(failed)
        assert status().level == DiagnosticStatus.ERROR
        del plant.step
        assert robot.call(Trigger, 'simulated_robot/reset', Trigger.Request()).success
        later = robot.time() + 0.005

        def stepping():
            robot.command(np.zeros(6))
            return robot.time() > later

        robot.until(stepping)


def test_an_error_in_a_callback_does_not_end_the_process():
    script = """
import pkm_dynamics.nodes.simulated_robot as module
class Broken(module.SimulatedRobot):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.create_timer(0.05, self.tick)
    def tick(self):
        self.count += 1
        if self.count == 5:
            print('still here', flush=True)
        raise ZeroDivisionError('by nothing')
module.SimulatedRobot = Broken
module.main()
"""
    node = subprocess.Popen(
        [sys.executable, '-c', script, '--ros-args', '-p', 'lockstep:=true'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert 'still here' in node.stdout.readline()
    node.send_signal(signal.SIGTERM)
    _, errors = node.communicate(timeout=20)
    assert node.returncode == 0
    assert 'error in a callback' in errors and 'ZeroDivisionError: by nothing' in errors


def process(*parameters):
    command = [sys.executable, '-m', 'pkm_dynamics.nodes.simulated_robot', '--ros-args']
    for parameter in parameters:
        command += ['-p', parameter]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('lockstep', ['true', 'false'])
def test_signals_end_the_node_cleanly(number, lockstep):
    node = process(f'lockstep:={lockstep}')
    seen = ''
    while 'at home' not in seen:
        line = node.stderr.readline()
        assert line, f'the node ended early: {seen}'
        seen += line
    node.send_signal(number)
    _, rest = node.communicate(timeout=20)
    assert node.returncode == 0 and 'Traceback' not in seen + rest


@pytest.mark.parametrize(
    ('parameter', 'message'), [('robot:=nope', "'nope'"), ('rate:=0.0', 'rate out of range')]
)
def test_bad_parameters_name_the_offender(parameter, message):
    node = process(parameter)
    _, errors = node.communicate(timeout=30)
    assert node.returncode == 1 and message in errors and 'Traceback' not in errors


def test_brakes_of_a_silent_controller_stay_closed_when_it_tells_them_to_close():
    """A fault after a pause sends zero force, too: that must not open them for their own time."""
    with Robot('brake_time:=10.0', 'command_timeout:=0.05', *QUIET) as robot:
        brakes = robot.tester.create_publisher(Bool, 'brakes/close', LATCHED)
        robot.listen(Bool, 'brakes/closed', LATCHED)
        robot.until(lambda: brakes.get_subscription_count() > 0)

        def moving():
            robot.command(np.zeros(6))
            return robot.heard['brakes/closed'] and not robot.heard['brakes/closed'][-1].data

        robot.until(moving)
        robot.until(lambda: robot.heard['brakes/closed'][-1].data)  # by the command timeout
        brakes.publish(Bool(data=True))
        robot.until(lambda: robot.robot._close_at is not None)
        robot.heard['brakes/closed'].clear()
        begun = robot.time()
        while robot.time() < begun + 0.1:
            robot.command(np.zeros(6))
            robot.executor.spin_once(timeout_sec=0.01)
        assert not robot.heard['brakes/closed']
