"""Gear ratios of single joints in the `<transmission>` elements of a URDF."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lxml import etree

TAGS = ('mechanicalReduction', 'mechanical_reduction')  # URDF, and <ros2_control>


@dataclass(frozen=True)
class Reduction:
    """Turns of a motor per joint position: [1] of a turning joint, [rad/m] of a sliding one."""

    name: str
    joint: str
    motor: str
    ratio: float


def read_reductions(root: etree._Element) -> tuple[tuple[Reduction, ...], tuple[str, ...]]:
    """Ratios of transmissions with one joint and one actuator, and names of those with more.

    Elements without a usable ratio say nothing: other programs read them in ways of their own.
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
        ratio = _ratio(element, joints[0], actuators[0])
        joint = str(joints[0].get('name'))
        if ratio is not None and joint not in found:
            motor = str(actuators[0].get('name') or f'{joint}_motor')
            found[joint] = Reduction(name, joint, motor, ratio)
    return tuple(found.values()), tuple(coupling)


def _ratio(*places: etree._Element) -> float | None:
    """Product of the ratios that stand anywhere in a transmission, None without any."""
    given = [
        element.text or '' for place in places for tag in TAGS for element in place.findall(tag)
    ]
    try:
        ratio = math.prod(float(text) for text in given)
    except ValueError:
        return None
    return ratio if given and math.isfinite(ratio) and ratio != 0.0 else None
