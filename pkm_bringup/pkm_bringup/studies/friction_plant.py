"""Recordings of a robot with Stribeck friction, exact or under control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.offline import measured_arrays, simulate
from pkm_bringup.studies.noise_plant import noisy_periods
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.friction_laws import LINEAR, DriveFriction
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory
from pkm_identification.datasets import Recording, Truth
from pkm_identification.excitation.shipped import load_excitation

Array = NDArray[np.float64]

SAMPLING_RATE = 1000.0  # [Hz]
SETTLING = 2  # periods of a simulated robot left out after the ramp
SLOWER = 1.7  # the held-out motion of robots without a circle: the excitation, more slowly


def scaled_noise(effects: PlantEffects, factor: float) -> PlantEffects:
    """Effects with the standard deviations of the sensors' noise times a factor."""
    return replace(
        effects,
        force_covariance=effects.force_covariance * factor**2,
        position_covariance=effects.position_covariance * factor**2,
    )


def held_out_motion(model: ClosedChainModel) -> Trajectory:
    """Another motion than the excitation: the circle [A V], else the excitation, slower."""
    if 'circle' in preset_names(model):
        return preset(model, 'circle')
    fast = load_excitation(model.description.name)
    if not isinstance(fast, FourierTrajectory):
        raise EstimationError(f"robot '{model.description.name}' has no second motion")
    period = np.round(SLOWER * fast.period * SAMPLING_RATE) / SAMPLING_RATE
    return FourierTrajectory(
        period,
        fast.offset,
        fast.sine,
        fast.cosine,
        fast.coordinates,
        fast.coordinate_names,
        fast.robot,
    )


def stribeck_friction(model: ClosedChainModel, effects: PlantEffects) -> DriveFriction | None:
    """Stribeck friction of a plant's drives, beyond its Coulomb friction."""
    by_joint = {entry.joint: entry for entry in effects.stribeck}
    laws, values = [], []
    for joint in model.actuated_joints:
        entry = by_joint.get(joint)
        laws.append(LINEAR if entry is None else 'stribeck')
        friction = model.description.joint(joint).friction
        if entry is not None and friction is not None:
            opposite = friction.coulomb
            if friction.model == 'asymmetric':
                opposite = friction.coulomb_negative
            excess = max(entry.static - 0.5 * (friction.coulomb + opposite), 0.0)
            values += [excess, entry.velocity, entry.exponent]
    if not values:
        return None
    joints = tuple(model.actuated_joints)
    return DriveFriction(
        joints, tuple(laws), np.array(values), model.description.transition_velocity
    )


def recorded(
    model: ClosedChainModel,
    trajectory: Trajectory,
    plant: str,
    effects: PlantEffects,
    periods: int,
    seed: int,
) -> Recording:
    """Record whole periods: `robot` simulated under control, `noise` the exact motion."""
    if plant == 'robot':
        return _simulated(model, trajectory, effects, periods, seed)
    random = np.random.default_rng(seed)
    motion, forces = exact_forces(model, trajectory, effects)
    states = model.actuator_states(motion)
    exact = [
        np.tile(array, (periods, 1)) for array in (states.positions, states.velocities, forces)
    ]
    stamps = np.arange(len(exact[0])) / SAMPLING_RATE
    return Recording.from_arrays(
        stamps,
        tuple(model.actuated_joints),
        *noisy_periods(states.positions, forces, periods, effects, random),
        period=trajectory.period,
        truth=Truth(stamps, *exact),
    )


def exact_forces(
    model: ClosedChainModel, trajectory: Trajectory, effects: PlantEffects
) -> tuple[PlatformMotion, Array]:
    """One period of a motion as commanded, and its forces (n, n_a) with the plant's friction."""
    assert trajectory.period is not None
    samples = round(trajectory.period * SAMPLING_RATE)
    motion = trajectory.motion(np.arange(samples) / SAMPLING_RATE, model)
    forces = model.inverse_dynamics(motion)
    stribeck = stribeck_friction(model, effects)
    if stribeck is not None:
        forces = forces + stribeck.forces(model.actuator_states(motion).velocities)
    return motion, forces


def _simulated(
    model: ClosedChainModel, trajectory: Trajectory, effects: PlantEffects, periods: int, seed: int
) -> Recording:
    assert trajectory.period is not None
    recording = simulate(
        model,
        trajectory,
        periods + SETTLING,
        ramp_time=2.0,
        effects=effects,
        feedforward=nominal_feedforward(model),
        seed=seed,
    )
    arrays = measured_arrays(recording, model, trajectory.period)
    settled = slice(SETTLING * round(trajectory.period * SAMPLING_RATE), None)
    forces = arrays.get('efforts')
    if forces is None:
        forces = arrays['currents'] * arrays['force_constants']
    truth = Truth(
        *(
            arrays[f'truth_{name}'][settled]
            for name in ('time', 'positions', 'velocities', 'forces')
        )
    )
    return Recording.from_arrays(
        arrays['time'][settled],
        tuple(str(name) for name in arrays['joint_names']),
        arrays['positions'][settled],
        forces[settled],
        effort_delay=arrays['effort_delay'],
        period=trajectory.period,
        truth=truth,
    )
