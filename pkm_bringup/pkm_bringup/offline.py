"""A simulated robot and its controller in one fast loop, and what they recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_control.closed_loop import ClosedLoopRecording, Plant, run_closed_loop
from pkm_control.control_types import ControllerOptions
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import (
    Feedforward,
    identified_feedforward,
    no_feedforward,
    nominal_feedforward,
)
from pkm_control.learning.repetition import Repetition
from pkm_description import Description, MotorSide, Payload, with_force_constants, with_payload
from pkm_description.actuation.redundant_drives import drive_description
from pkm_description.description import JOINT, MOTOR
from pkm_description.errors import SimulationError
from pkm_description.transmissions.motor_side import described_side
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_distribution import DriveDistribution, all_drives
from pkm_dynamics.joint_servo.gains import ServoGains, servo_gains
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.simulation.coordinate_plant import CoordinatePlant
from pkm_dynamics.simulation.effects import SWITCHES
from pkm_dynamics.trajectories import Execution, Trajectory
from pkm_identification import load_result
from pkm_identification.datasets import Recording
from pkm_identification.requests.check_request import CheckRequest, planned_motion

SETTLE_TIME = 0.5  # [s] at rest before and after the motion


def effects_of(description: Description, choice: str) -> PlantEffects:
    """Return the effects of a plant: all, modelled (no Stribeck, no cogging) or none."""
    effects = PlantEffects.from_description(description)
    if choice == 'none':
        return effects.switched(**dict.fromkeys(SWITCHES, False))
    return effects.without_unmodelled() if choice == 'modelled' else effects


def feedforward_of(model: ClosedChainModel, choice: str) -> Feedforward:
    """Return no feedforward, the nominal one, or that of a model file."""
    if choice == 'none':
        return no_feedforward()
    if choice == 'nominal':
        return nominal_feedforward(model)
    result = load_result(choice, model)
    found = result.controller_parameters
    return identified_feedforward(model, Path(choice).stem, list(found), list(found.values()))


def checked_from_home(
    model: ClosedChainModel, trajectory: Trajectory, ramp_time: float, periods: int
) -> Execution:
    """Return the whole motion from home; FeasibilityError where it leaves a limit."""
    request = CheckRequest(trajectory, ramp_time, periods, from_home=True)
    execution = planned_motion(request, model)
    check_feasibility(model, execution).raise_if_infeasible()
    return execution


def simulate(
    model: ClosedChainModel,
    trajectory: Trajectory,
    periods: int,
    *,
    ramp_time: float = 1.0,
    effects: PlantEffects | None = None,
    feedforward: Feedforward | None = None,
    gains: ServoGains | None = None,
    options: ControllerOptions | None = None,
    seed: int = 0,
    plant: Description | None = None,
    progress: Callable[[str, float | None], None] = lambda phase, fraction: None,
    disturb: Callable[[float, SimulatedPlant], None] = lambda elapsed, plant: None,
    repetition_of: Callable[[Execution], Repetition] | None = None,
) -> ClosedLoopRecording:
    """Check a motion, then run it on the simulated robot.

    `ramp_time` [s] is from rest to full speed and back. `gains` and `options` are those of the
    controller, by default as on a robot. `plant` is what is simulated where it is
    not what the controller knows: with a payload, with other force constants. `disturb` is called
    before each step with the time since the beginning [s], to push the robot. `repetition_of` gets
    the execution and returns a repetition that is learned from. Raises
    FeasibilityError where the motion leaves a limit, SimulationError where it did not run to its
    end.
    """
    progress('checking the motion', None)
    execution = checked_from_home(model, trajectory, ramp_time, periods)
    simulated = SimulatedPlant(plant or drive_description(model.description), effects, seed)
    gains, feedforward = gains or servo_gains(model), feedforward or no_feedforward()
    controller = TrajectoryController(model, gains, feedforward, options)
    duration = execution.duration + 2.0 * SETTLE_TIME

    def report(elapsed: float, _: Any) -> None:
        progress('simulating', min(elapsed / duration, 1.0))
        disturb(elapsed, simulated)

    drives = all_drives(model)
    moved: Plant = simulated
    if isinstance(drives, DriveDistribution):
        moved = CoordinatePlant(simulated, drives)
    given = (moved, controller, trajectory, periods, ramp_time)
    limit = 2.0 * duration + 10.0
    recording = run_closed_loop(
        *given,
        settle_time=SETTLE_TIME,
        before_step=report,
        time_limit=limit,
        repetition_of=repetition_of,
    )
    outcome = recording.outcome
    if outcome is None or not outcome.succeeded:
        reason = 'it took too long' if outcome is None else outcome.message
        if feedforward.parameters is None:
            reason += '; its servo was alone: a feedforward (nominal, or a model) bears the weight'
        raise SimulationError(f"robot '{model.description.name}' did not follow: {reason}")
    return recording


def plant_of(
    description: Description, payload: Payload | None, constant_error: float, seed: int
) -> Description:
    """Return a robot with a payload and with force constants that are not the described ones.

    Each constant differs by a factor of its own, uniform in 1 +- `constant_error`.
    """
    description = drive_description(description)
    random = np.random.default_rng(seed)
    constants = {
        each.joint: each.force_constant * (1.0 + constant_error * random.uniform(-1.0, 1.0))
        for each in description.actuators
        if not each.free
    }
    if constant_error:
        description = with_force_constants(description, constants)
    return with_payload(description, payload)


def measured_arrays(
    recording: ClosedLoopRecording,
    model: ClosedChainModel,
    period: float | None,
    payload: Payload | None = None,
    *,
    at_rest: bool = False,
) -> dict[str, Any]:
    """Return the arrays of a dataset file: the whole periods [s] at full speed, or one run.

    With `at_rest` all samples: rest, the way in and out, too. Currents [A] with the force constants
    of the description; forces [N, N m] as `efforts` where a joint has no force constant. `truth_*`
    are the noise-free signals at `truth_time`.
    """
    run = np.ones(len(recording.time), dtype=bool) if at_rest else recording.running
    time = recording.time[run]
    drives = all_drives(model)
    constants = np.asarray(drives.force_constants)
    arrays: dict[str, Any] = {
        'time': time,
        'joint_names': np.array(drives.actuated_joints),
        'positions': recording.drive_positions[run],
        'commands': recording.drive_commands[run],
        'effort_delay': float(np.median(recording.current_time[run] - time)),
        'truth_time': recording.current_time[run],
    }
    for truth in ('truth_positions', 'truth_velocities', 'truth_forces'):
        arrays[truth] = getattr(recording, truth)[run]
    if payload is not None:
        arrays['payload'] = payload.to_text()
    if period is not None:
        arrays['period'] = period
    currents, known = recording.currents[run], np.isfinite(constants)
    if (motors := described_side(model.description)) is not None:
        return arrays | _of_motors(arrays, currents, motors, constants)
    if known.all():
        return arrays | {'currents': currents, 'force_constants': constants}
    return arrays | {'efforts': currents * np.where(known, constants, 1.0)}


def _of_motors(
    arrays: Mapping[str, Any], currents: Floats, motors: MotorSide, constants: Floats
) -> dict[str, Any]:
    """Names and signals of the motors in place of those of the joints."""
    told = motors.motor_currents(currents, constants)
    known = np.isfinite(motors.force_constants)
    found: dict[str, Any] = {
        'side': MOTOR,
        'joint_names': np.array(motors.motors),
        'positions': motors.motor_positions(arrays['positions']),
        'commands': motors.motor_efforts(arrays['commands']),
        'truth_positions': motors.motor_positions(arrays['truth_positions']),
        'truth_velocities': motors.motor_rates(arrays['truth_velocities']),
        'truth_forces': motors.motor_efforts(arrays['truth_forces']),
    }
    if known.all():
        return found | {'currents': told, 'force_constants': motors.force_constants}
    return found | {'efforts': told * np.where(known, motors.force_constants, 1.0)}


def dataset_of(arrays: dict[str, Any]) -> Recording:
    """Return what the measured of these arrays are as a dataset, without a file."""
    names = tuple(str(name) for name in arrays['joint_names'])
    measured: dict[str, Any] = {
        name: arrays.get(name) for name in ('efforts', 'currents', 'period')
    }
    measured['side'] = arrays.get('side', JOINT)
    if (constants := arrays.get('force_constants')) is not None:
        measured['force_constants'] = dict(zip(names, constants, strict=True))
    measured['effort_delay'] = arrays['effort_delay']
    return Recording.from_arrays(arrays['time'], names, arrays['positions'], **measured)
