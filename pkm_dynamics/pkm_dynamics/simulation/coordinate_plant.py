"""A plant with more drives than degrees of freedom, as its coordinates see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import KinematicsError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_distribution import DriveDistribution
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.simulation.plant import PlantSample, SimulatedPlant


@dataclass(frozen=True)
class CoordinateSample(PlantSample):
    """Positions are those of the coordinates (n_a,), all else is of the drives (n_d,)."""

    drive_positions: Floats  # (n_d,) measured when the interval began [m, rad]
    drive_commands: Floats  # (n_d,) of the interval [N, N m]


class CoordinatePlant:
    """Takes generalised forces at the coordinates, and distributes them to the drives.

    By the measured positions, as a controller of the robot does.
    """

    def __init__(self, plant: SimulatedPlant, drives: DriveDistribution) -> None:
        self._plant = plant
        self._drives = drives
        self._motion: PlatformMotion | None = None  # where the robot was last, at rest
        self._shares = self._shares_at(drives.home_actuators)
        self._sample = self._seen(plant.sample, np.zeros(drives.n_d), plant.sample.positions)

    @property
    def sample(self) -> CoordinateSample:
        """The latest sample."""
        return self._sample

    def step(self, command: ArrayLike) -> CoordinateSample:
        """Apply forces (n_a,) [N, N m] at the coordinates for one interval."""
        measured = self._plant.sample.positions
        try:
            self._shares = self._shares_at(measured)
        except KinematicsError:
            pass  # noise at the edge of what can be reached: those of the interval before
        still, shares = self._shares
        forces = still + shares @ np.asarray(command, dtype=float)
        self._sample = self._seen(self._plant.step(forces), forces, measured)
        return self._sample

    def _shares_at(self, positions: Floats) -> tuple[Floats, Floats]:
        """Forces of the drives for none at the coordinates, and those for one each.

        Straight from home there may be another configuration, or none: it goes on from the last.
        """
        core, own = self._drives.core, positions[self._drives.coordinates][None]
        self._motion = core.motion_from_actuators(own, 0.0 * own, 0.0 * own, self._motion)
        still, shares = self._drives.shares(self._motion)
        return still[0], shares[0]

    def _seen(self, sample: PlantSample, forces: Floats, before: Floats) -> CoordinateSample:
        positions = sample.positions[self._drives.coordinates]
        told = vars(sample) | {'positions': positions}
        return CoordinateSample(**told, drive_positions=before, drive_commands=forces)
