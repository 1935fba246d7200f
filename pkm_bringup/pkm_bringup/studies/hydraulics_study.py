"""How exact a hydraulic robot follows a sine by its actuators' model and by its mechanism's [H].

Every law drives the same simulated cylinders. Errors are those of the noise-free path at full
speed.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pkm_bringup.offline import effects_of
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, seed
from pkm_bringup.studies.runs.plants import model_of, rms
from pkm_control.hydraulic_axes import AxisControl, AxisReference, ForceControl, axis_gain, led
from pkm_description.actuation.hydraulic_drives import read_hydraulics
from pkm_description.errors import SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, servo_gains
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant
from pkm_dynamics.trajectories import Execution, FourierTrajectory, Phase
from pkm_identification.option import POSITIVE, Option

STEP = 1e-3  # [s] from one signal to the next
PERIODS, RAMP_TIME = 10, 0.5  # at full speed; [s] from rest to it
DIFFERENCE = 1e-4  # [s] for jerks and rates of forces, which have no formula here
STATES = ('positions', 'velocities', 'accelerations')
DIRECTIONS = {'x': 0, 'z': 2}
# What each law feeds forward
AXES = {
    'feedback': {'velocity': False, 'actuator': False},
    'mechanism': {'velocity': False, 'actuator': False, 'mechanism': True},
    'velocity': {'actuator': False},
    'velocity, mechanism': {'actuator': False, 'mechanism': True},
    'velocity, actuator': {},
    'velocity, actuator, mechanism': {'mechanism': True},
}
# Forces of the mechanism's model and of a servo, made by loops of pressure, which feed the speed of
# the piston forward: as measured, or as desired and ahead of the spool
FORCES = ('forces, measured speed', 'forces, desired speed')
# [Hz] of the loops and of the servo around them; the best pair for each direction is taken
PRESSURE_BANDWIDTHS, SERVO_BANDWIDTHS = (10.0, 30.0, 60.0, 100.0), (1.0, 3.0, 6.0)
LOST = 3.0  # amplitudes off the path


@lru_cache(maxsize=4)
def described(robot_name: str, valve_frequency: float | None) -> ClosedChainModel:
    """Return the robot, with another natural frequency [Hz] of its valves where one is given.

    Raises SimulationError for a robot without cylinders, or whose platform does not move freely.
    """
    model = model_of(robot_name)
    if read_hydraulics(model.description) is None or not model.platform_determines_joints:
        raise SimulationError(
            f"robot '{robot_name}' is no hydraulic robot whose platform has six degrees of freedom"
        )
    if valve_frequency is None:
        return model
    section = {**model.description.sidecar['hydraulics']}
    section['valve_natural_frequency'] = valve_frequency
    sidecar = {**model.description.sidecar, 'hydraulics': section}
    return ClosedChainModel(replace(model.description, sidecar=sidecar))


def sine(model: ClosedChainModel, direction: str, frequency: float, amplitude: float) -> Execution:
    """Return a sine [Hz, m] of the platform about home from rest to rest."""
    home = np.concatenate([model.home_position, np.zeros(3)])
    wave = np.zeros((6, 1))
    wave[DIRECTIONS[direction]] = amplitude
    trajectory = FourierTrajectory(1.0 / frequency, home, wave, np.zeros((6, 1)))
    execution = Execution(trajectory, PERIODS, RAMP_TIME)
    check_feasibility(model, execution).raise_if_infeasible()
    return execution


def references(model: ClosedChainModel, execution: Execution, times: Floats) -> list[AxisReference]:
    """What the axes shall do at times [s]."""
    near = (times[:, None] + DIFFERENCE * np.array([-1.0, 0.0, 1.0])).ravel()
    motion = execution.motion(near, model)
    states = model.actuator_states(motion)
    triples = [
        each.reshape(len(times), 3, -1)
        for each in (*(getattr(states, k) for k in STATES), model.inverse_dynamics(motion))
    ]
    positions, velocities, accelerations, forces = (each[:, 1] for each in triples)
    jerks, rates = ((each[:, 2] - each[:, 0]) / (2.0 * DIFFERENCE) for each in triples[2:])
    rows = zip(positions, velocities, accelerations, jerks, forces, rates, strict=True)
    return [AxisReference(*row) for row in rows]


def one_run(
    robot_name: str,
    frequency: float,
    amplitude: float,
    valve_frequency: float | None,
    seed: int,
    direction: str,
    law: str,
    pressure: float = 0.0,
    servo: float = 0.0,
) -> dict[str, Any]:
    """Return the errors [m] of axes and platform at full speed, and the signals that were needed.

    A law that loses its path has no errors.
    """
    model = described(robot_name, valve_frequency)
    execution = sine(model, direction, frequency, amplitude)
    times = np.arange(0.0, execution.duration, STEP)
    wanted = references(model, execution, times)
    running = np.array([execution.state(t).phase is Phase.RUN for t in times.tolist()])
    plant = HydraulicPlant(model.description, effects_of(model.description, 'all'), seed, STEP)
    if law in AXES:
        signals_of = _axes(model, plant, law)
    else:
        signals_of = _forces(model, plant, law, pressure, servo)
    positions, signals = [], []
    force = float(np.abs([each.forces for each in wanted]).max())
    lost = {'rms': None, 'largest': None, 'platform': None, 'signal': None, 'force': force}
    for reference in wanted:
        positions.append(plant.positions)
        if not np.all(np.abs(reference.positions - positions[-1]) < LOST * amplitude):
            return lost
        signals.append(signals_of(reference))
        try:
            plant.step(signals[-1])
        except SimulationError:
            return lost
    error = np.array([each.positions for each in wanted]) - np.array(positions)
    true = model.forward_kinematics(np.array(positions)[running])[0]
    path = execution.motion(times[running], model).position
    return {
        'rms': rms(error[running]),
        'largest': float(np.abs(error[running]).max()),
        'platform': float(np.sqrt(np.mean(np.sum((true - path) ** 2, axis=1)))),
        'signal': float(np.abs(np.array(signals)[running]).max()),
        'force': force,
    }


def _axes(
    model: ClosedChainModel, plant: HydraulicPlant, law: str
) -> Callable[[AxisReference], Floats]:
    gain = np.full(model.n_a, axis_gain(model, plant.drives, STEP))
    control = AxisControl(plant.drives, gain, interval=STEP, **AXES[law])

    def signals(wanted: AxisReference) -> Floats:
        return control.signals(wanted, plant.sample.positions, plant.measured_load_pressures)

    return signals


def _forces(
    model: ClosedChainModel, plant: HydraulicPlant, law: str, pressure: float, servo: float
) -> Callable[[AxisReference], Floats]:
    gains = servo_gains(model, servo)
    control = ForceControl(plant.drives, np.full(model.n_a, 2.0 * np.pi * pressure))
    kept = np.exp(-2.0 * np.pi * VELOCITY_CUTOFF * STEP)
    before = plant.sample.positions
    speed = np.zeros(model.n_a)

    def signals(wanted: AxisReference) -> Floats:
        nonlocal before, speed
        here = plant.sample.positions
        speed = kept * speed + (1.0 - kept) * (here - before) / STEP
        before = here
        forces = wanted.forces + gains.proportional * (wanted.positions - here)
        forces = forces + gains.derivative * (wanted.velocities - speed)
        fed = speed if law == FORCES[0] else led(plant.drives, wanted, STEP)
        return control.signals(forces, fed, plant.measured_load_pressures)

    return signals


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run all laws in all directions."""
    given = (options.robot, options.frequency, options.amplitude, options.valve_frequency)
    one = partial(one_run, *given, options.seed)
    model = described(options.robot, options.valve_frequency)
    pairs = [(p, s) for p in PRESSURE_BANDWIDTHS for s in SERVO_BANDWIDTHS]
    laws: list[dict[str, Any]] = [{'law': law} for law in AXES]
    laws += [{'law': law, 'pressure': p, 'servo': s} for law in FORCES for p, s in pairs]
    cases = [{'direction': direction, **law} for direction in DIRECTIONS for law in laws]
    every = [{**case, **found} for case, found in zip(cases, runner.map(one, cases), strict=True)]
    rows = []
    for direction in DIRECTIONS:
        here = [each for each in every if each['direction'] == direction]
        by_law = [[each for each in here if each['law'] == law] for law in (*AXES, *FORCES)]
        rows += [min(each, key=_sorted_by) for each in by_law]
    drives = read_hydraulics(model.description)
    assert drives is not None
    return {
        'robot': options.robot,
        'gain': axis_gain(model, drives, STEP),
        'valve_frequency': float(drives.valve_natural_frequency.max()),
        'force': max(row['force'] for row in rows),
        'laws': rows,
    }


def _sorted_by(row: dict[str, Any]) -> float:
    return np.inf if row['rms'] is None else float(row['rms'])


STUDY = Study(
    'hydraulics',
    'errors of a hydraulic robot that follows a sine, by what is fed forward [H]',
    'Loops of position around each axis, whose speed, actuator (spool, pressure of the load, '
    'leakage) and mechanism (forces of its model, oil that they compress) are fed forward, or the '
    "mechanism's forces made by loops of pressure, with the best of some bandwidths.",
    (
        robot('msi'),
        Option('frequency', POSITIVE, 'of the sine', 5.0, 'Hz'),
        Option('amplitude', POSITIVE, 'of the sine', 0.025, 'm'),
        Option(
            'valve_frequency', POSITIVE, 'natural frequency of the spools', None, 'Hz', 'described'
        ),
        *seed('of the noise'),
    ),
    run,
)
