"""The table of stops: what the code says, the page says, and the messages have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pkm_control.control_types import ErrorCode
from pkm_control.stops import StopCategory, StopEvent

PAGE = Path(__file__).resolve().parents[2] / 'pkm_control' / 'doc' / 'stops.md'


def test_the_page_has_the_table_of_the_code() -> None:
    rows = re.findall(r'^\| `([A-Z_]+)` \| (\d) \| (\w+) \| (.*) \|$', PAGE.read_text(), re.M)
    expected = [
        (each.name, str(int(each.category)), each.code.name, each.when) for each in StopEvent
    ]
    assert rows == expected


def test_only_events_without_valid_states_or_control_take_the_force_away() -> None:
    found = {each.name for each in StopEvent if each.category is StopCategory.POWER_OFF}
    assert found == {'RUNAWAY', 'DRIVE_OPPOSES', 'STATE_TIMEOUT', 'BAD_STATE'}


def test_the_action_has_the_codes_of_the_controller() -> None:
    action = pytest.importorskip('pkm_msgs.action').FollowPlatformTrajectory.Result
    for code in ErrorCode:
        assert getattr(action, code.name) == int(code)
