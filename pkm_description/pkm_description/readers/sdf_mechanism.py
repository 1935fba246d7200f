"""An SDF model as URDF with constraints and the YAML beside it, to be read like any other robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import yaml
from lxml import etree
from transforms3d.axangles import axangle2mat

from pkm_description import sidecar
from pkm_description.description import Array, Inertial, Pose, frozen
from pkm_description.errors import DescriptionError
from pkm_description.readers.sdf_content import EFFORT, FREE, SdfAxis, SdfJoint
from pkm_description.readers.sdf_frames import finite_numbers
from pkm_description.readers.sdf_reader import SdfShape, read_sdf
from pkm_description.readers.sdf_tree import (
    BALL,
    PAIR,
    SdfTree,
    frame_of,
    likely_platform,
    sdf_tree,
)
from pkm_description.rotation_formats import rpy_from_rotation
from pkm_description.xml_elements import only, suggestion

PERPENDICULAR = 1e-6  # cosine between the axes of a universal joint that closes a loop
CLOSING = {
    'revolute': 'revolute',
    'continuous': 'revolute',
    'prismatic': 'prismatic',
    'fixed': 'fixed',
    'ball': 'spherical',
    'universal': 'universal',
    'revolute2': 'universal',
}
GEOMETRIES: dict[str, tuple[tuple[str, str, int], ...]] = {  # element of SDF, attribute of URDF
    'box': (('size', 'size', 3),),
    'cylinder': (('radius', 'radius', 1), ('length', 'length', 1)),
    'sphere': (('radius', 'radius', 1),),
}


def converted(text: str, content: Mapping[str, Any], where: str) -> tuple[str, str]:
    """URDF and sidecar of this package for an SDF text and the content of the YAML beside it.

    The YAML has the keys of a sidecar; they go before what the SDF says. Names, signs and zeros of
    joints are those of the SDF: positions count from the file's pose, or from where `pkm:home` of
    the exporter says. Raises DescriptionError, naming what no rigid mechanism of this library has.
    """
    for key in content:
        if key not in sidecar.KEYS:
            raise DescriptionError(
                f"the YAML of '{where}' has the unknown key '{key}'"
                f'{suggestion(str(key), sidecar.KEYS)}; keys are {", ".join(sidecar.KEYS)}'
            )
    model, given = read_sdf(text, where), content.get('platform')
    tree = sdf_tree(model, given if isinstance(given, str) else None)
    writer = _Writer(tree)
    urdf = writer.written()
    said = writer.said()
    platform = model.platform or likely_platform(model)
    if platform:
        said['platform'] = platform
    said = {key: value for key, value in said.items() if value} | dict(content)
    return urdf, yaml.safe_dump(said, sort_keys=False)


class _Writer:
    """Writes one tree; collects what goes into the YAML."""

    def __init__(self, tree: SdfTree) -> None:
        self.tree = tree
        self.root = etree.Element('robot', name=tree.model.name)
        self.notes = [*tree.model.warnings, *tree.warnings]
        self.frames: dict[str, Pose] = {}  # of the links of the URDF, in the model's frame
        self.home: dict[str, float] = {}
        self.springs: dict[str, dict[str, float]] = {}
        self.rotors: dict[str, float] = {}
        self.free: list[str] = []
        self.driven: list[tuple[str, float | None]] = []

    def written(self) -> str:
        """Return the URDF."""
        tree = self.tree
        self._add_link(tree.base, tree.links[tree.base].pose)
        for joint in tree.joints:
            self._add_joint(joint)
        if tree.floating is not None:
            self._add_link(tree.floating, tree.links[tree.floating].pose)
            self._joint_element(f'{tree.floating}_floating', 'floating', tree.base, tree.floating)
        for joint in tree.closures:
            self._add_constraint(joint)
        if self.driven:
            block = etree.SubElement(self.root, 'ros2_control', name=tree.model.name, type='system')
            for name, constant in self.driven:
                element = etree.SubElement(block, 'joint', name=name)
                etree.SubElement(element, 'command_interface', name='effort')
                if constant is not None:
                    parameter = etree.SubElement(element, 'param', name='force_constant')
                    parameter.text = repr(constant)
        etree.indent(self.root)
        return str(etree.tostring(self.root, pretty_print=True, encoding='unicode'))

    def said(self) -> dict[str, Any]:
        """Return what the YAML says, empty where there is nothing to say."""
        tree, model = self.tree, self.tree.model
        home: dict[str, Any] = {'joints': self.home} if self.home else {}
        if tree.floating is not None:
            pose = self.frames[tree.base].inverse() @ self.frames[tree.floating]
            rpy = rpy_from_rotation(pose.rotation).tolist()
            home |= {'position': pose.position.tolist(), 'rpy': rpy}
        turn = model.pose.rotation @ self.frames[tree.base].rotation
        down = [] if model.gravity is None else (turn.T @ np.array(model.gravity)).tolist()
        return {
            'home': home,
            'gravity': down,
            'free_joints': self.free,
            'rotor_inertia': self.rotors,
            'drives': self.springs,
            'notes': {'reading of the SDF': self.notes} if self.notes else {},
        }

    def _add_link(self, name: str, frame: Pose) -> None:
        """Write a link whose frame stands at `frame` in the model."""
        self.frames[name] = frame
        link = self.tree.links[name]
        inside = link.pose.inverse() @ frame
        element = etree.SubElement(self.root, 'link', name=name)
        if link.inertial is not None:
            _add_inertial(element, link.inertial.seen_from(inside))
        for shape in self.tree.model.shapes:
            if shape.link == name and not _add_shape(element, inside.inverse() @ shape.pose, shape):
                self.notes.append(
                    f"a shape of link '{name}' is left out: URDF has no such geometry"
                )

    def _add_joint(self, joint: SdfJoint) -> None:
        frame = frame_of(self.tree, joint)
        if joint.type in BALL or joint.type in PAIR:
            self._add_chain(joint, frame)
            return
        if joint.type == 'fixed':
            self._joint_element(joint.name, 'fixed', joint.parent, joint.child, frame)
            self._add_link(joint.child, frame)
            return
        self._add_single(joint, joint.axes[0], frame)
        self._add_link(joint.child, frame)

    def _add_chain(self, joint: SdfJoint, frame: Pose) -> None:
        """Two or three joints with one degree of freedom, and massless rings between them."""
        axes = joint.axes or tuple(SdfAxis(frozen(row)) for row in np.eye(3))
        parent = joint.parent
        for place, axis in enumerate(axes, start=1):
            last = place == len(axes)
            child = joint.child if last else f'{joint.name}_ring{place}'
            one = replace(
                joint, name=f'{joint.name}_{place}', type='revolute', parent=parent, child=child
            )
            self._add_single(one, axis, frame)
            if last:
                self._add_link(child, frame)
            else:
                self.frames[child] = frame
                etree.SubElement(self.root, 'link', name=child)
            parent = child

    def _add_single(self, joint: SdfJoint, axis: SdfAxis, frame: Pose) -> None:
        """Write a joint with one axis whose child's frame is `frame` in the file's pose."""
        name, home = joint.name, joint.home or 0.0
        bounded = bool(np.isfinite([axis.lower, axis.upper]).any())
        kind = joint.type
        if kind != 'prismatic':
            kind = 'revolute' if bounded else 'continuous'
        at_zero = frame @ _motion(kind, axis.direction, -home)
        element = self._joint_element(name, kind, joint.parent, joint.child, at_zero)
        etree.SubElement(element, 'axis', xyz=_numbers(axis.direction))
        limit = {'lower': axis.lower + home, 'upper': axis.upper + home} if bounded else {}
        limit |= {'velocity': axis.velocity, 'effort': axis.effort}
        said = {key: repr(value) for key, value in limit.items() if bounded or value < math.inf}
        if said:
            etree.SubElement(element, 'limit', said)
        _add_friction(element, axis.coulomb, axis.viscous)
        self.home[name] = home
        if joint.rotor_inertia is not None:
            self.rotors[name] = joint.rotor_inertia
        if joint.drive == EFFORT:
            self.driven.append((name, joint.force_constant))
        elif joint.drive == FREE:
            self.free.append(name)
        if axis.stiffness:
            self.springs[name] = {'stiffness': axis.stiffness, 'rest': axis.rest + home}

    def _joint_element(
        self, name: str, kind: str, parent: str, child: str, frame: Pose | None = None
    ) -> etree._Element:
        element = etree.SubElement(self.root, 'joint', name=name, type=kind)
        etree.SubElement(element, 'parent', link=parent)
        etree.SubElement(element, 'child', link=child)
        if frame is not None:
            _add_pose(element, 'origin', self.frames[parent].inverse() @ frame)
        return element

    def _add_constraint(self, joint: SdfJoint) -> None:
        """A joint that closes a loop, with one frame on either link."""
        frame, axes = frame_of(self.tree, joint), [axis.direction for axis in joint.axes]
        if len(axes) == 2 and abs(axes[0] @ axes[1]) > PERPENDICULAR:
            raise DescriptionError(
                f"joint '{joint.name}' closes a loop with two axes that are not perpendicular; "
                'that is no constraint here: put a link between two revolute joints'
            )
        element = etree.SubElement(
            self.root, 'constraint', name=joint.name, type=CLOSING[joint.type]
        )
        for end, axis in zip(('parent', 'child'), axes[:1] + axes[-1:], strict=False):
            etree.SubElement(element, f'{end}_axis', xyz=_numbers(axis))
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            etree.SubElement(element, end, link=link)
            _add_pose(element, f'{end}_origin', self.frames[link].inverse() @ frame)
        if not joint.axes:
            return
        if any(axis.stiffness for axis in joint.axes):
            raise DescriptionError(
                f"joint '{joint.name}' closes a loop and has a spring: not modelled"
            )
        if len(joint.axes) == 2:  # friction of the turn, whatever its direction
            viscous = [axis.viscous for axis in joint.axes]
            if len(set(viscous)) > 1 or any(axis.coulomb for axis in joint.axes):
                raise DescriptionError(
                    f"joint '{joint.name}' closes a loop: its friction must be viscous, and the "
                    'same about both axes'
                )
        _add_friction(element, joint.axes[0].coulomb, joint.axes[0].viscous)


def _motion(kind: str, axis: Array, position: float) -> Pose:
    """Pose of a joint's child frame at a position, seen from that at zero."""
    if kind == 'prismatic':
        return Pose(frozen(position * axis), frozen(np.eye(3)))
    return Pose(frozen(np.zeros(3)), frozen(axangle2mat(axis, position, is_normalized=True)))


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(repr(float(value)) for value in values)


def _add_pose(element: etree._Element, tag: str, pose: Pose) -> None:
    rpy = _numbers(rpy_from_rotation(pose.rotation))
    etree.SubElement(element, tag, xyz=_numbers(pose.position), rpy=rpy)


def _add_friction(element: etree._Element, coulomb: float, viscous: float) -> None:
    if coulomb or viscous:
        etree.SubElement(element, 'dynamics', friction=repr(coulomb), damping=repr(viscous))


def _add_inertial(link: etree._Element, inertial: Inertial) -> None:
    element = etree.SubElement(link, 'inertial')
    etree.SubElement(element, 'origin', xyz=_numbers(inertial.com), rpy='0 0 0')
    etree.SubElement(element, 'mass', value=repr(float(inertial.mass)))
    keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    upper = inertial.inertia[np.triu_indices(3)].tolist()
    etree.SubElement(element, 'inertia', {k: repr(v) for k, v in zip(keys, upper, strict=True)})


def _add_shape(link: etree._Element, pose: Pose, shape: SdfShape) -> bool:
    """Write a shape that URDF has, too; whether it is one."""
    geometry = shape.element.find('geometry')
    kind = None if geometry is None else next(iter(geometry), None)
    if kind is None or (kind.tag not in GEOMETRIES and kind.tag != 'mesh'):
        return False
    given: dict[str, str] = {}
    if kind.tag == 'mesh':
        given['filename'] = (kind.findtext('uri') or '').strip()
        scale = only(kind, 'scale')
        if scale is not None:
            given['scale'] = _numbers(finite_numbers(scale, 3))
    for tag, attribute, count in GEOMETRIES.get(str(kind.tag), ()):
        child = only(kind, tag)
        if child is None:
            return False
        given[attribute] = _numbers(finite_numbers(child, count))
    element = etree.SubElement(link, str(shape.element.tag))
    _add_pose(element, 'origin', pose)
    etree.SubElement(etree.SubElement(element, 'geometry'), str(kind.tag), given)
    colour = shape.element.find('material/diffuse')
    if colour is not None and shape.element.tag == 'visual':
        material = etree.SubElement(element, 'material', name='')
        values = [float(part) for part in (colour.text or '').split()]
        if len(values) in (3, 4):
            etree.SubElement(material, 'color', rgba=_numbers((*values, 1.0)[:4]))
    return True
