"""Raw messages of a bag, whole or cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rosbags.interfaces import Connection, MessageDefinitionFormat, Nodetype
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.storage_mcap import McapReader
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError, listed
from pkm_description.untrusted.named_files import foreign_errors
from pkm_identification.datasets.bags.message_columns import CHUNK, TopicColumns
from pkm_identification.datasets.bags.message_types import jazzy_typestore
from pkm_identification.datasets.bags.pairing import NANOSECONDS
from pkm_identification.datasets.force_messages import ARRAY

MAGIC = b'\x89MCAP0\r\n'
RECORD_HEADER = 9
Fields = tuple[str, ...] | Callable[[str], tuple[str, ...]]


@dataclass
class RawTopic:
    """Serialised messages of one topic or their wanted numbers, and when they were written [ns]."""

    name: str
    message_type: str
    messages: list[bytes] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    columns: TopicColumns | None = None
    fields: tuple[str, ...] = ()
    span: tuple[int, int] | None = None  # stamps [ns] of the first and the last message

    def add(self, stamp: int, data: bytes) -> None:
        """Take one more message."""
        self.messages.append(data)
        self.written.append(stamp)
        if self.columns is not None and len(self.messages) >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Count what was added; where numbers are wanted, keep these alone."""
        if not self.messages:
            return
        span = self.span or (self.written[0], self.written[0])
        self.span = min(span[0], *self.written), max(span[1], *self.written)
        if self.columns is not None:
            self.columns.add(self.messages, self.written)
            self.messages, self.written = [], []


@dataclass
class RawBag:
    """Messages of the wanted topics, the names of all topics, and the bag's types."""

    path: Path
    topics: dict[str, RawTopic]
    counts: dict[str, int]
    store: Typestore
    complete: bool

    def table(self, topic: str) -> TopicColumns:
        """The wanted numbers of a topic as columns; DatasetError where its messages lack one."""
        raw = self.topics[topic]
        if raw.columns is None:
            raise DatasetError(
                f"'{self.path}': topic '{topic}' is of type {raw.message_type}, which has not all "
                f'of header, name, {", ".join(raw.fields)}'
            )
        return raw.columns

    def text(self, topic: str | None) -> str:
        """Return the last `std_msgs/String` of a topic, empty where there is none."""
        raw = self.topics.get(topic or '')
        if raw is None or not raw.messages:
            return ''
        with foreign_errors(DatasetError, f"'{self.path}': a message of '{topic}' is broken"):
            message = self.store.deserialize_cdr(raw.messages[-1], raw.message_type)
        return str(getattr(message, 'data', ''))


def read_bag(
    path: Path,
    wanted: Sequence[str],
    *,
    allow_incomplete: bool = False,
    numbers: Mapping[str, Fields] | None = None,
) -> RawBag:
    """Read the topics whose names, without namespace, end in one of `wanted`.

    With `allow_incomplete` a cut-off MCAP file is read up to its last whole chunk instead of
    refused. `numbers` are fields by name in `wanted`, or functions that tell them of a type, for
    `RawBag.table`: of these topics nothing else is kept in memory. Sequences beside a field `name`
    are by joint.
    """
    storage, cut = _storage(path), _cut_file(path)
    with foreign_errors(DatasetError, f"'{path}' is not a readable bag"):
        if cut is None:
            with Reader(storage) as reader:  # by what it is: a folder may be called `run.bag`
                return _collect(
                    path, reader.connections, reader.messages, wanted, numbers, complete=True
                )
        with _open_prefix(cut) as prefix:
            bag = _collect(
                path, prefix.connections, prefix.messages_scan, wanted, numbers, complete=False
            )
    if not bag.counts:
        raise DatasetError(
            f"'{path}' is cut off (no index at its end) before its first chunk is whole: nothing "
            'of it is readable'
        )
    if not allow_incomplete:
        spans = [topic.span[1] - topic.span[0] for topic in bag.topics.values() if topic.span]
        seconds = max(spans, default=0) * NANOSECONDS
        raise DatasetError(
            f"'{path}' is cut off (no index at its end): {seconds:.3f} s are readable; "
            'load it with allow_incomplete=True to use them'
        )
    return bag


def matching(topics: Sequence[str], name: str) -> list[str]:
    """Return the topics that are `name` in any namespace."""
    return [topic for topic in topics if topic.strip('/') == name or topic.endswith(f'/{name}')]


def _collect(
    path: Path,
    connections: Sequence[Connection],
    messages: Callable[..., Iterable[tuple[Connection, int, bytes]]],
    wanted: Sequence[str],
    numbers: Mapping[str, Fields] | None,
    *,
    complete: bool,
) -> RawBag:
    found: list[Connection] = [
        c for c in connections if any(matching([c.topic], name) for name in wanted)
    ]
    counts = {c.topic: c.msgcount for c in connections}
    store = _types(connections)
    topics: dict[str, RawTopic] = {}
    for connection in found:
        topics.setdefault(connection.topic, RawTopic(connection.topic, connection.msgtype))
    for name, fields in (numbers or {}).items():
        for raw in (topics[topic] for topic in matching(list(topics), name)):
            raw.fields = fields if isinstance(fields, tuple) else fields(raw.message_type)
            raw.columns = _columns(raw, raw.fields, store)
    if found:
        for connection, stamp, data in messages(connections=found):
            topics[connection.topic].add(stamp, data)
    for raw in topics.values():
        raw.flush()
    if complete and not any(counts.values()):
        raise DatasetError(f"bag '{path}' holds no messages")
    return RawBag(path, topics, counts, store, complete)


def _columns(raw: RawTopic, fields: tuple[str, ...], store: Typestore) -> TopicColumns | None:
    """Columns of a topic whose messages have a stamp and these fields; else None.

    Arrays of numbers need no stamp: they have the times of writing.
    """
    known = dict(store.fielddefs.get(raw.message_type, ((), ()))[1])
    stamp = set() if raw.message_type == ARRAY else {'header'}
    if not stamp | set(fields) <= set(known):
        return None
    by_name = 'name' in known and any(known[name][0] != Nodetype.BASE for name in fields)
    return TopicColumns(raw.name, raw.message_type, store, fields, by_name)


def _types(connections: Sequence[Connection]) -> Typestore:
    """Types of the bag itself over those of ROS 2 Jazzy."""
    formats = {connection.msgdef.format for connection in connections}
    is_complete = MessageDefinitionFormat.NONE not in formats  # the usual case: then half as long
    store = get_typestore(Stores.EMPTY) if is_complete else jazzy_typestore()
    for connection in connections:
        definition = connection.msgdef
        if definition.format == MessageDefinitionFormat.MSG:
            types = get_types_from_msg(definition.data, connection.msgtype)
        elif definition.format == MessageDefinitionFormat.IDL:
            types = {}
            for part in definition.data.split('=' * 80 + '\n'):
                text = part.split('\n', 1)[1] if part.startswith('IDL: ') else part
                types.update(get_types_from_idl(text) if text.strip() else {})
        else:
            continue
        for name, fields in types.items():
            store.fielddefs.pop(name, None)
            store.register({name: fields})
    return store


def _storage(path: Path) -> Path:
    """Return the folder with `metadata.yaml`, else the one MCAP file in it."""
    if path.is_file() or (path / 'metadata.yaml').is_file():
        return path
    first, *others = _mcap_files(path)
    if others:
        raise DatasetError(
            f"folder '{path}' holds {1 + len(others)} .mcap files and no metadata.yaml that says "
            f"how they belong together; name one, such as '{first}'"
        )
    return first


def _mcap_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == '.mcap' else []
    files = sorted(path.rglob('*.mcap'))
    if (path / 'metadata.yaml').is_file():
        return files
    bags = sorted(each.parent for each in path.rglob('metadata.yaml'))
    if bags and (len(bags) > 1 or any(bags[0] not in each.parents for each in files)):
        named = listed(f"'{each}'" for each in (*bags, *files))
        raise DatasetError(f"folder '{path}' holds several recordings: name one of {named}")
    if not files:
        raise DatasetError(f"folder '{path}' holds neither metadata.yaml nor an .mcap file")
    return files


def _cut_file(path: Path) -> Path | None:
    """Return the MCAP file of a bag that lacks its end, or None."""
    for file in _mcap_files(path):
        with file.open('rb') as stream:
            start = stream.read(len(MAGIC))
            if not start:
                raise DatasetError(f"bag '{file}' is empty (0 bytes)")
            if start != MAGIC[: len(start)]:
                raise DatasetError(f"'{file}' is not an MCAP file")
            stream.seek(0, 2)
            if stream.tell() < 2 * len(MAGIC):
                return file
            stream.seek(-len(MAGIC), 2)
            if stream.read() != MAGIC:
                return file
    return None


@contextmanager
def _open_prefix(file: Path) -> Iterator[McapReader]:
    """Open an MCAP file without an end: everything up to its last whole record."""
    reader = McapReader(file)
    with file.open('rb') as stream:
        reader.bio = stream
        reader.data_start, reader.data_end = _whole_records(file)
        if reader.data_end > reader.data_start:
            reader.meta_scan()
        counts = reader.statistics.channel_message_counts if reader.statistics else {}
        reader.connections = [c._replace(msgcount=counts.get(c.id, 0)) for c in reader.connections]
        yield reader


def _whole_records(file: Path) -> tuple[int, int]:
    """Return where the records after the header begin and where the last whole one ends."""
    size = file.stat().st_size
    with file.open('rb') as stream:
        position = len(MAGIC)
        first = position
        while position + RECORD_HEADER <= size:
            stream.seek(position)
            head = stream.read(RECORD_HEADER)
            end = position + RECORD_HEADER + int.from_bytes(head[1:], 'little')
            if end > size or head[0] in (0x0F, 0x02):
                break
            if head[0] == 0x01:
                first = end
            position = end
    return first, max(first, position)
