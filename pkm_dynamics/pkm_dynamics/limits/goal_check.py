"""A goal as it is asked for, and its check, which builds the motion first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description.errors import FeasibilityError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.trajectories import Execution, Trajectory

# Instants at which a speed is looked at, and those in one pass: it is a limit for people beside the
# robot, and motions are smooth
SPEEDS, BLOCK = 8192, 512
LONGEST_CHECK = 60.0  # [s]; the largest goals take a third of it on an idle machine


@dataclass(frozen=True)
class GoalPlan:
    """A trajectory by its class and arguments, and how it is to be run."""

    kind: type[Trajectory]
    arguments: dict[str, Any]
    periods: int
    ramp_time: float  # [s]
    start: Floats  # (n_c,) where the robot rests, joints in the model's order
    approach_speed: float  # [m/s, rad/s]


def fastest(model: ClosedChainModel, execution: Execution) -> float:
    """Return the largest speed [m/s] of the platform's origin in a motion that was checked."""
    once = Execution(
        *(execution.trajectory, 1, execution.ramp_time, execution.start, execution.approach_speed)
    )
    time = np.linspace(0.0, once.duration, SPEEDS)
    speeds = [
        np.linalg.norm(once.motion(part, model).twist[:, :3], axis=1).max()
        for part in np.array_split(time, SPEEDS // BLOCK)
    ]
    return float(max(speeds))


def checked_execution(model: ClosedChainModel, plan: GoalPlan, rate: float) -> Execution:
    """Return the motion of a goal.

    TrajectoryError where it is malformed, FeasibilityError where it leaves a limit: all
    periods are alike, so that one is checked, at `rate` [Hz] or more.
    """
    trajectory = plan.kind(**plan.arguments).ordered(model.actuated_joints)
    how = plan.ramp_time, plan.start, plan.approach_speed
    execution = Execution(trajectory, plan.periods, *how)
    report = check_feasibility(model, Execution(trajectory, 1, *how), rate=rate)
    if not report.feasible:
        raise FeasibilityError(report.message)
    return execution
