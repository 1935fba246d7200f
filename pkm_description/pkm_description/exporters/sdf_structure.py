"""A description laid out as the links, joints and welds of an SDF model."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

import numpy as np

from pkm_description.assembly import Assembly
from pkm_description.description import Constraint, Description, Joint, Pose, frozen
from pkm_description.exporters.exported import (
    asymmetry_losses,
    cut_loss,
    drive_losses,
    load_losses,
    poses_at_home,
    spring,
    symmetric,
)
from pkm_description.exporters.inertias import StandIns, not_below, scaled
from pkm_description.exporters.motors import reflected_rotors, sdf_losses
from pkm_description.exporters.sdf_parts import GAZEBO_LEAST, SDF_TYPES, SdfStructure, unique
from pkm_description.exporters.sdf_rotors import add_rotor
from pkm_description.kinematic_tree import tree_order
from pkm_description.mobility import constraint_rows
from pkm_description.readers.sdf_content import EFFORT, FREE, SdfAxis, SdfJoint, SdfLink, SdfWeld


def build_structure(description: Description, form: str) -> SdfStructure:
    """Lay a description out as SDF.

    In the form `graph` each closing constraint is a joint, so some links have two
    parents. In the form `gazebo` the joints are a tree: a floating platform hangs on its
    first closing joint, and every other constraint is a joint to a dummy link that lies
    on the child link and is welded to it. The dummy takes its inertia from the child, so
    both together are the body described. Rotors of sliding joints are bodies of their own there.
    """
    poses = poses_at_home(description)
    least = GAZEBO_LEAST if form == 'gazebo' else ()
    # SDF would take 1 kg and 1 kg m^2 for a link without inertia
    stand_ins = StandIns(description, True, *least)
    losses = stand_ins.losses
    reflected = reflected_rotors(description)
    rotors = {
        a.joint: (a.rotor_inertia or 0.0) + reflected.get(a.joint, 0.0)
        for a in description.actuators
    }
    _add_rotors_on_the_base(description, stand_ins, rotors)
    joints = [
        _tree_joint(joint, description, rotors)
        for joint in (description.joints[k] for k in tree_order(description))
        if joint.type != 'floating'
    ]
    links = [
        SdfLink(link.name, poses[link.name], stand_ins.inertials[link.name])
        for link in description.links
    ]
    redundant = sum(rows.redundant for rows in constraint_rows(Assembly(description)))
    structure = SdfStructure(links, joints, redundant, losses=losses)
    bodies = _add_sliding_rotors(structure, description) if form == 'gazebo' else set()
    losses += [
        f"joint '{joint.name}': rotor inertia {joint.rotor_inertia:g} is no part of SDF (noted as "
        'pkm:rotor_inertia)'
        for joint in structure.joints
        if joint.rotor_inertia and joint.name not in bodies
    ]
    losses += asymmetry_losses(description) + drive_losses(description, 'SDF')
    losses += sdf_losses(description)
    losses += load_losses(description, 'SDF')
    for constraint in description.constraints:
        coulomb = constraint.type in ('revolute', 'prismatic')
        lost = cut_loss(constraint, coulomb, viscous=constraint.type != 'spherical')
        losses += [lost] if lost else []
    if form == 'graph':
        structure.joints += [_closing_joint(c, poses, c.child) for c in description.constraints]
    else:
        _close_by_welds(structure, description, poses)
        still = {link.name for link in description.links} - stand_ins.moving
        _raise_small_bodies(structure, still)
    return structure


def _add_sliding_rotors(structure: SdfStructure, description: Description) -> set[str]:
    """Make bodies of the rotors of sliding joints; returns the joints of which it could."""
    found = set()
    for joint in list(structure.joints):
        rotor = joint.rotor_inertia if joint.type == 'prismatic' else None
        momentum = add_rotor(structure, description.joint(joint.name), rotor) if rotor else None
        if momentum is not None:
            found.add(joint.name)
            structure.losses.append(
                f"joint '{joint.name}': its rotor of {rotor:g} kg is a body on a screw, whose spin "
                f'of {momentum:.3g} N m s for each m/s also acts on the links that carry it'
            )
    return found


def _raise_small_bodies(structure: SdfStructure, still: Collection[str]) -> None:
    """Raise what is below Gazebo's least of bodies that do not stand still, and say so."""
    for index, link in enumerate(structure.links):
        if link.name not in still and link.inertial is not None:
            raised = not_below(link.inertial, *GAZEBO_LEAST)
            if raised is not link.inertial:
                structure.links[index] = dataclasses.replace(link, inertial=raised)
                structure.losses.append(
                    f"link '{link.name}': its inertia is raised to at least {GAZEBO_LEAST[0]:g} kg "
                    f'and {GAZEBO_LEAST[1]:g} kg m^2'
                )


def _add_rotors_on_the_base(
    description: Description, bodies: StandIns, rotors: dict[str, float]
) -> None:
    """Move the inertia of rotors whose joint turns on an immobile link into the driven link.

    That link turns about the joint's axis alone, where a rotational inertia J without mass
    acts as the rotor does.
    """
    for name, value in rotors.items():
        joint = description.joint(name)
        driven = bodies.inertials[joint.child]
        if joint.type != 'prismatic' and joint.parent not in bodies.moving and driven:
            inertia = frozen(driven.inertia + value * np.eye(3))
            bodies.inertials[joint.child] = dataclasses.replace(driven, inertia=inertia)
            rotors[name] = 0.0


def _tree_joint(joint: Joint, description: Description, rotors: Mapping[str, float]) -> SdfJoint:
    kind = SDF_TYPES[joint.type]
    if not joint.is_scalar:
        return SdfJoint(joint.name, kind, joint.parent, joint.child)
    limit, zero = joint.limit, float(description.home_joints[joint.name])
    coulomb, viscous = symmetric(joint.friction)
    stroke = (limit.lower - zero, limit.upper - zero)
    stiffness, rest = spring(description.drive_terms.get(joint.name))
    held = (stiffness, rest - zero) if stiffness else (0.0, 0.0)
    axis = SdfAxis(joint.axis, *stroke, limit.velocity, limit.effort, coulomb, viscous, *held)
    found = SdfJoint(
        *(joint.name, kind, joint.parent, joint.child),
        axes=(axis,),
        home=zero,
        rotor_inertia=rotors.get(joint.name) or None,
    )
    actuator = {item.joint: item for item in description.actuators}.get(joint.name)
    if actuator is None:
        return found
    drive, constant = FREE if actuator.free else EFFORT, actuator.force_constant
    known = constant if np.isfinite(constant) else None
    return dataclasses.replace(found, drive=drive, force_constant=known)


def _closing_joint(constraint: Constraint, poses: Mapping[str, Pose], child: str) -> SdfJoint:
    """Return a constraint as a joint whose child is one of its two links."""
    swapped = child != constraint.child
    ends = [
        (poses[constraint.parent] @ constraint.parent_origin, constraint.parent_axis),
        (poses[constraint.child] @ constraint.child_origin, constraint.child_axis),
    ]
    if swapped:
        ends.reverse()
    (_, first), (frame, second) = ends
    upstream = frame.rotation.T @ ends[0][0].rotation @ first  # the parent's axis at home
    directions = {
        'revolute': (second,),
        'universal': (upstream, second),
        'prismatic': (second,),  # the frames of its two links are parallel
    }.get(constraint.type, ())
    coulomb, viscous = symmetric(constraint.friction)
    if constraint.type == 'universal':
        coulomb = 0.0  # it acts against the magnitude of the rate, not axis by axis
    return SdfJoint(
        constraint.name,
        SDF_TYPES[constraint.type],
        constraint.child if swapped else constraint.parent,
        child,
        constraint.parent_origin if swapped else constraint.child_origin,
        tuple(SdfAxis(d, coulomb=coulomb, viscous=viscous) for d in directions),
    )


def _close_by_welds(
    structure: SdfStructure, description: Description, poses: Mapping[str, Pose]
) -> None:
    floating = {j.child for j in description.joints if j.type == 'floating'}
    cut: list[SdfJoint] = []
    for constraint in description.constraints:
        ends = (constraint.child, constraint.parent)
        hanging = next((end for end in ends if end in floating), None)
        if hanging is not None:
            structure.joints.append(_closing_joint(constraint, poses, hanging))
            floating.remove(hanging)
        else:
            moving = ends[0] if ends[0] != description.base_link else ends[1]
            cut.append(_closing_joint(constraint, poses, moving))
    carried = [joint.child for joint in cut if joint.type != 'fixed']
    links = {link.name: link for link in structure.links}
    names = {link.name for link in structure.links}
    names |= {joint.name for joint in (*structure.joints, *cut)}
    for joint in cut:
        if joint.type == 'fixed':
            structure.welds.append(SdfWeld(joint.name, joint.parent, joint.child))
            continue
        dummy = unique(f'{joint.name}_dummy', names)
        whole = links[joint.child].inertial
        assert whole is not None
        share = scaled(whole, 1.0 / (1 + carried.count(joint.child))).seen_from(joint.frame)
        pose = poses[joint.child] @ joint.frame
        structure.links.append(SdfLink(dummy, pose, share))
        structure.joints.append(dataclasses.replace(joint, child=dummy, frame=Pose()))
        structure.welds.append(SdfWeld(joint.name, dummy, joint.child))
    for index, link in enumerate(structure.links):
        if link.inertial is not None:
            rest = scaled(link.inertial, 1.0 / (1 + carried.count(link.name)))
            structure.links[index] = dataclasses.replace(link, inertial=rest)
