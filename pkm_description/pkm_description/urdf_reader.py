"""Read a closed-chain URDF (or xacro) into plain description data.

The document stays a valid tree for every other URDF tool; loops are closed by
`<constraint>` elements (ros/urdfdom#264).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lxml import etree

from pkm_description.description import (
    CONSTRAINT_TYPES,
    JOINT_TYPES,
    Actuator,
    Constraint,
    Friction,
    Inertial,
    Joint,
    Limit,
    Link,
    Pose,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.rotations import rotation_from_rpy

MAX_BYTES = 5_000_000
CONSTRAINT_ELEMENTS = (
    'parent', 'child', 'parent_origin', 'child_origin', 'parent_axis', 'child_axis', 'dynamics',
)  # fmt: skip


@dataclass(frozen=True)
class UrdfContent:
    """What a URDF says, before the sidecar and the checks."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    constraints: tuple[Constraint, ...]
    actuators: tuple[Actuator, ...]


def read_text(path: Path) -> str:
    """Read a description file, refusing entities and huge files; xacro is expanded."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DescriptionError(f"cannot read '{path}': {error.strerror}") from None
    if size > MAX_BYTES:
        raise DescriptionError(f"'{path}' has {size} bytes; at most {MAX_BYTES} are read")
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"cannot read '{path}': {error}") from None
    refuse_entities(text, str(path))
    return _expand_xacro(path) if path.suffix == '.xacro' else text


def refuse_entities(text: str, where: str) -> None:
    """Raise DescriptionError where a document declares a type or entities."""
    if '<!DOCTYPE' in text or '<!ENTITY' in text:
        raise DescriptionError(f"'{where}' declares a document type or entities: refused")


def _expand_xacro(path: Path) -> str:
    try:
        import xacro
    except ImportError:
        raise DescriptionError(
            f"'{path}' needs xacro, which is not installed; expand it to .urdf first"
        ) from None
    try:
        expanded = xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro raises many unrelated types
        raise DescriptionError(f"xacro cannot expand '{path}': {error}") from None
    # Without xacro's banner comment, which names the machine's folders.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_blank_text=True
    )
    root = etree.fromstring(expanded.encode(), parser)
    return str(etree.tostring(root, pretty_print=True, encoding='unicode'))


def parse_urdf(text: str, where: str = 'URDF') -> UrdfContent:
    """Parse an expanded URDF document; raises DescriptionError naming the element."""
    if len(text) > MAX_BYTES:
        raise DescriptionError(f"'{where}' has {len(text)} characters; at most {MAX_BYTES}")
    refuse_entities(text, where)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise DescriptionError(f"'{where}' is not well-formed XML: {error}") from None
    if root.tag != 'robot':
        raise DescriptionError(f"'{where}' has the root element <{root.tag}>, not <robot>")
    links = tuple(_link(element) for element in root.findall('link'))
    if not links:
        raise DescriptionError(f"'{where}' has no <link>")
    joints = tuple(_joint(element) for element in root.findall('joint'))
    constraints = tuple(_constraint(element) for element in root.findall('constraint'))
    actuators = tuple(
        actuator
        for block in root.findall('ros2_control')
        for element in block.findall('joint')
        if (actuator := _actuator(element)) is not None
    )
    known = {joint.name for joint in joints}
    for actuator in actuators:
        if actuator.joint not in known:
            raise DescriptionError(
                f"<ros2_control> actuates the joint '{actuator.joint}', which does not exist"
            )
    return UrdfContent(_name(root), links, joints, constraints, actuators)


def _name(element: etree._Element) -> str:
    name = element.get('name')
    if not name:
        raise DescriptionError(f'a <{element.tag}> (line {element.sourceline}) has no name')
    return str(name)


def _label(element: etree._Element) -> str:
    owner = element
    while owner is not None and owner.get('name') is None:
        owner = owner.getparent()
    if owner is None or owner is element:
        return f"<{element.tag}> '{element.get('name', '')}'"
    return f"<{element.tag}> of {owner.tag} '{owner.get('name')}'"


def _number(element: etree._Element, attribute: str, default: float | None = None) -> float:
    text = element.get(attribute)
    if text is None:
        if default is None:
            raise DescriptionError(f"{_label(element)} lacks the attribute '{attribute}'")
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DescriptionError(f"{_label(element)}: {attribute}='{text}' is not a number")
    return value


def _vector(element: etree._Element, attribute: str, default: tuple[float, ...]) -> np.ndarray:
    text = element.get(attribute)
    if text is None:
        return np.array(default, dtype=float)
    try:
        values = np.array([float(part) for part in text.split()])
    except ValueError:
        values = np.array([])
    if values.shape != (len(default),) or not np.all(np.isfinite(values)):
        raise DescriptionError(
            f"{_label(element)}: {attribute}='{text}' must be {len(default)} finite numbers"
        )
    return values


def _pose(element: etree._Element | None) -> Pose:
    if element is None:
        return Pose()
    position = _vector(element, 'xyz', (0.0, 0.0, 0.0))
    rotation = rotation_from_rpy(_vector(element, 'rpy', (0.0, 0.0, 0.0)))
    return Pose(frozen(position), frozen(rotation))


def _unit(element: etree._Element | None, default: tuple[float, float, float]) -> np.ndarray:
    axis = np.array(default) if element is None else _vector(element, 'xyz', default)
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        assert element is not None
        raise DescriptionError(f'{_label(element)} is the zero vector')
    return frozen(axis / length)


def _link(element: etree._Element) -> Link:
    name = _name(element)
    inertial = element.find('inertial')
    if inertial is None:
        return Link(name)
    mass_element, inertia_element = inertial.find('mass'), inertial.find('inertia')
    if mass_element is None or inertia_element is None:
        raise DescriptionError(f"link '{name}': <inertial> needs <mass> and <inertia>")
    pose = _pose(inertial.find('origin'))
    upper = [
        _number(inertia_element, key, None if key in ('ixx', 'iyy', 'izz') else 0.0)
        for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    ]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = upper
    inertia = inertia + np.triu(inertia, 1).T
    turned = pose.rotation @ inertia @ pose.rotation.T
    return Link(name, Inertial(_number(mass_element, 'value'), pose.position, frozen(turned)))


def _joint(element: etree._Element) -> Joint:
    name = _name(element)
    kind = element.get('type', '')
    if kind not in JOINT_TYPES:
        raise DescriptionError(
            f"joint '{name}' has the unknown type '{kind}'; types are {', '.join(JOINT_TYPES)}"
        )
    if element.find('mimic') is not None:
        raise DescriptionError(
            f"joint '{name}' has <mimic>, which closed chains do not need: use a <constraint>"
        )
    return Joint(
        name=name,
        type=kind,
        parent=_end(element, 'parent'),
        child=_end(element, 'child'),
        origin=_pose(element.find('origin')),
        axis=_unit(
            None if kind in ('fixed', 'floating') else element.find('axis'), (1.0, 0.0, 0.0)
        ),
        limit=_limit(element.find('limit'), kind),
        friction=_friction(element.find('dynamics')),
    )


def _end(element: etree._Element, role: str) -> str:
    end = element.find(role)
    link = None if end is None else end.get('link')
    if not link:
        raise DescriptionError(f'{_label(element)} lacks <{role} link="..."/>')
    return str(link)


def _limit(element: etree._Element | None, kind: str) -> Limit:
    if element is None or kind in ('fixed', 'floating'):
        return Limit()
    bounded = kind != 'continuous' and (element.get('lower') or element.get('upper'))
    return Limit(
        lower=_number(element, 'lower', 0.0) if bounded else -math.inf,
        upper=_number(element, 'upper', 0.0) if bounded else math.inf,
        velocity=_number(element, 'velocity', math.inf),
        effort=_number(element, 'effort', math.inf),
    )


def _friction(element: etree._Element | None) -> Friction | None:
    if element is None:
        return None
    viscous, coulomb = element.get('damping'), element.get('friction')
    if viscous is None and coulomb is None:
        return None
    model = (
        'coulomb_viscous'
        if viscous is not None and coulomb is not None
        else 'coulomb' if viscous is None else 'viscous'
    )
    friction = Friction(
        coulomb=_number(element, 'friction', 0.0),
        viscous=_number(element, 'damping', 0.0),
        coulomb_negative=_number(element, 'friction', 0.0),
        model=model,
    )
    if friction.coulomb < 0 or friction.viscous < 0:
        raise DescriptionError(f'{_label(element)}: damping and friction must not be negative')
    return friction


def _constraint(element: etree._Element) -> Constraint:
    name = _name(element)
    kind = element.get('type', '')
    if kind not in CONSTRAINT_TYPES:
        raise DescriptionError(
            f"constraint '{name}' has the unknown type '{kind}'; "
            f"types are {', '.join(CONSTRAINT_TYPES)}"
        )
    for child in element:
        if child.tag not in CONSTRAINT_ELEMENTS:
            raise DescriptionError(
                f"constraint '{name}' has the unknown element <{child.tag}>; "
                f'elements are {", ".join(CONSTRAINT_ELEMENTS)}'
            )
    default = (0.0, 0.0, 1.0)
    return Constraint(
        name=name,
        type=kind,
        parent=_end(element, 'parent'),
        child=_end(element, 'child'),
        parent_origin=_pose(element.find('parent_origin')),
        child_origin=_pose(element.find('child_origin')),
        parent_axis=_unit(element.find('parent_axis'), default),
        child_axis=_unit(element.find('child_axis'), default),
        friction=_friction(element.find('dynamics')),
    )


def _actuator(element: etree._Element) -> Actuator | None:
    name = _name(element)
    interfaces = {item.get('name') for item in element.findall('command_interface')}
    if 'effort' not in interfaces:
        return None
    constant = math.nan
    for parameter in element.findall('param'):
        if parameter.get('name') == 'force_constant':
            try:
                constant = float(parameter.text or '')
            except ValueError:
                raise DescriptionError(
                    f"actuated joint '{name}': force_constant '{parameter.text}' is not a number"
                ) from None
    return Actuator(name, constant)
