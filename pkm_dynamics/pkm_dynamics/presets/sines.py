"""Sines about home and circles, periodic and band-limited."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.presets.fitting import home_coordinates, largest_feasible
from pkm_dynamics.presets.platform_paths import DIRECTIONS, line, series_of_actuators
from pkm_dynamics.trajectories import (
    PLATFORM_COORDINATES,
    CircleTrajectory,
    FourierTrajectory,
    Trajectory,
    benchmark_circle,
)

SINE_AMPLITUDE = 0.0254  # [m] [O Tables 2.2, 4.3]
SINE_ANGLE = math.radians(5.0)  # [rad] [O Table 2.2]
SINE_FREQUENCY = 2.0  # [Hz]; [O Table 4.3] prints 4 pi Hz and means rad/s


def coordinates_of(model: ClosedChainModel) -> tuple[str, tuple[str, ...]]:
    """Return the coordinates that a robot's presets move in, and their names."""
    if model.platform_determines_joints:
        return 'platform', PLATFORM_COORDINATES
    return 'actuators', tuple(model.actuated_joints)


def is_angle(model: ClosedChainModel, name: str) -> bool:
    """Whether a coordinate is an angle."""
    if name in PLATFORM_COORDINATES:
        return name in PLATFORM_COORDINATES[3:]
    return bool(model.description.joint(name).type != 'prismatic')


def sine(
    model: ClosedChainModel,
    axes: Sequence[str],
    amplitude: float | None = None,
    frequency: float = SINE_FREQUENCY,
) -> Trajectory:
    """Return equal sines of some coordinates about home, in phase [O 4.3, Table 4.3].

    Where the platform has fewer than six degrees of freedom, the axes are actuators, or
    directions x, y, z in which the platform can move without turning; the latter are given
    by the Fourier series of the actuators. The amplitude of each [m, rad] is by default
    0.0254 m, 5 degrees, or what the limits allow of that; the frequency is in Hz. Raises
    FeasibilityError where even a hundredth of the default amplitude breaks a limit,
    KinematicsError where the platform cannot be moved by the given amplitude.
    """
    coordinates, names = coordinates_of(model)
    what = f'sine of {", ".join(axes)}'
    if not set(axes) <= set(names) and set(axes) <= set(DIRECTIONS):
        home, full = model.home_position, SINE_AMPLITUDE if amplitude is None else float(amplitude)

        def moved(size: float) -> FourierTrajectory:
            path = line(home, axes, max(size, 1e-6) * full)
            return series_of_actuators(model, path, 1.0 / frequency, what)

        return largest_feasible(model, moved, what) if amplitude is None else moved(1.0)
    unknown = [axis for axis in axes if axis not in names]
    if unknown:
        raise TrajectoryError(f"coordinate '{unknown[0]}' is unknown; valid are {', '.join(names)}")
    middle = home_coordinates(model, coordinates)
    sizes = np.zeros((len(names), 1))
    for axis in axes:
        sizes[names.index(axis)] = SINE_ANGLE if is_angle(model, axis) else SINE_AMPLITUDE
    if amplitude is not None:
        sizes = np.where(sizes > 0.0, float(amplitude), 0.0)

    def build(size: float) -> FourierTrajectory:
        series = (1.0 / frequency, middle, size * sizes, np.zeros_like(sizes))
        return FourierTrajectory(*series, coordinates, list(names), model.description.name)

    return largest_feasible(model, build, what) if amplitude is None else build(1.0)


def circle(
    model: ClosedChainModel, mirrored: bool = False, diameter: float | None = None
) -> Trajectory:
    """Return the benchmark circle, smaller where the limits need it [A V, H].

    Its period stays as it is. Where the platform has fewer than six degrees of freedom
    the circle is horizontal and given by the Fourier series of the actuators. Raises
    FeasibilityError or KinematicsError where the platform cannot move along a circle.
    """
    nominal = benchmark_circle(model, mirrored)
    if diameter is not None:
        nominal = _resized(nominal, 0.5 * diameter / nominal.radius)

    def build(size: float) -> Trajectory:
        resized = nominal if size == 1.0 else _resized(nominal, max(size, 1e-6))
        return resized if model.platform_determines_joints else _of_actuators(model, resized)

    if diameter is not None:
        return build(1.0)
    if not model.platform_determines_joints:
        build(0.01)  # says why, where no circle is possible
    return largest_feasible(model, build, 'mirrored circle' if mirrored else 'circle')


def _resized(circle: CircleTrajectory, factor: float) -> CircleTrajectory:
    where, size = (circle.centre, circle.plane), (circle.radius * factor, circle.speed * factor)
    beginning = (circle.start_angle, circle.mirrored)
    return CircleTrajectory(*where, *size, *beginning, robot=circle.robot)


def _of_actuators(model: ClosedChainModel, circle: CircleTrajectory) -> FourierTrajectory:
    """Return the actuators' motion along the circle, laid flat, as its Fourier series."""
    flat = CircleTrajectory(
        circle.centre, np.zeros(3), circle.radius, circle.speed, 0.0, circle.mirrored
    )
    return series_of_actuators(
        model, lambda phase: flat.evaluate(phase * flat.period)[0][:, :3], flat.period, 'circle'
    )
