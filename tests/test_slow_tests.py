"""Slow tests are found by their processor time, listed, and left out by `make quick`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import slow_tests

HELPERS = Path(slow_tests.__file__).parent
TESTS = """
import subprocess, sys, time
import pytest

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.mark.parametrize('seconds', [0.0, 0.6])
def test_computes(seconds):
    busy(seconds)

def test_waits():
    time.sleep(0.7)

def test_is_quick():
    pass

@pytest.fixture
def prepared():
    busy(0.6)

def test_prepares(prepared):
    pass

def test_of_a_child():
    code = 'import time\\nwhile time.process_time() < 0.6: pass'
    subprocess.run([sys.executable, '-c', code], check=True)
"""
SLOW = {'test_computes', 'test_prepares', 'test_of_a_child'}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of its own with one file of tests."""
    (tmp_path / 'tests' / 'helpers').mkdir(parents=True)
    shutil.copy(HELPERS.parent / 'conftest.py', tmp_path / 'tests')
    for name in ('slow_tests.py', 'ros_domain.py'):
        shutil.copy(HELPERS / name, tmp_path / 'tests' / 'helpers')
    (tmp_path / 'tests' / 'test_it.py').write_text(TESTS)
    (tmp_path / 'pytest.ini').write_text(
        '[pytest]\nmarkers = slow: slow\npythonpath = tests/helpers\n'
    )
    return tmp_path


def run(checkout: Path, *arguments: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith('PYTEST_')}
    command = [sys.executable, '-m', 'pytest', '-v', '-p', 'no:cacheprovider']
    done = subprocess.run(
        [*command, *arguments, 'tests'], cwd=checkout, env=kept, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize('processes', ['0', '2'])
def test_slow_tests_are_named_and_then_left_out(checkout: Path, processes: str) -> None:
    listing = run(checkout, '-n', processes).partition('does not leave out')[2]
    assert {name for name in SLOW if f'test_it.py::{name}' in listing} == SLOW
    assert 'test_waits' not in listing and 'test_is_quick' not in listing
    subprocess.run([sys.executable, 'tests/helpers/slow_tests.py'], cwd=checkout, check=True)
    kept = (checkout / 'tests' / 'helpers' / 'slow_tests.txt').read_text().splitlines()
    names, times = zip(*map(str.split, kept), strict=True)
    assert list(names) == sorted(f'tests/test_it.py::{name}' for name in SLOW)
    assert all(0.6 <= float(time) < 1.2 for time in times)
    text = run(checkout, '-n', processes, '-m', 'not slow')
    assert '2 passed' in text and 'does not leave out' not in text


def test_help_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slow_tests, 'LISTED', tmp_path / 'slow_tests.txt')
    for words in (['--help'], ['more']):
        monkeypatch.setattr(sys, 'argv', ['slow_tests.py', *words])
        with pytest.raises(SystemExit):
            slow_tests.main()
    assert not list(tmp_path.iterdir())


def test_the_longest_file_comes_first(checkout: Path) -> None:
    tests = checkout / 'tests'
    (tests / 'test_last.py').write_text('def test_long(): ...')
    (tests / 'test_more.py').write_text(''.join(f'def test_{k}(): ...\n' for k in range(9)))
    listed = tests / 'helpers' / 'slow_tests.txt'
    listed.write_text('tests/test_last.py::test_long 3.0\ntests/test_it.py::test_waits 1.0\n')
    text = run(checkout, '-n', '0')
    files = [line.partition('::')[0] for line in text.splitlines() if ' PASSED' in line]
    order = ['tests/test_last.py', 'tests/test_it.py', 'tests/test_more.py']
    assert list(dict.fromkeys(files)) == order


def test_what_was_not_measured_stays_and_what_is_gone_goes() -> None:
    files = {'tests/test_a.py': 'def test_old(): ...\ndef test_fast(): ...\ndef test_new(): ...'}
    known = {f'tests/test_a.py::test_{name}': 2.0 for name in ('old', 'fast', 'x')}
    known['tests/test_b.py::test_old'] = 2.0
    seconds = {f'tests/test_a.py::test_new[{k}]': time for k, time in enumerate((9.0, 0.1))}
    seconds['tests/test_a.py::test_fast'] = 0.1
    assert slow_tests.updated(known, seconds, files) == {
        'tests/test_a.py::test_new': pytest.approx(9.1),
        'tests/test_a.py::test_old': 2.0,
    }


@pytest.mark.parametrize('seed', ['1', '2', '3'])
def test_all_processes_have_the_same_order(seed):
    """Those of pytest-xdist must collect the same; the order of sets differs between them."""
    code = 'import slow_tests; print(repr(slow_tests.time_of_files(slow_tests.listed())))'
    own = slow_tests.time_of_files(slow_tests.listed())
    other = subprocess.run(
        [sys.executable, '-c', code],
        env={**os.environ, 'PYTHONHASHSEED': seed, 'PYTHONPATH': str(HELPERS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == repr(own)
