"""The wanted numbers of many messages of one topic, without keeping the messages.

Very many of them go to temporary files, see `GrowingArray`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags.message_view import MessageTable
from pkm_identification.datasets.growing_array import GrowingArray

CHUNK = 20_000  # messages


@dataclass
class _Group:
    """Messages that name the same joints."""

    names: list[str]
    stamps: GrowingArray = field(default_factory=GrowingArray)
    written: GrowingArray = field(default_factory=GrowingArray)
    columns: dict[str, GrowingArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.stamps)

    def take(
        self, table: MessageTable, written: NDArray[np.int64], columns: dict[str, np.ndarray]
    ) -> None:
        self.stamps.append(table.stamps())
        self.written.append(written)
        for name, values in columns.items():
            self.columns.setdefault(name, GrowingArray()).append(values)


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
    _groups: dict[frozenset[str], _Group] = field(default_factory=dict)
    _left_out: Mapping[str, Any] = field(default_factory=dict)

    def add(self, messages: Sequence[bytes], written: Sequence[int]) -> None:
        """Take the numbers out of the next messages.

        Parameters
        ----------
        messages
            Serialised.
        written
            When they were written [ns].

        Raises
        ------
        DatasetError
            A field changes its length.
        """
        stamps = np.asarray(written, dtype=np.int64)
        table = MessageTable(messages, self.message_type, self.store, self.topic)
        if not self.by_name:
            group = self._groups.setdefault(frozenset(), _Group([]))
            group.take(table, stamps, {name: table.numbers(name).copy() for name in self.fields})
            return
        joints = [frozenset(names) for names in table.texts('name')]
        for chosen in dict.fromkeys(joints):
            part, when = table, stamps
            if len(set(joints)) > 1:
                rows = [row for row, names in enumerate(joints) if names == chosen]
                part = MessageTable(
                    [messages[row] for row in rows], self.message_type, self.store, self.topic
                )
                when = stamps[rows]
            names, columns = part.by_joint(self.fields)
            group = self._groups.setdefault(chosen, _Group(names))
            order = [names.index(name) for name in group.names]
            columns = {name: values[:, order] for name, values in columns.items()}
            if group.columns and set(columns) != set(group.columns):
                odd = sorted(set(columns) ^ set(group.columns))
                raise DatasetError(f"topic '{self.topic}': '{odd[0]}' changes its length")
            group.take(part, when, columns)

    def __len__(self) -> int:
        """Return the number of messages."""
        return sum(len(group) for group in self._groups.values())

    @property
    def notes(self) -> dict[str, Any]:
        """What was left out, where the messages of this topic name different joints."""
        return dict(self._left_out)

    def of_joints(self, wanted: Sequence[str]) -> TopicColumns:
        """Return the messages that name all the wanted joints (none wanted: that all name).

        Several drivers may share one topic, each with its own joints.

        Raises
        ------
        DatasetError
            No messages name them all, or some name other joints and nobody said which.
        """
        if len(self._groups) <= 1:
            return self
        fitting = [names for names in self._groups if names >= set(wanted)]
        if not wanted or len(fitting) != 1:
            kinds = '; '.join(
                f'{", ".join(sorted(names)) or "none"} ({len(group)} messages)'
                for names, group in self._groups.items()
            )
            raise DatasetError(
                f"topic '{self.topic}': not all messages name the same joints: {kinds}; say which "
                "are wanted with joints={'name in the bag': 'name of the robot'}"
            )
        others = {
            ', '.join(sorted(names)): len(group)
            for names, group in self._groups.items()
            if names != fitting[0]
        }
        return replace(
            self,
            _groups={fitting[0]: self._groups[fitting[0]]},
            _left_out={'left_out_messages': others},
        )

    def stamps(self) -> NDArray[np.int64]:
        """Return the header stamps (N,) [ns]."""
        return self._only.stamps.array()

    def written(self) -> NDArray[np.int64]:
        """Return when the messages were written (N,) [ns]."""
        return self._only.written.array()

    def numbers(self, name: str) -> np.ndarray:
        """Return a wanted field: (N,) for a scalar, (N, n) for a sequence."""
        return self._only.columns[name].array()

    def by_joint(self, fields: Sequence[str]) -> tuple[list[str], dict[str, np.ndarray]]:
        """Return joint names and the wanted fields (N, n) that the messages hold."""
        there = [name for name in fields if name in self._only.columns]
        return self._only.names, {name: self.numbers(name) for name in there}

    @property
    def _only(self) -> _Group:
        (group,) = self.of_joints(())._groups.values()
        return group
