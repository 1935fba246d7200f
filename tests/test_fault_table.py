"""The table of faults: each row on the running graph."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fault_scenarios import FAULTS, Fault, short_motion
from fault_table import PAGE, measure, rows_of_page
from laboratory import Laboratory

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as laboratory:
        yield laboratory


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_a_fault(lab: Laboratory, fault: Fault) -> None:
    found = measure(lab, fault)
    written = rows_of_page(PAGE.read_text())[fault.what]
    assert written == found.cells(fault), 'python tests/helpers/fault_table.py writes the page anew'
    lab.fresh()
    assert short_motion(lab).name == 'NONE'
