"""Gear ratios and offsets of single joints in the `<transmission>` elements of a URDF."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

TAGS = ('mechanicalReduction', 'mechanical_reduction')  # URDF, and <ros2_control>
OFFSET = 'offset'


@dataclass(frozen=True)
class Reduction:
    """Turns of a motor per joint position: [1] of a turning joint, [rad/m] of a sliding one."""

    name: str
    joint: str
    motor: str
    ratio: float
    offset: float | None  # joint position [m, rad] where the motor is at zero; None: not given


def read_reductions(root: etree._Element) -> tuple[tuple[Reduction, ...], tuple[str, ...]]:
    """Ratios of transmissions with one joint and one actuator, and names of those with more.

    As `SimpleTransmission` of ROS has it: joint position = motor position / ratio + offset, the
    ratio one where only an offset stands. Elements without usable numbers say nothing: other
    programs read them in ways of their own.
    """
    found: dict[str, Reduction] = {}
    coupling = []
    for element in root.iter('transmission'):
        joints, actuators = element.findall('joint'), element.findall('actuator')
        name = str(element.get('name') or '')
        if len(joints) > 1:
            coupling.append(name)
        if len(joints) != 1 or len(actuators) != 1:
            continue
        ratios = _numbers(TAGS, element, joints[0], actuators[0])
        offsets = _numbers((OFFSET,), joints[0])
        joint = str(joints[0].get('name'))
        usable = all(math.isfinite(each) for each in (*ratios, *offsets))
        if usable and (ratios or offsets) and all(ratios) and joint not in found:
            motor = str(actuators[0].get('name') or f'{joint}_motor')
            offset = sum(offsets) if offsets else None
            found[joint] = Reduction(name, joint, motor, math.prod(ratios), offset)
    return tuple(found.values()), tuple(coupling)


def _numbers(tags: Sequence[str], *places: etree._Element) -> list[float]:
    """Numbers of these elements in some places of a transmission, nan of what is none."""
    texts = [
        element.text or '' for place in places for tag in tags for element in place.findall(tag)
    ]
    return [_number(text) for text in texts]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
