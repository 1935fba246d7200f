"""Robots in the form of Gepetto's example-parallel-robots: `robot.urdf` and `robot.yaml`.

The YAML names pairs of frames that coincide (`closed_loop`) in place (`6d`) or in
position only (`3d`), the driven joints (`name_mot`), and joints of the URDF that stand
for others (`joint_name`, `joint_type`). It is turned into the form of this package, a
URDF with `<constraint>` and `<ros2_control>`, and read like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from lxml import etree

from pkm_description import sidecar
from pkm_description.errors import DescriptionError
from pkm_description.xml_elements import parse_xml, suggestion

KEYS = ('closed_loop', 'type', 'name_mot', 'joint_name', 'joint_type', 'platform')
LOOP_TYPES = {'3d': 'spherical', '6d': 'fixed'}
AXES = {'X': '1 0 0', 'Y': '0 1 0', 'Z': '0 0 1'}
UNIVERSAL = tuple(f'UJOINT_{a}{b}' for a in AXES for b in AXES if a != b)
JOINT_TYPES = ('SPHERICAL', 'FIXED', *UNIVERSAL)
_MOVING = ('revolute', 'continuous', 'prismatic')


def is_gepetto(content: Mapping[str, Any]) -> bool:
    """Whether the keys of a YAML file are those of this form."""
    return 'closed_loop' in content or 'name_mot' in content


def converted(urdf: str, content: Mapping[str, Any], where: str) -> tuple[str, str]:
    """URDF and sidecar of this package for a URDF and the content of its `robot.yaml`.

    Beside Gepetto's keys the YAML may have `platform`, the link that is the platform,
    and all keys of a sidecar. Without `platform` it is the link `platform`, `effector`,
    or the heaviest link at an end of the tree. Raises DescriptionError.
    """
    valid = (*KEYS, *sidecar.KEYS)
    for key in content:
        if key not in valid:
            raise DescriptionError(
                f"'{where}' has the unknown key '{key}'{suggestion(key, valid)}; keys of Gepetto's "
                f'form are {", ".join(KEYS)}, and those of a sidecar'
            )
    root = parse_xml(urdf, where)
    robot = _Robot(root, where)
    loops = _loops(content, where)
    robot.add_platform(content.get('platform'), {name for pair, _ in loops for name in pair})
    for name, kind in _replaced_joints(content, where):
        robot.replace(name, kind)
    for (first, second), kind in loops:
        robot.close(first, second, LOOP_TYPES[kind])
    robot.drive(_names(content, 'name_mot', where))
    rest = {key: each for key, each in content.items() if key not in KEYS}
    if 'home' not in rest:
        rest['home'] = {'joints': robot.neutral()}
    etree.indent(root)
    text = str(etree.tostring(root, pretty_print=True, encoding='unicode'))
    return text, yaml.safe_dump(rest, sort_keys=False)


def _names(content: Mapping[str, Any], key: str, where: str) -> list[str]:
    names = content.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DescriptionError(f"'{where}': {key} must be a list of names, not {names!r}")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise DescriptionError(f"'{where}': {key} lists '{name}' twice")
    return names


def _loops(content: Mapping[str, Any], where: str) -> list[tuple[tuple[str, str], str]]:
    pairs, kinds = content.get('closed_loop', []), content.get('type', [])
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
        for pair in pairs
    ):
        raise DescriptionError(f"'{where}': closed_loop must be a list of pairs of frame names")
    if not isinstance(kinds, list) or len(kinds) != len(pairs):
        raise DescriptionError(
            f"'{where}': type must give 3d or 6d for each of the {len(pairs)} closed loops"
        )
    loops = []
    for (first, second), kind in zip(pairs, kinds, strict=True):
        if str(kind).lower() not in LOOP_TYPES:
            raise DescriptionError(
                f"'{where}': the loop of {first} and {second} has the unknown type '{kind}'; "
                f'types are {", ".join(LOOP_TYPES)}'
            )
        loops.append(((first, second), str(kind).lower()))
    return loops


def _replaced_joints(content: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    names, kinds = _names(content, 'joint_name', where), content.get('joint_type', [])
    if not isinstance(kinds, list) or len(kinds) != len(names):
        raise DescriptionError(
            f"'{where}': joint_type must give a type for each of the {len(names)} joints of "
            'joint_name'
        )
    for name, kind in zip(names, kinds, strict=True):
        if kind not in JOINT_TYPES:
            raise DescriptionError(
                f"'{where}': joint '{name}' has the unknown joint_type '{kind}'; types are "
                f'{", ".join(JOINT_TYPES)}'
            )
    return list(zip(names, kinds, strict=True))


class _Robot:
    """The URDF document while it is being rewritten."""

    def __init__(self, root: etree._Element, where: str) -> None:
        self.root = root
        self.where = where

    @property
    def links(self) -> list[str]:
        return [str(link.get('name')) for link in self.root.findall('link')]

    @property
    def joints(self) -> dict[str, etree._Element]:
        return {str(joint.get('name')): joint for joint in self.root.findall('joint')}

    def _end(self, joint: etree._Element, role: str) -> str:
        end = joint.find(role)
        return '' if end is None else str(end.get('link'))

    def frame(self, name: str) -> str:
        """Link whose frame has that name: a link's own, or that of a joint's child link."""
        if name in self.links:
            return name
        if name in self.joints:
            return self._end(self.joints[name], 'child')
        raise DescriptionError(
            f"'{self.where}': closed_loop names the frame '{name}', which is no link or joint of "
            f'the URDF{suggestion(name, [*self.links, *self.joints])}'
        )

    def _joint(self, name: str, key: str) -> etree._Element:
        if name not in self.joints:
            raise DescriptionError(
                f"'{self.where}': {key} names the joint '{name}', which the URDF does not have"
                f'{suggestion(name, self.joints)}; joints are {", ".join(self.joints)}'
            )
        return self.joints[name]

    def add_platform(self, name: Any, frames: set[str]) -> None:
        """Add a link `platform` to the link that is one, unless there is one already."""
        if name is None:
            known = [link for link in ('platform', 'effector') if link in self.links]
            name = known[0] if known else self._heaviest_end(frames)
        elif name not in self.links:
            raise DescriptionError(
                f"'{self.where}': platform names the link {name!r}, which the URDF does not have"
                f'{suggestion(str(name), self.links)}'
            )
        if name == 'platform':
            return
        if 'platform' in self.links:
            raise DescriptionError(
                f"'{self.where}': platform is '{name}', but another link has the name 'platform'"
            )
        etree.SubElement(self.root, 'link', name='platform')
        self._add_joint('platform_frame', 'fixed', name, 'platform')

    def _heaviest_end(self, frames: set[str]) -> str:
        moving = [j for j in self.joints.values() if j.get('type') in _MOVING]
        parents = {self._end(joint, 'parent') for joint in moving}
        masses = {}
        for joint in moving:
            child = self._end(joint, 'child')
            mass = self.root.find(f"link[@name='{child}']/inertial/mass")
            if child not in parents and child not in frames and mass is not None:
                masses[child] = float(mass.get('value', '0'))
        if not masses:
            raise DescriptionError(
                f"'{self.where}': no link is an end of the tree; say which link is the `platform`"
            )
        return max(masses, key=lambda link: masses[link])

    def replace(self, name: str, kind: str) -> None:
        """Replace a joint by a fixed one, or by two or three revolute ones."""
        joint = self._joint(name, 'joint_name')
        for tag in ('axis', 'limit', 'dynamics', 'mimic'):
            for element in joint.findall(tag):
                joint.remove(element)
        if kind == 'FIXED':
            joint.set('type', 'fixed')
            return
        axes = 'XYZ' if kind == 'SPHERICAL' else kind[-2:]
        child = self._end(joint, 'child')
        joint.set('type', 'revolute')
        joint.set('name', f'{name}_{axes[0]}')
        etree.SubElement(joint, 'axis', xyz=AXES[axes[0]])
        below = joint.find('child')
        for index, axis in enumerate(axes[1:]):
            between = f'{name}_{axes[: index + 1]}'
            etree.SubElement(self.root, 'link', name=between)
            below.set('link', between)
            added = self._add_joint(f'{name}_{axis}', 'revolute', between, child)
            etree.SubElement(added, 'axis', xyz=AXES[axis])
            below = added.find('child')

    def close(self, first: str, second: str, kind: str) -> None:
        """Add the constraint that makes two frames coincide."""
        parent, child = self.frame(first), self.frame(second)  # refuse what the robot has not
        element = etree.SubElement(self.root, 'constraint', name=f'{first}_to_{second}', type=kind)
        etree.SubElement(element, 'parent', link=parent)
        etree.SubElement(element, 'child', link=child)

    def drive(self, motors: list[str]) -> None:
        """Give exactly these joints an effort command interface."""
        for block in self.root.findall('ros2_control'):
            self.root.remove(block)
        block = etree.SubElement(self.root, 'ros2_control', name='motors', type='system')
        for name in motors:
            if self._joint(name, 'name_mot').get('type') not in _MOVING:
                raise DescriptionError(
                    f"'{self.where}': name_mot names the joint '{name}', which has not one degree "
                    'of freedom'
                )
            joint = etree.SubElement(block, 'joint', name=name)
            etree.SubElement(joint, 'command_interface', name='effort')

    def neutral(self) -> dict[str, float]:
        """All joints at zero as far as their limits allow it: where Gepetto's tools start."""
        start = {}
        for name, joint in self.joints.items():
            limit = joint.find('limit')
            low, high = ('0', '0') if limit is None else (limit.get('lower'), limit.get('upper'))
            inside = float(low or 0) <= 0.0 <= float(high or 0)
            if joint.get('type') in _MOVING and inside:
                start[name] = 0.0
        return start

    def _add_joint(self, name: str, kind: str, parent: str, child: str) -> etree._Element:
        joint = etree.SubElement(self.root, 'joint', name=name, type=kind)
        etree.SubElement(joint, 'parent', link=parent)
        etree.SubElement(joint, 'child', link=child)
        return joint
