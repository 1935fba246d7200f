"""The largest size at which a motion keeps every limit of a robot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_description.errors import ConvergenceError, FeasibilityError, KinematicsError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.limits.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.trajectories import Execution, Trajectory

FORCE_MARGIN = 0.25  # of each limit, left to feedback, noise and model errors
VELOCITY_MARGIN = 0.05
STROKE_MARGIN = 0.04
RAMP_TIME = 1.0  # [s]
TRIAL_RATE, RATE = 200.0, 1000.0  # [Hz] of the search and of the check of what it finds
MOST_TRIED, MOST_SAMPLES = 4000, 40000  # no preset that lasts longer is fast
LOOKS = 1000  # instants at which commanded positions are compared with the strokes
BISECTIONS = 8  # to one part in 256
SMALLEST_FACTOR = 0.01  # of the size that was asked for
SHRINKING = (1.0, 0.99, 0.97, 0.93, 0.85, 0.7)

Build = Callable[[float], Trajectory]


def home_coordinates(model: ClosedChainModel, coordinates: str) -> Floats:
    """Return home as x, y, z, roll, pitch, yaw (6,) or as actuator positions (n_a,) [m, rad]."""
    if coordinates == 'actuators':
        return np.array(model.home_actuators, dtype=float)
    return np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])


def run_from_home(model: ClosedChainModel, trajectory: Trajectory) -> Execution:
    """Return approach from home, ramps and one run."""
    home = home_coordinates(model, trajectory.coordinates)
    return Execution(trajectory, 1, RAMP_TIME if trajectory.period is not None else 0.0, home)


def check_from_home(
    model: ClosedChainModel, trajectory: Trajectory, rate: float = RATE
) -> FeasibilityReport:
    """Check approach from home, ramps and one run, with the margins of a preset."""
    execution = run_from_home(model, trajectory)
    most = MOST_SAMPLES if rate >= RATE else MOST_TRIED
    return check_feasibility(
        model,
        execution,
        force_margin=FORCE_MARGIN,
        velocity_margin=VELOCITY_MARGIN,
        stroke_margin=STROKE_MARGIN,
        rate=min(rate, most / execution.duration),
    )


def largest_feasible(model: ClosedChainModel, build: Build, what: str) -> Trajectory:
    """Return `build(size)` at the largest size in (0, 1] that keeps every limit; 0 is rest at home.

    Raises FeasibilityError where not even a hundredth of the full size is feasible; it says
    which limit that breaks, and `what` the motion is.
    """
    size = feasible_size(model, build)
    for factor in SHRINKING:
        if size * factor >= SMALLEST_FACTOR and _fits(model, build, size * factor, RATE):
            return build(size * factor)
    report = check_from_home(model, build(SMALLEST_FACTOR))
    raise FeasibilityError(
        f"'{what}' does not fit robot '{model.description.name}': a hundredth of it is "
        f'{report.message}'
    )


def feasible_size(model: ClosedChainModel, build: Build, rate: float = TRIAL_RATE) -> float:
    """Return the largest size in [0, 1] that keeps every limit, to one part in 256.

    `rate` is that of the samples that are looked at [Hz].
    """
    if _fits(model, build, 1.0, rate):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _fits(model, build, middle, rate) else (low, middle)
    return low


def _fits(model: ClosedChainModel, build: Build, size: float, rate: float) -> bool:
    try:
        trajectory = build(size)
        return (
            _keeps_strokes(model, trajectory) and check_from_home(model, trajectory, rate).feasible
        )
    except (ConvergenceError, KinematicsError):
        return False


def _keeps_strokes(model: ClosedChainModel, trajectory: Trajectory) -> bool:
    """Whether commanded actuators stay in their ranges: far quicker than the kinematics beyond."""
    if trajectory.coordinates != 'actuators':
        return True
    time = np.linspace(0.0, trajectory.duration, LOOKS)
    positions = trajectory.ordered(model.actuated_joints).evaluate(time)[0]
    return bool(np.all(positions >= model.lower) and np.all(positions <= model.upper))
