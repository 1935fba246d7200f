"""Bags as they are written: topics, chunks on the disk, names of finished and of cut ones."""

from __future__ import annotations

import pytest
import yaml
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import Reader

from pkm_description.errors import DatasetError
from pkm_identification.datasets import BagWriter, partial_path
from pkm_identification.datasets.bags import bag_reader, bag_writer
from pkm_identification.datasets.bags.bag_reader import read_bag
from pkm_identification.datasets.bags.message_types import jazzy_typestore

TEXT = 'std_msgs/msg/String'
STORE = jazzy_typestore()


def text(value) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[TEXT](value), TEXT))


def size_on_disk(path) -> int:
    return sum(file.stat().st_size for file in path.rglob('*.mcap'))


def test_messages_and_topics_are_found_again(tmp_path):
    """Not before time zero; topics without messages and the bag's own words, too."""
    with BagWriter(tmp_path / 'bag', custom_data={'key': 'value'}) as writer:
        writer.add_topic('/empty', TEXT)
        writer.write('/a', TEXT, text('one'), -5)
        writer.write('/a', TEXT, text('two'), 7)
        writer.write_text('/b', 'three', 9)
        assert writer.counts == {'/empty': 0, '/a': 2, '/b': 1}
        assert (tmp_path / 'bag.partial').is_dir() and not (tmp_path / 'bag').exists()
    assert not (tmp_path / 'bag.partial').exists()
    with Reader(tmp_path / 'bag') as reader:
        found = [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]
        durable = {
            c.topic: c.ext.offered_qos_profiles[0].durability == QosDurability.TRANSIENT_LOCAL
            for c in reader.connections
        }
        depth = {c.topic: c.ext.offered_qos_profiles[0].depth for c in reader.connections}
    assert found == [('/a', 0, text('one')), ('/a', 7, text('two')), ('/b', 9, text('three'))]
    assert durable == {'/empty': False, '/a': False, '/b': True}
    assert depth == {'/empty': 1000, '/a': 1000, '/b': 1}
    content = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    assert content['rosbag2_bagfile_information']['custom_data'] == {'key': 'value'}
    assert content['rosbag2_bagfile_information']['version'] == 9


def test_a_topic_keeps_its_type(tmp_path):
    with BagWriter(tmp_path / 'bag') as writer:
        writer.add_topic('/a', TEXT)
        writer.add_topic('/a', TEXT)
        with pytest.raises(DatasetError, match=f"topic '/a' is of type {TEXT}, not std_msgs/msg/B"):
            writer.add_topic('/a', 'std_msgs/msg/Bool')


def test_large_chunks_go_to_the_disk_at_once(tmp_path, monkeypatch):
    clock = iter([0.0] * 10_000)
    monkeypatch.setattr(bag_writer.time, 'monotonic', lambda: next(clock))
    monkeypatch.setattr(bag_writer, 'CHUNK_BYTES', 2000)
    with BagWriter(tmp_path / 'bag') as writer:
        before = size_on_disk(writer.partial)
        writer.write('/a', TEXT, text('x' * 900), 1)
        assert size_on_disk(writer.partial) == before
        writer.write('/a', TEXT, text('x' * 1200), 2)
        assert size_on_disk(writer.partial) > before


@pytest.mark.parametrize(('seconds', 'flushed'), [(0.49, False), (0.5, True), (0.6, True)])
def test_small_chunks_go_to_the_disk_after_half_a_second(tmp_path, monkeypatch, seconds, flushed):
    now = [100.0]
    monkeypatch.setattr(bag_writer.time, 'monotonic', lambda: now[0])
    with BagWriter(tmp_path / 'bag') as writer:
        before = size_on_disk(writer.partial)
        now[0] += seconds
        writer.write('/a', TEXT, text('x'), 1)
        after = size_on_disk(writer.partial)
        assert (after > before) == flushed
        now[0] += 0.3
        writer.write('/a', TEXT, text('x'), 2)
        assert (size_on_disk(writer.partial) > after) != flushed  # counted from the last time


def test_bags_are_finished_once(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.write('/a', TEXT, text('x'), 1)
    assert writer.close() == tmp_path / 'bag' == writer.close()
    writer.abort()
    assert (tmp_path / 'bag').is_dir()


def test_what_is_there_is_kept(tmp_path):
    """Of a bag, of one that was cut off, and of what came while it was written."""
    partial_path(tmp_path / 'cut').mkdir()
    (tmp_path / 'old').mkdir()
    for name in ('cut', 'old'):
        with pytest.raises(DatasetError, match=f"{name}.*' exists already and is not overwritten"):
            BagWriter(tmp_path / name)
    writer = BagWriter(tmp_path / 'bag')
    writer.write('/a', TEXT, text('x'), 1)
    (tmp_path / 'bag').mkdir()
    with pytest.raises(DatasetError, match="bag' exists already; the recording is in '.*partial'"):
        writer.close()
    assert size_on_disk(writer.partial) > 0 and not list((tmp_path / 'bag').iterdir())


@pytest.mark.parametrize('by_error', [False, True])
def test_a_bag_that_was_aborted_holds_what_was_written(tmp_path, by_error):
    writer = BagWriter(tmp_path / 'bag')
    if by_error:
        with pytest.raises(KeyError), writer:
            writer.write('/a', TEXT, text('x'), 3)
            raise KeyError
    else:
        writer.write('/a', TEXT, text('x'), 3)
        writer.abort()
        writer.abort()
    assert not (tmp_path / 'bag').exists() and writer.close() == tmp_path / 'bag'
    bag = read_bag(writer.partial, ['a'], allow_incomplete=True)
    assert not bag.complete and bag.text('/a') == 'x' and bag.text('/b') == bag.text(None) == ''
    with pytest.raises(DatasetError, match='cut off .no index at its end.: 0.000 s are readable'):
        read_bag(writer.partial, ['a'])


def test_the_last_text_counts_and_times_are_told(tmp_path):
    with BagWriter(tmp_path / 'bag') as writer:
        for stamp, value in ((5 * 10**9, 'one'), (2 * 10**9, 'two'), (6 * 10**9, 'three')):
            writer.write('/ns/a', TEXT, text(value), stamp)
        writer.write('/b', TEXT, text('b'), 1)
    bag = read_bag(tmp_path / 'bag', ['a'])
    assert bag.complete and bag.counts == {'/ns/a': 3, '/b': 1}
    assert list(bag.topics) == ['/ns/a'] and bag.topics['/ns/a'].span == (2 * 10**9, 6 * 10**9)
    assert bag.text('/ns/a') == 'three'
    with pytest.raises(
        DatasetError, match=f"topic '/ns/a' is of type {TEXT}, which has not all of"
    ):
        read_bag(tmp_path / 'bag', ['a'], numbers={'a': ('position',)}).table('/ns/a')


def test_a_bag_without_messages_is_refused(tmp_path):
    with BagWriter(tmp_path / 'bag') as writer:
        writer.add_topic('/a', TEXT)
    with pytest.raises(DatasetError, match="bag' holds no messages"):
        read_bag(tmp_path / 'bag', ['a'])


# -- files without an end ---------------------------------------------------------


def record(code, length) -> bytes:
    return bytes([code]) + length.to_bytes(8, 'little') + b'\x07' * length


HEAD = bag_reader.MAGIC + record(0x01, 300)  # more than a byte can count


@pytest.mark.parametrize(
    ('content', 'whole'),
    [
        (b'', 0),
        (record(0x06, 20), 29),
        (record(0x06, 20)[:-1], 0),
        (record(0x06, 20) + record(0x06, 0), 38),
        (record(0x06, 20) + record(0x06, 0)[:-1], 29),
        (record(0x06, 20) + record(0x0F, 4) + record(0x08, 5), 29),  # the data end
        (record(0x06, 20) + record(0x02, 20), 29),  # the footer
        (record(0x06, 20) + record(0x03, 2) + record(0x10, 7), 29 + 11 + 16),
    ],
)
def test_records_are_used_up_to_the_last_whole_one(tmp_path, content, whole):
    file = tmp_path / 'a.mcap'
    file.write_bytes(HEAD + content)
    assert bag_reader._whole_records(file) == (len(HEAD), len(HEAD) + whole)
    file.write_bytes(HEAD[:-1])
    assert bag_reader._whole_records(file) == (8, 8)


@pytest.mark.parametrize(
    ('content', 'cut'),
    [
        (bag_reader.MAGIC, True),
        (bag_reader.MAGIC[:3], True),
        (2 * bag_reader.MAGIC, False),
        (2 * bag_reader.MAGIC + b'x', True),
        (bag_reader.MAGIC + 50 * b'x' + bag_reader.MAGIC, False),
        (bag_reader.MAGIC + 50 * b'x' + bag_reader.MAGIC[:-1], True),
    ],
)
def test_files_without_an_end_are_told(tmp_path, content, cut):
    file = tmp_path / 'a.mcap'
    file.write_bytes(content)
    assert bag_reader._cut_file(file) == (file if cut else None)
    assert bag_reader._cut_file(tmp_path) == (file if cut else None)
    (tmp_path / 'b.db3').touch()
    assert bag_reader._cut_file(tmp_path / 'b.db3') is None
