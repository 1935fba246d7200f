"""Measure what faults do, and write `pkm_control/doc/faults.md` from it: run as a script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import lost_state_faults  # noqa: F401  its rows
import machine_faults  # noqa: F401  its rows
from fault_scenarios import FAULTS, Fault
from laboratory import AMPLITUDE, PERIOD, Laboratory
from process_faults import DRIVES, ProcessFault, rows
from process_laboratory import COMMAND_TIMEOUT, ProcessLaboratory

from pkm_control.control_types import ControllerOptions
from pkm_control.stops import StopCategory, StopEvent

PAGE = Path(__file__).resolve().parents[2] / 'pkm_control' / 'doc' / 'faults.md'
REST = 0.5  # [s] within which the robot stands
TOLD = 2.0  # [s] within which somebody is told of a process that is gone
SPEED = 0.45  # [m/s] of the fastest leg in the motion of the scenarios, at most
DROP = 1.0e-3  # [m] after the robot has come to rest
# Here somebody else moves the robot.
PUSHED = (
    StopEvent.TRACKING_BOUND,
    StopEvent.TRACKING_FAULT,
    StopEvent.WORKSPACE_LEFT,
    StopEvent.WORKSPACE_AHEAD,
    StopEvent.SINGULARITY_AHEAD,
)
HEAD = """# What faults do

Each row is a test on the running graph (`tests/test_fault_table.py`): the simulated PaLiDA moves
all its coordinates as sines (20 mm, 20 mrad, 0.8 s) under the controller, in lockstep at 250 Hz,
and the fault is made to happen. This page is written from what the tests measure: times to the
nearest 0.05 s, travels of the farthest leg to the nearest 5 mm. In category 0 the brakes of the
drives decide, which here close within 30 ms.

| what happens | category | rests after [s] | travel [mm] | lost | reported | how to go on |
|---|---|---|---|---|---|---|
"""
PROCESSES = """
## What happens to processes

Each row is a test, too (`tests/test_process_faults.py`, `tests/test_silent_robots.py`), with real
processes: robot, controller
and excitation server have one each. The robot of the same motion runs freely, ten times slower than
real (the last two rows: not slower, a small motion), and times and travels are its own; the tests
compare those of the drives alone, since the others are the same as above in lockstep. Where
nobody commands any more the drives decide: their brakes close after the command timeout, here
0.1 s. After the loss of a client, time and travel count from the moment when it is noticed. *Told*
is when somebody hears of it, in elapsed seconds as measured when this page was written, with the
slow stop and the end of the process: here on a machine with twice as much to do as it can. In
brackets: what is configured for noticing. A killed process is told by a socket, which the kernel
closes; on another machine, and of a process that hangs, by 5 s without a sign of life. A
silent robot is told after `state_timeout`, by default 0.1 s.

At random moments (`tests/helpers/random_kills.py`; two cores, idle, each killed 14 times): a
client, and the robot began to stop within 0.17 s and rested within 0.37 s; the excitation server,
and its client said so within 0.08 s, and the robot rested within 0.36 s; the controller, and the
server ended the run within 0.12 s, and the brakes held within 0.10 s. No leg moved farther than
42 mm. On a machine with three to five times as much to do as it can, each killed 50 times: told
within 0.60, 0.47 and 0.16 s, at rest within 0.39 and 0.37 s, brakes within 0.10 s, 44 mm at most,
and the next controller became active each time.

| what happens | category | rests after [s] | travel [mm] | told [s] | lost | reported | go on |
|---|---|---|---|---|---|---|---|
"""


class Measured(NamedTuple):
    """What one fault did."""

    code: str
    time: float | None  # [s] to rest, None where the robot goes on
    travel: float  # [m]

    def cells(self, fault: Fault) -> tuple[str, ...]:
        """The row of the page."""
        category = 'goes on' if fault.event is None else str(int(fault.event.category))
        time, travel = ('', '') if self.time is None else _rounded(self.time, self.travel)
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
        lab.pass_by(0.2)
        assert lab.loop.commanding
    else:
        lab.until(lambda: not lab.loop.commanding)
        lab.until(lambda: not lab.active)
        lab.until(lambda: lab.heard['brakes/closed'][-1].data)
    assert abs(lab.rows[-1].legs - resting).max() < DROP
    return Measured(code, time, travel)


def measure_process(lab: ProcessLaboratory, fault: ProcessFault) -> tuple[str, ...]:
    """Make a fault happen and check what must follow; the row of the page."""
    found = fault.scenario(lab)
    assert found.reported == fault.reported, found.reported
    time = travel = ''
    if found.since is not None:
        seconds, metres = lab.rest(found.since)
        if fault.category == DRIVES:  # else a stall of the machine may come in between
            assert seconds <= COMMAND_TIMEOUT + 0.02, seconds
        time, travel = _rounded(seconds, metres)
    told = f'{found.told:.1f}'
    if fault.bound:
        assert fault.bound <= TOLD
        told += f' (within {fault.bound:g})'
    given = fault.category, time, travel, told, fault.lost, found.reported, fault.go_on
    return fault.what, *given


def process_row(lab: ProcessLaboratory, fault: ProcessFault) -> None:
    """Make a fault happen; an error where the page does not say what has been seen."""
    found = measure_process(lab, fault)
    written = rows_of_page(PAGE.read_text())[fault.what]
    as_written = f'{found}: `python tests/helpers/fault_table.py` writes the page anew'
    if fault.category == DRIVES:
        assert agree(written, found), as_written
    assert (written[:2], written[-3:]) == (found[:2], found[-3:]), as_written


def processes(table: Callable[[tuple[str, ...]], None]) -> None:
    """Measure all faults of processes, and hand on the row of each."""
    for timed in (False, True):
        with TemporaryDirectory() as folder, ProcessLaboratory(Path(folder), timed) as lab:
            for fault in rows(timed):
                table(measure_process(lab, fault))


def _rounded(seconds: float, metres: float) -> tuple[str, str]:
    return f'{0.05 * round(seconds / 0.05):.2f}', f'{5 * round(metres / 0.005):d}'


def agree(written: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Whether two rows say the same: a fault comes at another moment in every run."""
    texts = [(row[:2], row[-3:]) for row in (written, found)]
    if texts[0] != texts[1] or not found[2]:
        return texts[0] == texts[1]
    time, travel = (abs(float(written[i]) - float(found[i])) for i in (2, 3))
    return time <= 0.15 and travel <= 25.0 + 0.2 * float(written[3])


def rows_of_page(text: str) -> dict[str, tuple[str, ...]]:
    """The rows, by what happens."""
    lines = [line for line in text.splitlines() if line.startswith('| ')]
    cells = [tuple(cell.strip() for cell in line.split('|')[1:-1]) for line in lines]
    return {row[0]: row for row in cells if row[0] != 'what happens'}


def main() -> int:
    """Write the page; the exit status is 1 where a row fails."""
    with Laboratory() as lab:
        first = [measure(lab, fault).cells(fault) for fault in FAULTS]
    others: list[tuple[str, ...]] = []
    processes(others.append)
    lines = [''.join(f'| {" | ".join(cells)} |\n' for cells in each) for each in (first, others)]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(HEAD + lines[0] + PROCESSES + lines[1])
    print(f'{PAGE}: {len(first) + len(others)} rows, {PERIOD:g} s, {AMPLITUDE:g} m')
    return 0


if __name__ == '__main__':
    sys.exit(main())
