"""What happens to processes: each row of the table with real ones."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fault_table import process_row
from process_faults import ProcessFault, rows
from process_laboratory import ProcessLaboratory
from random_kills import killed

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    with ProcessLaboratory(tmp_path_factory.mktemp('slow')) as laboratory:
        yield laboratory


@pytest.mark.parametrize('fault', [pytest.param(each, id=each.name) for each in rows(timed=False)])
def test_a_process_of_a_slow_robot(lab: ProcessLaboratory, fault: ProcessFault) -> None:
    process_row(lab, fault)


def test_a_client_killed_at_a_random_moment(lab: ProcessLaboratory) -> None:
    """Server and controller, and more moments: `python tests/helpers/random_kills.py`."""
    assert not killed(lab, 'client', moment=1).wrong('client')
