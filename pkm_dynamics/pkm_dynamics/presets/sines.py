"""Sines about home and circles, periodic and band-limited.

Those of a platform that cannot be posed freely are given as motions of its actuators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from pkm_description.errors import KinematicsError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.presets.fitting import home_coordinates, largest_feasible
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
DIRECTIONS = ('x', 'y', 'z')
SAMPLES = 256  # of a period
FEW = 8  # of them, which are looked at first
RESIDUE = 1e-10  # [m, rad] of the harmonics that are left out
TRIAL = 1e-3  # [m] by which a platform must be able to translate
TURNING = 1e-6  # of a unit translation: twist that no actuator velocity can avoid


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


@lru_cache(maxsize=4)  # a robot that cannot tells so only after seconds
def translations(model: ClosedChainModel) -> tuple[str, ...]:
    """Return the directions x, y, z in which the platform can move from home without turning."""
    slopes = model.platform_jacobian(np.asarray(model.home_actuators)[None])[0]
    return tuple(
        name
        for column, name in enumerate(DIRECTIONS)
        if _is_free(slopes, column) and _assembles(model, column)
    )


def _is_free(slopes: Floats, column: int) -> bool:
    wanted = np.eye(6)[:, column]
    found, *_ = np.linalg.lstsq(slopes, wanted, rcond=1e-9)
    return bool(np.abs(slopes @ found - wanted).max() < TURNING)


def _assembles(model: ClosedChainModel, column: int) -> bool:
    position = np.tile(np.asarray(model.home_position, dtype=float), (2, 1))
    position[:, column] += (TRIAL, -TRIAL)
    try:
        model.inverse_kinematics(position, np.repeat(model.home_rotation[None], 2, axis=0))
    except KinematicsError:
        return False
    return True


def series_of_actuators(
    model: ClosedChainModel, path: Callable[[Floats], Floats], period: float, what: str
) -> FourierTrajectory:
    """Return the actuators' motion along a path of the platform, which does not turn.

    The path gives positions (N, 3) [m] at phases (N,) in [0, 1), smooth and periodic. Raises
    KinematicsError where the platform cannot be there, TrajectoryError where the actuators'
    motion is not smooth; `what` is the path's name in messages.
    """
    position = path(np.arange(SAMPLES) / SAMPLES)
    _actuators(model, position[:: SAMPLES // FEW], what)  # what is out of reach takes long
    spectrum = np.fft.rfft(_actuators(model, position, what), axis=0) / SAMPLES
    sizes = np.abs(spectrum).max(axis=1)
    last = max(int(np.flatnonzero(sizes > RESIDUE)[-1]), 1)
    if last > SAMPLES // 4:
        raise TrajectoryError(
            f"robot '{model.description.name}' cannot move smoothly along this {what}"
        )
    used = 2.0 * spectrum[1 : last + 1].T
    common = ('actuators', list(model.actuated_joints), model.description.name)
    return FourierTrajectory(period, spectrum[0].real, -used.imag, used.real, *common)


def _actuators(model: ClosedChainModel, position: Floats, what: str) -> Floats:
    """Return the actuators' positions (N, n_a) with the platform's home orientation."""
    rotation = np.repeat(np.asarray(model.home_rotation)[None], len(position), axis=0)
    try:
        return np.asarray(model.inverse_kinematics(position, rotation))
    except KinematicsError as error:
        failed = np.size(getattr(error, 'samples', ())) or 1
        raise KinematicsError(
            f"robot '{model.description.name}' cannot follow this {what}: of {len(position)} "
            f'points on it {failed} are out of reach'
        ) from error


def line(home: Floats, axes: Sequence[str], amplitude: float) -> Callable[[Floats], Floats]:
    """Return the path of equal sines of some directions, in phase, about home (3,) [m]."""
    shares = np.isin(DIRECTIONS, axes)
    return lambda phase: (
        np.asarray(home) + amplitude * np.sin(2.0 * np.pi * phase)[:, None] * shares
    )
