"""What Dart makes of viscous friction: its damping also takes a share of the forces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pkm_description.exporters.sdf_parts import SdfStructure
from pkm_description.readers.sdf_content import SdfAxis, SdfJoint, SdfLink

SHARE = 1e-3  # of the forces on a joint; what is less no identification sees


def damping_loss(structure: SdfStructure, timestep: float) -> str | None:
    """Say at which joint of a robot with loops Dart's damping takes most of the forces, if it does.

    In a step h [s] viscous friction d acts with the velocity that the step would end with if no
    loop were closed: (m v + h F) / (m + d h), where m is the inertia that hangs on the joint in the
    tree. Dart closes the loops with m alone, so m / (m + d h) is left of F. The joints beyond are
    taken as locked, so the share that is named is the least.
    """
    if not structure.welds:
        return None
    shares = {
        joint.name: axis.viscous * timestep / (axis.viscous * timestep + inertia)
        for joint in structure.joints
        for axis in joint.axes
        if axis.viscous and (inertia := _hanging(structure, joint, axis)) is not None
    }
    worst = max(shares, key=lambda name: shares[name], default=None)
    if worst is None or shares[worst] < SHARE:
        return None
    return (
        f"joint '{worst}': Dart's damping takes {100 * shares[worst]:.2g} % or more of the forces "
        f'on it in steps of {1e3 * timestep:g} ms, in proportion to the step; of other joints less'
    )


def _hanging(structure: SdfStructure, joint: SdfJoint, axis: SdfAxis) -> float | None:
    """Inertia [kg, kg m^2] about or along an axis of all links beyond a joint, at home."""
    if joint.type not in ('prismatic', 'revolute', 'universal'):
        return None
    links = {link.name: link for link in structure.links}
    frame = links[joint.child].pose @ joint.frame
    direction = frame.rotation @ axis.direction
    total = 0.0
    for link in _beyond(structure, joint, links):
        body = link.inertial
        if body is None:
            continue
        if joint.type == 'prismatic':
            total += body.mass
            continue
        turn = link.pose.rotation.T @ direction
        arm = np.cross(direction, link.pose.position + link.pose.rotation @ body.com)
        arm -= np.cross(direction, frame.position)
        total += float(turn @ body.inertia @ turn + body.mass * arm @ arm)
    return total


def _beyond(
    structure: SdfStructure, joint: SdfJoint, links: dict[str, SdfLink]
) -> Iterator[SdfLink]:
    yield links[joint.child]
    for each in structure.joints:
        if each.parent == joint.child:
            yield from _beyond(structure, each, links)
