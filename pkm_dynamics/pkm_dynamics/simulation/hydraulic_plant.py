"""The simulated robot on hydraulic cylinders: it takes signals of their valves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.actuation.hydraulic_drives import read_hydraulics
from pkm_description.errors import SimulationError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.simulation.effects import PlantEffects
from pkm_dynamics.simulation.hydraulic_cylinders import HydraulicCylinders
from pkm_dynamics.simulation.plant import PlantSample, SimulatedPlant
from pkm_dynamics.simulation.sensors import Sensors

OF_SENSORS = ('force_noise', 'position_noise', 'quantisation')


class HydraulicPlant:
    """A `SimulatedPlant` whose forces are those of cylinders, which follow their valves.

    It begins at home with closed valves and the same pressure on both sides: the oil bears what
    weight there is. Pressures are measured on both sides: currents of a sample are the forces [N]
    that follow from them. Arguments are those of `SimulatedPlant`. Raises SimulationError for a
    robot whose description has no `hydraulics`.
    """

    def __init__(
        self,
        description: Description,
        effects: PlantEffects | None = None,
        seed: int = 0,
        step: float = 1e-3,
        substep: float = 1e-4,
    ) -> None:
        drives = read_hydraulics(description)
        if drives is None:
            raise SimulationError(
                f"robot '{description.name}' has no cylinders: its description has no `hydraulics`"
            )
        self.description, self.drives = description, drives
        self.effects = PlantEffects.from_description(description) if effects is None else effects
        unseen = self.effects.switched(**dict.fromkeys((*OF_SENSORS, 'saturation'), False))
        self._robot = SimulatedPlant(description, unseen, seed, substep, substep)
        self.step_time = step
        self.substeps = round(step / substep)
        if self.substeps < 1 or abs(self.substeps * substep - step) > 1e-6 * step:
            raise SimulationError(
                f'the control interval ({step} s) must be a whole number of substeps ({substep} s)'
            )
        self._substep = substep
        self.cylinders = HydraulicCylinders(drives)
        self.reset(seed)

    def reset(self, seed: int = 0) -> PlantSample:
        """Return home to rest, with a seed of the noise."""
        self._sensors = Sensors(self.description, self.effects, seed)
        start = self._robot.reset(seed)
        self.cylinders.reset(np.zeros_like(start.positions))
        self._sample = self._measure([start])
        return self._sample

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._robot.time

    @property
    def sample(self) -> PlantSample:
        """The latest sample."""
        return self._sample

    @property
    def load_pressures(self) -> Floats:
        """Differences of the pressures (n_a,) [Pa] in the latest sample."""
        return np.asarray(self._sample.currents / self.drives.piston_area)

    @property
    def positions(self) -> Floats:
        """Positions (n_a,) [m] without noise."""
        return self._robot.positions

    def step(self, signals: ArrayLike) -> PlantSample:
        """Give the valves their signals (n_a,), full way at 1 and -1, for one control interval.

        Raises SimulationError if they have the wrong size or are not finite (nothing moves then),
        or if the simulation has diverged.
        """
        given = self._robot.check_command(signals)
        passed: list[PlantSample] = []
        for _ in range(self.substeps):
            robot = self._robot
            self.cylinders.advance(given, robot.positions, robot.velocities, self._substep)
            passed.append(robot.step(self.cylinders.forces))
        self._sample = self._measure(passed)
        return self._sample

    def _measure(self, passed: list[PlantSample]) -> PlantSample:
        truth = {
            name: np.mean([getattr(each, name) for each in passed], axis=0)
            for name in ('truth_positions', 'truth_velocities', 'truth_forces')
        }
        return PlantSample(
            time=self.time,
            positions=self._sensors.positions(passed[-1].positions),
            currents=self._sensors.currents(truth['truth_forces']),
            current_time=float(np.mean([each.current_time for each in passed])),
            **truth,
        )
