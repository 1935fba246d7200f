"""Tutorials: every file written, every command executed, what is shown compared."""

from __future__ import annotations

import contextlib
import io
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from page_examples import blocks, same, write_files

DOC = Path(__file__).resolve().parents[1] / 'doc'
OWN_ROBOT = (DOC / 'own_robot.md').read_text(encoding='utf-8')
FROM_A_BAG = (DOC / 'from_a_bag.md').read_text(encoding='utf-8')
# Of shown numbers: processors round differently, and so do searches. Were the noise drawn anew, the
# least known of them (0.4 %) would leave this once in 2,000 times.
RELATIVE = 0.02
MOST_COMMANDS = 10
LARGEST_ERROR = 2.0  # [%] of the forces of the other motion, to the truth
LARGEST_TO_MEASURED = 20.0  # [%] of those of a bag, whose noise no model predicts


def same_line(shown: str, printed: str) -> bool:
    """Whether a line is printed as shown; `...` at an end of it leaves out the rest."""
    wanted, found = shown.split(), printed.split()
    if wanted[:1] == ['...']:
        wanted = wanted[1:]
        found = found[-len(wanted) :]
    if wanted[-1:] == ['...']:
        wanted = wanted[:-1]
        found = found[: len(wanted)]
    return same(' '.join(found), ' '.join(wanted), RELATIVE, digits=0.0)


def missing(shown: str, printed: str) -> str | None:
    """First shown line that does not follow in what was printed, if any."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() != '...' and not any(same_line(line, each) for each in rest):
            return line
    return None


def test_comparison_tells_outputs_apart() -> None:
    printed = 'good model: it is\nmass 3.71 kg\nend'
    assert missing('good model: ...\n...\nend', printed) is None
    assert missing('mass 3.7 ...', printed) is None
    assert missing('... 3.7 kg', printed) is None
    assert missing('... 3.9 kg', printed) == '... 3.9 kg'
    assert missing('mass 3.9 kg', printed) == 'mass 3.9 kg'
    assert missing('end\nmass 3.7 kg', printed) == 'mass 3.7 kg'


def run(arguments: list[str]) -> str:
    """Return what a command prints, in a process of its own, as a user's."""
    done = subprocess.run(
        [sys.executable, '-m', 'pkm_bringup.cli', *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f'{arguments}: {done.stderr}'
    return done.stdout


def run_here(arguments: list[str]) -> str:
    """Return what a command prints, in this process, which has imported everything already."""
    from pkm_bringup.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(arguments)
    assert status == 0, arguments
    return printed.getvalue()


def printed_by(page: str, command: Callable[[list[str]], str]) -> dict[str, str]:
    """Run a page in this folder and compare what it shows; what each command printed."""
    write_files(page, Path())
    printed: dict[str, str] = {}
    for fence in blocks(page):
        if fence['language'] == 'sh':
            for line in fence['text'].splitlines():
                program, *arguments = shlex.split(line)
                assert program == 'pkm'
                printed[line] = last = command(arguments)
        elif fence['language'] not in ('xml', 'yaml'):
            assert missing(fence['text'], last) is None, last
    return printed


def processor_time() -> float:
    """Of this process and those that it has run [s]."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def error_of(printed: dict[str, str], form: str) -> float:
    """The eps_RA [%] that a page's `pkm validate` printed."""
    (validated,) = [text for command, text in printed.items() if ' validate ' in command]
    (error,) = re.findall(rf'^eps_RA overall: {form}', validated, re.MULTILINE)
    return float(error)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a page is run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_own_robot(folder: Path, capsys: pytest.CaptureFixture) -> None:
    before = processor_time()
    printed = printed_by(OWN_ROBOT, run)
    seconds = processor_time() - before
    with capsys.disabled():
        print(f'\nown robot: {len(printed)} commands, {seconds:.0f} s of processor time')
    assert len(printed) <= MOST_COMMANDS
    assert error_of(printed, r'.*in band, ([\d.]+) %') < LARGEST_ERROR
    for name in ('biglide.png', 'excitation.png', 'report.html'):
        assert (folder / name).stat().st_size > 5_000


def test_from_a_bag(folder: Path) -> None:
    write_files(OWN_ROBOT, folder)  # its robot
    printed = printed_by(FROM_A_BAG, run_here)
    assert error_of(printed, r'([\d.]+) %') < LARGEST_TO_MEASURED
    for name in ('report.html', 'identified.urdf'):
        assert (folder / name).stat().st_size > 2_000
