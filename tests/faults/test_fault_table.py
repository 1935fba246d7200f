"""Every row of the table of faults, done to a running graph, against the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip('rclpy')

from laboratory import Laboratory  # noqa: E402
from scenarios import SCENARIOS, Scenario, measure  # noqa: E402
from write_table import rows_of_page  # noqa: E402

pytestmark = pytest.mark.ros
MEASURED = slice(2, 5)  # columns: rest, travel, drop
# The moment of an event along the motion is not the same in every run: a request takes some
# cycles, more on a loaded machine, in which the speed of the legs changes.
REST_TOLERANCE, TRAVEL_TOLERANCE, DROP_TOLERANCE = 0.15, 20.0, 0.5  # [s], [mm], [mm]


@pytest.fixture(scope='module')
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as graph:
        yield graph


@pytest.mark.parametrize('scenario', SCENARIOS, ids=lambda each: each.name.replace(' ', '_'))
def test_what_happens_is_what_the_page_says(laboratory: Laboratory, scenario: Scenario) -> None:
    found, documented = measure(laboratory, scenario).cells(), rows_of_page()[scenario.name]
    pairs = zip(found[MEASURED], documented[MEASURED], strict=True)
    tolerances = REST_TOLERANCE, TRAVEL_TOLERANCE, DROP_TOLERANCE
    for (one, other), tolerance in zip(pairs, tolerances, strict=True):
        assert abs(float(one) - float(other)) <= tolerance
    assert found[:2] + found[5:] == documented[:2] + documented[5:]


def test_the_page_has_a_row_for_each_fault_and_no_other() -> None:
    assert list(rows_of_page()) == [scenario.name for scenario in SCENARIOS]
