"""The live view of a search, and stopping it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from pkm_bringup.views.design_view import SearchHistory, design_view, stop_on_interrupt

LONGEST_WAIT = 60.0  # [s] of something that comes at once on an idle machine


def test_the_curve_follows_the_best(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 10.0)
    monkeypatch.setattr('pkm_bringup.views.design_view.time', clock)
    history = SearchHistory()
    for value in (5.0, 3.0, 4.0, 1.0):
        history.update('1 of 2 starts', 0.5, 3.0, value)
    assert [best for _, best in history.best] == [5.0, 3.0, 3.0, 1.0]
    history.best = [(at, best) for at, (_, best) in enumerate(history.best)]
    clock.monotonic = lambda: 14.0
    rows = history.curve(width=40, height=4)
    assert len(rows) == 5 and rows[0].endswith(' 5') and rows[3].endswith(' 1')
    assert rows[4] == '0 s' + 34 * ' ' + '4 s'
    heights = [sum(row[column] != ' ' for row in rows[:4]) for column in range(40)]
    assert heights == sorted(heights, reverse=True) and heights[-1] < heights[0]


def test_no_criterion_draws_nothing():
    history = SearchHistory()
    history.update('base parameters')
    history.update('0 of 8 starts, 3', 0.0, float('nan'))
    assert history.curve() == []


def test_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr('pkm_bringup.views.console.QUIET_TIME', 0.05)
    with design_view('designing') as tell:
        tell('1 of 2 starts', 0.25, 12.0, -3.0)
        shown, end = '', time.monotonic() + LONGEST_WAIT
        while '\n' not in shown and time.monotonic() < end:
            time.sleep(0.01)
            shown += capsys.readouterr().err
    line = shown.splitlines()[0]
    assert line.startswith('designing: 1 of 2 starts, criterion -3, 12 s left, 25 %')


def test_the_first_interrupt_sets_the_event_and_the_second_interrupts(capsys):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop_on_interrupt('kept') as event:
        os.kill(os.getpid(), signal.SIGINT)
        assert event.wait(LONGEST_WAIT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(LONGEST_WAIT)
    assert signal.getsignal(signal.SIGINT) is before
    assert 'stopping: kept' in capsys.readouterr().err


@pytest.mark.slow
def test_interrupting_a_design_on_a_terminal_keeps_the_best(tmp_path):
    """As a terminal does it: the whole process group gets the signal, workers too."""
    path = tmp_path / 'design.yaml'
    master, slave = pty.openpty()
    command = [sys.executable, '-m', 'pkm_bringup.cli', 'excite', 'design', '--robot', 'four_bar']
    command += ['--harmonics', '6', '--starts', '400', '--output', str(path), '--json']
    command += ['--workers', '2']
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, 'TERM': 'xterm', 'COLUMNS': '90'},
    )
    os.close(slave)
    shown, sent, end = b'', False, time.monotonic() + 240.0
    while time.monotonic() < end:
        try:
            shown += os.read(master, 65536)
        except OSError:
            break
        if not sent and re.search(rb'criterion -?\d', shown):
            os.killpg(process.pid, signal.SIGINT)
            sent = True
    output, _ = process.communicate(timeout=60.0)
    assert process.returncode == 130, shown[-2000:]
    content = json.loads(output)
    assert content['cancelled'] and path.is_file()
    assert b'stopping: the best design' in shown and 'Traceback' not in shown.decode()
