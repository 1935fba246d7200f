"""What a run of the simulated robot left of each limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_control.closed_loop import ClosedLoopRecording
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.drive_distribution import all_drives, coordinates_among
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.margins import FeasibilityReport, largest, smallest
from pkm_dynamics.limits.robot_limits import worst_and_broken


def executed_margins(
    recording: ClosedLoopRecording, model: ClosedChainModel, **options: Any
) -> FeasibilityReport:
    """Return the worst margins of what the robot really did, approach and ramps included.

    As `check_feasibility`, whose options these are, with the forces that acted in place of the
    model's.
    """
    drives = all_drives(model)
    names = list(drives.actuated_joints)
    own = coordinates_among(names, model)
    time, velocities = recording.current_time, recording.truth_velocities[:, own]
    # forward differences would show the steps of a 1 kHz command, not the motion
    accelerations = np.gradient(velocities, time, axis=0)
    positions = recording.truth_positions[:, own]
    motion = model.motion_from_actuators(positions, velocities, accelerations)
    report = check_feasibility(model, motion, time=time, **options)
    limit = np.asarray(drives.force_limit)
    forces = recording.truth_forces
    straight = [model.description.joint(name).type == 'prismatic' for name in names]
    units = ['N' if joint else 'N m' for joint in straight]
    extrema = largest(forces, limit, time), smallest(forces, -limit, time)
    return report.with_margins(worst_and_broken('force', extrema, names, units))
