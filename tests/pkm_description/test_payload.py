"""Payloads as a user gives them, and the robot that carries one."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_description import (
    DescriptionError,
    Inertial,
    Payload,
    payload_of,
    with_force_constants,
    with_payload,
)


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
