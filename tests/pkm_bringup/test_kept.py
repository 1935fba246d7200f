"""What is kept from one call to the next is right, and made anew when a description changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pkm_description
from pkm_bringup import kept as module
from pkm_bringup.robot_list import robot_list


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'pkm_bringup'


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the descriptions, whose files may change."""
    source = Path(pkm_description.__file__).parent
    target = tmp_path / 'pkm_description'
    shutil.copytree(source, target, ignore=shutil.ignore_patterns('__pycache__'))
    spec = type('Spec', (), {'submodule_search_locations': [str(target)]})
    monkeypatch.setattr(module, 'find_spec', lambda name: spec)
    return target


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each reading of the library, which has one robot."""
    found: list[str] = []

    def library() -> list[str]:
        found.append('read')
        return ['four_bar']

    monkeypatch.setattr(pkm_description, 'library', library)
    monkeypatch.setattr(pkm_description, 'examples', list)
    return found


def test_numbers_are_those_of_the_description(cache: Path, reads: list[str]) -> None:
    (robot,) = robot_list()
    loaded = pkm_description.load('four_bar')
    assert robot == {
        'name': 'four_bar',
        'title': loaded.sidecar['title'],
        'actuators': 1,
        'links': len(loaded.links),
        'constraints': 1,
        'path': str(loaded.path),
    }


def test_the_list_is_read_once(cache: Path, reads: list[str]) -> None:
    assert robot_list() == robot_list()
    assert reads == ['read'] and len(list(cache.iterdir())) == 1


@pytest.mark.parametrize('file', ['robots/four_bar/four_bar.yaml', 'loader.py'])
def test_a_changed_file_counts(cache: Path, reads: list[str], copy: Path, file: str) -> None:
    robot_list()
    with (copy / file).open('a') as stream:
        stream.write('# changed\n')
    robot_list()
    assert reads == ['read', 'read']


@pytest.mark.parametrize('text', ['', '{"value": []}', 'null', '{"key": 1, "value": []}'])
def test_a_damaged_list_does_not_count(cache: Path, reads: list[str], text: str) -> None:
    robot_list()
    (file,) = cache.iterdir()
    file.write_text(text)
    assert [robot['name'] for robot in robot_list()] == ['four_bar']
    assert (
        reads == ['read', 'read'] and json.loads(file.read_text())['value'][0]['name'] == 'four_bar'
    )


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[str]
) -> None:
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'file'))
    assert len(robot_list()) == 1


def test_a_kept_list_needs_no_numerics(cache: Path) -> None:
    robot_list()
    code = (
        'import sys; from pkm_bringup import cli; cli.main(["robots"]); '
        'print("numpy" in sys.modules)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == 'False'


def test_a_robot_is_described_again_without_kernels(cache: Path, tmp_path: Path) -> None:
    robots = Path(pkm_description.__file__).parent / 'robots'
    for name in ('four_bar', 'common'):
        shutil.copytree(robots / name, tmp_path / name)
    urdf = tmp_path / 'four_bar' / 'four_bar.urdf.xacro'
    code = (
        'import sys; from pkm_bringup import cli; cli.main(["describe", *sys.argv[1:]]); '
        'print("numba" in sys.modules)'
    )

    def described(*options: str) -> list[str]:
        command = [sys.executable, '-c', code, str(urdf), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    first, again, other = described(), described(), described('--base')
    assert first[:-1] == again[:-1] and (first[-1], again[-1], other[-1]) == (
        'True',
        'False',
        'True',
    )
    urdf.write_text(urdf.read_text().replace('mass="0.6"', 'mass="0.7"'))
    changed = described()
    assert changed[-1] == 'True' and changed[:-1] != first[:-1]
