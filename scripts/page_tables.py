"""Tables that scripts measure and pages show, between two comments of the page."""

from __future__ import annotations

from pathlib import Path

END = '<!-- end of the table -->'


def put_table(page: Path, begin: str, lines: list[str]) -> None:
    """Replace what stands on a page between the line `begin` and the end of its table."""
    before, rest = page.read_text(encoding='utf-8').split(f'{begin}\n')
    table = '\n'.join([begin, *lines, END])
    page.write_text(before + table + rest.split(END, 1)[1], encoding='utf-8')
