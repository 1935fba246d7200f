"""A program that compares the C++ of a robot, as compiled where it will run, with Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pkm_description.errors import ConvergenceError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.cpp.emitter import filled, literal
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.random_motion import random_motion

TEMPLATE = Path(__file__).parent / 'parity.cpp'
SAMPLES = 10
SAME = 1e-6  # [m, rad]: further apart lie other assemblies of the mechanism
SCALE = 0.5  # of the random motions: inside the stroke, away from its ends
# Of the largest force. Both close the loops to rounding errors, which forces enlarge by up to 1e5.
BOUND = 1e-9


def parity_source(
    model: ClosedChainModel, friction: DriveFriction | None, name: str, parameters: list[str]
) -> str:
    """Write the program: random motions, and the forces that Python has for these `parameters`."""
    drawn = _reached_from_home(model)
    states = model.actuator_states(drawn)
    moving = states.positions, states.velocities, states.accelerations
    motion = model.motion_from_actuators(*moving, drawn)
    still = np.zeros_like(states.positions)
    rest = model.motion_from_actuators(states.positions, still, still, drawn)
    forces, weight = (_forces(model, each, parameters) for each in (motion, rest))
    if friction is not None:
        forces = forces + friction.forces(states.velocities)
    joints = model.joint_states(motion).positions
    rows = []
    for k in range(len(motion)):
        at = ', '.join(_braced(each[k]) for each in (joints, motion.position, motion.rotation))
        others = (*moving, motion.twist, motion.acceleration, forces, weight)
        cells = ',\n     '.join(_braced(each[k]) for each in others)
        rows.append(f'    {{{{{at}}},\n     {cells}}},')
    values = {'name': name, 'bound': literal(BOUND)}
    return filled(TEMPLATE.read_text(), {**values, 'samples': '\n'.join(rows)})


def _reached_from_home(model: ClosedChainModel) -> PlatformMotion:
    """Random motions at configurations that a search from home finds; at home where none is."""
    home = np.asarray(model.home_actuators)[None]
    at_home = model.motion_from_actuators(home, np.ones_like(home), np.ones_like(home))
    try:
        drawn = random_motion(model, SAMPLES, seed=0, scale=SCALE)
    except ConvergenceError:
        return at_home
    states = model.joint_states(drawn).positions
    found, closes = model.configurations_of_actuators(model.actuator_states(drawn).positions)
    same = closes & (np.abs(found.joints - states).max(axis=1) < SAME)
    return drawn[same] if same.any() else at_home


def _forces(model: ClosedChainModel, motion: PlatformMotion, parameters: list[str]) -> Floats:
    """Forces (N, n_a) of these parameters alone: what C++ leaves out has others."""
    chosen = [model.parameter_names.index(each) for each in parameters]
    found: Floats = model.regressor(motion)[:, :, chosen] @ model.nominal_parameters[chosen]
    return found


def _braced(values: Floats) -> str:
    return f'{{{", ".join(literal(each) for each in np.ravel(values))}}}'
