"""Drives that do not give what they are told are found, others are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Recording
from pkm_identification.monitoring.drive_monitor import DriveMonitor

RATE, WINDOW = 1000.0, 0.05
NOISE = np.array([5.0, 20.0])
GAIN, OFFSET, DELAY = np.array([0.97, 1.0]), np.array([0.0, 3.0]), 0.004
JOINTS = ('a', 'b')


def commands(time):
    return np.column_stack(
        [200 * np.sin(7 * time) + 50 * np.sin(23 * time), 300 * np.cos(5 * time)]
    )


def measured(time, seed):
    random = np.random.default_rng(seed)
    return OFFSET + GAIN * commands(time - DELAY) + NOISE * random.standard_normal((len(time), 2))


def pair(duration, seed):
    time = np.arange(round(duration * RATE)) / RATE
    given = {'time': time, 'joint_names': JOINTS, 'positions': np.zeros((len(time), 2))}
    told = Recording.from_arrays(efforts=commands(time), **given)
    return told, Recording.from_arrays(efforts=measured(time, seed), **given)


@pytest.fixture(scope='module')
def monitor():
    return DriveMonitor.calibrated([pair(30.0, 1), pair(30.0, 2)], WINDOW, 1440.0)


def ratios(monitor, time, forces):
    monitor.reset()
    blocks = np.array_split(np.arange(len(time)), 37)  # of any size, as messages come
    parts = [monitor.add(time[rows], commands(time[rows]), forces[rows]) for rows in blocks]
    return [part for part in parts if part is not None]


def test_what_the_drives_make_of_their_commands_is_found(monitor) -> None:
    response = monitor.response
    # a delay to first order lets (w d)^2 / 2 of an amplitude go: 6e-4 of the first drive's
    assert response.gain == pytest.approx(GAIN, abs=1.2e-3)
    assert response.delay == pytest.approx([DELAY] * 2, abs=3e-4)
    assert response.offset == pytest.approx(OFFSET, abs=0.2)
    # of means over the window of white noise
    assert response.deviation == pytest.approx(NOISE / np.sqrt(WINDOW * RATE), rel=0.1)


def test_false_alarms_come_as_often_as_is_said(monitor) -> None:
    """One a minute is promised: in 20 minutes more than 32 have a chance of 1/200, none of 1e-9."""
    time = np.arange(round(1200 * RATE)) / RATE
    beyond = np.concatenate([part.alarms for part in ratios(monitor, time, measured(time, 3))])
    found = np.count_nonzero(beyond[1:] & ~beyond[:-1])
    assert 0 < found <= 32


@pytest.mark.parametrize('drive', [0, 1])
def test_a_drive_that_gives_less_is_named(monitor, drive: int) -> None:
    time = np.arange(round(4 * RATE)) / RATE
    forces = measured(time, 4)
    broken = time > 2.0
    forces[broken, drive] -= 0.3 * commands(time[broken])[:, drive]
    parts = ratios(monitor, time, forces)
    alarms = np.concatenate([part.alarms for part in parts])
    when = np.concatenate([part.time for part in parts])
    scores = np.concatenate([part.ratios for part in parts])
    first = int(np.argmax(alarms))
    assert 2.0 < when[first] < 2.2
    worst = scores[(when > 2.0)].max(axis=0)
    assert int(np.argmax(worst[:-1])) == drive
    assert worst[1 - drive] < 1.0


def test_blocks_of_any_size_give_the_same(monitor) -> None:
    time = np.arange(round(1 * RATE)) / RATE
    forces = measured(time, 5)
    monitor.reset()
    whole = monitor.add(time, commands(time), forces)
    assert whole is not None
    parts = ratios(monitor, time, forces)
    assert np.concatenate([part.forces for part in parts]) == pytest.approx(whole.forces)
    assert np.concatenate([part.time for part in parts]) == pytest.approx(whole.time)


def test_what_tells_nothing_is_refused() -> None:
    told, _ = pair(30.0, 1)
    with pytest.raises(EstimationError, match='to the last digit'):
        DriveMonitor.calibrated([(told, told)], WINDOW, 1.0)
    with pytest.raises(EstimationError, match='10 s are needed'):
        DriveMonitor.calibrated([pair(5.0, 1)], WINDOW, 1.0)
    with pytest.raises(EstimationError, match='false_alarms'):
        DriveMonitor.calibrated([pair(30.0, 1)], WINDOW, 0.0)
