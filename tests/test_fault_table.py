"""The table of faults: each row on the running graph."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fault_scenarios import FAULTS, Fault, short_motion
from fault_table import PAGE, agree, measure, rows_of_page
from laboratory import Laboratory
from machine_faults import NO_ROWS, REFUSALS
from process_faults import PROCESS_FAULTS

from pkm_control.control_types import ErrorCode
from pkm_control.stops import StopEvent

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as laboratory:
        yield laboratory


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_a_fault(lab: Laboratory, fault: Fault) -> None:
    found = measure(lab, fault)
    written = rows_of_page(PAGE.read_text())[fault.what]
    assert agree(written, found.cells(fault)), (
        f'{found.cells(fault)}: `python tests/helpers/fault_table.py` writes the page anew'
    )
    lab.fresh()
    assert short_motion(lab).name == 'NONE'


def test_the_page_has_forty_rows_and_no_others() -> None:
    assert len(FAULTS) >= 40
    rows = {fault.what for fault in [*FAULTS, *PROCESS_FAULTS]}
    assert set(rows_of_page(PAGE.read_text())) == rows


def test_every_event_and_every_code_has_a_row_or_a_reason() -> None:
    shown = {fault.event for fault in FAULTS} - {None}
    assert shown | set(NO_ROWS) == set(StopEvent)
    assert not shown & set(NO_ROWS)
    codes = {ErrorCode.NONE}
    codes |= {fault.code for fault in FAULTS if isinstance(fault.code, ErrorCode)}
    codes |= {event.code for event in NO_ROWS} | set(REFUSALS)
    assert codes == set(ErrorCode)
