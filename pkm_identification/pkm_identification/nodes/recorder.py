"""Recording of topics: serialised messages go from the middleware to the bag unread."""

from __future__ import annotations

import shutil
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

import pkm_msgs.msg
from pkm_description.errors import DatasetError
from pkm_description.nodes.running import quick_executor
from pkm_identification.datasets.bags.bag_writer import BagWriter

DEPTH = 20000
DRAIN_PERIOD = 0.02
HEADER_STAMP = struct.Struct('<iI')


@dataclass(frozen=True)
class RecordedTopic:
    """A topic to record; `name` is relative."""

    name: str
    message: type
    required: bool = True

    @property
    def type_name(self) -> str:
        """Full name of the message type."""
        package = self.message.__module__.partition('.')[0]
        return f'{package}/msg/{self.message.__name__}'

    @property
    def has_stamps(self) -> bool:
        """Whether its messages begin with a header."""
        return hasattr(self.message, 'header')


class Recorder:
    """Listens with a node, executor and thread of its own; writes from another thread.

    Nothing is deserialised. Log stamps are the header stamps of the messages. Those without a
    header get that of the message of the first topic, with `joint` in it, that was heard last:
    others may share that topic. The node has namespace and context of its owner. A bag has the
    topics' own names in that namespace, which its readers know, whatever they are remapped to; what
    is remapped is written into it.
    """

    def __init__(self, owner: Node, topics: Sequence[RecordedTopic], joint: str) -> None:
        self._joint = joint.encode() + b'\0'  # as a serialised text ends
        self._told = b''
        self.topics = list(topics)
        self.error = ''
        self._names = [owner.resolve_topic_name(topic.name) for topic in self.topics]
        self._written = [self._own_name(owner, topic.name) for topic in self.topics]
        self._index = {topic.name: index for index, topic in enumerate(self.topics)}
        self._arrivals: list[float | None] = [None] * len(self.topics)
        self._latest: list[bytes] = [b''] * len(self.topics)
        self._queue: deque[tuple[int, int, bytes]] = deque()
        self._writer: BagWriter | None = None
        self._writing = threading.Event()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        context = owner.context
        bare = ('use_global_arguments', 'start_parameter_services', 'enable_rosout')
        self._node = rclpy.create_node(
            f'{owner.get_name()}_recorder',
            namespace=owner.get_namespace(),
            context=context,
            **dict.fromkeys(bare, False),
        )
        for index, topic in enumerate(self.topics):
            self._node.create_subscription(
                topic.message,
                self._names[index],
                partial(self._take, index),
                measured_qos(owner, self._names[index], DEPTH),
                raw=True,
            )
        self._spawn(lambda: self._listen(context))

    @staticmethod
    def _own_name(node: Node, topic: str) -> str:
        """Name of a topic in the namespace of the node, before any remapping."""
        return str(node.resolve_topic_name(topic, only_expand=True))

    @property
    def remapped(self) -> dict[str, str]:
        """The topics that are heard under another name than the bag has for them."""
        pairs = zip(self._written, self._names, strict=True)
        return {written: name for written, name in pairs if name != written}

    def _spawn(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name='recorder', daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, index: int, data: bytes) -> None:
        self._arrivals[index] = time.monotonic()
        self._latest[index] = data
        if index == 0 and self._joint in data:
            self._told = data
        if not self._writing.is_set():
            return
        if told := data if self.topics[index].has_stamps else self._told:
            self._queue.append((index, header_stamp(told), data))

    def _listen(self, context: Context) -> None:
        executor = quick_executor()
        executor.add_node(self._node)
        try:
            while not self._stop.is_set() and context.ok():
                executor.spin_once(timeout_sec=0.1)
        finally:
            executor.remove_node(self._node)
            executor.shutdown(timeout_sec=1.0)

    # -- what has been heard ------------------------------------------------------

    def ages(self) -> dict[str, float | None]:
        """Age [s] of the last message of each required topic, None where none came."""
        now = time.monotonic()
        return {
            name: None if arrival is None else now - arrival
            for name, arrival, topic in zip(self._names, self._arrivals, self.topics, strict=True)
            if topic.required
        }

    def age(self, topic: str) -> float | None:
        """Age [s] of the last message of a topic."""
        arrival = self._arrivals[self._index[topic]]
        return None if arrival is None else time.monotonic() - arrival

    @property
    def latest_own(self) -> bytes:
        """The last serialised message of the first topic with the joint, empty before it."""
        return self._told

    # -- recording ----------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """Whether a bag is open."""
        return self._writer is not None

    def begin(self, bag: Path, texts: dict[str, str]) -> None:
        """Create the bag, write `texts` (topic: content) as latched strings, and record."""
        writer = BagWriter(bag, definitions=installed_definitions())
        try:
            stamp = self._now()
            for topic, text in texts.items():
                writer.write_text(self._own_name(self._node, topic), text, stamp)
            for name, recorded in zip(self._written, self.topics, strict=True):
                if recorded.required:
                    writer.add_topic(name, recorded.type_name)
        except DatasetError:
            _remove(writer)
            raise
        self._writer = writer
        self._writing.set()
        self._spawn(self._write)

    def finish(self, texts: dict[str, str]) -> Path:
        """Write what has been heard and last `texts`, close the bag and return its path."""
        writer = self._settle()
        for topic, text in texts.items():
            writer.write_text(self._own_name(self._node, topic), text, self._now())
        return writer.close()

    def discard(self) -> None:
        """Leave no trace of the bag."""
        if self._writer is not None:
            _remove(self._settle())

    def close(self) -> None:
        """End the threads and the node; an open bag is discarded."""
        self.discard()
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=2.0)
        self._node.destroy_node()

    def _settle(self) -> BagWriter:
        """Stop recording and return the writer with everything written."""
        writer = self._writer
        if writer is None:
            raise DatasetError('nothing is being recorded')
        self._writing.clear()
        for thread in self._threads[1:]:
            thread.join()
        del self._threads[1:]
        self._writer = None
        if not self.error:
            self._drain(writer)
        return writer

    def _write(self) -> None:
        assert self._writer is not None
        try:
            while self._writing.is_set():
                self._drain(self._writer)
                time.sleep(DRAIN_PERIOD)
        except Exception as error:
            self.error = str(error) or type(error).__name__
            self._writing.clear()

    def _drain(self, writer: BagWriter) -> None:
        types = [topic.type_name for topic in self.topics]
        while self._queue:
            index, stamp, data = self._queue.popleft()
            writer.write(self._written[index], types[index], data, stamp)

    def _now(self) -> int:
        heard = zip(self.topics, self._latest, strict=True)
        stamps = [header_stamp(data) for topic, data in heard if data and topic.has_stamps]
        return max(stamps, default=0)


def measured_qos(node: Node, topic: str, depth: int) -> QoSProfile:
    """Return the best that the present publishers of a topic offer."""
    offered = [each.qos_profile.reliability for each in node.get_publishers_info_by_topic(topic)]
    weak = ReliabilityPolicy.BEST_EFFORT in offered
    best = ReliabilityPolicy.BEST_EFFORT if weak else ReliabilityPolicy.RELIABLE
    return QoSProfile(depth=depth, reliability=best)


def _remove(writer: BagWriter) -> None:
    writer.abort()
    shutil.rmtree(writer.partial, ignore_errors=True)


def header_stamp(data: bytes) -> int:
    """Return the stamp [ns] of the header that a serialised message begins with."""
    seconds, nanoseconds = HEADER_STAMP.unpack_from(data, 4)
    return int(seconds * 1_000_000_000 + nanoseconds)


def installed_definitions() -> dict[str, str]:
    """Return the texts of this project's message types, from beside their Python package."""
    definitions: dict[str, Any] = {}
    for parent in Path(pkm_msgs.msg.__file__).resolve().parents:
        for file in (parent / 'share' / 'pkm_msgs' / 'msg').glob('*.msg'):
            definitions.setdefault(f'pkm_msgs/msg/{file.stem}', file.read_text(encoding='utf-8'))
    return definitions
