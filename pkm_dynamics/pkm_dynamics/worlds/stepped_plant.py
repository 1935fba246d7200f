"""A plant that some simulator steps: what a controller and a recording see of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.assembly import Assembly
from pkm_description.errors import SimulationError
from pkm_description.friction import without_friction
from pkm_dynamics.array_types import Floats
from pkm_dynamics.simulation import PlantEffects, PlantSample
from pkm_dynamics.simulation.sensors import Sensors

STEP = 1e-3  # [s] between commands


class SteppedPlant(ABC):
    """A robot at home and at rest that takes a force for each control interval.

    Its simulator takes semi-implicit Euler steps, `substeps` in an interval of `step` [s]: the
    force, constant over the interval, is that of the accelerations at their begins, so it is
    stamped with the mean of these. Of the `effects` the sensors' noise, their resolution and the
    limits of the forces act; friction is that of the description, or none where `effects` switch it
    off. Without `effects` the sensors are exact.
    """

    velocities: Floats  # (n_a,) [m/s, rad/s] at the end of the latest interval
    _sample: PlantSample

    def __init__(
        self,
        description: Description,
        step: float = STEP,
        substeps: int = 1,
        effects: PlantEffects | None = None,
        seed: int = 0,
    ) -> None:
        refuse_redundant_actuation(description, 'a simulator other than MuJoCo')
        self.description = description
        if effects is not None and not effects.friction:
            self.description = without_friction(description)
        self.step_time, self.substeps = step, substeps
        self.actuated_joints = description.actuated_joints
        self._effects = PlantEffects.from_description(description).ideal()
        if effects is not None:
            self._effects = effects
        limits = [description.joint(name).limit.effort for name in self.actuated_joints]
        saturated = effects is not None and effects.saturation
        self._limits = np.array(limits) if saturated else np.full(len(limits), np.inf)
        self._home = np.array([description.home_joints[name] for name in self.actuated_joints])
        self.reset(seed)

    def reset(self, seed: int | None = None, time: float = 0.0) -> PlantSample:
        """Return home at rest, with a new seed of the noise or as before.

        The plant goes on at `time` [s], rounded to whole intervals.
        """
        if seed is not None:
            self._seed = seed
        self._sensors = Sensors(self.description, self._effects, self._seed)
        self._steps = round(time / self.step_time)
        self._positions = self._home
        self._stand()
        return self._sample

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
        forces = np.clip(self.check_command(command), -self._limits, self._limits)
        positions, rates, sums = self._positions, self.velocities, 0.0 * self.velocities
        path = sums.copy()
        for _ in range(self.substeps):
            path += positions
            sums += 0.5 * rates
            positions, rates = self._stepped(forces)
            sums += 0.5 * rates
        self._steps += 1
        if not np.all(np.isfinite([*positions, *rates])):
            robot = f"robot '{self.description.name}'"
            raise SimulationError(f'{robot} diverged at {self.time:.3f} s')
        self._positions, self.velocities = positions, rates
        means = path / self.substeps, sums / self.substeps
        self._sample = self._shown(*means, forces)
        return self._sample

    def check_command(self, command: ArrayLike) -> Floats:
        """Return a command as (n_a,) forces [N, N m]; raises SimulationError if it is unfit."""
        forces = np.array(command, dtype=float)
        if forces.shape != self.velocities.shape or not np.all(np.isfinite(forces)):
            robot, count = f"robot '{self.description.name}'", len(self.velocities)
            raise SimulationError(f'{robot} takes {count} finite forces, got {forces.tolist()}')
        return forces

    def hold(self) -> PlantSample:
        """Let one interval pass with the brakes on: nothing moves, no current.

        A robot that moved begins anew where it is, at rest.
        """
        self._steps += 1
        if np.any(self.velocities):
            self._stand()
        else:
            self._sample = self._shown(self._positions, self.velocities, 0.0 * self.velocities)
        return self._sample

    @abstractmethod
    def closure_gap(self) -> float:
        """Return the largest distance [m] between points that the loops hold together."""

    @abstractmethod
    def _begin(self, positions: Floats) -> None:
        """Make the world anew, with the robot at rest at positions (n_a,) [m, rad]."""

    @abstractmethod
    def _stepped(self, forces: Floats) -> tuple[Floats, Floats]:
        """Take a substep under forces; positions (n_a,) [m, rad] and velocities after it."""

    def _stand(self) -> None:
        self.velocities = np.zeros(len(self.actuated_joints))
        self._begin(self._positions)
        self._sample = self._shown(self._positions, self.velocities, self.velocities)

    def _shown(self, before: Floats, velocities: Floats, forces: Floats) -> PlantSample:
        return PlantSample(
            time=self.time,
            positions=self._sensors.positions(self._positions),
            currents=self._sensors.currents(forces),
            current_time=max(self.time - self.step_time, 0.0) + self.force_delay,
            truth_positions=before,
            truth_velocities=velocities,
            truth_forces=forces,
        )


def standing_at(description: Description, positions: Floats) -> Description:
    """Return a robot whose home is where its actuated joints (n_a,) are [m, rad]."""
    assembly = Assembly(description)
    found = assembly.solve(positions)
    joints = dict(zip(assembly.tree.joint_names, found.joints.tolist(), strict=True))
    return replace(description, home=found.platform, home_joints=joints)
