"""`pkm excite run` against an action server that only pretends."""

import contextlib
import json
import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.action import ActionServer, CancelResponse, GoalResponse  # noqa: E402
from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import MultiThreadedExecutor  # noqa: E402
from unique_identifier_msgs.msg import UUID  # noqa: E402

from pkm_bringup import cli  # noqa: E402
from pkm_bringup.nodes import lifeline  # noqa: E402
from pkm_bringup.nodes.graph_client import GraphClient  # noqa: E402
from pkm_bringup.nodes.robot_client import RobotClient  # noqa: E402
from pkm_bringup.termination import terminable  # noqa: E402
from pkm_description.nodes.client_watch import HEARTBEAT_TIMEOUT  # noqa: E402
from pkm_description.nodes.process_line import ProcessLine  # noqa: E402
from pkm_msgs.action import Excite  # noqa: E402

pytestmark = pytest.mark.ros
STEP = 0.05  # [s]


@pytest.fixture
def interruptible():
    """Ctrl-C as on a terminal: a shell's background jobs, as tests may be, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Pretender:
    """Serves `pretender/excite`: feedback for `steps` steps, then a result; takes cancels.

    It takes `thinking` seconds to accept a goal, and refuses it where `refusal` is given.
    """

    def __init__(self, steps, thinking=0.0, refusal=''):
        self.steps, self.thinking, self.refusal = steps, thinking, refusal
        self.cancelled, self.ended = False, threading.Event()
        self.asked, self.running = threading.Event(), threading.Event()
        self.goal = None
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('pretender', context=self.context)
        self.server = ActionServer(
            self.node,
            Excite,
            'pretender/excite',
            self.execute,
            callback_group=ReentrantCallbackGroup(),
            goal_callback=self.accept,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )
        self.beats, self.identifier = [], None
        self.node.create_subscription(UUID, 'pretender/heartbeat', self.beats.append, 10)
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def accept(self, request):
        self.asked.set()
        time.sleep(self.thinking)
        return GoalResponse.ACCEPT

    def execute(self, handle):
        self.goal, self.identifier = handle.request, bytes(handle.goal_id.uuid)
        result = Excite.Result()
        if self.refusal:
            handle.abort()
            result.error_code, result.error_msg = Excite.Result.INFEASIBLE, self.refusal
            return result
        for step in range(self.steps):
            if handle.is_cancel_requested:
                handle.canceled()
                self.cancelled = True
                self.ended.set()
                result.error_code, result.error_msg = Excite.Result.CANCELED, 'stopped on the path'
                return result
            handle.publish_feedback(
                Excite.Feedback(
                    phase='running',
                    fraction=step / self.steps,
                    detail='period 1',
                    time_left=STEP * (self.steps - step),
                )
            )
            self.running.set()
            time.sleep(STEP)
        handle.succeed()
        result.bag = handle.request.bag
        result.quality.periods, result.quality.samples = handle.request.periods, 1000
        result.quality.tracking_rms = [1e-4] * 6
        result.quality.tracking_max = [2e-4] * 6
        return result

    def close(self):
        self.executor.shutdown(timeout_sec=2.0)
        self.server.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@contextlib.contextmanager
def pretender(steps, **options):
    server = Pretender(steps, **options)
    try:
        yield server
    finally:
        server.close()


def arguments(folder, *further):
    return [
        'excite',
        'run',
        'sine_x',
        '--robot',
        'palida',
        '--server',
        'pretender',
        '--bag',
        str(folder / 'bag'),
        '--periods',
        '3',
        *further,
    ]


def test_the_goal_and_its_result(tmp_path, capsys):
    with pretender(3) as server:
        assert cli.main(arguments(tmp_path, '--json')) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['samples'] == 1000 and content['bag'] == str(tmp_path / 'bag')
    assert server.goal.periods == 3 and server.goal.ramp_time == 1.0
    assert server.goal.trajectory.period == 0.5  # the preset, sent as parameters


def test_feedback_is_followed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('pkm_bringup.views.console.QUIET_TIME', 0.1)
    monkeypatch.setattr('pkm_bringup.views.console.LONGEST_PAUSE', 0.1)
    with pretender(20):
        assert cli.main(arguments(tmp_path)) == 0
    assert 'exciting: running: period 1, ' in capsys.readouterr().err


@contextlib.contextmanager
def interrupted(event, delay, number=signal.SIGINT):
    """Signal this process `delay` seconds after an event; never later than in here."""
    over = threading.Event()

    def interrupt():
        if event.wait(60.0) and not over.wait(delay):
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        event.set()
        thread.join()


@pytest.mark.usefixtures('interruptible')
def test_ctrl_c_before_the_goal_is_accepted_cancels_it_too(tmp_path, capsys):
    """A goal on its way must not set a robot in motion that nobody watches."""
    with pretender(600, thinking=0.8) as server, interrupted(server.asked, 0.1):
        assert cli.main(arguments(tmp_path)) == 130
        assert server.ended.wait(5.0) and server.cancelled
    assert "'pretender' has stopped" in capsys.readouterr().err


def test_a_refused_goal_is_an_error_in_the_words_of_the_server(tmp_path, capsys):
    with pretender(3, refusal='stroke of leg1_strut at t = 1 s'):
        assert cli.main(arguments(tmp_path)) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == 'pkm excite run: error: INFEASIBLE (201): stroke of leg1_strut at t = 1 s'


def test_a_motion_that_ends_at_rest_is_sent_once(tmp_path, capsys):
    command = arguments(tmp_path, '--json')
    command[2] = 'point_to_point'
    with pretender(1) as server:
        assert cli.main([*command[:-3], '--json']) == 0  # without --periods
    sent = server.goal.trajectory
    assert server.goal.periods == 1 and sent.type == sent.POINT_TO_POINT
    assert cli.main(command) == 1
    assert '--periods must be 1' in capsys.readouterr().err


@pytest.fixture
def line(monkeypatch):
    """A lifeline to the node `asked`, with a clock that the test moves by `line.wait`."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    with GraphClient('client') as client:
        monkeypatch.setattr(lifeline, 'time', clock)
        with lifeline.Lifeline(client, 'asked', lambda: line.present) as line:
            line.present, line.server = True, client.node

            def wait(seconds):
                clock.now += seconds
                return line.gone()

            line.wait = wait
            yield line


def test_a_killed_server_is_told_at_once(line):
    server = ProcessLine(bytes(line.goal.uuid), offers=False)
    assert not line.wait(0.1)
    server.close()
    assert line.wait(0.1) and line.wait(0.1)


def test_a_server_that_hears_heartbeats_must_say_something(line):
    node = line.server.create_subscription(UUID, 'asked/heartbeat', lambda _: None, 10)
    assert line.heartbeat_timeout == HEARTBEAT_TIMEOUT
    for _ in range(5):
        assert not line.wait(lifeline.GONE - 0.05)
        line.hear()
    assert line.wait(lifeline.GONE + 0.05)
    line.server.destroy_subscription(node)


def test_a_foreign_server_is_gone_when_discovery_drops_it(line):
    assert not line.wait(60.0)
    line.present = False
    assert not line.wait(lifeline.GONE - 0.05)  # it may come back
    assert line.wait(0.1)


def test_the_server_hears_that_the_client_lives(tmp_path):
    with pretender(20) as server:
        assert cli.main(arguments(tmp_path)) == 0
    assert server.goal.heartbeat_timeout == HEARTBEAT_TIMEOUT
    assert len(server.beats) > 3
    assert {bytes(beat.uuid) for beat in server.beats} == {server.identifier}


@pytest.mark.usefixtures('interruptible')
def test_sigterm_cancels_the_goal_as_ctrl_c_does(tmp_path, capsys):
    before = signal.getsignal(signal.SIGTERM)
    with pretender(600) as server, interrupted(server.running, 0.1, signal.SIGTERM):
        assert cli.main(arguments(tmp_path)) == 143
        assert signal.getsignal(signal.SIGTERM) is before
        assert server.cancelled
    shown = capsys.readouterr().err
    assert "'pretender' has stopped: stopped on the path" in shown
    assert 'terminated' in shown


@pytest.mark.usefixtures('interruptible')
def test_ctrl_c_cancels_the_goal_and_waits_for_rest(tmp_path, capsys):
    with pretender(600) as server, interrupted(server.running, 0.3):
        assert cli.main(arguments(tmp_path)) == 130
        assert server.cancelled
    shown = capsys.readouterr().err
    assert "'pretender' has stopped: stopped on the path" in shown
    assert 'interrupted' in shown


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_demo_can_still_cancel_after_a_signal(number, interruptible):
    """Where ROS takes the signal, its context ends with it, and nothing is sent any more."""
    heard = []
    with terminable(), RobotClient() as client:
        client.node.create_subscription(UUID, 'said', heard.append, 10)
        said = client.node.create_publisher(UUID, 'said', 10)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            client.wait(lambda: False, 10.0)
        said.publish(UUID())
        assert client.wait(lambda: bool(heard), 60.0)
