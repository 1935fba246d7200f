"""Codes of the library and of the interface are the same."""

from __future__ import annotations

import pytest

from pkm_control.control_types import ErrorCode
from pkm_dynamics.trajectories import Phase


def test_codes_are_those_of_the_action() -> None:
    action = pytest.importorskip('pkm_msgs.action')
    result = action.FollowPlatformTrajectory.Result
    for code in ErrorCode:
        assert getattr(result, code.name) == int(code)


def test_phases_are_those_of_the_message() -> None:
    message = pytest.importorskip('pkm_msgs.msg').ControllerState
    for phase in Phase:
        assert getattr(message, phase.name) == int(phase)
