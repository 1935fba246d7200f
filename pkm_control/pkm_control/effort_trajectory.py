"""Whole motions as points with efforts, for a joint_trajectory_controller.

That controller (ros2_controllers) interpolates positions, velocities and accelerations by quintics
and efforts linearly, adds a PID on positions, and repeats the last point with its effort at the
end. On a cancel, an abort or a violated tolerance it holds the measured positions without that
effort: a robot that bears its weight by the effort sags until the PID has caught up. A trajectory
that takes the place of another one keeps its efforts. So whoever wants to stop sends `stop_points`
instead of a cancel, and answers a cancel or abort of others by `hold_points` at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pkm_control.control_types import ControllerOptions
from pkm_control.feedforward import Feedforward
from pkm_control.joint_stop import JointStop
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.description import frozen
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution
from pkm_dynamics.trajectories.bounds import MOST_POINTS

# Of each force limit: what efforts between the points may be wrong by
EFFORT_TOLERANCE = 2e-3
FEWEST = 50.0  # [Hz] of points, however slow the motion
MOST = 1000.0  # [Hz] of points: no controller runs faster
DUMPER: type[yaml.SafeDumper] = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
HOLD_TIME = 0.02  # [s] until a hold is reached: its effort rises from what is there


@dataclass(frozen=True)
class EffortTrajectory:
    """Points of the actuated joints, the first at time zero."""

    joint_names: tuple[str, ...]
    time: Floats  # (n,) [s]
    positions: Floats  # (n, n_a) [m, rad]
    velocities: Floats
    accelerations: Floats
    efforts: Floats  # (n, n_a) [N, N m] in every point
    # largest error of a linearly interpolated effort, of the force limit
    interpolation_error: float = 0.0

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for name in ('time', 'positions', 'velocities', 'accelerations', 'efforts'):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        """Number of points."""
        return len(self.time)


def motion_points(
    model: ClosedChainModel,
    execution: Execution,
    feedforward: Feedforward,
    rate: float | None = None,
) -> EffortTrajectory:
    """Return a motion from rest to rest as points.

    Parameters
    ----------
    execution
        The whole motion, with approach and ramps; check it before.
    rate
        Of the points [Hz]. By default the lowest of 50, 100, 200, ... 1000 at which efforts between
        the points, which are on lines, are right to 0.2 % of each force limit; Coulomb friction
        near a reversal stays off by more at any rate.

    Raises
    ------
    TrajectoryError
        The rate is not positive, or the points are more than a message holds.
    """
    if rate is not None and not (np.isfinite(rate) and 0.0 < rate <= MOST):
        raise TrajectoryError(f'rate: between 0 and {MOST:g} Hz is needed, got {rate:g}')
    if rate is not None:
        return _sampled(model, execution, feedforward, rate)
    chosen = FEWEST
    while True:
        points = _sampled(model, execution, feedforward, chosen)
        if points.interpolation_error <= EFFORT_TOLERANCE or chosen >= MOST:
            return points
        chosen = min(2.0 * chosen, MOST)


def _sampled(
    model: ClosedChainModel, execution: Execution, feedforward: Feedforward, rate: float
) -> EffortTrajectory:
    count = max(int(np.ceil(execution.duration * rate)), 1) + 1
    if count > MOST_POINTS:
        raise TrajectoryError(f'{count} points at {rate:g} Hz; at most {MOST_POINTS}')
    time = np.linspace(0.0, execution.duration, count)
    middles = 0.5 * (time[1:] + time[:-1])
    order = np.argsort(np.concatenate([time, middles]), kind='stable')
    every = np.concatenate([time, middles])[order]
    states, efforts = _forces(model, execution.motion(every, model), feedforward)
    between = np.abs(efforts[1::2] - 0.5 * (efforts[:-1:2] + efforts[2::2]))
    share = float((between / _finite_limits(model, efforts)).max(initial=0.0))
    q, qd, qdd = (array[::2] for array in states)
    joints = tuple(model.actuated_joints)
    return EffortTrajectory(joints, time, q, qd, qdd, efforts[::2], share)


def _forces(
    model: ClosedChainModel, motion: PlatformMotion, feedforward: Feedforward
) -> tuple[list[Floats], Floats]:
    """States (n, n_a) of the actuators, and their forces.

    RedundantActuationError where there are more drives: efforts are those of single drives.
    """
    refuse_redundant_actuation(model.description, 'a trajectory with efforts')
    joints, forces = feedforward.along(model, motion)
    index = [model.joint_names.index(name) for name in model.actuated_joints]
    return [array[:, index] for array in joints], forces


def _finite_limits(model: ClosedChainModel, efforts: Floats) -> Floats:
    """Force limits (n_a,), or the largest effort of a drive that has none."""
    limit = np.asarray(model.force_limit, dtype=float)
    largest = np.maximum(np.abs(efforts).max(axis=0), np.finfo(float).tiny)
    return np.where(np.isfinite(limit), limit, largest)


def stop_points(
    model: ClosedChainModel,
    feedforward: Feedforward,
    positions: ArrayLike,
    velocities: ArrayLike,
    stop_time: float = ControllerOptions.stop_time,
    rate: float = MOST / 4.0,
) -> EffortTrajectory:
    """Return a smooth stop from desired positions and velocities (n_a,), with efforts to the end.

    Sent in place of a cancel: the controller goes from its present point to these. Raises
    KinematicsError where the robot cannot come to rest there.
    """
    stop = JointStop(np.asarray(positions), np.asarray(velocities), stop_time)
    time = np.linspace(0.0, stop_time, max(int(np.ceil(stop_time * rate)), 2) + 1)
    q, qd, qdd = (np.array(each) for each in zip(*map(stop.evaluate, time), strict=True))
    _, efforts = _forces(model, model.motion_from_actuators(q, qd, qdd), feedforward)
    return EffortTrajectory(tuple(model.actuated_joints), time, q, qd, qdd, efforts)


def hold_points(
    model: ClosedChainModel, feedforward: Feedforward, positions: ArrayLike
) -> EffortTrajectory:
    """Return what holds a robot at rest at positions (n_a,): two points with the effort for it.

    The answer to a cancel or abort of others, at the positions that the controller holds then.
    """
    q = np.repeat(np.asarray(positions, dtype=float)[None], 2, axis=0)
    still = np.zeros_like(q)
    _, efforts = _forces(model, model.motion_from_actuators(q, still, still), feedforward)
    time = np.array([HOLD_TIME, 2.0 * HOLD_TIME])
    return EffortTrajectory(tuple(model.actuated_joints), time, q, still, still, efforts)


def goal_text(trajectory: EffortTrajectory) -> str:
    """Return the points as YAML of a `control_msgs/action/FollowJointTrajectory` goal."""
    points = [
        {
            'positions': trajectory.positions[k].tolist(),
            'velocities': trajectory.velocities[k].tolist(),
            'accelerations': trajectory.accelerations[k].tolist(),
            'effort': trajectory.efforts[k].tolist(),
            'time_from_start': _duration(time),
        }
        for k, time in enumerate(trajectory.time.tolist())
    ]
    goal = {'trajectory': {'joint_names': list(trajectory.joint_names), 'points': points}}
    return str(yaml.dump(goal, Dumper=DUMPER, sort_keys=False, default_flow_style=None, width=1000))


def _duration(time: float) -> dict[str, int]:
    seconds, nanoseconds = divmod(round(time * 1e9), 1_000_000_000)
    return {'sec': seconds, 'nanosec': nanoseconds}
