"""Examples in pages: blocks, the files that they write, printed output against what is shown."""

from __future__ import annotations

import math
import re
from pathlib import Path

FENCE = re.compile(r'(?P<before>[^\n]*)\n+```(?P<language>\w*)\n(?P<text>.*?)\n```', re.DOTALL)
NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')
RELATIVE, DIGITS = 0.002, 2.0


def blocks(text: str) -> list[re.Match]:
    """Fenced blocks of a page, each with the line before it."""
    return list(FENCE.finditer(text))


def write_files(text: str, folder: Path) -> None:
    """Write the blocks whose introduction ends with a file name: ... `four_bar.urdf`:"""
    for fence in blocks(text):
        name = re.search(r'`([\w.]+)`:$', fence['before'])
        if name and fence['language'] in ('xml', 'yaml', 'csv'):
            (folder / name[1]).write_text(fence['text'])


def last_digit(text: str) -> float:
    """Value of one in the last printed digit."""
    mantissa, _, exponent = text.lower().partition('e')
    decimals = len(mantissa.partition('.')[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def same(printed: str, expected: str, relative: float = RELATIVE, digits: float = DIGITS) -> bool:
    """Same words; numbers to two in a thousand or two of their last digit, or as told."""
    if NUMBER.sub('#', printed).split() != NUMBER.sub('#', expected).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(expected), strict=True)
    return all(
        math.isclose(float(a), float(b), rel_tol=relative, abs_tol=digits * last_digit(b))
        for a, b in pairs
    )
