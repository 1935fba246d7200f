"""`pkm identify-all`: a model of each recording of a folder, each computed once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from every_model import model_of
from monitored_recordings import recorded, write

from pkm_bringup import cli, identified_folder
from pkm_bringup.identified_folder import INDEX, key_of
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load, load_result
from pkm_identification.requests.identify_request import IdentifyRequest

ROBOT, DAYS = 'five_bar', 4
KILLED = """
import signal, sys
from pathlib import Path
from pkm_bringup import cli, identified_folder

whole, calls = identified_folder.identify_recordings, []

def waits(*arguments):
    calls.append(arguments)
    if len(calls) > int(sys.argv[1]):
        Path(sys.argv[2]).touch()
        signal.pause()
    return whole(*arguments)

identified_folder.identify_recordings = waits
cli.main(sys.argv[3:])
"""


@pytest.fixture(scope='module')
def recordings(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('year')
    for day in range(DAYS):
        write(folder, day, recorded(ROBOT, day))
    return folder


@pytest.fixture(scope='module')
def models(recordings, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('models')
    assert cli.main(command(recordings, folder)) == 0
    return folder


def command(folder: Path, models: Path, *more: str) -> list[str]:
    given = ['--robot', ROBOT, '--output', str(models), '--workers', '1']
    return ['identify-all', str(folder), *given, *more]


def files(models: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in models.glob('*.yaml')}


def test_each_has_the_model_that_identify_finds(recordings, models) -> None:
    index = json.loads((models / INDEX).read_text())
    assert list(index) == [f'day_{day:03}.npz' for day in range(DAYS)]
    assert len({entry['model'] for entry in index.values()}) == DAYS
    found = load_result(models / index['day_001.npz']['model'], model_of(ROBOT))
    alone = identify(load(recordings / 'day_001.npz', truth=False), model_of(ROBOT), 'wls')
    np.testing.assert_array_equal(found.values, alone.values)


def test_a_broken_one_is_named_and_the_others_are_not_computed_again(
    recordings, models, tmp_path, capsys, monkeypatch
) -> None:
    """In another folder, under other names."""
    shutil.copy(recordings / 'day_002.npz', tmp_path / 'b.npz')
    (tmp_path / 'a.npz').write_bytes(b'PK nonsense')
    kept = shutil.copytree(models, tmp_path / 'models')
    whole = identified_folder.identify_recordings

    def reads(request, model):
        assert Path(request.data[0]).name == 'a.npz', 'computed again'
        return whole(request, model)

    monkeypatch.setattr(identified_folder, 'identify_recordings', reads)
    assert cli.main(command(tmp_path, kept, '--json')) == 1
    broken, found = json.loads(capsys.readouterr().out)['recordings']
    before = json.loads((models / INDEX).read_text())
    assert found == {'recording': 'b.npz', **before['day_002.npz']}
    assert broken['recording'] == 'a.npz' and 'NPZ' in broken['error']
    assert files(kept) == files(models)


def test_what_the_digest_depends_on(recordings, models, tmp_path) -> None:
    first, second = (str(recordings / f'day_00{day}.npz') for day in range(2))
    model = model_of(ROBOT)
    names = sorted(files(models))
    prior = shutil.copy(models / names[0], tmp_path / 'prior.yaml')
    options = {'prior': str(prior)}
    requests = [
        IdentifyRequest([first]),
        IdentifyRequest([second]),
        IdentifyRequest([first], 'ls'),
        IdentifyRequest([first], options={'method': 'filter'}),
        IdentifyRequest([first], loading={'start': 1.0}),
        IdentifyRequest([first], options=options),
    ]
    keys = [key_of(request, model) for request in requests]
    shutil.copy(models / names[1], prior)  # the same path, another content
    keys.append(key_of(requests[-1], model))
    encoder = next(iter(model.description.actuators)).joint
    described = replace(model.description, calibration={encoder: 'another machine'})
    keys.append(key_of(requests[0], ClosedChainModel(described)))
    assert len(set(keys)) == len(keys)
    moved = shutil.copy(first, tmp_path / 'moved.npz')
    assert key_of(IdentifyRequest([str(moved)]), model) == keys[0]


def test_killed_at_random_moments_it_goes_on_with_identical_numbers(
    recordings, models, tmp_path
) -> None:
    again, waiting = tmp_path / 'models', tmp_path / 'waiting'
    first = random.randrange(DAYS - 1)
    for count in (first, random.randrange(DAYS - first)):
        there = {path.name: path.stat() for path in again.glob('*.yaml')}
        words = [str(count), str(waiting), *command(recordings, again)]
        running = subprocess.Popen(
            [sys.executable, '-c', KILLED, *words], stderr=subprocess.DEVNULL
        )
        while not waiting.exists():
            assert running.poll() is None
            os.sched_yield()
        running.send_signal(signal.SIGKILL)
        running.wait()
        waiting.unlink()
        assert len(files(again)) == len(there) + count
        assert {name: (again / name).stat() for name in there} == there  # not written anew
    assert cli.main(command(recordings, again)) == 0
    assert files(again) == files(models)


def test_wrong_requests_are_refused_before_anything_is_read(recordings, tmp_path, fails) -> None:
    wrong = command(recordings, tmp_path / 'models')
    assert "'nonsense'" in fails(*wrong, '--estimator', 'nonsense')
    assert 'not a folder' in fails(*command(tmp_path / 'none', tmp_path / 'models'))
    (tmp_path / 'file').touch()
    assert str(tmp_path / 'file') in fails(*command(recordings, tmp_path / 'file'))
