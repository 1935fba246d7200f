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
    LONGEST_DURATION,
    Trajectory,
    finite_array,
    finite_number,
    to_motion,
)
from pkm_dynamics.trajectories.point_to_point import quintic_blend, quintic_duration

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
    """A trajectory from standstill to standstill.

    Parameters
    ----------
    trajectory : Trajectory
    periods : int
        Whole periods at full speed; 1 for a trajectory that starts and ends at rest.
    ramp_time : float [s]
        From rest to full speed along the path and back; not used for a
        trajectory that starts and ends at rest.
    start : (n_c,), optional
        Coordinates in which the robot rests at time 0. Default: the start of the path.
    approach_speed : float [m/s, rad/s]
        Peak speed of the approach: of translation and of rotation, or of any actuator.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        periods: int = 1,
        ramp_time: float = 1.0,
        start: ArrayLike | None = None,
        approach_speed: float = 0.1,
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
        shortest, longest = RAMP_TIMES
        ramp = finite_number(
            'ramp_time',
            ramp_time,
            positive=periodic,
            within=(shortest if periodic else 0.0, longest),
        )
        self.ramp_time = ramp if periodic else 0.0
        self.approach_speed = finite_number(
            'approach_speed', approach_speed, positive=True, within=APPROACH_SPEEDS
        )
        self.run_duration = self.periods * trajectory.duration
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

    def _approach_time(self) -> float:
        if self.trajectory.coordinates == 'platform':
            halves = self._step.reshape(2, 3)
            distance = float(np.sqrt((halves**2).sum(axis=1)).max())
        else:
            distance = float(np.max(np.abs(self._step)))
        if distance < 1e-12:
            return 0.0
        wanted = quintic_duration(distance, self.approach_speed, APPROACH_ACCELERATION)
        return max(wanted, SHORTEST_APPROACH)

    def state(self, t: float) -> ExecutionState:
        """Return where the execution is at time `t` [s]."""
        s, _, _ = self._path_parameter(t)
        if t < self.ramp_start:
            phase = Phase.APPROACH
        elif t < self.run_start:
            phase = Phase.RAMP_IN
        elif t < self.run_end:
            phase = Phase.RUN
        elif t < self.duration:
            phase = Phase.RAMP_OUT
        else:
            phase = Phase.HOLD
        completed = int(s / self.trajectory.duration + 1e-9) if s > 0.0 else 0
        left = max(self.duration - t, 0.0)
        fraction = 1.0 - left / self.duration if self.duration > 0.0 else 1.0
        return ExecutionState(phase, s, min(completed, self.periods), min(fraction, 1.0), left)

    def _path_parameter(self, t: float) -> tuple[float, float, float]:
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
            return (
                self.run_duration + self.ramp_time * (0.5 - area),
                value,
                -slope / self.ramp_time,
            )
        rate = 0.0 if self.trajectory.period is not None else 1.0
        return self.run_duration + 0.5 * self.ramp_time, rate, 0.0

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and their time derivatives, (N, n_c) each, at times t (N,) [s]."""
        times = np.atleast_1d(np.asarray(t, dtype=float)).tolist()
        if len(times) == 1 and 0.0 <= times[0] < self.ramp_start:
            return self._approach(times[0])
        scaling = np.array([self._path_parameter(time) for time in times])
        s, ds, dds = scaling[:, 0], scaling[:, 1:2], scaling[:, 2:3]
        x, dx, ddx = self.trajectory.evaluate(s)
        states = x, dx * ds, ddx * ds**2 + dx * dds
        if self.approach_time > 0.0 and min(times, default=self.ramp_start) < self.ramp_start:
            self._replace_by_approach(np.array(times), states)
        return states

    def _approach(self, time: float) -> tuple[Floats, Floats, Floats]:
        """One sample of the approach, without detours: it runs in control loops."""
        blend, slope, bend = quintic_blend(time / self.approach_time)
        step = self._step[None]
        return (
            self.start + blend * step,
            slope / self.approach_time * step,
            bend / self.approach_time**2 * step,
        )

    def _replace_by_approach(self, times: Floats, states: tuple[Floats, Floats, Floats]) -> None:
        early = times < self.ramp_start
        blend, slope, bend = quintic_blend(np.maximum(times[early], 0.0) / self.approach_time)
        states[0][early] = self.start + blend[:, None] * self._step
        states[1][early] = (slope / self.approach_time)[:, None] * self._step
        states[2][early] = (bend / self.approach_time**2)[:, None] * self._step

    def motion(
        self, t: ArrayLike, model: ClosedChainModel, initial: PlatformMotion | None = None
    ) -> PlatformMotion:
        """Evaluate as a motion of the platform; see `Trajectory.motion`."""
        return to_motion(self.trajectory, self.evaluate(t), model, initial)

    def stop(self, t: float, stop_time: float = 0.5) -> StoppedExecution:
        """Return this execution, but coming to rest on the path within `stop_time` [s] from `t`."""
        return StoppedExecution(self, t, stop_time)


class StoppedExecution:
    """An execution whose clock runs down to rest from `stop_start` on.

    It offers the same methods as `Execution`; its phase is STOPPING, then HOLD.
    """

    def __init__(self, execution: Execution, stop_start: float, stop_time: float) -> None:
        self.execution = execution
        self.trajectory = execution.trajectory
        self.stop_start = finite_number('stop_start', stop_start)
        self.stop_time = finite_number('stop_time', stop_time, positive=True)
        self.duration = self.stop_start + self.stop_time

    def _clock(self, t: float) -> tuple[float, float, float]:
        """Time of the execution and its derivatives at time `t` [s]."""
        if t <= self.stop_start:
            return t, 1.0, 0.0
        if t >= self.duration:
            return self.stop_start + 0.5 * self.stop_time, 0.0, 0.0
        area, value, slope = _ramp((self.duration - t) / self.stop_time)
        return self.stop_start + self.stop_time * (0.5 - area), value, -slope / self.stop_time

    def state(self, t: float) -> ExecutionState:
        """Return where the execution is at time `t` [s]."""
        inner = self.execution.state(self._clock(t)[0])
        if t < self.stop_start:
            return inner
        phase = Phase.STOPPING if t < self.duration else Phase.HOLD
        left = max(self.duration - t, 0.0)
        return ExecutionState(phase, inner.s, inner.period_index, inner.fraction, left)

    def evaluate(self, t: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Coordinates and their time derivatives, (N, n_c) each, at times t (N,) [s]."""
        times = np.atleast_1d(np.asarray(t, dtype=float)).tolist()
        clock = np.array([self._clock(time) for time in times])
        x, dx, ddx = self.execution.evaluate(clock[:, 0])
        rate, drate = clock[:, 1:2], clock[:, 2:3]
        return x, dx * rate, ddx * rate**2 + dx * drate

    def motion(
        self, t: ArrayLike, model: ClosedChainModel, initial: PlatformMotion | None = None
    ) -> PlatformMotion:
        """Evaluate as a motion of the platform; see `Trajectory.motion`."""
        return to_motion(self.trajectory, self.evaluate(t), model, initial)

    def stop(self, t: float, stop_time: float = 0.5) -> StoppedExecution:
        """Return this object: it is stopping already."""
        return self


def _ramp(u: float) -> tuple[float, float, float]:
    """Integral, value and slope of the quintic step 10 u^3 - 15 u^4 + 6 u^5, u in [0, 1].

    The integral over [0, 1] is 1/2.
    """
    cube = u * u * u
    area = cube * u * (2.5 - 3.0 * u + u * u)
    value = cube * (10.0 - 15.0 * u + 6.0 * u * u)
    slope = 30.0 * (u * (1.0 - u)) ** 2
    return area, value, slope


def _nearest_angles(pose: Floats, reference: Floats) -> Floats:
    """Shift the angles of a pose (6,) by whole turns to those nearest to `reference`."""
    result = pose.copy()
    turn = 2.0 * math.pi
    result[3:] += turn * np.round((reference[3:] - pose[3:]) / turn)
    result.setflags(write=False)
    return result
