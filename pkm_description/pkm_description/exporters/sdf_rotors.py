"""Rotors of sliding joints as bodies: the joints of Gazebo have no inertia of their own."""

from __future__ import annotations

import dataclasses

import numpy as np

from pkm_description.description import Array, Inertial, Joint, Pose, frozen
from pkm_description.exporters.inertias import scaled, without
from pkm_description.exporters.sdf_parts import GAZEBO_LEAST, SdfStructure, unique
from pkm_description.readers.sdf_content import SdfAxis, SdfJoint, SdfLink, SdfWeld

#: Share of the slider's mass and of its least principal inertia that its rotor has. More makes a
#: slower rotor with more angular momentum, which no rotor of a description has.
SHARE = 0.01
PUSH_ROD = 0.1  # [m], between rotor and slider: any length does


def add_rotor(structure: SdfStructure, joint: Joint, inertia: float) -> float | None:
    """Let a rotor spin while a sliding joint moves, whose inertia [kg] it has.

    The rotor is a part of the slider that a screw turns on the slider's guide as it moves
    along: its inertia times the square of the thread pitch [rad/m] is that of the joint. What
    makes it move along is a push rod on the joint's axis, between a ball joint in the rotor and
    a universal joint in the slider, which closes by a weld and takes one degree of freedom.
    Rotor, rod and slider are together the slider described; their weight is its weight. The
    viscous friction of the joint is the screw's.

    Returns the rotor's angular momentum by the joint's velocity [N m s / (m/s)], and None where
    the slider has too little inertia to share.
    """
    index = next(k for k, link in enumerate(structure.links) if link.name == joint.child)
    slider = structure.links[index]
    whole = slider.inertial
    if whole is None:
        return None
    spin = SHARE * float(np.linalg.eigvalsh(whole.inertia)[0])
    # on the axis: only there the rotor keeps its place in the slider
    foot = (joint.axis @ whole.com) * joint.axis
    body = Inertial(SHARE * whole.mass, frozen(foot), frozen(spin * np.eye(3)))
    rest = without(whole, body)
    if rest is None or body.mass < GAZEBO_LEAST[0] or spin < GAZEBO_LEAST[1]:
        return None
    frames = _frames(joint.axis, foot)
    part = scaled(rest, 1.0 / 3.0)
    taken = {link.name for link in structure.links} | {each.name for each in structure.joints}
    rotor, rod, dummy = (unique(f'{joint.name}_{kind}', taken) for kind in ('rotor', 'rod', 'end'))
    structure.links[index] = dataclasses.replace(slider, inertial=part)
    structure.links += [
        SdfLink(rotor, slider.pose, body, slider.name),
        SdfLink(rod, slider.pose @ frames[0], part.seen_from(frames[0]), slider.name),
        SdfLink(dummy, slider.pose @ frames[1], part.seen_from(frames[1]), slider.name),
    ]
    screw, ball, end = (
        unique(f'{joint.name}_{kind}', taken) for kind in ('screw', 'rotor_ball', 'rod_universal')
    )
    sides = tuple(SdfAxis(frozen(axis)) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    pitch = float(np.sqrt(inertia / spin))
    turn = SdfAxis(joint.axis, viscous=_taken_damping(structure, joint.name) / pitch**2)
    structure.joints += [
        SdfJoint(screw, 'screw', joint.parent, rotor, axes=(turn,), pitch=pitch),
        SdfJoint(ball, 'ball', rotor, rod),
        SdfJoint(end, 'universal', rod, dummy, axes=sides),
    ]
    structure.welds.append(SdfWeld(f'{joint.name}_rotor', dummy, joint.child))
    return spin * pitch


def _taken_damping(structure: SdfStructure, name: str) -> float:
    """Take the viscous friction [N s/m] off a sliding joint.

    Dart damps by the velocity that a step would end with if no loop were closed. The slider alone
    is far lighter than with its rotor, so a force moves it far in that; the rotor, which no force
    moves, stays at the velocity that it has.
    """
    index = next(k for k, each in enumerate(structure.joints) if each.name == name)
    (axis,) = structure.joints[index].axes
    smooth = dataclasses.replace(axis, viscous=0.0)
    structure.joints[index] = dataclasses.replace(structure.joints[index], axes=(smooth,))
    return axis.viscous


def _frames(axis: Array, foot: Array) -> tuple[Pose, Pose]:
    """Return the ends of the push rod, z along the axis, in the frame of the slider."""
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    turn = frozen(np.column_stack([side, np.cross(axis, side), axis]))
    return Pose(frozen(foot), turn), Pose(frozen(foot + PUSH_ROD * axis), turn)
