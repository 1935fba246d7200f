"""What one machine differs in from its description: zeros and signs of encoders, signs of drives.

It stands in a file of its own and is no part of the description's digest: a model stays that of
its robot when the robot is homed anew. The published description carries it to all who listen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from pkm_description.description import MOTOR, Array, Description, EncoderAndDrive, digest_of
from pkm_description.description_files import read_text
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, mapping, number, read_mapping
from pkm_description.transmissions.motor_side import MotorSide, described_side
from pkm_description.xml_elements import suggestion

KEYS = ('robot', 'joints', 'motors')
SIGNS = ('encoder', 'drive')
DRIVE_KEYS = ('encoder', 'offset', 'drive')
# Line behind which a published sidecar carries the calibration; what stands before it is the text
# that the digest is made of, to the last sign.
MARK = '\n# calibration of this machine, no part of the robot\n'
UNCALIBRATED = EncoderAndDrive()


def calibrated(description: Description, path: str | Path) -> Description:
    """Return the description with the calibration in a YAML file.

    Raises DescriptionError naming the file and what is wrong: another robot, an unknown joint, one
    that stands there twice, a sign that is not 1 or -1, an offset that is no finite number.
    """
    file = Path(path).expanduser()
    where = str(file)
    content = read_mapping(read_text(file), where)
    return replace(description, calibration=calibration_of(content, description, where))


def calibration_of(
    content: Mapping[str, Any], description: Description, where: str
) -> dict[str, EncoderAndDrive]:
    """Return the calibration that a mapping holds, checked; `where` it is from, for messages.

    Joints, or motors where the robot's topics are of these, that differ in nothing are left out.
    """
    try:
        table = known_keys(content, 'calibration', KEYS)
        robot = table.get('robot')
        if robot != description.name:
            said = 'does not say its robot' if robot is None else f"is of robot '{robot}'"
            raise DescriptionError(f'it {said}; needed is robot: {description.name}')
        kind, names = _named_by(description)
        other = 'joints' if kind == 'motors' else 'motors'
        if other in table:
            raise DescriptionError(
                f"robot '{description.name}' has topics of {kind}: '{other}' must be '{kind}', "
                f'which are {", ".join(names)}'
            )
        found = parsed_drives(table.get(kind, {}), kind)
        check_names(found, names, kind)
    except DescriptionError as error:
        raise DescriptionError(f"'{where}': {error}") from None
    return found


def parsed_drives(content: Any, kind: str) -> dict[str, EncoderAndDrive]:
    """Signs and offsets by name; those that differ in nothing are left out."""
    found = {}
    for name, given in mapping(content, kind).items():
        table = known_keys(given, f'{kind}.{name}', DRIVE_KEYS)
        values: dict[str, Any] = {}
        for key in SIGNS:
            values[key] = sign = table.get(key, 1)
            if isinstance(sign, bool) or sign not in (1, -1):
                raise DescriptionError(f'{kind}.{name}.{key} must be 1 or -1, not {sign!r}')
        offset = number(table.get('offset', 0.0), f'{kind}.{name}.offset')
        found[str(name)] = EncoderAndDrive(int(values['encoder']), offset, int(values['drive']))
    return {name: each for name, each in found.items() if each != UNCALIBRATED}


def check_names(
    calibration: Mapping[str, EncoderAndDrive], names: Sequence[str], kind: str = 'joints'
) -> None:
    """Refuse a calibration of what is not there."""
    for name in calibration:
        if name not in names:
            raise DescriptionError(
                f"{kind} names '{name}', which has no encoder of the robot"
                f'{suggestion(name, names)}; they are {", ".join(names)}'
            )


def calibration_content(description: Description) -> dict[str, Any]:
    """Return the mapping that a calibration file of this description holds."""
    kind, names = _named_by(description)
    own = description.calibration
    drives = {
        name: {'encoder': own[name].encoder, 'offset': own[name].offset, 'drive': own[name].drive}
        for name in names
        if name in own
    }
    return {'robot': description.name, kind: drives}


def calibration_text(description: Description) -> str:
    """Return the calibration of a description as the text of a file."""
    return yaml.safe_dump(calibration_content(description), sort_keys=False, allow_unicode=True)


def published_text(description: Description) -> str:
    """Return the sidecar as it is published and recorded: with the calibration, if there is one."""
    if not description.calibration:
        return description.yaml_text
    carried = {'calibration': calibration_content(description)}
    return description.yaml_text + MARK + yaml.safe_dump(carried, sort_keys=False)


def split_published(text: str) -> tuple[str, Mapping[str, Any] | None]:
    """Return the sidecar alone and the content of the calibration behind it (None: none)."""
    plain, mark, carried = text.partition(MARK)
    if not mark:
        return text, None
    content = known_keys(read_mapping(carried, 'calibration'), 'the last part', ('calibration',))
    return plain, mapping(content.get('calibration'), 'calibration')


def machine_digest(description: Description) -> str:
    """SHA-256 of the description and its calibration: what the nodes of a graph must agree in."""
    return digest_of(description.urdf, published_text(description))


def homed(description: Description, measured: Array, joints: Array) -> Description:
    """Return the description with offsets by which a machine that stands still is where it is.

    Signs stay as they are.

    Parameters
    ----------
    description
        With the signs of the machine.
    measured
        What its encoders say (n_a,) [m, rad], in the order of the actuated joints.
    joints
        Where the actuated joints are (n_a,) [m, rad].
    """
    plain = described_side(description) or MotorSide.of(description, ())
    found = {}
    there = plain.motor_positions(joints)
    for name, place, said in zip(plain.motors, there.tolist(), measured.tolist(), strict=True):
        own = description.calibration.get(name, UNCALIBRATED)
        each = replace(own, offset=place - own.encoder * said)
        if each != UNCALIBRATED:
            found[name] = each
    return replace(description, calibration=found)


def _named_by(description: Description) -> tuple[str, tuple[str, ...]]:
    if description.side == MOTOR:
        return 'motors', MotorSide.of(description).motors
    return 'joints', tuple(description.actuated_joints)
