"""The documentation beside what `make docs` checks: nothing listed twice, READMEs short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / 'doc' / 'index.md'
READMES = sorted([ROOT / 'README.md', *ROOT.glob('pkm_*/README.md')])
LONGEST = 80  # lines of a package's README; that of all packages may have ten more


def test_no_page_is_listed_twice() -> None:
    blocks = re.findall(r'```\{toctree\}\n(.*?)```', INDEX.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    listed = [line for line in lines if line and not line.startswith(':')]
    assert listed and len(listed) == len(set(listed))


@pytest.mark.parametrize('path', READMES, ids=lambda path: path.parent.name)
def test_a_readme_is_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST + 10 * (path.parent == ROOT)
    assert '(QUALITY_DECLARATION.md)' in text or '(../QUALITY_DECLARATION.md)' in text
    pictures = re.findall(r'^!\[.+\]\((.+)\)$', text, re.MULTILINE)
    assert len(pictures) == (path.parent.name != 'pkm_msgs')
    assert all((path.parent / each).exists() for each in pictures)
