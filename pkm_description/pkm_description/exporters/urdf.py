"""URDF: the whole description in one file, a tree for every other tool."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from lxml import etree

from pkm_description.description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters.exported import Exported
from pkm_description.exporters.motors import add_transmissions
from pkm_description.loader import loads
from pkm_description.transmissions.calibration import published_text
from pkm_description.xml_elements import parse_xml

_COMPARED = (
    *('links', 'joints', 'constraints', 'actuators', 'transmissions'),
    *('gravity', 'transition_velocity'),
)


def build_urdf(description: Description, form: str = 'closed') -> Exported:
    """Write a robot as one expanded URDF, with its YAML as the sidecar.

    The form ``'closed'`` is the URDF text that was read, xacro expanded. Its `<constraint>`
    elements stay; tools that do not know them see the tree. Loaded again together with the
    sidecar, which carries the calibration of a machine, it is the same robot, of the same digest.
    ``'tree'`` is without the constraints, the loops are open; single ratios of the sidecar's
    transmissions are `<transmission>` elements. Raises ExportError if the description was changed
    after it had been read, so that its texts do not say it; names what differs.
    """
    changed = _changed(description)
    if changed:
        raise ExportError(
            f"robot '{description.name}': its {changed} were changed after the URDF had been "
            'read, and the URDF text does not say so; change the text and load it again'
        )
    if form == 'closed':
        return Exported(description.urdf, sidecar=published_text(description))
    robot = parse_xml(description.urdf, f"URDF of robot '{description.name}'")
    losses = []
    for constraint in robot.findall('constraint'):
        robot.remove(constraint)
        losses.append(f"constraint '{constraint.get('name')}' is left out: its loop is open")
    losses += add_transmissions(robot, description)
    etree.indent(robot)
    text: bytes = etree.tostring(robot, encoding='UTF-8', xml_declaration=True, pretty_print=True)
    return Exported(text.decode(), tuple(losses))


def _changed(description: Description) -> str | None:
    """Name what the texts of a description do not say, or return None."""
    read = loads(description.urdf, description.yaml_text, f"URDF of robot '{description.name}'")
    for name in _COMPARED:
        if not _same(getattr(read, name), getattr(description, name)):
            return name
    return None


def _same(first: Any, second: Any) -> bool:
    """Whether two trees of data hold the same values."""
    if type(first) is not type(second):
        return False
    if dataclasses.is_dataclass(first):
        fields = [field.name for field in dataclasses.fields(first)]
        return all(_same(getattr(first, name), getattr(second, name)) for name in fields)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    if first is None or isinstance(first, str):
        return bool(first == second)
    return bool(np.array_equal(first, second, equal_nan=True))
