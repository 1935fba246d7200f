"""Node `simulated_robot`: a simulated plant behind the topics of a real robot."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool, Trigger

import pkm_description
from pkm_description.errors import SimulationError
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_status
from pkm_description.nodes.qos import LATCHED
from pkm_description.nodes.running import quick_executor, run_node
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_types import COMMANDS, FORCES, VALVES
from pkm_dynamics.nodes.command_stamps import CommandDeadline, label_of, stamp_label
from pkm_dynamics.nodes.plant_publishers import PlantPublishers, set_stamp
from pkm_dynamics.simulation import PlantEffects, PlantSample
from pkm_dynamics.simulation.effects import SWITCHES
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant
from pkm_dynamics.simulation.plant import SimulatedPlant, of_motors
from pkm_dynamics.worlds import MUJOCO, WORLDS
from pkm_dynamics.worlds.named_worlds import GAPS, plant_in

PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('world', MUJOCO, f'simulator: {", ".join(WORLDS)}'),
    NodeParameter('drives', FORCES, f'what commands are: {", ".join(COMMANDS)}'),
    NodeParameter('seed', 0, 'seed of the measurement noise', lower=0, upper=2**31 - 1),
    NodeParameter('lockstep', False, 'take one step for each command, as fast as it goes'),
    NodeParameter('rate', 1000.0, 'control intervals per second', 'Hz', 1.0, 1e5),
    NodeParameter('substep', 1e-4, 'longest integration step', 's', 1e-6, 1e-2),
    NodeParameter(
        'realtime_factor', 1.0, 'simulated over elapsed time when running freely', '1', 1e-3, 100.0
    ),
    NodeParameter(
        'command_timeout', 0.1, 'without a command for this long the brakes close', 's', 1e-3, 60.0
    ),
    NodeParameter(
        'command_age',
        0.1,
        'of the state that a stamped command answers; older: refused',
        's',
        1e-3,
        60.0,
    ),
    NodeParameter(
        'brake_time', 0.03, 'from a command to the closed brakes, simulated', 's', 0.0, 10.0
    ),
    NodeParameter('ground_truth', True, 'publish noise-free positions, velocities and forces'),
    NodeParameter('clock', True, 'publish the simulated time on /clock'),
    *(
        NodeParameter(f'effects.{name}', True, f'simulate {name.replace("_", " ")}')
        for name in SWITCHES
    ),
)

# Wall time after which an unanswered state is published again [s]; a second answer does
# no harm where commands say which state they answer.
REPEAT = 0.05
UNSTAMPED_REPEAT = 0.5
# [s] for controllers to bring the robot to rest when all nodes are ended at once
LONGEST_GOODBYE = 2.0
# Behind its deadlines by more than this [s], the free run gives the lost time up: a robot that
# caught up would move many steps under a single command.
LONGEST_LAG = 0.005
# [s] between two steps at least: without it a run that is behind never lets go of its lock, and no
# command is taken, for 80 ms were seen
PAUSE = 2e-5


class SimulatedRobot(Node):
    """A simulated robot that takes effort commands and publishes what its sensors show.

    In lockstep the state of a step is published and then one command is awaited, so
    results do not depend on the machine's load; without an answer the state is
    published again. When running freely a thread of its own steps the plant at
    absolute deadlines with the latest command; without one for `command_timeout` the
    brakes hold the robot where it is. A command that answers a state older than `command_age` is
    not applied. Nothing moves before the first command. Brakes that were
    told to close on `brakes/close` hold it, too, whatever the commands, until they are told to
    open; `brakes/closed` says whether they do.
    """

    def __init__(self) -> None:
        super().__init__('simulated_robot')
        values = declare_parameters(self, PARAMETERS)
        description = pkm_description.load(values['robot'])
        switches = {name: values[f'effects.{name}'] for name in SWITCHES}
        self._effects = PlantEffects.from_description(description).switched(**switches)
        step = 1.0 / values['rate']
        substep = step / max(1, round(step / values['substep'] + 0.4999))
        given = (description, self._effects, values['seed'], step, substep, values['drives'])
        self._plant = plant_in(values['world'], *given)
        self._widest = GAPS[values['world']]
        self._lock = threading.Lock()
        self._lockstep = bool(values['lockstep'])
        self._period = step / values['realtime_factor']
        self._timeout = float(values['command_timeout'])
        self._deadline = CommandDeadline(values['command_age'] * values['realtime_factor'])
        self._rejected = self._missed = self._stale = 0
        self._command: Floats | None = None
        self._commanded_at = self._published_at = time.monotonic()
        self._repeat = REPEAT
        self._braked = True
        self._failure: Exception | None = None
        self._end: float | None = None  # [s] when the node ends though it is commanded
        self._brake_time = float(values['brake_time'])
        self._close_at: float | None = None  # [s] simulated, when brakes told to close have done it

        joints = self._plant.actuated_joints
        self._motors = spoken_by(description)
        self._constants = np.array([each.force_constant for each in description.actuators])
        names = joints if self._motors is None else list(self._motors.motors)
        self._holding, self._free = 'brakes on', 'brakes off'
        if values['drives'] == VALVES:
            self._holding, self._free = 'valves closed', 'valves follow their signals'
        self._output = PlantPublishers(self, names, values['ground_truth'], values['clock'])
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/unmodelled_effects', self._on_unmodelled_effects)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._publish_diagnostics, clock=steady)
        name = COMMANDS[values['drives']]
        self.create_subscription(Float64MultiArray, name, self._on_command, QoSProfile(depth=10))
        # counts of publishers know nothing of remapping
        topics = {drives: self.resolve_topic_name(each) for drives, each in COMMANDS.items()}
        self._commands = topics.pop(values['drives'])
        self._foreign = list(topics.values())
        self.create_subscription(Bool, 'brakes/close', self._on_brakes, LATCHED)
        self._closed = self.create_publisher(Bool, 'brakes/closed', LATCHED)
        self._closed.publish(Bool(data=True))
        self._told = True
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._publish()
        if self._lockstep:
            self.create_timer(REPEAT / 2, self._repeat_state, clock=steady)
        else:
            self._thread = threading.Thread(target=self._run_freely, daemon=True)
            self._thread.start()
        mode = 'lockstep' if self._lockstep else f'{1.0 / self._period:g} steps a second'
        robot = f"robot '{description.name}' at home in {values['world']}"
        self.get_logger().info(f'{robot}, {self._holding} ({mode}, {len(joints)} actuators)')

    def wind_down(self) -> bool:
        """Wait for the end of the commands, as a robot does; whether there are none to wait for."""
        if self._end is None:
            self._end = time.monotonic() + LONGEST_GOODBYE
        commanded = self.count_publishers(self._commands) > 0
        return self._braked or not commanded or time.monotonic() > self._end

    def close(self) -> None:
        """End the stepping thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    # -- commands -----------------------------------------------------------------

    def _on_command(self, message: Float64MultiArray) -> None:
        label = label_of(message)
        if self._lockstep and label is not None and label != self._expected:
            self._stale += 1
            return
        try:
            command = self._plant.check_command(message.data)
        except SimulationError as error:
            self._rejected += 1
            self.get_logger().error(f'command rejected: {error}', throttle_duration_sec=1.0)
            return
        if self._motors is not None:
            command = self._motors.joint_efforts(command)
        if not self._lockstep and not self._deadline.allows(message, self._plant.time):
            limit = self._deadline.longest
            text = f'command refused: it answers no state of the last {limit:g} s'
            self.get_logger().warning(text, throttle_duration_sec=1.0)
            return
        if self._lockstep:
            self._repeat = REPEAT if label else UNSTAMPED_REPEAT
            self._step(command)
            return
        with self._lock:
            self._command = command
            self._commanded_at = time.monotonic()

    def _on_brakes(self, message: Bool) -> None:
        with self._lock:
            if not message.data:
                self._close_at = None
            elif self._close_at is None:
                # those that the command timeout has closed stay so
                needed = 0.0 if self._braked else self._brake_time
                self._close_at = self._plant.time + needed

    def _tell_brakes(self, closed: bool) -> None:
        self._braked = closed
        if closed != self._told:
            self._told = closed
            self._closed.publish(Bool(data=closed))

    # -- stepping -----------------------------------------------------------------

    def _publish(self) -> None:
        self._output.publish(self._shown())
        self._published_at = time.monotonic()
        self._expected = stamp_label(self._output.state_stamp)

    def _shown(self) -> PlantSample:
        """Return the latest sample, of the motors where the robot speaks of them."""
        sample = self._plant.sample
        return sample if self._motors is None else of_motors(sample, self._motors, self._constants)

    def _repeat_state(self) -> None:
        """Publish the state again if nothing answered it: a controller may have come since."""
        waited = time.monotonic() - self._published_at
        if self._failure is None and waited >= self._repeat:
            self._output.publish_state(self._shown())
            self._published_at = time.monotonic()

    def _run_freely(self) -> None:
        deadline = time.monotonic()
        while not self._stop.is_set():
            deadline += self._period
            wait = deadline - time.monotonic()
            time.sleep(max(wait, PAUSE))
            if wait < -self._period:
                self._missed += 1
                if wait < -LONGEST_LAG:
                    deadline = time.monotonic()
            try:
                with self._lock:
                    self._step_freely()
            except Exception as error:
                if not self.context.ok():
                    return
                self._fail(error)

    def _step_freely(self) -> None:
        command = self._command
        if command is not None and time.monotonic() - self._commanded_at > self._timeout:
            self._command = command = None
        if command is None:
            if not self._braked:
                self._tell_brakes(True)
                what = f'no valid command for {self._timeout:g} s: {self._holding}'
                self.get_logger().warning(what)
            if self._failure is None:
                self._plant.hold()
                self._publish()
            return
        self._step(command)

    def _step(self, command: Floats) -> None:
        """Step and publish; a simulation that diverged shows nothing until it is reset."""
        if self._failure is not None:
            return
        closed = self._close_at is not None and self._plant.time >= self._close_at
        if closed != self._braked:
            self.get_logger().info(self._holding if closed else self._free)
        self._tell_brakes(closed)
        try:
            if closed:
                self._plant.hold()
            else:
                self._plant.step(command)
        except Exception as error:
            self._fail(error)
            return
        self._publish()

    def _fail(self, error: Exception) -> None:
        """Close the brakes and show nothing until a reset."""
        self._command = None
        self._tell_brakes(True)
        self._failure = error
        message = _text(error)
        if not isinstance(error, SimulationError):
            message += '\n' + ''.join(traceback.format_exception(error))
        self.get_logger().fatal(message, throttle_duration_sec=1.0)

    # -- services and diagnostics -------------------------------------------------

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._command = self._failure = self._close_at = None
            self._tell_brakes(True)
            self._plant.reset(time=self._plant.time + self._plant.step_time)
            self._repeat = REPEAT
            self._publish()
        response.success = True
        response.message = f'at home, at rest, {self._holding} at {self._plant.time:.3f} s'
        return response

    def _on_unmodelled_effects(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        if not isinstance(self._plant, SimulatedPlant | HydraulicPlant):
            response.message = 'Stribeck friction and cogging are no part of this world'
            return response
        effects = self._effects if request.data else self._effects.without_unmodelled()
        with self._lock:
            self._plant.effects = effects
        state = 'on, as configured' if request.data else 'off'
        response.success = True
        response.message = f'Stribeck friction and cogging are {state}'
        return response

    def _publish_diagnostics(self) -> None:
        with self._lock:
            gap = self._plant.closure_gap()
            simulated = self._plant.time
        level, message = DiagnosticStatus.OK, self._holding if self._braked else 'running'
        foreign = [topic for topic in self._foreign if self.count_publishers(topic)]
        if self._failure is not None:
            level, message = DiagnosticStatus.ERROR, _text(self._failure)
        elif foreign:
            level = DiagnosticStatus.ERROR
            message = f'commands on {foreign[0]} are not for these drives: {self._commands}'
        elif gap > self._widest or self._rejected:
            level = DiagnosticStatus.WARN
            message = 'loops gape' if gap > self._widest else 'commands were rejected'
        values = {
            'simulated time [s]': f'{simulated:.3f}',
            'closure gap [m]': f'{gap:.3e}',
            'rejected commands': str(self._rejected),
            'stale commands': str(self._stale),
            'late commands': str(self._deadline.late),
            'missed deadlines': str(self._missed),
        }
        robot, stamp = self._plant.description.name, Time()
        set_stamp(stamp, simulated)
        publish_status(self, self._diagnostics, robot, message, values, level, stamp)


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, SimulationError) else f'{type(error).__name__}: {error}'


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(SimulatedRobot, args, quick_executor))


if __name__ == '__main__':
    main()
