"""Loads of the simulated robot's joints, and friction that grows with them, against the model."""

from __future__ import annotations

import numpy as np
import pytest
from closed_chains import closed_chain
from every_model import model_of
from slider_crank import slider_crank

from pkm_description import with_load_friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.actuator_inertia import effective_inertia
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant

# joints whose friction grows; of the single chains that close on the base all that are determined
ROBOTS = {
    'spherical': (lambda: closed_chain('spherical'), 0.003),
    'universal': (lambda: closed_chain('universal'), 0.003),
    'revolute': (lambda: closed_chain('revolute'), 0.003),
    'prismatic': (lambda: closed_chain('prismatic'), 0.003),
    '3-RPS': (lambda: model_of('rps_upv').description, 0.1),
    'slider-crank': (lambda: slider_crank((0.02, 0.01, 0.015)), 0.0),
    'serial': (lambda: model_of('skew_arm').description, 0.004),
}
SUBSTEP = 4e-5  # [s] what the friction of the serial arm needs
STEPS, SETTLED = 130, 80  # [ms] and after how many the servo's transient is gone


def followed(model: ClosedChainModel, plant: SimulatedPlant):
    """Follow a sine with exact states; the motion of each millisecond's middle and its forces."""
    data, joints = plant.mujoco_data, plant.actuated_joints
    rates, places = (
        [int(getattr(plant.mujoco_model.joint(name), field)[0]) for name in joints]
        for field in ('dofadr', 'qposadr')
    )
    start = data.qpos[places].copy()
    inertia = effective_inertia(model)
    stiff, damp = 1e4 * inertia, 2e2 * inertia  # critical at 100 rad/s
    bias = model.inverse_dynamics(model.motion_from_actuators(*_still(start)))[0]
    samples, accelerations = [], []
    for _ in range(STEPS):
        angle = 12.0 * plant.time
        wanted, rate = 0.03 * (1.0 - np.cos(angle)), 0.36 * np.sin(angle)
        before = data.qvel[rates].copy()
        command = stiff * (start + wanted - data.qpos[places]) + damp * (rate - before) + bias
        samples.append(plant.step(command))
        accelerations.append((data.qvel[rates] - before) / plant.step_time)
    states = (
        np.array([getattr(each, f'truth_{name}') for each in samples[SETTLED:]])
        for name in ('positions', 'velocities', 'forces')
    )
    q, qd, forces = states
    return model.motion_from_actuators(q, qd, np.array(accelerations[SETTLED:])), forces


def _still(q):
    return q[None], np.zeros((1, len(q))), np.zeros((1, len(q)))


@pytest.mark.parametrize('name', list(ROBOTS))
def test_the_plant_rubs_as_the_model_says(name):
    """Forces that follow a motion are those of inverse dynamics; without the term they are not."""
    make, factor = ROBOTS[name]
    description = make()
    if factor:
        joints = [item.name for item in description.joints if item.is_scalar]
        cuts = [item.name for item in description.constraints]
        description = with_load_friction(description, dict.fromkeys([*joints, *cuts], factor))
    model = ClosedChainModel(description)
    on = PlantEffects.from_description(description)
    switches = dict.fromkeys(('stribeck', 'cogging', 'saturation', 'quantisation'), False)
    on = on.switched(**switches, force_noise=False, position_noise=False)
    motion, forces = followed(model, SimulatedPlant(description, on, substep=SUBSTEP))
    error = np.abs(model.inverse_dynamics(motion) - forces).max()
    bare = model.nominal_parameters.copy()
    bare[model.load_friction.columns_of] = 0.0
    without = np.abs(model.inverse_dynamics(motion, bare) - forces).max()
    # a substep's lag of the loads, and means over a millisecond of forces that change with them
    assert error < 0.04 * without
