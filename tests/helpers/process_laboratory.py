"""A robot, its controller and the excitation server, each its own process, and who disturbs them.

The simulated robot runs freely, but slowly: a loaded machine keeps up, and times are those of the
robot, by the stamps of its ground truth.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from graph import Graph
from laboratory import CONTROLLER, MODEL, RATE, RESTS, STANDS, Row, shake, way_to_rest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from pkm_bringup.demo.through_nodes import MODULES
from pkm_bringup.processes import NodeProcesses
from pkm_description.nodes.qos import LATCHED
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Phase
from pkm_msgs.action import Excite, FollowPlatformTrajectory
from pkm_msgs.msg import ControllerState

ROBOT, SERVER = 'simulated_robot', 'excitation_server'
SLOWNESS = 10.0  # elapsed time over that of the robot
COMMAND_TIMEOUT = 0.1  # [s] of the robot's time, as by default at full speed
PATIENCE = 90.0  # [s] for a node to come up on a loaded machine
AGAIN = 5.0  # [s] until a question is asked again: an answer to a new client can be lost
# Of the controller that runs at deadlines: cycles without states until it stops, and time [s]
# until it ends commands, ten times the default: a loaded machine stalls for long.
BRIDGED, STATE_TIMEOUT = 50, 1.0
ATTEMPTS = 5  # at a motion, where a stall of the machine may end it
# [m, rad] A robot at full speed does not leave this motion for a stall of the machine.
SMALL = 5e-4


class ProcessLaboratory(Graph):
    """Processes that are started when they are missed; `ready` makes them as new."""

    def __init__(self, folder: Path, timed: bool = False) -> None:
        """Let the controller run at deadlines, at the robot's full speed, where `timed`."""
        super().__init__()
        self.folder = folder
        self.timed = timed
        self.slowness = 1.0 if timed else SLOWNESS
        self.rows: list[Row] = []
        self.nodes_running = NodeProcesses(folder / 'log')
        self.instances = 0  # of the controller
        self.controller = ''  # name of the process of the controller that is used
        self._running: set[str] = set()

    def __enter__(self) -> ProcessLaboratory:
        super().__enter__()
        self.listen(DiagnosticArray, 'diagnostics')
        self.listen(Bool, 'brakes/closed', LATCHED)
        self.listen(ControllerState, f'{CONTROLLER}/state', 1)
        self.listen(String, f'{CONTROLLER}/ready_to_move', LATCHED)
        hear = self.tester.create_subscription
        hear(JointState, 'ground_truth', self._on_truth, 1000)
        action = f'{CONTROLLER}/follow_platform_trajectory'
        self.follow = ActionClient(self.tester, FollowPlatformTrajectory, action)
        self.excite = ActionClient(self.tester, Excite, f'{SERVER}/excite')
        return self

    def __exit__(self, *error: object) -> None:
        self.nodes_running.stop()
        super().__exit__(*error)

    def _on_truth(self, message: JointState) -> None:
        stamp = message.header.stamp
        arrays = np.array(message.position), np.array(message.velocity)
        self.rows.append(Row(stamp.sec + 1e-9 * stamp.nanosec, *arrays))

    # -- processes ------------------------------------------------------------------

    def start_robot(self) -> None:
        slow = {'rate': RATE, 'realtime_factor': 1.0 / self.slowness}
        # at full speed, the machine's stalls are not what is tested
        timeout = 2.0 if self.timed else COMMAND_TIMEOUT * self.slowness
        slow |= {'command_timeout': timeout, 'command_age': timeout}
        self._start(ROBOT, ROBOT, **slow, seed=5)

    def start_controller(self, autostart: bool = True) -> str:
        """Start one more controller; the name of its process."""
        self.instances += 1
        name = f'{CONTROLLER}_{self.instances}'
        mode = {'update_mode': 'state'}
        if self.timed:
            mode = {'rate': RATE, 'bridged_cycles': BRIDGED, 'state_timeout': STATE_TIMEOUT}
        self._start(name, CONTROLLER, **mode, autostart=autostart, feedforward='nominal')
        return name

    def start_server(self) -> None:
        heard = self.heard['diagnostics']
        heard.clear()
        self._start(SERVER, SERVER, data_folder=str(self.folder), rate=RATE)
        # one that was killed looks ready for long
        self.until(lambda: any(m.status[0].name == f'/{SERVER}' for m in heard), PATIENCE)

    def _start(self, name: str, node: str, **parameters) -> None:
        self.nodes_running.start(name, MODULES[node], {'robot': 'palida', **parameters})
        self._running.add(name)

    def send(self, name: str, number: int) -> None:
        """Send a process a signal."""
        self.nodes_running.send(name, number)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """End a process by a signal."""
        self.nodes_running.kill(name, number)
        self._running.discard(name)
        if name == self.controller:
            self.controller = ''

    def run_client(self, bag: str) -> subprocess.Popen[str]:
        """Start `pkm excite run` with the motion of the laboratory."""
        motion = self.folder / 'motion.yaml'
        if not motion.exists():
            shake().save(motion)
        words = ['excite', 'run', str(motion), '--robot', 'palida', '--bag', self.bag(bag)]
        words += ['--periods', '400', '--ramp-time', '0.3', '--timeout', '60']
        return subprocess.Popen(
            [sys.executable, '-m', 'pkm_bringup.cli', *words],
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )

    def bag(self, name: str) -> str:
        return str(self.folder / name)

    # -- the graph --------------------------------------------------------------------

    def ask(self, kind, name, request):
        """Answer of a service, asked again where none comes."""
        if name not in self.clients:
            self.clients[name] = self.tester.create_client(kind, name)
        client, calls, asked = self.clients[name], [], [-np.inf]

        def answered() -> bool:
            if time.monotonic() > asked[-1] + AGAIN:
                asked.append(time.monotonic())
                calls.append(client.call_async(request))
            return any(call.done() for call in calls)

        self.until(client.service_is_ready, PATIENCE)
        self.until(answered, PATIENCE)
        return next(call.result() for call in calls if call.done())

    @property
    def hindrance(self) -> str:
        """What the controller said last in `ready_to_move`; empty before, too."""
        heard = self.heard[f'{CONTROLLER}/ready_to_move']
        return str(heard[-1].data) if heard else ''

    def is_in_state(self, number: int) -> bool:
        answer = self.ask(GetState, f'{CONTROLLER}/get_state', GetState.Request())
        return bool(answer.current_state.id == number)

    def change(self, number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.ask(ChangeState, f'{CONTROLLER}/change_state', request).success)

    def without_controller(self) -> None:
        """Make the robot be there, and no controller any more, killed as it may be."""
        if ROBOT not in self._running:
            self.start_robot()
        if self.controller:
            self.kill(self.controller)
        self.until(lambda: self.rows and self.brakes_closed, PATIENCE)

    def ready(self, server: bool = False) -> None:
        """Make all processes be there, the robot at home, the controller active."""
        if ROBOT not in self._running:
            self.start_robot()
        if not self.controller:
            self.controller = self.start_controller()
        elif self.is_in_state(State.PRIMARY_STATE_ACTIVE):
            self.change(Transition.TRANSITION_DEACTIVATE)
            self.until(lambda: self.is_in_state(State.PRIMARY_STATE_INACTIVE), PATIENCE)
        if server and SERVER not in self._running:
            self.start_server()
        self.rows.clear()
        assert self.ask(Trigger, f'{ROBOT}/reset', Trigger.Request()).success
        # The controller must not begin from a state that shows the robot where it was before.
        self.until(
            lambda: self.rows and np.abs(self.rows[-1].legs - MODEL.home_actuators).max() < 1e-3,
            PATIENCE,
        )
        self.until(self.try_to_activate, PATIENCE)
        self.rows.clear()
        for messages in self.heard.values():
            messages.clear()
        self.until(lambda: self.rows and self.phase is Phase.HOLD, PATIENCE)

    def try_to_activate(self) -> bool:
        """Ask for it where it is not active; whether it was."""
        if self.is_in_state(State.PRIMARY_STATE_ACTIVE):
            return True
        self.change(Transition.TRANSITION_ACTIVATE)
        return False

    @property
    def phase(self) -> Phase:
        heard = self.heard[f'{CONTROLLER}/state']
        return Phase(heard[-1].phase) if heard else Phase.IDLE

    def moving(self):
        """Let the robot follow a goal; the future of its result."""
        goal = self.goal(periods=400)
        result = self._under_way(self.follow, goal)
        for _ in range(ATTEMPTS):
            if not result.done():
                break
            self.ready()
            result = self._under_way(self.follow, goal)
        assert not result.done(), 'the motion has ended too soon'
        return result

    def exciting(self, bag: str):
        """Let the robot be excited; the future of the result."""
        goal = Excite.Goal(trajectory=to_message(shake()), periods=400, bag=self.bag(bag))
        goal.ramp_time = 0.3
        result = self._under_way(self.excite, goal)
        assert not result.done(), 'the motion has ended too soon'
        return result

    def goal(self, **fields) -> FollowPlatformTrajectory.Goal:
        """A goal with the motion of the laboratory."""
        motion = to_message(shake(SMALL) if self.timed else shake())
        return FollowPlatformTrajectory.Goal(trajectory=motion, ramp_time=0.3, **fields)

    def answered(self, future):
        """The result of a future, when it is there."""
        self.until(future.done, PATIENCE)
        return future.result()

    def sent(self, action: ActionClient, goal):
        """Send a goal; its handle."""
        self.until(action.server_is_ready, PATIENCE)
        return self.answered(action.send_goal_async(goal))

    def _under_way(self, action: ActionClient, goal):
        result = self.sent(action, goal).get_result_async()
        self.at_full_speed(result.done)
        return result

    def at_full_speed(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Wait until the motion is under way, an eighth of its period after the ramp."""
        self.until(lambda: self.phase is Phase.RUN or ended(), PATIENCE)
        self.pass_by(0.1)

    def pass_by(self, seconds: float) -> None:
        """Let time of the robot pass [s]."""
        end = self.rows[-1].time + seconds
        self.until(lambda: self.rows[-1].time > end, PATIENCE)

    @property
    def brakes_closed(self) -> bool:
        return bool(self.heard['brakes/closed'] and self.heard['brakes/closed'][-1].data)

    def rest(self, since: int) -> tuple[float, float]:
        """Time [s] from a row until the robot rests for good, and its travel [m]."""

        def rests() -> bool:
            late = self.rows[since:][-RESTS:]
            return len(late) == RESTS and all(np.abs(r.speeds).max() < STANDS for r in late)

        self.until(rests, PATIENCE)
        return way_to_rest(self.rows, since)
