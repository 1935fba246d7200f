"""Which messages tell the measured currents or forces of a robot, and in which unit.

Drives publish them as `pkm_msgs/MotorCurrents`, in the efforts of `sensor_msgs/JointState`, or as
`std_msgs/Float64MultiArray`. Of the latter two nothing says whether they are currents [A] or
forces [N, N m], but for the efforts beside the positions, which that message defines as forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pkm_description.errors import DatasetError

POSITIONS = 'joint_states'
CURRENTS = 'motor_currents'
MOTOR_CURRENTS = 'pkm_msgs/msg/MotorCurrents'
JOINT_STATE = 'sensor_msgs/msg/JointState'
ARRAY = 'std_msgs/msg/Float64MultiArray'
FIELDS = {MOTOR_CURRENTS: 'current', JOINT_STATE: 'effort', ARRAY: 'data'}
CURRENT, FORCE = 'A', 'N'  # the latter also N m
AUTO = 'auto'
# What is asked for, in words: of a single letter N, YAML makes "no".
FORCE_UNITS = {AUTO: '', 'ampere': CURRENT, 'newton': FORCE}


@dataclass(frozen=True)
class ForceMessages:
    """Messages that hold one current [A] or force [N, N m] of each actuated joint, or its motor.

    `topic` is `motor_currents`, or `joint_states` where they come with the positions. `names` are
    the joints or motors that the robot speaks of, in order: that of the numbers where the messages
    have no names. Such messages have no stamp either, and get that of the joint state that was
    heard last.
    """

    topic: str
    message_type: str
    unit: str
    names: tuple[str, ...]

    @property
    def are_currents(self) -> bool:
        """Whether force constants make forces of the numbers."""
        return self.unit == CURRENT

    def to_mapping(self) -> dict[str, Any]:
        """Return what a recording says of them."""
        told: dict[str, Any] = {'topic': self.topic, 'type': self.message_type, 'unit': self.unit}
        told['names'] = list(self.names)
        if self.message_type == ARRAY:
            told['stamps'] = 'of the joint states heard last'
        return told


def require_force_unit(unit: str) -> str:
    """Return a unit that may be asked for; raises DatasetError."""
    if unit not in FORCE_UNITS:
        raise DatasetError(f"force_unit '{unit}' is unknown; valid are {', '.join(FORCE_UNITS)}")
    return unit


def chosen_messages(
    types: Sequence[str], has_efforts: bool, unit: str, names: Sequence[str]
) -> ForceMessages | None:
    """Return the messages to take, None where there are none.

    Parameters
    ----------
    types
        Of what is published on `motor_currents`. If it is nothing, the efforts of the joint states
        count.
    has_efforts
        Whether the joint states hold a finite effort of each joint.
    unit
        `ampere`, `newton` (also N m), or `auto` where the messages say it themselves.
    names
        Of the joints or motors that the robot speaks of, in order.

    Raises
    ------
    DatasetError
        Several types are published, one that holds no currents, or the unit is not known.
    """
    kinds, told = sorted(set(types)), FORCE_UNITS[require_force_unit(unit)]
    if not kinds:
        if not has_efforts:
            return None
        return ForceMessages(POSITIONS, JOINT_STATE, told or FORCE, tuple(names))
    if len(kinds) > 1:
        raise DatasetError(
            f"'{CURRENTS}' is published as {' and as '.join(kinds)}: let one of them have a topic "
            'of its own'
        )
    (kind,) = kinds
    if kind not in FIELDS:
        raise DatasetError(f"'{CURRENTS}' is published as {kind}; known are {', '.join(FIELDS)}")
    if kind == MOTOR_CURRENTS:
        if told == FORCE:
            raise DatasetError(f"force_unit '{unit}': {kind} on '{CURRENTS}' holds currents [A]")
        told = CURRENT
    if not told:
        raise DatasetError(
            f"'{CURRENTS}' is published as {kind}, which may hold currents or forces: say "
            "force_unit 'ampere', or 'newton' (also N m)"
        )
    return ForceMessages(CURRENTS, kind, told, tuple(names))


def wanted_fields(message_type: str) -> tuple[str, ...]:
    """Return the field of a type that holds currents or forces."""
    return (FIELDS.get(message_type, FIELDS[MOTOR_CURRENTS]),)


def recorded_force_messages(metadata: Mapping[str, Any], source: str) -> ForceMessages | None:
    """Return what a recording says of its currents or forces, None if nothing.

    Raises DatasetError where that cannot be.
    """
    told = metadata.get('forces')
    if told is None:
        return None
    where = f"'{source}': forces of the metadata"
    if not isinstance(told, Mapping):
        raise DatasetError(f'{where} must be a mapping of topic, type and unit')
    topic, kind, unit = (told.get(key) for key in ('topic', 'type', 'unit'))
    for key, value, valid in (
        ('topic', topic, (POSITIONS, CURRENTS)),
        ('type', kind, tuple(FIELDS)),
        ('unit', unit, (CURRENT, FORCE)),
    ):
        if value not in valid:
            raise DatasetError(f'{where}: {key} is {value!r}; valid are {", ".join(valid)}')
    names = told.get('names')
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DatasetError(f'{where}: names must be a list of joints')
    return ForceMessages(str(topic), str(kind), str(unit), tuple(names))
