"""Small slow motions of one coordinate, from wherever the robot rests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.recovery.slow_motion import SPEED, check_way, slow_way
from pkm_description.errors import FeasibilityError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.goal_check import fastest
from pkm_dynamics.limits.margins import Margin
from pkm_dynamics.trajectories import Execution, PointToPoint

LONGEST = 0.05  # [m, rad] of one jog
RATE = 100.0  # [Hz] least sampling rate of the check: the motion is slow
SAME = 1e-9  # of the size of a limit: margins that differ by less are the same
PLATFORM = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')


@dataclass(frozen=True)
class Jog:
    """One coordinate, an actuated joint or one of the platform, and how far it shall move."""

    coordinate: str
    distance: float  # [m, rad]
    speed: float = 0.0  # [m/s, rad/s] peak; 0: `SPEED`

    def coordinates(self, model: ClosedChainModel) -> str:
        """Return 'actuators' or 'platform': whose coordinate it is; raises ControlFault."""
        if self.coordinate in model.actuated_joints:
            return 'actuators'
        if self.coordinate not in PLATFORM:
            valid = ', '.join([*model.actuated_joints, *PLATFORM])
            raise _refused(f"there is no coordinate '{self.coordinate}'; valid are {valid}")
        if not model.platform_determines_joints:
            raise _refused('the pose of the platform does not determine the joints; jog actuators')
        return 'platform'


def jog_motion(model: ClosedChainModel, jog: Jog, resting: Callable[[str], Floats]) -> PointToPoint:
    """Return the slow way of a jog; `resting` gives where the robot rests, by coordinates.

    Raises ControlFault, BAD_TRAJECTORY, for a coordinate, distance or speed that cannot be.
    """
    coordinates, distance, speed = jog.coordinates(model), jog.distance, jog.speed or SPEED
    if not 0.0 < abs(distance) <= LONGEST:
        raise _refused(f'distance: at most {LONGEST:g}, and not zero, got {distance:g}')
    if not 0.0 < speed <= SPEED:
        raise _refused(f'speed: within 0 and {SPEED:g}, got {speed:g}')
    names = model.actuated_joints if coordinates == 'actuators' else PLATFORM
    start = resting(coordinates)
    target = start + distance * np.array([name == jog.coordinate for name in names])
    return slow_way(model, start, target, coordinates, speed)


def moved(model: ClosedChainModel, jog: Jog, before: Floats, after: Floats) -> float:
    """Return by how much [m, rad] the coordinate of a jog is another one at `after`.

    Both are positions (n_a,) of the actuators. Raises PkmError where the loops do not close.
    """
    if jog.coordinates(model) == 'actuators':
        return float((after - before)[model.actuated_joints.index(jog.coordinate)])
    still = np.zeros((2, len(before)))
    motion = model.motion_from_actuators(np.array([before, after]), still, still)
    poses = np.hstack([motion.position, [rotation_to_rpy(each) for each in motion.rotation]])
    change = float((poses[1] - poses[0])[PLATFORM.index(jog.coordinate)])
    return change if jog.coordinate in PLATFORM[:3] else float(np.angle(np.exp(1j * change)))


def checked_speed(model: ClosedChainModel, way: PointToPoint) -> float:
    """Return the largest speed [m/s] of the platform's origin on the way of a jog.

    Raises FeasibilityError where the loops do not close, the drives cannot hold the robot or a
    limit is left. Outside a limit the way must lead inside: nothing may get worse on it, and
    something must be better at its end.
    """
    check_way(model, way)
    execution = Execution(way)
    found = check_feasibility(model, execution, rate=RATE).broken
    if found:
        ends = [_broken_at(model, way, time) for time in (0.0, way.duration)]
        _check_inwards(found, *ends)
    return fastest(model, execution)


def _check_inwards(
    found: tuple[Margin, ...], start: dict[object, Margin], end: dict[object, Margin]
) -> None:
    for margin in found:
        before = start.get(_key(margin))
        # what the drives cannot do is no matter of where the robot is
        excused = before is not None and margin.constraint != 'force'
        if not excused or margin.relative < before.relative - SAME:  # type: ignore[union-attr]
            raise FeasibilityError(str(margin))
    if not any(
        key not in end or end[key].relative > before.relative + SAME
        for key, before in start.items()
    ):
        worst = min(start.values(), key=lambda margin: margin.relative)
        raise FeasibilityError(f'it does not lead back inside: {worst}')


def _broken_at(model: ClosedChainModel, way: PointToPoint, time: float) -> dict[object, Margin]:
    at_rest = way.motion([time], model)
    report = check_feasibility(model, at_rest, time=np.array([time]))
    return {_key(margin): margin for margin in report.broken}


def _key(margin: Margin) -> object:
    return margin.constraint, margin.name, margin.limit


def _refused(message: str) -> ControlFault:
    return ControlFault(ErrorCode.BAD_TRAJECTORY, message)
