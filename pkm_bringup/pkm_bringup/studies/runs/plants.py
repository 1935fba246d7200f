"""Simulated robots of the studies, and what is recorded of them.

`noise`: the exact motion and its forces with the description's sensor noise on both; `servo`: the
same of the motion that the robot settles to under its servo; `robot`: simulated under control,
where the servo makes motion and forces of its sensors' noise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_bringup.inputs import load_model
from pkm_bringup.offline import dataset_of, measured_arrays, simulate
from pkm_control.closed_loop import ClosedLoopRecording
from pkm_control.feedforward import nominal_feedforward
from pkm_description import Description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.friction_laws import LINEAR, DriveFriction
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, servo_gains
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.joint_servo.steady_state import SteadyState, steady_state
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.simulation import PlantEffects, correlated_noise
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording, Truth
from pkm_identification.excitation.excitation_design import load_excitation

SAMPLING_RATE = 1000.0  # [Hz], as the controller of the nodes
SETTLING = 2  # periods of a simulated robot left out after the ramp: its servo's memory is shorter
SLOWER = 1.7  # the held-out motion of robots without a circle: the excitation, more slowly

# Each process builds a robot once, whatever number of runs it does.
model_of = lru_cache(maxsize=None)(load_model)


def excitation_of(model: ClosedChainModel) -> FourierTrajectory:
    """Return the shipped excitation of a robot."""
    return load_excitation(model.description.name)


def rms(values: ArrayLike) -> float:
    """Return the root mean square of numbers."""
    return float(np.sqrt(np.mean(np.square(values))))


def true_base_parameters(model: ClosedChainModel) -> Array:
    """Nominal values (r,) of the base parameters that `identify` estimates by default."""
    base = model.base_parameters(shared=True, reduced=True)
    return np.asarray(base.matrix @ model.nominal_parameters)


def sampled_period(model: ClosedChainModel, trajectory: Trajectory) -> tuple[Array, PlatformMotion]:
    """Instants (n,) [s] of one period as it is recorded, in whole samples, and the motion there."""
    assert trajectory.period is not None
    samples = round(trajectory.period * SAMPLING_RATE)
    time = np.asarray(trajectory.period / samples * np.arange(samples), dtype=float)
    return time, trajectory.motion(time, model)


def held_out_motion(model: ClosedChainModel) -> Trajectory:
    """Another motion than the excitation: the circle [A V], else the excitation, slower."""
    if 'circle' in preset_names(model):
        return preset(model, 'circle')
    return slowed(excitation_of(model), SLOWER)


def slowed(fast: FourierTrajectory, factor: float) -> FourierTrajectory:
    """Return the same path at 1 / factor of its speed, its period in whole samples."""
    period = np.round(factor * fast.period * SAMPLING_RATE) / SAMPLING_RATE
    series = (fast.offset, fast.sine, fast.cosine)
    return FourierTrajectory(period, *series, fast.coordinates, fast.coordinate_names, fast.robot)


def scaled_noise(effects: PlantEffects, forces: float, positions: float) -> PlantEffects:
    """Effects with the standard deviations of the sensors' noise times factors."""
    force, position = effects.force_covariance * forces**2, effects.position_covariance
    return replace(effects, force_covariance=force, position_covariance=position * positions**2)


def noisy_effects(
    description: Description,
    positions: float = 1.0,
    needed: tuple[str, ...] = ('force', 'position'),
) -> PlantEffects:
    """Return the noise of a plant alone; a drive without a `needed` one is an EstimationError."""
    effects = PlantEffects.from_description(description).without_unmodelled()
    for kind in needed:
        if np.linalg.eigvalsh(getattr(effects, f'{kind}_covariance'))[0] <= 0.0:
            raise EstimationError(
                f"robot '{description.name}' declares no {kind} noise (simulation.{kind}_noise) "
                'for each of its drives: there is nothing to compare'
            )
    return scaled_noise(effects, 1.0, positions)


def noisy_periods(
    positions: Array,
    forces: Array,
    periods: int,
    effects: PlantEffects,
    random: np.random.Generator,
) -> tuple[Array, Array]:
    """Return positions and forces of one period (n, n_a) again and again, with noise on both."""
    measured = repeated(positions, periods, effects.position_covariance, random)
    return measured, repeated(forces, periods, effects.force_covariance, random)


def repeated(values: Array, periods: int, covariance: Array, random: np.random.Generator) -> Array:
    """Return one period (n, n_a) again and again, with noise."""
    noise = correlated_noise(random, covariance, periods * len(values))
    return np.tile(values, (periods, 1)) + noise


def exact_forces(
    model: ClosedChainModel, trajectory: Trajectory, effects: PlantEffects | None = None
) -> tuple[PlatformMotion, Array]:
    """One period of a motion as commanded, and its forces (n, n_a) with the plant's friction."""
    _, motion = sampled_period(model, trajectory)
    forces = model.inverse_dynamics(motion)
    stribeck = None if effects is None else stribeck_friction(model, effects)
    if stribeck is not None:
        forces = forces + stribeck.forces(model.actuator_states(motion).velocities)
    return motion, forces


def stribeck_friction(model: ClosedChainModel, effects: PlantEffects) -> DriveFriction | None:
    """Stribeck friction of a plant's drives, beyond its Coulomb friction."""
    by_joint = {entry.joint: entry for entry in effects.stribeck}
    laws, values = [], []
    for joint in model.actuated_joints:
        entry = by_joint.get(joint)
        laws.append(LINEAR if entry is None else 'stribeck')
        friction = model.description.joint(joint).friction
        if entry is not None and friction is not None:
            excess = max(entry.static - 0.5 * sum(friction.levels), 0.0)
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
    ramp_time: float = 1.0,
) -> Recording:
    """Record whole settled periods of a motion on one of the plants, with its truth."""
    truth = None

    def noisy(positions: Array, forces: Array) -> Recording:
        random = np.random.default_rng(seed)
        positions, efforts = noisy_periods(positions, forces, periods, effects, random)
        time = np.arange(len(positions)) / SAMPLING_RATE
        return dataset(model, time, positions, trajectory.period, efforts=efforts)

    if plant == 'robot':
        arrays, _ = simulated(model, trajectory, periods, seed, effects, ramp_time)
        data = dataset_of(arrays)
        kinds = ('time', 'positions', 'velocities', 'forces')
        truth = Truth(*(arrays[f'truth_{kind}'] for kind in kinds))
    elif plant == 'servo':
        state = _under_servo(model, trajectory)
        data = noisy(state.positions, state.forces)
    else:
        motion, forces = exact_forces(model, trajectory, effects)
        states = model.actuator_states(motion)
        data = noisy(states.positions, forces)
        exact = (states.positions, states.velocities, forces)
        truth = Truth(data.time, *(np.tile(array, (periods, 1)) for array in exact))
    return replace(data, truth=truth, provenance={'metadata': {'trajectory': trajectory.to_dict()}})


def dataset(
    model: ClosedChainModel,
    time: ArrayLike,
    positions: ArrayLike,
    period: float | None,
    **measured: Any,
) -> Recording:
    """Return samples as recorded, with `efforts` or `currents` of the same instants."""
    arrays = {'time': time, 'joint_names': np.array(model.actuated_joints), 'positions': positions}
    return dataset_of({**arrays, 'effort_delay': 0.0, 'period': period, **measured})


def simulated(
    model: ClosedChainModel,
    trajectory: Trajectory,
    periods: int,
    seed: int,
    effects: PlantEffects | None = None,
    ramp_time: float = 1.0,
    plant: Description | None = None,
    settling: int = SETTLING,
) -> tuple[dict[str, Any], ClosedLoopRecording]:
    """Return the arrays of settled periods under control (`measured_arrays`), and the recording."""
    robot: dict[str, Any] = {'effects': effects, 'plant': plant, 'seed': seed}
    robot |= {'feedforward': nominal_feedforward(model), 'ramp_time': ramp_time}
    recording = simulate(model, trajectory, periods + settling, **robot)
    arrays = measured_arrays(recording, model, trajectory.period)
    return settled_periods(arrays, trajectory.period, settling), recording


def settled_periods(arrays: dict[str, Any], period: float | None, settling: int) -> dict[str, Any]:
    """Return arrays (`measured_arrays`) without the first periods [s] at full speed."""
    if not settling:
        return arrays
    assert period is not None
    samples, first = len(arrays['time']), settling * round(period * SAMPLING_RATE)
    sampled = {name for name, value in arrays.items() if np.shape(value)[:1] == (samples,)}
    return {name: value[first:] if name in sampled else value for name, value in arrays.items()}


def _under_servo(model: ClosedChainModel, trajectory: Trajectory) -> SteadyState:
    """One period of a motion under the project's servo with nominal feedforward.

    Noise of positions and forces is added afterwards: the servo does not answer to it, so
    that what it does to an estimate is the noise of the regressor alone.
    """
    time, motion = sampled_period(model, trajectory.ordered(model.actuated_joints))
    interval, gains = float(time[1]), servo_gains(model)
    servo = ServoLoop(
        gains.proportional, gains.derivative, VELOCITY_CUTOFF, interval, 0.5 * interval
    )
    assert trajectory.period is not None
    reference, forces = model.actuator_states(motion).positions, model.inverse_dynamics(motion)
    nominal, period = model.nominal_parameters, trajectory.period
    return steady_state(model, nominal, reference, forces, servo, period)
