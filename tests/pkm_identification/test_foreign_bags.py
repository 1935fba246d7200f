"""Bags of other people's robots: topics, joint names, units, shared topics, missing stamps."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification import identify
from pkm_identification.datasets import BagWriter, load
from pkm_identification.datasets.bags.message_types import jazzy_typestore

JOINT_STATE = 'sensor_msgs/msg/JointState'
MAPPING = {'axis_1': 'left', 'axis_2': 'right'}


@pytest.fixture
def write():
    """The function that writes bags with nothing but JointState messages."""
    types = jazzy_typestore()
    header_of = types.types['std_msgs/msg/Header']
    time_of = types.types['builtin_interfaces/msg/Time']

    def write(path, topics, *, stamped=True):
        """Topics: {name: [(names, stamps, positions, efforts[, velocities]), ...]} of drivers."""
        with BagWriter(path) as writer:
            for topic, drivers in topics.items():
                rows = sorted(
                    (t, k, i) for k, driver in enumerate(drivers) for i, t in enumerate(driver[1])
                )
                for t, k, i in rows:
                    names, _, positions, efforts, *velocities = drivers[k]
                    stamp = round(t * 1e9) + 10**15
                    own = stamp if stamped else 0
                    header = header_of(time_of(own // 10**9, own % 10**9), '')
                    message = types.types[JOINT_STATE](
                        header,
                        list(names),
                        np.array(positions[i]),
                        np.array(velocities[0][i]) if velocities else np.zeros(0),
                        np.array(efforts[i]),
                    )
                    data = bytes(types.serialize_cdr(message, JOINT_STATE))
                    writer.write(topic, JOINT_STATE, data, stamp)
        return path

    return write


@pytest.fixture
def recorded(record):
    return record(periods=4)


def driver(data, names=tuple(MAPPING), rows=slice(None)):
    return (names, data.time[rows], data.positions[rows], data.efforts[rows])


def test_topic_and_joints_are_mapped(tmp_path, write, recorded, slider_model):
    other = (('axis_1', 'axis_2'), recorded.time, recorded.positions + 1.0, recorded.efforts)
    path = write(
        tmp_path / 'bag', {'/joint_states': [other], '/machine/joint_states': [driver(recorded)]}
    )
    with pytest.raises(DatasetError, match='all match'):
        load(path)
    for topic in ('/machine/joint_states', 'machine/joint_states'):
        data = load(path, topic=topic, joints=MAPPING)
        assert data.joint_names == ('left', 'right')
        np.testing.assert_array_equal(data.positions, recorded.positions)
        np.testing.assert_array_equal(data.efforts, recorded.efforts)
        assert data.effort_delay == 0.0
    np.testing.assert_allclose(
        load(path, topic='/joint_states', joints=MAPPING).positions, recorded.positions + 1.0
    )
    result = identify(data, slider_model, period=1.0)
    assert result.diagnostics['signals']['periods'] == 4
    with pytest.raises(DatasetError, match="no messages on topic '/arm'.*/machine/joint_states"):
        load(path, topic='/arm')
    with pytest.raises(
        DatasetError, match="lacks joints 'left', 'right' and has unknown joints.*--joint NAME=NAME"
    ):
        load(path, topic='/joint_states').for_model(slider_model)


def test_velocities_come_with_the_positions(tmp_path, write, recorded):
    """In the order of the joints; without numbers there are none."""
    measured = np.random.default_rng(0).normal(size=recorded.positions.shape)
    path = write(tmp_path / 'bag', {'/joint_states': [(*driver(recorded), measured)]})
    data = load(path, joints=dict(reversed(MAPPING.items())))
    assert data.joint_names == ('right', 'left')
    np.testing.assert_array_equal(data.velocities, measured[:, ::-1])
    unknown = np.full_like(measured, np.nan)
    path = write(tmp_path / 'other', {'/joint_states': [(*driver(recorded), unknown)]})
    assert load(path).velocities is None
    assert load(write(tmp_path / 'none', {'/joint_states': [driver(recorded)]})).velocities is None


def test_a_topic_of_another_name_is_asked_for(tmp_path, write, recorded):
    path = write(tmp_path / 'bag', {'/machine/state': [driver(recorded)]})
    with pytest.raises(DatasetError, match=r'holds /machine/state; topic= \(--topic\) names'):
        load(path)
    assert load(path, topic='/machine/state', joints=MAPPING).joint_names == ('left', 'right')


def test_wrong_mappings_name_the_joint(tmp_path, write, recorded):
    path = write(tmp_path / 'bag', {'/joint_states': [driver(recorded)]})
    with pytest.raises(DatasetError, match="no joint 'axis_7'; the joints are axis_1, axis_2"):
        load(path, joints={'axis_7': 'left'})
    with pytest.raises(DatasetError, match="two joints are to be called 'left'"):
        load(path, joints={'axis_1': 'left', 'axis_2': 'left'})
    data = load(path, joints={'axis_2': 'right'})
    assert data.joint_names == ('right',) and data.provenance['left_out'] == ['axis_1']


def test_drivers_that_share_a_topic(tmp_path, write, recorded):
    """A gripper publishes on the same topic, less often and with its own joint."""
    rows = slice(None, None, 7)
    gripper = (
        ('finger',),
        recorded.time[rows] + 3e-4,
        recorded.positions[rows, :1],
        recorded.efforts[rows, :1],
    )
    path = write(tmp_path / 'bag', {'/joint_states': [driver(recorded), gripper]})
    with pytest.raises(DatasetError, match=r'not all messages name the same.*finger \(572 mes'):
        load(path)
    data = load(path, joints=MAPPING)
    np.testing.assert_array_equal(data.positions, recorded.positions)
    assert data.provenance['left_out_messages'] == {'finger': 572}


def test_messages_without_stamps_use_the_time_of_writing(tmp_path, write, recorded):
    path = write(tmp_path / 'bag', {'/joint_states': [driver(recorded)]}, stamped=False)
    data = load(path, joints=MAPPING)
    np.testing.assert_allclose(data.time, recorded.time, atol=1e-9)
    assert 'carry none' in data.provenance['stamps']


def test_efforts_that_are_currents(tmp_path, write, recorded, slider_model):
    constants = np.array([20.0, 25.0])
    names, time, positions, efforts = driver(recorded)
    currents = efforts / constants
    path = write(tmp_path / 'bag', {'/joint_states': [(names, time, positions, currents)]})
    data = load(path, joints=MAPPING, effort_unit='A')
    assert data.efforts is None
    np.testing.assert_allclose(data.for_model(slider_model).efforts, efforts, rtol=1e-12)
    with pytest.raises(DatasetError, match="effort_unit 'mA'"):
        load(path, effort_unit='mA')


def test_force_constants_with_uncertainty(tmp_path, write, recorded, slider_model, monkeypatch):
    monkeypatch.setattr(type(slider_model), 'force_constants', np.array([np.nan, 25.0]))
    names, time, positions, efforts = driver(recorded)
    currents = efforts / np.array([20.0, 25.0])
    path = write(tmp_path / 'bag', {'/joint_states': [(names, time, positions, currents)]})
    options = {'joints': MAPPING, 'effort_unit': 'A'}
    with pytest.raises(DatasetError, match="currents of 'left' cannot become forces"):
        load(path, **options).for_model(slider_model)
    with pytest.raises(DatasetError, match="constant of 'right' is 26 in the recording and 25"):
        load(path, **options, force_constants={'left': 20, 'right': 26}).for_model(slider_model)
    with pytest.raises(DatasetError, match="unknown joint 'lift'"):
        load(path, **options, force_constants={'lift': 20})
    with pytest.raises(DatasetError, match="'left' must be a number"):
        load(path, **options, force_constants={'left': 'strong'})
    given = {'left': (20.0, 1.0), 'right': (26.0, 2.0)}
    data = load(path, **options, force_constants=given)
    np.testing.assert_allclose(data.for_model(slider_model).efforts, currents * [20.0, 26.0])

    certain = load(path, **options, force_constants={'left': 20.0})
    uncertain = load(path, **options, force_constants={'left': (20.0, 1.0)})
    results = [identify(each, slider_model, 'ls', period=1.0) for each in (certain, uncertain)]
    shifted = load(path, **options, force_constants={'left': 20.2})
    change = identify(shifted, slider_model, 'ls', period=1.0).values - results[0].values
    added = results[1].covariance - results[0].covariance
    square = np.outer(change, change) / 0.2**2  # of a fifth of a standard deviation
    np.testing.assert_allclose(added, square, atol=0.03 * np.abs(square).max())
    assert results[1].diagnostics['force_constant_deviation'] == [0.05, 0.0]


def test_both_given_must_agree(record, slider_model):
    data = record(periods=1)

    currents = data.efforts / slider_model.force_constants
    data.changed(currents=currents).for_model(slider_model)
    with pytest.raises(DatasetError, match="'left'.*opposite signs"):
        data.changed(currents=currents * [-1, 1]).for_model(slider_model)
    with pytest.raises(DatasetError, match="efforts of 'right'.*another unit"):
        data.changed(currents=currents * [1, 1000]).for_model(slider_model)
