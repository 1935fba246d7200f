"""What recordings say of themselves: period, force constants, payload."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets.recorded_metadata import (
    parsed_metadata,
    recorded_force_constants,
    recorded_payload,
    recorded_period,
)


@pytest.mark.parametrize(
    ('metadata', 'period'),
    [
        ({}, None),
        ({'period': 2}, 2.0),
        ({'period': '2.5'}, 2.5),
        ({'period': 0}, None),
        ({'period': None, 'trajectory': {'period': 3.0}}, 3.0),
        ({'period': 2.0, 'trajectory': {'period': 3.0}}, 2.0),
        ({'trajectory': {'period': 3.0, 'radius': 0.5, 'speed': 0.1}}, 3.0),
        ({'trajectory': {'radius': 0.5, 'speed': 0.25}}, 4 * np.pi),
        ({'trajectory': {'radius': 0.5, 'speed': -0.25}}, 4 * np.pi),
        ({'trajectory': {'radius': 0.5}}, None),
        ({'trajectory': {'speed': 0.5}}, None),
        ({'trajectory': {'radius': 0.0, 'speed': 0.5}}, None),
        ({'trajectory': {'radius': 0.5, 'speed': 0.0}}, None),
        ({'trajectory': 'circle'}, None),
    ],
)
def test_period_as_recorded_or_of_the_trajectory(metadata, period):
    found = recorded_period(metadata, 'data')
    assert found == (None if period is None else pytest.approx(period))


@pytest.mark.parametrize(
    ('metadata', 'message'),
    [
        ({'period': 'x'}, "^'data': period of the metadata must be a number, got 'x'"),
        ({'period': 10**400}, "^'data': period of the metadata must be a number, got 10{400}"),
        ({'trajectory': {'period': [1]}}, 'period of the metadata must be a number'),
        ({'trajectory': {'radius': 1, 'speed': 'x'}}, 'speed of the trajectory in the metadata'),
        ({'trajectory': {'radius': [1], 'speed': 1}}, 'radius of the trajectory in the metadata'),
    ],
)
def test_periods_that_are_no_numbers(metadata, message):
    with pytest.raises(DatasetError, match=message):
        recorded_period(metadata, 'data')


def test_force_constants_by_joint():
    metadata = {'force_constants': {'left': 20, 'right': '-2.5', 3: 1.0}}
    found = recorded_force_constants(metadata, 'data')
    assert found == {'left': 20.0, 'right': -2.5, '3': 1.0}
    assert recorded_force_constants({}, 'data') == {}
    with pytest.raises(DatasetError, match="'data': force_constants of the metadata must map"):
        recorded_force_constants({'force_constants': [20.0]}, 'data')
    with pytest.raises(DatasetError, match="'data': force constant of 'right' in the metadata"):
        recorded_force_constants({'force_constants': {'left': 1, 'right': None}}, 'data')


def test_metadata_is_a_mapping_in_yaml():
    assert parsed_metadata('', 'topic') == {}
    assert parsed_metadata('period: 2.0', 'topic') == {'period': 2.0}
    with pytest.raises(DatasetError, match='^topic must be a YAML mapping'):
        parsed_metadata('[1, 2]', 'topic')
    with pytest.raises(DatasetError, match='^topic is not YAML'):
        parsed_metadata('{a: ', 'topic')


def test_payload_as_text_bytes_or_mapping():
    assert recorded_payload(None, 'data') is None
    mapping = {'mass': 2.0, 'centre': [0.0, 0.0, 0.1]}
    text = '{mass: 2.0, centre: [0.0, 0.0, 0.1]}'
    for content in (mapping, text, text.encode()):
        found = recorded_payload(content, 'data')
        assert found is not None and (found.mass, found.centre[2]) == (2.0, 0.1)
    with pytest.raises(DatasetError, match="^'data': "):
        recorded_payload(b'\xff\xfe', 'data')
    with pytest.raises(DatasetError, match="^'data': payload"):
        recorded_payload({'mas': 1.0}, 'data')
