"""Read one model of an SDF file as data; what a rigid mechanism has no word for is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from lxml import etree

from pkm_description.description import Inertial, Pose, frozen
from pkm_description.errors import DescriptionError, listed
from pkm_description.payload import joined
from pkm_description.readers.sdf_content import (
    DRIVE,
    EFFORT,
    FORCE_CONSTANT,
    FREE,
    HOME,
    PART_OF,
    PLATFORM,
    ROTOR,
    UNLIMITED,
    SdfAxis,
    SdfJoint,
    SdfLink,
    SdfWeld,
)
from pkm_description.readers.sdf_frames import (
    MODEL,
    WORLD,
    SdfFrames,
    finite_numbers,
    read_pose,
    text_of,
)
from pkm_description.xml_elements import float_or_nan, label, name_of, only, parse_xml

OLDEST = (1, 4)
AXES_OF_MODEL = (1, 5)  # before it, axes of joints are given in the model's frame
GRAVITY = (0.0, 0.0, -9.8)  # of a world of SDF that says none
AXES = {  # how many a type of joint has
    'fixed': 0,
    'ball': 0,
    'revolute': 1,
    'continuous': 1,
    'prismatic': 1,
    'universal': 2,
    'revolute2': 2,
}
UNREADABLE = {
    'gearbox': 'the coupling of two joints is not modelled; name its ratio in `transmissions`',
    'screw': 'a rotation coupled with a shift is not modelled; describe the shift, as `prismatic`',
}
PUSH, WELD = 'gz::sim::systems::ApplyJointForce', 'gz::sim::systems::DetachableJoint'


@dataclass(frozen=True)
class SdfShape:
    """A `<visual>` or `<collision>` of a link, and where it is in the link."""

    link: str
    pose: Pose
    element: etree._Element


@dataclass
class SdfModel:
    """A model; poses are in its frame, the frame's own is `pose` in the world."""

    name: str
    pose: Pose
    links: list[SdfLink] = field(default_factory=list)
    joints: list[SdfJoint] = field(default_factory=list)
    welds: list[SdfWeld] = field(default_factory=list)
    shapes: list[SdfShape] = field(default_factory=list)
    gravity: tuple[float, ...] | None = None  # of the world [m/s^2]; None where there is no world
    canonical: str = ''  # link that the model's frame belongs to
    platform: str | None = None
    warnings: list[str] = field(default_factory=list)


def read_sdf(text: str, where: str) -> SdfModel:
    """Read the one model of an SDF file that can move; raises DescriptionError."""
    root = parse_xml(text, where)
    if root.tag != 'sdf':
        raise DescriptionError(f"'{where}' has the root element <{root.tag}>, not <sdf>")
    version = _version(root, where)
    for include in root.iter('include'):
        uri = (include.findtext('uri') or '').strip()
        raise DescriptionError(
            f"'{where}' includes '{uri}': files of others are not looked for; `gz sdf -p` writes "
            'one file of all'
        )
    world = only(root, 'world')
    models = (root if world is None else world).findall('model')
    moving = [model for model in models if not _is_true(model, 'static')]
    if len(moving) != 1:
        names = listed([name_of(model) for model in moving]) if moving else 'none'
        raise DescriptionError(f"'{where}' must have one model that is not static, it has {names}")
    if world is not None and world.find('joint') is not None:
        raise DescriptionError(f"'{where}' has joints between models: put them into one model")
    model = _Reader(moving[0], version).read()
    left = [name_of(each) for each in models if each is not moving[0]]
    if left:
        model.warnings.append(f'static models are left out: {listed(left)}')
    if world is not None:
        element = only(world, 'gravity')
        model.gravity = GRAVITY if element is None else tuple(finite_numbers(element, 3).tolist())
    return model


def _version(root: etree._Element, where: str) -> tuple[int, int]:
    text = str(root.get('version', ''))
    try:
        major, minor = (int(part) for part in text.split('.'))
    except ValueError:
        raise DescriptionError(
            f"'{where}': <sdf> has the version '{text}', not one as 1.9"
        ) from None
    if (major, minor) < OLDEST or major != OLDEST[0]:
        raise DescriptionError(f"'{where}' is SDF {text}; read are 1.4 and later ones of SDF 1")
    return major, minor


class _Reader:
    def __init__(self, model: etree._Element, version: tuple[int, int]) -> None:
        self.element = model
        self.version = version
        self.frames = SdfFrames(model)

    def read(self) -> SdfModel:
        element, frames = self.element, self.frames
        pose, reference = read_pose(only(element, 'pose'))
        if reference not in (None, WORLD):
            raise DescriptionError(f"{label(element)}: its pose is relative to '{reference}'")
        placement = element.get('placement_frame')
        if placement:
            pose = pose @ frames.pose(placement).inverse()
        model = SdfModel(name_of(element), pose)
        model.canonical = frames.link_of(MODEL, '', label(element))
        for name, link, scope in frames.elements('link'):
            model.links.append(self._link(name, link))
            for kind in ('visual', 'collision'):
                for shape in link.findall(kind):
                    place = frames.inner(shape, name, scope)
                    model.shapes.append(SdfShape(name, place, shape))
        parts = {link.name: link.part_of for link in model.links if link.part_of is not None}
        damped: dict[str, float] = {}
        for name, joint, scope in frames.elements('joint'):
            child = frames.link_of(text_of(joint, 'child'), scope, f"joint '{name}'")
            if child not in parts:
                model.joints.append(self._joint(name, joint, scope))
            elif joint.find('axis/dynamics') is not None:
                damped[parts[child]] = _shift_damping(joint)
        model.joints = [_with_damping(each, damped.get(each.child, 0.0)) for each in model.joints]
        self._read_plugins(model)
        _join_parts(model)
        note = only(element, PLATFORM)
        model.platform = None if note is None else (note.text or '').strip()
        return model

    def _link(self, name: str, element: etree._Element) -> SdfLink:
        for tag, default in (('gravity', 'true'), ('kinematic', 'false')):
            if (element.findtext(tag) or default).strip() not in (
                default,
                str(int(default == 'true')),
            ):
                raise DescriptionError(
                    f"link '{name}': <{tag}> other than {default} is not modelled"
                )
        inertial = only(element, 'inertial')
        pose = self.frames.pose(name)
        part_of = element.findtext(PART_OF)
        if inertial is None:
            return SdfLink(name, pose, None, part_of)
        if _is_true(inertial, 'auto') or inertial.get('auto') in ('true', '1'):
            raise DescriptionError(
                f"link '{name}': its inertia is to be computed from shapes (auto), which is not "
                'done here; `gz sdf -p --expand-auto-inertials` writes it'
            )
        if inertial.find('fluid_added_mass') is not None:
            raise DescriptionError(f"link '{name}': <fluid_added_mass> is not modelled")
        mass = _value(inertial, 'mass', 1.0)
        tensor = only(inertial, 'inertia')
        values = np.eye(3)
        if tensor is not None:
            keys = (('ixx', 'ixy', 'ixz'), ('ixy', 'iyy', 'iyz'), ('ixz', 'iyz', 'izz'))
            values = np.array(
                [[_value(tensor, key, float(key[1] == key[2])) for key in row] for row in keys]
            )
        own = Inertial(mass, frozen(np.zeros(3)), frozen(values))
        return SdfLink(name, pose, own.seen_from(_plain_pose(inertial).inverse()), part_of)

    def _joint(self, name: str, element: etree._Element, scope: str) -> SdfJoint:
        kind = str(element.get('type', ''))
        if kind in UNREADABLE:
            raise DescriptionError(f"joint '{name}' is a {kind}: {UNREADABLE[kind]}")
        if kind not in AXES:
            raise DescriptionError(
                f"joint '{name}' has the unknown type '{kind}'; types are {', '.join(AXES)}"
            )
        where = f"joint '{name}'"
        parent, child = (
            self.frames.link_of(text_of(element, end), scope, where) for end in ('parent', 'child')
        )
        if child == WORLD:
            raise DescriptionError(f"{where} has the child 'world', which nothing moves")
        axes = []
        for tag in ('axis', 'axis2')[: AXES[kind]]:
            axis = only(element, tag)
            if axis is None:
                raise DescriptionError(f'{where} lacks <{tag}>')
            axes.append(self._axis(name, axis, scope))
        drive = element.findtext(DRIVE)
        if drive not in (None, EFFORT, FREE):
            raise DescriptionError(f"{where}: its drive is '{drive}', not {EFFORT} or {FREE}")
        frame = self.frames.pose(child).inverse() @ self.frames.pose(name)
        notes = (
            None if element.find(key) is None else _value(element, key)
            for key in (HOME, ROTOR, FORCE_CONSTANT)
        )
        home, rotor, constant = notes
        return SdfJoint(
            *(name, kind, parent, child), frame, tuple(axes), home, rotor, drive, constant
        )

    def _axis(self, joint: str, element: etree._Element, scope: str) -> SdfAxis:
        where = f"<{element.tag}> of joint '{joint}'"
        if element.find('mimic') is not None:
            raise DescriptionError(
                f'{where} follows another one (<mimic>): the coupling of two joints is not modelled'
            )
        given = only(element, 'xyz')
        direction = np.array([0.0, 0.0, 1.0]) if given is None else finite_numbers(given, 3)
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            raise DescriptionError(f'{where} is the zero vector; a direction is needed')
        reference = None if given is None else given.get('expressed_in')
        old = only(element, 'use_parent_model_frame')
        of_model = self.version < AXES_OF_MODEL if old is None else _is_true(element, old.tag)
        if reference or of_model:
            outer = self.frames.rotation(reference or MODEL, scope, where)
            direction = self.frames.pose(joint).rotation.T @ outer @ direction
        limit, dynamics = only(element, 'limit'), only(element, 'dynamics')
        found = SdfAxis(frozen(direction / length))
        if limit is not None:
            lower, upper = _value(limit, 'lower', -math.inf), _value(limit, 'upper', math.inf)
            found = replace(
                found,
                lower=lower if lower > -UNLIMITED else -math.inf,
                upper=upper if upper < UNLIMITED else math.inf,
                velocity=_positive(_value(limit, 'velocity', -1.0)),
                effort=_positive(_value(limit, 'effort', -1.0)),
            )
        if dynamics is not None:
            keys = ('friction', 'damping', 'spring_stiffness', 'spring_reference')
            coulomb, viscous, stiffness, rest = (_value(dynamics, key, 0.0) for key in keys)
            rest = rest if stiffness else 0.0
            found = replace(found, coulomb=coulomb, viscous=viscous, stiffness=stiffness, rest=rest)
        return found

    def _read_plugins(self, model: SdfModel) -> None:
        """Joints that Gazebo's systems push, and links that they weld."""
        pushed = set()
        for plugin in self.element.findall('plugin'):
            if plugin.get('name') == PUSH:
                pushed.add((plugin.findtext('joint_name') or '').strip())
            if plugin.get('name') == WELD and plugin.findtext('child_model') == MODEL:
                ends = [text_of(plugin, f'{end}_link') for end in ('parent', 'child')]
                links = [self.frames.link_of(end, '', f'<plugin> {WELD}') for end in ends]
                model.welds.append(SdfWeld('_to_'.join(links), *links))
        model.joints = [
            replace(joint, drive=EFFORT) if joint.drive is None and joint.name in pushed else joint
            for joint in model.joints
        ]


def _join_parts(model: SdfModel) -> None:
    """Make one link of each and its parts, whose joints and welds are left out already."""
    links = {link.name: link for link in model.links}
    for name, part in list(links.items()):
        if part.part_of is None:
            continue
        whole = links.get(part.part_of)
        if whole is None or whole.inertial is None or part.inertial is None:
            raise DescriptionError(
                f"link '{name}' is a part of '{part.part_of}': both must be links with an inertia"
            )
        inside = whole.pose.inverse() @ part.pose
        both = joined(whole.inertial, part.inertial.seen_from(inside.inverse()))
        links[whole.name] = replace(whole, inertial=both)
        del links[name]
    model.links = list(links.values())
    model.welds = [each for each in model.welds if {each.parent, each.child} <= set(links)]


def _shift_damping(screw: etree._Element) -> float:
    """Viscous friction [N s/m] of what a rotor on a screw turns with."""
    viscous = _value(only(screw.find('axis'), 'dynamics'), 'damping', 0.0)
    return float(viscous * _value(screw, 'thread_pitch', 0.0) ** 2)


def _with_damping(joint: SdfJoint, viscous: float) -> SdfJoint:
    if not viscous:
        return joint
    axis = replace(joint.axes[0], viscous=joint.axes[0].viscous + viscous)
    return replace(joint, axes=(axis, *joint.axes[1:]))


def _plain_pose(element: etree._Element) -> Pose:
    pose, reference = read_pose(only(element, 'pose'))
    if reference is not None:
        raise DescriptionError(f'{label(element)}: its pose is that in the link, relative to none')
    return pose


def _is_true(element: etree._Element, tag: str) -> bool:
    return (element.findtext(tag) or '').strip() in ('true', '1')


def _positive(value: float) -> float:
    """Limit of speed or effort: a negative one is none."""
    return value if 0.0 <= value < UNLIMITED else math.inf


def _value(element: etree._Element, tag: str, default: float | None = None) -> float:
    """Number of a child; infinities are allowed. Raises DescriptionError."""
    child = only(element, tag)
    text = '' if child is None else (child.text or '').strip()
    if not text and default is not None:
        return default
    value = float_or_nan(text)
    if math.isnan(value):
        raise DescriptionError(
            f"{label(element)}: <{tag.rpartition('}')[2]}> '{text}' is no number"
        )
    return value
