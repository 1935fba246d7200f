"""A recording: its fields, its joints by name, its units and its strokes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import Recording, Truth
from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.source import Source
from pkm_identification.quality.report import located

NAMES = ('left', 'right')
TIME = 2.0 + 1e-2 * np.arange(60)
Q = 0.3 + 0.1 * np.random.default_rng(0).random((60, 3))
F = 10 * np.random.default_rng(1).normal(size=(60, 3))
THREE = ('idle', 'right', 'left')
PLAIN = {'time': TIME, 'joint_names': NAMES, 'positions': Q[:, :2], 'efforts': F[:, :2]}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(source_module, 'BLOCK', 8)
    monkeypatch.setattr(source_module, 'HEAD', 13)
    monkeypatch.setattr(source_module, 'PROBE', 4)


def recording(**fields) -> Recording:
    return Recording.from_arrays(**(PLAIN | fields))


def of_three(**fields) -> Recording:
    """Joints in an order that no swap of two undoes; the sliders have an idle one."""
    return recording(**({'joint_names': THREE, 'positions': Q, 'efforts': F} | fields))


def in_blocks(data: Recording) -> Recording:
    return replace(data, source=Source.of(data.source.whole, is_long=True))


# -- fields -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'joint_names': ('left', 'left')}, "data.csv: joint 'left' appears twice"),
        ({'period': 0.0}, r'period must be positive \[s\], got 0.0'),
        ({'period': -1.0}, 'period must be positive'),
        ({'period': np.inf}, 'period must be positive'),
        ({'period': np.nan}, 'period must be positive'),
        ({'effort_delay': np.nan}, r'effort_delay \[s\] is nan'),
        ({'effort_delay': np.inf}, r'effort_delay \[s\] is inf'),
        ({'time': TIME[:, None]}, r'time must be \(N,\) with N > 0, got shape \(60, 1\)'),
        ({'time': TIME[:0]}, r'with N > 0, got shape \(0,\)'),
        ({'time': ['a'] * 60}, 'time are not numbers'),
        ({'efforts': None}, r'neither efforts \[N, N m\] nor currents \[A\] are given'),
        ({'positions': Q}, r'positions have shape \(60, 3\), expected \(60, 2\)'),
        ({'positions': Q[1:, :2]}, r'positions have shape \(59, 2\), expected \(60, 2\)'),
        ({'efforts': F}, r'efforts have shape \(60, 3\)'),
        ({'currents': F}, r'currents have shape \(60, 3\)'),
        ({'position_valid': F > 0}, r'position_valid have shape \(60, 3\)'),
        ({'effort_valid': F > 0}, r'effort_valid have shape \(60, 3\)'),
        ({'currents': F[:, :2] * 1j}, 'currents are not numbers: they are complex'),
    ],
)
def test_impossible_fields_are_refused(fields, message):
    with pytest.raises(DatasetError, match=message):
        recording(provenance={'source': 'data.csv'}, **fields)


def test_the_columns_of_a_source_are_its_joints():
    message = r'dataset: positions have shape \(60, 3\), expected \(60, 2\) \(samples x joints\)'
    with pytest.raises(DatasetError, match=message):
        Recording(of_three().source, NAMES)


def test_each_array_is_found_again():
    flags = np.random.default_rng(2).random((2, 60, 2)) > 0.3
    data = recording(
        currents=F[:, 1:], position_valid=flags[0], effort_valid=flags[1].astype(int), period=0.2
    )
    np.testing.assert_array_equal(data.time, TIME)
    np.testing.assert_array_equal(data.positions, Q[:, :2])
    np.testing.assert_array_equal(data.efforts, F[:, :2])
    np.testing.assert_array_equal(data.currents, F[:, 1:])
    np.testing.assert_array_equal(data.position_valid, flags[0])
    np.testing.assert_array_equal(data.effort_valid, flags[1])
    assert data.position_valid.dtype == data.effort_valid.dtype == bool
    assert (len(data), data.period, data.name) == (60, 0.2, 'dataset')
    assert data.has_efforts and data.has_currents
    only = recording(efforts=None, currents=F[:, :2])
    assert only.has_currents and not only.has_efforts and only.efforts is None
    plain = recording()
    assert plain.has_efforts and not plain.has_currents
    assert plain.position_valid is None and plain.effort_valid is None


def test_arrays_and_attributes_are_changed(small):
    data = in_blocks(recording(period=0.2, currents=F[:, 1:]))
    changed = data.changed(efforts=None, positions=2 * Q[:, :2], period=0.3, effort_delay=1e-3)
    assert changed.efforts is None and (changed.period, changed.effort_delay) == (0.3, 1e-3)
    np.testing.assert_array_equal(changed.positions, 2 * Q[:, :2])
    np.testing.assert_array_equal(changed.currents, F[:, 1:])
    np.testing.assert_array_equal(changed.time, TIME)
    assert (data.period, data.changed().period) == (0.2, 0.2)
    assert data.with_delay(-2e-3).effort_delay == -2e-3


def test_a_map_of_a_file_is_not_copied(tmp_path):
    np.save(tmp_path / 'q.npy', Q[:, :2])
    positions = np.load(tmp_path / 'q.npy', mmap_mode='r')
    assert np.shares_memory(recording(positions=positions).positions, positions)


def test_stamps_that_are_even_and_samples_that_are_valid():
    assert recording().is_complete
    flags = np.ones((60, 2), dtype=bool)
    assert recording(effort_valid=flags).is_complete
    flags[30, 1] = False
    assert not recording(effort_valid=flags).is_complete
    late = np.array(TIME)
    late[30] += 1e-3
    assert not recording(time=late).is_complete


@pytest.mark.parametrize('long', [False, True])
def test_interval_and_duration(small, long):
    time = np.array(TIME)
    time[20:] += 0.5
    data = recording(time=time)
    data = in_blocks(data) if long else data
    assert data.interval == pytest.approx(1e-2) and data.duration == pytest.approx(0.59 + 0.5)
    assert data.is_long == long
    single = data[:1]
    assert np.isnan(single.interval) and single.duration == 0.0


def test_interval_is_the_median_of_the_first_samples(small):
    steps = np.where(np.arange(59) < 12, np.arange(59) % 3, 7.0) + 1.0  # 1, 2, 3, ... then 8 s
    data = recording(time=np.concatenate([[0.0], np.cumsum(steps)]))
    assert in_blocks(data).interval == 2.0 and data.interval == 8.0


@pytest.mark.parametrize('long', [False, True])
def test_head_and_slices_are_in_memory(small, long):
    data = of_three(period=0.3)
    data = in_blocks(data) if long else data
    assert len(data.head) == (13 if long else 60) and not data.head.is_long
    assert (data.head is data) == (not long)
    part = data[20:50:3]
    assert not part.is_long and (part.period, part.joint_names) == (0.3, THREE)
    np.testing.assert_array_equal(part.time, TIME[20:50:3])
    np.testing.assert_array_equal(part.efforts, F[20:50:3])


# -- joints -----------------------------------------------------------------------


@pytest.fixture
def noted() -> Recording:
    """Of three joints, with everything that a joint has."""
    defects = [located('outlier', np.array([3]), TIME, '', 'effort', name) for name in THREE] + [
        located('gap', np.array([5]), TIME, '')
    ]
    truth = Truth(TIME, Q + 1, Q + 2, Q + 3)
    return of_three(
        currents=F / [1.0, 25.0, 20.0],
        truth=truth,
        effort_limits=np.array([1.0, 2.0, 3.0]),
        effort_scale_deviation=np.array([0.1, 0.2, 0.3]),
        force_constants={'left': 20.0, 'idle': 1.0, 'right': 25.0},
        force_constant_deviations={'left': 0.2, 'idle': 0.1, 'right': 0.5},
        provenance={'source': 'data.csv', 'left_out': ['other']},
        defects=tuple(defects),
    )


@pytest.mark.parametrize('names', [('left', 'idle', 'right'), ('right', 'left'), ('left',)])
@pytest.mark.parametrize('long', [False, True])
def test_all_that_belongs_to_a_joint_goes_with_it(small, noted, names, long):
    data = (in_blocks(noted) if long else noted).with_joints(names)
    columns = [THREE.index(name) for name in names]
    assert data.joint_names == names and data.is_long == long
    np.testing.assert_array_equal(data.positions, Q[:, columns])
    np.testing.assert_array_equal(data.efforts, F[:, columns])
    np.testing.assert_array_equal(data.currents, noted.currents[:, columns])
    np.testing.assert_array_equal(data.truth.positions, Q[:, columns] + 1)
    np.testing.assert_array_equal(data.truth.velocities, Q[:, columns] + 2)
    np.testing.assert_array_equal(data.truth.forces, Q[:, columns] + 3)
    np.testing.assert_array_equal(data.effort_limits, np.array([1.0, 2.0, 3.0])[columns])
    np.testing.assert_array_equal(data.effort_scale_deviation, np.array([0.1, 0.2, 0.3])[columns])
    assert {defect.joint for defect in data.defects} == {*names, ''}
    assert data.source.width == len(names)


def test_the_same_joints_are_the_same_recording(noted):
    assert noted.with_joints(list(THREE)) is noted
    plain = of_three().with_joints(['left'])
    assert plain.truth is None and plain.effort_limits is None


@pytest.mark.parametrize(
    ('joints', 'constants', 'deviations', 'left_out'),
    [
        (
            {'left': 'right', 'right': 'left', 'idle': 'c'},
            {'right': 20.0, 'left': 25.0, 'c': 1.0},
            {'right': 0.2, 'left': 0.5, 'c': 0.1},
            ['other'],
        ),
        ({'right': 'left'}, {'left': 25.0}, {'left': 0.5}, ['other', 'idle', 'left']),
        ({'left': 'right'}, {'right': 20.0}, {'right': 0.2}, ['other', 'idle', 'right']),
    ],
)
def test_renamed_joints_keep_what_is_theirs(noted, joints, constants, deviations, left_out):
    """Also where a joint gets the name of one that is left out."""
    data = noted.renamed(joints)
    assert data.joint_names == tuple(joints.values())
    assert (dict(data.force_constants), dict(data.force_constant_deviations)) == (
        constants,
        deviations,
    )
    columns = [THREE.index(name) for name in joints]
    np.testing.assert_array_equal(data.efforts, F[:, columns])
    assert [each.joint for each in data.defects if each.joint] == [
        joints[name] for name in THREE if name in joints
    ]
    assert data.provenance == {'source': 'data.csv', 'left_out': left_out, 'joints': joints}


def test_constants_by_the_robots_names_stay():
    """The metadata may name the robot's joints, the messages those of the driver."""
    data = recording(joint_names=('axis_1', 'axis_2'), force_constants={'left': 20.0})
    assert data.renamed({'axis_1': 'left'}).force_constants == {'left': 20.0}
    assert data.renamed({'axis_1': 'left'}).provenance['left_out'] == ['axis_2']


def test_renaming_what_is_not_there(noted):
    with pytest.raises(DatasetError, match="^data.csv: there is no joint 'a'; the joints are idle"):
        noted.renamed({'a': 'left'})
    with pytest.raises(DatasetError, match="there is no joints 'a', 'b'; the joints are"):
        noted.renamed({'a': 'left', 'idle': 'x', 'b': 'right'})
    with pytest.raises(DatasetError, match="two joints are to be called 'right'"):
        noted.renamed({'idle': 'a', 'left': 'right', 'right': 'right'})


# -- a robot's order and units ----------------------------------------------------


@pytest.mark.parametrize('long', [False, True])
def test_joints_are_those_of_the_robot_in_its_order(small, slider_model, long):
    slider_model.force_limit = np.array([300.0, 200.0])
    data = of_three()
    data = (in_blocks(data) if long else data).for_model(slider_model)
    assert data.joint_names == NAMES and data.is_long == long
    np.testing.assert_array_equal(data.positions, Q[:, [2, 1]])
    np.testing.assert_array_equal(data.efforts, F[:, [2, 1]])
    np.testing.assert_array_equal(data.effort_limits, [300.0, 200.0])
    assert data.effort_scale_deviation is None


def test_robots_that_name_no_limits(slider_model, monkeypatch):
    monkeypatch.delattr(type(slider_model), 'force_limit')
    monkeypatch.delattr(type(slider_model), 'free_joints')
    monkeypatch.delattr(type(slider_model), 'joint_names')
    data = recording(efforts=None, currents=F[:, :2]).for_model(slider_model)
    assert np.isposinf(data.effort_limits).all() and data.effort_limits.shape == (2,)
    with pytest.raises(DatasetError, match="has unknown joint 'idle'"):
        of_three().for_model(slider_model)


@pytest.mark.parametrize('long', [False, True])
def test_currents_become_forces_by_the_constants_of_their_joints(small, slider_model, long):
    """Recorded ones before described ones; the deviation of a negative one counts as well."""
    slider_model.force_constants = np.array([np.nan, 25.0])
    data = of_three(
        efforts=None,
        currents=F,
        force_constants={'left': -20.0},
        force_constant_deviations={'left': 0.5, 'idle': 9.0},
    )
    ready = (in_blocks(data) if long else data).for_model(slider_model)
    np.testing.assert_allclose(ready.efforts, F[:, [2, 1]] * [-20.0, 25.0], rtol=1e-15)
    np.testing.assert_array_equal(ready.currents, F[:, [2, 1]])
    np.testing.assert_allclose(ready.effort_scale_deviation, [0.025, 0.0], rtol=1e-15)
    assert not data.has_efforts


def test_found_constants_count_before_efforts(slider_model):
    """They may differ from those of recording and description, by whatever."""
    data = of_three(currents=F / 7.0, force_constants={'left': 11.0})
    ready = data.for_model(slider_model, {'right': 3.0, 'left': 4.0})
    np.testing.assert_allclose(ready.efforts, F[:, [2, 1]] / 7.0 * [4.0, 3.0], rtol=1e-14)
    assert ready.effort_scale_deviation is None
    np.testing.assert_array_equal(
        of_three().for_model(slider_model, {'right': 3.0}).efforts, F[:, [2, 1]]
    )


def test_efforts_beside_currents_stay(slider_model):
    currents = F / [1.0, 25.0, 20.0]
    ready = of_three(currents=currents).for_model(slider_model)
    np.testing.assert_array_equal(ready.efforts, F[:, [2, 1]])
    assert ready.effort_scale_deviation is None
    wrong = of_three(currents=currents * [1.0, 1.0, 2.0])
    with pytest.raises(DatasetError, match="efforts of 'left'"):
        wrong.for_model(slider_model)
    slider_model.force_constants = np.array([np.nan, 25.0])  # nothing to compare with
    wrong.for_model(slider_model)


def test_each_probe_of_a_long_recording_is_compared(small, slider_model):
    """Currents that get wrong late, after what a head shows."""
    currents = F[:, :2] / [20.0, 25.0]
    in_blocks(recording(currents=currents)).for_model(slider_model)
    currents[40:, 1] *= 9.0
    with pytest.raises(DatasetError, match="efforts of 'right'"):
        in_blocks(recording(currents=currents)).for_model(slider_model)


def test_joints_without_a_drive_need_no_constant(slider_model):
    slider_model.force_constants = np.array([20.0, np.nan])
    data = recording(efforts=None, currents=F[:, :2] * [1.0, 0.0])
    with pytest.raises(DatasetError, match="currents of 'right'"):
        data.for_model(slider_model)
    slider_model.free_joints = ['right']
    assert data.constants_for(slider_model).tolist() == [20.0, 1.0]
    assert not data.for_model(slider_model).efforts[:, 1].any()


def test_constants_that_differ_are_refused_unless_found(slider_model):
    data = recording(efforts=None, currents=F[:, :2], force_constants={'left': 21.0})
    with pytest.raises(DatasetError, match="'left' is 21 in the recording and 20 in the desc"):
        data.constants_for(slider_model)
    assert data.constants_for(slider_model, found=True).tolist() == [21.0, 25.0]
    sure = replace(data, force_constant_deviations={'left': 0.4})
    assert sure.constants_for(slider_model).tolist() == [21.0, 25.0]


@pytest.mark.parametrize(
    ('names', 'left_out', 'message'),
    [
        (
            ('left',),
            [],
            r"lacks joint 'right'; robot 'sliders' has the actuated joints left, right$",
        ),
        (('idle',), [], r"lacks joints 'left', 'right'; robot"),
        (
            ('left', 'idle'),
            ['right'],
            r"lacks joint 'right' and has no efforts of joint 'right'; r",
        ),
        (
            ('left', 'a'),
            ['x'],
            r"lacks joint 'right' and has unknown joint 'a'; robot .* left out$",
        ),
        (('left', 'right', 'a', 'b'), [], r"dataset: has unknown joints 'a', 'b'; robot .*--joint"),
    ],
)
def test_joints_that_do_not_fit_are_named(slider_model, names, left_out, message):
    columns = [0] * len(names)
    data = recording(
        joint_names=names,
        positions=Q[:, columns],
        efforts=F[:, columns],
        provenance={'left_out': left_out},
    )
    with pytest.raises(DatasetError, match=message):
        data.for_model(slider_model)


def test_efforts_that_are_currents():
    data = recording().with_efforts_as_currents()
    assert data.efforts is None
    np.testing.assert_array_equal(data.currents, F[:, :2])
    with pytest.raises(DatasetError, match="dataset holds no efforts: effort_unit 'A' has nothing"):
        data.with_efforts_as_currents()
    with pytest.raises(DatasetError, match='dataset holds currents besides efforts'):
        recording(currents=F[:, :2]).with_efforts_as_currents()


# -- strokes ----------------------------------------------------------------------


@pytest.mark.parametrize('long', [False, True])
@pytest.mark.parametrize(
    ('joint', 'values', 'expected'),
    [
        (0, {30: -0.0099}, ''),  # of [-0, 1]: 1 % are 0.01
        (
            0,
            {30: -0.011},
            r"'left' leave its stroke \[0, 1\] from t = 2.300000 s on, by up to 0.011",
        ),
        (0, {30: 1.0099}, ''),
        (0, {30: 1.011}, 'from t = 2.300000 s on, by up to 0.011;'),
        (1, {30: 1.5 + 0.019}, ''),  # of [-0.5, 1.5]: 1 % are 0.02
        (1, {30: 1.5 + 0.021}, r"'right' leave its stroke \[-0.5, 1.5\] from t = 2.300000"),
        (1, {30: -0.521}, 'by up to 0.021;'),
        (1, {20: 1.505, 41: 1.53, 50: -0.8, 55: 1.6}, 'from t = 2.410000 s on, by up to 0.3;'),
        (0, {7: 1.2, 8: 1.1, 59: 1.3}, 'from t = 2.070000 s on, by up to 0.3;'),
    ],
)
def test_joints_that_leave_their_stroke(small, slider_model, long, joint, values, expected):
    slider_model.lower, slider_model.upper = np.array([0.0, -0.5]), np.array([1.0, 1.5])
    positions = np.array(Q[:, :2])
    for row, value in values.items():
        positions[row, joint] = value
    data = recording(positions=positions)
    warnings = (in_blocks(data) if long else data).stroke_warnings(slider_model)
    assert len(warnings) == (1 if expected else 0)
    if expected:
        assert re.search(expected, warnings[0]), warnings


def test_warnings_of_strokes_come_in_the_order_of_the_joints(small, slider_model):
    positions = np.array(Q[:, :2])
    positions[40, 0], positions[10, 1] = 3.0, 2.0
    both = in_blocks(recording(positions=positions)).stroke_warnings(slider_model)
    assert [text[:20] for text in both] == ["positions of 'left' ", "positions of 'right'"]
    slider_model.upper = np.array([np.inf, 1.0])
    slider_model.lower = np.array([-np.inf, 0.0])
    (only,) = recording(positions=positions).stroke_warnings(slider_model)
    assert "'right'" in only and 'by up to 1;' in only
