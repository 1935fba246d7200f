"""SDF: the joint graph, and the form that Gazebo Harmonic can simulate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from lxml import etree
from transforms3d.quaternions import mat2quat

from pkm_description.description import Description, Pose
from pkm_description.exporters.exported import Exported, add_text, as_text, number, numbers
from pkm_description.exporters.sdf_bridge import build_bridge
from pkm_description.exporters.sdf_damping import damping_loss
from pkm_description.exporters.sdf_parts import SdfStructure, unique
from pkm_description.exporters.sdf_structure import build_structure
from pkm_description.exporters.shapes import Shape, read_shapes
from pkm_description.readers.sdf_content import (
    DRIVE,
    FORCE_CONSTANT,
    HOME,
    NAMESPACE,
    PART_OF,
    PLATFORM,
    ROTOR,
    UNLIMITED,
    SdfAxis,
    SdfJoint,
    SdfLink,
)

VERSION = '1.9'
#: Systems that every world of Gazebo needs; naming one switches its defaults off.
WORLD_SYSTEMS = (
    ('physics', 'Physics'),
    ('user-commands', 'UserCommands'),
    ('scene-broadcaster', 'SceneBroadcaster'),
)
TIMESTEP = 0.001


def build_sdf(
    description: Description,
    form: str = 'graph',
    timestep: float = TIMESTEP,
    real_time_factor: float = 1.0,
) -> Exported:
    """Write a robot as an SDF world with one model.

    All poses are those of home, and SDF counts joint positions from there: the limits
    are moved accordingly, and `<pkm:home>` of each joint holds the position that the
    description has at home. The base link is fixed to the world, whose gravity is the
    description's. SDF cannot say rotor inertias, friction that differs between the directions or
    grows with loads,
    friction of ball joints, links without mass.

    In the form ``'graph'`` every constraint is a joint between its two links (`spherical` is
    `ball`), which describes the mechanism fully; Gazebo drops the joints that close loops.
    ``'gazebo'`` is a tree with a dummy link for each closing constraint, which the
    `DetachableJoint` system welds to its counterpart when the simulation starts; the solver of
    Dart that keeps these loops closed, force commands and states of the described joints on
    topics, which the `bridge` of the export carries to ROS. It has rotors of sliding joints as
    bodies, and none below `GAZEBO_LEAST`. `timestep` [s] and `real_time_factor` (0: as fast as it
    goes) are those of its physics.
    """
    structure = build_structure(description, form)
    names = _Names(structure, description.base_link)
    root = etree.Element('sdf', version=VERSION, nsmap={'pkm': NAMESPACE})
    world = etree.SubElement(root, 'world', name=f'{description.name}_world')
    if form == 'gazebo':
        add_scene(world, structure.redundant > 0, timestep, real_time_factor)
    add_text(world, 'gravity', numbers(description.gravity))
    model = etree.SubElement(world, 'model', name=description.name)
    add_text(model, PLATFORM, names.links[description.platform])
    shapes = read_shapes(description)
    for link in structure.links:
        _add_link(model, link, names, [shape for shape in shapes if shape.link == link.name])
    anchor = SdfJoint(names.anchor, 'fixed', 'world', description.base_link)
    for joint in (anchor, *structure.joints):
        _add_joint(model, joint, names)
    bridge = ''
    if form == 'gazebo':
        welds = [(w.name, names.links[w.parent], names.links[w.child]) for w in structure.welds]
        told = [names.joints[each.name] for each in description.joints if each.is_scalar]
        driven = [names.joints[n] for n in description.driven_joints]
        add_model_plugins(model, welds, driven, told)
        if lost := damping_loss(structure, timestep):
            structure.losses.append(lost)
        bridge = build_bridge(str(world.get('name')), description.name, driven)
    losses = tuple(structure.losses + names.losses)
    return Exported(as_text(root, losses, _HEADS[form]), losses, bridge=bridge)


_HEADS = {
    'graph': 'Joint graph at home: links have several parents where loops close (Gazebo: none).',
    'gazebo': 'Tree at home; dummy links are welded to their counterparts at the start.',
}


class _Names:
    """Names that SDF accepts: links and joints share one space, and some are reserved."""

    def __init__(self, structure: SdfStructure, base: str) -> None:
        taken = {'world'}
        self.losses: list[str] = []
        self.links = {link.name: self._new(link.name, 'link', taken) for link in structure.links}
        self.joints = {
            joint.name: self._new(joint.name, 'joint', taken) for joint in structure.joints
        }
        self.anchor = unique(f'world_to_{base}', taken)
        self.joints[self.anchor] = self.anchor
        self.links['world'] = self.links.get('world', 'world')

    def _new(self, name: str, kind: str, taken: set[str]) -> str:
        plain = name.replace('::', '_')
        if plain.startswith('__') and plain.endswith('__'):
            plain = f'{plain}{kind}'
        new = unique(plain if plain not in taken else f'{plain}_{kind}', taken)
        if new != name:
            self.losses.append(f"{kind} '{name}' is named '{new}'")
        return new


def _add_link(model: etree._Element, link: SdfLink, names: _Names, shapes: list[Shape]) -> None:
    element = etree.SubElement(model, 'link', name=names.links[link.name])
    _add_pose(element, link.pose)
    if link.inertial is not None:
        inertial = etree.SubElement(element, 'inertial')
        _add_pose(inertial, Pose(link.inertial.com))
        add_text(inertial, 'mass', number(link.inertial.mass))
        inertia = etree.SubElement(inertial, 'inertia')
        upper = link.inertial.inertia[np.triu_indices(3)]
        for key, value in zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), upper, strict=True):
            add_text(inertia, key, number(value))
    if link.part_of is not None:
        add_text(element, PART_OF, names.links[link.part_of])
    for index, shape in enumerate(shapes):
        _add_shape(element, shape, f'{shape.kind}_{index + 1}')


def _add_shape(link: etree._Element, shape: Shape, name: str) -> None:
    element = etree.SubElement(link, shape.kind, name=name)
    _add_pose(element, shape.pose)
    geometry = etree.SubElement(etree.SubElement(element, 'geometry'), shape.geometry)
    if shape.geometry == 'box':
        add_text(geometry, 'size', numbers(shape.size))
    elif shape.geometry == 'mesh':
        add_text(geometry, 'uri', shape.file)
        add_text(geometry, 'scale', numbers(shape.size))
    else:
        for key, value in zip(('radius', 'length'), shape.size, strict=False):
            add_text(geometry, key, number(value))
    if shape.colour and shape.kind == 'visual':
        material = etree.SubElement(element, 'material')
        for key in ('ambient', 'diffuse'):
            add_text(material, key, numbers(shape.colour))


def _add_joint(model: etree._Element, joint: SdfJoint, names: _Names) -> None:
    element = etree.SubElement(model, 'joint', name=names.joints[joint.name], type=joint.type)
    parent = 'world' if joint.name == names.anchor else names.links[joint.parent]
    add_text(element, 'parent', parent)
    add_text(element, 'child', names.links[joint.child])
    if np.any(joint.frame.position) or np.any(joint.frame.rotation != np.eye(3)):
        _add_pose(element, joint.frame)
    if joint.pitch is not None:
        add_text(element, 'thread_pitch', number(joint.pitch))
    for key, axis in zip(('axis', 'axis2'), joint.axes, strict=False):
        _add_axis(etree.SubElement(element, key), axis)
    notes = {HOME: joint.home, ROTOR: joint.rotor_inertia, FORCE_CONSTANT: joint.force_constant}
    for key, value in notes.items():
        if value is not None:
            add_text(element, key, number(value))
    if joint.drive is not None:
        add_text(element, DRIVE, joint.drive)


def _add_axis(element: etree._Element, axis: SdfAxis) -> None:
    add_text(element, 'xyz', numbers(axis.direction))
    limit = etree.SubElement(element, 'limit')
    add_text(limit, 'lower', number(max(axis.lower, -UNLIMITED)))
    add_text(limit, 'upper', number(min(axis.upper, UNLIMITED)))
    for key, value in (('effort', axis.effort), ('velocity', axis.velocity)):
        if np.isfinite(value) and value > 0:
            add_text(limit, key, number(value))
    if axis.coulomb or axis.viscous or axis.stiffness:
        dynamics = etree.SubElement(element, 'dynamics')
        add_text(dynamics, 'damping', number(axis.viscous))
        add_text(dynamics, 'friction', number(axis.coulomb))
        if axis.stiffness:
            add_text(dynamics, 'spring_reference', number(axis.rest))
            add_text(dynamics, 'spring_stiffness', number(axis.stiffness))


def _add_pose(element: etree._Element, pose: Pose) -> None:
    """Add a pose with a quaternion, which has no singular attitude."""
    w, x, y, z = mat2quat(pose.rotation)
    text = numbers([*pose.position, x, y, z, w])
    etree.SubElement(element, 'pose', rotation_format='quat_xyzw').text = text


def add_scene(world: etree._Element, redundant: bool, timestep: float, factor: float) -> None:
    """Add physics, systems and a light to a world.

    Of Dart's solvers `dantzig` is exact, but it loses loops whose equations are redundant
    and whose axes lie askew (gazebosim/gz-physics#719). `pgs` keeps those, and loses the
    many coupled loops of a hexapod. So the closing equations decide.
    """
    physics = etree.SubElement(world, 'physics', name='dart', type='dart')
    add_text(physics, 'max_step_size', number(timestep))
    add_text(physics, 'real_time_factor', number(factor))
    solver = etree.SubElement(etree.SubElement(physics, 'dart'), 'solver')
    add_text(solver, 'solver_type', 'pgs' if redundant else 'dantzig')
    for library, name in WORLD_SYSTEMS:
        _plugin(world, library, name)
    light = etree.SubElement(world, 'light', name='sun', type='directional')
    add_text(light, 'direction', '-0.5 0.2 -1.0')
    add_text(light, 'diffuse', '0.9 0.9 0.9 1')


def add_model_plugins(
    model: etree._Element,
    welds: Iterable[tuple[str, str, str]],
    driven: Iterable[str],
    told: Iterable[str],
) -> None:
    """Add the systems of a model.

    The welds (name, parent link, child link) are fixed to each other at the start:
    `DetachableJoint` welds them where they stand, and Dart gives each weld a part of the child
    link's inertia. The driven joints take forces [N, N m] on
    ``/model/<model>/joint/<joint>/cmd_force``; the told ones have their states published.
    """
    name = str(model.get('name'))
    for weld, parent, child in welds:
        plugin = _plugin(model, 'detachable-joint', 'DetachableJoint')
        add_text(plugin, 'parent_link', parent)
        add_text(plugin, 'child_model', '__model__')
        add_text(plugin, 'child_link', child)
        for topic, verb in (('detach', 'detach'), ('attach', 'attach'), ('output', 'state')):
            add_text(plugin, f'{topic}_topic', f'/model/{name}/closure/{weld}/{verb}')
    for joint in driven:
        plugin = _plugin(model, 'apply-joint-force', 'ApplyJointForce')
        add_text(plugin, 'joint_name', joint)
    states = _plugin(model, 'joint-state-publisher', 'JointStatePublisher')
    for joint in told:
        add_text(states, 'joint_name', joint)


def _plugin(parent: etree._Element, library: str, name: str) -> etree._Element:
    """Add a system of Gazebo."""
    filename, full = f'gz-sim-{library}-system', f'gz::sim::systems::{name}'
    return etree.SubElement(parent, 'plugin', filename=filename, name=full)
