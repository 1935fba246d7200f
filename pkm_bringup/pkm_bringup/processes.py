"""Nodes as child processes: start them, watch them, end them, keep what they said.

They have no SROS 2 enclaves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pkm_description import PkmError

TERMINATION_TIMEOUT = 10.0  # [s] from SIGINT to SIGKILL
SHOWN_LINES = 8


class ProcessError(PkmError):
    """A node ended by itself or cannot be started."""


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    log: Path
    file: IO[bytes]


@dataclass
class NodeProcesses:
    """Child processes, one a node, that end with this context."""

    log_folder: Path  # where each node's output goes to `<node>.log`
    environment: Mapping[str, str] = field(default_factory=dict)  # added to that of this process
    _running: dict[str, _Running] = field(default_factory=dict, init=False)

    def start(self, node: str, module: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Start `python -m module` as the node `node` with ROS parameters."""
        if node in self._running:
            raise ProcessError(f"node '{node}' is already running")
        if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
            raise ProcessError(
                f"node '{node}' has no key, and ROS_SECURITY_ENABLE is true: set it to false for a "
                'graph that simulates its robot'
            )
        self.log_folder.mkdir(parents=True, exist_ok=True)
        log = self.log_folder / f'{node}.log'
        command = [sys.executable, '-m', module, *_ros_arguments(parameters or {})]
        file = log.open('ab')
        try:
            streams: dict[str, Any] = {'stdout': file, 'stderr': subprocess.STDOUT}
            streams['stdin'] = subprocess.DEVNULL
            variables = {**os.environ, **self.environment}
            process = subprocess.Popen(command, **streams, env=variables, start_new_session=True)
        except OSError as error:
            file.close()
            raise ProcessError(f"node '{node}' cannot be started: {error}") from error
        self._running[node] = _Running(process, log, file)

    def check(self) -> None:
        """Raise ProcessError where a node has ended, with the end of its log."""
        for node, running in self._running.items():
            status = running.process.poll()
            if status is not None:
                raise ProcessError(
                    f"node '{node}' ended with status {status}; the end of {running.log}:\n"
                    + last_lines(running.log)
                )

    def send(self, node: str, number: int) -> None:
        """Send a node a signal, and do not wait for what it does."""
        self._running[node].process.send_signal(number)

    def kill(self, node: str, number: int = signal.SIGKILL, watched: bool = False) -> None:
        """End a node at once by a signal; unless `watched`, `check` does not miss it."""
        running = self._running[node] if watched else self._running.pop(node)
        running.process.send_signal(number)
        running.process.wait(TERMINATION_TIMEOUT)
        if not watched:
            running.file.close()

    def stop(self, *nodes: str) -> None:
        """End the named nodes (all without names): SIGINT, then SIGKILL after a while."""
        names = nodes or tuple(reversed(self._running))
        ending = [self._running.pop(name) for name in names if name in self._running]
        for running in ending:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + TERMINATION_TIMEOUT
        for running in ending:
            try:
                running.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                running.process.kill()
                running.process.wait()
            running.file.close()

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def last_lines(log: Path, count: int = SHOWN_LINES) -> str:
    """Return the last lines of a log."""
    try:
        lines = log.read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        return ''
    return '\n'.join(lines[-count:])


def _ros_arguments(parameters: Mapping[str, Any]) -> Sequence[str]:
    arguments = ['--ros-args']
    for name, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ['-p', f'{name}:={text}']
    return arguments
