"""Tutorials: every file written, every command executed, what is shown compared."""

from __future__ import annotations

import math
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'own_robot.md'
FENCE = re.compile(r'(?P<before>[^\n]*)\n+```(?P<language>\w*)\n(?P<text>.*?)\n```', re.DOTALL)
RELATIVE = 0.02  # of shown numbers: designs and noise differ a little between processors
MOST_COMMANDS = 10
LARGEST_ERROR = 2.0  # [%] of the forces of the other motion, to the truth


def same(shown: str, printed: str) -> bool:
    """Whether a line is printed as shown; `...` at its end leaves out the rest."""
    wanted, found = shown.split(), printed.split()
    if wanted[-1:] == ['...']:
        wanted = wanted[:-1]
        found = found[: len(wanted)]
    if len(wanted) != len(found):
        return False
    for one, other in zip(wanted, found, strict=True):
        try:
            close = math.isclose(float(one), float(other), rel_tol=RELATIVE)
        except ValueError:
            close = one == other
        if not close:
            return False
    return True


def missing(shown: str, printed: str) -> str | None:
    """First shown line that does not follow in what was printed, if any."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() != '...' and not any(same(line, each) for each in rest):
            return line
    return None


def test_comparison_tells_outputs_apart() -> None:
    printed = 'good model: it is\nmass 3.71 kg\nend'
    assert missing('good model: ...\n...\nend', printed) is None
    assert missing('mass 3.7 ...', printed) is None
    assert missing('mass 3.9 kg', printed) == 'mass 3.9 kg'
    assert missing('end\nmass 3.7 kg', printed) == 'mass 3.7 kg'


def run(command: str, folder: Path) -> str:
    """Return what a command prints, in a process of its own."""
    program, *arguments = shlex.split(command)
    assert program == 'pkm'
    done = subprocess.run(
        [sys.executable, '-m', 'pkm_bringup.cli', *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f'{command}: {done.stderr}'
    return done.stdout


def test_own_robot(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    commands, printed = [], ''
    for fence in FENCE.finditer(PAGE.read_text(encoding='utf-8')):
        if fence['language'] in ('xml', 'yaml'):
            (name,) = re.findall(r'`(biglide\.\w+)`', PAGE.read_text()[: fence.start('text')])[-1:]
            (tmp_path / name).write_text(fence['text'])
        elif fence['language'] == 'sh':
            for command in fence['text'].splitlines():
                printed = run(command, tmp_path)
                commands.append(command)
        else:
            assert missing(fence['text'], printed) is None, printed
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with capsys.disabled():
        print(f'\n{PAGE.name}: {len(commands)} commands, {seconds:.0f} s of processor time')
    assert len(commands) <= MOST_COMMANDS
    again = run(next(each for each in commands if ' validate ' in each), tmp_path)
    (error,) = re.findall(r'^eps_RA overall: .*in band, ([\d.]+) %', again, re.MULTILINE)
    assert float(error) < LARGEST_ERROR
    for name in ('biglide.png', 'excitation.png', 'report.html'):
        assert (tmp_path / name).stat().st_size > 5_000
