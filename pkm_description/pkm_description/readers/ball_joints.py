"""Ball joints of the tree, which URDF lacks, as three revolute joints with two massless links.

`<joint name="ball" type="spherical">` becomes `ball_1`, `ball_2`, `ball_3` about axes at right
angles. The third lies along the child: it is the given `<axis>`, or points from the joint to the
farthest other joint of the child. The first is parallel to the axis of the joint that moves the
parent, as far as that is across the third: a rod on a crank then swings about its first angle.
Three angles lock where the second is a right angle, that is where first and third are parallel.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from lxml import etree

from pkm_description import xml_elements as xml
from pkm_description.description import Array
from pkm_description.errors import DescriptionError
from pkm_description.kinematic_tree import perpendicular_axes

BALL_TYPES = ('spherical', 'ball')
_ALONG = 0.9  # cosine from which the parent's axis is too close to the child's direction
_BETWEEN = ('parent', 'child', 'origin', 'axis')


def without_ball_joints(urdf: str, where: str) -> str:
    """URDF with revolute joints in place of the ball joints of its tree; raises DescriptionError.

    The text is returned as it is where there are none.
    """
    if not any(f'"{kind}"' in urdf or f"'{kind}'" in urdf for kind in BALL_TYPES):
        return urdf
    root = xml.parse_xml(urdf, where)
    balls = [item for item in root.findall('joint') if item.get('type') in BALL_TYPES]
    for element in balls:
        _replace(root, element)
    return str(etree.tostring(root, encoding='unicode')) if balls else urdf


def _replace(root: etree._Element, element: etree._Element) -> None:
    name = xml.name_of(element)
    for tag in (str(item.tag) for item in element if item.tag not in _BETWEEN):
        raise DescriptionError(
            f"ball joint '{name}' has <{tag}>, which its three angles cannot have: leave it out or "
            'write the joint as <constraint type="spherical">, which may have friction and, in '
            'the YAML, an aperture'
        )
    ends = {role: xml.only(element, role) for role in ('parent', 'child')}
    links = {role: None if end is None else end.get('link') for role, end in ends.items()}
    if None in links.values():
        return  # the reader of the URDF says what is missing
    axes = _axes(root, element, str(links['parent']), str(links['child']))
    above = str(links['parent'])
    place = root.index(element)
    for k, axis in enumerate(axes, start=1):
        below = str(links['child']) if k == len(axes) else f'{name}_{k}_link'
        joint = etree.Element('joint', name=f'{name}_{k}', type='continuous')
        etree.SubElement(joint, 'parent', link=above)
        etree.SubElement(joint, 'child', link=below)
        origin = xml.only(element, 'origin')
        if k == 1 and origin is not None:
            joint.append(deepcopy(origin))
        etree.SubElement(joint, 'axis', xyz=' '.join(repr(float(value)) for value in axis))
        root.insert(place, joint)
        place += 1
        if k < len(axes):
            root.insert(place, etree.Element('link', name=below))
            place += 1
        above = below
    root.remove(element)


def _axes(root: etree._Element, element: etree._Element, parent: str, child: str) -> list[Array]:
    """Return the three axes in the joint's frame."""
    given = xml.only(element, 'axis')
    third = _far_end(root, element, child)
    if given is not None:
        third = np.array(xml.vector(given, 'xyz', (0.0, 0.0, 1.0)))
    if not np.linalg.norm(third) > 0.0:
        raise DescriptionError(f'{xml.label(element)}: the <axis> is the zero vector')
    third = third / np.linalg.norm(third)
    first = perpendicular_axes(third)[0]
    swing = _axis_of_parent(root, parent)
    if swing is not None:
        swing = xml.pose(xml.only(element, 'origin')).rotation.T @ swing
        if abs(swing @ third) < _ALONG:
            first = swing - third * (third @ swing)
            first = first / np.linalg.norm(first)
    axes = [first, np.cross(third, first), third]
    return [np.round(axis, 15) + 0.0 for axis in axes]


def _far_end(root: etree._Element, element: etree._Element, child: str) -> Array:
    """Farthest other joint or closing point of the child link, its z axis where there is none."""
    points: list[Array] = [np.zeros(3)]
    for joint in root.findall('joint'):
        end = xml.only(joint, 'parent')
        if joint is not element and end is not None and end.get('link') == child:
            points.append(xml.pose(xml.only(joint, 'origin')).position)
    for item in root.findall('constraint'):
        for role in ('parent', 'child'):
            end = xml.only(item, role)
            if end is not None and end.get('link') == child:
                points.append(xml.pose(xml.only(item, f'{role}_origin')).position)
    farthest = max(points, key=lambda point: float(np.linalg.norm(point)))
    return farthest if np.linalg.norm(farthest) > 0.0 else np.array([0.0, 0.0, 1.0])


def _axis_of_parent(root: etree._Element, parent: str) -> Array | None:
    """Axis of the revolute joint that moves the parent link, in its frame."""
    for joint in root.findall('joint'):
        end = xml.only(joint, 'child')
        turns = joint.get('type') in ('revolute', 'continuous')
        if turns and end is not None and end.get('link') == parent:
            axis = xml.only(joint, 'axis')
            found = np.array(
                (1.0, 0.0, 0.0) if axis is None else xml.vector(axis, 'xyz', (1, 0, 0))
            )
            size = float(np.linalg.norm(found))
            return found / size if size > 0.0 else None
    return None
