"""The page of troubleshooting has an entry for every verdict."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import pytest

from pkm_identification.result.verdict import Grade, Limit

PAGE = Path(__file__).resolve().parents[1] / 'doc' / 'troubleshooting.md'


@pytest.mark.parametrize(('head', 'kind'), [('verdict', Grade), ('limited by', Limit)])
def test_every_verdict_has_its_row(head: str, kind: type[Enum]) -> None:
    table = PAGE.read_text(encoding='utf-8').partition(f'\n| {head} |')[2].partition('\n\n')[0]
    rows = re.findall(r'^\| ([^|]+) \| [^|]', table, re.MULTILINE)
    assert rows == [each.value for each in kind]
