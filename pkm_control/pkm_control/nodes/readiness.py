"""Why the robot would not follow a goal now, and what to do about it."""

from __future__ import annotations

import time

from pkm_control.nodes.brakes import Brakes
from pkm_control.nodes.control_loop import ControlLoop
from pkm_control.nodes.controller_publishers import ControllerPublishers
from pkm_control.nodes.safety_inputs import SafetyInputs


def what_hinders(
    loop: ControlLoop | None,  # these three are None while the node is not configured
    output: ControllerPublishers | None,
    brakes: Brakes | None,
    safety: SafetyInputs,
    complaint: str,  # of other nodes
    busy: bool,  # whether a goal is checked or moves the robot
) -> str:
    """Return the first reason against a motion now; empty where there is none.

    What has been and is over is told as such: a fault keeps the robot from moving no longer than
    the controller is inactive.
    """
    if loop is None or output is None:
        return 'the controller is not configured: configure and activate it'
    if safety.protective_stop.latched:
        return f'protective stop {safety.protective_stop.reason}'
    if not loop.has_recent_state:
        return 'no valid joint states'
    if foreign := loop.foreign_states:
        return foreign
    if (power := safety.interlocks.of_power) is not None:
        return power.reason
    if not loop.commanding:
        return _inactive(loop, output)
    if loop.stopping:
        return 'the robot is stopping'
    if (hindrance := safety.interlocks.of_motion(time.monotonic())) is not None:
        return hindrance.reason
    if brakes is not None and brakes.hindrance:
        return brakes.hindrance
    if complaint:
        return complaint
    return 'a motion is under way' if busy or loop.controller.busy else ''


def _inactive(loop: ControlLoop, output: ControllerPublishers) -> str:
    """Return how to go on with a controller that does not command, and why it does not."""
    text = 'the controller is not active: activate it'
    if wrong := output.wrong_drives():
        return wrong
    if others := output.other_commanders():
        names = ', '.join(others)
        text = (
            f'the controller is not active, and {names} would command the robot, too: '
            'end it, or wait until it is forgotten; then activate'
        )
    fault = loop.fault
    return text if fault is None else f'{text}; it stopped for {fault.code.name}: {fault}'
