"""Payloads as a user gives them, and the robot that carries one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from planar import two_link_arm

import pkm_description
from pkm_description import (
    DescriptionError,
    Inertial,
    Payload,
    payload_of,
    with_force_constants,
    with_payload,
)
from pkm_description.payload import joined


def cloud(inertial: Inertial) -> tuple[np.ndarray, np.ndarray]:
    """Six point masses with the mass, centre and inertia of a body."""
    moments, axes = np.linalg.eigh(inertial.inertia)
    extents = np.sqrt(np.maximum((moments.sum() / 2 - moments) * 3 / inertial.mass, 0))
    arms = np.concatenate([np.diag(extents), -np.diag(extents)]) @ axes.T
    return np.full(6, inertial.mass / 6), inertial.com + arms


def test_a_robot_with_a_payload_has_the_moments_of_both_bodies_together():
    plain = pkm_description.load('palida')
    inertia = (0.01, 0.002, 0, 0.02, 0, 0.015)
    payload = Payload(mass=2.0, centre=(0.03, -0.02, 0.15), inertia=inertia)
    loaded = with_payload(plain, payload)
    parts = [cloud(plain.link('platform').inertial), cloud(payload.inertial)]
    masses = np.concatenate([part[0] for part in parts])
    points = np.concatenate([part[1] for part in parts])
    about_origin = sum(
        m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True)
    )
    expected = [masses.sum(), *(masses @ points), *about_origin[np.triu_indices(3)]]
    found = loaded.link('platform').inertial.standard_parameters()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert loaded.digest == plain.digest
    assert loaded.link('leg1_slider') is plain.link('leg1_slider')
    assert with_payload(plain, None) is plain


@pytest.mark.parametrize(
    'given',
    [
        (0.01, 0.002, 0.0, 0.02, 0.0, 0.015),
        ((0.01, 0.002, 0.0), (0.002, 0.02, 0.0), (0.0, 0.0, 0.015)),
    ],
)
def test_text_and_back(given):
    payload = Payload(
        mass=2,
        centre=(0, 0, 0.1),
        inertia=given,
        mass_deviation=0.01,
        centre_deviation=0.002,
        name='gripper',
    )
    again = payload_of(payload.to_text())
    np.testing.assert_array_equal(again.values, payload.values)
    np.testing.assert_array_equal(again.deviations, payload.deviations)
    assert again.to_mapping() == payload.to_mapping()
    assert list(payload.deviations) == [0.01, 0.002, 0.002, 0.002, 0, 0, 0, 0, 0, 0]


def test_what_is_not_given_is_not_known():
    payload = payload_of('{mass: 2.0, mass_deviation: 0.1}')
    assert payload.mass == 2.0 and not payload.is_known
    assert payload.deviations[0] == 0.1 and np.isinf(payload.deviations[1:]).all()
    assert payload_of('unknown').to_mapping() == {'name': 'payload', 'link': 'platform'}
    assert payload_of('none') is None and payload_of(None) is None and payload_of('') is None
    with pytest.raises(DescriptionError, match='centre and inertia not known'):
        with_payload(pkm_description.load('palida'), payload)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'mass': -1.0}, 'mass -1 kg is negative'),
        ({'mass': np.nan}, 'mass must be one finite numbers'),
        ({'centre': (0, 0)}, 'centre must be 3 finite numbers'),
        ({'inertia': 0.1}, 'inertia as one number can only be 0'),
        ({'mass': 1.0, 'centre': (0, 0, 0), 'inertia': (1.0, 0.1, 0.1)}, 'triangle inequality'),
        ({'mass_deviation': -0.1}, 'mass_deviation must not be negative'),
    ],
)
def test_refused(fields, message):
    with pytest.raises(DescriptionError, match=message):
        Payload(**fields)


def test_refused_texts():
    with pytest.raises(DescriptionError, match=r"no 'centr'.*is 'centre' meant"):
        payload_of('{mass: 2, centr: [0, 0, 0]}')
    with pytest.raises(DescriptionError, match='must be none, unknown or a mapping'):
        payload_of('2 kg')
    with pytest.raises(DescriptionError, match='not YAML'):
        payload_of('{mass: [')


def test_other_force_constants():
    plain = pkm_description.load('palida')
    other = with_force_constants(plain, {'leg2_strut': 25.0})
    assert [each.force_constant for each in other.actuators] == [23, 25, 23, 23, 23, 23]
    assert other.digest == plain.digest
    with pytest.raises(DescriptionError, match=r"no drive at 'leg2'.*leg2_strut"):
        with_force_constants(plain, {'leg2': 25.0})
    with pytest.raises(DescriptionError, match='must be positive'):
        with_force_constants(plain, {'leg2_strut': 0.0})


def test_every_form_of_an_inertia():
    ixx, ixy, ixz, iyy, iyz, izz = six = (0.5, 0.01, 0.02, 0.4, 0.03, 0.3)
    full = [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]
    for given, expected in (
        (six, full),
        (full, full),
        ((0.5, 0.4, 0.3), np.diag([0.5, 0.4, 0.3])),
        (0, np.zeros((3, 3))),
    ):
        payload = Payload(inertia=given)
        np.testing.assert_array_equal(payload.inertia, expected)
        assert not payload.inertia.flags.writeable
    np.testing.assert_array_equal(Payload(inertia=full).values[4:], six)


def test_values_and_deviations_stand_in_the_order_of_the_parameters():
    payload = Payload(
        mass=2.0,
        centre=(1.0, 2.0, 3.0),
        inertia=(0.5, 0.01, 0.02, 0.4, 0.03, 0.3),
        mass_deviation=0.1,
        centre_deviation=(0.2, 0.3, 0.4),
        inertia_deviation=(0.6, 0.7, 0.8, 0.9, 1.0, 1.1),
    )
    assert payload.is_known
    assert payload.values.tolist() == [2.0, 1.0, 2.0, 3.0, 0.5, 0.01, 0.02, 0.4, 0.03, 0.3]
    assert payload.deviations.tolist() == [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    partly = Payload(centre=(1.0, 2.0, 3.0), mass_deviation=0.1, inertia_deviation=0.5)
    assert not partly.is_known
    np.testing.assert_array_equal(partly.values, [np.nan, 1.0, 2.0, 3.0, *[np.nan] * 6])
    assert partly.deviations.tolist() == [np.inf, 0.0, 0.0, 0.0, *[np.inf] * 6]


def test_a_mapping_holds_what_is_known_and_deviations_that_are_not_zero():
    payload = Payload(
        mass=2.0,
        centre=(1.0, 2.0, 3.0),
        inertia=(0.5, 0.01, 0.02, 0.4, 0.03, 0.3),
        centre_deviation=(0.0, 0.0, 0.4),
        name='gripper',
        link='hand',
    )
    assert payload.to_mapping() == {
        'name': 'gripper',
        'link': 'hand',
        'mass': 2.0,
        'centre': [1.0, 2.0, 3.0],
        'centre_deviation': [0.0, 0.0, 0.4],
        'inertia': [0.5, 0.01, 0.02, 0.4, 0.03, 0.3],
    }
    sure = Payload(mass=2.0, mass_deviation=0.1, inertia=0)
    assert sure.to_mapping() == {
        'name': 'payload',
        'link': 'platform',
        'mass': 2.0,
        'mass_deviation': 0.1,
        'inertia': [0.0] * 6,
    }
    assert payload.to_text() == (
        '{name: gripper, link: hand, mass: 2.0, centre: [1.0, 2.0, 3.0], '
        'centre_deviation: [0.0, 0.0, 0.4], inertia: [0.5, 0.01, 0.02, 0.4, 0.03, 0.3]}'
    )
    assert payload_of(payload.to_text()).to_mapping() == payload.to_mapping()


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'mass': (1.0,)}, 'mass must be one finite numbers'),
        ({'mass': 'heavy'}, "mass must be one finite numbers, not 'heavy'"),
        ({'centre': (0, 0, np.inf)}, 'centre must be 3 finite numbers'),
        ({'inertia': (1.0, 2.0)}, 'inertia must be one or 3 or 6 or 3 x 3 finite numbers'),
        ({'inertia': np.ones((3, 2))}, 'inertia must be one or 3 or 6 or 3 x 3'),
        ({'inertia': -0.1}, 'inertia as one number can only be 0'),
        ({'centre_deviation': (0.1, 0.1, -0.1)}, 'centre_deviation must not be negative'),
        ({'centre_deviation': (0.1, 0.1)}, 'centre_deviation must be one or 3 finite'),
        ({'inertia_deviation': (0.1, 0.1, 0.1)}, 'inertia_deviation must be one or 6 finite'),
        ({'mass_deviation': (0.1, 0.1)}, 'mass_deviation must be one or one finite'),
        ({'mass': -1e-9, 'mass_deviation': 1.0}, 'is negative'),
    ],
)
def test_refused_shapes_and_signs(fields, message):
    with pytest.raises(DescriptionError, match=message):
        Payload(**fields)


def test_a_body_that_is_only_estimated_may_be_none_that_exists():
    """An estimate may break the triangle inequality by its uncertainty, an exact one may not."""
    body = {'mass': 1.0, 'centre': (0, 0, 0), 'inertia': (1.0, 0.1, 0.1)}
    with pytest.raises(DescriptionError, match='triangle'):
        Payload(**body)
    for name in ('mass', 'centre', 'inertia'):
        assert Payload(**body, **{f'{name}_deviation': 0.01}).is_known
        assert not Payload(**{**body, name: None}).is_known
    assert Payload(mass=0.0, centre=(0, 0, 0), inertia=0).is_known


def test_what_is_not_known_is_named():
    for fields, missing in (
        ({}, 'mass and centre and inertia'),
        ({'mass': 1.0, 'inertia': 0}, 'centre'),
        ({'centre': (0, 0, 0), 'inertia': 0}, 'mass'),
    ):
        with pytest.raises(DescriptionError, match=f"payload 'tool': {missing} not known"):
            Payload(**fields, name='tool').inertial  # noqa: B018


def test_texts_of_a_mapping_and_the_source_of_one():
    payload = payload_of({'name': 7, 'link': 'hand', 'mass': 1})
    assert (payload.name, payload.link, payload.mass) == ('7', 'hand', 1.0)
    assert payload_of(payload) is payload
    for wrong in ({'weight': 1}, [1, 2], '{mass: ['):
        with pytest.raises(DescriptionError, match='^bag 3: payload'):
            payload_of(wrong, 'bag 3: ')


def test_a_body_of_another_link_and_one_that_had_none():
    plain = pkm_description.load('palida')
    links = tuple(
        dataclasses.replace(link, inertial=None) if link.name == 'leg1_ring' else link
        for link in plain.links
    )
    plain, bare = dataclasses.replace(plain, links=links), 'leg1_ring'
    body = {'mass': 0.5, 'centre': (0.1, 0.2, 0.3), 'inertia': (0.5, 0.4, 0.3)}
    loaded = with_payload(plain, Payload(**body, link=bare))
    found = loaded.link(bare).inertial
    assert found.mass == 0.5
    np.testing.assert_array_equal(found.com, body['centre'])
    np.testing.assert_array_equal(found.inertia, np.diag(body['inertia']))
    assert loaded.link('platform') is plain.link('platform')
    with pytest.raises(DescriptionError, match="no link 'claw'"):
        with_payload(plain, Payload(**body, link='claw'))


def test_bodies_of_one_frame_joined():
    """Two balls on a rod: mass, balance point and the moments of both arms."""
    ball = np.diag([0.1, 0.2, 0.3])
    one = Inertial(1.0, np.array([0.0, 0.0, 4.0]), ball)
    other = Inertial(3.0, np.array([0.0, 0.0, 0.0]), 2.0 * ball)
    both = joined(one, other)
    assert both.mass == 4.0
    np.testing.assert_allclose(both.com, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(both.inertia, np.diag([0.3 + 12.0, 0.6 + 12.0, 0.9]))
    nothing = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    assert joined(nothing, nothing) is nothing
    np.testing.assert_array_equal(joined(nothing, one).com, one.com)


def test_parameters_declared_zero_without_those_of_the_loaded_link():
    """A pattern that names the loaded link becomes the parameters of the others that it names."""
    plain = dataclasses.replace(
        two_link_arm(), zero_parameters=('*.mz', 'upper.Ixx', 'platform.Iyy', '*_joint.viscous')
    )
    body = Payload(mass=0.5, centre=(0.1, 0.2, 0.3), inertia=0)
    loaded = with_payload(plain, body)
    assert loaded.zero_parameters == ('upper.mz', 'upper.Ixx', '*_joint.viscous')
    loaded = with_payload(plain, dataclasses.replace(body, link='upper'))
    assert loaded.zero_parameters == ('platform.mz', 'platform.Iyy', '*_joint.viscous')


def test_a_payload_stays_what_it_is():
    payload = Payload(mass=2.0, centre=(1.0, 2.0, 3.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        payload.mass = 3.0
    for array in (payload.centre, payload.centre_deviation, payload.inertia_deviation):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 5.0
    assert len({payload, Payload(mass=2.0, centre=(1.0, 2.0, 3.0))}) == 2


def test_force_constants_of_some_drives():
    plain = pkm_description.load('palida')
    other = with_force_constants(plain, {'leg2_strut': 1e-3, 'leg5_strut': 1})
    assert [each.force_constant for each in other.actuators] == [23, 1e-3, 23, 23, 1, 23]
    for value in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(DescriptionError, match="of 'leg2_strut' must be positive"):
            with_force_constants(plain, {'leg2_strut': value})
