"""The loader's checks: tree, constraints, inertias, limits, closure, mobility."""

from __future__ import annotations

import dataclasses

import numpy as np

from pkm_description.assembly import (
    CLOSURE_TOLERANCE,
    Assembly,
    ClosedConfiguration,
    Configuration,
)
from pkm_description.description import Description, Inertial, Pose, frozen
from pkm_description.errors import DescriptionError
from pkm_description.kinematic_tree import DIRECTION_ROW

_RESTARTS = 200
ROUNDING_HINT = ' (a loop that is rigid in some direction needs its angles to eight digits)'


def check_names(description: Description) -> None:
    """Links, joints, constraints: unique names, existing links, one parent each."""
    links = {link.name for link in description.links}
    for kind, names in (
        ('link', [link.name for link in description.links]),
        (
            'joint or constraint',
            [item.name for item in (*description.joints, *description.constraints)],
        ),
    ):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise DescriptionError(f"{kind} '{twice[0]}' is declared twice")
    for kind, items in (('joint', description.joints), ('constraint', description.constraints)):
        for item in items:
            for role in ('parent', 'child'):
                name = getattr(item, role)
                if name not in links:
                    raise DescriptionError(
                        f"{kind} '{item.name}' names the {role} link '{name}', "
                        f"which does not exist; links are {', '.join(sorted(links))}"
                    )
            if item.parent == item.child:
                raise DescriptionError(
                    f"{kind} '{item.name}' joins link '{item.parent}' to itself"
                )
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
        )


def check_floating(description: Description) -> None:
    """Only the platform may float, and only on the base."""
    for joint in description.joints:
        origin = joint.origin
        if joint.type == 'floating' and (
            np.any(origin.position != 0) or np.any(origin.rotation != np.eye(3))
        ):
            raise DescriptionError(
                f"floating joint '{joint.name}' has an <origin>; say where the platform is with "
                '`home` in the YAML instead'
            )
        if joint.type == 'floating' and (
            joint.parent != description.base_link or joint.child != description.platform
        ):
            raise DescriptionError(
                f"floating joint '{joint.name}' must hang the link '{description.platform}' on "
                f"'{description.base_link}'"
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


def check_limits(description: Description) -> None:
    """Limits in order and positive; actuated joints scalar and limited in effort."""
    for joint in description.joints:
        limit = joint.limit
        if not limit.lower <= limit.upper:
            raise DescriptionError(
                f"joint '{joint.name}': lower limit {limit.lower:g} is above upper limit "
                f'{limit.upper:g}'
            )
        for name in ('velocity', 'effort'):
            if not getattr(limit, name) > 0:
                raise DescriptionError(
                    f"joint '{joint.name}': {name} limit {getattr(limit, name):g} must be positive"
                )
    if not description.actuators:
        raise DescriptionError(
            f"robot '{description.name}' has no actuated joint: its <ros2_control> block must "
            'give at least one joint an effort command interface'
        )
    for actuator in description.actuators:
        joint = description.joint(actuator.joint)
        if not joint.is_scalar:
            raise DescriptionError(
                f"actuated joint '{joint.name}' is {joint.type}; it must be revolute, continuous "
                'or prismatic'
            )
        if not np.isfinite(joint.limit.effort):
            raise DescriptionError(
                f"actuated joint '{joint.name}' has no effort limit; commands are clamped to it: "
                'add <limit effort="..."/>'
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


def close_at_home(description: Description, home_given: bool, guess: dict) -> Description:
    """Find the closed home configuration, check it, and return the completed description.

    With `home_given` the platform stays at the declared pose where it has six degrees
    of freedom; otherwise any closed configuration inside the limits is taken.
    """
    assembly = Assembly(description)
    _check_guess(guess, assembly)
    result = _search(assembly, home_given, guess)
    _check_closed(assembly, result, home_given)
    configuration = result.configuration
    mobility = assembly.mobility(configuration)
    n_a = len(description.actuators)
    if mobility != n_a:
        raise DescriptionError(
            f"robot '{description.name}' has mobility {mobility} at home but {n_a} actuated "
            f"joints ({', '.join(description.actuated_joints)}): every degree of freedom "
            'needs one actuator, and home must not be singular'
        )
    _check_actuation(assembly, configuration)
    joints = dict(
        zip(assembly.tree.joint_names, configuration.joints.tolist(), strict=True)
    )
    pose = assembly.platform_pose(configuration)
    if home_given and np.linalg.norm(pose.position - description.home.position) > 0.01:
        raise DescriptionError(
            f"robot '{description.name}': the declared home position "
            f'{description.home.position.tolist()} is not where the closed joints put the '
            f'platform, which is {np.round(pose.position, 6).tolist()}; a platform that does not '
            'float, or with fewer than six degrees of freedom, starts from home joints'
        )
    return dataclasses.replace(
        description,
        home=Pose(frozen(pose.position), frozen(pose.rotation)),
        home_joints=joints,
    )


def _check_guess(guess: dict, assembly: Assembly) -> None:
    for name in guess:
        if name not in assembly.tree.joint_names:
            raise DescriptionError(
                f"home names the joint '{name}', which does not exist or is not scalar; "
                f"joints are {', '.join(assembly.tree.joint_names)}"
            )


def _search(assembly: Assembly, home_given: bool, guess: dict) -> ClosedConfiguration:
    description, tree = assembly.description, assembly.tree
    limits = [description.joint(name).limit for name in tree.joint_names]
    lower = np.array([max(limit.lower, -np.pi) for limit in limits])
    upper = np.array([min(limit.upper, np.pi) for limit in limits])
    middle = 0.5 * (lower + upper)
    for index, name in enumerate(tree.joint_names):
        middle[index] = float(guess.get(name, middle[index]))
    free = np.ones(tree.n_v, dtype=bool)
    if home_given and tree.floating_body >= 0:
        first = tree.coordinate[tree.floating_body]
        free[first : first + 6] = False
    rng = np.random.default_rng(0)
    best: ClosedConfiguration | None = None
    for attempt in range(_RESTARTS if len(tree.row_kind) else 1):
        joints = middle if attempt == 0 else rng.uniform(lower, upper)
        start = Configuration(joints.copy(), description.home)
        result = assembly.close(start, free)
        if not result.closed and not np.all(free):
            relaxed = assembly.close(result.configuration)
            moved = relaxed.configuration.platform.position - description.home.position
            if relaxed.closed and np.linalg.norm(moved) < 0.01:
                result = relaxed
        inside = _inside(assembly, result.configuration) and _upright(assembly, result)
        if result.closed and inside:
            return result
        if best is None or _rank(result, inside) < _rank(best, False):
            best = result
        if attempt == 20 and best is not None and best.closed:
            break
    assert best is not None
    return best


def _rank(result: ClosedConfiguration, inside: bool) -> tuple[bool, bool, float]:
    return (not inside, not result.closed, result.gap)


def _inside(assembly: Assembly, configuration: Configuration) -> bool:
    return _outside_joint(assembly, configuration) is None


def _outside_joint(assembly: Assembly, configuration: Configuration) -> str | None:
    for name, value in zip(assembly.tree.joint_names, configuration.joints, strict=True):
        limit = assembly.description.joint(name).limit
        if not limit.lower - 1e-9 <= value <= limit.upper + 1e-9:
            return f"joint '{name}' at {value:.6g} (limits {limit.lower:g} to {limit.upper:g})"
    return None


def _upright(assembly: Assembly, result: ClosedConfiguration) -> bool:
    """Refuse the mirrored solution of direction rows: a frame turned by 180 degrees."""
    return _flipped_constraint(assembly, result.configuration) is None


def _flipped_constraint(assembly: Assembly, configuration: Configuration) -> str | None:
    tree, description = assembly.tree, assembly.description
    if not np.any(tree.row_kind == DIRECTION_ROW):
        return None
    _, rotation = assembly.body_poses(configuration)
    for index, constraint in enumerate(description.constraints):
        if constraint.type in ('spherical', 'universal'):
            continue
        row = int(np.flatnonzero(tree.row_constraint == index)[0])
        parent, child = tree.row_parent[row], tree.row_child[row]
        r_p = (np.eye(3) if parent < 0 else rotation[parent]) @ constraint.parent_origin.rotation
        r_c = (np.eye(3) if child < 0 else rotation[child]) @ constraint.child_origin.rotation
        if constraint.type == 'revolute':
            flipped = (r_p @ constraint.parent_axis) @ (r_c @ constraint.child_axis) < 0
        else:
            flipped = np.trace(r_p.T @ r_c) < 2.0
        if flipped:
            return constraint.name
    return None


def _check_closed(assembly: Assembly, result: ClosedConfiguration, home_given: bool) -> None:
    description = assembly.description
    where = 'at the declared home pose' if home_given else 'in any configuration that was tried'
    if not result.closed:
        row = int(np.argmax(np.abs(result.residual)))
        constraint = description.constraints[assembly.tree.row_constraint[row]]
        raise DescriptionError(
            f"constraint '{constraint.name}' ({constraint.parent} to {constraint.child}) stays "
            f'open by {result.gap:.3g} m {where}; it must close below {CLOSURE_TOLERANCE:g} m'
            + (ROUNDING_HINT if result.gap < 1e-4 else '')
        )
    flipped = _flipped_constraint(assembly, result.configuration)
    if flipped:
        raise DescriptionError(
            f"constraint '{flipped}' closes only with its two frames turned against each other"
        )
    outside = _outside_joint(assembly, result.configuration)
    if outside:
        raise DescriptionError(
            f"robot '{description.name}' closes {where} only with {outside}"
        )


def _check_actuation(assembly: Assembly, configuration: Configuration) -> None:
    """Actuators must hold the mechanism still: the constraints plus locked actuators."""
    _, jacobian = assembly.closure(configuration)
    locked = np.zeros((len(assembly.actuated_coordinates), assembly.tree.n_v))
    locked[np.arange(len(locked)), assembly.actuated_coordinates] = 1.0
    singular = np.linalg.svd(np.vstack([jacobian, locked]), compute_uv=False)
    if singular[min(len(singular), assembly.tree.n_v) - 1] < 1e-7 * singular[0]:
        raise DescriptionError(
            f"robot '{assembly.description.name}' is singular at home: with all actuators "
            'locked it still moves'
        )
