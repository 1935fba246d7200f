"""Tutorials: every file written, every command executed, what is shown compared."""

from __future__ import annotations

import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_examples import blocks, same, write_files

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'own_robot.md'
# Of shown numbers: processors round differently, and so do searches. Were the noise drawn anew, the
# least known of them (0.4 %) would leave this once in 2,000 times.
RELATIVE = 0.02
MOST_COMMANDS = 10
LARGEST_ERROR = 2.0  # [%] of the forces of the other motion, to the truth


def same_line(shown: str, printed: str) -> bool:
    """Whether a line is printed as shown; `...` at its end leaves out the rest."""
    wanted, found = shown.split(), printed.split()
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
    page = PAGE.read_text(encoding='utf-8')
    write_files(page, tmp_path)
    printed: dict[str, str] = {}
    for fence in blocks(page):
        if fence['language'] == 'sh':
            for command in fence['text'].splitlines():
                printed[command] = last = run(command, tmp_path)
        elif fence['language'] not in ('xml', 'yaml'):
            assert missing(fence['text'], last) is None, last
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with capsys.disabled():
        print(f'\n{PAGE.name}: {len(printed)} commands, {seconds:.0f} s of processor time')
    assert len(printed) <= MOST_COMMANDS
    (validated,) = [text for command, text in printed.items() if ' validate ' in command]
    (error,) = re.findall(r'^eps_RA overall: .*in band, ([\d.]+) %', validated, re.MULTILINE)
    assert float(error) < LARGEST_ERROR
    for name in ('biglide.png', 'excitation.png', 'report.html'):
        assert (tmp_path / name).stat().st_size > 5_000
