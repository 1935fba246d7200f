"""Brakes that open, and brakes that do not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from std_msgs.msg import Bool  # noqa: E402

from pkm_control.control_types import ControlFault, ErrorCode  # noqa: E402
from pkm_control.nodes.brakes import POLL, Brakes  # noqa: E402


@pytest.fixture
def brakes():
    publisher = SimpleNamespace(publish=lambda message: None)
    made = {'create_publisher': lambda *_: publisher, 'create_subscription': lambda *_: None}
    return Brakes(SimpleNamespace(**made))


def waited(brakes: Brakes, longest: float, after: float = 1e9) -> float:
    """Time [s] for which a motion waits for brakes that report to be open `after` [s]."""
    slept = [0.0]

    async def sleep(seconds: float) -> None:
        slept[0] += seconds
        if slept[0] >= after:
            brakes._hear(Bool(data=False))

    with pytest.raises(StopIteration):
        brakes.require_open(sleep, longest).send(None)
    return slept[0]


def test_a_motion_waits_for_brakes_that_are_opening_and_for_no_others(brakes) -> None:
    assert waited(brakes, 1.0) == 0.0  # nothing asked, nothing heard
    brakes._hear(Bool(data=True))
    assert waited(brakes, 1.0) == 0.0  # not active yet
    brakes.close(False)
    assert not brakes.closed and brakes.hindrance
    assert waited(brakes, 1.0, after=0.3) == pytest.approx(0.3, abs=POLL)
    assert waited(brakes, 1.0) == 0.0
    brakes._hear(Bool(data=True))  # those of a drive that closes them by itself
    with pytest.raises(ControlFault, match='asked to open; 1 s') as caught:
        waited(brakes, 1.0)
    assert caught.value.code is ErrorCode.DRIVES_NOT_READY


def test_brakes_that_report_their_changes_alone_stay_closed_in_silence(brakes) -> None:
    brakes._hear(Bool(data=True))
    for close in (False, True, False):
        brakes.close(close)
        assert bool(brakes.hindrance) is not close


def test_brakes_that_report_nothing_hinder_nothing(brakes) -> None:
    brakes.close(True)
    brakes.close(False)
    assert not brakes.hindrance
    assert waited(brakes, 0.0) == 0.0
