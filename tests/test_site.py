"""The documentation: every page stands in the site's lists, READMEs stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / 'doc' / 'index.md'
READMES = sorted([ROOT / 'README.md', *ROOT.glob('pkm_*/README.md')])
LONGEST = 90  # lines: what a screen and a half shows
LINK = re.compile(r'\]\(([^)\s#:]+)(?:#[\w-]+)?\)')


def pages() -> list[Path]:
    """Every page of the site but its first."""
    found = [*READMES, *ROOT.glob('pkm_*/doc/*.md'), *ROOT.glob('doc/*.md')]
    return sorted(set(found) - {INDEX})


def test_every_page_is_listed_once() -> None:
    blocks = re.findall(r'```\{toctree\}\n(.*?)```', INDEX.read_text(), re.DOTALL)
    names = [
        line for block in blocks for line in block.splitlines() if line and not line.startswith(':')
    ]
    listed = [(ROOT / 'doc' / f'{name}.md').resolve() for name in names]
    assert len(listed) == len(set(listed))
    assert set(pages()) <= set(listed)


@pytest.mark.parametrize('path', READMES, ids=lambda path: path.parent.name)
def test_a_readme_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize('path', [INDEX, *pages()], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path: Path) -> None:
    """`make docs` looks at anchors, too."""
    text = re.sub(r'```.*?```', '', path.read_text(), flags=re.DOTALL)
    missing = [name for name in LINK.findall(text) if not (path.parent / name).exists()]
    assert missing == []
