"""A process beside this one that computes with a robot's model, one call after the other.

What takes long there takes neither interpreter nor memory here, so that a control loop runs
on. The process is started early, kept, replaced where it dies, and ends with this one, however
that ends: it waits at one end of a socket whose other end only this process holds.
"""

from __future__ import annotations

import os
import pickle
import resource
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from pkm_description import errors
from pkm_description.description import Description
from pkm_description.errors import PkmError
from pkm_dynamics.model import ClosedChainModel

LONGEST_START = 60.0  # [s] of a loaded machine for imports and model: seconds else
MOST_MEMORY = 1024**3  # bytes of data of the process; the largest goal takes a third
NICENESS = 10  # the loop goes first where both want the same core
ONE_THREAD = {name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')}


class WorkerProcess:
    """Calls functions of this project's modules with a model of `description` elsewhere."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._calling = False
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Identifier of the process; None where there is none."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Begin to start the process, and return."""
        with self._lock:
            if self._closed or (self._process is not None and self._process.poll() is None):
                return
            self._end()
            here, there = socket.socketpair()
            with there:
                self._process = subprocess.Popen(
                    [sys.executable, '-c', f'from {__name__} import serve; serve()']
                    + [str(there.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[there.fileno()],
                    env=os.environ | ONE_THREAD | {'PYTHONPATH': os.pathsep.join(sys.path)},
                    start_new_session=True,  # a Ctrl-C in the terminal is for this process
                )
            self._connection = Connection(here.detach())
            _send(self._connection, self.description)

    def call(self, longest: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return function(model, *arguments), computed in the process, within `longest` [s].

        Raises the function's own PkmErrors, RuntimeError for any other, and PkmError where it
        takes longer or more memory, or the process ends: the next call has a new one.
        """
        self.start()
        connection = self._connection
        if connection is None:
            raise PkmError('the process of the check has been closed')
        self._calling = True
        try:
            self._receive(connection, LONGEST_START, 'its start')
            _send(connection, (function, arguments))
            value, error, kind = self._receive(connection, longest, 'the check')
        except (EOFError, OSError):
            self._stop()
            raise PkmError('the process of the check has ended; try again') from None
        finally:
            self._calling = False
            if connection is not self._connection:  # the process was ended under way
                connection.close()
            self.start()
        if kind:
            raise getattr(errors, kind, RuntimeError)(error)
        return value

    def abandon(self) -> None:
        """End a call under way with a PkmError, soon, from another thread; waits for nothing."""
        process = self._process
        if self._calling and process is not None:
            process.kill()

    def _receive(self, connection: Connection, longest: float, what: str) -> Any:
        if not connection.poll(longest):
            self._stop()
            raise PkmError(f'{what} takes longer than {longest:g} s')
        return _receive(connection)

    def _stop(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None and not self._calling:  # a call reads the end from its own
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End the process, and a call under way with an error."""
        self._closed = True
        self._stop()


def _send(connection: Connection, value: Any) -> None:
    """Send a value, its arrays apart from it: none is copied, which would hold up the loop."""
    arrays: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    connection.send_bytes(pickle.dumps((frame, [view.nbytes for view in views])))
    for view in filter(len, views):
        connection.send_bytes(view)


def _receive(connection: Connection) -> Any:
    """Return what `_send` sent; its arrays are writable where they lie."""
    frame, sizes = pickle.loads(connection.recv_bytes())
    arrays = [bytearray(size) for size in sizes]
    for array in filter(len, arrays):
        connection.recv_bytes_into(array)
    return pickle.loads(frame, buffers=arrays)


def serve() -> None:
    """Answer calls until the other end of the socket is gone; the body of the process."""
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    connection = Connection(int(sys.argv[1]))
    try:
        model = ClosedChainModel(_receive(connection))
        while True:
            _send(connection, 'ready')
            function, arguments = _receive(connection)
            _send(connection, _outcome(function, model, arguments))
    except (EOFError, OSError):
        return


def _outcome(
    function: Callable[..., Any], model: ClosedChainModel, arguments: Any
) -> tuple[Any, str, str]:
    """Return value, reason of a failure and its class, both empty where there is none."""
    try:
        return function(model, *arguments), '', ''
    except PkmError as error:
        return None, str(error), type(error).__name__
    except MemoryError:
        return None, f'the check takes more than {MOST_MEMORY / 1024**2:g} MiB', 'PkmError'
    except Exception as error:
        traceback.print_exc()
        name = type(error).__name__
        return None, f'{name}: {error}', name
