"""The loop of controller and simulated robot, measured from outside on real ROS 2."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from pkm_bringup.bench.frame import MICRO, Bench
from pkm_bringup.nodes.bench_listener import LoopListener
from pkm_bringup.nodes.graph_client import GraphClient
from pkm_bringup.processes import NodeProcesses, ProcessError
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Phase, Trajectory
from pkm_msgs.action import FollowPlatformTrajectory

CONTROLLER, ROBOT = 'trajectory_controller', 'simulated_robot'
START_TIMEOUT = 120.0  # [s] for the nodes to come up; a first start compiles
IDLE = 'IDLE'  # phase of a controller that commands nothing
WARM_UP = 2.0  # [s] of motion before anything counts
# A loaded machine shall show figures, not a stop by the watchdog or the tracking bounds.
PATIENT = {
    'state_timeout': 5.0,  # [s]
    'bridged_cycles': 100000,
    'lockstep_timeout': 60.0,  # [s]
    'max_position_error': 0.5,  # [m, rad]
    'fault_position_error': 1.0,  # [m, rad]
    'stroke_tolerance': 1.0,  # [m, rad]
}


def measure_free_running(bench: Bench) -> dict[str, Any]:
    """Run controller (timer mode) and robot (free running) as processes of their own.

    The robot follows the periodic trajectory with the nominal feedforward. Publication
    times are those that the middleware stamps in the publishing process, so waiting in
    this process is in no figure. `rate` [Hz] is that of the commands; `step_time` and `lateness`
    (p50, p99) [us] are by the controller's own diagnostics.
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
    """Run controller and robot in lockstep, as fast as they go."""
    duration = bench.duration / 2
    with _Graph(bench, lockstep=True) as graph:
        graph.follow(bench.trajectory, 20.0 * (WARM_UP + duration))
        graph.run(WARM_UP, lambda: None)
        graph.until(lambda: bool(graph.heard[ROBOT]), 'its diagnostics')
        first = graph.heard[ROBOT][-1]
        graph.run(duration, lambda: None)
        last = graph.heard[ROBOT][-1]
        simulated, elapsed = last.simulated_time - first.simulated_time, last.at - first.at
        if elapsed <= 0.0 or simulated <= 0.0:
            raise ProcessError('the simulated robot did not step in lockstep')
        steps = round(simulated * 1e3)
        return {'duration': elapsed, 'steps': steps, 'steps_per_second': steps / elapsed}


@dataclass(frozen=True)
class Report:
    """What a node said of itself, as far as it says it, and when it was heard [s]."""

    at: float
    phase: str
    counts: tuple[int, ...]  # cycles, missed deadlines, cycles without a new state
    simulated_time: float  # [s]
    step_time: dict[str, float]  # [us] p50, p99, max
    lateness: dict[str, float]  # [us] p50, p99

    @classmethod
    def of(cls, status: DiagnosticStatus) -> Report:
        """Read the values of a message."""
        values = {entry.key: entry.value for entry in status.values}

        def number(key: str) -> float:
            return float(values.get(key, 'nan'))

        counted = ('cycles', 'missed deadlines')
        waiting = ('cycles between states', 'bridged cycles')
        step = {p: number(f'compute time {p} [s]') * MICRO for p in ('p50', 'p99', 'max')}
        late = {p: number(f'deadline lateness {p} [s]') * MICRO for p in ('p50', 'p99')}
        *counts, between, bridged = (int(values.get(key, '0')) for key in (*counted, *waiting))
        simulated = number('simulated time [s]')
        return cls(
            time.monotonic(),
            values.get('phase', IDLE),
            (*counts, between + bridged),
            simulated,
            step,
            late,
        )


class _Graph:
    """Two node processes and a node of this process that listens to their diagnostics."""

    def __init__(self, bench: Bench, lockstep: bool) -> None:
        self._bench, self._lockstep = bench, lockstep
        self._logs = tempfile.TemporaryDirectory(prefix='pkm_bench_')
        self._processes = NodeProcesses(Path(self._logs.name))
        self.heard: dict[str, list[Report]] = {CONTROLLER: [], ROBOT: []}
        self.fault = ''

    def __enter__(self) -> _Graph:
        self._client = GraphClient('pkm_bench')
        self._client.node.create_subscription(
            DiagnosticArray, 'diagnostics', self._on_diagnostics, 50
        )
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()
        self._logs.cleanup()
        self._client.close()

    def _start(self) -> None:
        common = {'robot': self._bench.robot}
        mode = 'state' if self._lockstep else 'timer'
        moves = {'update_mode': mode, 'feedforward': 'nominal', 'autostart': True} | PATIENT
        for name, module, parameters in (
            (ROBOT, 'pkm_dynamics.nodes.simulated_robot', {'lockstep': self._lockstep}),
            (CONTROLLER, 'pkm_control.nodes.trajectory_controller', moves),
        ):
            self._processes.start(name, module, common | parameters)
        self._bench.update('starting the nodes', None)
        self.until(lambda: self._phase() != IDLE, 'an active controller')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.rpartition('/')[2]
            self.heard.setdefault(name, []).append(Report.of(status))
            if name == CONTROLLER and status.level == DiagnosticStatus.ERROR:
                self.fault = status.message

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Listen until a condition holds."""

        def holds() -> bool:
            self._check()
            return condition()

        if not self._client.wait(holds, START_TIMEOUT):
            raise ProcessError(f'no sign of {what} after {START_TIMEOUT:g} s')

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
            self._client.spin()
            fetch()
            if time.monotonic() - checked > 0.5:
                checked = time.monotonic()
                self._check()
                self._bench.update('measuring', min(elapsed / duration, 1.0))

    def follow(self, trajectory: Trajectory, duration: float) -> None:
        """Send a goal that lasts at least `duration` [s] and let the client go."""
        assert trajectory.period is not None
        name = f'{CONTROLLER}/follow_platform_trajectory'
        periods = math.ceil(duration / trajectory.period)
        with GraphClient('pkm_bench_goal', self._processes.check) as client:
            action, begin = client.action(FollowPlatformTrajectory, name), time.monotonic()
            goal = FollowPlatformTrajectory.Goal(trajectory=to_message(trajectory), periods=periods)
            sent = None
            if client.wait(action.server_is_ready, START_TIMEOUT):
                sent = action.send_goal_async(goal)
            left = START_TIMEOUT - (time.monotonic() - begin)
            if sent is None or not client.wait(sent.done, left):
                raise ProcessError(f"'{name}' did not answer within {START_TIMEOUT:g} s")
            ended = sent.result().get_result_async()

            def is_running() -> bool:
                client.spin(0.0)
                if ended.done():
                    raise ProcessError(f"'{name}': {ended.result().result.error_msg}")
                return self._phase() == Phase.RUN.name

            self.until(is_running, 'the motion at full speed')

    def _phase(self) -> str:
        heard = self.heard[CONTROLLER]
        return heard[-1].phase if heard else IDLE


def _by_diagnostics(graph: _Graph, begun: float) -> dict[str, Any]:
    """Return what the nodes say of themselves since `begun`, to their diagnostics' second."""
    counted: dict[str, list[int]] = {}
    for node in (CONTROLLER, ROBOT):
        heard = [report for report in graph.heard[node] if report.at >= begun - 1.5]
        if len(heard) < 2:
            raise ProcessError(f"'{node}' published no diagnostics")
        pairs = zip(heard[0].counts, heard[-1].counts, strict=True)
        counted[node] = [last - first for first, last in pairs]
    last = graph.heard[CONTROLLER][-1]
    cycles, missed, waiting = counted[CONTROLLER]
    counts = {'cycles': cycles, 'missed_deadlines': missed, 'cycles_without_state': waiting}
    counts['missed_deadlines_robot'] = counted[ROBOT][1]
    return {**counts, 'step_time': last.step_time, 'lateness': last.lateness}
