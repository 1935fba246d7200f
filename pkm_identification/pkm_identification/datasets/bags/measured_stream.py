"""One measured topic of a bag: stamps, joints and columns in the order of the stamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_reader import RawBag, matching
from pkm_identification.datasets.bags.pairing import AT_ONCE, NANOSECONDS, Stamps
from pkm_identification.datasets.force_messages import CURRENTS, POSITIONS
from pkm_identification.datasets.stored_array import with_columns
from pkm_identification.quality.report import Defect
from pkm_identification.quality.stamps import in_order


@dataclass(frozen=True)
class Stream:
    """One measured topic: stamps (N,) [ns], joint names, columns (N, n)."""

    stamps: Stamps
    names: list[str]
    columns: dict[str, Array]
    defects: tuple[Defect, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, selection: Any) -> Stream:
        """Return some rows, by a mask or by their numbers."""
        if selection.dtype == np.bool_ and selection.any():  # in one piece: no copies are needed
            first, stop = int(selection.argmax()), len(selection) - int(selection[::-1].argmax())
            selection = slice(first, stop) if selection[first:stop].all() else selection
        columns = {name: values[selection] for name, values in self.columns.items()}
        return replace(self, stamps=self.stamps[selection], columns=columns)

    def of(self, joints: Sequence[str]) -> Stream:
        """Return some joints alone, of those that are there."""
        chosen = np.array([name in joints for name in self.names], dtype=bool)
        if chosen.all():
            return self
        names = [name for name in self.names if name in joints]
        columns = {k: with_columns(v, np.flatnonzero(chosen)) for k, v in self.columns.items()}
        return replace(self, names=names, columns=columns)

    def without(self, column: str) -> Stream:
        """Return the stream less one of its columns."""
        return replace(self, columns={k: v for k, v in self.columns.items() if k != column})


def find_topic(bag: RawBag, name: str, role: str) -> str | None:
    """Return the topic that has messages and is `name`; DatasetError where several match."""
    there = list(bag.topics)
    literal = [topic for topic in there if topic == name]
    found = literal if name.startswith('/') else matching(there, name.strip('/'))
    if len(found) > 1:
        raise DatasetError(
            f"'{bag.path}': topics {', '.join(sorted(found))} all match '{name}'; name one "
            f"with load(path, topics={{'{role}': ...}})"
        )
    return found[0] if found and bag.topics[found[0]].span else None


def require_topic(bag: RawBag, topic: str | None, role: str) -> str:
    """Return a topic; DatasetError that says what is there where it is None."""
    if topic is None:
        there = ', '.join(sorted(bag.counts)) or 'none'
        other = {
            POSITIONS: '; topic= (--topic) names the JointState messages',
            CURRENTS: f'; without efforts in its {POSITIONS}, take currents of other messages over '
            'into a .csv or .npz file',
        }
        raise DatasetError(
            f"'{bag.path}' has no messages on topic '{role}'; needed are {POSITIONS} and "
            f'{CURRENTS} (or efforts in {POSITIONS}), the bag holds {there}{other.get(role, "")}'
        )
    return topic


def read_stream(bag: RawBag, topic: str, joints: Sequence[str] = ()) -> Stream:
    """Read a measured topic in the order of its stamps; those that occur twice are merged."""
    table = bag.table(topic).of_joints(joints)
    stamps, notes = table.stamps(), dict(table.notes)
    if not stamps.any():
        stamps = table.written()
        notes['stamps'] = f"of writing: the messages on '{topic}' carry none"
    names, columns = table.by_joint(table.fields)
    stream = Stream(stamps, names, columns, notes=notes)
    parts = (stamps[k : k + AT_ONCE + 1] for k in range(0, len(stamps), AT_ONCE))
    if all((np.diff(part) > 0).all() for part in parts):
        return stream
    seconds, what = stamps.astype(float) * NANOSECONDS, f"'{bag.path}', topic '{topic}'"
    rows, defects = in_order(seconds, list(columns.values()), what)
    return replace(stream.rows(rows), defects=tuple(defects))
