"""Visuals and collision shapes of the links, read from the URDF text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lxml import etree

from pkm_description.description import Description, Pose
from pkm_description.errors import DescriptionError, ExportError
from pkm_description.rotation_formats import rotation_from_rpy
from pkm_description.xml_elements import parse_xml

KINDS = ('visual', 'collision')
# Attributes that give the size of a geometry: name, how many numbers, default.
SIZES: dict[str, tuple[tuple[str, int, str | None], ...]] = {
    'box': (('size', 3, None),),
    'cylinder': (('radius', 1, None), ('length', 1, None)),
    'sphere': (('radius', 1, None),),
    'mesh': (('scale', 3, '1 1 1'),),
}


@dataclass(frozen=True)
class Shape:
    """A shape of a link.

    `geometry` is `box` (`size`: its edges), `cylinder` (radius, length along z), `sphere`
    (radius) or `mesh` (`size`: its scale, `file`: its URI), in m; `colour` is rgba.
    """

    link: str
    kind: str
    geometry: str
    pose: Pose
    size: tuple[float, ...]
    file: str = ''
    colour: tuple[float, ...] = ()


def read_shapes(description: Description) -> list[Shape]:
    """Return all shapes of a description, in the order of its URDF.

    Raises ExportError where a shape cannot be read; names its link.
    """
    robot = parse_xml(description.urdf, f"URDF of robot '{description.name}'")
    colours = {
        str(item.get('name')): _colour(item.find('color')) for item in robot.findall('material')
    }
    shapes = []
    for link in robot.findall('link'):
        for kind in KINDS:
            for element in link.findall(kind):
                try:
                    shapes.append(_shape(str(link.get('name')), kind, element, colours))
                except (TypeError, ValueError, DescriptionError) as error:
                    raise ExportError(
                        f"link '{link.get('name')}': its <{kind}> cannot be read: {error}"
                    ) from None
    return shapes


def _shape(
    link: str, kind: str, element: etree._Element, colours: dict[str, tuple[float, ...]]
) -> Shape:
    geometry = element.find('geometry')
    item = None if geometry is None else next(iter(geometry), None)
    if item is None:
        raise ValueError('it has no geometry')
    if item.tag not in SIZES:
        raise ValueError(f"unknown geometry '{item.tag}'; geometries are {', '.join(SIZES)}")
    size: tuple[float, ...] = ()
    for key, count, default in SIZES[item.tag]:
        size += _numbers(item.get(key, default), count)
    file = str(item.get('filename')) if item.tag == 'mesh' else ''
    colour = _material(element.find('material'), colours)
    return Shape(link, kind, str(item.tag), _pose(element.find('origin')), size, file, colour)


def _material(
    element: etree._Element | None, colours: dict[str, tuple[float, ...]]
) -> tuple[float, ...]:
    if element is None:
        return ()
    return _colour(element.find('color')) or colours.get(str(element.get('name')), ())


def _colour(element: etree._Element | None) -> tuple[float, ...]:
    return () if element is None else _numbers(element.get('rgba'), 4)


def _pose(element: etree._Element | None) -> Pose:
    if element is None:
        return Pose()
    position = _numbers(element.get('xyz', '0 0 0'), 3)
    return Pose(np.array(position), rotation_from_rpy(_numbers(element.get('rpy', '0 0 0'), 3)))


def _numbers(text: str | None, count: int) -> tuple[float, ...]:
    values = tuple(float(part) for part in (text or '').split())
    if len(values) != count or not np.all(np.isfinite(values)):
        raise ValueError(f"'{text}' must be {count} finite numbers")
    return values
