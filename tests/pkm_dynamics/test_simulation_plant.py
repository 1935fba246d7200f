"""The simulated plant against virtual work, energy and the inverse dynamics."""

import dataclasses

import mujoco
import numpy as np
import pytest
from closed_chains import CHAINS, closed_chain

import pkm_description
from pkm_description import Friction, SimulationError
from pkm_description.assembly import Assembly
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant


@pytest.fixture(scope='module')
def palida():
    return pkm_description.load('palida')


def plant_with(description, **kept):
    """Return a plant with all effects off but those named."""
    names = ('friction', 'stribeck', 'cogging', 'saturation', 'force_noise', 'position_noise')
    switches = {name: kept.get(name, False) for name in (*names, 'quantisation')}
    effects = PlantEffects.from_description(description).switched(**switches)
    return SimulatedPlant(description, effects, seed=1)


def holding_forces(description):
    """Forces at home from the slope of the potential energy over closed configurations."""
    assembly = Assembly(description)
    home = assembly.home()
    joints = [assembly.tree.joint_names.index(name) for name in description.actuated_joints]

    def energy(actuated):
        position, rotation = assembly.body_poses(assembly.solve(actuated, home))
        total = 0.0
        for k, name in enumerate(assembly.tree.body_names):
            inertial = description.link(name).inertial
            if inertial is not None:
                com = position[k] + rotation[k] @ inertial.com
                total -= inertial.mass * description.gravity @ com
        return total

    start, step = home.joints[joints], 1e-5
    return np.array(
        [
            (energy(start + step * axis) - energy(start - step * axis)) / (2 * step)
            for axis in np.eye(len(joints))
        ]
    )


def servo(plant, reference, gain, damping, bias, steps):
    """Follow a reference with exact states; returns samples, accelerations, greatest gap."""
    joints = plant.actuated_joints
    data = plant.mujoco_data
    address = [int(plant.mujoco_model.joint(name).dofadr[0]) for name in joints]
    address_q = [int(plant.mujoco_model.joint(name).qposadr[0]) for name in joints]
    samples, accelerations, gap = [], [], 0.0
    for k in range(steps):
        wanted, wanted_rate = reference(plant.time)
        before = data.qvel[address].copy()
        error = wanted - data.qpos[address_q]
        samples.append(plant.step(gain * error + damping * (wanted_rate - before) + bias))
        accelerations.append((data.qvel[address] - before) / plant.step_time)
        if k % 10 == 0:
            gap = max(gap, plant.closure_gap())
    return samples, np.array(accelerations), gap


def stacked(samples, name):
    return np.array([getattr(sample, name) for sample in samples])


def test_loops_stay_closed_at_speed(palida):
    plant = plant_with(palida, friction=True)
    start = plant.sample.truth_positions

    def reference(t):
        phase = np.arange(6.0)
        wave, rate = 1.0 - np.cos(6.0 * t + phase), 6.0 * np.sin(6.0 * t + phase)
        return start + 0.05 * (wave - 1.0 + np.cos(phase)), 0.05 * rate

    samples, _, gap = servo(plant, reference, 2e4, 300.0, -27.0, 400)
    assert np.max(np.abs(stacked(samples, 'truth_velocities'))) > 0.25
    assert 0.0 < gap < 1e-6


def test_static_forces_carry_the_weight(palida):
    plant = plant_with(palida)
    force = holding_forces(palida)
    assert np.sum(np.abs(force)) > 100.0
    for _ in range(20):
        sample = plant.step(force)
    assert np.max(np.abs(sample.truth_velocities)) < 1e-7
    falling = plant_with(palida)
    for _ in range(20):
        sample = falling.step(np.zeros(6))
    assert np.min(np.abs(sample.truth_velocities)) > 0.02


def test_free_fall_conserves_energy(palida):
    plant = plant_with(palida)
    model, data = plant.mujoco_model, plant.mujoco_data

    def energies():
        mujoco.mj_forward(model, data)
        momentum = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, momentum, data.qvel)
        potential = -model.body_mass @ data.xipos @ palida.gravity
        return 0.5 * data.qvel @ momentum, potential

    _, before = energies()
    for _ in range(100):
        plant.step(np.zeros(6))
    kinetic, after = energies()
    assert kinetic > 5.0
    assert kinetic + after - before == pytest.approx(0.0, abs=2e-3 * kinetic)


@pytest.mark.parametrize('friction', [False, True])
def test_palida_forces_match_the_inverse_dynamics(palida, friction):
    model = ClosedChainModel(palida)
    plant = plant_with(palida, friction=friction)
    start = plant.sample.truth_positions
    slope = np.array([1.0, 1.4, 0.8, 1.2, 0.9, 1.1])

    def reference(t):  # monotonic, so that Coulomb friction does not change its sign
        return start + 0.05 * slope * (t - np.sin(8.0 * t) / 9.0), 0.05 * slope * (
            1.0 - 8.0 / 9.0 * np.cos(8.0 * t)
        )

    samples, acceleration, _ = servo(plant, reference, 2e4, 300.0, -27.0, 300)
    parameters = model.nominal_parameters.copy()
    if not friction:
        parameters[model.parameter_mask('friction')] = 0.0
    motion = model.motion_from_actuators(
        stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities'), acceleration
    )
    error = model.inverse_dynamics(motion, parameters) - stacked(samples, 'truth_forces')
    settled = error[100:]
    assert np.max(np.abs(settled)) < 0.05


def test_drives_need_what_their_terms_say():
    """Offset, spring and ripple of the description act on the plant as in the model."""
    plain = closed_chain('revolute')
    ripple = {'period': 0.05, 'harmonics': 2, 'cosine': [2.0, 0.0], 'sine': [1.0, -0.5]}
    terms = {'offset': 3.0, 'stiffness': 40.0, 'rest': 0.1, 'ripple': ripple}
    description = pkm_description.with_drive_terms(plain, {'*': terms})
    model = ClosedChainModel(description)
    plant = plant_with(description, drives=True)
    start = plant.sample.truth_positions

    def reference(t):
        return start + 0.03 * (1.0 - np.cos(10.0 * t)), 0.3 * np.sin(10.0 * t)

    samples, acceleration, _ = servo(plant, reference, 2e3, 100.0, holding_forces(plain), 150)
    motion = model.motion_from_actuators(
        stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities'), acceleration
    )
    without = np.where(model.parameter_mask('drive'), 0.0, model.nominal_parameters)
    without[model.parameter_mask('friction')] = 0.0
    added = stacked(samples, 'truth_forces') - model.inverse_dynamics(motion, without)
    expected = model.drive_forces.forces(stacked(samples, 'truth_positions'))
    assert np.ptp(expected[30:]) > 3.0
    assert np.max(np.abs((added - expected)[30:])) < 0.02


def test_bristles_of_the_plant_are_those_of_the_inverse_dynamics():
    """Along a motion that turns: integrated with the robot, and found from its samples."""
    plain = closed_chain('revolute')
    joints = tuple(
        dataclasses.replace(j, friction=Friction(4.0, 2.0, 4.0))
        if j.name in plain.actuated_joints
        else j
        for j in plain.joints
    )
    plain = dataclasses.replace(plain, joints=joints)
    description = pkm_description.with_drive_terms(plain, {'*': {'presliding': 2e-3}})
    model = ClosedChainModel(description)
    plant = plant_with(description, friction=True, drives=True)
    start = plant.sample.truth_positions

    def reference(t):
        return start + 0.03 * (1.0 - np.cos(10.0 * t)), 0.3 * np.sin(10.0 * t)

    samples, acceleration, _ = servo(plant, reference, 2e3, 100.0, holding_forces(plain), 700)
    motion = model.motion_from_actuators(
        stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities'), acceleration
    )
    time = plant.step_time * np.arange(len(samples))
    sliding = stacked(samples, 'truth_forces') - model.inverse_dynamics(motion)
    yielding = stacked(samples, 'truth_forces') - model.inverse_dynamics(
        model.with_drive_states(motion, time)
    )
    # a window of a millisecond moves by 3e-4 m: means of what bends within it
    assert np.max(np.abs(yielding[30:])) < 0.1
    assert np.max(np.abs(sliding[30:])) > 3.0


def test_drives_of_the_plant_warm_up_as_in_the_inverse_dynamics():
    plain = closed_chain('revolute')
    joints = tuple(
        dataclasses.replace(j, friction=Friction(0.0, 30.0, 0.0, 'viscous'))
        if j.name in plain.actuated_joints
        else j
        for j in plain.joints
    )
    plain = dataclasses.replace(plain, joints=joints)
    warm = {'times': [0.1, 0.3], 'values': [-3.0, -2.0], 'start': [0.5, 0.0]}
    description = pkm_description.with_drive_terms(plain, {'*': {'warm_up': warm}})
    model = ClosedChainModel(description)
    plant = plant_with(description, friction=True, drives=True)
    start = plant.sample.truth_positions

    def reference(t):
        return start + 0.03 * (1.0 - np.cos(10.0 * t)), 0.3 * np.sin(10.0 * t)

    samples, acceleration, _ = servo(plant, reference, 2e3, 100.0, holding_forces(plain), 500)
    motion = model.motion_from_actuators(
        stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities'), acceleration
    )
    time = plant.step_time * np.arange(len(samples))
    cold = stacked(samples, 'truth_forces') - model.inverse_dynamics(motion)
    warmed = stacked(samples, 'truth_forces') - model.inverse_dynamics(
        model.with_drive_states(motion, time)
    )
    assert np.max(np.abs(warmed[30:])) < 0.05
    assert np.max(np.abs(cold[30:])) > 1.0
    again = plant.reset()
    assert np.array_equal(again.truth_positions, start)
    assert plant._heat.tolist() == [0.5, 0.0] * len(plain.actuated_joints)


def test_bristles_that_are_too_stiff_for_the_substep_are_refused():
    plain = closed_chain('revolute')
    joints = tuple(dataclasses.replace(j, friction=Friction(4.0, 2.0, 4.0)) for j in plain.joints)
    plain = dataclasses.replace(plain, joints=joints)
    stiff = pkm_description.with_drive_terms(plain, {'*': {'presliding': 1e-9}})
    with pytest.raises(SimulationError, match='needs a substep below'):
        plant_with(stiff, friction=True, drives=True)


@pytest.mark.parametrize('massless', [(), ('platform', 'link5')])
@pytest.mark.parametrize('friction', [None, Friction(coulomb=1.0, viscous=5.0)])
@pytest.mark.parametrize('kind', CHAINS)
def test_every_closure_matches_the_inverse_dynamics(kind, friction, massless):
    if friction is not None and (kind == 'fixed' or massless):
        pytest.skip('friction needs a closure that moves, and explicit steps need mass')
    description = closed_chain(kind)
    (constraint,) = description.constraints
    constraint = dataclasses.replace(constraint, friction=friction)
    description = dataclasses.replace(description, constraints=(constraint,))
    links = tuple(
        dataclasses.replace(link, inertial=None if link.name in massless else link.inertial)
        for link in description.links
    )
    description = dataclasses.replace(description, links=links)
    model = ClosedChainModel(description)
    plant = plant_with(description, friction=True)
    start = plant.sample.truth_positions

    def reference(t):
        return start + 0.03 * (1.0 - np.cos(10.0 * t)), 0.3 * np.sin(10.0 * t)

    bias = holding_forces(description)
    samples, acceleration, gap = servo(plant, reference, 2e3, 100.0, bias, 150)
    motion = model.motion_from_actuators(
        stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities'), acceleration
    )
    forces = stacked(samples, 'truth_forces')
    assert np.max(np.ptp(forces, axis=0)) > 0.2
    error = model.inverse_dynamics(motion) - forces
    assert np.max(np.abs(error[30:])) < 0.02
    assert gap < 1e-6


def test_rotor_inertia_acts_on_its_joint():
    description = closed_chain('revolute')
    actuators = tuple(dataclasses.replace(a, rotor_inertia=3.0) for a in description.actuators)
    heavy = plant_with(dataclasses.replace(description, actuators=actuators))
    light = plant_with(description)
    force = holding_forces(description)
    rates = []
    for extra in (0.0, 1.0):
        pair = []
        for plant in (light, heavy):
            plant.reset()
            first, second = (plant.step(force + extra).truth_velocities[0] for _ in range(2))
            pair.append((second - first) / plant.step_time)
        rates.append(pair)
    # 1 / a_heavy - 1 / a_light is the added inertia per unit force.
    light_rate, heavy_rate = np.subtract(rates[1], rates[0])
    assert 1.0 / heavy_rate - 1.0 / light_rate == pytest.approx(3.0, rel=1e-3)


def test_without_effects_the_sensors_are_exact(palida):
    plant = plant_with(palida)
    force = np.linspace(-300.0, 300.0, 6)
    constants = np.array([a.force_constant for a in palida.actuators])
    sample = plant.step(force)
    np.testing.assert_array_equal(sample.truth_forces, force)
    np.testing.assert_allclose(sample.currents * constants, force, rtol=1e-15)
    strut = [int(plant.mujoco_model.joint(name).qposadr[0]) for name in plant.actuated_joints]
    np.testing.assert_array_equal(sample.positions, plant.mujoco_data.qpos[strut])
    assert sample.time == 1e-3 and sample.current_time == pytest.approx(0.45e-3, abs=1e-15)


def test_saturation_is_the_effort_limit(palida):
    sample = plant_with(palida, saturation=True).step([1e3, -1e3, 10.0, 230.0, -231.0, 0.0])
    np.testing.assert_array_equal(sample.truth_forces, [230.0, -230.0, 10.0, 230.0, -230.0, 0.0])


def test_truth_is_the_mean_over_the_window(palida):
    """Position and velocity of the window belong to its centre, to second order."""
    plant = plant_with(palida)
    samples = [plant.step(np.zeros(6)) for _ in range(40)]
    time = stacked(samples, 'current_time')
    position, velocity = stacked(samples, 'truth_positions'), stacked(samples, 'truth_velocities')
    slope = (position[2:] - position[:-2]) / (time[2:] - time[:-2])[:, None]
    np.testing.assert_allclose(velocity[1:-1], slope, atol=2e-6)


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        (np.zeros(5), 'takes 6 actuator forces'),
        ([0.0, 0.0, np.nan, 0.0, 0.0, 0.0], "'leg3_strut' must be finite, got nan"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, np.inf], "'leg6_strut' must be finite"),
    ],
)
def test_unfit_commands_do_not_move_the_robot(palida, command, message):
    plant = plant_with(palida)
    with pytest.raises(SimulationError, match=message):
        plant.step(command)
    assert plant.time == 0.0 and not np.any(plant.mujoco_data.qvel)


def test_brakes_hold_and_time_goes_on(palida):
    plant = plant_with(palida)
    for _ in range(20):
        plant.step(np.zeros(6))
    before = plant.mujoco_data.qpos.copy()
    sample = plant.hold()
    np.testing.assert_array_equal(plant.mujoco_data.qpos, before)
    assert sample.time == pytest.approx(0.021) and not np.any(sample.truth_velocities)


def test_same_seed_same_run(palida):
    def run(seed):
        plant = SimulatedPlant(palida, seed=seed)
        samples = [plant.step(np.full(6, -20.0)) for _ in range(3)]
        return np.hstack([stacked(samples, 'positions'), stacked(samples, 'currents')])

    np.testing.assert_array_equal(run(3), run(3))
    assert not np.array_equal(run(3), run(4))
    plant = SimulatedPlant(palida, seed=3)
    first = plant.step(np.zeros(6)).currents
    plant.reset()
    np.testing.assert_array_equal(plant.step(np.zeros(6)).currents, first)


def test_impossible_steps_are_refused(palida):
    with pytest.raises(SimulationError, match='whole number of substeps'):
        SimulatedPlant(palida, step=1e-3, substep=3e-4)
    with pytest.raises(SimulationError, match="friction of joint 'leg3_strut'"):
        SimulatedPlant(palida, step=1e-3, substep=1e-3)
