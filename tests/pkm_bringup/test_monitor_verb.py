"""`pkm monitor` on a folder of a Delta robot."""

from __future__ import annotations

import json
from shutil import copy2

import pytest
from monitored_recordings import Robot, recorded, write

from pkm_bringup import cli, monitored
from pkm_identification.requests import monitor_request

HEALTHY, ROBOT = 5, 'delta'


@pytest.fixture(scope='module')
def recordings(tmp_path_factory):
    """A folder with a payload from the sixth day on, and files that are of no use."""
    folder = tmp_path_factory.mktemp('year')
    for day in range(HEALTHY + 2):
        robot = Robot(added={'platform.m': 0.2}) if day >= HEALTHY else None
        write(folder, day, recorded(ROBOT, day, robot))
    (folder / 'broken.npz').write_bytes(b'PK nonsense')
    (folder / 'notes.txt').write_text('no recording')
    write(folder, 900, recorded('rps_upv', 1))
    return folder


def test_a_payload_is_named_and_useless_files_are_left_out(
    recordings, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    picture, result = tmp_path / 'year.png', tmp_path / 'year.json'
    command = ['monitor', str(recordings), '--robot', ROBOT, '--reference', '4', '--workers', '1']
    assert cli.main([*command, '--plot', str(picture), '--output', str(result)]) == 3
    shown = capsys.readouterr().out
    assert shown.startswith('changed: payload +0.')
    assert 'since day_005.npz' in shown.split('\n')[0]
    assert "order of their files' times" in shown
    assert picture.stat().st_size > 10_000
    content = json.loads(result.read_text())
    (change,) = content['changes']
    assert (change['kind'], change['since'], change['course']) == ('payload', 'day_005.npz', 'step')
    assert abs(change['value'] - 0.2) < 5 * change['standard_deviation']
    assert set(content['left_out']) == {'broken.npz', 'day_900.npz'}
    assert content['recordings'] == [f'day_{day:03}.npz' for day in range(HEALTHY + 2)]

    def refuse(*_, **__):
        raise AssertionError('computed again')

    monkeypatch.setattr(monitor_request, 'observe', refuse)
    assert cli.main([*command, '--json']) == 3
    assert json.loads(capsys.readouterr().out)['changes'] == content['changes']


def test_folders_that_say_nothing_are_refused(tmp_path, fails):
    assert 'holds no recordings' in fails('monitor', tmp_path, '--robot', ROBOT)
    assert 'not a folder' in fails('monitor', tmp_path / 'x', '--robot', ROBOT)
    for day in range(2):
        write(tmp_path, day, recorded(ROBOT, day))
    text = fails('monitor', tmp_path, '--robot', ROBOT, '--workers', '1')
    assert 'holds 2 recordings that can be used' in text
    assert '4 are needed' in text


def test_a_folder_is_followed_until_interrupted(recordings, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    folder, days = tmp_path / 'live', iter(range(3, HEALTHY + 2))
    folder.mkdir()
    for day in range(3):
        copy2(recordings / f'day_{day:03}.npz', folder)

    def another_day(_):
        day = next(days, None)
        if day is None:
            raise KeyboardInterrupt
        copy2(recordings / f'day_{day:03}.npz', folder)

    monkeypatch.setattr('pkm_bringup.verbs.monitor.time.sleep', another_day)
    hashed, file_hash = [], monitored.file_hash
    monkeypatch.setattr(monitored, 'file_hash', lambda p: hashed.append(p.name) or file_hash(p))
    command = ['monitor', str(folder), '--robot', ROBOT, '--reference', '4', '--workers', '1']
    assert cli.main([*command, '--live']) == 130
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert 'are needed' in lines[0]
    assert 'healthy' in lines[1]
    assert lines[2].startswith('day_005.npz: changed: payload')
    # each for `look` and `observed`, and days 0 to 4 for the reference values
    assert sorted(hashed) == sorted(
        f'day_{day:03}.npz' for day in range(HEALTHY + 2) for _ in range(3 if day < 5 else 2)
    )
