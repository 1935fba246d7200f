"""Stops from random moments of a circle and of an excitation, some of each.

`python tests/helpers/random_stops.py 50` takes 50 and prints how they are distributed.
"""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from laboratory import Laboratory
from random_stops import MOTIONS, STOPS, stopped

pytestmark = pytest.mark.ros
MOMENTS = 2


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as laboratory:
        yield laboratory


@pytest.mark.parametrize('motion', MOTIONS)
@pytest.mark.parametrize('stop', STOPS)
@pytest.mark.parametrize('moment', range(MOMENTS))
def test_the_robot_rests_in_half_a_second(lab, moment: int, stop: str, motion: str) -> None:
    found = stopped(lab, moment, stop, motion)
    assert found.good, found
