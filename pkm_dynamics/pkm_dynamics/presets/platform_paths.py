"""Periodic paths of a platform that cannot be posed freely, as motions of its actuators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pkm_description.errors import KinematicsError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory

DIRECTIONS = ('x', 'y', 'z')
SAMPLES = 256  # of a period
FEW = 8  # of them, which are looked at first
RESIDUE = 1e-10  # [m, rad] of the harmonics that are left out
TRIAL = 1e-3  # [m] by which a platform must be able to translate
TURNING = 1e-6  # of a unit translation: twist that no actuator velocity can avoid


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
