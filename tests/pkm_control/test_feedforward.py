"""Feedforward: contributions, matching by name, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from gantry import Gantry, ShuffledGantry
from slides import slides

from pkm_control.feedforward import (
    NotPhysicalError,
    identified_feedforward,
    no_feedforward,
    nominal_feedforward,
)
from pkm_description import load, loads
from pkm_description.errors import ModelFileError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES

MODEL = Gantry(mass=10.0, coulomb=5.0, viscous=20.0, rotor=2.0)
MOTION = MODEL.motion_from_actuators(
    np.zeros((1, 3)), np.full((1, 3), 0.5), np.array([[1.0, 2.0, 3.0]])
)


KINDS = ('coulomb', 'viscous')


def with_names(*names: str) -> Gantry:
    """The gantry with other parameters: names and masks, no forces."""
    model = Gantry()
    model.parameter_names, model.n_p = list(names), len(names)
    model.nominal_parameters = np.ones(len(names))
    return model


def test_contributions_can_be_left_out() -> None:
    rigid = 10.0 * np.array([1.0, 2.0, 12.81])
    friction, rotor = np.full(3, 15.0), 2.0 * np.array([1.0, 2.0, 3.0])

    def forces(**parts: bool) -> np.ndarray:
        return nominal_feedforward(MODEL, **parts).forces(MODEL, MOTION)[0]

    np.testing.assert_allclose(forces(), rigid + friction + rotor)
    np.testing.assert_allclose(forces(friction=False), rigid + rotor)
    np.testing.assert_allclose(forces(rotor=False), rigid + friction)
    np.testing.assert_allclose(forces(rigid_body=False), friction + rotor)
    nothing = nominal_feedforward(MODEL, rigid_body=False, friction=False, rotor=False)
    assert nothing.name == 'none'
    np.testing.assert_array_equal(nothing.forces(MODEL, MOTION), np.zeros((1, 3)))
    np.testing.assert_array_equal(no_feedforward().forces(MODEL, MOTION), np.zeros((1, 3)))


def test_names_say_what_is_in_use() -> None:
    assert nominal_feedforward(MODEL).name == 'nominal'
    assert nominal_feedforward(MODEL, friction=False).name == 'nominal without friction'
    rotor = nominal_feedforward(MODEL, rigid_body=False, friction=False)
    assert rotor.name == 'nominal without rigid body without friction'
    plain = with_names('platform.m', *(f'{axis}.{kind}' for axis in 'xyz' for kind in KINDS))
    assert nominal_feedforward(plain, rotor=False).name == 'nominal'  # it has no rotors
    assert no_feedforward().name == 'none'


def test_parameters_are_matched_by_name() -> None:
    random = np.random.default_rng(8)
    values = MODEL.nominal_parameters * random.uniform(0.8, 1.2, MODEL.n_p)
    order = random.permutation(MODEL.n_p)
    names = [MODEL.parameter_names[i] for i in order]
    feedforward = identified_feedforward(MODEL, 'wls', names, values[order])
    np.testing.assert_array_equal(feedforward.parameters, values)
    assert not feedforward.parameters.flags.writeable


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda n, v: (n[:-1], v[:-1]), r"'z.rotor' is missing \(1 in all\)"),
        (lambda n, v: (n[1:-1], v[1:-1]), r"'platform.m' is missing \(2 in all\)"),
        (lambda n, v: (n + ['w.rotor'], [*v, 1.0]), "'w.rotor' is unknown"),
        (lambda n, v: (n[:-1] + ['platform.m'], v), "'platform.m' is given twice"),
        (lambda n, v: (n[:-1] + ['y.rotor'], v), "'y.rotor' is given twice"),
        (lambda n, v: (n, [*v[:-1], np.nan]), "'z.rotor' is not finite"),
        (lambda n, v: (n, v[:-1]), 'values of shape'),
    ],
)
def test_refusals_name_the_parameter(change, message: str) -> None:
    names, values = change(list(MODEL.parameter_names), list(MODEL.nominal_parameters))
    with pytest.raises(ModelFileError, match=message):
        identified_feedforward(MODEL, 'wls', names, values)


@pytest.mark.parametrize('part', ['rigid_body', 'friction', 'rotor'])
def test_identified_parts_can_be_left_out_like_nominal_ones(part: str) -> None:
    names, values = MODEL.parameter_names, MODEL.nominal_parameters
    whole = identified_feedforward(MODEL, 'wls', names, values)
    assert whole.name == 'wls'
    np.testing.assert_array_equal(whole.parameters, values)
    found = identified_feedforward(MODEL, 'wls', names, values, **{part: False})
    assert found.name == f'wls without {part.replace("_", " ")}'
    kept = np.where(MODEL.parameter_mask(part), 0.0, values)
    np.testing.assert_array_equal(found.parameters, kept)


@pytest.mark.parametrize('index', [0, 1, 2, 9])
def test_what_must_not_be_negative_may_be_so_by_rounding(index: int) -> None:
    values = np.array(MODEL.nominal_parameters)
    values[index] = -1e-9
    identified_feedforward(MODEL, 'wls', MODEL.parameter_names, values)
    values[index] = -1.1e-9
    with pytest.raises(NotPhysicalError, match=MODEL.parameter_names[index]):
        identified_feedforward(MODEL, 'wls', MODEL.parameter_names, values)


@pytest.mark.parametrize('index', [0, 1, 2, 9])
def test_negative_mass_friction_and_rotor_are_not_physical(index: int) -> None:
    values = np.array(MODEL.nominal_parameters)
    values[index] = -0.1
    with pytest.raises(NotPhysicalError, match=MODEL.parameter_names[index]):
        identified_feedforward(MODEL, 'wls', MODEL.parameter_names, values)


@pytest.mark.parametrize(
    ('parameter', 'value'),
    [('platform.Izz', -5.0), ('platform.Ixx', 10.0), ('platform.mx', 9.0), ('platform.Ixy', 1e200)],
)
def test_impossible_inertia_is_refused_by_body(parameter: str, value: float) -> None:
    model = ClosedChainModel(load('palida'))
    names, values = model.parameter_names, np.array(model.nominal_parameters)
    identified_feedforward(model, 'wls', names, values)
    values[[name.startswith('leg3_ring.') for name in names]] = 0.0  # no body at all
    identified_feedforward(model, 'wls', names, values)
    values[names.index(parameter)] = value
    with pytest.raises(NotPhysicalError, match="body 'platform'"):
        identified_feedforward(model, 'wls', names, values)


@pytest.mark.parametrize(
    ('mass', 'eigenvalues', 'tolerated'),
    [
        (1.0, (-7e-6, 3.0, 8.0), True),  # a millionth of the largest
        (1.0, (-9e-6, 3.0, 8.0), False),
        (9.0, (-8e-6, 3.0, 2.0), True),
        (1.0, (3.0, 8.0, -9e-6), False),
        (0.0, (-0.9e-9, 0.0, 0.0), True),  # no body at all
        (0.0, (0.0, -1.2e-9, 0.0), False),
    ],
)
def test_a_pseudo_inertia_is_indefinite_beyond_rounding(mass, eigenvalues, tolerated) -> None:
    x, y, z = eigenvalues  # integrals of x^2, y^2, z^2 over the mass, on principal axes
    values = {'m': mass, 'Ixx': y + z, 'Iyy': x + z, 'Izz': x + y}
    names = [f'platform.{kind}' for kind in INERTIAL_NAMES]
    numbers = [values.get(kind, 0.0) for kind in INERTIAL_NAMES]
    model = with_names('ballast.m', *names)
    if tolerated:
        found = identified_feedforward(model, 'sdp', model.parameter_names, [2.0, *numbers])
        np.testing.assert_array_equal(found.parameters, [2.0, *numbers])
        return
    message = f"body 'platform': .*pseudo-inertia {min(eigenvalues):.6g}"
    with pytest.raises(NotPhysicalError, match=message):
        identified_feedforward(model, 'sdp', model.parameter_names, [2.0, *numbers])


LAW = {
    'x.stribeck_force': 4.0,
    'x.stribeck_velocity': 0.6,
    'x.stribeck_exponent': 1.0,
    'z.atan_force': -3.0,
    'z.atan_slope': 2.0,
}


def law_feedforward(changes=None, **parts):
    model = Gantry(mass=10.0, coulomb=5.0, viscous=20.0, rotor=2.0)
    model.description.transition_velocity = 0.002
    values = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    values |= LAW | (changes or {})
    return model, identified_feedforward(model, 'law', list(values), list(values.values()), **parts)


def test_friction_laws_of_the_drives_are_added() -> None:
    model, feedforward = law_feedforward()
    plain = nominal_feedforward(model).forces(model, MOTION)
    beyond = [4.0 * np.exp(-0.5 / 0.6), 0.0, -3.0 * np.arctan(2.0 * 0.5)]
    np.testing.assert_allclose(feedforward.forces(model, MOTION) - plain, [beyond], atol=1e-12)
    _, forces = feedforward.along(model, MOTION)
    np.testing.assert_array_equal(forces, feedforward.forces(model, MOTION))
    model, without = law_feedforward(friction=False)
    plain = nominal_feedforward(model, friction=False).forces(model, MOTION)
    np.testing.assert_array_equal(without.forces(model, MOTION), plain)


@pytest.mark.parametrize(
    ('friction', 'least'),
    [
        ({'x.coulomb': 5.0}, {'stribeck_force': -5.0, 'atan_force': -10.0 / np.pi}),
        ({'x.coulomb_positive': 5.0, 'x.coulomb_negative': 2.0}, {'stribeck_force': -2.0}),
        ({'x.coulomb_positive': 3.0, 'x.coulomb_negative': 4.0}, {'stribeck_force': -3.0}),
    ],
)
def test_a_law_may_fall_to_the_lesser_coulomb_friction(friction, least) -> None:
    """Stribeck friction reaches its amplitude, atan pi/2 of it: no more than holds the joint."""
    model = with_names('platform.m', *friction, 'y.coulomb')
    model.description.transition_velocity = 0.002
    for field, bound in least.items():
        law = {'x.stribeck_velocity': 0.6, 'x.stribeck_exponent': 1.0}
        if field == 'atan_force':
            law = {'x.atan_slope': 2.0}
        values = {'platform.m': 1.0, 'y.coulomb': 0.0} | friction | law

        def build(value: float, values=values, entry=f'x.{field}'):
            given = values | {entry: value}
            return identified_feedforward(model, 'law', list(given), list(given.values()))

        assert build(bound * (1.0 + 0.5e-6)).friction is not None  # rounding of an estimator
        assert build(0.5 * bound).friction is not None
        assert build(-2.0 * bound).friction is not None
        with pytest.raises(NotPhysicalError, match='drives the joint'):
            build(bound * (1.0 + 3e-6))


def test_a_law_is_held_by_the_lesser_friction_by_direction_that_the_model_lacks() -> None:
    """The mean of both, which the model has, would hold 3.5."""
    model = with_names('platform.m', 'x.coulomb')
    model.description.transition_velocity = 0.002
    values = {'platform.m': 1.0, 'x.coulomb_positive': 5.0, 'x.coulomb_negative': 2.0}
    values |= {'x.stribeck_velocity': 0.6, 'x.stribeck_exponent': 1.0}

    def build(force: float):
        given = values | {'x.stribeck_force': force}
        return identified_feedforward(model, 'law', list(given), list(given.values()))

    assert build(-1.9).friction is not None
    with pytest.raises(NotPhysicalError, match='drives the joint'):
        build(-3.0)


@pytest.mark.filterwarnings('error')
def test_laws_without_coulomb_friction_beside_them_are_not_negative() -> None:
    model = with_names('platform.m', 'y.coulomb')
    model.description.transition_velocity = 0.002

    def build(**law: float):
        given = {'platform.m': 1.0, 'y.coulomb': 9.0}
        given |= {f'x.{name}': value for name, value in law.items()}
        return identified_feedforward(model, 'law', list(given), list(given.values()))

    for value in (1.0, 0.0, -0.9e-9):
        build(stribeck_force=value, stribeck_velocity=0.6, stribeck_exponent=1.0)
    with pytest.raises(NotPhysicalError, match="'x.stribeck_force' is -1.2e-09"):
        build(stribeck_force=-1.2e-9, stribeck_velocity=0.6, stribeck_exponent=1.0)
    for value in (1.0, 0.0):
        build(power_force=value, power_exponent=0.5)
    with pytest.raises(NotPhysicalError, match="'x.power_force'"):  # it grows without a bound
        build(power_force=-1e-12, power_exponent=0.5)


def test_friction_of_a_drive_comes_from_its_own_speed() -> None:
    model = ShuffledGantry()
    model.description.transition_velocity = 0.002
    given = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    given |= {'z.atan_force': 3.0, 'z.atan_slope': 2.0, 'y.atan_force': 1.5, 'y.atan_slope': 4.0}
    feedforward = identified_feedforward(model, 'law', list(given), list(given.values()))
    motion = model.motion_from_actuators(
        np.zeros((2, 3)), np.array([[0.1, 0.2, 0.4], [0.3, -0.5, -0.6]]), np.zeros((2, 3))
    )
    joints, forces = feedforward.along(model, motion)
    plain = nominal_feedforward(model).forces(model, motion)
    expected = [
        [0.0, 1.5 * np.arctan(0.8), 3.0 * np.arctan(0.8)],
        [0.0, -1.5 * np.arctan(2.0), -3.0 * np.arctan(1.2)],
    ]
    np.testing.assert_allclose(forces - plain, expected, atol=1e-12)
    np.testing.assert_array_equal(joints.velocities[:, 1], [0.4, -0.6])


def test_no_feedforward_needs_no_joints_and_still_finds_them() -> None:
    joints, forces = no_feedforward().along(MODEL, MOTION)
    np.testing.assert_array_equal(joints.velocities, np.full((1, 3), 0.5))
    np.testing.assert_array_equal(forces, np.zeros((1, 3)))
    singular = Gantry()
    singular.singular_at = -1.0
    np.testing.assert_array_equal(no_feedforward().forces(singular, MOTION), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ('changes', 'error', 'message'),
    [
        ({'z.atan_force': -3.3}, NotPhysicalError, "'z.atan_force' is -3.3"),
        ({'x.stribeck_force': -5.1}, NotPhysicalError, 'drives the joint'),
        ({'x.stribeck_velocity': 0.0}, ModelFileError, "'x.stribeck_velocity' must be positive"),
        ({'w.atan_force': 1.0}, ModelFileError, "'w.atan_force' belongs to no"),
    ],
)
def test_impossible_friction_laws_are_refused(changes, error, message) -> None:
    with pytest.raises(error, match=message):
        law_feedforward(changes)


def test_forces_by_position_come_with_their_constants() -> None:
    """The controller's own description has none of them."""
    model = ClosedChainModel(load('rps_upv'))
    joint, other = model.actuated_joints[:2]
    names = [*model.parameter_names, f'{joint}.ripple_cos2', f'{joint}.ripple_sin2']
    names += [f'{joint}.ripple_period', *(f'{other}.{e}' for e in ('offset', 'stiffness', 'rest'))]
    values = [*model.nominal_parameters, 4.0, -3.0, 0.05, 2.0, 30.0, 0.1]
    q = model.home_actuators + np.linspace(0.0, 0.02, 7)[:, None]
    motion = model.motion_from_actuators(q, np.ones_like(q), np.zeros_like(q))
    plain = nominal_feedforward(model).forces(model, motion)
    added = identified_feedforward(model, 'm', names, values).forces(model, motion) - plain
    angle = 2 * np.pi * 2 * q[:, 0] / 0.05
    np.testing.assert_allclose(added[:, 0], 4 * np.cos(angle) - 3 * np.sin(angle), atol=1e-9)
    np.testing.assert_allclose(added[:, 1], 2.0 + 30.0 * (q[:, 1] - 0.1), atol=1e-9)
    np.testing.assert_allclose(added[:, 2], 0.0, atol=1e-9)
    without = identified_feedforward(model, 'm', names, values, friction=False)
    rest = nominal_feedforward(model, friction=False).forces(model, motion)
    np.testing.assert_allclose(without.forces(model, motion), rest, atol=1e-9)


def test_declared_forces_by_position_go_with_friction() -> None:
    model = ClosedChainModel(load('rps_upv')).with_drive_terms({'*': {'offset': 7.0}})
    motion = model.motion_from_actuators(
        model.home_actuators[None], np.zeros((1, 3)), np.zeros((1, 3))
    )
    whole, less = (
        nominal_feedforward(model, friction=kept).forces(model, motion) for kept in (True, False)
    )
    np.testing.assert_allclose(whole - less, 7.0)
    values = model.nominal_parameters
    given = identified_feedforward(model, 'm', model.parameter_names, values)
    np.testing.assert_allclose(given.forces(model, motion), whole)


@pytest.mark.parametrize(
    ('entries', 'message'),
    [
        ({'ripple_cos1': 1.0, 'ripple_sin1': 1.0}, 'ripple_period. is missing'),
        ({'ripple_cos1': 1.0, 'ripple_period': 0.1}, 'ripple_sin1. is missing'),
        ({'stiffness': 1.0, 'offset': 0.0}, 'rest. is missing'),
        ({'offset': np.nan}, 'offset must be a finite number'),
    ],
)
def test_incomplete_forces_by_position_are_refused(entries, message) -> None:
    model = ClosedChainModel(load('rps_upv'))
    joint = model.actuated_joints[0]
    names = [*model.parameter_names, *(f'{joint}.{field}' for field in entries)]
    values = [*model.nominal_parameters, *entries.values()]
    with pytest.raises(ModelFileError, match=message):
        identified_feedforward(model, 'm', names, values)


def test_a_rotor_that_the_model_lacks_is_added() -> None:
    model = ClosedChainModel(slides())
    assert not any(name.endswith('.rotor') for name in model.parameter_names)
    joint = model.actuated_joints[1]
    names, values = [*model.parameter_names, f'{joint}.rotor'], model.nominal_parameters
    q = model.home_actuators + np.linspace(0.0, 0.02, 7)[:, None]
    qdd = np.linspace(-2.0, 3.0, 7)[:, None] * np.array([1.0, 2.0, 3.0, 4.0])
    motion = model.motion_from_actuators(q, np.zeros_like(q), qdd)
    plain = nominal_feedforward(model).forces(model, motion)
    given = identified_feedforward(model, 'm', names, [*values, 2.5])
    added = given.forces(model, motion) - plain
    np.testing.assert_allclose(added, 2.5 * qdd * np.array([0.0, 1.0, 0.0, 0.0]), atol=1e-9)
    # the same parameter in the model that has the rotor
    wide = model.with_drive_terms(f'{joint}:rotor')
    by_name = dict(zip(names, [*values, 2.5], strict=True))
    own = [by_name[name] for name in wide.parameter_names]
    np.testing.assert_allclose(wide.inverse_dynamics(motion, own) - plain, added, atol=1e-9)
    without = identified_feedforward(model, 'm', names, [*values, 2.5], rotor=False)
    np.testing.assert_allclose(without.forces(model, motion), plain, atol=1e-9)
    with pytest.raises(ModelFileError, match='rotor. is negative'):
        identified_feedforward(model, 'm', names, [*values, -1.0])


def test_coulomb_friction_by_direction_that_the_model_lacks() -> None:
    """Values of the model that has both, given to the one that has their mean."""
    plain = slides()
    text = f'{plain.yaml_text}friction: {{along: {{coulomb: 5, viscous: 2}}}}\n'
    model = ClosedChainModel(loads(plain.urdf, text))
    wide = model.with_drive_terms({'along': {'asymmetry': 2.0}})
    q = model.home_actuators + np.linspace(0.0, 0.02, 9)[:, None]
    qd = np.linspace(-0.01, 0.01, 9)[:, None] * np.ones(4)
    motion = model.motion_from_actuators(q, qd, np.zeros_like(q))
    names, values = wide.parameter_names, wide.nominal_parameters
    given = identified_feedforward(model, 'm', names, values)
    expected = wide.inverse_dynamics(motion, values)
    np.testing.assert_allclose(given.forces(model, motion), expected, atol=1e-9)
    assert np.abs(expected - model.inverse_dynamics(motion)).max() > 1.9
    without = identified_feedforward(model, 'm', names, values, friction=False)
    rigid = nominal_feedforward(model, friction=False)
    np.testing.assert_allclose(
        without.forces(model, motion), rigid.forces(model, motion), atol=1e-9
    )
    worse = np.where(np.array(names) == 'along.coulomb_negative', -1.0, values)
    with pytest.raises(NotPhysicalError, match=r'along.coulomb_negative. is negative'):
        identified_feedforward(model, 'm', names, worse)
