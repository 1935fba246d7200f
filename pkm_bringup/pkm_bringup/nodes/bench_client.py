"""The loop of controller and simulated robot, measured from outside on real ROS 2."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from pkm_bringup.bench.frame import Bench
from pkm_bringup.nodes.bench_listener import LoopListener
from pkm_bringup.processes import NodeProcesses, ProcessError
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Phase, Trajectory
from pkm_msgs.action import FollowPlatformTrajectory

START_TIMEOUT = 120.0  # [s] for the nodes to come up; a first start compiles
IDLE = 'IDLE'  # phase of a controller that commands nothing
WARM_UP = 2.0  # [s] of motion before anything counts
# A loaded machine shall show figures, not a stop by the watchdog or the tracking bounds.
PATIENT = {
    'state_timeout': 5.0,  # [s]
    'lockstep_timeout': 60.0,  # [s]
    'max_position_error': 0.5,  # [m, rad]
    'fault_position_error': 1.0,  # [m, rad]
    'stroke_tolerance': 1.0,  # [m, rad]
}


def measure_free_running(bench: Bench) -> dict[str, Any]:
    """Run controller (timer mode) and robot (free running) as processes of their own.

    The robot follows the periodic trajectory with the nominal feedforward. Publication
    times are those that the middleware stamps in the publishing process, so waiting in
    this process is in no figure.

    Returns
    -------
    dict
        `duration` [s], `rate` [Hz] of the commands, `missed_deadlines`,
        `missed_deadlines_robot`, `repeated_commands`; `command_interval`,
        `state_to_command` (p50, p99, max) [us]; `step_time`, `lateness` (p50, p99) [us]
        by the controller's own diagnostics.
    """
    with _Graph(bench, lockstep=False) as graph:
        graph.follow(bench.trajectory, WARM_UP + bench.duration + 5.0)
        with LoopListener() as listener:
            bench.update('warming up', None)
            graph.run(WARM_UP, listener.fetch)
            listener.begin()
            begun = time.monotonic()
            graph.run(bench.duration, listener.fetch)
            return {**listener.figures(), **_by_diagnostics(graph, begun)}


def measure_lockstep(bench: Bench) -> dict[str, Any]:
    """Run controller and robot in lockstep, as fast as they go.

    Returns
    -------
    dict
        `duration` [s], `steps`, `steps_per_second` [1/s].
    """
    duration = bench.duration / 2
    with _Graph(bench, lockstep=True) as graph:
        graph.follow(bench.trajectory, 20.0 * (WARM_UP + duration))
        graph.run(WARM_UP, lambda: None)
        graph.until(lambda: 'simulated_robot' in graph.diagnostics, 'its diagnostics')
        first = graph.diagnostics['simulated_robot']
        graph.run(duration, lambda: None)
        last = graph.diagnostics['simulated_robot']
        simulated = float(last[1]['simulated time [s]']) - float(first[1]['simulated time [s]'])
        elapsed = last[0] - first[0]
        if elapsed <= 0.0 or simulated <= 0.0:
            raise ProcessError('the simulated robot did not step in lockstep')
        steps = round(simulated * 1e3)
        return {'duration': elapsed, 'steps': steps, 'steps_per_second': steps / elapsed}


class _Graph:
    """Two node processes and a node of this process that listens to their diagnostics."""

    def __init__(self, bench: Bench, lockstep: bool) -> None:
        self._bench, self._lockstep = bench, lockstep
        self._logs = tempfile.TemporaryDirectory(prefix='pkm_bench_')
        self._processes = NodeProcesses(Path(self._logs.name))
        self.diagnostics: dict[str, tuple[float, dict[str, str]]] = {}
        self.history: dict[str, list[tuple[float, dict[str, str]]]] = {}
        self.active = False
        self.fault = ''

    def __enter__(self) -> _Graph:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self.context_node = Node('pkm_bench')
        self.context_node.create_subscription(
            DiagnosticArray, 'diagnostics', self._on_diagnostics, 50
        )
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.context_node)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()
        self._logs.cleanup()
        self._executor.remove_node(self.context_node)
        self._executor.shutdown(timeout_sec=1.0)
        self.context_node.destroy_node()
        rclpy.try_shutdown()

    def _start(self) -> None:
        common = {'robot': self._bench.robot}
        mode = 'state' if self._lockstep else 'timer'
        self._processes.start(
            'simulated_robot',
            'pkm_dynamics.nodes.simulated_robot',
            common | {'lockstep': self._lockstep},
        )
        self._processes.start(
            'trajectory_controller',
            'pkm_control.nodes.trajectory_controller',
            common | {'update_mode': mode, 'feedforward': 'nominal', 'autostart': True} | PATIENT,
        )
        self._bench.update('starting the nodes', None)
        self.until(lambda: self.active, 'an active controller')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in message.status:
            name = status.name.rpartition('/')[2]
            values = {entry.key: entry.value for entry in status.values}
            self.diagnostics[name] = now, values
            self.history.setdefault(name, []).append((now, values))
            if name == 'trajectory_controller':
                self.active = self._phase() != IDLE
                if status.level == DiagnosticStatus.ERROR:
                    self.fault = status.message

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Listen until a condition holds."""
        end = time.monotonic() + START_TIMEOUT
        while not condition():
            if time.monotonic() > end:
                raise ProcessError(f'no sign of {what} after {START_TIMEOUT:g} s')
            self._check()
            self._executor.spin_once(timeout_sec=0.05)

    def _check(self) -> None:
        """Raise where a node has ended or the controller has given up."""
        self._processes.check()
        if self.fault:
            raise ProcessError(f'the controller: {self.fault}')

    def run(self, duration: float, fetch: Callable[[], None]) -> None:
        """Listen for a time [s]."""
        begin = time.monotonic()
        checked = begin
        while (elapsed := time.monotonic() - begin) < duration:
            self._executor.spin_once(timeout_sec=0.05)
            fetch()
            if time.monotonic() - checked > 0.5:
                checked = time.monotonic()
                self._check()
                self._bench.update('measuring', min(elapsed / duration, 1.0))

    def follow(self, trajectory: Trajectory, duration: float) -> None:
        """Send a goal that lasts at least `duration` [s] and let the client go."""
        assert trajectory.period is not None
        executor = SingleThreadedExecutor()
        node = Node('pkm_bench_goal')
        executor.add_node(node)
        name = 'trajectory_controller/follow_platform_trajectory'
        client = ActionClient(node, FollowPlatformTrajectory, name)
        goal = FollowPlatformTrajectory.Goal(
            trajectory=to_message(trajectory), periods=math.ceil(duration / trajectory.period)
        )
        try:
            end = time.monotonic() + START_TIMEOUT
            sent = None
            while sent is None or not sent.done():
                if sent is None and client.server_is_ready():
                    sent = client.send_goal_async(goal)
                if time.monotonic() > end:
                    raise ProcessError(f"'{name}' did not answer within {START_TIMEOUT:g} s")
                self._processes.check()
                executor.spin_once(timeout_sec=0.05)
            ended = sent.result().get_result_async()

            def is_running() -> bool:
                executor.spin_once(timeout_sec=0.0)
                if ended.done():
                    raise ProcessError(f"'{name}': {ended.result().result.error_msg}")
                return self._phase() == Phase.RUN.name

            self.until(is_running, 'the motion at full speed')
        finally:
            client.destroy()
            executor.shutdown(timeout_sec=1.0)
            node.destroy_node()

    def _phase(self) -> str:
        return self.diagnostics.get('trajectory_controller', (0.0, {}))[1].get('phase', IDLE)


def _by_diagnostics(graph: _Graph, begun: float) -> dict[str, Any]:
    """Return what the nodes say of themselves since `begun`, to their diagnostics' second."""
    controller = _since(graph, 'trajectory_controller', begun)
    robot = _since(graph, 'simulated_robot', begun)
    last = controller[-1]
    return {
        'cycles': _change(controller, 'cycles'),
        'missed_deadlines': _change(controller, 'missed deadlines'),
        'repeated_commands': _change(controller, 'repeated commands'),
        'missed_deadlines_robot': _change(robot, 'missed deadlines'),
        'step_time': {
            name: float(last[f'compute time {name} [s]']) * 1e6 for name in ('p50', 'p99', 'max')
        },
        'lateness': {
            name: float(last[f'deadline lateness {name} [s]']) * 1e6 for name in ('p50', 'p99')
        },
    }


def _since(graph: _Graph, node: str, begun: float) -> list[dict[str, str]]:
    heard = [values for at, values in graph.history.get(node, []) if at >= begun - 1.5]
    if len(heard) < 2:
        raise ProcessError(f"'{node}' published no diagnostics")
    return heard


def _change(heard: list[dict[str, str]], key: str) -> int:
    return int(heard[-1][key]) - int(heard[0][key])
