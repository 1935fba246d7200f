"""Write rosbag2 folders (MCAP) from serialised messages, without ROS.

A recorder hands over the bytes that it received; they go to disk in small chunks, so
a crash leaves a prefix that `load(path, allow_incomplete=True)` still reads.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore

BAG_VERSION: Literal[9] = 9
CHUNK_BYTES = 128 * 1024
CHUNK_SECONDS = 0.5


def partial_path(path: Path | str) -> Path:
    """Return the folder in which a bag lies until it is complete."""
    path = Path(path)
    return path.with_name(f'{path.name}.partial')


class BagWriter:
    """Writer of one MCAP bag; use it as a context manager or call `close`.

    The bag grows in `<path>.partial/` and is renamed to `path` by `close`; leaving the context by
    an exception leaves what was recorded there (`abort`). Neither may exist before. Not thread
    safe. `definitions` are texts of `.msg` files by full type name, for types that are neither
    common ROS 2 interfaces nor installed (`pkm_msgs/msg/MotorCurrents`, ...), `custom_data` strings
    for the bag's metadata. `compressed`: chunks are, by zstd.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        definitions: Mapping[str, str] | None = None,
        custom_data: Mapping[str, str] | None = None,
        compressed: bool = False,
    ) -> None:
        self.path = Path(path)
        self.partial = partial_path(path)
        for existing in (self.path, self.partial):
            if existing.exists():
                raise DatasetError(f"'{existing}' exists already and is not overwritten")
        self._definitions = dict(definitions or {})
        self._store = jazzy_typestore()
        self._connections: dict[str, Connection] = {}
        self._writer = Writer(
            self.partial / self.path.name, version=BAG_VERSION, storage_plugin=StoragePlugin.MCAP
        )
        if compressed:
            self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        for key, value in (custom_data or {}).items():
            self._writer.set_custom_data(key, value)
        try:
            self._writer.open()
        except (OSError, WriterError) as error:
            raise DatasetError(f"cannot create bag '{self.path}': {error}") from error
        self._last_flush = time.monotonic()
        self._is_open = True

    @property
    def counts(self) -> dict[str, int]:
        """Number of messages written, per topic."""
        return {
            topic: self._writer.counts[connection.id]
            for topic, connection in self._connections.items()
        }

    def add_topic(self, topic: str, message_type: str, *, latched: bool = False) -> None:
        """Announce a topic; topics without messages then show up in the bag, too.

        `latched` marks it transient local, so that a replay publishes it so.
        """
        if topic in self._connections:
            known = self._connections[topic].msgtype
            if known != message_type:
                raise DatasetError(f"topic '{topic}' is of type {known}, not {message_type}")
            return
        complete_typestore(message_type, self._definitions, self._store)
        self._connections[topic] = self._writer.add_connection(
            topic, message_type, typestore=self._store, offered_qos_profiles=[_qos(latched)]
        )

    def write(self, topic: str, message_type: str, data: bytes | memoryview, stamp: int) -> None:
        """Append one serialised message (CDR), logged at `stamp` [ns] (not before 0)."""
        if topic not in self._connections:
            self.add_topic(topic, message_type)
        try:
            self._writer.write(self._connections[topic], max(0, stamp), data)
            self._flush_when_due()
        except OSError as error:
            raise DatasetError(f"cannot write to bag '{self.partial}': {error}") from error

    def write_text(self, topic: str, text: str, stamp: int) -> None:
        """Append a latched `std_msgs/msg/String`."""
        message_type = 'std_msgs/msg/String'
        self.add_topic(topic, message_type, latched=True)
        message = self._store.types[message_type](text)
        data = bytes(self._store.serialize_cdr(message, message_type))
        self.write(topic, message_type, data, stamp)

    def flush(self) -> None:
        """Hand everything written so far to the operating system as a whole chunk."""
        storage = self._writer.storage
        if isinstance(storage, McapWriter):
            if storage.chunk.msgs:
                storage.close_chunk()
            storage.bio.flush()
        self._last_flush = time.monotonic()

    def close(self) -> Path:
        """Finish the bag, give it its final name and return that."""
        if not self._is_open:
            return self.path
        self._is_open = False
        if self.path.exists():
            self._writer.abort()
            raise DatasetError(
                f"'{self.path}' exists already; the recording is in '{self.partial}'"
            )
        try:
            self._writer.close()
            (self.partial / self.path.name).rename(self.path)
            self.partial.rmdir()
        except OSError as error:
            raise DatasetError(f"cannot finish bag '{self.path}': {error}") from error
        return self.path

    def abort(self) -> None:
        """Stop writing and leave the readable prefix in the `.partial` folder."""
        if not self._is_open:
            return
        self._is_open = False
        with suppress(OSError):
            self.flush()
        self._writer.abort()

    def _flush_when_due(self) -> None:
        storage = self._writer.storage
        assert isinstance(storage, McapWriter)
        is_large = storage.chunk.bio.tell() >= CHUNK_BYTES
        if is_large or time.monotonic() - self._last_flush >= CHUNK_SECONDS:
            self.flush()

    def __enter__(self) -> BagWriter:
        """Return the open writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the bag; after an exception abort it."""
        if kind is None:
            self.close()
        else:
            self.abort()


def _qos(latched: bool) -> Qos:
    durability = QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE
    unlimited = QosTime(9223372036, 854775807)
    return Qos(
        QosHistory.KEEP_LAST,
        1 if latched else 1000,
        QosReliability.RELIABLE,
        durability,
        unlimited,
        unlimited,
        QosLiveliness.AUTOMATIC,
        unlimited,
        False,
    )
