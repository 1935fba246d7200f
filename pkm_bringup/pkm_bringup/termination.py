"""SIGTERM as an interrupt: a robot is brought to rest, nodes are ended, files are closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """SIGTERM has come; whatever handles Ctrl-C handles it, too."""


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` in the main thread; another thread cannot ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> NoReturn:
    raise Terminated
