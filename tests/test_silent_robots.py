"""Processes of robots that fall silent: rows of the table with real ones."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fault_table import process_row
from process_faults import ProcessFault, rows
from process_laboratory import ProcessLaboratory

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    with ProcessLaboratory(tmp_path_factory.mktemp('timed'), timed=True) as laboratory:
        yield laboratory


@pytest.mark.parametrize('fault', [pytest.param(each, id=each.name) for each in rows(timed=True)])
def test_a_robot_that_falls_silent(lab: ProcessLaboratory, fault: ProcessFault) -> None:
    process_row(lab, fault)
