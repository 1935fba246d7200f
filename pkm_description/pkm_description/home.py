"""The closed home configuration: found, checked for mobility, actuation and consistency."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np

from pkm_description import mobility
from pkm_description.assembly import CLOSURE_TOLERANCE, Assembly, Configuration
from pkm_description.description import Description, Pose, frozen
from pkm_description.errors import DescriptionError, listed
from pkm_description.home_search import HOME_TOLERANCE, HomeSearch, Requirements
from pkm_description.kinematic_tree import POINT_ROW
from pkm_description.readers.chosen_mechanism import links_below
from pkm_description.rotation_formats import rotation_vector, rpy_from_rotation
from pkm_description.spins.idle_spins import without_idle_spins


def close_at_home(
    description: Description, home_given: bool, guess: dict[str, float]
) -> Description:
    """Find the closed home configuration, check it, and return the completed description.

    With `home_given` the platform is at the declared pose; otherwise any closed
    configuration inside the limits is taken. Actuated joints in `guess` stay where they
    are declared if the loops close there. Raises DescriptionError.
    """
    try:
        return _closed_at_home(description, home_given, guess)
    except (np.linalg.LinAlgError, OverflowError) as error:
        raise DescriptionError(
            f"robot '{description.name}': no home can be computed with its numbers, some of which "
            f'are far too large: {error}'
        ) from None


def _closed_at_home(
    description: Description, home_given: bool, guess: dict[str, float]
) -> Description:
    assembly = Assembly(description)
    _check_guess(guess, assembly)
    _check_constrained(assembly)
    requirements = Requirements(home_given, guess)
    search = HomeSearch(assembly, requirements)
    result = search.run()
    _check_closed(search, result.configuration)
    configuration = result.configuration
    if assembly.mobility(configuration) > len(assembly.actuated_joints):
        description, configuration = without_idle_spins(description, configuration)
        assembly = Assembly(description)
    _check_mobility(assembly, configuration)
    _check_consistency(assembly, configuration)
    joints = dict(zip(assembly.tree.joint_names, configuration.joints.tolist(), strict=True))
    pose = assembly.platform_pose(configuration)
    if home_given:
        _check_home(description, pose)
    moved = tuple(
        f"home: actuated joint '{name}' is declared at {guess[name]:.9g} but the loops close "
        f'with it at {joints[name]:.9g}'
        for name in assembly.actuated_joints
        if name in guess and abs(joints[name] - guess[name]) > HOME_TOLERANCE
    )
    return dataclasses.replace(
        description,
        home=Pose(frozen(pose.position), frozen(pose.rotation)),
        home_joints=joints,
        warnings=(*description.warnings, *moved),
    )


def _check_guess(guess: dict[str, float], assembly: Assembly) -> None:
    for name, value in guess.items():
        if name not in assembly.tree.joint_names:
            raise DescriptionError(
                f"home names the joint '{name}', which does not exist or is not scalar; "
                f'joints are {", ".join(assembly.tree.joint_names)}'
            )
        limit = assembly.description.joint(name).limit
        if not limit.lower <= value <= limit.upper:
            raise DescriptionError(
                f"home puts the joint '{name}' at {value:g}, outside its limits {limit.lower:g} "
                f'to {limit.upper:g}'
            )


def _check_constrained(assembly: Assembly) -> None:
    """Refuse constraints between links that cannot move against each other."""
    tree = assembly.tree
    moves = np.vstack([tree.ancestors, np.zeros(tree.n_v, dtype=bool)])
    for index, constraint in enumerate(assembly.description.constraints):
        row = int(np.flatnonzero(tree.row_constraint == index)[0])
        if not np.any(moves[tree.row_parent[row]] != moves[tree.row_child[row]]):
            raise DescriptionError(
                f"constraint '{constraint.name}' joins '{constraint.parent}' and "
                f"'{constraint.child}', which no joint lets move against each other"
            )


def _check_closed(search: HomeSearch, configuration: Configuration) -> None:
    assembly, description = search.assembly, search.assembly.description
    given = search.requirements.home_given
    where = 'at the declared home pose' if given else 'in any configuration that was tried'
    residual, _ = assembly.closure(configuration)
    gap = float(np.max(np.abs(residual), initial=0.0))
    if gap >= CLOSURE_TOLERANCE:
        row = int(np.argmax(np.abs(residual)))
        unit = 'm' if assembly.tree.row_kind[row] == POINT_ROW else 'rad'
        size = f'{gap:.3g}' if given else f'about {gap:.1g}'  # the least that was met by chance
        raise DescriptionError(
            f'{_owner(assembly, row)} stays open by {size} {unit} {where}; it must close below '
            f'{CLOSURE_TOLERANCE:g} {unit}' + _rounding_hint(assembly, gap)
        )
    flipped = search.flipped_constraint(configuration)
    if flipped:
        raise DescriptionError(
            f"constraint '{flipped}' closes only with its two frames turned against each other: "
            'turn one of its axes or origins round'
        )
    outside = search.outside_joint(configuration)
    if outside:
        raise DescriptionError(
            f"robot '{description.name}' closes {where} only with {outside}"
            + _open_inside_limits(assembly, configuration)
        )


def _rounding_hint(assembly: Assembly, gap: float) -> str:
    if gap > 2e-3:
        return ''
    rounded = mobility.rounded_angles(assembly)
    if not rounded:
        return ' (a loop that is rigid in some direction needs its angles to eight digits)'
    more = f' and {len(rounded) - 1} more such angles' if len(rounded) > 1 else ''
    return f'. Angles with too few digits? {rounded[0]}{more}'


def _open_inside_limits(assembly: Assembly, configuration: Configuration) -> str:
    """Say which constraint gapes when the joints are kept inside their limits."""
    clipped = np.clip(configuration.joints, *assembly.limits)
    residual, _ = assembly.closure(Configuration(clipped, configuration.platform))
    if not len(residual):
        return ''
    row = int(np.argmax(np.abs(residual)))
    gap = f'{abs(residual[row]):.3g} m'
    return f'; inside the limits {_owner(assembly, row)} stays open by {gap}'


def _owner(assembly: Assembly, row: int) -> str:
    item = assembly.description.constraints[assembly.tree.row_constraint[row]]
    return f"constraint '{item.name}' ({item.parent} to {item.child})"


def _check_mobility(assembly: Assembly, configuration: Configuration) -> None:
    """One actuator or free joint a degree of freedom, and independent ones."""
    description = assembly.description
    freedom, n_a = assembly.mobility(configuration), len(assembly.actuated_joints)
    if freedom == n_a and mobility.actuation_margin(assembly, configuration) >= mobility.SINGULAR:
        return
    free = description.free_joints
    redundant = description.redundant_actuation
    driven = assembly.actuated_joints if redundant else description.driven_joints
    have = _counted(driven, 'actuated joint')
    have += f' beside {_counted(redundant.drives, "redundant drive")}' if redundant else ''
    have += f' and {_counted(free, "free joint")}' if free else ''
    message = f"robot '{description.name}' has mobility {freedom} at home but {have}"
    if freedom == n_a:
        message = f"robot '{description.name}' is singular at home: {have} for mobility {freedom}"
    moving = mobility.moving_joints(assembly, configuration)
    dependent = mobility.dependent_actuators(assembly, configuration)
    if moving:
        message += f'; with all of them locked still move {listed(moving)}'
        undriven = mobility.undriven_joints(assembly, configuration)
        if freedom > n_a and undriven:
            message += (
                f': either a constraint is missing, or actuators, or the YAML should say '
                f'`free_joints: [{", ".join(undriven)}]`'
            )
            below = _link_below(description, undriven)
            message += f' or, where it stands still meanwhile, `base: {below}`' if below else ''
    if dependent:
        message += (
            f'; not independent of the others: {listed(dependent)} (every degree of freedom takes '
            'one actuator)'
        )
        if 0 < freedom == n_a - len(dependent) and not (free or moving or redundant):
            message += (
                '; where they are redundant drives, the YAML should say '
                f'`redundant_actuation: {{drives: [{", ".join(dependent)}]}}`'
            )
    if freedom < n_a:
        message += _overconstrained_hint(assembly, configuration)
    raise DescriptionError(message)


def _link_below(description: Description, joints: list[str]) -> str:
    """Link below the last of some joints that carries all drives; empty where none does."""
    by_name = {joint.name: joint for joint in description.joints}
    for name in reversed(joints):
        link = by_name[name].child
        carried = {link} | links_below(description.joints, link)
        if all(by_name[drive].parent in carried for drive in description.driven_joints):
            return link
    return ''


def _overconstrained_hint(assembly: Assembly, configuration: Configuration) -> str:
    """Say which constraints nearly repeat each other where angles or axes are inexact."""
    _, jacobian = assembly.scaled_closure(configuration)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    small = singular[(singular > 1e-7 * singular[0]) & (singular < 1e-3 * singular[0])]
    if not len(small):
        return ''
    return (
        f'. {len(small)} closing rows are almost redundant (relative singular value '
        f'{small[-1] / singular[0]:.1e}): parallel axes of an over-constrained loop must be '
        'parallel to eight digits'
    ) + ''.join(f'; {angle}' for angle in mobility.rounded_angles(assembly)[:1])


def _check_consistency(assembly: Assembly, configuration: Configuration) -> None:
    broken = mobility.find_inconsistency(assembly, configuration)
    if broken is None:
        return
    redundant = [
        f"'{item.name}' ({item.redundant} of {item.rows})"
        for item in mobility.constraint_rows(assembly, configuration)
        if item.redundant
    ]
    unit = 'm' if assembly.description.joint(broken.joint).type == 'prismatic' else 'rad'
    raise DescriptionError(
        f"constraint '{broken.constraint}' closes at home but not beside it: with "
        f"'{broken.joint}' moved by {broken.step:.2g} {unit} it opens by {broken.gap:.2g}. Closing "
        f'rows are redundant in {listed(redundant)}, and those must hold everywhere: check that '
        'the axes of a planar loop are parallel (those of a spherical one concurrent), and that '
        'home is not singular'
    )


def _check_home(description: Description, pose: Pose) -> None:
    declared = description.home
    distance = float(np.linalg.norm(pose.position - declared.position))
    angle = float(np.linalg.norm(rotation_vector(pose.rotation @ declared.rotation.T)))
    if max(distance, angle) > HOME_TOLERANCE:
        nearest = np.round(pose.position, 9).tolist()
        rpy = np.round(rpy_from_rotation(pose.rotation), 9).tolist()
        raise DescriptionError(
            f"robot '{description.name}' cannot be at the declared home: the nearest closed pose "
            f'found is position {nearest}, rpy {rpy} ({distance:.2g} m and {angle:.2g} rad away; '
            f'at most {HOME_TOLERANCE:g} is accepted)'
        )


def _counted(names: Collection[str], what: str) -> str:
    return f'{len(names)} {what}{"" if len(names) == 1 else "s"} ({", ".join(names)})'
