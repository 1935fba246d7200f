"""The trajectory controller: joint PD plus feedforward, clamps, defined stops.

Free of ROS and of clocks: time and measured positions go in, forces come out. The
desired motion is evaluated at the time of the measurement, so that the position error
compares like with like whatever the delay of the message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.control_types import (
    ControlFault,
    ControllerOptions,
    ErrorCode,
    Outcome,
    StepResult,
    TrackingStatistics,
)
from pkm_control.feedforward import Feedforward
from pkm_control.gains import ServoGains
from pkm_control.servo import JointServo
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.model import require_drives
from pkm_dynamics.trajectories import Execution, Phase, StoppedExecution, Trajectory

START_GAP = 1e-6  # [m, rad] from rest to the start of a motion: too small for a jerk
SMALLER = 'a feedforward model, higher gains or a slower motion make it smaller'


class _Desired(NamedTuple):
    """Desired state of one cycle; `motion` is what the feedforward is computed from.

    `force` (n_a,) [N, N m] is that feedforward, None at rest, where it is computed in
    every cycle with the model then in use.
    """

    motion: PlatformMotion
    position: Floats
    velocity: Floats
    force: Floats | None = None


class TrajectoryController:
    """State machine IDLE, HOLD, APPROACH, RAMP_IN, RUN, RAMP_OUT, STOPPING.

    Not thread-safe: whoever calls from several threads holds a lock. `feedforward`
    alone may be assigned at any time. Raises UnderactuatedError when a degree of freedom of
    the robot has no drive.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        gains: ServoGains,
        feedforward: Feedforward,
        options: ControllerOptions | None = None,
    ) -> None:
        require_drives(model, 'trajectory control')
        self.model = model
        self.feedforward = feedforward
        self.options = options or ControllerOptions()
        self._servo = JointServo(gains, self.options.velocity_cutoff)
        self._lower = np.asarray(model.lower) - self.options.stroke_tolerance
        self._upper = np.asarray(model.upper) + self.options.stroke_tolerance
        self._actuated = [model.joint_names.index(name) for name in model.actuated_joints]
        self._force_limit = np.asarray(model.force_limit, dtype=float)
        self._rest: _Desired | None = None
        self._execution: Execution | StoppedExecution | None = None
        self._origin: float | None = None
        self._last_time: float | None = None
        self._ending: tuple[ErrorCode, str] = (ErrorCode.NONE, '')
        self._statistics = TrackingStatistics.empty(model.n_a)
        self._motion: PlatformMotion | None = None  # of the latest cycle of a motion
        self._evaluated: float | None = None  # its time [s]
        self._states = feedforward.states  # drives whose states the motions have

    @property
    def active(self) -> bool:
        """Whether the controller commands forces."""
        return self._rest is not None

    @property
    def busy(self) -> bool:
        """Whether a motion is under way."""
        return self._execution is not None

    def activate(self, positions: ArrayLike) -> None:
        """Hold the robot where it is: at the measured positions (n_a,) [m, rad].

        Raises ControlFault when they are not valid or belong to no closed configuration.
        """
        measured = self._checked(positions)
        zero = np.zeros((1, len(measured)))
        try:
            motion = self.model.motion_from_actuators(measured[None], zero, zero)
        except PkmError as error:
            raise ControlFault(ErrorCode.KINEMATICS, f'measured positions: {error}') from error
        self._servo.reset()
        self._last_time = None
        self._execution = None
        self._motion, self._evaluated = motion, None
        self._rest = _Desired(motion, measured, np.zeros_like(measured))

    def deactivate(self) -> Outcome | None:
        """Stop commanding; the outcome of a motion that this ends, if one was under way."""
        busy = self.busy
        self._rest = self._execution = None
        message = 'controller deactivated during the motion'
        return Outcome(ErrorCode.DEACTIVATED, message, self._statistics) if busy else None

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
        if self._rest is None:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        if self._execution is not None:
            raise ControlFault(ErrorCode.BUSY, 'a motion is under way')
        if coordinates == 'actuators':
            return self._rest.position.copy()
        motion = self._rest.motion
        return np.concatenate([motion.position[0], rotation_to_rpy(motion.rotation[0])])

    def start(self, execution: Execution) -> None:
        """Begin `execution` with the next cycle.

        Raises ControlFault when the controller is not active, a motion is under way, or the
        execution does not start where the robot rests.
        """
        coordinates = execution.trajectory.coordinates
        gap = execution.start - self.resting_coordinates(coordinates)
        if coordinates == 'platform':
            gap[3:] -= 2.0 * np.pi * np.round(gap[3:] / (2.0 * np.pi))
        if np.abs(gap).max() > START_GAP:
            raise ControlFault(
                ErrorCode.INFEASIBLE, 'the motion does not start where the robot rests'
            )
        self._execution = execution
        self._origin = None
        self._ending = (ErrorCode.NONE, '')
        self._statistics = TrackingStatistics.empty(self.model.n_a)

    def stop(self, code: ErrorCode = ErrorCode.CANCELED, message: str = 'canceled') -> bool:
        """Bring the motion to rest on its path; False if none is under way.

        The first reason given is the one reported.
        """
        if self._execution is None:
            return False
        if self._ending[0] is ErrorCode.NONE:
            self._ending = (code, message)
            if self._origin is not None and self._last_time is not None:
                self._brake(self._last_time - self._origin)
        return True

    def _brake(self, now: float) -> None:
        assert self._execution is not None
        period = self._execution.trajectory.period or np.inf
        self._execution = self._execution.stop(now, min(self.options.stop_time, period))

    def step(self, time: float, positions: ArrayLike) -> StepResult:
        """Run one cycle on positions (n_a,) [m, rad] measured at `time` [s].

        Raises ControlFault when commanding must stop at once; the controller is then inactive.
        """
        try:
            return self._step(float(time), positions)
        except ControlFault as fault:
            if self.deactivate() is not None:
                fault.outcome = Outcome(fault.code, str(fault), self._statistics)
            raise

    def _step(self, time: float, positions: ArrayLike) -> StepResult:
        measured = self._checked(positions)
        rest = self._rest
        if rest is None:
            raise ControlFault(ErrorCode.NOT_ACTIVE, 'the controller is not active')
        interval = 0.0 if self._last_time is None else time - self._last_time
        if not np.isfinite(time) or interval < 0.0:
            raise ControlFault(
                ErrorCode.BAD_STATE, f'time stamp went back by {-interval:.6f} s to {time:.6f} s'
            )
        if interval > self.options.max_interval:
            raise ControlFault(
                ErrorCode.BAD_STATE,
                f'time stamp jumped ahead by {interval:.6f} s to {time:.6f} s '
                f'(limit {self.options.max_interval:g} s)',
            )
        self._last_time = time
        feedforward = self.feedforward
        self._follow_states(feedforward, rest)
        desired, phase, progress, outcome = self._advance(rest, time, feedforward)
        error = desired.position - measured
        force = desired.force
        if force is None:
            try:
                force = feedforward.forces(self.model, desired.motion)[0]
            except PkmError as failure:
                raise ControlFault(ErrorCode.KINEMATICS, f'feedforward: {failure}') from failure
        feedback = self._servo.feedback(interval, error)
        wanted = force + feedback
        if not np.isfinite(wanted).all():
            joint = self.model.actuated_joints[int(np.argmin(np.isfinite(wanted)))]
            raise ControlFault(ErrorCode.KINEMATICS, f'{joint}: the force is not finite')
        command = np.clip(wanted, -self._force_limit, self._force_limit)
        saturated = command != wanted
        self._supervise(phase, measured, error, bool(saturated.any()))
        motion, forces = (desired.position, desired.velocity, measured), (force, feedback, command)
        ending = (saturated, feedforward.name, outcome)
        return StepResult(time, phase, *progress, *motion, *forces, *ending)

    def _advance(
        self, rest: _Desired, time: float, feedforward: Feedforward
    ) -> tuple[_Desired, Phase, tuple[float, int, float, float], Outcome | None]:
        """Desired state at `time`, phase, progress, and the outcome at the end."""
        if self._execution is None:
            return rest, Phase.HOLD, (0.0, 0, 1.0, 0.0), None
        if self._origin is None:
            self._origin = time
            if self._ending[0] is not ErrorCode.NONE:
                self._brake(0.0)
        now = time - self._origin
        try:
            desired = self._evaluate(self._execution, now, time, feedforward)
        except PkmError as error:
            raise ControlFault(ErrorCode.KINEMATICS, f'at t = {now:.4f} s: {error}') from error
        state = self._execution.state(now)
        progress = (state.s, state.period_index, state.fraction, state.time_left)
        outcome = None
        if state.phase is Phase.HOLD:
            outcome = Outcome(*self._ending, self._statistics)
            self._rest = desired._replace(force=None)  # with what feedforward is then used
            self._execution = None
        return desired, state.phase, progress, outcome

    def _evaluate(
        self,
        execution: Execution | StoppedExecution,
        now: float,
        time: float,
        feedforward: Feedforward,
    ) -> _Desired:
        motion = execution.motion([now], self.model, initial=self._motion)
        # from the motion before: drives cool down while the robot rests
        interval = 0.0 if self._evaluated is None else time - self._evaluated
        joints, force = feedforward.along(self.model, motion, self._motion, interval)
        # Found once: the next cycle starts from them.
        motion.joint_positions, motion.joint_velocities, motion.joint_accelerations = joints
        self._motion, self._evaluated = motion, time
        position, velocity = (array[0, self._actuated] for array in joints[:2])
        return _Desired(motion, position, velocity, force[0])

    def _follow_states(self, feedforward: Feedforward, rest: _Desired) -> None:
        """Let the states of the drives go on where another feedforward has others."""
        before, self._states = self._states, feedforward.states
        if self._states == before:
            return
        for motion in {id(each): each for each in (self._motion, rest.motion)}.values():
            if motion is None:
                continue
            past, motion.drive_states = motion.drive_states, None
            if self._states is not None:
                velocities = self.model.joint_states(motion).velocities[0, self._actuated]
                last = None if past is None else past[-1]
                motion.drive_states = self._states.taken_over(before, last, velocities)[None]

    def _supervise(self, phase: Phase, measured: Floats, error: Floats, saturated: bool) -> None:
        joints, options = self.model.actuated_joints, self.options
        worst = int(np.argmax(np.abs(error)))
        size, found = abs(error[worst]), f'{joints[worst]}: position error {error[worst]:.4g}'
        if size > options.fault_position_error:
            message = f'{found} exceeds the fault bound {options.fault_position_error:g}; {SMALLER}'
            raise ControlFault(ErrorCode.TRACKING_ERROR, message)
        if self._execution is None:
            return
        self._statistics.add(error, saturated, phase is Phase.RUN)
        if size > options.max_position_error:
            message = f'{found} exceeds the bound {options.max_position_error:g}; {SMALLER}'
            self.stop(ErrorCode.TRACKING_ERROR, message)
        outside = (measured < self._lower) | (measured > self._upper)
        if outside.any():
            axis = int(np.argmax(outside))
            self.stop(
                ErrorCode.LIMIT_VIOLATED,
                f'{joints[axis]}: measured position {measured[axis]:.5g} '
                f'left the stroke {self.model.lower[axis]:g} to {self.model.upper[axis]:g}',
            )

    def _checked(self, positions: ArrayLike) -> Floats:
        try:
            measured = np.array(positions, dtype=float)
        except (TypeError, ValueError):
            raise ControlFault(ErrorCode.BAD_STATE, 'positions: not an array of numbers') from None
        if measured.shape != (self.model.n_a,):
            message = f'positions: {self.model.n_a} are needed, got shape {measured.shape}'
            raise ControlFault(ErrorCode.BAD_STATE, message)
        if not np.isfinite(measured).all():
            joint = self.model.actuated_joints[int(np.argmin(np.isfinite(measured)))]
            raise ControlFault(ErrorCode.BAD_STATE, f'{joint}: measured position is not finite')
        return measured
