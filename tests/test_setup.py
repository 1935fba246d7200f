"""The set-up keeps to the chosen interpreter, runs steps side by side and says what failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from declared_nodes import ROOT, executables

SCRIPTS = ROOT / 'scripts'
PYTHON = """\
#!/bin/sh
case "$*" in
  *version_info*) exit {too_old} ;;
  *_base_executable*) echo "$0" ;;
  -VV) echo "Python of $0" ;;
esac
"""
STEPS = """\
install_first_requirements() {
  echo "requirements $1"
  rm -rf "$VENV"
  mkdir "$VENV"
  echo "$1" >"$VENV/.python"
}
check_tools() { :; }
install_rest() { echo rest; }
install_packages() { echo packages; }
build_messages() { echo messages; }
warm_up() { echo kernels; }
"""


class Checkout:
    """A folder with the scripts, in which stand-ins take the place of Python and of the steps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bin = path / 'bin'
        self.bin.mkdir()
        (path / 'requirements').mkdir()
        shutil.copytree(SCRIPTS, path / 'scripts')

    def add_python(self, name: str, too_old: bool = False) -> str:
        file = self.bin / name
        file.write_text(PYTHON.format(too_old=int(too_old)))
        file.chmod(0o755)
        return str(file)

    def run(
        self, command: str, steps: str = STEPS, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command after the functions of the set-up and their stand-ins."""
        environment = {'PATH': f'{self.bin}:/usr/bin:/bin', 'HOME': str(self.path), **variables}
        script = f'. scripts/setup.sh\n{steps}\n{command}'
        return subprocess.run(
            ['bash', '-c', script], cwd=self.path, env=environment, capture_output=True, text=True
        )

    def found(self, **variables: str) -> str:
        done = self.run('find_python', **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def test_nodes_and_shared_folders_lie_where_launch_looks_for_them(checkout: Checkout) -> None:
    """In place: `lib/<package>` has each executable, `share/<package>` what launch files name."""
    python = checkout.add_python('python3')
    for package in {package for package, _ in executables().values()} | {'pkm_dynamics'}:
        for name in ('setup.py', 'setup.cfg', 'package.xml'):
            (checkout.path / package).mkdir(exist_ok=True)
            shutil.copy(ROOT / package / name, checkout.path / package)
    for folder in ('launch', 'config', 'policies'):
        (checkout.path / 'pkm_bringup' / folder).mkdir()
        (checkout.path / 'pkm_bringup' / folder / 'file').touch()
    venv = checkout.path / '.venv'
    (venv / 'bin').mkdir(parents=True)
    (venv / 'share/ament_index/resource_index/packages').mkdir(parents=True)
    (venv / 'bin/python').symlink_to(python)
    (checkout.path / '.build').mkdir()
    done = checkout.run('install_packages', steps='')
    assert done.returncode == 0, done.stderr
    for name, (package, _) in executables().items():
        assert (venv / 'lib' / package / name).readlink() == venv / 'bin' / name
        assert (venv / 'share/ament_index/resource_index/packages' / package).exists()
    share = venv / 'share/pkm_bringup'
    assert (share / 'package.xml').exists()
    for folder in ('launch', 'config', 'policies'):
        assert not (share / folder).is_symlink()  # ros2 launch would not look into it
        assert (share / folder / 'file').samefile(checkout.path / 'pkm_bringup' / folder / 'file')
    # a new file is found by the next set-up, without a change of any setup.py
    (checkout.path / 'pkm_bringup' / 'launch' / 'new.launch.py').touch()
    checkout.run('install_packages', steps='')
    assert (share / 'launch' / 'new.launch.py').exists()


def _ends(process: int, within: float = 20.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_python_that_is_new_enough_is_taken(checkout: Checkout) -> None:
    checkout.add_python('python3', too_old=True)
    new = checkout.add_python('python3.12')
    assert checkout.found() == new


def test_a_python_that_is_too_old_is_refused(checkout: Checkout) -> None:
    checkout.add_python('python3')
    old = checkout.add_python('old', too_old=True)
    done = checkout.run('find_python', PYTHON=old)
    assert done.returncode == 1 and 'needs Python 3.10' in done.stderr


def test_the_chosen_python_stays_chosen(checkout: Checkout) -> None:
    checkout.add_python('python3')
    chosen, other = checkout.add_python('chosen'), checkout.add_python('other')
    first = checkout.run('main', PYTHON=chosen)
    assert f'requirements {chosen}' in first.stdout, first.stderr
    for variables in ({}, {'PYTHON': ''}, {'PYTHON': chosen}):
        assert checkout.found(**variables) == chosen
        again = checkout.run('main', **variables)
        assert again.returncode == 0 and 'requirements' not in again.stdout
    assert f'requirements {other}' in checkout.run('main', PYTHON=other).stdout
    assert checkout.found() == other


def test_a_chosen_python_that_is_gone_is_replaced(checkout: Checkout) -> None:
    usual, chosen = checkout.add_python('python3'), checkout.add_python('chosen')
    checkout.run('main', PYTHON=chosen)
    Path(chosen).unlink()
    assert f'requirements {usual}' in checkout.run('main').stdout


def test_changed_requirements_are_installed_with_the_chosen_python(checkout: Checkout) -> None:
    checkout.add_python('python3')
    chosen = checkout.add_python('chosen')
    checkout.run('main', PYTHON=chosen)
    (checkout.path / 'requirements' / 'new.txt').write_text('numpy')
    assert f'requirements {chosen}' in checkout.run('main').stdout


def test_all_steps_run_and_then_only_the_cheap_ones(checkout: Checkout) -> None:
    checkout.add_python('python3')
    first, again = checkout.run('main').stdout, checkout.run('main').stdout
    for step in ('requirements', 'rest', 'messages', 'kernels'):
        assert f'{step}\n' in first or f'{step} /' in first
    assert sorted(again.split()) == ['kernels', 'messages', 'packages']


def test_steps_run_side_by_side(checkout: Checkout) -> None:
    checkout.add_python('python3')
    waits = (
        'build_messages() { echo >m; until [ -e k ]; do sleep 0.01; done; }\n'
        'warm_up() { echo >k; until [ -e m ]; do sleep 0.01; done; }\n'
    )
    assert checkout.run(f'{waits} main').returncode == 0


def test_a_step_that_fails_ends_the_set_up(checkout: Checkout) -> None:
    """Its output is shown, the others end, and the next call does not take it for done."""
    checkout.add_python('python3')
    broken = (
        'build_messages() { quietly bash -c "echo no compiler; exit 3"; }\n'
        'warm_up() { sleep 60 & echo $! >child; wait; }\n'
    )
    done = checkout.run(f'{broken} main')
    assert done.returncode == 1
    assert 'no compiler' in done.stderr and 'setup-build_messages.log' in done.stderr
    child = int((checkout.path / 'child').read_text())
    assert _ends(child)
    assert 'requirements' in checkout.run('main').stdout
