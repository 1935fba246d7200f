"""The drives of a URDF: joints of its <ros2_control> blocks with an effort command interface."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lxml import etree

from pkm_description.description import Actuator, Joint
from pkm_description.errors import DescriptionError
from pkm_description.xml_elements import name_of, similar, suggestion

INTERFACES = ('effort', 'position', 'velocity', 'acceleration')


def read_actuators(root: etree._Element, joints: Iterable[Joint]) -> tuple[Actuator, ...]:
    """Drives of a robot element in the order of the file; raises DescriptionError."""
    scalar = {joint.name: joint.is_scalar for joint in joints}
    found: dict[str, Actuator] = {}
    for block in root.findall('ros2_control'):
        for element in block.findall('joint'):
            name = name_of(element)
            if name not in scalar:
                raise DescriptionError(
                    f"<ros2_control> names the joint '{name}', which does not exist"
                    f'{suggestion(name, scalar)}; joints are '
                    f'{", ".join(item for item in scalar if scalar[item])}'
                )
            actuator = _actuator(element, name)
            if actuator is None:
                continue
            if name in found:
                raise DescriptionError(f"<ros2_control> gives the joint '{name}' two drives")
            found[name] = actuator
    return tuple(found.values())


def _actuator(element: etree._Element, name: str) -> Actuator | None:
    interfaces = [str(item.get('name')) for item in element.findall('command_interface')]
    for interface in interfaces:
        meant = similar(interface, INTERFACES)
        if interface not in INTERFACES and meant:
            raise DescriptionError(
                f"<ros2_control> gives the joint '{name}' the command interface "
                f"'{interface}' (is '{meant}' meant?)"
            )
    if 'effort' not in interfaces:
        return None
    constant = math.nan
    for parameter in element.findall('param'):
        key = str(parameter.get('name'))
        if key != 'force_constant' and similar(key, ('force_constant',)):
            raise DescriptionError(
                f"actuated joint '{name}' has the parameter '{key}' (is 'force_constant' meant?)"
            )
        if key == 'force_constant':
            constant = _force_constant(name, parameter.text or '')
    return Actuator(name, constant)


def _force_constant(joint: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DescriptionError(
            f"actuated joint '{joint}': force_constant '{text}' is not a finite number"
        )
    return value
