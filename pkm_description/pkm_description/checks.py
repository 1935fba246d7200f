"""The loader's checks of single elements: tree, constraints, inertias, limits."""

from __future__ import annotations

import numpy as np

from pkm_description.description import Constraint, Description, Inertial, Joint
from pkm_description.errors import DescriptionError
from pkm_description.xml_elements import suggestion


def check_names(description: Description, hint: str = '') -> None:
    """Links, joints, constraints: unique names, existing links, one parent each.

    `hint` says which platform may be meant, where there is none.
    """
    links = {link.name for link in description.links}
    joints = [joint.name for joint in description.joints]
    closures = [constraint.name for constraint in description.constraints]
    for kind, names in (
        ('link', [link.name for link in description.links]),
        ('joint or constraint', joints + closures),
    ):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise DescriptionError(f"{kind} '{twice[0]}' is declared twice")
    for kind, items in (
        ('joint', list[Joint | Constraint](description.joints)),
        ('constraint', list[Joint | Constraint](description.constraints)),
    ):
        for item in items:
            for role in ('parent', 'child'):
                name = getattr(item, role)
                if name not in links:
                    raise DescriptionError(
                        f"{kind} '{item.name}' names the {role} link '{name}', which does not "
                        f'exist{suggestion(name, links)}; links are {", ".join(sorted(links))}'
                    )
            if item.parent == item.child:
                raise DescriptionError(f"{kind} '{item.name}' joins link '{item.parent}' to itself")
    parents: dict[str, str] = {}
    for joint in description.joints:
        if joint.child in parents:
            raise DescriptionError(
                f"link '{joint.child}' is the child of both joint '{parents[joint.child]}' and "
                f"joint '{joint.name}'; close the loop with a <constraint> instead"
            )
        parents[joint.child] = joint.name
    if description.platform not in links:
        raise DescriptionError(
            f"no link is named '{description.platform}'; the moving platform must be"
            f'{suggestion(description.platform, links)}{hint}'
        )


def check_base(description: Description, roots: list[str], where: str) -> None:
    """Exactly one link without a parent joint, which is not the platform."""
    if len(roots) != 1:
        found = ', '.join(roots) or 'none'
        raise DescriptionError(
            f"'{where}' must have exactly one link without a parent joint (the base); it has "
            f'{found}: every other link needs a joint that it is the child of'
        )
    if description.base_link == description.platform:
        raise DescriptionError(
            f"the link '{description.platform}' has no parent joint; hang it on the base by a "
            'floating joint, or at the end of a leg'
        )


def check_floating(description: Description) -> None:
    """Only the platform may float, and only on the base."""
    for joint in description.joints:
        if joint.type != 'floating':
            continue
        if joint.parent != description.base_link or joint.child != description.platform:
            raise DescriptionError(
                f"floating joint '{joint.name}' must hang the link '{description.platform}' on "
                f"'{description.base_link}'; it hangs '{joint.child}' on '{joint.parent}'"
            )
        if np.any(joint.origin.position != 0) or np.any(joint.origin.rotation != np.eye(3)):
            raise DescriptionError(
                f"floating joint '{joint.name}' has an <origin>; say where the platform is with "
                '`home` in the YAML instead'
            )


def check_inertias(description: Description) -> None:
    """Positive masses, positive definite inertias, triangle inequality."""
    for link in description.links:
        if link.inertial is not None:
            problem = inertial_problem(link.inertial)
            if problem:
                raise DescriptionError(f"link '{link.name}': {problem}")


def inertial_problem(inertial: Inertial) -> str | None:
    """Say why an inertial cannot belong to a rigid body, or return None."""
    numbers = np.concatenate([[inertial.mass], inertial.com, inertial.inertia.ravel()])
    if not np.all(np.isfinite(numbers)):
        return 'mass, centre of mass and inertia must be finite'
    if inertial.mass < 0 or (inertial.mass == 0 and np.any(inertial.inertia != 0)):
        return f'mass {inertial.mass:g} kg must be positive'
    if not np.allclose(inertial.inertia, inertial.inertia.T):
        return 'inertia must be symmetric'
    moments = np.linalg.eigvalsh(inertial.inertia)
    tolerance = 1e-9 * max(float(np.max(np.abs(moments))), 1e-12)
    if moments[0] < -tolerance:
        return f'inertia has the negative principal moment {moments[0]:g} kg m^2'
    if moments[0] + moments[1] < moments[2] - tolerance:
        return (
            f'principal moments {np.round(moments, 9).tolist()} kg m^2 violate the triangle '
            f'inequality by {moments[2] - moments[0] - moments[1]:.3g} kg m^2'
        )
    return None


def check_constraints(description: Description) -> None:
    """Axes of prismatic constraints; constraints that say the same twice."""
    seen: dict[tuple[object, ...], str] = {}
    for item in description.constraints:
        if item.type == 'prismatic' and not np.allclose(
            item.child_axis, item.parent_axis, atol=1e-9
        ):
            raise DescriptionError(
                f"prismatic constraint '{item.name}' has the child_axis "
                f'{np.round(item.child_axis, 6).tolist()} and the parent_axis '
                f'{np.round(item.parent_axis, 6).tolist()}: its frames stay parallel, so both must '
                'be the same (or leave child_axis out, and turn the child by child_origin rpy)'
            )
        key = (
            item.type,
            item.parent,
            item.child,
            *item.parent_origin.position.tolist(),
            *item.child_origin.position.tolist(),
        )
        if key in seen:
            raise DescriptionError(
                f"constraints '{seen[key]}' and '{item.name}' close the same points of "
                f"'{item.parent}' and '{item.child}' in the same way: one of them is enough"
            )
        seen[key] = item.name


def check_limits(description: Description, hint: str = '') -> None:
    """Limits in order and positive; joints with a drive scalar and limited in effort.

    `hint` says which joints may be meant, where no drive is named.
    """
    drives = [actuator for actuator in description.actuators if not actuator.free]
    driven = {actuator.joint for actuator in drives}
    for joint in description.joints:
        limit = joint.limit
        if not limit.lower <= limit.upper:
            raise DescriptionError(
                f"joint '{joint.name}': lower limit {limit.lower:g} is above upper limit "
                f'{limit.upper:g}'
            )
        for name in ('velocity', 'effort'):
            value = getattr(limit, name)
            if value < 0 or (joint.name in driven and not value > 0):
                raise DescriptionError(
                    f"joint '{joint.name}': {name} limit {value:g} must be positive; the YAML "
                    f'may give another: `actuated_joints: {{{joint.name}: {{{name}: ...}}}}`'
                )
    if not drives:
        raise DescriptionError(
            f"robot '{description.name}' has no actuated joint: its <ros2_control> block must "
            f'give at least one joint an effort command interface, or the YAML name '
            f'actuated_joints{hint}'
        )
    for actuator in drives:
        joint = description.joint(actuator.joint)
        if not joint.is_scalar:
            raise DescriptionError(
                f"actuated joint '{joint.name}' is {joint.type}; it must be revolute, continuous "
                'or prismatic'
            )
        if joint.limit.lower == joint.limit.upper:
            raise DescriptionError(
                f"actuated joint '{joint.name}' has no stroke: both limits are "
                f'{joint.limit.lower:g}'
            )
        if not np.isfinite(joint.limit.effort):
            raise DescriptionError(
                f"actuated joint '{joint.name}' has no effort limit; commands are clamped to it: "
                f'add <limit effort="..."/>, or to the YAML `actuated_joints: {{{joint.name}: '
                '{effort: ...}}`'
            )
        if not (np.isnan(actuator.force_constant) or actuator.force_constant > 0):
            raise DescriptionError(
                f"actuated joint '{joint.name}': force_constant {actuator.force_constant:g} "
                'must be positive'
            )
        if actuator.rotor_inertia is not None and not actuator.rotor_inertia >= 0:
            raise DescriptionError(
                f"joint '{joint.name}': rotor_inertia {actuator.rotor_inertia:g} is negative"
            )
