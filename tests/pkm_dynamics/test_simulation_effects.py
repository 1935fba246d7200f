"""Effects of the simulated plant: what the sidecar says, what is refused, the laws."""

import dataclasses

import numpy as np
import pytest

import pkm_description
from pkm_description import DescriptionError, Friction
from pkm_dynamics.simulation import PlantEffects, Stribeck
from pkm_dynamics.simulation.generalised_forces import FrictionTable, apply_forces
from pkm_dynamics.simulation.sensors import Sensors


@pytest.fixture(scope='module')
def palida():
    return pkm_description.load('palida')


def with_simulation(description, section):
    return dataclasses.replace(description, sidecar={'simulation': section})


def test_palida_has_the_published_noise(palida):
    effects = PlantEffects.from_description(palida)
    # [A] V: variances of the measured actuator forces on the benchmark circle [N^2].
    published = [412.8, 375.4, 883.0, 371.9, 547.2, 970.9]
    np.testing.assert_allclose(np.diag(effects.force_covariance), published, rtol=1e-3)
    np.testing.assert_allclose(np.diag(effects.position_covariance), 4e-10)
    deviation = np.sqrt(np.diag(effects.force_covariance))
    correlation = effects.force_covariance / np.outer(deviation, deviation)
    assert correlation[0, 1] == pytest.approx(0.35) and correlation[0, 2] == pytest.approx(0.15)


def test_absent_section_means_no_effects_beyond_friction(palida):
    effects = PlantEffects.from_description(with_simulation(palida, {}))
    assert effects.friction and effects.saturation and not effects.stribeck
    assert effects.position_resolution == 0.0
    for array in (effects.force_covariance, effects.position_covariance, effects.cogging_amplitude):
        assert not np.any(array)


def test_switches(palida):
    effects = PlantEffects.from_description(palida)
    modelled = effects.without_unmodelled()
    assert not modelled.stribeck and not np.any(modelled.cogging_amplitude)
    assert modelled.friction and np.any(modelled.force_covariance)
    ideal = effects.ideal()
    assert not (ideal.friction or ideal.saturation or ideal.stribeck)
    assert not np.any(ideal.force_covariance) and ideal.position_resolution == 0.0
    with pytest.raises(DescriptionError, match="'backlash'.*cogging"):
        effects.switched(backlash=False)


@pytest.mark.parametrize(
    ('section', 'message'),
    [
        ({'noise': {}}, "unknown key 'noise'.*keys are force_noise"),
        ({'cogging': {'amplitude': {'leg7_strut': 1.0}}}, "cogging.amplitude.*'leg7_strut'"),
        ({'cogging': {'amplitude': 1.0, 'period': 0.0}}, 'cogging.period must be positive'),
        ({'force_noise': {'standard_deviation': [1.0, 2.0]}}, 'one or 6 non-negative'),
        ({'force_noise': {'standard_deviation': -1.0}}, 'non-negative'),
        ({'force_noise': {'correlation': 1.0}}, "force_noise has no 'standard_deviation'"),
        ({'position_noise': {'standard_deviation': 'x'}}, 'must be numeric'),
        (
            {'force_noise': {'standard_deviation': 1.0, 'correlation': np.ones((6, 6)).tolist()}},
            'positive definite',
        ),
        ({'stribeck': {'leg1_strut': {'static': 3.0}}}, "stribeck.leg1_strut has no 'velocity'"),
        ({'stribeck': {'x': {}}}, "stribeck has the unknown key 'x'"),
        ({'position_resolution': float('nan')}, 'position_resolution must be a finite'),
        ([1], 'must be a mapping'),
    ],
)
def test_malformed_sections_are_named(palida, section, message):
    with pytest.raises(DescriptionError, match=message):
        PlantEffects.from_description(with_simulation(palida, section))


def test_noise_has_the_declared_covariance(palida):
    effects = PlantEffects.from_description(palida).switched(quantisation=False)
    sensors = Sensors(palida, effects, seed=4)
    count, zero = 20000, np.zeros(6)
    constants = np.array([a.force_constant for a in palida.actuators])
    forces = np.array([sensors.currents(zero) for _ in range(count)]) * constants
    positions = np.array([sensors.positions(zero) for _ in range(count)])
    for samples, declared in (
        (forces, effects.force_covariance),
        (positions, effects.position_covariance),
    ):
        estimated = samples.T @ samples / count
        variance = np.diag(declared)
        # Standard deviation of an estimated covariance of normal samples.
        deviation = np.sqrt((np.outer(variance, variance) + declared**2) / count)
        assert np.max(np.abs(estimated - declared) / deviation) < 4.5


def test_noises_are_independent_streams(palida):
    full = PlantEffects.from_description(palida)
    first, second = (
        Sensors(palida, full, 1),
        Sensors(palida, full.switched(position_noise=False), 1),
    )
    for sensors in (first, second):
        sensors.positions(np.zeros(6))
    np.testing.assert_array_equal(first.currents(np.zeros(6)), second.currents(np.zeros(6)))


def test_quantisation_grid(palida):
    effects = PlantEffects.from_description(palida).ideal()
    sensors = Sensors(palida, dataclasses.replace(effects, position_resolution=1e-3), 0)
    truth = np.array([0.7, 0.70049, 0.70051, -0.00049, 0.8004, 0.8006])
    expected = [0.7, 0.7, 0.701, 0.0, 0.8, 0.801]
    np.testing.assert_allclose(sensors.positions(truth), expected, atol=1e-12)


def forces_at(table, position, velocity, cogging=(0.0, 1.0, 0.0)):
    out, sums = np.zeros(1), np.zeros((2, 1))
    apply_forces(
        np.array([position]),
        np.array([velocity]),
        out,
        np.zeros((2, 1), dtype=np.int64),
        np.zeros(1),
        np.zeros((3, 1)),
        np.zeros(1, dtype=np.int64),
        np.array(cogging, dtype=float).reshape(3, 1),
        np.zeros(len(table.table), dtype=np.int64),
        table.table,
        table.deflections,
        np.zeros(len(table.table)),
        np.zeros((0, 1)),
        np.zeros((0, 6)),
        1e-4,
        table.transition_velocity,
        sums,
    )
    return out[0]


def friction_of(palida, friction, stribeck=()):
    joints = tuple(j for j in palida.joints if j.name == 'leg1_strut')
    joints = tuple(dataclasses.replace(j, friction=friction) for j in joints)
    effects = dataclasses.replace(PlantEffects.from_description(palida), stribeck=tuple(stribeck))
    return FrictionTable.build(dataclasses.replace(palida, joints=joints), effects)


def test_friction_laws(palida):
    linear = friction_of(palida, Friction(coulomb=10.0, viscous=20.0))
    assert forces_at(linear, 0.8, 0.5) == pytest.approx(-20.0)
    assert forces_at(linear, 0.8, -0.5) == pytest.approx(20.0)
    assert forces_at(linear, 0.8, 0.001) == pytest.approx(-(5.0 + 0.02))
    lopsided = friction_of(palida, Friction(10.0, 0.0, 4.0, 'asymmetric'))
    assert forces_at(lopsided, 0.8, 0.5) == pytest.approx(-10.0)
    assert forces_at(lopsided, 0.8, -0.5) == pytest.approx(4.0)
    viscous = friction_of(palida, Friction(10.0, 2.0, 0.0, 'viscous'))
    assert forces_at(viscous, 0.8, 0.5) == pytest.approx(-1.0)


def test_stribeck_decays_from_static_to_coulomb(palida):
    entry = Stribeck('leg1_strut', static=13.0, velocity=0.1, exponent=1.0)
    table = friction_of(palida, Friction(coulomb=10.0), [entry])
    assert forces_at(table, 0.8, 0.1) == pytest.approx(-(10.0 + 3.0 / np.e))
    assert forces_at(table, 0.8, -5.0) == pytest.approx(10.0, abs=1e-6)


def test_cogging_has_its_period(palida):
    none = friction_of(palida, Friction(model='none'))
    wave = (15.0, 2.0 * np.pi / 0.06, 0.0)
    assert forces_at(none, 0.015, 0.0, wave) == pytest.approx(15.0)
    assert forces_at(none, 0.06 * 12 + 0.045, 0.0, wave) == pytest.approx(-15.0)
