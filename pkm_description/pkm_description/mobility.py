"""What the closing rows do at a closed configuration: ranks, redundancy, free motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.assembly import Assembly, ClosedConfiguration, Configuration, numerical_rank
from pkm_description.description import Pose
from pkm_description.rotation_formats import rpy_from_rotation
from pkm_description.tree_geometry import Floats

SINGULAR = 1e-7
# Away from home redundant rows must hold to this, relative to the size of the mechanism.
CONSISTENCY = 1e-8
_STEPS = (0.05, 0.01)  # [rad], relative to the size for lengths
_ROUNDED = (1e-9, 1e-3)  # [rad] how far a typed angle lies from the right angle it stands for


@dataclass(frozen=True)
class ConstraintRows:
    """Scalar rows of one constraint, and how many of them others (or it itself) already imply."""

    name: str
    type: str
    rows: int
    redundant: int


@dataclass(frozen=True)
class Inconsistency:
    """Redundant rows that hold at home and not beside it."""

    constraint: str
    gap: float
    joint: str
    step: float


def constraint_rows(
    assembly: Assembly, configuration: Configuration | None = None
) -> tuple[ConstraintRows, ...]:
    """Rows of every constraint and how many are redundant, at home by default.

    Counted in the order of the constraints: a row is redundant where those before it
    imply it.
    """
    configuration = assembly.home() if configuration is None else configuration
    _, jacobian = assembly.scaled_closure(configuration)
    owner = assembly.tree.row_constraint
    found, before = [], 0
    for index, constraint in enumerate(assembly.description.constraints):
        count = int(np.sum(owner == index))
        rank = numerical_rank(jacobian[owner <= index])
        found.append(
            ConstraintRows(constraint.name, constraint.type, count, count - (rank - before))
        )
        before = rank
    return tuple(found)


def locked_jacobian(assembly: Assembly, configuration: Configuration) -> Floats:
    """Scaled closing rows over those of locked actuators (n_r + n_a, n_v)."""
    _, jacobian = assembly.scaled_closure(configuration)
    locked = np.zeros((len(assembly.actuated_coordinates), assembly.tree.n_v))
    locked[np.arange(len(locked)), assembly.actuated_coordinates] = 1.0
    return np.vstack([jacobian, locked])


def actuation_margin(assembly: Assembly, configuration: Configuration) -> float:
    """How far the locked actuators are from letting the mechanism move, 0 (singular) to 1.

    Smallest over largest singular value of the closing rows and the locked actuators,
    lengths in units of the mechanism's size.
    """
    singular = np.linalg.svd(locked_jacobian(assembly, configuration), compute_uv=False)
    n_v = assembly.tree.n_v
    if len(singular) < n_v or singular[0] == 0.0:
        return 0.0
    return float(singular[n_v - 1] / singular[0])


def moving_joints(assembly: Assembly, configuration: Configuration) -> list[str]:
    """Joints that move although all actuators are locked ('platform' stands for its pose)."""
    _, values, axes = np.linalg.svd(locked_jacobian(assembly, configuration))
    size = np.zeros(assembly.tree.n_v)
    size[: len(values)] = values
    free = axes[size <= SINGULAR * max(float(np.max(values, initial=0.0)), 1e-300)]
    moves = np.max(np.abs(free), axis=0, initial=0.0) > 1e-6
    tree = assembly.tree
    names = [name for name in tree.joint_names if moves[tree.coordinate_of(name)]]
    if np.any(moves[tree.floating]):
        names.append(tree.body_names[tree.floating_body])
    return names


def undriven_joints(assembly: Assembly, configuration: Configuration) -> list[str]:
    """Smallest set of joints that would have to be driven or free as well, in tree order."""
    rows, names = locked_jacobian(assembly, configuration), []
    rank = numerical_rank(rows)
    for name in moving_joints(assembly, configuration):
        if name in assembly.tree.joint_names and rank < assembly.tree.n_v:
            row = np.zeros((1, assembly.tree.n_v))
            row[0, assembly.tree.coordinate_of(name)] = 1.0
            grown = numerical_rank(np.vstack([rows, row]))
            if grown > rank:
                rows, rank = np.vstack([rows, row]), grown
                names.append(name)
    return names


def dependent_actuators(assembly: Assembly, configuration: Configuration) -> list[str]:
    """Actuated joints whose motion the closures and the actuators before them determine."""
    rows = locked_jacobian(assembly, configuration)
    n_r = len(rows) - len(assembly.actuated_coordinates)
    names, rank = [], numerical_rank(rows[:n_r])
    for index, name in enumerate(assembly.actuated_joints):
        grown = numerical_rank(rows[: n_r + index + 1])
        if grown == rank:
            names.append(name)
        rank = grown
    return names


def find_inconsistency(assembly: Assembly, home: Configuration) -> Inconsistency | None:
    """Find an actuator whose motion opens redundant closures; None where all of them hold.

    Where the rows have full rank every one of them holds near home; where they have
    not, the mechanism moves only if the redundant ones keep holding.
    """
    residual, jacobian = assembly.scaled_closure(home)
    if numerical_rank(jacobian) == len(residual):
        return None
    tolerance = max(CONSISTENCY, 2.0 * float(np.max(np.abs(residual))))
    for name, coordinate in zip(
        assembly.actuated_joints, assembly.actuated_coordinates, strict=True
    ):
        scale = assembly.size if assembly.tree.lengths[coordinate] else 1.0
        # Near the end of its reach a mechanism opens in one direction; that is no fault.
        for step in (_STEPS[0], -_STEPS[0], _STEPS[1], -_STEPS[1]):
            result = _moved(assembly, home, int(coordinate), step * scale)
            rows, _ = assembly.scaled_closure(result.configuration)
            if np.max(np.abs(rows)) <= tolerance:
                break
        else:
            owner = assembly.tree.row_constraint[int(np.argmax(np.abs(result.residual)))]
            constraint = assembly.description.constraints[owner].name
            return Inconsistency(constraint, result.gap, name, _STEPS[1] * scale)
    return None


def _moved(
    assembly: Assembly, home: Configuration, coordinate: int, step: float
) -> ClosedConfiguration:
    change = np.zeros(assembly.tree.n_v)
    change[coordinate] = step
    free = np.ones(assembly.tree.n_v, dtype=bool)
    free[assembly.actuated_coordinates] = False
    return assembly.close(assembly.moved(home, change), free)


def rounded_angles(assembly: Assembly) -> list[str]:
    """Say which roll, pitch and yaw look like a right angle that was typed with few digits."""
    found = []
    description = assembly.description
    places: list[tuple[str, Pose]] = [(f"joint '{j.name}'", j.origin) for j in description.joints]
    for item in description.constraints:
        for end, pose in (('parent', item.parent_origin), ('child', item.child_origin)):
            places.append((f"{end}_origin of constraint '{item.name}'", pose))
    for label, pose in places:
        for angle in rpy_from_rotation(pose.rotation):
            exact = 0.5 * np.pi * round(angle / (0.5 * np.pi))
            if _ROUNDED[0] < abs(angle - exact) < _ROUNDED[1]:
                # Half a turn reads back with either sign: show the one with fewer digits.
                texts = [f'{angle:.7g}', f'{angle - np.sign(angle) * 2.0 * np.pi:.7g}']
                typed = min(texts, key=len) if abs(exact) > 3.0 else texts[0]
                meant = abs(exact) if float(typed) > 0.0 else -abs(exact)
                found.append(f'{label} has {typed} where {meant:.12g} may be meant')
    return found
