"""The line between two processes, with real ones, strangers and nobody at the other end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from unique_identifier_msgs.msg import UUID  # noqa: E402

from pkm_description.nodes import client_watch, process_line  # noqa: E402
from pkm_description.nodes.client_watch import ClientWatch  # noqa: E402
from pkm_description.nodes.process_line import NAME, QUEUE, ProcessLine  # noqa: E402

pytestmark = pytest.mark.skipif(not hasattr(socket, 'SO_PEERCRED'), reason='Linux only')
OTHER = """
import sys
from pkm_description.nodes.process_line import ProcessLine
line = ProcessLine(bytes.fromhex(sys.argv[1]), offers=sys.argv[2] == 'True')
print(line.is_cut(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def goal() -> bytes:
    return uuid.uuid4().bytes


def stranger(goal: bytes) -> socket.socket:
    """A connection that says nothing."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.setblocking(False)
    end.connect(NAME.format(goal.hex()))
    return end


@pytest.mark.parametrize('offers', [True, False])
def test_a_killed_process_is_told_at_once(goal: bytes, offers: bool) -> None:
    """Of one that only stands still nothing is told."""
    mine = ProcessLine(goal, offers=True) if offers else None
    other = subprocess.Popen(
        [sys.executable, '-c', OTHER, goal.hex(), str(not offers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None and other.stdout.readline() == b'False\n'
    mine = mine or ProcessLine(goal, offers=False)
    other.send_signal(signal.SIGSTOP)
    assert not mine.is_cut()
    other.kill()
    other.wait()
    assert mine.is_cut() and mine.is_cut()
    other.communicate()


def test_the_end_of_a_goal_is_no_death(goal: bytes) -> None:
    client = ProcessLine(goal, offers=True)
    server = ProcessLine(goal, offers=False)
    server.end()  # before the client has looked, too
    assert not client.is_cut() and not client.is_cut()


def test_who_has_no_line_is_told_nothing(goal: bytes, monkeypatch) -> None:
    lines = [ProcessLine(goal, offers=False)]  # nobody offers any
    monkeypatch.delattr(socket, 'SO_PEERCRED')  # on another system
    lines += [ProcessLine(goal, offers) for offers in (True, False)]
    for each in lines:
        assert not each.is_cut()
        each.end()
        assert not each.is_cut()


def test_strangers_are_hung_up_on(goal: bytes, monkeypatch) -> None:
    client = ProcessLine(goal, offers=True)
    early = stranger(goal)
    other_user = os.geteuid() + 1
    with monkeypatch.context() as other:
        other.setattr(process_line.os, 'geteuid', lambda: other_user)
        assert not client.is_cut()
        assert early.recv(1) == b''
        assert not ProcessLine(goal, offers=False).is_cut()  # nor does a server hold on to one
        assert not client.is_cut()
    server = ProcessLine(goal, offers=False)
    assert not client.is_cut() and not server.is_cut()
    with pytest.raises(ConnectionRefusedError):
        stranger(goal)  # the client listens to nobody else
    server.close()
    assert client.is_cut()


def test_who_floods_the_queue_costs_the_line_and_no_more(goal: bytes) -> None:
    client = ProcessLine(goal, offers=True)
    flood = [stranger(goal) for _ in range(QUEUE + 1)]
    with pytest.raises(BlockingIOError):
        stranger(goal)
    server = ProcessLine(goal, offers=False)
    assert not server.is_cut()
    client.close()
    assert not server.is_cut()
    for each in flood:
        each.close()


def test_a_client_is_lost_by_its_line_or_its_silence(goal: bytes, monkeypatch) -> None:
    told: list[str] = []
    watch, clock = ClientWatch(told.append), SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(client_watch, 'time', clock)
    for silent in (False, True):
        client = ProcessLine(goal, offers=True)
        watch.begin(goal, 5.0)
        watch.look()
        clock.now += 4.0
        watch.hear(UUID(uuid=list(goal)))
        clock.now += 4.0
        watch.look()
        assert not told
        if silent:
            clock.now += 2.0
            watch.look()
            assert not told  # heartbeats may have waited, too
        else:
            client.close()
        watch.look()
        watch.look()
        expected = 'no heartbeat of the client for 6.00 s' if silent else 'the client is gone'
        assert told.pop() == expected
        watch.end()
        client.close()
    assert not told
