"""Rest-to-rest motions: quintic steps with dwell, and slow strokes that show friction."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.presets.fitting import (
    check_from_home,
    feasible_size,
    home_coordinates,
    largest_feasible,
)
from pkm_dynamics.presets.sines import coordinates_of, is_angle
from pkm_dynamics.trajectories import PointToPoint, SampledTrajectory
from pkm_dynamics.trajectories.point_to_point import quintic_area

REACH = 0.8  # of what the limits allow of each coordinate
MOVE_TIME, DWELL = 1.0, 0.5  # [s]
WIDEST = (0.5, 0.6)  # [m], [rad] that a coordinate is tried at
SPEEDS = (0.02, 0.05, 0.1)  # of the velocity limit
UNLIMITED_SPEED = 1.0  # [m/s, rad/s] where the description gives no velocity limit
BLEND = 0.2  # of the time of a stroke from home, in which its speed is reached
BLEND_ACCELERATION = 2.0  # [m/s^2, rad/s^2] while it is reached
LONGEST_BLEND = 0.5  # of the time of a stroke from home
LONGEST_STROKE = 10.0  # [s] from home to an end
PEAK = 3.75  # of a smooth step between opposite speeds, times speed over blend: acceleration
SLOW_RATE = 25.0  # [Hz] at which slow motions are checked while their size is sought
CLOSEST = 0.02  # of a blend, between two samples


def point_to_point(
    model: ClosedChainModel,
    reach: float = REACH,
    move_time: float = MOVE_TIME,
    dwell: float = DWELL,
) -> PointToPoint:
    """Return quintic steps of one coordinate after the other, with rest between them.

    Home, one end, the other end, home; for each coordinate in turn. `reach` is how much of
    what the limits allow of each coordinate is used [1]; `move_time` and `dwell` [s] are those
    of each step from home and each rest. A step from end to end takes twice as long.
    """
    coordinates, names = coordinates_of(model)
    home = home_coordinates(model, coordinates)

    def steps(widths: Floats) -> PointToPoint:
        time, points = [0.0, dwell], [home, home]
        for index, width in enumerate(widths):
            for share, duration in ((1.0, 1.0), (-1.0, 2.0), (0.0, 1.0)):
                if width <= 0.0:
                    continue
                there = home.copy()
                there[index] += share * width
                time += [time[-1] + duration * move_time, time[-1] + duration * move_time + dwell]
                points += [there, there]
        return PointToPoint(time, points, coordinates, list(names), model.description.name)

    widths = np.zeros(len(names))
    for index, name in enumerate(names):
        one = np.zeros(len(names))
        one[index] = WIDEST[is_angle(model, name)]
        widths[index] = one[index] * feasible_size(model, lambda size, one=one: steps(size * one))  # type: ignore[misc]
    if not widths.any():
        raise FeasibilityError(
            f"'point_to_point' does not fit robot '{model.description.name}': "
            f'{check_from_home(model, steps(np.full(len(names), 1e-3))).message}'
        )
    found = largest_feasible(model, lambda size: steps(size * reach * widths), 'point_to_point')
    assert isinstance(found, PointToPoint)
    return found


def friction_sweep(
    model: ClosedChainModel, speeds: Sequence[float] | None = None, reach: float = REACH
) -> SampledTrajectory:
    """Return slow strokes at constant velocity, both ways, of one actuator after the other.

    While one actuator moves from home to one end, to the other and back, the others rest
    at home. The speeds [m/s, rad/s] are taken as they are given; by default they are 2, 5 and
    10 % of each actuator's velocity limit, all slower in the same proportion where the stroke
    is too short for that. `reach` is how much of what the limits allow is used [1].
    """
    names, home = list(model.actuated_joints), home_coordinates(model, 'actuators')
    limits = np.asarray(model.velocity_limit, dtype=float)
    limits = np.where(np.isfinite(limits), limits, UNLIMITED_SPEED)

    def strokes(widths: Floats) -> SampledTrajectory:
        time, positions = _strokes(home, widths, limits, speeds)
        return SampledTrajectory(time, positions, 'actuators', names, model.description.name)

    def still(index: int, width: float) -> PointToPoint:
        points = np.tile(home, (4, 1))
        points[1, index] += width
        points[2, index] -= width
        times = np.arange(4.0) * 4.0
        return PointToPoint(times, points, 'actuators', names, model.description.name)

    widths = np.zeros(len(names))
    for index, name in enumerate(names):
        widest = WIDEST[is_angle(model, name)]
        widths[index] = widest * feasible_size(
            model,
            lambda size, index=index, widest=widest: still(index, size * widest),  # type: ignore[misc]
            SLOW_RATE,
        )
    if np.any(widths <= 0.0):
        stuck = int(np.argmin(widths))
        reason = check_from_home(model, still(stuck, 1e-3)).message
        raise FeasibilityError(
            f"'friction_sweep' does not fit robot '{model.description.name}': "
            f"'{names[stuck]}' cannot move alone: {reason}"
        )
    if speeds is not None:
        return strokes(reach * widths)
    found = largest_feasible(model, lambda size: strokes(size * reach * widths), 'friction_sweep')
    assert isinstance(found, SampledTrajectory)
    return found


def _strokes(
    home: Floats, widths: Floats, limits: Floats, speeds: Sequence[float] | None
) -> tuple[Floats, Floats]:
    """Return times (n,) and positions (n, n_a) of all strokes, dense where speeds change."""
    times, positions, end = [np.zeros(1)], [home[None]], 0.0
    for index, width in enumerate(widths):
        fastest = math.sqrt(LONGEST_BLEND * width * BLEND_ACCELERATION / PEAK)
        top = min(max(SPEEDS) * limits[index], fastest)
        chosen = speeds if speeds is not None else [share / max(SPEEDS) * top for share in SPEEDS]
        for speed in chosen:
            if not (np.isfinite(speed) and speed > 0.0):
                raise TrajectoryError(f'speeds: must be positive, got {speed!r}')
            time, place = _stroke(speed, min(width / speed, LONGEST_STROKE))
            moved = np.tile(home, (len(time), 1))
            moved[:, index] += place
            times.append(end + time[1:])
            positions.append(moved[1:])
            end += time[-1]
    return np.concatenate(times), np.concatenate(positions)


def _stroke(speed: float, duration: float) -> tuple[Floats, Floats]:
    """Return times and places of one stroke there, back across home, and home again.

    The velocity goes from one constant value to the next by a smooth step; only the lines
    between are at constant velocity.
    """
    blend = max(BLEND * duration, min(PEAK * speed / BLEND_ACCELERATION, 0.9 * duration))
    knots = 0.5 * blend + duration * np.array([0, 1, 3, 4])
    steps = speed * np.array([1.0, -2.0, 2.0, -1.0])
    offsets = blend * np.concatenate(
        [np.linspace(-1.0, 1.0, 41), 1.0 + 0.05 * 1.4 ** np.arange(1, 14)]
    )
    around = np.concatenate([knots[:, None] + offsets, knots[:, None] - offsets], axis=1).ravel()
    last = knots[-1] + 0.5 * blend
    wanted = np.unique(np.clip(around, 0.0, last))
    kept = [0.0]
    for candidate in wanted[:-1]:
        if candidate - kept[-1] > CLOSEST * blend and last - candidate > CLOSEST * blend:
            kept.append(candidate)
    time = np.array([*kept, last])
    place = np.zeros_like(time)
    for knot, step in zip(knots, steps, strict=True):
        u = (time - knot) / blend + 0.5
        place += step * blend * (quintic_area(np.clip(u, 0.0, 1.0)) + np.maximum(u - 1.0, 0.0))
    return time, place
