"""The excitation server on real rclpy, with a robot and a controller that only pretend."""

import pickle
import threading
import time
from math import nan

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from checks_here import Here
from graph import Graph
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from unique_identifier_msgs.msg import UUID

import pkm_description
from pkm_description.description import EncoderAndDrive
from pkm_description.errors import PkmError
from pkm_description.nodes.background import Background
from pkm_description.nodes.description_publisher import LATCHED
from pkm_description.nodes.process_line import ProcessLine
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.goal_check import LONGEST_CHECK
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import load
from pkm_identification.datasets.bags.bag_reader import read_bag
from pkm_identification.nodes import excitation_server
from pkm_identification.nodes.excitation_server import ExcitationServer
from pkm_identification.recording import SystemFacts, run_preflight
from pkm_msgs.action import Excite, FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState, MotorCurrents

pytestmark = pytest.mark.ros
RATE, PERIOD = 100.0, 0.5
STATUS = GoalStatus
CODE, FOLLOW = Excite.Result, FollowPlatformTrajectory.Result


BEST_EFFORT = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Pretender(Node):
    """Robot and controller: follows any goal perfectly, at 100 Hz, or does not."""

    def __init__(self, model, measured=1000, currents='motor_currents'):
        super().__init__('trajectory_controller')
        self.currents = currents  # the messages that hold them
        self.model = model
        self.lifecycle, self.talking = 'active', True
        self.refusal = None  # code and reason for which no goal is followed
        self.stop_time = 0.2  # [s] from a cancel request to rest
        self.stopped_smoothly = False
        self._run = None
        self._step = 0
        self._waiting = Background(self, 'stand-in')
        self._states = self.create_publisher(JointState, 'joint_states', measured)
        self._currents = None
        if kind := {'motor_currents': MotorCurrents, 'array': Float64MultiArray}.get(currents):
            self._currents = self.create_publisher(kind, 'motor_currents', measured)
        self._own = self.create_publisher(ControllerState, '~/state', 1000)
        self.create_service(GetState, '~/get_state', self._on_state)
        self.beats = []
        self.create_subscription(UUID, '~/heartbeat', self.beats.append, 10)
        self.create_timer(1.0 / RATE, self._tick)
        self._server = ActionServer(
            self,
            FollowPlatformTrajectory,
            '~/follow_platform_trajectory',
            execute_callback=self._follow,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )

    def _on_state(self, _, response):
        response.current_state.label = self.lifecycle
        return response

    async def _follow(self, handle):
        result = FollowPlatformTrajectory.Result()
        if self.refusal is not None:
            handle.abort()
            result.error_code, result.error_msg = self.refusal
            return result
        self.line = ProcessLine(bytes(handle.goal_id.uuid), offers=False)
        goal, self._run = handle.request, self._step
        end = goal.periods * goal.trajectory.period + 0.3
        while (self._step - self._run) / RATE < end:
            await self._waiting.sleep(0.02)
            if handle.is_cancel_requested:
                await self._waiting.sleep(self.stop_time)
                self.stopped_smoothly = True
                handle.canceled()
                result.error_code = result.CANCELED
                return result
            feedback = FollowPlatformTrajectory.Feedback(fraction=0.5, time_left=1.0)
            handle.publish_feedback(feedback)
        handle.succeed()
        return result

    def _tick(self):
        if not self.talking:
            return
        self._step += 1
        names, q = list(self.model.actuated_joints), list(self.model.home_actuators)
        state = JointState(name=names, position=q)
        nanoseconds = self._step * round(1e9 / RATE)
        stamp = state.header.stamp
        stamp.sec, stamp.nanosec = divmod(nanoseconds, 10**9)
        numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        if self.currents == 'joint_states':
            state.effort = numbers
            foreign = JointState(name=['gripper'], position=[0.1], effort=[nan])
            self._states.publish(foreign)
        self._states.publish(state)
        if self.currents == 'motor_currents':
            self._currents.publish(MotorCurrents(header=state.header, name=names, current=numbers))
        elif self.currents == 'array':
            self._currents.publish(Float64MultiArray(data=numbers))
        own = ControllerState(header=state.header, name=names, phase=ControllerState.HOLD)
        own.desired_position = own.position = q
        own.saturated = [False] * 6
        if self._run is not None:
            own.trajectory_time = (self._step - self._run) / RATE - 0.1
            own.phase = ControllerState.RUN if own.trajectory_time >= 0.0 else own.RAMP_IN
        self._own.publish(own)


class Session:
    """A graph with both nodes and a client."""

    def __init__(self, graph, model, measured=1000, currents='motor_currents'):
        self.graph = graph
        self.robot = graph.add(lambda: Pretender(model, measured, currents))
        self.server = graph.add(ExcitationServer)
        self.client = ActionClient(graph.tester, Excite, 'excitation_server/excite')
        self.phases = []
        graph.until(self.client.server_is_ready)

    def send(self, bag, periods=3, amplitude=0.01, heartbeat_timeout=0.0):
        home = [*self.robot.model.home_position, 0.0, 0.0, 0.0]
        sine = np.zeros((6, 1))
        sine[2] = amplitude
        goal = Excite.Goal(periods=periods, ramp_time=0.5, bag=str(bag))
        goal.heartbeat_timeout = heartbeat_timeout
        goal.trajectory = to_message(FourierTrajectory(PERIOD, home, sine, 0 * sine))
        future = self.client.send_goal_async(
            goal, feedback_callback=lambda m: self.phases.append(m.feedback.phase)
        )
        self.graph.until(future.done)
        return future.result()

    def result(self, handle):
        future = handle.get_result_async()
        self.graph.until(future.done, timeout=60.0)
        return future.result()


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(autouse=True)
def checks(model, monkeypatch):
    """What checks goals in this process: one of their own each costs seconds."""
    here = Here(model)
    monkeypatch.setattr(excitation_server, 'WorkerProcess', lambda description: here)
    return here


@pytest.fixture
def session(model):
    with Graph(
        'data_folder:=/', 'rate:=100.0', 'topic_timeout:=3.0', 'silence_timeout:=1.0'
    ) as graph:
        yield Session(graph, model)


def outcome_of(bag):
    return read_bag(bag, ['pkm/metadata']).text('/pkm/metadata')


def test_a_run_ends_with_a_verified_bag(session, model, tmp_path):
    answer = session.result(session.send(tmp_path / 'bag'))
    assert answer.result.error_code == CODE.NONE, answer.result.error_msg
    assert answer.status == STATUS.STATUS_SUCCEEDED
    assert answer.result.bag == str(tmp_path / 'bag')
    quality = answer.result.quality
    assert quality.usable
    assert (quality.periods, quality.samples) == (3, 150)
    assert list(dict.fromkeys(session.phases)) == ['preflight', 'recording', 'running', 'verifying']
    dataset = load(tmp_path / 'bag').for_model(model)
    assert dataset.urdf == model.description.urdf
    assert dataset.sidecar == model.description.yaml_text
    assert dataset.efforts == pytest.approx(np.tile(23.0 * np.arange(1, 7), (150, 1)))
    assert 'outcome: complete' in outcome_of(tmp_path / 'bag')
    assert not (tmp_path / 'bag.partial').exists()


PARAMETERS = ('data_folder:=/', 'rate:=100.0', 'topic_timeout:=3.0', 'silence_timeout:=5.0')


def test_drivers_with_names_of_their_own_that_promise_no_delivery(model, tmp_path):
    remap = ('motor_currents:=/drv/currents', 'joint_states:=/drv/states')
    with Graph(*PARAMETERS, remap=remap) as graph:
        session = Session(graph, model, BEST_EFFORT)
        answer = session.result(session.send(tmp_path / 'bag'))
        assert answer.result.error_code == CODE.NONE, answer.result.error_msg
        assert answer.result.quality.usable
    assert load(tmp_path / 'bag').for_model(model).efforts.shape == (150, 6)
    text = outcome_of(tmp_path / 'bag')
    assert '/motor_currents: /drv/currents' in text and '/joint_states: /drv/states' in text


@pytest.mark.parametrize(
    ('currents', 'unit', 'constant'),
    [('joint_states', 'auto', 1.0), ('joint_states', 'ampere', 23.0), ('array', 'newton', 1.0)],
)
def test_currents_as_drives_publish_them(model, tmp_path, currents, unit, constant):
    """The bag loads without options, whatever held the currents or forces; a gripper is there."""
    with Graph(*PARAMETERS, f'force_unit:={unit}') as graph:
        session = Session(graph, model, currents=currents)
        answer = session.result(session.send(tmp_path / 'bag'))
        assert answer.result.error_code == CODE.NONE, answer.result.error_msg
        assert answer.result.quality.usable
    data = load(tmp_path / 'bag').for_model(model)
    assert data.efforts == pytest.approx(np.tile(constant * np.arange(1, 7), (150, 1)))


def test_arrays_without_a_unit_are_refused(model, tmp_path):
    with Graph(*PARAMETERS) as graph:
        session = Session(graph, model, currents='array')
        answer = session.result(session.send(tmp_path / 'bag'))
    assert answer.result.error_code == CODE.TOPIC_SILENT
    assert "say force_unit 'ampere', or 'newton'" in answer.result.error_msg
    assert not (tmp_path / 'bag').exists()


def test_the_client_of_the_controller_shows_that_it_lives(session, tmp_path):
    session.result(session.send(tmp_path / 'bag', periods=2))
    beats = {bytes(beat.uuid) for beat in session.robot.beats}
    assert len(session.robot.beats) > 5 and len(beats) == 1


def test_a_controller_that_dies_is_told_at_once(model, tmp_path):
    with Graph(*PARAMETERS) as graph:
        session = Session(graph, model)
        handle = session.send(tmp_path / 'bag', periods=100)
        graph.until(lambda: session.phases.count('running') > 5)
        graph.kill(session.robot)
        session.robot.line.close()
        killed = time.monotonic()
        answer = session.result(handle)
        assert answer.result.error_code == CODE.TOPIC_SILENT
        assert answer.result.error_msg == 'the controller is gone'
        assert time.monotonic() - killed < 2.0
        assert 'outcome: aborted' in outcome_of(tmp_path / 'bag')


def test_the_client_of_a_run_is_watched(session, tmp_path):
    handle = session.send(tmp_path / 'bag', periods=1000, heartbeat_timeout=0.5)
    beats = session.graph.tester.create_publisher(UUID, 'excitation_server/heartbeat', 10)
    timer = session.graph.tester.create_timer(0.05, lambda: beats.publish(handle.goal_id))
    session.graph.until(lambda: session.phases.count('running') > 20)  # POLL apart: 1 s
    session.graph.tester.destroy_timer(timer)
    answer = session.result(handle)
    assert answer.status == STATUS.STATUS_ABORTED
    assert answer.result.error_code == CODE.CLIENT_LOST
    assert 'no heartbeat of the client' in answer.result.error_msg
    assert session.robot.stopped_smoothly
    assert 'outcome: aborted' in outcome_of(tmp_path / 'bag')


def test_a_client_that_is_lost_before_its_run_begins(session, tmp_path, monkeypatch):
    async def forces(timeout):
        session.server._client.look()
        session.server._client.look()
        return await type(session.server._system).forces(session.server._system, timeout)

    monkeypatch.setattr(session.server._system, 'forces', forces)
    answer = session.result(session.send(tmp_path / 'bag', heartbeat_timeout=1e-9))
    assert answer.result.error_code == CODE.CLIENT_LOST
    assert not session.phases.count('recording')


def test_a_cancel_ends_the_check_of_a_run(session, checks, tmp_path, monkeypatch):
    begun, abandoned = threading.Event(), threading.Event()

    def call(*_):
        begun.set()
        assert abandoned.wait(60.0)
        raise PkmError('ended')

    monkeypatch.setattr(checks, 'call', call)
    monkeypatch.setattr(checks, 'abandon', abandoned.set)
    handle = session.send(tmp_path / 'bag')
    session.graph.until(begun.is_set)
    handle.cancel_goal_async()
    answer = session.result(handle)
    assert (answer.status, answer.result.error_code) == (STATUS.STATUS_CANCELED, CODE.CANCELED)
    assert not (tmp_path / 'bag').exists()


def test_a_server_that_is_shut_down_ends_its_run_first(session, tmp_path):
    handle = session.send(tmp_path / 'bag', periods=100)
    session.graph.until(lambda: session.phases.count('running') > 5)
    session.graph.until(session.server.wind_down)
    answer = session.result(handle)
    assert answer.result.error_code == CODE.CANCELED
    assert 'shut down' in answer.result.error_msg
    assert session.robot.stopped_smoothly


def test_cancel_stops_the_robot_and_marks_the_bag(session, tmp_path):
    handle = session.send(tmp_path / 'bag', periods=100)
    session.graph.until(lambda: session.phases.count('running') > 5)
    canceled = handle.cancel_goal_async()
    session.graph.until(canceled.done)
    answer = session.result(handle)
    assert answer.status == STATUS.STATUS_CANCELED
    assert answer.result.error_code == CODE.CANCELED
    assert session.robot.stopped_smoothly
    assert 'outcome: aborted' in outcome_of(tmp_path / 'bag')
    again = session.result(session.send(tmp_path / 'next', periods=1))
    assert again.result.error_code == CODE.NONE


def test_a_canceled_run_ends_when_the_robot_rests(session, tmp_path):
    session.robot.stop_time = 1.5  # far above the server's time to settle
    handle = session.send(tmp_path / 'bag', periods=100)
    session.graph.until(lambda: session.phases.count('running') > 5)
    canceled = handle.cancel_goal_async()
    session.graph.until(canceled.done)
    assert session.result(handle).result.error_code == CODE.CANCELED
    assert session.robot.stopped_smoothly


def test_only_one_run_at_a_time(session, tmp_path):
    first = session.send(tmp_path / 'first', periods=4)
    second = session.result(session.send(tmp_path / 'second'))
    assert (second.status, second.result.error_code) == (STATUS.STATUS_ABORTED, CODE.BUSY)
    assert session.result(first).result.error_code == CODE.NONE
    assert not (tmp_path / 'second').exists()


def refuses(code):
    """Let the stand-in abort every goal before it moves."""
    return lambda robot: setattr(robot, 'refusal', (code, 'leg2_strut leaves its stroke'))


def test_a_refusal_is_told_by_its_own_result_and_by_no_earlier_one(session, tmp_path):
    for code, reason in ((FOLLOW.INFEASIBLE, 'leg1'), (FOLLOW.NOT_ACTIVE, 'leg2')):
        session.robot.refusal = (code, reason)
        answer = session.result(session.send(tmp_path / 'bag'))
        assert answer.result.error_code == getattr(
            CODE, {'leg1': 'INFEASIBLE', 'leg2': 'CONTROLLER_NOT_ACTIVE'}[reason]
        )
        assert answer.result.error_msg.endswith(f': {reason}')
    session.robot.refusal = None
    again = session.result(session.send(tmp_path / 'bag', periods=1))
    assert again.result.error_code == CODE.NONE, again.result.error_msg


@pytest.mark.parametrize(
    ('spoil', 'options', 'code', 'message'),
    [
        (
            lambda robot: setattr(robot, 'lifecycle', 'inactive'),
            {},
            'CONTROLLER_NOT_ACTIVE',
            "'inactive'; activate",
        ),
        (lambda robot: setattr(robot, 'talking', False), {}, 'TOPIC_SILENT', 'joint_states'),
        (refuses(FOLLOW.INFEASIBLE), {}, 'INFEASIBLE', 'leg2_strut leaves'),
        (refuses(FOLLOW.NOT_ACTIVE), {}, 'CONTROLLER_NOT_ACTIVE', 'leg2_strut leaves'),
        (refuses(FOLLOW.WRONG_ROBOT), {}, 'NO_DESCRIPTION', 'leg2_strut leaves'),
        (refuses(FOLLOW.BAD_TRAJECTORY), {}, 'BAD_TRAJECTORY', 'leg2_strut leaves'),
        (lambda robot: None, {'amplitude': 0.3}, 'INFEASIBLE', 'stroke of leg'),
        (lambda robot: None, {'amplitude': float('nan')}, 'BAD_TRAJECTORY', 'finite'),
    ],
)
def test_what_cannot_run_leaves_nothing(session, tmp_path, spoil, options, code, message):
    spoil(session.robot)
    if np.isnan(options.get('amplitude', 0.0)):
        goal = Excite.Goal(periods=1, bag=str(tmp_path / 'bag'))
        goal.trajectory.type = goal.trajectory.FOURIER
        goal.trajectory.period = float('nan')
        goal.trajectory.harmonics = 1
        goal.trajectory.offset = goal.trajectory.sine = goal.trajectory.cosine = [0.0] * 6
        future = session.client.send_goal_async(goal)
        session.graph.until(future.done)
        answer = session.result(future.result())
    else:
        answer = session.result(session.send(tmp_path / 'bag', **options))
    assert answer.status == STATUS.STATUS_ABORTED
    assert answer.result.error_code == getattr(CODE, code), answer.result.error_msg
    assert message in answer.result.error_msg
    assert list(tmp_path.iterdir()) == []


def test_the_bag_holds_the_calibration_that_the_graph_agrees_in(model, tmp_path):
    file = tmp_path / 'machine.yaml'
    file.write_text('robot: palida\njoints: {leg2_strut: {offset: 0.001, drive: -1}}\n')
    with Graph(*PARAMETERS, f'robot:=palida calibration:={file}') as graph:
        session = Session(graph, model)
        answer = session.result(session.send(tmp_path / 'bag', periods=1))
        assert answer.result.error_code == CODE.NONE, answer.result.error_msg
        texts = {'robot_description': model.description.urdf}
        texts['robot_description_yaml'] = model.description.yaml_text  # as if it counted plainly
        for topic, text in texts.items():
            graph.tester.create_publisher(String, topic, LATCHED).publish(String(data=text))
        graph.until(lambda: len(session.server._system._texts) == 2)
        refused = session.result(session.send(tmp_path / 'other', periods=1))
    assert refused.result.error_code == CODE.NO_DESCRIPTION
    assert 'another description or calibration' in refused.result.error_msg
    recording = load(tmp_path / 'bag')
    assert recording.sidecar == model.description.yaml_text
    assert recording.calibration == {'leg2_strut': EncoderAndDrive(1, 0.001, -1)}
    found = recording.for_model(model)
    np.testing.assert_allclose(found.efforts[0], 23.0 * np.array([1, -2, 3, 4, 5, 6]))
    np.testing.assert_allclose(found.positions[0, 1], model.home_actuators[1] + 0.001)


@pytest.mark.parametrize('changed', ['robot_description', 'robot_description_yaml'])
def test_another_published_description_is_refused(session, model, tmp_path, changed):
    texts = {
        'robot_description': model.description.urdf,
        'robot_description_yaml': model.description.yaml_text,
    }
    published = session.server._system.published_digest
    for altered in (False, True):
        for topic, text in texts.items():
            publisher = session.graph.tester.create_publisher(String, topic, LATCHED)
            publisher.publish(String(data=text + '\n' * (altered and topic == changed)))
        before = published(model.description)
        session.graph.until(lambda before=before: published(model.description) != before)
        answer = session.result(session.send(tmp_path / f'bag_{altered}', periods=1))
        expected = CODE.NO_DESCRIPTION if altered else CODE.NONE
        assert answer.result.error_code == expected, answer.result.error_msg
    assert 'another description' in answer.result.error_msg
    assert not (tmp_path / 'bag_True').exists()


def test_a_preflight_that_takes_too_long_refuses_the_run(session, tmp_path, checks, monkeypatch):
    def too_long(longest, function, *arguments):
        assert function is run_preflight
        raise PkmError(f'the check takes longer than {longest:g} s')

    monkeypatch.setattr(checks, 'call', too_long)
    result = session.result(session.send(tmp_path / 'bag')).result
    assert result.error_code == CODE.INFEASIBLE
    assert result.error_msg == f'the check takes longer than {LONGEST_CHECK:g} s'
    assert not any(tmp_path.iterdir())


def test_a_preflight_can_go_to_another_process(model, tmp_path):
    motion = FourierTrajectory(
        PERIOD, [*model.home_position, 0.0, 0.0, 0.0], np.zeros((6, 1)), np.zeros((6, 1))
    )
    facts = SystemFacts('active', {'joint_states': 0.0}, np.array(model.home_actuators))
    asked = run_preflight, motion, 3, 0.5, tmp_path / 'bag', facts
    function, *arguments = pickle.loads(pickle.dumps(asked))
    report = pickle.loads(pickle.dumps(function(model, *arguments)))
    assert report.ok and report.duration > 3 * PERIOD


def test_an_existing_bag_is_not_touched(session, tmp_path):
    (tmp_path / 'bag').mkdir()
    answer = session.result(session.send(tmp_path / 'bag'))
    assert answer.result.error_code == CODE.BAG_EXISTS
    assert list((tmp_path / 'bag').iterdir()) == []


def test_a_robot_that_falls_silent_ends_the_run(session, tmp_path):
    handle = session.send(tmp_path / 'bag', periods=100)
    session.graph.until(lambda: session.phases.count('running') > 5)
    session.robot.talking = False
    begun = time.monotonic()
    answer = session.result(handle)
    assert time.monotonic() - begun < 10.0
    assert answer.result.error_code == CODE.TOPIC_SILENT
    assert 'fell silent' in answer.result.error_msg
    assert 'outcome: aborted' in outcome_of(tmp_path / 'bag')


def test_a_bag_stays_below_the_data_folder(model, tmp_path):
    with Graph(f'data_folder:={tmp_path}', *PARAMETERS[1:]) as graph:
        session = Session(graph, model)
        for bag in (f'{tmp_path}/../bag', '../../../bag', '/tmp', ''):
            result = session.result(session.send(bag)).result
            assert result.error_code == CODE.CANNOT_WRITE, result.error_msg
