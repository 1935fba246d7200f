"""The topics of a robot that have other names on some, each with an option of `pkm commission`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple, get_type_hints


class RobotTopics(NamedTuple):
    """Their names, with what each is the topic of."""

    joint_states: Annotated[str, 'the states'] = 'joint_states'
    motor_currents: Annotated[str, 'currents or forces'] = 'motor_currents'
    effort_commands: Annotated[str, 'the commands'] = 'effort_controller/commands'
    brakes_close: Annotated[str, 'what brakes are asked'] = 'brakes/close'
    brakes_closed: Annotated[str, 'what brakes report'] = 'brakes/closed'
    drives_ready: Annotated[str, 'drives that are ready'] = 'drives/ready'
    drives_homed: Annotated[str, 'drives with valid positions'] = 'drives/homed'


def topic_options() -> Iterator[tuple[str, str, str]]:
    """Option, meaning and usual name of each."""
    for name, hint in get_type_hints(RobotTopics, include_extras=True).items():
        yield name, hint.__metadata__[0], RobotTopics._field_defaults[name]
