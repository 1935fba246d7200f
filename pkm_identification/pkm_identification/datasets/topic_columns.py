"""The wanted numbers of many messages of one topic, without keeping the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError
from pkm_identification.datasets.message_view import MessageTable

CHUNK = 20_000  # messages


@dataclass
class TopicColumns:
    """Columns of a topic, from some thousand messages at once.

    Attributes
    ----------
    topic, message_type
        Of the messages.
    store
        Typestore of the bag.
    fields
        Numeric fields that are wanted.
    by_name
        Whether they are sequences by joint, under the message's field `name`.
    """

    topic: str
    message_type: str
    store: Typestore
    fields: Sequence[str]
    by_name: bool
    _names: list[str] = field(default_factory=list)
    _stamps: list[NDArray[np.int64]] = field(default_factory=list)
    _parts: list[dict[str, np.ndarray]] = field(default_factory=list)

    def add(self, messages: Sequence[bytes]) -> None:
        """Take the numbers out of the next messages.

        Raises
        ------
        DatasetError
            They do not name the joints of those before, or a field changes its length.
        """
        table = MessageTable(messages, self.message_type, self.store, self.topic)
        self._stamps.append(table.stamps())
        if not self.by_name:
            self._parts.append({name: table.numbers(name).copy() for name in self.fields})
            return
        names, columns = table.by_joint(self.fields)
        self._names = self._names or names
        if sorted(names) != sorted(self._names):
            odd = sorted(set(names) ^ set(self._names))
            raise DatasetError(
                f"topic '{self.topic}': not all messages name the same joints (they differ in "
                f'{", ".join(odd)})'
            )
        if self._parts and set(columns) != set(self._parts[0]):
            odd = sorted(set(columns) ^ set(self._parts[0]))
            raise DatasetError(f"topic '{self.topic}': '{odd[0]}' changes its length")
        order = [names.index(name) for name in self._names]
        self._parts.append({name: values[:, order] for name, values in columns.items()})

    def __len__(self) -> int:
        """Return the number of messages."""
        return sum(len(part) for part in self._stamps)

    def stamps(self) -> NDArray[np.int64]:
        """Return the header stamps (N,) [ns]."""
        return np.concatenate(self._stamps)

    def numbers(self, name: str) -> np.ndarray:
        """Return a wanted field: (N,) for a scalar, (N, n) for a sequence."""
        return np.concatenate([part[name] for part in self._parts])

    def by_joint(self, fields: Sequence[str]) -> tuple[list[str], dict[str, np.ndarray]]:
        """Return joint names and the wanted fields (N, n) that the messages hold."""
        there = [name for name in fields if name in self._parts[0]]
        return self._names, {name: self.numbers(name) for name in there}
