"""Fields of many serialised messages as arrays, without decoding each one.

Messages of one type whose strings and sequence lengths never change have one memory
layout: it is worked out from the first message, checked on all, and viewed by NumPy.
Anything else is decoded message by message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError

PRIMITIVES = {
    'bool': 'u1',
    'byte': 'u1',
    'char': 'u1',
    'int8': 'i1',
    'uint8': 'u1',
    'int16': '<i2',
    'uint16': '<u2',
    'int32': '<i4',
    'uint32': '<u4',
    'int64': '<i8',
    'uint64': '<u8',
    'float32': '<f4',
    'float64': '<f8',
}
ENCAPSULATION = 4


@dataclass
class _Field:
    offset: int
    dtype: str
    count: int | None  # None: a scalar


class _Layout:
    """Walk one little-endian CDR message and note where its numbers lie."""

    def __init__(self, data: bytes, message_type: str, store: Typestore) -> None:
        self.data = data
        self.store = store
        self.position = ENCAPSULATION
        self.numbers: dict[str, _Field] = {}
        self.texts: dict[str, str | list[str]] = {}
        self._struct(message_type, '')

    def _align(self, size: int) -> None:
        self.position += -(self.position - ENCAPSULATION) % size

    def _length(self) -> int:
        self._align(4)
        value = int.from_bytes(self.data[self.position : self.position + 4], 'little')
        self.position += 4
        return value

    def _text(self) -> str:
        length = self._length()
        raw = self.data[self.position : self.position + length]
        self.position += length
        return raw.rstrip(b'\0').decode()

    def _struct(self, name: str, prefix: str) -> None:
        for field_name, desc in self.store.fielddefs[name][1]:
            self._member(prefix + field_name, desc)

    def _member(self, name: str, desc: Any) -> None:
        kind, rest = desc
        if kind == Nodetype.BASE:
            if rest[0] == 'string':
                self.texts[name] = self._text()
            else:
                self._number(name, rest[0], None)
        elif kind == Nodetype.NAME:
            self._struct(rest, f'{name}.')
        else:
            (inner_kind, inner), _ = rest
            count = rest[1] if kind == Nodetype.ARRAY else self._length()
            if inner_kind == Nodetype.BASE and inner[0] != 'string':
                self._number(name, inner[0], count)
            elif inner_kind == Nodetype.BASE:
                self.texts[name] = [self._text() for _ in range(count)]
            else:
                for i in range(count):
                    self._struct(inner, f'{name}[{i}].')

    def _number(self, name: str, primitive: str, count: int | None) -> None:
        dtype = np.dtype(PRIMITIVES[primitive])
        if count != 0:
            self._align(dtype.itemsize)
        self.numbers[name] = _Field(self.position, dtype.str, count)
        self.position += dtype.itemsize * (1 if count is None else count)


class MessageTable:
    """Messages of one topic as columns.

    Parameters
    ----------
    messages
        Serialised messages (CDR).
    message_type
        Their full type name.
    store
        Typestore of the bag.
    topic
        Name for error messages.
    """

    def __init__(
        self, messages: Sequence[bytes], message_type: str, store: Typestore, topic: str
    ) -> None:
        self.topic = topic
        self._size = len(messages)
        self._layout: _Layout | None = None
        self._block: np.ndarray | None = None
        self._decoded: list[Any] = []
        if not self._view(messages, message_type, store):
            self._decoded = [store.deserialize_cdr(data, message_type) for data in messages]

    @property
    def is_view(self) -> bool:
        """Whether the messages share one layout and were not decoded one by one."""
        return self._layout is not None

    def __len__(self) -> int:
        """Return the number of messages."""
        return self._size

    def stamps(self) -> np.ndarray:
        """Return the header stamps (N,) [ns]."""
        return self.numbers('header.stamp.sec').astype(np.int64) * 10**9 + self.numbers(
            'header.stamp.nanosec'
        ).astype(np.int64)

    def numbers(self, name: str) -> np.ndarray:
        """Return a numeric field: (N,) for a scalar, (N, n) for a sequence.

        Raises
        ------
        DatasetError
            The sequence changes its length from message to message.
        """
        if self._layout is not None and self._block is not None:
            field = self._layout.numbers[name]
            dtype = np.dtype(field.dtype)
            count = 1 if field.count is None else field.count
            end = field.offset + count * dtype.itemsize
            values = np.ascontiguousarray(self._block[:, field.offset : end]).view(dtype)
            return values[:, 0] if field.count is None else values.reshape(self._size, count)
        rows = [_attribute(message, name) for message in self._decoded]
        lengths = {np.shape(row) for row in rows}
        if len(lengths) > 1:
            raise DatasetError(f"topic '{self.topic}': '{name}' changes its length")
        return np.array(rows)

    def texts(self, name: str) -> list[str | list[str]]:
        """Return a text field of every message; one entry where all are equal."""
        if self._layout is not None:
            return [self._layout.texts[name]]
        values = [_attribute(message, name) for message in self._decoded]
        return values[:1] if all(value == values[0] for value in values) else values

    def by_joint(self, fields: Sequence[str]) -> tuple[list[str], dict[str, np.ndarray]]:
        """Return joint names and the numeric fields (N, n), every row in that joint order.

        Fields that a message leaves empty are missing from the answer.
        """
        orders = self.texts('name')
        names = list(orders[0])
        if len(orders) == 1:
            columns = {name: self.numbers(name) for name in fields}
        else:
            columns = self._reordered(names, orders, fields)
        for name, values in list(columns.items()):
            if not values.shape[-1]:
                del columns[name]
            elif values.shape[-1] != len(names):
                raise DatasetError(
                    f"topic '{self.topic}': {values.shape[-1]} values of '{name}' for "
                    f'{len(names)} joint names'
                )
        return names, columns

    def _reordered(
        self, names: list[str], orders: list[Any], fields: Sequence[str]
    ) -> dict[str, np.ndarray]:
        for row, order in enumerate(orders):
            if sorted(order) != sorted(names):
                odd = sorted(set(order) ^ set(names))
                raise DatasetError(
                    f"topic '{self.topic}': message {row} does not name the same joints as the "
                    f'first one (differs in {", ".join(odd)})'
                )
        index = np.array([[order.index(name) for name in names] for order in orders])
        columns = {}
        for name in fields:
            values = self.numbers(name)
            columns[name] = np.take_along_axis(values, index, axis=1) if values.shape[1] else values
        return columns

    def _view(self, messages: Sequence[bytes], message_type: str, store: Typestore) -> bool:
        first = messages[0]
        length = len(first)
        if first[1] != 1 or any(len(data) != length for data in messages):
            return False
        layout = _Layout(first, message_type, store)
        block = np.frombuffer(b''.join(messages), dtype=np.uint8).reshape(len(messages), length)
        is_number = np.zeros(length, dtype=bool)
        for field in layout.numbers.values():
            size = np.dtype(field.dtype).itemsize * (1 if field.count is None else field.count)
            is_number[field.offset : field.offset + size] = True
        structure = block[:, ~is_number]
        # padding bytes are part of the structure: writers that leave rubbish there are decoded
        if (structure != structure[0]).any():
            return False
        self._layout, self._block = layout, block
        return True


def _attribute(message: Any, path: str) -> Any:
    for part in path.split('.'):
        message = getattr(message, part)
    return message
