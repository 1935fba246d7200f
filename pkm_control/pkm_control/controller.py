"""The trajectory controller: feedforward, feedback, clamps, stops by category.

Free of ROS and of clocks: time and measured positions go in, commands come out. The
desired motion is evaluated at the time of the measurement, so that the position error
compares like with like whatever the delay of the message.
"""

from __future__ import annotations

import traceback

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.axis_drives.axes import Axes
from pkm_control.axis_drives.force_axes import ForceAxes
from pkm_control.axis_drives.valve_axes import ValveAxes
from pkm_control.control_types import (
    ControlFault,
    ControllerOptions,
    ErrorCode,
    Outcome,
    StepResult,
    TrackingStatistics,
)
from pkm_control.desired_motion import DesiredMotion, LearnedShare
from pkm_control.feedforward import Feedforward
from pkm_control.hydraulic_axes import AxisControl
from pkm_control.learning.repetition import Repetition
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_control.safeguards.bound_changes import check_at_any_time, check_errors, check_tighter
from pkm_control.safeguards.plausibility import checked_interval, checked_positions
from pkm_control.safeguards.pose_watch import PoseWatch
from pkm_control.stops import StopCategory, StopEvent
from pkm_control.supervision import Finding, Supervisor
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import ServoGains
from pkm_dynamics.model import require_drives
from pkm_dynamics.trajectories import Execution, Phase, Trajectory
from pkm_dynamics.trajectories.base import finite_number

# What a force that was held too long brings about.
OFF_PATH = (
    StopEvent.TRACKING_BOUND,
    StopEvent.TRACKING_FAULT,
    StopEvent.STROKE_LEFT,
    StopEvent.WORKSPACE_LEFT,
    StopEvent.WORKSPACE_AHEAD,
    StopEvent.SINGULARITY_AHEAD,
    StopEvent.LIMIT_AHEAD,
    StopEvent.OVERSPEED,
)
START_GAP = 1e-6  # [m, rad] from rest to the start of a motion: too small for a jerk


class TrajectoryController:
    """State machine IDLE, HOLD, APPROACH, RAMP_IN, RUN, RAMP_OUT, STOPPING.

    Stops of category 2 end in HOLD. Those of category 1 bring the robot to rest, too; whoever
    runs the cycles then closes the brakes and deactivates, for the reason in `StepResult.fault`.
    Category 0 raises ControlFault. Not thread-safe: whoever calls from several threads holds a
    lock. `feedforward` alone may be assigned at any time. `gains` say what drives are told: those
    of a servo forces, an `AxisControl` the signals of valves. Raises UnderactuatedError when a
    degree of freedom of the robot has no drive.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        gains: ServoGains | AxisControl,
        feedforward: Feedforward,
        options: ControllerOptions | None = None,
    ) -> None:
        require_drives(model, 'trajectory control')
        self.model, self.gains = model, gains
        self.feedforward = feedforward
        self.options = options or ControllerOptions()
        self._axes: Axes
        if isinstance(gains, AxisControl):
            self._axes = ValveAxes(model, gains, self.options)
        else:
            self._axes = ForceAxes(model, gains, feedforward, self.options)
        self._supervisor = Supervisor(model, self.options, self._axes.inertia)
        self._pose = PoseWatch(model, self.options, self._supervisor.deceleration)
        self._learned_with = feedforward  # when the motion began
        self._desired: DesiredMotion | None = None
        self._reported = False  # whether somebody waits for the outcome of what moves
        self._repetition: Repetition | None = None  # what moves, where it is learned from
        self._last_time: float | None = None  # [s] of the last cycle
        self._commanded: float | None = None  # [s] of the last command, bridged ones included
        self._measured, self._velocity = np.zeros((2, model.n_a))  # of the last cycle
        self._rate = self._largest_rate = self._sighted_rate = 1.0
        self._ending: tuple[ErrorCode, str] = (ErrorCode.NONE, '')
        self._fault: ControlFault | None = None
        self._closing = ''  # why no more motions are begun
        self._statistics = TrackingStatistics.empty(model.n_a)

    @property
    def active(self) -> bool:
        """Whether the controller commands."""
        return self._desired is not None

    @property
    def bandwidth_share(self) -> float:
        """Of the bandwidth of the axes, what late states leave."""
        return self._axes.bandwidth_share

    @property
    def busy(self) -> bool:
        """Whether a motion is under way."""
        return self._desired is not None and self._desired.moving

    def activate(self, positions: ArrayLike) -> None:
        """Hold the robot where it is: at the measured positions (n_a,) [m, rad].

        Raises ControlFault when they are not valid or belong to no closed configuration, or the
        force there cannot be computed.
        """
        measured = checked_positions(self.model, positions)
        try:
            desired = DesiredMotion(self.model, measured, self.feedforward, self._rate)
        except PkmError as error:
            raise ControlFault(ErrorCode.KINEMATICS, f'measured positions: {error}') from error
        self._measured, self._velocity = measured, np.zeros_like(measured)
        self._axes.begin(self.feedforward)
        self._supervisor.begin(measured)
        self._last_time = self._fault = None
        self._reported, self._closing = False, ''
        self._desired = desired

    def deactivate(self) -> Outcome | None:
        """Stop commanding; the outcome of a motion that this ends, if one was under way."""
        reported = self.busy and self._reported
        self._desired = None
        message = 'controller deactivated during the motion'
        return Outcome(ErrorCode.DEACTIVATED, message, self._statistics) if reported else None

    def plan(
        self,
        trajectory: Trajectory,
        periods: int = 1,
        ramp_time: float = 1.0,
        approach_speed: float = 0.1,
    ) -> Execution:
        """Return the execution of `trajectory` from where the robot rests now.

        Raises TrajectoryError when the trajectory or an argument is malformed, ControlFault
        when the controller is not active or a motion is under way.
        """
        trajectory = trajectory.ordered(self.model.actuated_joints)
        start = self.resting_coordinates(trajectory.coordinates)
        return Execution(trajectory, periods, ramp_time, start, approach_speed)

    def resting_coordinates(self, coordinates: str) -> Floats:
        """Desired coordinates at rest: pose (6,) or actuator positions (n_a,)."""
        return self._at_rest().resting_coordinates(coordinates)

    def _at_rest(self) -> DesiredMotion:
        if self._desired is None:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        if reason := self._closing or str(self._fault or ''):
            raise ControlFault(ErrorCode.NOT_ACTIVE, f'the robot is stopping: {reason}')
        if self._desired.moving:
            raise ControlFault(ErrorCode.BUSY, 'a motion is under way')
        return self._desired

    def start(
        self, execution: Execution, largest_rate: float = 1.0, repetition: Repetition | None = None
    ) -> None:
        """Begin `execution` with the next cycle, at most at this rate of its speed.

        A `repetition` of it adds its force within the feedforward's bound, and records errors.
        Raises ControlFault when the controller is not active, a motion is under way, or the
        execution does not start where the robot rests.
        """
        coordinates, desired = execution.trajectory.coordinates, self._at_rest()
        gap = execution.start - desired.resting_coordinates(coordinates)
        if coordinates == 'platform':
            gap[3:] -= 2.0 * np.pi * np.round(gap[3:] / (2.0 * np.pi))
        if np.abs(gap).max() > START_GAP:
            raise ControlFault(
                ErrorCode.INFEASIBLE, 'the motion does not start where the robot rests'
            )
        self._largest_rate = largest_rate
        self._sighted_rate = 1.0
        self._pose.begin()
        desired.set_rate(min(self._rate, largest_rate), self.options.stop_time)
        desired.start(execution, repetition)
        self._repetition, self._learned_with = repetition, self.feedforward
        self._reported = True
        self._ending = (ErrorCode.NONE, '')
        self._statistics = TrackingStatistics.empty(self.model.n_a)
        self._supervisor.begin(self._measured)

    def set_rate(self, rate: float) -> None:
        """Go along the paths at `rate` in [0, 1] of their speed; changes take `stop_time`.

        Raises TrajectoryError for another rate.
        """
        self._rate = finite_number('rate', rate, within=(0.0, 1.0))
        if self._desired is not None:
            rate = min(self._rate, self._largest_rate, self._sighted_rate)
            self._desired.set_rate(rate, self.options.stop_time)

    def change_bounds(self, options: ControllerOptions) -> None:
        """Take other bounds from the next cycle on; forces do not change by that.

        Raises OptionsError, and keeps the old ones, where they may not change, or what is
        measured now lies beyond them.
        """
        bounds = error_bounds(self.model, options)
        check_at_any_time(self.options, options, self.busy)
        if self.busy:
            check_tighter(error_bounds(self.model, self.options), bounds)
        if self._desired is not None and self._last_time is not None:
            error = self._desired.last.position - self._measured
            check_errors(bounds, list(self.model.actuated_joints), error)
            self._supervisor.check_change(options, self._measured, self._velocity)
        self.options = options
        self._supervisor.change(options)
        self._pose.change(options)

    def stop(
        self,
        event: StopEvent = StopEvent.CANCEL,
        message: str = 'canceled',
        time: float | None = None,
    ) -> bool:
        """Bring the motion to rest on its path; False if none is under way.

        From the latest cycle on, or a later `time` [s]. The first reason given is the one reported.
        """
        if self._desired is None or not self._desired.moving:
            return False
        if self._ending[0] is ErrorCode.NONE:
            self._ending = (event.code, message)
        self._desired.stop(self.options.stop_time, time)
        return True

    def close(self, event: StopEvent, message: str) -> None:
        """Bring the motion to rest on its path, and begin no other one."""
        self._closing = message
        self.stop(event, message)

    def brake(self, event: StopEvent, message: str) -> None:
        """Bring the actuators to rest from where they are measured, off any path.

        For what does not let the robot stay on its path. `event` is of category 1: the next
        results have it as their `fault`.
        """
        if self._desired is None or self._fault is not None:
            return
        if self._ending[0] is ErrorCode.NONE:
            self._ending = (event.code, message)
        self._fault = ControlFault(event.code, message)
        wanted = self._desired.last.position
        # An error within its bound stays, since it may bear the robot; a larger one is dropped.
        small = np.abs(wanted - self._measured) <= error_bounds(self.model, self.options).largest
        wanted = np.where(small, wanted, self._measured)
        stop = self._supervisor.stop(wanted, self._velocity)
        self._reported = self._reported and self.busy
        self._desired.brake(self._last_time or 0.0, stop)
        self._axes.leap(wanted - self._measured)

    def step(self, time: float, positions: ArrayLike, efforts: Floats | None = None) -> StepResult:
        """Run one cycle on positions (n_a,) [m, rad] measured at `time` [s].

        Efforts (n_a,) [N, N m], as pressures give them, are needed for valves alone. Raises
        ControlFault when commanding must stop at once; the controller is then inactive.
        """
        try:
            return self._step(float(time), positions, efforts)
        except ControlFault as fault:
            if self.deactivate() is not None:
                fault.outcome = Outcome(fault.code, str(fault), self._statistics)
            raise

    def bridge(self, time: float) -> Floats:
        """Command (n_a,) for `time` [s], of which nothing is measured.

        The desired motion goes on, and a servo as if its error did what it should. Where the
        force cannot be computed the last state stays.
        """
        motion, feedforward = self._desired, self.feedforward
        if motion is None:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        interval = max(time - (self._commanded or 0.0), 0.0)
        try:
            desired = motion.ahead(time, feedforward)
        except PkmError:
            desired = motion.last
        self._commanded = time
        return self._axes.bridge(time, interval, desired, feedforward)

    def _step(self, time: float, positions: ArrayLike, efforts: Floats | None) -> StepResult:
        measured, motion = checked_positions(self.model, positions), self._desired
        if motion is None:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        interval = checked_interval(self._last_time, time, self.options.max_interval)
        self._last_time = self._commanded = time
        self._measured = measured
        feedforward = self.feedforward
        try:
            desired = motion.at(time, feedforward)
        except Exception as failure:
            own = isinstance(failure, PkmError)
            message = str(failure) if own else f'{type(failure).__name__}: {failure}'
            if not own:
                traceback.print_exc()
            self.brake(StopEvent.MODEL_FAILED, message)
            desired = motion.at(time, feedforward)
        moving, fault = motion.moving, self._fault
        given = time, interval, desired, feedforward, measured, efforts
        commanded, error = self._axes.command(*given), desired.position - measured
        saturated = commanded.saturated
        self._velocity = desired.velocity - self._axes.slip
        if moving:
            at_full_speed = desired.phase is Phase.RUN
            self._statistics.add(error, bool(saturated.any()), at_full_speed)
        if moving and desired.learned is not None:
            self._record(desired.learned, error, feedforward, bool(saturated.any()))
        opposed = self._axes.check(time, measured, self._velocity)
        self._supervise(interval, moving, error, opposed)
        ended = moving and desired.phase is Phase.HOLD and self._fault is fault
        return StepResult(
            time=time,
            phase=desired.phase,
            trajectory_time=desired.progress.s,
            period_index=desired.progress.period_index,
            fraction=desired.progress.fraction,
            time_left=desired.progress.time_left,
            desired_position=desired.position,
            desired_velocity=desired.velocity,
            position=measured,
            **commanded._asdict(),
            bounded=motion.bounded,
            model=feedforward.name,
            rate=desired.rate,
            outcome=self._ended(motion) if ended else None,
            fault=self._fault,
        )

    def _record(
        self, learned: LearnedShare, error: Floats, feedforward: Feedforward, saturated: bool
    ) -> None:
        """Tell a repetition of a cycle."""
        assert self._repetition is not None
        if feedforward is not self._learned_with:
            self._repetition.spoil('another feedforward has taken over')
        self._repetition.take(learned.time, learned.rate, error, learned.force, saturated)

    def _ended(self, motion: DesiredMotion) -> Outcome | None:
        """Rest where the motion has ended; its outcome, where somebody waits for it."""
        motion.end()
        outcome = Outcome(*self._ending, self._statistics) if self._reported else None
        self._reported = False
        return outcome

    def _supervise(
        self, interval: float, moving: bool, error: Floats, finding: Finding | None
    ) -> None:
        """Stop for this finding, or else for what the bounds say."""
        if finding is None:
            speeds = self._velocity, self._axes.slip
            finding = self._supervisor.check(interval, moving, self._measured, error, *speeds)
        if finding is None and moving and self._fault is None:
            finding = self._look(interval, error)
        if finding is None:
            return
        if finding.event in OFF_PATH and self.bandwidth_share < 1.0:
            held = f'a force was held for {1e3 * self._axes.longest_hold:.0f} ms shortly before'
            message = f'{finding.message}; {held}: late states or a busy machine'
            finding = Finding(finding.event, message)
        if finding.event.category is StopCategory.POWER_OFF:
            before = '' if self._fault is None else f'; it braked already: {self._fault}'
            raise ControlFault(finding.event.code, finding.message + before)
        if self._fault is not None:  # it brakes already, or rests after that
            if finding.event is StopEvent.TRACKING_FAULT and moving:
                raise ControlFault(StopEvent.RUNAWAY.code, finding.message)
        elif finding.event.category is StopCategory.STOP_AND_HOLD:
            self.stop(*finding)
        else:
            self.brake(*finding)

    def _look(self, interval: float, error: Floats) -> Finding | None:
        """Look at the pose of a robot that is off its path; slow down where it should."""
        assert self._desired is not None
        speeds = self._velocity, error, self._axes.slip
        finding, rate = self._pose.look(interval, self._desired.motion, self._measured, *speeds)
        if rate != self._sighted_rate:
            self._sighted_rate = rate
            self.set_rate(self._rate)
        return finding
