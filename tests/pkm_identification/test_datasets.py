"""Reading and writing of recorded data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets import (
    BagWriter,
    Recording,
    load,
    partial_path,
    source,
    stored_array,
    tidied,
)
from pkm_identification.datasets.bags import bag_reader, bag_recording, pairing
from pkm_identification.datasets.data_file import DataFile

NAMES = ['left', 'right']


@pytest.fixture
def signals():
    rng = np.random.default_rng(1)
    time = np.arange(400) * 1e-3
    return time, rng.normal(size=(400, 2)), rng.normal(size=(400, 2))


FORCE_KINDS = ('position', 'current', 'command')


def write_csv(path, time, positions, efforts, names=('left', 'right'), kind='effort'):
    header = ['time', *(f'{n}.position' for n in names), *(f'{n}.{kind}' for n in names)]
    table = np.column_stack([time, positions, efforts])
    np.savetxt(path, table, delimiter=',', header=', '.join(header), comments='', fmt='%.17g')
    return path


def save_npz(path, time, positions, efforts, names=NAMES, **more):
    np.savez(
        path, time=time, joint_names=np.array(names), positions=positions, efforts=efforts, **more
    )
    return path


def test_csv_and_npz_match_joints_by_name(tmp_path, signals, slider_model):
    time, q, f = signals
    csv = write_csv(tmp_path / 'a.csv', time, q[:, ::-1], f[:, ::-1], names=('right', 'left'))
    npz = save_npz(tmp_path / 'a.npz', time, q[:, ::-1], f[:, ::-1], names=['right', 'left'])
    for path in (csv, npz):
        data = load(path).for_model(slider_model)
        assert data.joint_names == ('left', 'right')
        np.testing.assert_array_equal(data.positions, q)
        np.testing.assert_array_equal(data.efforts, f)


@pytest.mark.parametrize('long', [False, True])
@pytest.mark.parametrize('kind', ['efforts', 'currents'])
def test_flags_of_samples_follow_their_joints(signals, slider_model, long, kind):
    """Other bad samples in each joint, in an order that a swap of two does not undo."""
    time, q, f = signals
    names = ('idle', 'right', 'left')
    bad = {'left': slice(10, 20), 'right': slice(100, 130), 'idle': slice(200, 260)}
    flags = np.ones((2, 400, 3), dtype=bool)
    for column, name in enumerate(names):
        flags[0, bad[name], column] = False
        flags[1, bad[name].stop : bad[name].stop + 7, column] = False
    values = {kind: np.column_stack([f[:, 0], f])}
    data = Recording.from_arrays(
        time,
        names,
        np.column_stack([q[:, 0], q]),
        **values,
        position_valid=flags[0],
        effort_valid=flags[1],
        effort_limits=np.array([3.0, 2.0, 1.0]),
    )
    if long:
        data = replace(data, source=source.Source.of(data.source.whole, is_long=True))
    chosen = data.with_joints(['left', 'idle'])
    np.testing.assert_array_equal(chosen.position_valid, flags[0][:, [2, 0]])
    np.testing.assert_array_equal(chosen.effort_valid, flags[1][:, [2, 0]])
    np.testing.assert_array_equal(chosen.effort_limits, [1.0, 3.0])
    renamed = data.renamed({'left': 'right', 'right': 'left'})
    np.testing.assert_array_equal(
        renamed.effort_valid[:, renamed.joint_names.index('right')], flags[1][:, 2]
    )
    ordered = data.for_model(slider_model)
    assert ordered.joint_names == ('left', 'right') and ordered.is_long == long
    np.testing.assert_array_equal(ordered.position_valid, flags[0][:, [2, 1]])
    np.testing.assert_array_equal(ordered.effort_valid, flags[1][:, [2, 1]])
    np.testing.assert_array_equal(ordered.positions, np.column_stack([q[:, 1], q[:, 0]]))


def test_currents_become_forces(tmp_path, signals, slider_model):
    time, q, i = signals
    data = load(write_csv(tmp_path / 'a.csv', time, q, i, kind='current')).for_model(slider_model)
    np.testing.assert_allclose(data.efforts, i * [20.0, 25.0])


def test_force_constants_must_agree(tmp_path, signals, slider_model):
    time, q, i = signals
    path = tmp_path / 'a.npz'
    np.savez(
        path, time=time, joint_names=NAMES, positions=q, currents=i, force_constants=[20.0, 24.0]
    )
    with pytest.raises(DatasetError, match="'right' is 24 in the recording and 25"):
        load(path).for_model(slider_model)


def test_efforts_in_another_unit_than_currents(tmp_path, signals, slider_model):
    time, q, i = signals
    path = save_npz(tmp_path / 'a.npz', time, q, i, currents=i)
    with pytest.raises(DatasetError, match="efforts of 'left'.*unit"):
        load(path).for_model(slider_model)


def test_bag_round_trip(tmp_path, signals, bag_of):
    time, q, i = signals
    path = bag_of(tmp_path / 'bag', time, q, i, names=['right', 'left'], delay=-0.5e-3)
    data = load(path)
    assert data.joint_names == ('right', 'left')
    # the circular delay is half an interval: one row has its partner before the first stamp
    assert abs(abs(data.effort_delay) - 0.5e-3) < 1e-12
    shift = round((data.effort_delay + 0.5e-3) / 1e-3)
    rows = np.round(data.time * 1e3).astype(int) + round(data.provenance['start_stamp'] / 1e6)
    np.testing.assert_array_equal(data.positions, q[rows])
    np.testing.assert_array_equal(data.currents, i[rows + shift])
    assert data.urdf == '<robot name="sliders"/>'
    assert not partial_path(path).exists()


def test_bag_with_changing_joint_order_is_decoded(tmp_path, signals, bag_of):
    time, q, i = signals
    data = load(bag_of(tmp_path / 'bag', time, q, i, shuffle=3))
    names = list(data.joint_names)
    expected = q[:, [NAMES.index(name) for name in names]]
    np.testing.assert_array_equal(data.positions, expected)


def test_long_bags_keep_numbers_alone(tmp_path, signals, bag_of, monkeypatch):
    """Chunks of messages, also where the joints change their order, give what the whole gives."""
    time, q, i = signals
    path = bag_of(tmp_path / 'bag', time, q, i, shuffle=3)
    whole = load(path)
    for chunk in (7, 64):
        monkeypatch.setattr(bag_reader, 'CHUNK', chunk)
        parts = load(path)
        assert parts.joint_names == whole.joint_names
        np.testing.assert_array_equal(parts.time, whole.time)
        np.testing.assert_array_equal(parts.positions, whole.positions)
        np.testing.assert_array_equal(parts.currents, whole.currents)
    bag = bag_reader.read_bag(path, ['joint_states'], numbers={'joint_states': ('position',)})
    topic = next(iter(bag.topics.values()))
    assert not topic.messages and len(topic.columns) == len(time)


def test_bags_too_long_for_memory(tmp_path, signals, bag_of, monkeypatch):
    """Read in blocks, its numbers in temporary files: the same samples and noise-free signals."""
    time, q, i = signals
    truth = tuple(np.random.default_rng(1).normal(size=(3, *q.shape)))
    path = bag_of(
        tmp_path / 'bag', time, q, i, run=(0.05, 0.39), period=0.1, truth=truth, delay=2e-4
    )
    memory = load(path)
    for module, name, value in (
        (bag_reader, 'CHUNK', 64),
        (stored_array, 'IN_MEMORY', 100),
        (stored_array, 'ROWS_AT_ONCE', 50),
        (source, 'LONG', 100),
        (source, 'BLOCK', 70),
        (pairing, 'AT_ONCE', 50),
        (bag_recording, 'AT_ONCE', 50),
    ):
        monkeypatch.setattr(module, name, value)
    long = load(path)
    assert long.is_long and not memory.is_long
    assert isinstance(long.truth.forces, np.memmap)
    for name in ('time', 'positions', 'currents'):
        np.testing.assert_array_equal(getattr(long, name), getattr(memory, name))
        np.testing.assert_array_equal(
            *(
                getattr(each.truth, 'forces' if name == 'currents' else name)
                for each in (long, memory)
            )
        )
    assert (long.period, long.joint_names) == (memory.period, memory.joint_names)
    assert long.effort_delay == pytest.approx(memory.effort_delay, rel=1e-9)
    assert long.provenance == memory.provenance


def test_truth_is_read_where_it_is_wanted(tmp_path, signals, bag_of):
    """Left out by `truth=False`, without another sample; not where the topic is named."""
    time, q, i = signals
    truth = tuple(np.random.default_rng(1).normal(size=(3, *q.shape)))
    path = bag_of(tmp_path / 'bag', time, q, i, truth=truth)
    whole, without = load(path), load(path, truth=False)
    assert whole.truth is not None and without.truth is None
    np.testing.assert_array_equal(without.currents, whole.currents)
    assert without.provenance == whole.provenance
    named = load(path, truth=False, topics={'ground_truth': '/robot/ground_truth'})
    np.testing.assert_array_equal(named.truth.forces, whole.truth.forces)


def test_pairs_do_not_depend_on_the_parts(monkeypatch):
    random = np.random.default_rng(0)
    first = np.arange(1000) * 1_000_000 + random.integers(-50_000, 50_000, 1000)
    second = np.delete(first + 400_000, [3, 500, 501])[20:]
    whole = pairing.pair_by_stamp(first, second, 'test')
    assert len(whole.first) == 977 and whole.delay == pytest.approx(4e-4, abs=1e-9)
    assert not np.isin([3, 500, 501], whole.first).any()
    monkeypatch.setattr(pairing, 'AT_ONCE', 37)
    parts = pairing.pair_by_stamp(first, second, 'test')
    np.testing.assert_array_equal(parts.first, whole.first)
    np.testing.assert_array_equal(parts.second, whole.second)
    assert parts.jitter == pytest.approx(whole.jitter)


def test_only_whole_periods_at_full_speed_are_used(tmp_path, signals, bag_of):
    time, q, i = signals
    truth = (q, q + 1, q + 2)
    path = bag_of(tmp_path / 'bag', time, q, i, run=(0.05, 0.39), period=0.1, truth=truth)
    data = load(path)
    assert data.period == 0.1
    assert data.provenance['periods'] == 3
    np.testing.assert_array_equal(data.positions, q[50:350])
    np.testing.assert_allclose(data.time, time[:300], atol=1e-12)
    rows = np.searchsorted(data.truth.time, data.time - 1e-6)
    np.testing.assert_array_equal(data.truth.forces[rows], q[50:350] + 2)
    assert len(load(path, only_run=False)) == 400


def test_commanded_forces_of_a_bag_are_held_until_the_next_position(tmp_path, signals, bag_of):
    time, q, i = signals
    path = bag_of(
        *(tmp_path / 'bag', time, q, i), run=(0.0, 9.0), commands=7 * q, skip=('motor_currents',)
    )
    data = load(path, forces='commanded')
    np.testing.assert_array_equal(data.positions, q)
    np.testing.assert_array_equal(data.efforts, 7 * q)
    assert data.currents is None and data.provenance['forces'] == 'commanded'
    assert data.effort_delay == pytest.approx(0.5e-3)
    with pytest.raises(DatasetError, match='motor_currents'):
        load(path)
    silent = bag_of(tmp_path / 'other', time, q, i)
    with pytest.raises(DatasetError, match=r'trajectory_controller/state.*measured forces'):
        load(silent, forces='commanded')


def assert_read_once(path, currents, commands):
    """Both kinds of forces come from a file that is gone after the first one."""
    file = DataFile(path)
    np.testing.assert_array_equal(file.recording('measured').currents, currents)
    path.rename(path.with_name(f'gone_{path.name}'))
    told = file.recording('commanded')
    np.testing.assert_array_equal(told.efforts, commands)
    assert told.provenance['sha256'] == file.recording('measured').provenance['sha256']


def test_a_bag_is_read_once_for_measured_and_commanded_forces(tmp_path, signals, bag_of):
    time, q, i = signals
    path = bag_of(tmp_path / 'bag', time, q, i, run=(0.0, 9.0), commands=7 * q)
    assert_read_once(path, i, 7 * q)


def test_commanded_forces_of_tables(tmp_path, signals):
    time, q, i = signals
    np.savez(
        tmp_path / 'run.npz',
        **{'time': time, 'joint_names': NAMES, 'positions': q, 'currents': i},
        **{'commands': 3 * q, 'effort_delay': 0.2},
    )
    header = ','.join(['time', *(f'{n}.{kind}' for n in NAMES for kind in FORCE_KINDS)])
    columns = np.column_stack([np.stack([q, i, 3 * q], axis=-1).reshape(len(time), -1)])
    np.savetxt(
        tmp_path / 'run.csv',
        np.column_stack([time, columns]),
        delimiter=',',
        header=header,
        comments='',
        fmt='%.17g',
    )
    for name in ('run.npz', 'run.csv'):
        data = load(tmp_path / name, forces='commanded')
        np.testing.assert_array_equal(data.efforts, 3 * q)
        assert data.currents is None
        assert data.effort_delay == pytest.approx(0.5e-3)
        np.testing.assert_array_equal(load(tmp_path / name).currents, i)
        with pytest.raises(DatasetError, match='nothing to say'):
            load(tmp_path / name, forces='commanded', effort_unit='A')
        assert_read_once(tmp_path / name, i, 3 * q)
    np.savez(tmp_path / 'bare.npz', time=time, joint_names=NAMES, positions=q, currents=i)
    with pytest.raises(DatasetError, match='no array `commands`'):
        load(tmp_path / 'bare.npz', forces='commanded')
    with pytest.raises(DatasetError, match="unknown forces 'felt'"):
        load(tmp_path / 'bare.npz', forces='felt')


def test_repeated_samples_are_merged_and_lost_ones_left_out(tmp_path, signals, bag_of):
    time, q, i = signals
    rows = np.concatenate([np.arange(100), [99, 99], np.arange(103, 400)])
    data = load(bag_of(tmp_path / 'bag', time[rows], q[rows], i[rows]))
    np.testing.assert_array_equal(data.positions, np.delete(q, [100, 101, 102], axis=0))
    assert [defect.kind for defect in data.defects] == ['duplicate_stamp']
    changed = q[rows].copy()
    changed[100] += 1
    data = load(bag_of(tmp_path / 'other', time[rows], changed, i[rows]))
    (defect,) = [each for each in data.defects if 'different' in each.treatment]
    assert defect.count == 3 and defect.where[0] == (pytest.approx(0.099), pytest.approx(0.099))
    np.testing.assert_array_equal(data.positions, np.delete(q, [99, 100, 101, 102], axis=0))


def test_missing_topic_is_named(tmp_path, signals, bag_of):
    path = bag_of(tmp_path / 'bag', *signals, skip=('motor_currents',))
    with pytest.raises(DatasetError, match=r"topic 'motor_currents'.*/robot/joint.*a \.csv or"):
        load(path)


def test_samples_that_are_no_number_are_marked(tmp_path, signals, bag_of):
    time, q, f = signals
    q[123, 1] = np.nan
    for path in (
        bag_of(tmp_path / 'bag', time, q, f),
        save_npz(tmp_path / 'a.npz', time, q, f),
        write_csv(tmp_path / 'a.csv', time, q, f),
    ):
        data = load(path)
        assert list(np.argwhere(~data.position_valid)[0]) == [123, 1] and np.isfinite(q[122, 1])
        assert data.positions[123, 1] == q[122, 1]
        (defect,) = data.defects
        assert (defect.kind, defect.joint, defect.signal) == ('not_finite', 'right', 'position')
        assert defect.where == ((pytest.approx(0.123), pytest.approx(0.123)),)
    q[:300, 1] = np.nan
    with pytest.raises(DatasetError, match=r"joint 'right' is nan in 300 of 400.*\(t = 0.000"):
        load(save_npz(tmp_path / 'b.npz', time, q, f))


@pytest.mark.parametrize('part', [0.3, 0.5, 0.9, 0.999])
def test_cut_bag(tmp_path, bag_of, part):
    rng = np.random.default_rng(2)
    time = np.arange(4000) * 1e-3
    q, i = rng.normal(size=(2, 4000, 2))
    path = bag_of(tmp_path / 'bag', time, q, i)
    file = path / 'bag.mcap'
    data = file.read_bytes()
    file.write_bytes(data[: int(part * len(data))])
    prefix = load(path, allow_incomplete=True)
    with pytest.raises(DatasetError, match=r'cut off.* s are readable.*allow_incomplete') as caught:
        load(path)
    seconds = float(str(caught.value).partition('end): ')[2].partition(' s')[0])
    assert seconds == pytest.approx(prefix.time[-1], abs=2e-3)  # of all topics
    assert part * 4000 * 0.6 < len(prefix) <= 4000
    np.testing.assert_array_equal(prefix.positions, q[: len(prefix)])


def test_bag_that_is_cut_off_in_its_first_chunk(tmp_path, bag_of):
    time = np.arange(50) * 1e-3
    path = bag_of(tmp_path / 'bag', time, *np.zeros((2, 50, 2)))
    file = path / 'bag.mcap'
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 3])
    for allowed in (False, True):
        with pytest.raises(DatasetError, match='before its first chunk is whole: nothing of it'):
            load(path, allow_incomplete=allowed)


def test_separator_of_a_csv_file(tmp_path):
    path = tmp_path / 'data.csv'
    path.write_text('time;left.position;left.effort\n0;1;2\n')
    with pytest.raises(DatasetError, match='separated by commas.* header is time;left'):
        load(path)


def test_aborted_recording_is_readable(tmp_path, signals, bag_of, monkeypatch):
    time, q, i = signals
    written = 0
    write = BagWriter.write

    def failing(self, *arguments):
        nonlocal written
        written += 1
        if written > 500:
            raise RuntimeError('power off')
        write(self, *arguments)

    monkeypatch.setattr(BagWriter, 'write', failing)
    with pytest.raises(RuntimeError):
        bag_of(tmp_path / 'bag', time, q, i)
    assert not (tmp_path / 'bag').exists()
    data = load(partial_path(tmp_path / 'bag'), allow_incomplete=True)
    assert len(data) == 250


def test_existing_bag_is_not_overwritten(tmp_path, signals, bag_of):
    bag_of(tmp_path / 'bag', *signals)
    with pytest.raises(DatasetError, match='exists already'):
        BagWriter(tmp_path / 'bag')


def test_unknown_message_type(tmp_path):
    with (
        pytest.raises(DatasetError, match="'nobody/msg/Thing'"),
        BagWriter(tmp_path / 'bag') as writer,
    ):
        writer.write('/x', 'nobody/msg/Thing', b'', 0)


def write_text(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('a.csv', '', 'has no line with a header'),
        ('a.csv', 'time,left.position,left.effort\n', 'no samples'),
        ('a.csv', 'time,left.position,left.torque\n0,1,2\n', "unknown column 'left.torque'"),
        ('a.csv', 'left.position,left.effort\n0,1\n', "exactly one column 'time'"),
        ('a.csv', 'time,left.effort\n0,1\n', "no column 'left.position'"),
        ('a.csv', 'time,left.position,left.effort\n0,1,x\n', "'left.effort': 'x' is not a number"),
        (
            'a.csv',
            'time,left.position,left.effort\n0,1,2\n0,1,2\n',
            'does not increase at sample 1',
        ),
        (
            'a.csv',
            'time,l.position,l.effort,r.position,r.effort,r.current\n0,1,2,3,4,5\n1,1,2,3,4,5\n',
            "column 'l.current' is missing",
        ),
        (
            'a.csv',
            'time,l.position,l.effort\n1e18,1,2\n1.000000001e18,1,2\n',
            'goes on by 1e.09 .* must be in seconds',
        ),
        ('a.xyz', 'x', 'unknown format'),
        ('a.txt', 'x', 'needs a file of names'),
        ('a.npz', 'x', 'cannot be read as an NPZ'),
        ('a.mcap', '', '0 bytes'),
        ('a.mcap', 'something else', 'not an MCAP'),
    ],
)
def test_bad_files(tmp_path, name, text, message):
    with pytest.raises(DatasetError, match=message):
        load(write_text(tmp_path / name, text))


def test_missing_file_and_option(tmp_path, signals):
    with pytest.raises(DatasetError, match='does not exist'):
        load(tmp_path / 'none.npz')
    with pytest.raises(DatasetError, match="unknown option 'rate'"):
        load(save_npz(tmp_path / 'a.npz', *signals), rate=3)
    (tmp_path / 'empty').mkdir()
    with pytest.raises(DatasetError, match='neither metadata.yaml nor an .mcap'):
        load(tmp_path / 'empty')


def test_npz_shapes(tmp_path, signals):
    time, q, f = signals
    with pytest.raises(DatasetError, match=r'efforts have shape \(399, 2\), expected \(400, 2\)'):
        load(save_npz(tmp_path / 'a.npz', time, q, f[1:]))
    np.savez(tmp_path / 'b.npz', time=time, positions=q)
    with pytest.raises(DatasetError, match='lacks joint_names'):
        load(tmp_path / 'b.npz')


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'period': -1.0}, 'period must be positive .* got -1.0'),
        ({'force_constants': [0.0, 25.0]}, 'force_constants must be finite and other than 0'),
        ({'force_constant_deviations': [-1.0, 1.0]}, 'deviations must be finite and not negative'),
        ({'efforts': np.full((400, 2), 1j)}, 'they are complex'),
    ],
)
def test_impossible_numbers_of_npz_files(tmp_path, signals, fields, message):
    time, q, f = signals
    content = {'time': time, 'joint_names': NAMES, 'positions': q, 'efforts': f} | fields
    np.savez(tmp_path / 'a.npz', **content)
    with pytest.raises(DatasetError, match=message):
        load(tmp_path / 'a.npz')


def test_constants_that_have_nothing_to_say(tmp_path, signals):
    path = save_npz(tmp_path / 'a.npz', *signals)
    with pytest.raises(DatasetError, match=r"holds no currents.*effort_unit='A'"):
        load(path, force_constants={'left': 20.0})
    assert load(path, force_constants={'left': 20.0}, effort_unit='A').efforts is None


@pytest.mark.parametrize(
    ('metadata', 'message'),
    [
        ({'force_constants': {'left': 'x'}}, "force constant of 'left' in the metadata must be"),
        ({'period': [1]}, 'period of the metadata must be a number'),
        ({'trajectory': {'radius': 'x', 'speed': 1}}, 'radius of the trajectory in the metadata'),
    ],
)
def test_metadata_without_numbers(tmp_path, signals, bag_of, metadata, message):
    with pytest.raises(DatasetError, match=message):
        load(bag_of(tmp_path / 'bag', *signals, metadata=metadata))


def test_topics_that_are_named_must_be_there(tmp_path, signals, bag_of):
    """A misspelt topic of the currents must not make the efforts of the positions' topic do."""
    path = bag_of(tmp_path / 'bag', *signals)
    for role in ('motor_currents', 'ground_truth', 'joint_states'):
        with pytest.raises(DatasetError, match="no messages on topic '/curents'"):
            load(path, topics={role: '/curents'})


def test_unknown_and_missing_joints(signals, slider_model):
    time, q, f = signals
    with pytest.raises(
        DatasetError, match="lacks joint 'right' and has unknown joint 'rihgt'.*left, right"
    ):
        Recording.from_arrays(time, ('left', 'rihgt'), q, f).for_model(slider_model)


def test_arrays_are_frozen_copies(signals):
    time, q, f = signals
    data = Recording.from_arrays(time, NAMES, q, f)
    q[0] = 99.0
    assert data.positions[0, 0] != 99.0
    with pytest.raises(ValueError, match='read-only'):
        data.positions[0, 0] = 1.0


def test_npz_with_the_truth_of_a_simulated_robot(tmp_path):
    time = 1e-3 * np.arange(50)
    truth = {
        f'truth_{name}': np.full((50, 2), k)
        for k, name in enumerate(('positions', 'velocities', 'forces'))
    }
    content = {
        'time': time,
        'joint_names': ['b', 'a'],
        'positions': np.zeros((50, 2)),
        'efforts': np.zeros((50, 2)),
        'truth_time': time,
        **truth,
    }
    np.savez(tmp_path / 'whole.npz', **content)
    found = load(tmp_path / 'whole.npz').truth
    np.testing.assert_array_equal(found.forces, np.full((50, 2), 2.0))
    del content['truth_velocities']
    np.savez(tmp_path / 'part.npz', **content)
    with pytest.raises(DatasetError, match='lacks truth_velocities'):
        load(tmp_path / 'part.npz')


@pytest.mark.parametrize('content', ['time, left.position'.encode('utf-16'), b'\xff\x00\x80,\n1'])
def test_csv_that_is_no_text(tmp_path, content):
    path = tmp_path / 'a.csv'
    path.write_bytes(content)
    with pytest.raises(DatasetError, match='a.csv.*is not text in UTF-8'):
        load(path)


@pytest.mark.parametrize(
    ('field', 'value', 'message'),
    [
        ('period', [1.0, 2.0], 'period must be one finite number'),
        ('effort_delay', 'soon', 'effort_delay does not hold numbers'),
        ('force_constants', ['a', 'b'], 'force_constants does not hold numbers'),
        ('joint_names', [1, 2], 'joint_names must be a list of texts'),
        ('joint_names', [b'\xff', b'b'], 'joint_names are not text'),
    ],
)
def test_malformed_npz_fields(tmp_path, signals, field, value, message):
    time, q, f = signals
    content = {'time': time, 'joint_names': NAMES, 'positions': q, 'efforts': f, field: value}
    np.savez(tmp_path / 'a.npz', **content)
    with pytest.raises(DatasetError, match=f'a.npz.*{message}'):
        load(tmp_path / 'a.npz')


def test_npz_with_names_as_bytes(tmp_path, signals):
    path = save_npz(tmp_path / 'a.npz', *signals, names=[b'left', b'right'])
    assert load(path).joint_names == ('left', 'right')


def test_passive_joints_without_efforts_are_left_out(tmp_path, signals, bag_of, slider_model):
    time, q, i = signals
    wide, currents = np.column_stack([q, q[:, 0]]), np.column_stack([i, np.nan * time])
    names = ['left', 'right', 'idle']
    bag = bag_of(tmp_path / 'bag', time, wide, currents, names=names)
    csv = write_csv(tmp_path / 'a.csv', time, wide, currents, names, 'current')
    for path in (bag, csv):
        data = load(path)
        assert data.joint_names == ('left', 'right')
        assert data.provenance['left_out'] == ['idle']
        assert data.for_model(slider_model).efforts.shape == (len(data), 2)
    lacking = tidied(
        Recording.from_arrays(time, NAMES, q, np.column_stack([i[:, 0], np.nan * time]))
    )
    with pytest.raises(DatasetError, match="lacks joint 'right' and has no efforts of joint"):
        lacking.for_model(slider_model)
    currents[3, 0] = np.nan
    data = load(write_csv(tmp_path / 'b.csv', time, wide, currents, names, 'current'))
    assert list(np.argwhere(~data.effort_valid)[0]) == [3, 0]


def test_positions_beyond_the_stroke_are_named(slider_model):
    time = np.arange(100) * 0.01
    q = np.full((100, 2), 0.5)
    q[:, 0] = -0.009  # within 1 % of the stroke
    q[40:, 1] = 1.2
    data = Recording.from_arrays(time, NAMES, q, q)
    (warning,) = data.stroke_warnings(slider_model)
    assert "'right'" in warning and 't = 0.400000 s' in warning and 'up to 0.2' in warning


def test_the_payload_of_a_bag_and_of_a_file(tmp_path, signals, bag_of):
    time, q, i = signals
    weight = {'mass': 2.0, 'centre': [0.0, 0.0, 0.1], 'name': 'weight'}
    data = load(bag_of(tmp_path / 'bag', time, q, i, metadata={'payload': weight}))
    assert data.payload is not None and data.payload.mass == 2.0 and data.payload.inertia is None
    assert load(bag_of(tmp_path / 'empty', time, q, i)).payload is None
    wrong = bag_of(tmp_path / 'wrong', time, q, i, metadata={'payload': {'mas': 2.0}})
    with pytest.raises(DatasetError, match=r"wrong': payload has no 'mas' \(is 'mass' meant"):
        load(wrong)
    arrays = {'time': time, 'joint_names': NAMES, 'positions': q, 'currents': i}
    np.savez(tmp_path / 'number.npz', **arrays, payload=2.0)
    with pytest.raises(DatasetError, match='payload must be one text in YAML'):
        load(tmp_path / 'number.npz')
