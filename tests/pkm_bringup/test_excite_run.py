"""`pkm excite run` against an action server that only pretends."""

import contextlib
import json
import os
import signal
import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.action import ActionServer, CancelResponse, GoalResponse  # noqa: E402
from rclpy.callback_groups import ReentrantCallbackGroup  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import MultiThreadedExecutor  # noqa: E402

from pkm_bringup import cli  # noqa: E402
from pkm_msgs.action import Excite  # noqa: E402

pytestmark = pytest.mark.ros
STEP = 0.05  # [s]


class Pretender:
    """Serves `pretender/excite`: feedback for `steps` steps, then a result; takes cancels."""

    def __init__(self, steps):
        self.steps, self.cancelled, self.running = steps, False, threading.Event()
        self.goal = None
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('pretender', context=self.context)
        self.server = ActionServer(
            self.node, Excite, 'pretender/excite', self.execute,
            callback_group=ReentrantCallbackGroup(),
            goal_callback=lambda request: GoalResponse.ACCEPT,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )  # fmt: skip
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def execute(self, handle):
        self.goal = handle.request
        result = Excite.Result()
        for step in range(self.steps):
            if handle.is_cancel_requested:
                handle.canceled()
                self.cancelled = True
                result.error_code, result.error_msg = Excite.Result.CANCELED, 'stopped on the path'
                return result
            handle.publish_feedback(
                Excite.Feedback(
                    phase='running', fraction=step / self.steps, detail='period 1',
                    time_left=STEP * (self.steps - step),
                )
            )  # fmt: skip
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
def pretender(steps):
    server = Pretender(steps)
    try:
        yield server
    finally:
        server.close()


def arguments(folder, *further):
    return [
        'excite', 'run', 'sine_x', '--robot', 'palida', '--server', 'pretender',
        '--bag', str(folder / 'bag'), '--periods', '3', *further,
    ]  # fmt: skip


def test_the_goal_and_its_result(tmp_path, capsys):
    with pretender(3) as server:
        assert cli.main(arguments(tmp_path, '--json')) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['samples'] == 1000 and content['bag'] == str(tmp_path / 'bag')
    assert server.goal.periods == 3 and server.goal.ramp_time == 1.0
    assert server.goal.trajectory.period == 0.5  # the preset, sent as parameters


def test_feedback_is_followed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr('pkm_bringup.console.QUIET_TIME', 0.1)
    with pretender(10):
        assert cli.main(arguments(tmp_path)) == 0
    assert 'exciting: running: period 1, ' in capsys.readouterr().err


def test_ctrl_c_cancels_the_goal_and_waits_for_rest(tmp_path, capsys):
    with pretender(600) as server:

        def interrupt():
            server.running.wait(60.0)
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        assert cli.main(arguments(tmp_path)) == 130
        assert server.cancelled
    shown = capsys.readouterr().err
    assert "'pretender' has stopped: stopped on the path" in shown
    assert 'interrupted' in shown
