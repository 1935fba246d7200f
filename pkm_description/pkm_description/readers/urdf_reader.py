"""Read a closed-chain URDF into plain description data.

The document stays a valid tree for every other URDF tool; loops are closed by
`<constraint>` elements (ros/urdfdom#264).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from pkm_description import xml_elements as xml
from pkm_description.description import (
    CONSTRAINT_TYPES,
    JOINT_TYPES,
    Actuator,
    Array,
    Constraint,
    Friction,
    Inertial,
    Joint,
    Limit,
    Link,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.readers.urdf_transmissions import Reduction, read_reductions

INTERFACES = ('effort', 'position', 'velocity', 'acceleration')
ROBOT_ELEMENTS = ('link', 'joint', 'constraint', 'ros2_control')
ROBOT_FOREIGN = ('material', 'transmission', 'gazebo', 'sensor', 'group', 'mujoco', 'drake')
LINK_ELEMENTS = ('inertial', 'visual', 'collision')
JOINT_ELEMENTS = (
    *('parent', 'child', 'origin', 'axis', 'limit', 'dynamics'),
    *('mimic', 'calibration', 'safety_controller'),
)
CONSTRAINT_ELEMENTS = (
    *('parent', 'child', 'parent_origin', 'child_origin', 'parent_axis', 'child_axis'),
    'dynamics',
)
LIMIT_ATTRIBUTES = ('lower', 'upper', 'velocity', 'effort')
FRICTION_ATTRIBUTES = ('damping', 'friction')
ENDS = ('parent', 'child')  # of joints and constraints
UNIT_TOLERANCE = 1e-3  # an axis that is longer or shorter is named in a warning


@dataclass(frozen=True)
class Mimic:
    """A joint's position follows another's: multiplier * position + offset [m, rad]."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class UrdfContent:
    """What a URDF says, before the checks.

    `platform` is the name of its link, `fixed` are joints that stay at home; the YAML may say both.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    constraints: tuple[Constraint, ...]
    actuators: tuple[Actuator, ...]
    warnings: tuple[str, ...] = ()
    mimics: Mapping[str, Mimic] = field(default_factory=dict)
    platform: str = 'platform'
    fixed: tuple[str, ...] = ()
    reductions: tuple[Reduction, ...] = ()


def parse_urdf(text: str, where: str = 'URDF') -> UrdfContent:
    """Parse an expanded URDF document; raises DescriptionError naming the element."""
    root = xml.parse_xml(text, where)
    if root.tag != 'robot':
        raise DescriptionError(f"'{where}' has the root element <{root.tag}>, not <robot>")
    if any('}' in str(element.tag) and 'xacro' in str(element.tag) for element in root):
        raise DescriptionError(
            f"'{where}' has xacro elements: name the file .urdf.xacro, so that it is expanded"
        )
    return _Reader(root, where).read()


class _Reader:
    """Reads one document; collects what is strange but harmless in `warnings`."""

    def __init__(self, root: etree._Element, where: str) -> None:
        self.root = root
        self.where = where
        self.warnings: list[str] = []
        self.incomplete: list[str] = []
        self.strange: dict[tuple[str, str], list[str]] = {}

    def read(self) -> UrdfContent:
        root = self.root
        strange = xml.check_children(root, ROBOT_ELEMENTS, ROBOT_FOREIGN)
        self.warnings += [f'<{tag}> in <robot> is not used' for tag in dict.fromkeys(strange)]
        links = tuple(self._link(element) for element in root.findall('link'))
        if not links:
            raise DescriptionError(f"'{self.where}' has no <link>")
        joints = tuple(self._joint(element) for element in root.findall('joint'))
        constraints = tuple(self._constraint(element) for element in root.findall('constraint'))
        actuators = _actuators(root, joints)
        mimics = self._mimics(joints)
        for (tag, owner), names in self.strange.items():
            self.warnings.append(f"<{tag}> in {owner} '{names[0]}'{_more(names)} is not used")
        if self.incomplete:
            self.warnings.append(
                f"<inertia> of link '{self.incomplete[0]}'{_more(self.incomplete)} lacks products "
                'of inertia: zero here, but other URDF tools drop the mass of such a link'
            )
        reductions, coupling = read_reductions(root)
        self.warnings += [
            f"<transmission> '{name}' couples joints and is not used: the YAML can say it, in its "
            'section transmissions'
            for name in coupling
        ]
        return UrdfContent(
            *(xml.name_of(root), links, joints, constraints, actuators, tuple(self.warnings)),
            mimics,
            reductions=reductions,
        )

    def _children(self, element: etree._Element, known: tuple[str, ...]) -> None:
        for tag in xml.check_children(element, known):
            self.strange.setdefault((tag, element.tag), []).append(str(element.get('name')))

    def _link(self, element: etree._Element) -> Link:
        name = xml.name_of(element)
        self._children(element, LINK_ELEMENTS)
        inertial = xml.only(element, 'inertial')
        if inertial is None:
            return Link(name)
        xml.check_children(inertial, ('origin', 'mass', 'inertia'))
        mass, inertia = xml.only(inertial, 'mass'), xml.only(inertial, 'inertia')
        if mass is None or inertia is None:
            raise DescriptionError(f"link '{name}': <inertial> needs <mass> and <inertia>")
        keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        xml.check_attributes(mass, ('value',))
        xml.check_attributes(inertia, keys)
        if any(inertia.get(key) is None for key in keys):
            self.incomplete.append(name)
        frame = xml.pose(xml.only(inertial, 'origin'))
        values = np.zeros((3, 3))
        values[np.triu_indices(3)] = [
            xml.number(inertia, key, None if key in ('ixx', 'iyy', 'izz') else 0.0) for key in keys
        ]
        values = values + np.triu(values, 1).T
        turned = frame.rotation @ values @ frame.rotation.T
        return Link(name, Inertial(xml.number(mass, 'value'), frame.position, frozen(turned)))

    def _joint(self, element: etree._Element) -> Joint:
        name, hint = xml.name_of(element), ', spherical'
        if element.get('type') in ('universal', 'planar'):
            hint = ': a universal joint is two revolute joints with a link between them'
        kind = _type(element, JOINT_TYPES, hint)
        self._children(element, JOINT_ELEMENTS)
        moves = kind not in ('fixed', 'floating')
        return Joint(
            name=name,
            type=kind,
            parent=_end(element, 'parent'),
            child=_end(element, 'child'),
            origin=xml.pose(xml.only(element, 'origin')),
            axis=self._unit(xml.only(element, 'axis') if moves else None, (1.0, 0.0, 0.0)),
            limit=_limit(self._known(element, 'limit', LIMIT_ATTRIBUTES), kind),
            friction=_friction(self._known(element, 'dynamics', FRICTION_ATTRIBUTES)),
        )

    def _known(
        self, element: etree._Element, tag: str, known: tuple[str, ...]
    ) -> etree._Element | None:
        """Return the child of that tag; attributes of other tools are named in a warning."""
        child = xml.only(element, tag)
        if child is not None:
            for name in xml.foreign_attributes(child, known):
                self.strange.setdefault((f'{tag} {name}', element.tag), []).append(
                    str(element.get('name'))
                )
        return child

    def _mimics(self, joints: Iterable[Joint]) -> dict[str, Mimic]:
        """Joints that follow others, by name."""
        names = [joint.name for joint in joints]
        found = {}
        for element in self.root.findall('joint'):
            mimic, name = xml.only(element, 'mimic'), xml.name_of(element)
            if mimic is None:
                continue
            xml.check_attributes(mimic, ('joint', 'multiplier', 'offset'))
            followed = str(mimic.get('joint'))
            if followed not in names:
                self.warnings.append(
                    f"joint '{name}' follows '{followed}' (<mimic>), which does not exist"
                    f'{xml.suggestion(followed, names)}'
                )
            multiplier, offset = (
                xml.number(mimic, 'multiplier', 1.0),
                xml.number(mimic, 'offset', 0.0),
            )
            found[name] = Mimic(followed, multiplier, offset)
        return found

    def _constraint(self, element: etree._Element) -> Constraint:
        name, kind = xml.name_of(element), _type(element, CONSTRAINT_TYPES)
        for child in element:
            if child.tag not in CONSTRAINT_ELEMENTS:
                raise DescriptionError(
                    f"constraint '{name}' has the unknown element <{child.tag}>; "
                    f'elements are {", ".join(CONSTRAINT_ELEMENTS)}'
                )
        parent_axis, child_axis = (
            self._unit(xml.only(element, f'{role}_axis'), (0.0, 0.0, 1.0)) for role in ENDS
        )
        if kind == 'prismatic' and element.find('child_axis') is None:
            child_axis = parent_axis
        return Constraint(
            name=name,
            type=kind,
            parent=_end(element, 'parent'),
            child=_end(element, 'child'),
            parent_origin=xml.pose(xml.only(element, 'parent_origin')),
            child_origin=xml.pose(xml.only(element, 'child_origin')),
            parent_axis=parent_axis,
            child_axis=child_axis,
            friction=_friction(self._known(element, 'dynamics', FRICTION_ATTRIBUTES)),
        )

    def _unit(self, element: etree._Element | None, default: tuple[float, float, float]) -> Array:
        if element is None:
            return frozen(default)
        xml.check_attributes(element, ('xyz',))
        axis = xml.vector(element, 'xyz', default)
        with np.errstate(over='ignore'):
            length = float(np.linalg.norm(axis))
        if not np.isfinite(length):
            raise DescriptionError(
                f'{xml.label(element)} is too long for its length to be computed'
            )
        if length < 1e-9:
            raise DescriptionError(
                f'{xml.label(element)} is the zero vector; a direction is needed'
            )
        if abs(length - 1.0) > UNIT_TOLERANCE:
            self.warnings.append(
                f'{xml.label(element)} has the length {length:.6g}; only its direction is used'
            )
        return frozen(axis / length)


def _type(element: etree._Element, valid: tuple[str, ...], hint: str = '') -> str:
    """Type of a joint or constraint that has a name."""
    kind = element.get('type', '')
    if kind not in valid:
        known = f'types are {", ".join(valid)}{hint}'
        raise DescriptionError(f"{xml.label(element)} has the unknown type '{kind}'; {known}")
    return str(kind)


def _more(names: list[str]) -> str:
    return f' and {len(names) - 1} more' if len(names) > 1 else ''


def _end(element: etree._Element, role: str) -> str:
    end = xml.only(element, role)
    link = None if end is None else end.get('link')
    if not link:
        raise DescriptionError(f'{xml.label(element)} lacks <{role} link="..."/>')
    return str(link)


def _limit(element: etree._Element | None, kind: str) -> Limit:
    if element is None or kind in ('fixed', 'floating'):
        return Limit()
    bounded = kind != 'continuous' and (element.get('lower') or element.get('upper'))
    return Limit(
        lower=xml.number(element, 'lower', 0.0) if bounded else -math.inf,
        upper=xml.number(element, 'upper', 0.0) if bounded else math.inf,
        velocity=xml.number(element, 'velocity', math.inf),
        effort=xml.number(element, 'effort', math.inf),
    )


def _friction(element: etree._Element | None) -> Friction | None:
    if element is None:
        return None
    kinds = {'friction': 'coulomb', 'damping': 'viscous'}
    model = '_'.join(kind for key, kind in kinds.items() if element.get(key) is not None)
    if not model:
        return None
    coulomb, viscous = (xml.number(element, key, 0.0) for key in kinds)
    friction = Friction(coulomb, viscous, coulomb, model)
    if not (0.0 <= coulomb < math.inf and 0.0 <= viscous < math.inf):
        raise DescriptionError(
            f'{xml.label(element)}: damping and friction must be finite and not negative'
        )
    return friction


def _actuators(root: etree._Element, joints: Iterable[Joint]) -> tuple[Actuator, ...]:
    """Drives of a robot element in the order of the file; raises DescriptionError."""
    scalar = {joint.name: joint.is_scalar for joint in joints}
    found: dict[str, Actuator] = {}
    for block in root.findall('ros2_control'):
        for element in block.findall('joint'):
            name = xml.name_of(element)
            if name not in scalar:
                raise DescriptionError(
                    f"<ros2_control> names the joint '{name}', which does not exist"
                    f'{xml.suggestion(name, scalar)}; joints are '
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
        meant = xml.similar(interface, INTERFACES)
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
        if key != 'force_constant' and xml.similar(key, ('force_constant',)):
            raise DescriptionError(
                f"actuated joint '{name}' has the parameter '{key}' (is 'force_constant' meant?)"
            )
        if key == 'force_constant':
            try:
                constant = float(parameter.text or '')
            except ValueError:
                constant = math.nan
            if not math.isfinite(constant):
                raise DescriptionError(
                    f"actuated joint '{name}': force_constant '{parameter.text or ''}' is not a "
                    'finite number'
                )
    return Actuator(name, constant)
