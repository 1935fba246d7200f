"""Drawn services and goals end in success or in a documented error, in bounded time and memory.

`python tests/helpers/fuzzing.py COUNT SEED requests` runs a tenth of COUNT.
"""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from fuzzed_requests import Requests, _Enough, tally_requests
from fuzzing import LONGEST

from pkm_description.errors import PkmError

pytestmark = pytest.mark.ros
COUNT = 120
SLOW_MACHINE = 5.0  # times slower than the one on which the limits hold


@pytest.mark.filterwarnings('ignore')
def test_drawn_requests_are_answered_as_documented() -> None:
    tallies = tally_requests(COUNT, 0, SLOW_MACHINE * LONGEST)
    assert sum(tally.inputs for tally in tallies.values()) == COUNT
    for name, tally in tallies.items():
        assert not tally.defects, f'{name}: {tally}'


def test_whole_requests_are_served() -> None:
    """What is broken above is right before."""
    with Requests() as requests:
        for name, given in requests.whole().items():
            try:
                requests.serve(name, given[0])
            except PkmError as error:
                assert isinstance(error, _Enough) or 'it would begin' in str(error), (name, error)
