"""Check a motion, with approach and ramps, against every limit of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.limits.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.trajectories import Execution, Trajectory
from pkm_identification.arrays import Array


@dataclass(frozen=True)
class CheckRequest:
    """A motion from rest to rest.

    The approach begins at the measured actuator positions `start` (n_a,) [m, rad], or at home;
    without both there is none.
    """

    trajectory: Trajectory  # in the order of the model's joints
    ramp_time: float  # [s] to full speed and back; none where the trajectory itself ends at rest
    periods: int = 1  # at full speed
    start: Array | None = None
    from_home: bool = False
    approach_speed: float = 0.1  # [m/s, rad/s] at its peak
    rate: float | None = None  # [Hz] of the samples; None: as `check_feasibility` chooses it


def planned_motion(request: CheckRequest, model: ClosedChainModel) -> Execution:
    """Return the whole motion; TrajectoryError or KinematicsError where there is none."""
    trajectory, start = request.trajectory, request.start
    in_platform = trajectory.coordinates == 'platform'
    begin: Array | None = None
    if request.from_home and in_platform:
        begin = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
    elif start is not None and in_platform:
        position, rotation = model.forward_kinematics(np.asarray(start)[None])
        begin = np.concatenate([position[0], rotation_to_rpy(rotation[0])])
    elif request.from_home or start is not None:
        joints = model.home_actuators if request.from_home else np.asarray(start)
        trajectory.ordered(model.actuated_joints)  # refuses other joints
        order = [model.actuated_joints.index(name) for name in trajectory.coordinate_names]
        begin = joints[order]
    return Execution(trajectory, request.periods, request.ramp_time, begin, request.approach_speed)


def check_motion(request: CheckRequest, model: ClosedChainModel) -> FeasibilityReport:
    """Return the margins of every limit along the whole motion; errors as `planned_motion`."""
    return check_feasibility(model, planned_motion(request, model), rate=request.rate)
