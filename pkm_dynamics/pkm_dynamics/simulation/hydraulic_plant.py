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
from pkm_dynamics.simulation.mujoco_closures import closed_mobility
from pkm_dynamics.simulation.plant import PlantSample, SimulatedPlant, whole_ratio
from pkm_dynamics.simulation.sensors import Sensors

OIL_SHARE = 0.5  # of the time of the fastest swing on the oil, over 2 pi: 2 is its limit
OF_SENSORS = ('force_noise', 'position_noise', 'quantisation')


class HydraulicPlant:
    """A `SimulatedPlant` whose forces are those of cylinders, which follow their valves.

    In each substep the oil goes first, with the velocity that the robot has, and then pushes it.
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
        self.step_time, self.substeps = step, whole_ratio(step, substep)
        self._substep = step / self.substeps
        self.effects = PlantEffects.from_description(description) if effects is None else effects
        # the robot moves by what its cylinders push; what is measured of it is measured here
        unseen = self.effects.switched(**dict.fromkeys((*OF_SENSORS, 'saturation'), False))
        self._robot = SimulatedPlant(description, unseen, seed, self._substep, self._substep)
        self._check_substep()
        self.cylinders = HydraulicCylinders(drives)
        self._seed = seed
        self.reset()

    def reset(self, seed: int | None = None) -> PlantSample:
        """Return home to rest, with a new seed of the noise or as before."""
        self._seed = self._seed if seed is None else seed
        self._sensors = Sensors(self.description, self.effects, self._seed)
        start = self._robot.reset()
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
    def measured_load_pressures(self) -> Floats:
        """Differences of the pressures (n_a,) [Pa], means over the latest interval, with noise."""
        return np.asarray(self._sample.currents / self.drives.piston_area)

    @property
    def positions(self) -> Floats:
        """Positions (n_a,) [m] without noise."""
        return self._robot.positions

    def step(self, signals: ArrayLike) -> PlantSample:
        """Give the valves their signals (n_a,) for one control interval; 1 and -1 open fully.

        Raises SimulationError if they have the wrong size or are not finite (nothing moves then),
        or if the simulation has diverged.
        """
        given = np.array(signals, dtype=float)
        if given.shape != self.positions.shape or not np.isfinite(given).all():
            raise SimulationError(
                f"robot '{self.description.name}' takes {len(self.positions)} finite signals of "
                f'valves, not {given}'
            )
        passed: list[PlantSample] = []
        for _ in range(self.substeps):
            robot = self._robot
            self.cylinders.advance(given, robot.positions, robot.velocities, self._substep)
            passed.append(robot.step(self.cylinders.forces))
        self._sample = self._measure(passed)
        return self._sample

    def _check_substep(self) -> None:
        """Refuse a substep in which the robot would swing too far on its oil."""
        robot = self._robot
        rows = robot.actuated_coordinates
        mobility = closed_mobility(robot.mujoco_model, robot.mujoco_data)[np.ix_(rows, rows)]
        root = np.sqrt(self.drives.stiffest)
        fastest = np.sqrt(np.linalg.eigvalsh(root[:, None] * mobility * root)[-1])
        if fastest * self._substep > OIL_SHARE:
            raise SimulationError(
                f"robot '{self.description.name}' swings on its oil at {fastest:.3g} 1/s: it needs "
                f'substeps of at most {OIL_SHARE / fastest:.1e} s, not {self._substep:.1e} s'
            )

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
