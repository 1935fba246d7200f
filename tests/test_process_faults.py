"""What happens to processes: each row of the table with real ones."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fault_table import PAGE, agree, measure_process, rows_of_page
from process_faults import PROCESS_FAULTS, ProcessFault
from process_laboratory import ProcessLaboratory

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope='module')
def lab(request, tmp_path_factory):
    with ProcessLaboratory(tmp_path_factory.mktemp('processes'), request.param) as laboratory:
        yield laboratory


@pytest.mark.parametrize(
    ('lab', 'fault'),
    [pytest.param(fault.timed, fault, id=fault.name) for fault in PROCESS_FAULTS],
    indirect=['lab'],
)
def test_a_process(lab: ProcessLaboratory, fault: ProcessFault) -> None:
    found = measure_process(lab, fault)
    written = rows_of_page(PAGE.read_text())[fault.what]
    assert agree(written, found), (
        f'{found}: `python tests/helpers/fault_table.py` writes the page anew'
    )
