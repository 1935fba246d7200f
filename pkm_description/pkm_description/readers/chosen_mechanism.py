"""Which part of a URDF is the robot: base, platform, drives; what else moves is fixed at home.

So a manufacturer's URDF stays as it is, and the YAML beside it says what is identified.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pkm_description.checks import inertial_problem
from pkm_description.description import Actuator, Inertial, Joint, Limit, Pose, frozen
from pkm_description.errors import DescriptionError, listed
from pkm_description.readers.urdf_reader import UrdfContent
from pkm_description.rotation_formats import rotation_from_vector
from pkm_description.sidecar import home_of, known_keys, number
from pkm_description.xml_elements import suggestion

DRIVE_KEYS = ('effort', 'velocity', 'lower', 'upper', 'force_constant')
USUAL_PLATFORM = 'platform'
LEAST_MOMENT = 1e-3  # of the largest second moment of mass, where one is negative: no flat body


def chosen_mechanism(content: UrdfContent, sidecar: Mapping[str, Any]) -> UrdfContent:
    """Return the links, joints and drives that the YAML chooses of a URDF.

    Joints that nothing drives and that carry neither platform, loop nor drive are fixed at home
    where the YAML names platform or drives, and where they follow another joint (`<mimic>`). Of
    such a URDF, impossible inertias are replaced by the nearest ones, too. Raises DescriptionError.
    """
    if 'base' in sidecar:
        content = _below_base(content, sidecar['base'])
    content = dataclasses.replace(content, platform=_platform(sidecar))
    if 'actuated_joints' in sidecar:
        content = _with_drives(content, sidecar['actuated_joints'])
    content = _with_fixed(content, sidecar)
    is_foreign = 'platform' in sidecar or 'actuated_joints' in sidecar
    return _with_possible_inertias(content) if is_foreign else content


def _with_possible_inertias(content: UrdfContent) -> UrdfContent:
    """Replace inertias that no rigid body has by the nearest that one has, and say so."""
    changed, links = [], []
    for link in content.links:
        possible = None if link.inertial is None else nearest_possible(link.inertial)
        if possible is not link.inertial:
            changed.append(link.name)
        links.append(dataclasses.replace(link, inertial=possible))
    if not changed:
        return content
    text = (
        'no rigid body has the inertia of these links; the nearest that one has is taken (without '
        f'mass, none): {listed(changed)}'
    )
    return dataclasses.replace(content, links=tuple(links), warnings=(*content.warnings, text))


def nearest_possible(inertial: Inertial) -> Inertial | None:
    """Return an inertial that a rigid body can have; the same where it is one, None without mass.

    The second moments of mass, tr(I) / 2 - I, are those of a body where none is negative.
    """
    numbers = (inertial.mass, *inertial.com, *inertial.inertia.ravel())
    if not np.isfinite(numbers).all() or inertial_problem(inertial) is None:
        return inertial  # what is not finite stays an error
    if inertial.mass <= 0:
        return None
    symmetric = (inertial.inertia + inertial.inertia.T) / 2
    size, axes = np.linalg.eigh(np.trace(symmetric) / 2 * np.eye(3) - symmetric)
    least = LEAST_MOMENT * max(float(np.abs(size).max()), np.finfo(float).tiny)
    moments = (axes * np.maximum(size, least)) @ axes.T
    return dataclasses.replace(inertial, inertia=frozen(np.trace(moments) * np.eye(3) - moments))


def _platform(sidecar: Mapping[str, Any]) -> str:
    name = sidecar.get('platform', USUAL_PLATFORM)
    if not isinstance(name, str):
        raise DescriptionError(f'platform must be the name of a link, not {name!r}')
    return name


def _below_base(content: UrdfContent, base: Any) -> UrdfContent:
    """Return what hangs on the base, which stands still from now on."""
    names = [link.name for link in content.links]
    if base not in names:
        raise DescriptionError(
            f"base names the link '{base}', which does not exist{suggestion(str(base), names)}; "
            f'links are {listed(names)}'
        )
    kept = {base} | links_below(content.joints, base)
    cut = [item.name for item in content.constraints if not {item.parent, item.child} <= kept]
    if cut:
        raise DescriptionError(f"constraint '{cut[0]}' joins a link that is not below '{base}'")
    out = [name for name in names if name not in kept]
    joints = tuple(joint for joint in content.joints if joint.parent in kept)
    there = {joint.name for joint in joints}
    warnings = (f"left out, as not below the base '{base}': {listed(out)}",) if out else ()
    return dataclasses.replace(
        content,
        links=tuple(link for link in content.links if link.name in kept),
        joints=joints,
        actuators=tuple(drive for drive in content.actuators if drive.joint in there),
        warnings=(*content.warnings, *warnings),
    )


def links_below(joints: Iterable[Joint], link: str) -> set[str]:
    """Names of the links that hang on a link; of any graph, however broken."""
    children: dict[str, list[str]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint.child)
    found: set[str] = set()
    pending = list(children.get(link, ()))
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += children.get(name, ())
    return found


def _with_drives(content: UrdfContent, value: Any) -> UrdfContent:
    """Return the content with the drives, and their limits, that the YAML names."""
    what = 'actuated_joints'
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        given: dict[str, Mapping[str, Any]] = {name: {} for name in value}
        twice = [name for name in value if value.count(name) > 1]
        if twice:
            raise DescriptionError(f"{what} lists '{twice[0]}' twice")
    elif isinstance(value, Mapping):
        given = {
            str(name): known_keys(each or {}, f"{what}: '{name}'", DRIVE_KEYS)
            for name, each in value.items()
        }
    else:
        raise DescriptionError(
            f'{what} must be a list of joints, or a mapping {{joint: {{effort: ...}}}}, '
            f'not {value!r}'
        )
    scalar = [joint.name for joint in content.joints if joint.is_scalar]
    for name in given:
        if name not in scalar:
            raise DescriptionError(
                f"{what} names '{name}', which is no joint with one degree of freedom"
                f'{suggestion(name, scalar)}; these are {listed(scalar)}'
            )
    numbers = {
        name: {key: number(each[key], f"{key} of '{name}' in {what}") for key in each}
        for name, each in given.items()
    }
    recorded = {drive.joint: drive for drive in content.actuators}
    joints = []
    for joint in content.joints:
        own = numbers.get(joint.name, {})
        limits = {key: size for key, size in own.items() if key != 'force_constant'}
        joints.append(
            dataclasses.replace(joint, limit=dataclasses.replace(joint.limit, **limits))
            if limits
            else joint
        )
    drives = []
    for name, own in numbers.items():
        drive = recorded.get(name, Actuator(name, np.nan))
        constant = own.get('force_constant', drive.force_constant)
        drives.append(dataclasses.replace(drive, force_constant=constant))
    return dataclasses.replace(content, joints=tuple(joints), actuators=tuple(drives))


def _with_fixed(content: UrdfContent, sidecar: Mapping[str, Any]) -> UrdfContent:
    """Fix at home what nothing drives and nothing hangs on."""
    chosen = 'platform' in sidecar or 'actuated_joints' in sidecar
    free = sidecar.get('free_joints', [])
    moved = {drive.joint for drive in content.actuators} | set(
        free if isinstance(free, list) else []
    )
    ends = {end for item in content.constraints for end in (item.parent, item.child)}
    ends.add(content.platform)
    masters = {mimic.joint for mimic in content.mimics.values()}
    fixed, warnings = [], []
    for joint in content.joints:
        if joint.name in moved:
            if joint.name in content.mimics:
                warnings.append(
                    f"<mimic> of joint '{joint.name}' is not used: the joint has a drive of its own"
                )
            continue
        if not joint.is_scalar:
            continue
        carried = {joint.child} | links_below(content.joints, joint.child)
        driven = [each.name for each in content.joints if each.parent in carried]
        loose = not carried & ends and not moved & set(driven)
        follows = joint.name in content.mimics
        if loose and (chosen or follows or joint.name in masters):
            fixed.append(joint.name)
        elif follows:
            raise DescriptionError(
                f"joint '{joint.name}' follows '{content.mimics[joint.name].joint}' (<mimic>) and "
                f'carries {_carried(content, carried & ends, moved & set(driven))}: the coupling '
                'of two joints is not modelled. Describe the linkage that makes it by its links '
                'and a <constraint>, or name the joint in actuated_joints where it has a drive'
            )
    followers = [name for name in fixed if name in content.mimics]
    if followers:
        warnings.append(f'<mimic> is not modelled; fixed at home: {listed(followers)}')
    others = [name for name in fixed if name not in followers]
    if others:
        warnings.append(
            f'without a drive, carrying nothing that is driven; fixed at home: {listed(others)}'
        )
    positions = _positions(content, sidecar)
    joints = tuple(
        _at(joint, positions(joint.name)) if joint.name in fixed else joint
        for joint in content.joints
    )
    return dataclasses.replace(
        content, joints=joints, fixed=tuple(fixed), warnings=(*content.warnings, *warnings)
    )


def _carried(content: UrdfContent, ends: set[str], moved: set[str]) -> str:
    if content.platform in ends:
        return f"the platform '{content.platform}'"
    return f"the link '{min(ends)}' of a loop" if ends else f"the drive '{min(moved)}'"


def _positions(content: UrdfContent, sidecar: Mapping[str, Any]) -> Any:
    """Return the function of a joint's name that gives its position at home [m, rad]."""
    _, _, guess = home_of(sidecar)
    limits = {joint.name: joint.limit for joint in content.joints}

    def position(name: str, followed: tuple[str, ...] = ()) -> float:
        if name in guess:
            return guess[name]
        mimic = content.mimics.get(name)
        if mimic is not None and mimic.joint not in (name, *followed) and mimic.joint in limits:
            return mimic.multiplier * position(mimic.joint, (*followed, name)) + mimic.offset
        return float(np.clip(0.0, limits[name].lower, limits[name].upper))

    return position


def _at(joint: Joint, position: float) -> Joint:
    """Return a joint that is fixed at a position [m, rad]."""
    shift, turn = np.zeros(3), np.eye(3)
    if joint.type == 'prismatic':
        shift = joint.axis * position
    else:
        turn = rotation_from_vector(joint.axis * position)
    origin = Pose(
        frozen(joint.origin.position + joint.origin.rotation @ shift),
        frozen(joint.origin.rotation @ turn),
    )
    return dataclasses.replace(joint, type='fixed', origin=origin, limit=Limit(), friction=None)
