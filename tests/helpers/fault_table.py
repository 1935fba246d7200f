"""Measure what faults do, and write `pkm_control/doc/faults.md` from it: run as a script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from fault_scenarios import FAULTS, Fault
from laboratory import AMPLITUDE, PERIOD, Laboratory

from pkm_control.control_types import ControllerOptions
from pkm_control.stops import StopCategory, StopEvent

PAGE = Path(__file__).resolve().parents[2] / 'pkm_control' / 'doc' / 'faults.md'
REST = 0.5  # [s] within which the robot stands
SPEED = 0.45  # [m/s] of the fastest leg in the motion of the scenarios, at most
DROP = 1.0e-3  # [m] after the robot has come to rest
# Here somebody else moves the robot.
PUSHED = (StopEvent.TRACKING_BOUND, StopEvent.TRACKING_FAULT)
HEAD = """# What faults do

Each row is a test on the running graph (`tests/test_fault_table.py`): the simulated PaLiDA moves
all its coordinates as sines (20 mm, 20 mrad, 0.8 s) under the controller, in lockstep, and the
fault is made to happen. This page is written from what the tests measure: times to the nearest
0.05 s, travels of the farthest leg to the nearest 5 mm. In category 0 the brakes of the drives
decide, which here close within 30 ms.

| what happens | category | rests after [s] | travel [mm] | lost | reported | how to go on |
|---|---|---|---|---|---|---|
"""


class Measured(NamedTuple):
    """What one fault did."""

    code: str
    time: float | None  # [s] to rest, None where the robot goes on
    travel: float  # [m]

    def cells(self, fault: Fault) -> tuple[str, ...]:
        """The row of the page."""
        category = 'goes on' if fault.event is None else str(int(fault.event.category))
        time = '' if self.time is None else f'{0.05 * round(self.time / 0.05):.2f}'
        travel = '' if self.time is None else f'{5 * round(self.travel / 0.005):d}'
        return fault.what, category, time, travel, fault.lost, self.code, fault.go_on


def measure(lab: Laboratory, fault: Fault) -> Measured:
    """Make a fault happen on a fresh robot and check what must follow."""
    lab.fresh()
    found = fault.scenario(lab)
    code = found.code if isinstance(found.code, str) else found.code.name
    expected = fault.code if isinstance(fault.code, str) else fault.code.name
    assert code == expected, f'{code}: {found.message}'
    if fault.event is None:
        assert found.goes_on or code == 'goes on'
        return Measured(code, None, 0.0)
    category = fault.event.category
    if category is StopCategory.POWER_OFF:
        lab.fall()
    time, travel = lab.rest(found.since)
    if category is not StopCategory.POWER_OFF:
        smooth = 0.5 * ControllerOptions().stop_time * SPEED + 5e-3
        assert time <= REST, time
        assert travel <= smooth or fault.event in PUSHED, (travel, smooth)
    resting = lab.rows[-1].legs.copy()
    if category is StopCategory.STOP_AND_HOLD:
        lab.cycles(200)
        assert lab.loop.commanding
    else:
        lab.until(lambda: not lab.loop.commanding)
        lab.until(lambda: not lab.active)
        lab.until(lambda: lab.heard['brakes/closed'][-1].data)
    assert abs(lab.rows[-1].legs - resting).max() < DROP
    return Measured(code, time, travel)


def agree(written: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Whether two rows say the same: a fault comes at another moment in every run."""
    texts = [(row[:2], row[4:]) for row in (written, found)]
    if texts[0] != texts[1] or not found[2]:
        return written == found
    time, travel = (abs(float(written[i]) - float(found[i])) for i in (2, 3))
    return time <= 0.15 and travel <= 25.0 + 0.2 * float(written[3])


def rows_of_page(text: str) -> dict[str, tuple[str, ...]]:
    """The rows, by what happens."""
    lines = [line for line in text.splitlines() if line.startswith('| ')][1:]
    cells = [tuple(cell.strip() for cell in line.split('|')[1:-1]) for line in lines]
    return {row[0]: row for row in cells}


def main() -> int:
    """Write the page; the exit status is 1 where a row fails."""
    with Laboratory() as lab:
        rows = [measure(lab, fault).cells(fault) for fault in FAULTS]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(HEAD + ''.join(f'| {" | ".join(cells)} |\n' for cells in rows))
    print(f'{PAGE}: {len(rows)} rows, {PERIOD:g} s, {AMPLITUDE:g} m')
    return 0


if __name__ == '__main__':
    sys.exit(main())
