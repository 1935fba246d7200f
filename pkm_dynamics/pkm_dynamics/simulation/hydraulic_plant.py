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
    that follow from their means over the interval, efforts those at its end. It has no brakes:
    `hold` closes the valves. Arguments are those of `SimulatedPlant`. Raises SimulationError for a
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
        self.actuated_joints = description.actuated_joints
        self.step_time, self.substeps = step, whole_ratio(step, substep)
        self._substep = step / self.substeps
        self._effects = PlantEffects.from_description(description) if effects is None else effects
        steps = self._substep, self._substep
        self._robot = SimulatedPlant(description, _unmeasured(self._effects), seed, *steps)
        self._check_substep()
        self.cylinders = HydraulicCylinders(drives)
        self._seed = seed
        self.reset()

    def reset(self, seed: int | None = None, time: float = 0.0) -> PlantSample:
        """Return home to rest, with a new seed of the noise or as before; go on at `time` [s]."""
        self._seed = self._seed if seed is None else seed
        self._sensors = Sensors(self.description, self.effects, self._seed)
        start = self._robot.reset(time=self.step_time * round(time / self.step_time))
        self.cylinders.reset(np.zeros_like(start.positions))
        self._sample = self._measure([start])
        return self._sample

    @property
    def effects(self) -> PlantEffects:
        """Effects beyond rigid bodies and cylinders."""
        return self._effects

    @effects.setter
    def effects(self, effects: PlantEffects) -> None:
        self._effects = effects
        self._robot.effects = _unmeasured(effects)
        self._sensors.set_effects(effects)

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

        Raises SimulationError as `check_command` does (nothing moves then), or if the simulation
        has diverged.
        """
        given = self.check_command(signals)
        passed: list[PlantSample] = []
        for _ in range(self.substeps):
            robot = self._robot
            self.cylinders.advance(given, robot.positions, robot.velocities, self._substep)
            passed.append(robot.step(self.cylinders.forces))
        self._sample = self._measure(passed)
        return self._sample

    def check_command(self, signals: ArrayLike) -> Floats:
        """Return signals (n_a,) of valves; SimulationError unless each is within -1 and 1."""
        given = np.array(signals, dtype=float)
        if given.shape != self.positions.shape or not np.all(np.abs(given) <= 1.0):
            raise SimulationError(
                f"robot '{self.description.name}' takes {len(self.positions)} finite signals of "
                f'valves within -1 and 1, not {given}'
            )
        return given

    def hold(self) -> PlantSample:
        """Let one control interval pass with the valves told to close.

        The oil then bears the robot, which sinks by what leaks.
        """
        return self.step(np.zeros(len(self.actuated_joints)))

    def closure_gap(self) -> float:
        """Largest distance [m] between the two points of any loop closure."""
        return self._robot.closure_gap()

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
        mean = truth['truth_forces']
        currents = self._sensors.currents(mean)
        return PlantSample(
            time=self.time,
            positions=self._sensors.positions(passed[-1].positions),
            currents=currents,
            efforts=self.cylinders.forces + currents - mean,  # of the same sensors
            current_time=float(np.mean([each.current_time for each in passed])),
            **truth,
        )


def _unmeasured(effects: PlantEffects) -> PlantEffects:
    """Effects of the robot inside: all but those of sensors and force limits."""
    return effects.switched(**dict.fromkeys((*OF_SENSORS, 'saturation'), False))
