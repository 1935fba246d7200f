"""A plant that some simulator steps: what a controller and a recording see of it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.errors import SimulationError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.simulation import PlantSample

STEP = 1e-3  # [s] between commands


class SteppedPlant(ABC):
    """A robot at home and at rest, without noise, that takes a force for each control interval.

    Its simulator takes semi-implicit Euler steps, `substeps` in an interval of `step` [s]: the
    force, constant over the interval, is that of the accelerations at their begins, so it is
    stamped with the mean of these.
    """

    def __init__(self, description: Description, step: float = STEP, substeps: int = 1) -> None:
        self.description = description
        self.step_time, self.substeps = step, substeps
        self.actuated_joints = description.actuated_joints
        constants = np.array([each.force_constant for each in description.actuators], dtype=float)
        self._constants = np.where(np.isfinite(constants), constants, 1.0)
        self._steps = 0
        self.velocities = np.zeros(len(self.actuated_joints))
        home = np.array([description.home_joints[name] for name in self.actuated_joints])
        self._sample = self._shown(home, home, self.velocities, np.zeros_like(home))

    @property
    def force_delay(self) -> float:
        """Mean of the instants at which a force acts, after the begin of its interval [s]."""
        return 0.5 * self.step_time * (1.0 - 1.0 / self.substeps)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.step_time

    @property
    def sample(self) -> PlantSample:
        """The latest sample."""
        return self._sample

    def step(self, command: ArrayLike) -> PlantSample:
        """Apply forces (n_a,) [N, N m] for one interval and return the new sample.

        Raises SimulationError where the forces are of the wrong number, or a force or the state
        is not finite.
        """
        forces = np.array(command, dtype=float)
        robot = f"robot '{self.description.name}'"
        if forces.shape != self.velocities.shape or not np.all(np.isfinite(forces)):
            count = len(self.velocities)
            raise SimulationError(f'{robot} takes {count} finite forces, got {forces.tolist()}')
        positions, rates, sums = self._sample.positions, self.velocities, 0.0 * self.velocities
        path = sums.copy()
        for _ in range(self.substeps):
            path += positions
            sums += 0.5 * rates
            positions, rates = self._stepped(forces)
            sums += 0.5 * rates
        self.velocities = rates
        self._steps += 1
        if not np.all(np.isfinite([*positions, *rates])):
            raise SimulationError(f'{robot} diverged at {self.time:.3f} s')
        means = path / self.substeps, sums / self.substeps
        self._sample = self._shown(positions, *means, forces)
        return self._sample

    @abstractmethod
    def closure_gap(self) -> float:
        """Return the largest distance [m] between points that the loops hold together."""

    @abstractmethod
    def _stepped(self, forces: Floats) -> tuple[Floats, Floats]:
        """Take a substep under forces; positions (n_a,) [m, rad] and velocities after it."""

    def _shown(
        self, positions: Floats, before: Floats, velocities: Floats, forces: Floats
    ) -> PlantSample:
        return PlantSample(
            time=self.time,
            positions=positions,
            currents=forces / self._constants,
            current_time=max(self.time - self.step_time, 0.0) + self.force_delay,
            truth_positions=before,
            truth_velocities=velocities,
            truth_forces=forces,
        )
