"""Writes the table of faults (`python tests/faults/write_table.py`) as the scenarios measure it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / 'pkm_control' / 'doc' / 'faults.md'
HEAD = """# Faults

What the trajectory controller does when something happens, measured on the simulated palida in
lockstep, while its legs move at up to {speed:.2f} m/s. `python tests/faults/write_table.py`
writes this page; the tests in `tests/faults` do every row, check it, and compare it with the page.

Rest and travel count from when the controller learns of the event: the travel is the longest way
of a leg, from the plant's noise-free positions. The drop is that of the platform below where it
came to rest. The categories are those of the [stops](../README.md#stops). After category 0 the
robot is driven by zero force until its brakes hold it (30 ms); without brakes it would fall on.

"""
TITLES = (
    'what happens',
    'stop category',
    'rest [s]',
    'travel [mm]',
    'drop [mm]',
    'what is lost',
    'what is reported',
    'how to go on',
)


def line(cells: Sequence[str]) -> str:
    """Return one line of a table."""
    return f'| {" | ".join(cells)} |'


def rows_of_page() -> dict[str, list[str]]:
    """Return the cells of each row of the page, by what happens."""
    lines = [each for each in PAGE.read_text('utf-8').splitlines() if each.startswith('| ')]
    rows = [each.strip('| ').split(' | ') for each in lines]
    return {cells[0]: cells for cells in rows[1:] if set(cells[0]) != {'-'}}


def main() -> None:
    """Measure all rows and write the page."""
    sys.path[:0] = [str(HERE), str(HERE.parent / 'helpers')]
    from laboratory import Laboratory
    from scenarios import SCENARIOS, measure, speed_bound

    with Laboratory() as laboratory:
        rows = [measure(laboratory, scenario).cells() for scenario in SCENARIOS]
    table = [line(TITLES), line(['---'] * len(TITLES)), *map(line, rows)]
    PAGE.parent.mkdir(exist_ok=True)
    text = HEAD.format(speed=speed_bound()) + '\n'.join(table) + '\n'
    PAGE.write_text(text, 'utf-8')


if __name__ == '__main__':
    main()
