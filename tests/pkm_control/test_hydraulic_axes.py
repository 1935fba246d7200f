"""Axes on cylinders: gains, signals, and what feedforward is worth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from every_model import model_of

from pkm_control.hydraulic_axes import (
    AxisControl,
    AxisReference,
    ForceControl,
    HydraulicControlError,
    axis_gain,
    led,
    signals_of_flows,
)
from pkm_description.actuation.hydraulic_drives import read_hydraulics
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.simulation.hydraulic_cylinders import HydraulicCylinders
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant

STILL = np.zeros(6)


@pytest.fixture(scope='module')
def msi():
    model = model_of('msi')
    return model, read_hydraulics(model.description)


def without_friction(model):
    joints = tuple(dataclasses.replace(each, friction=None) for each in model.description.joints)
    return type(model)(dataclasses.replace(model.description, joints=joints))


@pytest.mark.parametrize(('share', 'grows'), [(0.8, False), (1.3, True)])
def test_the_gain_is_the_largest_that_does_not_swing(msi, share, grows):
    """Without Coulomb friction, which would stop a small swing."""
    model, drives = msi
    limit = axis_gain(model, drives, margin=1.0)
    assert axis_gain(model, drives) == pytest.approx(0.5 * limit, rel=2e-3)
    bare = without_friction(model)
    limit = axis_gain(bare, drives, margin=1.0)
    control = AxisControl(drives, np.full(6, share * limit), velocity=False, actuator=False)
    effects = PlantEffects.from_description(bare.description).ideal()
    plant = HydraulicPlant(bare.description, effects)
    positions = model.home_actuators + 2e-5 * np.eye(6)[0]
    wanted = AxisReference(positions, STILL, STILL, STILL, STILL, STILL)
    moved = []
    for _ in range(1500):
        plant.step(control.signals(wanted, plant.sample.positions, plant.measured_load_pressures))
        moved.append(plant.sample.truth_velocities)
    early, late = (np.abs(np.array(moved[k : k + 300])).max() for k in (300, 1200))
    assert (late > 1.5 * early) == grows and (late < 0.8 * early) == (not grows)


def test_each_term_of_the_feedforward(msi):
    """By hand, of one axis: 10 mm/s, 2 m/s^2, 300 m/s^3; 3000 N that grow by 4e5 N/s."""
    _, drives = msi
    ones = np.ones(6)
    wanted = AxisReference(
        0.9 * ones, 0.01 * ones, 2.0 * ones, 300.0 * ones, 3e3 * ones, 4e5 * ones
    )
    at, pressure = 0.899 * ones, 2e6 * ones
    w, z, area, flow, leak = 120.0 * np.pi, 0.8, 7.1429e-4, 7.1429e-4, 1e-12

    def signal(**switches):
        found = AxisControl(drives, 20.0 * ones, **switches).signals(wanted, at, pressure)
        assert np.ptp(found) == 0.0
        return found[0]

    back = 20.0 * 0.001
    assert signal(velocity=False, actuator=False) == pytest.approx(back * area / flow)
    assert signal(actuator=False) == pytest.approx((back + 0.01) * area / flow)
    late, hold = 2.0 * z / w, 5e-4
    second = 1.0 / w**2 + late * hold + 0.5 * hold**2
    speed = back + 0.01 + (late + hold) * 2.0 + second * 300.0
    measured = (area * speed + leak * 2e6) / (flow * np.sqrt(1.0 - 2.0 / 21.0))
    assert signal() == pytest.approx(measured)
    known = 3e3 / area
    speed += 4e5 / (4 * 1.2e9 * area**2 / 2.8786e-4)
    ahead = (area * speed + leak * known) / (flow * np.sqrt(1.0 - known / 2.1e7))
    assert signal(mechanism=True) == pytest.approx(ahead)


def test_a_spool_that_is_led_is_in_time(msi):
    """A sine of 5 Hz through spool and hold: 7 % and 12 degrees off without the lead."""
    _, drives = msi
    cylinders, q = HydraulicCylinders(drives), drives.middle
    w, off, late = 10.0 * np.pi, [], []
    for kept, ahead in ((off, True), (late, False)):
        cylinders.reset(STILL)
        for k in range(600):
            t = 1e-3 * k
            sine, cosine = 0.3 * np.sin(w * t) * np.ones(6), 0.3 * np.cos(w * t) * np.ones(6)
            wanted = AxisReference(STILL, sine, w * cosine, -(w**2) * sine, STILL, STILL)
            kept.append(cylinders.spools[0] - sine[0])
            cylinders.advance(led(drives, wanted, 1e-3) if ahead else sine, q, STILL, 1e-3)
    assert np.abs(off[200:]).max() < 2e-3
    assert np.abs(late[200:]).max() > 0.03


def test_signals_let_the_flow_through(msi):
    _, drives = msi
    flow = 0.3 * drives.valve_no_load_flow
    np.testing.assert_allclose(signals_of_flows(drives, flow, STILL), 0.3)
    half = 0.5 * drives.supply_pressure
    np.testing.assert_allclose(signals_of_flows(drives, flow, half), 0.3 / np.sqrt(0.5))
    np.testing.assert_allclose(signals_of_flows(drives, -flow, half), -0.3 / np.sqrt(1.5))
    over = signals_of_flows(drives, flow, 2.0 * drives.supply_pressure)
    assert np.all(np.isfinite(over)) and np.all(over <= 1.0)


def test_a_loop_of_pressure_makes_forces(msi):
    """On rods that stand still, and on rods that move: the flow that they take is fed forward."""
    _, drives = msi
    control = ForceControl(drives, np.full(6, 2.0 * np.pi * 10.0))
    for speed in (0.0, 0.2):
        cylinders = HydraulicCylinders(drives)
        q, v = drives.middle - 0.1, np.full(6, speed)
        for _ in range(400):
            signals = control.signals(np.full(6, 3000.0), v, cylinders.load_pressures)
            cylinders.advance(signals, q, v, 1e-3)
            q = q + 1e-3 * v
        np.testing.assert_allclose(cylinders.forces, 3000.0, rtol=0.01)


def test_a_robot_that_swings_on_its_oil_is_refused(msi):
    model, drives = msi
    soft = dataclasses.replace(drives, leakage=np.zeros(6))
    with pytest.raises(HydraulicControlError, match="robot 'msi' swings on its oil"):
        axis_gain(without_friction(model), soft)
