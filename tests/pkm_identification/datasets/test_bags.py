"""Messages as columns, and recordings of their topics."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from pkm_description.errors import DatasetError
from pkm_identification.datasets import BagWriter, load
from pkm_identification.datasets.bags import bag_reader, bag_recording, pairing
from pkm_identification.datasets.bags.bag_reader import RawTopic, matching, read_bag
from pkm_identification.datasets.bags.message_columns import Messages, TopicColumns
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore

STORE = jazzy_typestore()
JOINT_STATE = 'sensor_msgs/msg/JointState'
INTERVAL = 10_000_000  # [ns]
START = 10**15


def header(stamp):
    time = STORE.types['builtin_interfaces/msg/Time'](int(stamp) // 10**9, int(stamp) % 10**9)
    return STORE.types['std_msgs/msg/Header'](time, 'base')


def joint_state(stamp, names, position, velocity=(), effort=()):
    arrays = (np.array(each, dtype=float) for each in (position, velocity, effort))
    message = STORE.types[JOINT_STATE](header(stamp), list(names), *arrays)
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


# -- messages as columns ----------------------------------------------------------


def imu(k):
    vector, quaternion = (STORE.types[f'geometry_msgs/msg/{n}'] for n in ('Vector3', 'Quaternion'))
    random = np.random.default_rng(k)
    a, b, c, turn = random.normal(size=(4, 9))
    message = STORE.types['sensor_msgs/msg/Imu'](
        header(START + k), quaternion(*turn[:4]), a, vector(*turn[4:7]), b, vector(*turn[6:]), c
    )
    return bytes(STORE.serialize_cdr(message, 'sensor_msgs/msg/Imu'))


def polygon(k):
    point = STORE.types['geometry_msgs/msg/Point32']
    points = [point(k + 0.25, -1.0 * k, 8.0), point(7.0 * k, 0.5, k / 4)]
    message = STORE.types['geometry_msgs/msg/PolygonStamped'](
        header(START + 3 * k), STORE.types['geometry_msgs/msg/Polygon'](points)
    )
    return bytes(STORE.serialize_cdr(message, 'geometry_msgs/msg/PolygonStamped'))


def joy(k):
    message = STORE.types['sensor_msgs/msg/Joy'](
        header(START + k), np.array([k, 0.5], np.float32), np.array([k, -k, 3], np.int32)
    )
    return bytes(STORE.serialize_cdr(message, 'sensor_msgs/msg/Joy'))


@pytest.mark.parametrize(
    ('kind', 'make', 'names'),
    [
        (
            'sensor_msgs/msg/Imu',
            imu,
            ['orientation.w', 'orientation_covariance', 'linear_acceleration.z'],
        ),
        ('sensor_msgs/msg/Joy', joy, ['axes', 'buttons']),
        ('geometry_msgs/msg/PolygonStamped', polygon, []),
    ],
)
def test_numbers_of_many_messages_are_those_of_each(kind, make, names):
    """Read at once where all have one layout."""
    data = [make(k) for k in range(1, 6)]
    table = Messages(data, kind, STORE, 'topic')
    assert table.is_uniform
    for name in [*names, 'header.stamp.nanosec']:
        found = table.numbers(name)
        for row, each in enumerate(data):
            value = STORE.deserialize_cdr(each, kind)
            for part in name.split('.'):
                value = getattr(value, part)
            np.testing.assert_array_equal(found[row], value)
    step = 3 if kind.endswith('PolygonStamped') else 1
    np.testing.assert_array_equal(table.stamps(), START + step * np.arange(1, 6))
    assert Messages(data[:1], kind, STORE, 'topic').is_uniform


NAMES = ('a', 'b')


@pytest.mark.parametrize(
    ('second', 'uniform'),
    [
        (joint_state(START + 2_000_000_003, NAMES, [3, 4]), True),
        (joint_state(START + 2_000_000_003, ('b', 'a'), [4, 3]), False),
        (joint_state(START + 2_000_000_003, NAMES, [3, 4], [5, 6]), False),
    ],
)
def test_other_names_or_lengths_are_read_one_by_one(second, uniform):
    table = Messages([joint_state(START, NAMES, [1, 2]), second], JOINT_STATE, STORE, 'topic')
    assert table.is_uniform == uniform
    np.testing.assert_array_equal(table.stamps(), [START, START + 2_000_000_003])
    names, columns = table.by_joint(['position'])
    assert names == ['a', 'b'] and list(columns) == ['position']
    np.testing.assert_array_equal(columns['position'], [[1, 2], [3, 4]])


def test_fields_whose_length_is_not_that_of_the_names():
    for position, velocity, message in (
        ([1, 2, 3], [], "^topic 't': 3 values of 'position' for 2 joint names"),
        ([1], [1, 2], "^topic 't': 1 values of 'position' for 2 joint names"),
    ):
        table = Messages([joint_state(0, NAMES, position, velocity)] * 2, JOINT_STATE, STORE, 't')
        with pytest.raises(DatasetError, match=message):
            table.by_joint(['position', 'velocity'])
    rows = [joint_state(0, NAMES, [1, 2]), joint_state(0, NAMES, [1, 2], [1, 2])]
    table = Messages(rows, JOINT_STATE, STORE, 't')
    with pytest.raises(DatasetError, match="^topic 't': 'velocity' changes its length"):
        table.by_joint(['velocity'])
    names, columns = table.by_joint(['position', 'effort'])
    assert names == ['a', 'b'] and list(columns) == ['position']


def topic_columns():
    return TopicColumns('t', JOINT_STATE, STORE, ('position', 'effort'), True)


def test_messages_of_several_drivers_are_told_by_their_joints():
    """In one portion or in many, each joint at its place."""
    rows = [
        (10, ('a', 'b'), [1, 2]),
        (11, ('c',), [7]),
        (12, ('b', 'a'), [4, 3]),
        (13, ('a', 'b'), [5, 6]),
        (14, ('c',), [8]),
    ]
    data = [joint_state(START + stamp, names, values) for stamp, names, values in rows]
    written = [100 + row[0] for row in rows]
    for step in (5, 2, 1):
        table = topic_columns()
        for begin in range(0, 5, step):
            table.add(data[begin : begin + step], written[begin : begin + step])
        assert len(table) == 5
        for wanted, stamps, expected in (
            (('a',), [10, 12, 13], [[1, 2], [3, 4], [5, 6]]),
            (('b', 'a'), [10, 12, 13], [[1, 2], [3, 4], [5, 6]]),
            (('c',), [11, 14], [[7], [8]]),
        ):
            chosen = table.of_joints(wanted)
            assert len(chosen) == len(stamps)
            np.testing.assert_array_equal(chosen.stamps() - START, stamps)
            np.testing.assert_array_equal(chosen.written() - 100, stamps)
            names, columns = chosen.by_joint(('position', 'effort'))
            assert names == sorted(set(names)) and list(columns) == ['position']
            np.testing.assert_array_equal(columns['position'], expected)
        left = table.of_joints(('c',)).notes
        assert left == {'left_out_messages': {'a, b': 3}}
        for wanted in ((), ('a', 'c'), ('d',)):
            with pytest.raises(DatasetError, match=r'a, b \(3 messages\); c \(2 messages\); say'):
                table.of_joints(wanted)


def test_messages_of_one_driver_need_no_choice():
    table = topic_columns()
    table.add([joint_state(START, NAMES, [1, 2])], [5])
    assert table.of_joints(('x',)) is table and table.of_joints(()) is table


def test_fields_must_not_come_and_go_between_portions():
    table = topic_columns()
    table.add([joint_state(START, NAMES, [1, 2])], [5])
    with pytest.raises(DatasetError, match="topic 't': 'effort' changes its length"):
        table.add([joint_state(START + 1, NAMES, [1, 2], [], [3, 4])], [6])


def test_topics_in_any_namespace():
    topics = ['/joint_states', '/robot/joint_states', '/my_joint_states', 'joint_states', '/a/b']
    assert matching(topics, 'joint_states') == [topics[0], topics[1], topics[3]]
    assert matching(topics, 'a/b') == ['/a/b'] and matching(topics, 'robot') == []


# -- whole periods at full speed --------------------------------------------------


def running(rows, period, offset=0.0, count=60):
    """Rows at full speed -> rows that are used; stamps of the state are off by a share."""
    stamps = START + INTERVAL * np.arange(count)
    phase = np.full(count, 3)
    phase[slice(*rows)] = 4
    table = SimpleNamespace(stamps=lambda: stamps, numbers=lambda name: phase)
    bag = SimpleNamespace(path='bag', table=lambda topic: table)
    shifted = stamps + round(offset * INTERVAL)
    selection, note = bag_recording._running(bag, 'state', shifted, period)
    used = np.flatnonzero(selection)
    assert (np.diff(used) == 1).all()
    return used[0], used[-1] + 1, note['periods']


@pytest.mark.parametrize(
    ('rows', 'period', 'expected'),
    [
        ((5, 15), 0.1, (5, 15, 1)),
        ((5, 14), 0.1, (5, 15, 1)),  # the ends fall beside samples: one interval on either side
        ((5, 23), 0.1, (5, 15, 1)),
        ((5, 24), 0.1, (5, 25, 2)),
        ((5, 25), 0.1, (5, 25, 2)),
        ((5, 26), 0.1, (5, 25, 2)),
        ((5, 15), 0.105, (5, 16, 1)),  # closed by the sample after
        ((5, 26), 0.105, (5, 26, 2)),
        ((5, 37), 0.105, (5, 37, 3)),
        ((5, 15), 0.1004, (5, 15, 1)),  # a period that is as good as whole
        ((5, 40), None, (5, 40, 0)),
    ],
)
def test_whole_periods_from_the_first_sample_at_full_speed(rows, period, expected):
    assert running(rows, period) == expected


@pytest.mark.parametrize(
    ('offset', 'first'), [(-0.2, 5), (0.2, 5), (-0.3, 6), (0.7, 5), (0.8, 4), (-0.9, 6)]
)
def test_samples_count_from_a_quarter_of_an_interval_before(offset, first):
    assert running((5, 15), 0.1, offset) == (first, first + 10, 1)


def test_runs_without_a_whole_period_are_refused():
    with pytest.raises(
        DatasetError,
        match=r"^'bag' holds no whole period at full speed: 0.070 s recorded, the period is 0.1 s",
    ):
        running((5, 13), 0.1)
    with pytest.raises(DatasetError, match=r"^'bag': 'state' never reports full speed \(phase RUN"):
        running((5, 5), 0.1)


def run_with_losses(lost_states=(), lost_samples=(), slowed=False, ramp=400, periods=2):
    """Samples that are used of a run of whole periods of 100 intervals, ramps beside it."""
    count = 2 * ramp + 100 * periods
    stamps = START + INTERVAL * np.arange(count)
    phase = np.repeat([3, 4, 5], [ramp, 100 * periods, ramp])
    passed = (stamps - stamps[ramp]) * 1e-9 * (0.9 if slowed else 1.0)
    kept = np.setdiff1d(np.arange(count), lost_states)
    columns = {'phase': phase[kept], 'trajectory_time': passed[kept]}
    table = SimpleNamespace(stamps=lambda: stamps[kept], numbers=columns.__getitem__)
    bag = SimpleNamespace(path='bag', table=lambda topic: table)
    own = np.setdiff1d(np.arange(count), lost_samples)
    selection, note = bag_recording._running(bag, 'state', stamps[own], 100 * INTERVAL * 1e-9)
    return own[selection], note['periods']


@pytest.mark.parametrize(
    ('lost', 'first'),
    [
        ({}, 400),
        ({'lost_states': [400, 401, 402]}, 399),  # the states of the run's first samples
        ({'lost_states': [597, 598, 599]}, 399),
        ({'lost_samples': [400, 401]}, 399),
        ({'lost_states': [400, 599], 'lost_samples': [598, 599]}, 399),
    ],
)
def test_what_is_lost_at_the_ends_of_a_run_costs_no_period(lost, first):
    """The ramp goes on at full speed for a while: 0.5 % of it, to 1e-6."""
    used, periods = run_with_losses(**lost)
    assert periods == 2
    assert abs(used[0] - first) <= 1 and 398 <= used[0] and used[-1] <= 601
    assert used[-1] - used[0] >= 198


def test_a_run_that_was_slowed_or_lost_more_is_not_stretched():
    used, periods = run_with_losses(slowed=True, lost_states=range(400, 410))
    assert periods == 1
    used, periods = run_with_losses(lost_samples=range(400, 420))
    assert periods == 2 and len(used) == 180  # gaps are looked at later


# -- whole bags -------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """The function that writes a bag of JointState messages: {topic: serialised by stamp}."""
    made = iter(range(100))

    def save(**topics):
        path = tmp_path / f'bag{next(made)}'
        with BagWriter(path) as writer:
            for topic, messages in topics.items():
                for stamp, data in messages.items():
                    writer.write(f'/{topic}', JOINT_STATE, data, stamp)
        return path

    return save


STAMPS = START + INTERVAL * np.arange(30)
Q, V, F = np.random.default_rng(0).normal(size=(3, 30, 3))
THREE = ('a', 'b', 'c')


def states(names=THREE, stamps=STAMPS, columns=(0, 1, 2), effort=F, velocity=None):
    own = list(columns)
    return {
        int(t): joint_state(
            t,
            names,
            Q[k, own],
            () if velocity is None else velocity[k, own],
            () if effort is None else effort[k, own],
        )
        for k, t in enumerate(stamps)
    }


@pytest.mark.parametrize('at_once', [2**18, 7])
def test_noise_free_signals_by_their_joints_and_stamps(write, monkeypatch, at_once):
    """In an order of their own, from one of their intervals before the samples to one after."""
    for module in (pairing, bag_recording):
        monkeypatch.setattr(module, 'AT_ONCE', at_once)
    early = START + INTERVAL * (np.arange(60) // 2 - 5) + INTERVAL // 2 * (np.arange(60) % 2)
    order = (2, 0, 1)
    names = [THREE[k] for k in order]
    truth = {}
    for k, stamp in enumerate(early):
        row = min(k // 2, 29)
        own = list(order)
        truth[int(stamp)] = joint_state(stamp, names, Q[row, own] + k, V[row, own], F[row, own] - k)
    path = write(joint_states=states(stamps=STAMPS[:20]), ground_truth=truth)
    data = load(path)
    assert data.joint_names == THREE and len(data) == 20
    half = INTERVAL * 1e-9 / 2
    kept = np.flatnonzero((early >= START - INTERVAL // 2) & (early <= STAMPS[19] + INTERVAL // 2))
    np.testing.assert_allclose(data.truth.time, half * (np.arange(len(kept)) - 1), atol=1e-12)
    assert data.truth.time[-1] == pytest.approx(data.time[-1] + half)
    rows = np.minimum(kept // 2, 29)
    np.testing.assert_array_equal(data.truth.positions, Q[rows] + kept[:, None])
    np.testing.assert_array_equal(data.truth.velocities, V[rows])
    np.testing.assert_array_equal(data.truth.forces, F[rows] - kept[:, None])


def test_noise_free_signals_must_be_of_all_joints(write):
    path = write(joint_states=states(), ground_truth=states(('b', 'a'), columns=(0, 1)))
    with pytest.raises(DatasetError, match=r"'/ground_truth' lacks c, velocity$"):
        load(path)


def test_efforts_and_positions_of_one_message(write):
    data = load(write(joint_states=states()))
    np.testing.assert_array_equal(data.positions, Q)
    np.testing.assert_array_equal(data.efforts, F)
    np.testing.assert_allclose(data.time, 1e-2 * np.arange(30), atol=1e-12)
    assert (data.effort_delay, data.currents, data.period) == (0.0, None, None)
    assert data.provenance['start_stamp'] == START and data.provenance['complete']
    assert data.provenance['left_out_samples'] == 0
    assert data.provenance['stamp_jitter'] == pytest.approx(0, abs=1e-12)


def test_messages_without_positions_or_efforts(write):
    empty = {int(t): joint_state(t, THREE, (), (), F[k]) for k, t in enumerate(STAMPS)}
    with pytest.raises(DatasetError, match="messages on '/joint_states' hold no positions"):
        load(write(joint_states=empty))
    with pytest.raises(DatasetError, match="no messages on topic 'motor_currents'"):
        load(write(joint_states=states(effort=None)))


def test_stamps_that_occur_twice_and_late_ones(write):
    """A bag in the order of writing: one sample late, one repeated."""
    order = [*range(10), 11, 10, *range(12, 20), 19, *range(20, 30)]
    writer = {
        int(START + 100 * k): joint_state(STAMPS[row], THREE, Q[row], (), F[row])
        for k, row in enumerate(order)
    }
    data = load(write(joint_states=writer))
    np.testing.assert_array_equal(data.positions, Q)
    np.testing.assert_allclose(data.time, 1e-2 * np.arange(30), atol=1e-12)
    assert [(each.kind, each.count) for each in data.defects] == [
        ('duplicate_stamp', 1),
        ('out_of_order', 1),
    ]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            {'topic': '/x', 'topics': {'joint_states': '/y'}},
            "topic= and topics={'joint_states': ...} say the same",
        ),
        ({'topics': {'joints': '/x'}}, "unknown topic role 'joints'; roles are joint_states, mot"),
        ({'topic': '/joint'}, "no messages on topic '/joint'; needed are .* holds /joint_states"),
        ({'topic': 'states'}, "no messages on topic 'states'"),
    ],
)
def test_topics_that_cannot_be_meant(write, options, message):
    with pytest.raises(DatasetError, match=re.compile(message)):
        load(write(joint_states=states()), **options)


@pytest.mark.parametrize('row', [1, 4, 5, 6, 10, 29])
@pytest.mark.parametrize('repeated', [False, True])
def test_the_order_of_stamps_is_checked_at_every_border(write, monkeypatch, row, repeated):
    """However many are looked at at once: two samples swapped, or one written twice."""
    monkeypatch.setattr(bag_recording, 'AT_ONCE', 5)
    order = np.arange(30)
    if repeated:
        order = np.insert(order, row, row - 1)
    else:
        order[[row - 1, row]] = order[[row, row - 1]]
    written = {
        int(START + k): joint_state(STAMPS[which], THREE, Q[which], (), F[which])
        for k, which in enumerate(order)
    }
    data = load(write(joint_states=written))
    np.testing.assert_array_equal(data.positions, Q)
    np.testing.assert_array_equal(data.efforts, F)
    (defect,) = data.defects
    assert defect.kind == ('duplicate_stamp' if repeated else 'out_of_order')


# -- currents on a topic of their own ---------------------------------------------


@pytest.fixture
def with_currents(tmp_path, definitions):
    """The function that writes positions, perhaps with efforts, and currents of a and c."""
    kind = 'pkm_msgs/msg/MotorCurrents'
    store = jazzy_typestore()
    complete_typestore(kind, definitions, store)

    def save(effort, names=('c', 'a'), columns=(2, 0), late=2_000_000, skipped=()):
        path = tmp_path / 'bag'
        with BagWriter(path, definitions=definitions) as writer:
            for stamp, data in states(effort=effort).items():
                writer.write('/joint_states', JOINT_STATE, data, stamp)
            for k, stamp in enumerate(STAMPS + late):
                if k not in skipped:
                    time = store.types['builtin_interfaces/msg/Time'](*divmod(int(stamp), 10**9))
                    message = store.types[kind](
                        store.types['std_msgs/msg/Header'](time, ''),
                        list(names),
                        V[k, list(columns)],
                    )
                    data = bytes(store.serialize_cdr(message, kind))
                    writer.write('/motor_currents', kind, data, int(stamp))
        return path

    return save


def test_currents_belong_to_positions_by_stamps_and_names(with_currents):
    nothing = np.full((30, 3), np.nan)  # as a driver reports efforts that it does not know
    path = with_currents(nothing, skipped=(7, 20))
    data, rows = load(path), np.delete(np.arange(30), [7, 20])
    assert data.joint_names == ('c', 'a') and data.efforts is None
    np.testing.assert_array_equal(data.positions, Q[np.ix_(rows, [2, 0])])
    np.testing.assert_array_equal(data.currents, V[np.ix_(rows, [2, 0])])
    np.testing.assert_allclose(data.time, 1e-2 * rows, atol=1e-12)
    assert data.effort_delay == pytest.approx(2e-3, abs=1e-12)
    assert data.provenance['left_out_samples'] == 2


def test_efforts_of_the_positions_beside_currents(with_currents):
    """They are of the time of the positions, whatever the stamps of the currents."""
    data = load(with_currents(F, skipped=(7,)))
    rows = np.delete(np.arange(30), 7)
    assert data.joint_names == ('c', 'a') and data.effort_delay == 0.0
    np.testing.assert_array_equal(data.efforts, F[np.ix_(rows, [2, 0])])
    np.testing.assert_array_equal(data.currents, V[np.ix_(rows, [2, 0])])
    np.testing.assert_array_equal(data.positions, Q[np.ix_(rows, [2, 0])])


def test_efforts_that_are_known_of_some_joints(with_currents):
    """Of a joint without currents they do not count."""
    only_b = np.where(np.arange(3) == 1, F, np.nan)
    assert load(with_currents(only_b)).efforts is None


def test_currents_of_other_joints(with_currents):
    path = with_currents(None, names=('x', 'y'))
    with pytest.raises(DatasetError, match='are of a, b, c, efforts of x, y; no joint has both'):
        load(path)


def test_currents_of_another_rate(with_currents):
    path = with_currents(None, skipped=range(2, 28))
    with pytest.raises(DatasetError, match='efforts to positions: only 4 of 30 samples have a par'):
        load(path)


# -- files of a bag ---------------------------------------------------------------


def put_together(folder, bags, *, with_metadata=True):
    """One folder with the files of several bags, as a recorder splits one bag."""
    folder.mkdir()
    files = [next(bag.glob('*.mcap')) for bag in bags]
    names = [f'part_{k}.mcap' for k in range(len(files))]
    for file, name in zip(files, names, strict=True):
        (folder / name).write_bytes(file.read_bytes())
    if not with_metadata:
        return folder
    contents = [yaml.safe_load((bag / 'metadata.yaml').read_text()) for bag in bags]
    parts = [content['rosbag2_bagfile_information'] for content in contents]
    whole = parts[0]
    whole['relative_file_paths'] = names
    whole['message_count'] = sum(part['message_count'] for part in parts)
    for k, topic in enumerate(whole['topics_with_message_count']):
        topic['message_count'] = sum(
            part['topics_with_message_count'][k]['message_count'] for part in parts
        )
    whole['files'] = [
        {**part['files'][0], 'path': name} for part, name in zip(parts, names, strict=True)
    ]
    (folder / 'metadata.yaml').write_text(yaml.safe_dump(contents[0]))
    return folder


def test_a_bag_in_several_files_is_one_recording(write, tmp_path):
    everything = states()
    halves = [dict(list(everything.items())[rows]) for rows in (slice(0, 17), slice(17, None))]
    bags = [write(joint_states=half) for half in halves]
    split = load(put_together(tmp_path / 'split', bags))
    np.testing.assert_array_equal(split.positions, load(write(joint_states=everything)).positions)
    assert len(split) == 30


def test_the_folder_of_a_bag_may_be_called_like_a_file_of_ros_1(write, tmp_path):
    folder = write(joint_states=states()).rename(tmp_path / 'run.bag')
    assert len(load(folder)) == 30


def test_a_bag_of_ros_1_is_named_as_such(tmp_path):
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0')
    with pytest.raises(DatasetError, match='ROS 1: convert it with `rosbags-convert'):
        load(tmp_path / 'old.bag')


def test_files_that_nothing_says_belong_together(write, tmp_path):
    bags = [write(joint_states=states()), write(joint_states=states())]
    folder = put_together(tmp_path / 'both', bags, with_metadata=False)
    with pytest.raises(DatasetError, match='holds 2 .mcap files and no metadata.yaml.*part_0.mcap'):
        load(folder)
    assert len(load(folder / 'part_1.mcap')) == 30
    (folder / 'part_0.mcap').unlink()
    assert len(load(folder)) == 30


def test_messages_of_nothing_but_what_is_wanted(tmp_path):
    """A stamp and a number; where one is missing, there are no columns."""
    kind = 'my_msgs/msg/Reading'
    text = 'std_msgs/Header header\nfloat64 value\n'
    store = jazzy_typestore()
    complete_typestore(kind, {kind: text}, store)
    with BagWriter(tmp_path / 'bag', definitions={kind: text}) as writer:
        for k in range(3):
            message = store.types[kind](header(START + k), 0.5 * k)
            writer.write('/reading', kind, bytes(store.serialize_cdr(message, kind)), START + k)
    bag = read_bag(tmp_path / 'bag', ['reading'], numbers={'reading': ('value',)})
    np.testing.assert_array_equal(bag.table('/reading').numbers('value'), [0.0, 0.5, 1.0])
    bag = read_bag(tmp_path / 'bag', ['reading'], numbers={'reading': ('value', 'unit')})
    with pytest.raises(DatasetError, match='has not all of header, name, value, unit'):
        bag.table('/reading')


def test_messages_are_counted_in_portions(monkeypatch):
    """Numbers take their place as soon as a portion is full; others stay as they are."""
    monkeypatch.setattr(bag_reader, 'CHUNK', 4)
    portions = []
    columns = SimpleNamespace(add=lambda messages, written: portions.append(list(written)))
    numbers, whole = RawTopic('/a', 'kind', columns=columns), RawTopic('/b', 'kind')
    for stamp in (3, 1, 4, 9, 5, 2):
        numbers.add(stamp, b'')
        whole.add(stamp, b'')
    assert portions == [[3, 1, 4, 9]] and len(numbers.messages) == 2
    for topic in (numbers, whole):
        topic.flush()
        topic.flush()
        assert topic.span == (1, 9)
    assert portions == [[3, 1, 4, 9], [5, 2]] and not numbers.messages
    assert len(whole.messages) == 6
