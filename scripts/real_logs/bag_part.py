"""A part of a rosbag2 file: the messages between two shares of its time, untouched."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from real_log import found


@dataclass(frozen=True)
class BagPart:
    """Messages of a bag (`.db3`) between two shares of its duration, 0 to 1."""

    source: Path
    first: float
    last: float

    suffix = '.db3'

    def write(self, path: Path, joint_names: tuple[str, ...]) -> None:
        """Copy the bag and delete the messages outside; names are those of the messages."""
        del joint_names
        shutil.copyfile(found(self.source), path)
        with closing(sqlite3.connect(path)) as database, database:
            low, high = self._bounds(database)
            database.execute(
                'DELETE FROM messages WHERE timestamp < ? OR timestamp > ?', (low, high)
            )
        with closing(sqlite3.connect(path)) as database:
            database.execute('VACUUM')

    def size(self) -> tuple[int, float]:
        """Return the number of messages and their duration [s]."""
        with closing(sqlite3.connect(self.source)) as database:
            low, high = self._bounds(database)
            query = 'SELECT count(*) FROM messages WHERE timestamp BETWEEN ? AND ?'
            return database.execute(query, (low, high)).fetchone()[0], (high - low) / 1e9

    def _bounds(self, database: sqlite3.Connection) -> tuple[int, int]:
        begin, end = database.execute(
            'SELECT min(timestamp), max(timestamp) FROM messages'
        ).fetchone()
        low, high = (begin + round(share * (end - begin)) for share in (self.first, self.last))
        return low + (self.first > 0), high
