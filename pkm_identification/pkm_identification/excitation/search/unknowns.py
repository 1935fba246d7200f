"""The unknowns of a design: amplitudes of a Fourier series about home, and its period."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.arrays import Array

ROTATION_SCALE = 0.25  # [rad]
PERIOD_SCALE = 0.3  # of the logarithm of the period


class FourierUnknowns:
    """Translates unknowns z into amplitudes, period and trajectory, and back.

    z are offsets from home and amplitudes (n_c * (1 + 2 harmonics)), each divided by a typical
    size, and the logarithm of the period where it is free: within `period_range` [s], `period` at z
    = 0, which is rest at home.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        harmonics: int,
        period: float,
        period_range: tuple[float, float] | None,
    ) -> None:
        self.harmonics, self.first_period, self.period_range = harmonics, period, period_range
        self.coordinates = 'platform' if model.platform_determines_joints else 'actuators'
        self._actuated, self._robot = model.actuated_joints, model.description.name
        span = np.asarray(model.upper) - np.asarray(model.lower)
        if self.coordinates == 'platform':
            self.home = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
            self.scale = np.array([0.25 * _typical(span, 0.4)] * 3 + [ROTATION_SCALE] * 3)
        else:
            self.home = np.asarray(model.home_actuators, dtype=float)
            self.scale = 0.25 * np.where(np.isfinite(span), span, _typical(span, 1.0))
        self.n_c = len(self.home)
        self.shape = (self.n_c, 1 + 2 * harmonics)
        self.free = period_range is not None
        self.size = self.shape[0] * self.shape[1] + self.free

    def split(self, z: Array) -> tuple[Array, float]:
        """Return amplitudes (n_c, 1 + 2h) [m, rad] and period [s] of the unknowns."""
        count = self.shape[0] * self.shape[1]
        period = self.first_period
        if self.free:
            period *= float(np.exp(PERIOD_SCALE * z[count]))
        return z[:count].reshape(self.shape) * self.scale[:, None], period

    def joined(self, amplitudes: Array, period: float) -> Array:
        """Return the unknowns of amplitudes (n_c, 1 + 2h) and, where it is free, a period."""
        z = (amplitudes / self.scale[:, None]).ravel()
        return np.append(z, np.log(period / self.first_period) / PERIOD_SCALE) if self.free else z

    def shrunk(self, z: Array, factor: float) -> Array:
        """Return the same motion with smaller amplitudes about home."""
        amplitudes, period = self.split(z)
        return self.joined(factor * amplitudes, period)

    def slowed(self, z: Array, factor: float) -> Array:
        """Return the same path in a longer period, where it is free and its bound allows."""
        if self.period_range is None:
            return z
        amplitudes, period = self.split(z)
        return self.joined(amplitudes, min(factor * period, self.period_range[1]))

    def trajectory(self, z: Array) -> FourierTrajectory:
        """Return the trajectory of the unknowns."""
        amplitudes, period = self.split(z)
        order, h = np.arange(1, self.harmonics + 1), self.harmonics
        actuators = list(self._actuated) if self.coordinates == 'actuators' else None
        return FourierTrajectory(
            period,
            self.home + amplitudes[:, 0],
            amplitudes[:, 1 : 1 + h] / order,
            amplitudes[:, 1 + h :] / order,
            coordinates=self.coordinates,
            coordinate_names=actuators,
            robot=self._robot,
        )

    def unknowns(self, trajectory: FourierTrajectory) -> Array:
        """Return z of a trajectory of at most as many harmonics, for a warm start."""
        given = trajectory.sine.shape
        if given[0] != self.n_c or given[1] > self.harmonics:
            raise TrajectoryError(
                f'a start needs {self.n_c} coordinates and at most {self.harmonics} harmonics, '
                f'got {given}'
            )
        if trajectory.coordinates != self.coordinates:
            raise TrajectoryError(
                f"a start needs '{self.coordinates}' coordinates, not '{trajectory.coordinates}'"
            )
        order, missing = np.arange(1, given[1] + 1), ((0, 0), (0, self.harmonics - given[1]))
        parts = [
            (trajectory.offset - self.home)[:, None],
            np.pad(trajectory.sine * order, missing),
            np.pad(trajectory.cosine * order, missing),
        ]
        period = trajectory.period
        if self.period_range is not None:
            period = float(np.clip(period, *self.period_range))
        return self.joined(np.concatenate(parts, axis=1), period)


def _typical(span: Array, fallback: float) -> float:
    finite = np.asarray(span)[np.isfinite(span)]
    return float(finite.min()) if finite.size else fallback
