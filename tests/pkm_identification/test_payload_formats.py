"""Identified payloads in the conventions of drivers, undone by each one's own rule."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from transforms3d.axangles import axangle2mat

from pkm_description.errors import EstimationError
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.result.payload_formats import payload_text, principal_axes

TURN = axangle2mat([1.0, 2.0, -0.5], 0.4)
INERTIA = TURN @ np.diag([0.03, 0.05, 0.06]) @ TURN.T
CENTRE = np.array([0.02, -0.03, 0.11])


def payload(inertia=INERTIA, mass=2.5, open_from=10, name='tool') -> PayloadEstimate:
    variances = np.full(10, 1e-6)
    variances[open_from:] = np.inf
    values = np.array([mass, *CENTRE, *inertia[np.triu_indices(3)]])
    return PayloadEstimate(name, 'platform', (1,), values, np.diag(variances))


def entry(given: PayloadEstimate) -> dict:
    return yaml.safe_load(payload_text([given], 'log 7').text)[given.name]


def turned(angle: float, axis: int) -> np.ndarray:
    """Rotation about an axis of the frame by an angle [deg]."""
    return axangle2mat(np.eye(3)[axis], np.radians(angle))


def test_all_three_say_the_same_body() -> None:
    written = payload_text([payload()], 'log 7')
    assert written.text.startswith('# log 7\n') and not written.losses
    found = entry(payload())
    assert found['frame'] == 'platform'
    assert found['standard_deviation']['mass'] == pytest.approx(1e-3)
    ur, franka, kuka = found['ur'], found['franka'], found['kuka']
    assert ur['m'] == franka['load_mass'] == kuka['M'] == 2.5
    np.testing.assert_allclose(ur['cog'], CENTRE)
    np.testing.assert_allclose(franka['F_x_Cload'], CENTRE)
    np.testing.assert_allclose([kuka['CM'][axis] for axis in 'XYZ'], 1e3 * CENTRE)  # [mm]
    xx, yy, zz, xy, xz, yz = ur['inertia']
    np.testing.assert_allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], INERTIA, atol=1e-10)
    columns = np.reshape(franka['load_inertia'], (3, 3), order='F')
    np.testing.assert_allclose(columns, INERTIA, atol=1e-10)
    a, b, c = (kuka['CM'][key] for key in 'ABC')  # about Z, the new Y, the new X
    axes = turned(a, 2) @ turned(b, 1) @ turned(c, 0)
    moments = np.diag([kuka['J'][axis] for axis in 'XYZ'])
    np.testing.assert_allclose(axes @ moments @ axes.T, INERTIA, atol=1e-9)


@pytest.mark.parametrize('seed', range(20))
def test_principal_axes_are_the_least_turned_ones(seed) -> None:
    random = np.random.default_rng(seed)
    shape = random.normal(size=(3, 3))
    inertia = shape @ shape.T
    moments, axes = principal_axes(inertia)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, inertia, atol=1e-12)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    straight = principal_axes(np.diag(random.uniform(1.0, 2.0, 3)))
    np.testing.assert_array_equal(straight[1], np.eye(3))


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        (payload(open_from=7), 'the data do not determine its inertia'),
        (payload(np.diag([0.01, 0.02, 0.05])), "no body's"),
    ],
)
def test_an_inertia_that_is_of_no_use_is_named(given, reason) -> None:
    written = payload_text([given, payload(name='other')], 'log 7')
    (loss,) = written.losses
    assert loss.startswith("payload 'tool'") and reason in loss
    both = yaml.safe_load(written.text)
    assert not np.any(both['tool']['franka']['load_inertia'])
    assert 'inertia' not in both['tool']['standard_deviation']
    assert np.any(both['other']['franka']['load_inertia'])


def test_no_payload_no_mass_no_centre() -> None:
    with pytest.raises(EstimationError, match='no payload'):
        payload_text([], 'log 7')
    with pytest.raises(EstimationError, match="'tool': no body has a mass of -1 kg"):
        payload_text([payload(mass=-1.0)], 'log 7')
    with pytest.raises(EstimationError, match='do not determine its centre'):
        payload_text([payload(open_from=3)], 'log 7')
