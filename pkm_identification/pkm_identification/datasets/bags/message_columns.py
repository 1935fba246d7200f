"""The wanted numbers of many messages of one topic, without keeping the messages.

rosbags decodes a message in some 20 us, a minute at 1 kHz in seconds. But messages of one type
whose texts and lengths do not change have one layout: where its numbers lie is found by having
rosbags serialise the first message with other numbers, and NumPy then reads those of all
messages at once. Anything else is decoded message by message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags.pairing import Stamps
from pkm_identification.datasets.stored_array import StoredArray

AnyArray = NDArray[Any]

CHUNK = 20_000  # messages in memory: some MB
BYTES = {'byte': 'u1', 'char': 'u1', 'octet': 'u1'}  # what NumPy calls otherwise
SEC, NANOSEC = 'header.stamp.sec', 'header.stamp.nanosec'
TEXTS = ('string', 'wstring')


@dataclass(frozen=True)
class _Number:
    """A number, or a sequence of `count` numbers, in a message."""

    owner: Any
    attribute: str
    dtype: np.dtype[Any]
    count: int | None

    def __post_init__(self) -> None:
        """Serialised numbers are little endian."""
        object.__setattr__(self, 'dtype', self.dtype.newbyteorder('<'))

    @property
    def size(self) -> int:
        """Bytes of all numbers."""
        return self.dtype.itemsize * (1 if self.count is None else self.count)

    def offset(self, message: Any, message_type: str, store: Typestore) -> int | None:
        """Byte where it begins: the first one to change with the last bit of the first number."""
        if not self.size:
            return 0
        before, value = (
            _serialised(message, message_type, store),
            getattr(self.owner, self.attribute),
        )
        numbers = np.array([value] if self.count is None else value, dtype=self.dtype)
        numbers.view(np.uint8)[0] ^= 1
        setattr(self.owner, self.attribute, numbers[0].item() if self.count is None else numbers)
        changed = np.flatnonzero(_serialised(message, message_type, store) != before)
        setattr(self.owner, self.attribute, value)
        return int(changed[0]) if len(changed) else None


def _serialised(message: Any, message_type: str, store: Typestore) -> NDArray[np.uint8]:
    return np.frombuffer(bytes(store.serialize_cdr(message, message_type)), dtype=np.uint8)


def _numbers_in(
    message: Any, message_type: str, store: Typestore, prefix: str = ''
) -> Iterator[tuple[str, _Number]]:
    """Yield all numbers of a message by their names."""
    rest: Any
    for name, (kind, rest) in store.fielddefs[message_type][1]:
        value = getattr(message, name)
        if kind == Nodetype.NAME:
            yield from _numbers_in(value, rest, store, f'{prefix}{name}.')
        elif kind == Nodetype.BASE and rest[0] not in TEXTS:
            dtype = np.dtype(BYTES.get(rest[0], rest[0]))
            yield f'{prefix}{name}', _Number(message, name, dtype, None)
        elif isinstance(value, np.ndarray):
            yield f'{prefix}{name}', _Number(message, name, value.dtype, len(value))
        elif kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) and rest[0][0] == Nodetype.NAME:
            for k, each in enumerate(value):
                yield from _numbers_in(each, rest[0][1], store, f'{prefix}{name}[{k}].')


class Messages:
    """Some serialised (CDR) messages of one `topic` and type as columns."""

    def __init__(
        self, messages: Sequence[bytes], message_type: str, store: Typestore, topic: str
    ) -> None:
        self.topic = topic
        self._has_stamps = 'header' in dict(store.fielddefs[message_type][1])
        self._count = len(messages)
        self._columns: dict[str, AnyArray] = {}
        self._decoded: list[Any] = [store.deserialize_cdr(messages[0], message_type)]
        self.is_uniform = self._read(messages, message_type, store)
        if not self.is_uniform:
            self._decoded = [store.deserialize_cdr(data, message_type) for data in messages]

    def _read(self, messages: Sequence[bytes], message_type: str, store: Typestore) -> bool:
        """Read all messages at once; False where their layouts differ."""
        first, size = self._decoded[0], len(messages[0])
        if any(len(data) != size for data in messages):
            return False
        if bytes(store.serialize_cdr(first, message_type)) != messages[0]:
            return False  # another byte order, or rubbish between the numbers
        block = np.frombuffer(b''.join(messages), dtype=np.uint8).reshape(-1, size)
        is_number = np.zeros(size, dtype=bool)
        for name, number in _numbers_in(first, message_type, store):
            begin = number.offset(first, message_type, store)
            if begin is None:
                return False
            own = slice(begin, begin + number.size)
            is_number[own] = True
            values = np.ascontiguousarray(block[:, own]).view(number.dtype)
            self._columns[name] = values[:, 0] if number.count is None else values
        others = block[:, ~is_number]
        return bool((others == others[0]).all())

    def stamps(self) -> Stamps:
        """Return the header stamps (N,) [ns], zeros where messages have none."""
        if not self._has_stamps:
            return np.zeros(self._count, dtype=np.int64)
        return self.numbers(SEC).astype(np.int64) * 10**9 + self.numbers(NANOSEC).astype(np.int64)

    def numbers(self, name: str) -> AnyArray:
        """A field, (N,) or of a sequence (N, n), which must not change its length."""
        if self.is_uniform:
            return self._columns[name]
        rows = [attrgetter(name)(message) for message in self._decoded]
        if len({np.shape(row) for row in rows}) > 1:
            raise DatasetError(f"topic '{self.topic}': '{name}' changes its length")
        return np.array(rows)

    def joint_names(self) -> list[list[str]]:
        """Return the joint names of each message; one list where all have the same."""
        names = [list(message.name) for message in self._decoded]
        return names[:1] if all(each == names[0] for each in names) else names

    def by_joint(self, fields: Sequence[str]) -> tuple[list[str], dict[str, AnyArray]]:
        """Joint names and fields, sequences (N, n) all in that joint order.

        Sequences that the messages leave empty are missing from the answer.
        """
        orders = self.joint_names()
        names = orders[0]
        columns = {name: self.numbers(name) for name in fields}
        for name, values in list(columns.items()):
            if values.ndim == 1:
                continue
            if not values.shape[1]:
                del columns[name]
            elif values.shape[1] != len(names):
                raise DatasetError(
                    f"topic '{self.topic}': {values.shape[1]} values of '{name}' for "
                    f'{len(names)} joint names'
                )
            elif len(orders) > 1:
                index = [[order.index(joint) for joint in names] for order in orders]
                columns[name] = np.take_along_axis(values, np.array(index), axis=1)
        return names, columns


@dataclass
class _Group:
    """Messages that name the same joints."""

    names: list[str]
    stamps: StoredArray = field(default_factory=StoredArray)
    written: StoredArray = field(default_factory=StoredArray)
    columns: dict[str, StoredArray] = field(default_factory=lambda: defaultdict(StoredArray))

    def take(self, stamps: Stamps, written: Stamps, columns: Mapping[str, AnyArray]) -> None:
        self.stamps.append(stamps)
        self.written.append(written)
        for name, values in columns.items():
            self.columns[name].append(values)


@dataclass
class TopicColumns:
    """Columns of a topic, put together from some thousand messages at once."""

    topic: str
    message_type: str
    store: Typestore  # of the bag
    fields: Sequence[str]  # numeric fields that are wanted
    by_name: bool  # whether some are sequences by joint, under the message's field `name`
    _groups: dict[frozenset[str], _Group] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)  # what was left out, by `of_joints`

    def add(self, messages: Sequence[bytes], written: Sequence[int]) -> None:
        """Take the numbers out of the next serialised messages, `written` at these times [ns]."""
        when = np.asarray(written, dtype=np.int64)
        table = Messages(messages, self.message_type, self.store, self.topic)
        if not self.by_name:
            group = self._groups.setdefault(frozenset(), _Group([]))
            group.take(table.stamps(), when, {name: table.numbers(name) for name in self.fields})
            return
        joints = [frozenset(names) for names in table.joint_names()]
        if len(set(joints)) == 1:
            self._take(table, when)
            return
        for chosen in dict.fromkeys(joints):
            rows = [row for row, names in enumerate(joints) if names == chosen]
            some = [messages[row] for row in rows]
            self._take(Messages(some, self.message_type, self.store, self.topic), when[rows])

    def _take(self, table: Messages, written: Stamps) -> None:
        names, columns = table.by_joint(self.fields)
        group = self._groups.setdefault(frozenset(names), _Group(names))
        order = [names.index(name) for name in group.names]
        columns = {
            name: values if values.ndim == 1 else values[:, order]
            for name, values in columns.items()
        }
        if group.columns and set(columns) != set(group.columns):
            odd = sorted(set(columns) ^ set(group.columns))
            raise DatasetError(f"topic '{self.topic}': '{odd[0]}' changes its length")
        group.take(table.stamps(), written, columns)

    def __len__(self) -> int:
        """Return the number of messages."""
        return sum(len(group.stamps) for group in self._groups.values())

    def of_joints(self, wanted: Sequence[str]) -> TopicColumns:
        """Return the messages that name all the wanted joints (none wanted: that all name).

        Several drivers may share one topic, each with its own joints: then it must be said which.
        """
        if len(self._groups) <= 1:
            return self
        fitting = [names for names in self._groups if names >= set(wanted)]
        if not wanted or len(fitting) != 1:
            kinds = '; '.join(
                f'{", ".join(sorted(names)) or "none"} ({len(group.stamps)} messages)'
                for names, group in self._groups.items()
            )
            raise DatasetError(
                f"topic '{self.topic}': not all messages name the same joints: {kinds}; say which "
                "are wanted with joints={'name in the bag': 'name of the robot'}"
            )
        others = {
            ', '.join(sorted(names)): len(group.stamps)
            for names, group in self._groups.items()
            if names != fitting[0]
        }
        return replace(
            self,
            _groups={fitting[0]: self._groups[fitting[0]]},
            notes={'left_out_messages': others},
        )

    def stamps(self) -> Stamps:
        """Return the header stamps (N,) [ns]."""
        return self._only.stamps.array()

    def written(self) -> Stamps:
        """Return when the messages were written (N,) [ns]."""
        return self._only.written.array()

    def numbers(self, name: str) -> AnyArray:
        """Return a wanted field: (N,) for a scalar, (N, n) for a sequence."""
        return self._only.columns[name].array()

    def by_joint(self, fields: Sequence[str]) -> tuple[list[str], dict[str, AnyArray]]:
        """Return joint names and the wanted fields (N, n) that the messages hold."""
        there = [name for name in fields if name in self._only.columns]
        return self._only.names, {name: self.numbers(name) for name in there}

    @property
    def _only(self) -> _Group:
        (group,) = self.of_joints(())._groups.values()
        return group
