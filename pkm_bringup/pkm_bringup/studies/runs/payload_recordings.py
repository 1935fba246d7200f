"""Recordings of a robot whose force constants are not those of its description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_bringup.offline import effects_of
from pkm_bringup.studies.runs.plants import (
    dataset,
    excitation_of,
    noisy_effects,
    repeated,
    sampled_period,
    simulated,
)
from pkm_description import Payload, with_force_constants, with_payload
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.force_constants.payload_columns import build_bodies


@dataclass(frozen=True)
class Setting:
    """What is recorded."""

    plant: str = 'noise'  # the exact motion with the description's noise; robot: under control
    effects: str = 'modelled'  # of the simulated robot, see `effects_of`
    periods: int = 40  # of each recording, whose spread is the noise
    spread: float = 0.2  # largest error of the described constants, uniform, of each drive's own
    mass: float = 2.0  # [kg] of the known payload and of the unknown one

    def __post_init__(self) -> None:
        """Check the values."""
        if self.periods < 2:
            raise EstimationError('one period does not show its noise: at least 2')


def payloads_of(model: ClosedChainModel, mass: float) -> tuple[Payload, Payload]:
    """Return the known payload and the one to be found: cylinders on the platform.

    The first stands on the origin of the platform's frame, the second, more slender, beside
    it. Their size is some tenths of the mechanism's.
    """
    size = 0.1 * model.length_scale

    def cylinder(name: str, radius: float, height: float, x: float, y: float) -> Payload:
        across = mass * (3 * radius**2 + height**2) / 12
        inertia = (across, across, mass * radius**2 / 2)
        return Payload(mass=mass, centre=(x, y, height / 2), inertia=inertia, name=name)

    known = cylinder('known', 0.6 * size, 0.4 * size, 0.0, 0.0)
    return known, cylinder('unknown', 0.4 * size, 0.9 * size, 0.3 * size, -0.2 * size)


def record(
    model: ClosedChainModel, factors: Array, payload: Payload | None, setting: Setting, seed: int
) -> Recording:
    """Record currents of a robot whose force constants are `factors` times the described ones."""
    trajectory = excitation_of(model)
    constants = factors * np.asarray(model.force_constants)
    if setting.plant == 'robot':
        by_joint = dict(zip(model.actuated_joints, constants.tolist(), strict=True))
        plant = with_force_constants(with_payload(model.description, payload), by_joint)
        effects = effects_of(model.description, setting.effects)
        arrays, _ = simulated(model, trajectory, setting.periods, seed, effects, plant=plant)
        measured = {key: arrays[key] for key in ('currents', 'effort_delay')}
        return dataset(model, arrays['time'], arrays['positions'], trajectory.period, **measured)
    noise, random = noisy_effects(model.description), np.random.default_rng(seed)
    period, motion = sampled_period(model, trajectory)
    bodies = build_bodies(model, [payload])
    forces = model.inverse_dynamics(motion)
    forces = forces + bodies.forces(model, motion, 0, bodies.start.ravel())
    forces = repeated(forces, setting.periods, noise.force_covariance, random)
    exact = model.actuator_states(motion).positions
    positions = repeated(exact, setting.periods, noise.position_covariance, random)
    time = np.arange(len(forces)) * period[1]
    return dataset(model, time, positions, trajectory.period, currents=forces / constants)


def scaled(dataset: Recording, joint: str, factor: float) -> Recording:
    """The same data with one joint's current, and so its force constant, in another unit."""
    assert dataset.currents is not None
    column = np.array([name == joint for name in dataset.joint_names])
    return dataset.changed(currents=dataset.currents * np.where(column, factor, 1.0))
