"""The whole of a commanded motion: approach, ramp in, run, ramp out, hold.

The robot first moves from where it rests to the start of the path. Then the path
parameter s (the trajectory's own time) accelerates from rest to s' = 1 by a smooth
time scaling, so that the recorded part is exactly the trajectory; then it
decelerates to rest. A stop slows the clock of the whole execution in the same way,
which keeps the robot on the path. Positions, velocities and accelerations are
continuous throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.trajectories.base import (
    LEAST_INTERVAL,
    Trajectory,
    finite_array,
    finite_number,
    to_motion,
)
from pkm_dynamics.trajectories.bounds import LONGEST_DURATION
from pkm_dynamics.trajectories.path_clock import PathClock
from pkm_dynamics.trajectories.point_to_point import quintic_area, quintic_blend, quintic_duration

APPROACH_ACCELERATION = 1.0  # [m/s^2, rad/s^2] bound of the approach
SHORTEST_APPROACH = 0.1  # [s] of an approach that moves at all
APPROACH_SPEEDS = (1e-6, 1e3)  # [m/s, rad/s]
RAMP_TIMES = (1e-3, 3600.0)  # [s] of a periodic trajectory


class Phase(IntEnum):
    """What a controller is doing; the numbers of `pkm_msgs/ControllerState`."""

    IDLE = 0
    HOLD = 1
    APPROACH = 2
    RAMP_IN = 3
    RUN = 4
    RAMP_OUT = 5
    STOPPING = 6


@dataclass(frozen=True)
class ExecutionState:
    """Where an execution is."""

    phase: Phase
    s: float  # path parameter [s], 0 where the first recorded period begins
    period_index: int  # periods completed at full speed
    fraction: float  # 0..1 of the whole motion, 1 when at rest at its end
    time_left: float  # [s]


class Execution:
    """A trajectory from standstill to standstill."""

    def __init__(
        self,
        trajectory: Trajectory,
        periods: int = 1,  # at full speed; 1 for a trajectory that starts and ends at rest
        ramp_time: float = 1.0,  # [s] from rest to full speed and back, of periodic trajectories
        start: ArrayLike | None = None,  # (n_c,) where the robot rests at time 0; on the path
        approach_speed: float = 0.1,  # [m/s, rad/s] peak of translation, rotation, any actuator
    ) -> None:
        if isinstance(periods, bool) or int(periods) != periods or periods < 1:
            raise TrajectoryError(f'periods: a whole number >= 1 is needed, got {periods!r}')
        periodic = trajectory.period is not None
        if not periodic and periods != 1:
            raise TrajectoryError(
                f'periods: a trajectory that ends at rest runs once, got {periods}'
            )
        self.trajectory = trajectory
        self.periods = int(periods)
        finite_number('duration', trajectory.duration, within=(LEAST_INTERVAL, LONGEST_DURATION))
        bounds = (RAMP_TIMES[0] if periodic else 0.0, RAMP_TIMES[1])
        ramp = finite_number('ramp_time', ramp_time, positive=periodic, within=bounds)
        self.ramp_time = ramp if periodic else 0.0
        self.approach_speed = finite_number(
            'approach_speed', approach_speed, positive=True, within=APPROACH_SPEEDS
        )
        self.run_duration = self.periods * trajectory.duration
        if self.run_duration > LONGEST_DURATION:
            raise TrajectoryError(
                f'periods: {self.periods} of {trajectory.duration:g} s exceed '
                f'{LONGEST_DURATION:g} s in all'
            )
        self._first = trajectory.evaluate([-0.5 * self.ramp_time])[0][0]
        if start is None:
            self.start = self._first
        else:
            self.start = finite_array('start', start, self._first.shape)
            if trajectory.coordinates == 'platform':
                self.start = _nearest_angles(self.start, self._first)
        self._step = self._first - self.start
        self.approach_time = self._approach_time()
        self.ramp_start = self.approach_time
        self.run_start = self.ramp_start + self.ramp_time
        self.run_end = self.run_start + self.run_duration
        self.duration = self.run_end + self.ramp_time

    @property
    def knots(self) -> Floats:
        """Times (n,) [s] of the trajectory's knots."""
        return np.asarray(self.run_start + self.trajectory.knots)

    @property
    def phases(self) -> tuple[tuple[float, float], ...]:
        """Begin and end [s] of approach and ramps, where the motion has them."""
        ends = (0.0, self.ramp_start), (self.ramp_start, self.run_start)
        return tuple(p for p in (*ends, (self.run_end, self.duration)) if p[1] > p[0])

    def _approach_time(self) -> float:
        if self.trajectory.coordinates == 'platform':
            halves = self._step.reshape(2, 3)
            with np.errstate(over='ignore'):  # infinitely far is refused below
                distance = float(np.sqrt((halves**2).sum(axis=1)).max())
        else:
            distance = float(np.max(np.abs(self._step)))
        if distance < 1e-12:
            return 0.0
        wanted = quintic_duration(distance, self.approach_speed, APPROACH_ACCELERATION)
        if not wanted <= LONGEST_DURATION:
            raise TrajectoryError(
                f'the way to its beginning, {distance:g} m or rad long, takes more than '
                f'{LONGEST_DURATION:g} s at {self.approach_speed:g} m/s or rad/s'
            )
        return max(wanted, SHORTEST_APPROACH)

    def state(self, t: float) -> ExecutionState:
        """Return where the execution is at time `t` [s]."""
        s, _, _ = self.path_parameter(t)
        ends = {
            Phase.APPROACH: self.ramp_start,
            Phase.RAMP_IN: self.run_start,
            Phase.RUN: self.run_end,
            Phase.RAMP_OUT: self.duration,
        }
        phase = next((phase for phase, end in ends.items() if t < end), Phase.HOLD)
        completed = int(s / self.trajectory.duration + 1e-9) if s > 0.0 else 0
        left = max(self.duration - t, 0.0)
        fraction = 1.0 - left / self.duration if self.duration > 0.0 else 1.0
        return ExecutionState(phase, s, min(completed, self.periods), min(fraction, 1.0), left)

    def path_parameter(self, t: float) -> tuple[float, float, float]:
        """S [s] and its first and second derivatives at time `t` [s]."""
        if t <= self.ramp_start:
            return -0.5 * self.ramp_time, 0.0, 0.0
        if t < self.run_start:
            area, value, slope = _ramp((t - self.ramp_start) / self.ramp_time)
            return self.ramp_time * (area - 0.5), value, slope / self.ramp_time
        if t <= self.run_end:
            return t - self.run_start, 1.0, 0.0
        if t < self.duration:
            area, value, slope = _ramp((self.duration - t) / self.ramp_time)
            s = self.run_duration + self.ramp_time * (0.5 - area)
            return s, value, -slope / self.ramp_time
        rate = 0.0 if self.trajectory.period is not None else 1.0
        return self.run_duration + 0.5 * self.ramp_time, rate, 0.0

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and their time derivatives, (N, n_c) each, at times t (N,) [s]."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        early = (times < self.ramp_start) & (self.approach_time > 0.0)
        if len(times) and early.all():
            return self._approach(times)
        states = _along(self.trajectory, [self.path_parameter(time) for time in times.tolist()])
        if early.any():
            for state, own in zip(states, self._approach(times[early]), strict=True):
                state[early] = own
        return states

    def _approach(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        """Coordinates and derivatives (N, n_c) of the approach; at rest before time 0."""
        late = np.maximum(times, 0.0)[:, None] / self.approach_time
        blend, slope, bend = quintic_blend(late)
        rate = 1.0 / self.approach_time
        return (
            self.start + blend * self._step,
            slope * rate * self._step,
            bend * rate**2 * self._step,
        )

    def motion(
        self, t: ArrayLike, model: ClosedChainModel, initial: PlatformMotion | None = None
    ) -> PlatformMotion:
        """Evaluate as a motion of the platform; see `Trajectory.motion`."""
        return to_motion(self.trajectory, self.evaluate(t), model, initial)

    def stop(self, t: float, stop_time: float = 0.5) -> PacedExecution:
        """Return this execution, but coming to rest on the path within `stop_time` [s] from `t`."""
        return PacedExecution(self).stop(t, stop_time)


class PacedExecution:
    """An execution at the rate of a clock, which slows it down on its path or stops it.

    It offers the same methods as `Execution`, its times are those of the clock; once stopped its
    phase is STOPPING, then HOLD.
    """

    def __init__(self, execution: Execution, rate: float = 1.0) -> None:
        self.execution = execution
        self.trajectory = execution.trajectory
        self.clock = PathClock(finite_number('rate', rate, within=(0.0, 1.0)))
        self._stopped: float | None = None  # [s] since when

    @property
    def start(self) -> Floats:
        """Coordinates (n_c,) where the robot rests at time 0."""
        return self.execution.start

    @property
    def stopped(self) -> bool:
        """Whether it comes to rest before its end."""
        return self._stopped is not None

    @property
    def duration(self) -> float:
        """Time [s] at which the robot is at rest, infinite where the clock stands still before."""
        if self.stopped:
            return self.clock.end
        left = self.execution.duration - self.clock.at(self.clock.end)[0]
        if left <= 0.0 or self.clock.target <= 0.0:
            return np.inf if left > 0.0 else self.clock.end
        return self.clock.end + left / self.clock.target

    @property
    def knots(self) -> Floats:
        """Times (n,) [s] of the trajectory's knots that are reached while the clock runs."""
        inner = self.execution.knots
        return self.clock.times_of(inner[inner <= self.clock.at(self.duration)[0]])

    @property
    def phases(self) -> tuple[tuple[float, float], ...]:
        """Begin and end [s] of approach, ramps and changes of the clock's rate."""
        last = self.clock.at(self.duration)[0]
        inner = [(begin, min(end, last)) for begin, end in self.execution.phases if begin < last]
        ends = self.clock.times_of(np.array(inner).reshape(-1)).reshape(-1, 2)
        return (*((float(a), float(b)) for a, b in ends), *self.clock.changes)

    def pace(self, t: float, rate: float, duration: float) -> None:
        """Go on at `rate` of the full speed, reached within `duration` [s] from `t` [s] on."""
        if self.stopped:
            return
        finite_number('rate', rate, within=(0.0, 1.0))
        self.clock.change(t, rate, finite_number('duration', duration, positive=True))

    def stop(self, t: float, stop_time: float = 0.5) -> PacedExecution:
        """Come to rest on the path within `stop_time` [s] from `t` [s] on; return this object.

        What is stopping already stops as it does.
        """
        if not self.stopped:
            finite_number('stop_start', t)
            finite_number('stop_time', stop_time, positive=True)
            self.clock.change(t, 0.0, stop_time)
            self._stopped = t
        return self

    def state(self, t: float) -> ExecutionState:
        """Return where the execution is at time `t` [s]; time left is that at full speed."""
        inner = self.execution.state(self.clock.at(t)[0])
        if self._stopped is None or t < self._stopped:
            return inner
        phase = Phase.STOPPING if t < self.duration else Phase.HOLD
        left = max(self.duration - t, 0.0)
        return ExecutionState(phase, inner.s, inner.period_index, inner.fraction, left)

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and their time derivatives, (N, n_c) each, at times t (N,) [s]."""
        times = np.atleast_1d(np.asarray(t, dtype=float)).tolist()
        return _along(self.execution, [self.clock.at(time) for time in times])

    def motion(
        self, t: ArrayLike, model: ClosedChainModel, initial: PlatformMotion | None = None
    ) -> PlatformMotion:
        """Evaluate as a motion of the platform; see `Trajectory.motion`."""
        return to_motion(self.trajectory, self.evaluate(t), model, initial)


def _ramp(u: float) -> tuple[float, float, float]:
    """Integral, value and slope of the quintic step 10 u^3 - 15 u^4 + 6 u^5, u in [0, 1].

    The integral over [0, 1] is 1/2.
    """
    value, slope, _ = quintic_blend(u)
    return quintic_area(u), value, slope


def _along(
    path: Trajectory | Execution, clock: list[tuple[float, float, float]]
) -> tuple[Floats, Floats, Floats]:
    """States (N, n_c) of a path whose own time and its derivatives are those of the clock."""
    time, rate, drate = np.array(clock, dtype=float).reshape(-1, 3, 1).swapaxes(0, 1)
    x, dx, ddx = path.evaluate(time[:, 0])
    return x, dx * rate, ddx * rate**2 + dx * drate


def _nearest_angles(pose: Floats, reference: Floats) -> Floats:
    """Shift the angles of a pose (6,) by whole turns to those nearest to `reference`."""
    result = pose.copy()
    turn = 2.0 * math.pi
    result[3:] += turn * np.round((reference[3:] - pose[3:]) / turn)
    result.setflags(write=False)
    return result
