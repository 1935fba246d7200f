"""Cylinders and valves against formulas, and against SciPy's solver of the same equations."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pkm_description
from pkm_description.actuation.hydraulic_drives import read_hydraulics
from pkm_description.errors import SimulationError
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.simulation.hydraulic_cylinders import HydraulicCylinders
from pkm_dynamics.simulation.hydraulic_plant import HydraulicPlant

STEP = 1e-4  # [s]
MASS = 30.0  # [kg] on each rod


@pytest.fixture(scope='module')
def drives():
    return read_hydraulics(pkm_description.load('msi'))


def tight(drives):
    return dataclasses.replace(drives, leakage=np.zeros_like(drives.leakage))


def moved(cylinders, signal, load, duration, step=STEP):
    """Velocities (N,) of a mass on the first rod, under a load that pushes against it."""
    drives = cylinders.drives
    cylinders.reset(np.full(len(drives.middle), load))
    q, v, found = drives.middle - 0.05, np.zeros_like(drives.middle), []
    for _ in range(round(duration / step)):
        cylinders.advance(np.full_like(q, signal), q, v, step)
        v = v + step * (cylinders.forces - load) / MASS
        q = q + step * v
        found.append(v[0])
    return np.array(found)


@pytest.mark.parametrize('signal', [0.5, -0.5])
@pytest.mark.parametrize('load', [0.0, 5000.0, -8000.0])
def test_speed_falls_with_the_root_of_the_pressure_that_is_left(drives, signal, load):
    drives = tight(drives)
    last = moved(HydraulicCylinders(drives), signal, load, 0.15)[-300:].mean()
    left = 1.0 - np.sign(signal) * load / drives.largest_force[0]
    assert last == pytest.approx(signal * drives.largest_speed[0] * np.sqrt(left), rel=3e-3)


def test_leakage_takes_its_share(drives):
    leaking = dataclasses.replace(drives, leakage=np.full_like(drives.leakage, 5e-12))
    speed = moved(HydraulicCylinders(leaking), 0.5, 5000.0, 0.15)[-1]
    lost = 5e-12 * 5000.0 / drives.piston_area[0] ** 2
    tight_speed = moved(HydraulicCylinders(tight(drives)), 0.5, 5000.0, 0.15)[-1]
    assert tight_speed - speed == pytest.approx(lost, rel=0.02)


def test_a_blocked_piston_pushes_with_the_supply(drives):
    cylinders = HydraulicCylinders(tight(drives))
    still = np.zeros_like(drives.middle)
    for _ in range(3000):
        cylinders.advance(np.ones_like(still), drives.middle, still, STEP)
    np.testing.assert_allclose(cylinders.forces, drives.largest_force, rtol=3e-3)
    assert cylinders.spools.tolist() == pytest.approx([1.0] * 6)


def test_closed_valves_leave_the_spring_of_the_oil(drives):
    cylinders = HydraulicCylinders(tight(drives))
    q, v = drives.middle.copy(), np.full_like(drives.middle, 0.01)
    found = []
    for _ in range(5000):
        cylinders.advance(np.zeros_like(q), q, v, 1e-5)
        v = v + 1e-5 * cylinders.forces / MASS
        q = q + 1e-5 * v
        found.append(v[0])
    speeds = np.array(found)
    falling = np.flatnonzero((speeds[1:] < 0.0) & (speeds[:-1] >= 0.0))
    frequency = 1e5 / np.diff(falling).mean()
    expected = np.sqrt(drives.stiffness[0] / MASS) / (2.0 * np.pi)
    assert frequency == pytest.approx(expected, rel=2e-3)
    # nothing takes its energy: the method adds and takes none
    assert np.abs(speeds[-1000:]).max() == pytest.approx(0.01, rel=0.01)


def test_the_spool_is_of_second_order(drives):
    cylinders, still = HydraulicCylinders(drives), np.zeros_like(drives.middle)
    found = []
    for _ in range(300):
        cylinders.advance(np.full_like(still, 0.3), drives.middle, still, STEP)
        found.append(cylinders.spools[0])
    w, z = 2.0 * np.pi * drives.valve_natural_frequency[0], drives.valve_damping[0]
    t = STEP * np.arange(1, 301)
    wd = w * np.sqrt(1.0 - z**2)
    swing = np.cos(wd * t) + z * w / wd * np.sin(wd * t)
    np.testing.assert_allclose(found, 0.3 * (1.0 - np.exp(-z * w * t) * swing), atol=2e-3)


def test_against_a_solver_of_high_order(drives):
    """A rod that moves as told, a valve that goes to and fro: pressures over 50 ms."""
    leak, area = drives.leakage[0], drives.piston_area[0]
    supply, half = drives.supply_pressure[0], 0.5 * drives.chamber_volume[0]
    k = drives.valve_no_load_flow[0] / np.sqrt(0.5 * supply)
    w, z = 2.0 * np.pi * drives.valve_natural_frequency[0], drives.valve_damping[0]

    def signal(t):
        return 0.4 * np.sin(2.0 * np.pi * 20.0 * t)

    def speed(t):
        return 0.3 * np.sin(2.0 * np.pi * 20.0 * t - 0.5)

    def away(t):
        return 0.3 / (40.0 * np.pi) * (np.cos(0.5) - np.cos(2.0 * np.pi * 20.0 * t - 0.5))

    def root(p):
        return np.sign(p) * np.sqrt(np.abs(p))

    def rates(t, y):
        p1, p2, x, rate = y
        if x >= 0.0:
            first, second = k * x * root(supply - p1), -k * x * root(p2)
        else:
            first, second = k * x * root(p1), -k * x * root(supply - p2)
        lost = leak * (p1 - p2) + area * speed(t)
        b = drives.bulk_modulus[0]
        return [
            b / (half + area * away(t)) * (first - lost),
            b / (half - area * away(t)) * (second + lost),
            rate,
            w * w * (signal(t) - x) - 2.0 * z * w * rate,
        ]

    start = [0.5 * supply, 0.5 * supply, 0.0, 0.0]
    exact = solve_ivp(rates, (0.0, 0.05), start, rtol=1e-9, atol=1e-6, max_step=1e-5).y[:2, -1]
    cylinders, ones = HydraulicCylinders(drives), np.ones_like(drives.middle)
    step = 2e-5
    for n in range(2500):
        middle = (n + 0.5) * step
        q = drives.middle + away(n * step)
        cylinders.advance(signal(middle) * ones, q, speed(middle) * ones, step)
    np.testing.assert_allclose(cylinders.pressures[:, 0], exact, rtol=0, atol=2e-3 * supply)


def test_a_robot_rests_on_its_oil_and_follows_its_valves():
    description = pkm_description.load('msi')
    effects = PlantEffects.from_description(description).ideal()
    plant = HydraulicPlant(description, effects)
    home = plant.positions
    for _ in range(200):
        rested = plant.step(np.zeros(6))
    # the weight of 237 kg lets the oil give way by a few hundredths of a millimetre, and leak
    sunk = home - rested.truth_positions
    assert np.all(sunk > 1e-5) and np.all(sunk < 2e-4)
    assert np.all(plant.measured_load_pressures > 0.0)
    for _ in range(100):
        plant.step(np.full(6, 0.1))
    speed = 0.1 * plant.drives.largest_speed
    np.testing.assert_allclose(plant.sample.truth_velocities, speed, rtol=0.05)
    again = plant.reset()
    np.testing.assert_array_equal(again.truth_positions, home)
    assert not plant.measured_load_pressures.any() and plant.time == 0.0


@pytest.mark.parametrize(('frequency', 'damping'), [(5000.0, 0.7), (60.0, 10.0)])
def test_fast_and_sluggish_spools_come_to_rest_at_their_signal(drives, frequency, damping):
    changed = dataclasses.replace(
        drives,
        valve_natural_frequency=np.full_like(drives.middle, frequency),
        valve_damping=np.full_like(drives.middle, damping),
    )
    cylinders, still = HydraulicCylinders(changed), np.zeros_like(drives.middle)
    for _ in range(5000):
        cylinders.advance(np.full_like(still, 0.3), drives.middle, still, STEP)
    np.testing.assert_allclose(cylinders.spools, 0.3, rtol=1e-3)


def test_a_piston_beyond_its_end_has_oil_left(drives):
    cylinders = HydraulicCylinders(drives)
    far = drives.middle + 2.0 * drives.reach
    for _ in range(100):
        cylinders.advance(np.ones_like(far), far, np.zeros_like(far), STEP)
    assert np.all(np.isfinite(cylinders.pressures))
    assert np.all(np.abs(cylinders.forces) <= 1.01 * drives.largest_force)


def test_noise_is_that_of_the_seed():
    msi = pkm_description.load('msi')
    plant = HydraulicPlant(msi, seed=5)
    first = plant.sample.positions
    np.testing.assert_array_equal(plant.reset().positions, first)
    assert np.any(plant.reset(6).positions != first)


def test_what_a_plant_refuses():
    with pytest.raises(SimulationError, match="robot 'palida' has no cylinders"):
        HydraulicPlant(pkm_description.load('palida'))
    msi = pkm_description.load('msi')
    with pytest.raises(SimulationError, match='whole number of substeps'):
        HydraulicPlant(msi, step=1e-3, substep=3e-4)
    plant = HydraulicPlant(msi)
    for signals in ([0.0, np.nan, 0.0, 0.0, 0.0, 0.0], np.zeros(5), np.full(6, 812.0)):
        with pytest.raises(SimulationError, match="'msi' takes 6 finite signals of valves within"):
            plant.step(signals)
    assert plant.time == 0.0
    with pytest.raises(SimulationError, match='swings on its oil at .* it needs substeps'):
        HydraulicPlant(msi, step=1e-3, substep=1e-3)
