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
from pkm_description.description import (
    Constraint,
    Description,
    Inertial,
    Joint,
    Pose,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.kinematic_tree import DIRECTION_ROW, Floats
from pkm_description.rotations import rotation_vector, rpy_from_rotation

HOME_TOLERANCE = 1e-4  # [m, rad]: rounding of a declared home
_RESTARTS = 200
_FEW_RESTARTS = 20
ROUNDING_HINT = ' (a loop that is rigid in some direction needs its angles to eight digits)'


def check_names(description: Description) -> None:
    """Links, joints, constraints: unique names, existing links, one parent each."""
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
    """Limits in order and positive; joints with a drive scalar and limited in effort."""
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
                    f"joint '{joint.name}': {name} limit {value:g} must be positive"
                )
    if not drives:
        raise DescriptionError(
            f"robot '{description.name}' has no actuated joint: its <ros2_control> block must "
            'give at least one joint an effort command interface'
        )
    for actuator in drives:
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
        raise DescriptionError(_mobility_message(description, mobility))
    _check_actuation(assembly, configuration)
    joints = dict(
        zip(assembly.tree.joint_names, configuration.joints.tolist(), strict=True)
    )
    pose = assembly.platform_pose(configuration)
    if home_given:
        _check_home(description, pose)
    return dataclasses.replace(
        description,
        home=Pose(frozen(pose.position), frozen(pose.rotation)),
        home_joints=joints,
    )


def _mobility_message(description: Description, mobility: int) -> str:
    free, driven = description.free_joints, description.driven_joints
    have = f'{len(driven)} actuated joints ({", ".join(driven)})'
    if free:
        have += f' and {len(free)} free joints ({", ".join(free)})'
    return (
        f"robot '{description.name}' has mobility {mobility} at home but {have}: every degree of "
        'freedom needs one actuator (or to be listed in `free_joints`), and home must not be '
        'singular'
    )


def _check_guess(guess: dict, assembly: Assembly) -> None:
    for name in guess:
        if name not in assembly.tree.joint_names:
            raise DescriptionError(
                f"home names the joint '{name}', which does not exist or is not scalar; "
                f"joints are {', '.join(assembly.tree.joint_names)}"
            )


def _check_home(description: Description, pose: Pose) -> None:
    declared = description.home
    distance = float(np.linalg.norm(pose.position - declared.position))
    angle = float(np.linalg.norm(rotation_vector(pose.rotation @ declared.rotation.T)))
    if max(distance, angle) > HOME_TOLERANCE:
        nearest = np.round(pose.position, 6).tolist()
        rpy = np.round(rpy_from_rotation(pose.rotation), 6).tolist()
        raise DescriptionError(
            f"robot '{description.name}' cannot be at the declared home: the nearest closed pose "
            f'found is position {nearest}, rpy {rpy} ({distance:.2g} m and {angle:.2g} rad away)'
        )


def _search_bounds(assembly: Assembly) -> tuple[Floats, Floats]:
    """Finite ranges (n_j,) to draw joints from: the limits, half a turn or 1 m where open."""
    lower, upper = [], []
    for name in assembly.tree.joint_names:
        joint = assembly.description.joint(name)
        reach = 1.0 if joint.type == 'prismatic' else np.pi
        low, high = joint.limit.lower, joint.limit.upper
        if not np.isfinite(low):
            low = high - 2 * reach if np.isfinite(high) else -reach
        if not np.isfinite(high):
            high = low + 2 * reach
        lower.append(low)
        upper.append(high)
    return np.array(lower), np.array(upper)


def _search(assembly: Assembly, home_given: bool, guess: dict) -> ClosedConfiguration:
    """Best configuration found from the middle of the limits and from random starts."""
    description, tree = assembly.description, assembly.tree
    lower, upper = _search_bounds(assembly)
    first = 0.5 * (lower + upper)
    for index, name in enumerate(tree.joint_names):
        first[index] = float(guess.get(name, first[index]))
    rng = np.random.default_rng(0)
    best: ClosedConfiguration | None = None
    free_start = len(tree.row_kind) or home_given
    for attempt in range(_RESTARTS if free_start else 1):
        joints = first if attempt == 0 else rng.uniform(lower, upper)
        start = Configuration(joints.copy(), description.home)
        result = _close_once(assembly, start, home_given)
        if best is None or _shortfall(assembly, result, home_given) < _shortfall(
            assembly, best, home_given
        ):
            best = result
        if not any(_shortfall(assembly, best, home_given)):
            break
        if attempt == _FEW_RESTARTS and (best.closed or not home_given):
            break
    assert best is not None
    return best


def _close_once(
    assembly: Assembly, start: Configuration, home_given: bool
) -> ClosedConfiguration:
    """Close from one start: the platform at home where it is declared and can be there."""
    tree, home = assembly.tree, assembly.description.home
    if not home_given:
        return assembly.close(start)
    if tree.floating_body >= 0:
        first = tree.coordinate[tree.floating_body]
        free = np.ones(tree.n_v, dtype=bool)
        free[first : first + 6] = False
        result = assembly.close(start, free)
        # With all six degrees of freedom the platform is exactly where it was declared.
        if result.closed or len(assembly.actuated_coordinates) >= 6:
            return result
        start = result.configuration
    return assembly.close(assembly.close(start, target=home).configuration)


def _shortfall(
    assembly: Assembly, result: ClosedConfiguration, home_given: bool
) -> tuple[bool, bool, bool, float]:
    """How a configuration falls short, worst first; all false where it is good."""
    configuration = result.configuration
    beyond = 0.0
    for name, value in zip(assembly.tree.joint_names, configuration.joints, strict=True):
        limit = assembly.description.joint(name).limit
        beyond += max(0.0, limit.lower - 1e-9 - value, value - limit.upper - 1e-9)
    away = False
    if home_given:
        error, _ = assembly.pose_rows(configuration, assembly.description.home)
        away = bool(np.max(np.abs(error)) > HOME_TOLERANCE)
    flipped = _flipped_constraint(assembly, configuration) is not None
    return not result.closed, flipped, away, beyond


def _outside_joint(assembly: Assembly, configuration: Configuration) -> str | None:
    for name, value in zip(assembly.tree.joint_names, configuration.joints, strict=True):
        limit = assembly.description.joint(name).limit
        if not limit.lower - 1e-9 <= value <= limit.upper + 1e-9:
            return f"joint '{name}' at {value:.6g} (limits {limit.lower:g} to {limit.upper:g})"
    return None


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
            + _open_inside_limits(assembly, result.configuration)
        )


def _open_inside_limits(assembly: Assembly, configuration: Configuration) -> str:
    """Say which constraint gapes when the joints are kept inside their limits."""
    limits = [assembly.description.joint(name).limit for name in assembly.tree.joint_names]
    clipped = np.clip(
        configuration.joints,
        [limit.lower for limit in limits],
        [limit.upper for limit in limits],
    )
    residual, _ = assembly.closure(Configuration(clipped, configuration.platform))
    if not len(residual):
        return ''
    row = int(np.argmax(np.abs(residual)))
    constraint = assembly.description.constraints[assembly.tree.row_constraint[row]]
    return (
        f"; inside the limits constraint '{constraint.name}' ({constraint.parent} to "
        f'{constraint.child}) stays open by {abs(residual[row]):.3g} m'
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
