"""Node `trajectory_controller`: follows platform trajectories by forces or by valves."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from unique_identifier_msgs.msg import UUID

import pkm_description
from pkm_control.control_types import ControlFault, ErrorCode, Outcome
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_control.hydraulic_axes import AxisControl, axis_control
from pkm_control.interlocks import Interlocks
from pkm_control.loop_warm_up import warm_up
from pkm_control.nodes.bound_tuning import BoundTuning
from pkm_control.nodes.brakes import Brakes
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.controller_diagnostics import ControllerDiagnostics
from pkm_control.nodes.controller_parameters import (
    FEEDFORWARDS,
    PARAMETERS,
    UPDATE_MODES,
    controller_options,
)
from pkm_control.nodes.controller_publishers import ControllerPublishers
from pkm_control.nodes.follow_server import FollowServer
from pkm_control.nodes.joint_state_reader import JointStateReader, PolledSubscription
from pkm_control.nodes.joint_trajectory_input import JointTrajectoryInput
from pkm_control.nodes.model_service import ModelService
from pkm_control.nodes.motion_learning import learning_folder
from pkm_control.nodes.readiness import what_hinders
from pkm_control.nodes.safety_inputs import SafetyInputs
from pkm_control.nodes.slow_motions import SlowMotions
from pkm_control.shutdown import ShutdownTimes
from pkm_control.stops import StopEvent
from pkm_description.errors import DescriptionError, PkmError
from pkm_description.nodes.client_watch import HEARTBEAT, ClientWatch
from pkm_description.nodes.graph_health import GraphHealth
from pkm_description.nodes.node_parameters import declare_parameters
from pkm_description.nodes.qos import LATCHED
from pkm_description.nodes.running import FatalError, run_node
from pkm_description.transmissions.calibration import machine_digest
from pkm_description.transmissions.motor_side import spoken_by
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.drive_types import COMMANDS, VALVES
from pkm_dynamics.joint_servo.gains import ServoGains, servo_gains
from pkm_dynamics.model import require_drives

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
# Hears publishers of either kind; a lost state is one that the next one replaces.
MEASURED = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
AUTOSTART_PERIOD = 0.1  # [s] between attempts to activate
OTHERS_PERIOD = 0.1  # [s] between looks for other nodes that command the robot
# Nodes whose errors do not keep the robot from moving: this one, which knows itself, and those
# that record and identify. The force monitor watches: where it fell silent nobody does.
BYSTANDERS = ('trajectory_controller', 'excitation_server', 'estimation_server', 'online_estimator')
WATCHMEN = ('force_monitor',)
ENDING = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN)
ENDING_LABELS = ('deactivate', 'shutdown')


class TrajectoryControllerNode(LifecycleNode):
    """Lifecycle node around `TrajectoryController`.

    Unconfigured or inactive it commands nothing. Activated it holds the measured pose
    and follows the trajectories of the action. What stops it, and how, is in `StopEvent`:
    after a stop of category 0 or 1 it is inactive, its diagnostics an error where it was a
    fault. Deactivation, shut-down and signals stop it by category 1.
    """

    def __init__(self) -> None:
        super().__init__('trajectory_controller')
        values = declare_parameters(self, PARAMETERS)
        self._values = values
        chosen = {'drives': COMMANDS, 'update_mode': UPDATE_MODES, 'feedforward': FEEDFORWARDS}
        for name, valid in chosen.items():
            if values[name] not in valid:
                raise DescriptionError(
                    f"parameter '{name}': '{values[name]}'; valid are {', '.join(valid)}"
                )
        controller_options(values)  # refuses bounds that contradict each other
        self.loop: ControlLoop | None = None
        self._output: ControllerPublishers | None = None
        self._brakes: Brakes | None = None
        self._source: PolledSubscription | None = None
        rate = values['feasibility_rate']
        self._client = ClientWatch(self._on_client_lost)
        beats = QoSProfile(depth=10)
        self._beats = PolledSubscription(self, UUID, f'~/{HEARTBEAT}', beats)
        named = 'drives_say_ready', 'enabling_device', 'enabling_timeout', 'drives_say_homed'
        interlocks = Interlocks(*(values[name] for name in named))
        self._follow = FollowServer(
            *(self, lambda: self.loop, rate, self._on_rejected, self._client, interlocks),
            reduced_speed=values['reduced_speed'],
            brakes=lambda: self._brakes,
            opening_time=values['brake_opening_time'],
            learning=(learning_folder(values['learning_folder']), values['learning_share']),
        )
        shared = self._follow, interlocks, values['reduced_speed']
        self._slow = SlowMotions(self, lambda: self.loop, *shared)
        self._joint_trajectories = JointTrajectoryInput(self, self._follow, rate)
        self._diagnostics = ControllerDiagnostics(self, values['robot'])
        self._models = ModelService(self, lambda: self.loop, values['max_model_difference'])
        self._tuning = BoundTuning(self, values, lambda: self.loop)
        self._health = GraphHealth(self, BYSTANDERS, WATCHMEN)
        self._safety = SafetyInputs(self, lambda: self.loop, interlocks)
        self._ready = self.create_publisher(String, '~/ready_to_move', LATCHED)
        self._hindrance: str | None = None
        self._ended: list[Future] = []  # of those who wait for the end of the commands
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self._on_change_state
        # A transition waits for the robot's rest: other callbacks go on meanwhile.
        self._service_change_state.callback_group = ReentrantCallbackGroup()
        self._service_change_state.callback_group.add_entity(self._service_change_state)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._publish_diagnostics, clock=steady)
        self.create_timer(OTHERS_PERIOD, self._look_around, clock=steady)
        for each in (self._follow, self._slow):
            self.create_timer(1.0 / values['feedback_rate'], each.publish_feedback, clock=steady)
        self._autostart: Any = None
        if values['autostart']:
            self._autostart = self.create_timer(AUTOSTART_PERIOD, self._start, clock=steady)

    # -- lifecycle ----------------------------------------------------------------

    async def _on_change_state(
        self, request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        """Let the robot rest first; answer requests that the state does not allow.

        rclpy raises errors for those.
        """
        asked = request.transition
        if asked.id in ENDING or (not asked.id and asked.label in ENDING_LABELS):
            await self._end_of_commands()
        try:
            return self._change_state(request, response)
        except Exception as error:
            state, wanted = self._state_machine.current_state[1], request.transition
            what = f"{wanted.label or wanted.id} refused in the state '{state}'"
            self.get_logger().error(f'transition {what}: {error}')
            response.success = False
            return response

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build model, gains and feedforward; listen to joint states."""
        try:
            self.loop = self._build()
        except PkmError as error:
            self.get_logger().error(f'configuration failed: {error}')
            return FAILURE
        self._follow.prepare(self.loop.controller.model.description)
        self.loop.start()
        gc.collect()
        gc.freeze()  # what lives now lives on: the collector need not stop the loop for it
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Hold the measured pose."""
        assert self.loop is not None and self._output is not None
        if self._safety.protective_stop.latched:
            reason = self._safety.protective_stop.reason
            self.get_logger().error(f'not activated: protective stop {reason}; reset it first')
            return FAILURE
        if (hindrance := self._safety.interlocks.of_power) is not None:
            self.get_logger().error(f'not activated: {hindrance.reason}', throttle_duration_sec=2.0)
            return FAILURE
        if others := self._output.other_commanders():
            names = ', '.join(others)
            self.get_logger().error(f'not activated: {names} would command the robot, too')
            return FAILURE
        if wrong := self._output.wrong_drives():
            self.get_logger().error(f'not activated: {wrong}', throttle_duration_sec=2.0)
            return FAILURE
        try:
            self.loop.activate()
        except ControlFault as fault:
            self.get_logger().error(f'not activated: {fault}', throttle_duration_sec=2.0)
            return FAILURE
        feedforward = self.loop.controller.feedforward.name
        self.get_logger().info(f'active, holding the measured pose; feedforward: {feedforward}')
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring the robot to rest, close its brakes, then no more commands."""
        if self.loop is not None:
            self.loop.deactivate()
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop commanding and forget the model."""
        self._release()
        return SUCCESS

    on_shutdown = on_cleanup

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop commanding and forget the model: a transition has failed unexpectedly."""
        self.get_logger().fatal(f'error in the transition from {state.label}')
        self._release()
        return SUCCESS

    def wind_down(self) -> bool:
        """Begin or go on to end before the process does; whether that is done.

        The robot comes to rest by category 1, and the client of its goal hears of it.
        """
        if self.loop is not None:
            self.loop.shut_down()
            if self._source is not None and not self._source.publishers:
                self.loop.power_off()  # the robot has gone
        return (self.loop is None or not self.loop.commanding) and not self._follow.busy

    def close(self) -> None:
        """Stop commanding before the process ends."""
        self._release()
        self._safety.destroy()
        self._beats.destroy()
        self._follow.close()

    def destroy_node(self) -> None:
        """Destroy the node, and the services of its life cycle, which rclpy leaves behind."""
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()

    def _build(self) -> ControlLoop:
        values = self._values
        description = pkm_description.load(values['robot'])
        self._digest = machine_digest(description)
        model, motors = ClosedChainModel(description), spoken_by(description)
        require_drives(model, 'trajectory control')
        gains, described = self._gains(model)
        nominal = values['feedforward'] == 'nominal'
        feedforward = nominal_feedforward(model) if nominal else no_feedforward()
        options = controller_options(values)
        warm = replace(options, max_interval=math.inf)
        warm_up(TrajectoryController(model, gains, nominal_feedforward(model), warm))
        controller = TrajectoryController(model, gains, feedforward, options)
        self._brakes = Brakes(self)
        drives = values['drives']
        self._output = ControllerPublishers(self, model.actuated_joints, motors, drives)
        self._source = PolledSubscription(self, JointState, 'joint_states', MEASURED)
        timed = values['update_mode'] == 'timer'
        self.get_logger().info(f"robot '{description.name}', {described}")
        return ControlLoop(
            controller,
            JointStateReader(model.actuated_joints, motors),
            self._source,
            self._output,
            self._brakes,
            values['rate'] if timed else None,
            values['state_timeout' if timed else 'lockstep_timeout'],
            self._on_fault,
            self._on_outcome,
            self._on_end,
            self._poll,
            ShutdownTimes(values['settle_time'], values['brake_time']),
            values['bridged_cycles'],
        )

    def _gains(self, model: ClosedChainModel) -> tuple[ServoGains | AxisControl, str]:
        """Return the gains of the kind of drives, and what to say of them."""
        values = self._values
        scale = values['gain_scale']
        if values['drives'] == VALVES:
            control = axis_control(model, 1.0 / values['rate'], scale)
            return control, f'valves, gain {control.gain[0]:.3g} 1/s (gains x {scale:g})'
        servo = servo_gains(model, values['bandwidth'], values['damping'], scale)
        bandwidth = f'servo {servo.bandwidth:g} Hz, damping {servo.damping:g}'
        return servo, f'{bandwidth}, gains x {scale:g}'

    def _release(self) -> None:
        if self.loop is not None:
            self.loop.close()
        if self._source is not None:
            self._source.destroy()
        if self._output is not None:
            self._output.destroy()
        if self._brakes is not None:
            self._brakes.destroy()
        self.loop = self._output = self._source = self._brakes = None

    def _start(self) -> None:
        """Configure and activate, trying again until joint states come."""
        if self.loop is None and self.trigger_configure() is not SUCCESS:
            raise FatalError(f"robot '{self._values['robot']}' cannot be configured")
        assert self.loop is not None
        if not self.loop.has_recent_state:
            self.get_logger().info('waiting for joint states', throttle_duration_sec=5.0)
            return
        if self.loop.commanding or self._in_state(State.PRIMARY_STATE_ACTIVE):
            self.destroy_timer(self._autostart)  # somebody was faster
        elif self._in_state(State.PRIMARY_STATE_INACTIVE) and self.trigger_activate() is SUCCESS:
            self.destroy_timer(self._autostart)

    # -- events -------------------------------------------------------------------

    def _on_fault(self, fault: ControlFault) -> None:
        self.get_logger().fatal(f'stopped commanding: {fault.code.name}: {fault}')
        self._diagnostics.fault(fault.code, str(fault))
        if self.executor is not None:
            self.executor.create_task(self._go_inactive)
            self.executor.wake()

    def _on_outcome(self, outcome: Outcome) -> None:
        """Take the end of a motion, from whatever thread."""
        if not self._slow.finish(outcome):
            self._follow.finish(outcome)

    def _poll(self) -> None:
        """Take what others than the robot say, in the thread of the loop."""
        self._safety.poll()
        while (beat := self._beats.take()) is not None:
            self._client.hear(beat)
        self._client.look()

    def _on_end(self) -> None:
        """Wake those who wait for the end of the commands, from whatever thread."""
        waiting, self._ended = self._ended, []
        for each in waiting:
            each.set_result(None)
        if self.executor is not None:
            self.executor.wake()

    async def _end_of_commands(self) -> None:
        """Stop by category 1 and wait until commands have ended."""
        loop = self.loop
        if loop is None or not loop.commanding:
            return
        ended = Future()
        self._ended.append(ended)
        loop.shut_down()
        if loop.commanding:
            await ended

    def _on_client_lost(self, reason: str) -> None:
        self._follow.revoke(StopEvent.CLIENT_LOST, reason)

    def _look_around(self) -> None:
        """Look for others who command the robot; tell whether it may move."""
        self._look_for_others()
        hindrance = self._what_hinders()
        if hindrance != self._hindrance:
            self._hindrance = hindrance
            self._ready.publish(String(data=hindrance))

    def _what_hinders(self) -> str:
        """Return why a goal would not be followed now; empty where it would."""
        complaint = '' if self.loop is None else self._health.complaint(self._digest)
        graph = self._safety, complaint, self._follow.busy
        return what_hinders(self.loop, self._output, self._brakes, *graph)

    def _look_for_others(self) -> None:
        loop, output = self.loop, self._output
        if loop is None or output is None or not loop.commanding:
            return
        if others := output.other_commanders():
            names = ', '.join(others)
            loop.shut_down(StopEvent.FOREIGN_COMMANDS, f'{names} commands the robot, too')
        elif wrong := output.wrong_drives():
            loop.shut_down(StopEvent.DRIVES_NOT_READY, wrong)

    def _go_inactive(self) -> None:
        stopped = self.loop is not None and not self.loop.commanding
        if stopped and self._in_state(State.PRIMARY_STATE_ACTIVE):
            self.trigger_deactivate()
        self._publish_diagnostics()

    def _on_rejected(self, code: ErrorCode, message: str) -> None:
        self.get_logger().error(f'goal rejected: {code.name}: {message}')
        self._diagnostics.rejected(code, message)
        self._publish_diagnostics()

    def _in_state(self, number: int) -> bool:
        return bool(self._state_machine.current_state[0] == number)

    def _publish_diagnostics(self) -> None:
        if self.loop is not None:
            self.loop.watch()
        self._diagnostics.publish(self.loop, self._what_hinders(), self._safety.interlocks)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM, which stop commands before the process ends."""
    sys.setswitchinterval(5e-4)  # the control thread waits for no other longer than this
    sys.exit(run_node(TrajectoryControllerNode, args))


if __name__ == '__main__':
    main()
