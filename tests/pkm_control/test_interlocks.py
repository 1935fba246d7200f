"""What keeps the robot from moving."""

from __future__ import annotations

from pkm_control.interlocks import Interlocks
from pkm_control.stops import StopEvent


def test_drives_must_be_homed_where_they_must_say_so() -> None:
    silent = Interlocks(False, False, 0.1)
    assert silent.of_power is None
    must = Interlocks(False, False, 0.1, drives_say_homed=True)
    assert must.of_power is not None and must.of_power.event is StopEvent.NOT_HOMED
    must.hear_homed(True)
    assert must.of_power is None
    silent.hear_homed(False)
    assert silent.of_motion(0.0) is not None and 'not homed' in silent.of_motion(0.0).reason
