"""The mechanism as the compiled kernels see it: one named tuple of arrays.

The velocity coordinates split into *independent* ones (the platform's six, or the
actuators where there are fewer degrees of freedom) and *dependent* ones. The dependent
coordinates fall into components that share no closing row (the legs of a hexapod), so
their linear systems stay small. In each component as many independent rows as
coordinates are chosen at home; rows left over (loops that are planar in space) are
redundant and only checked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pkm_description import Description, DescriptionError
from pkm_description.assembly import Assembly
from pkm_description.kinematic_tree import POINT_ROW, KinematicTree
from pkm_dynamics.array_types import Booleans, Floats, Integers
from pkm_dynamics.layout import Layout
from pkm_dynamics.parameters.parameter_table import ParameterTable, parameter_table

LEAST_PIVOT_ROW = 1e-7  # of the longest: a row this short is a sum of the others but for rounding
TREE_FIELDS = ('joint_kind', 'coordinate', 'scalar_index', 'floating_body')  # of a Layout


class Mechanism(NamedTuple):
    """Arrays over rows (n_r), coordinates (n_v) and friction terms (n_f), beside the tree's."""

    tree: KinematicTree
    row_sign: Integers
    row_is_triple: Booleans
    row_base_axis: Integers
    independent: Integers
    actuated: Integers
    actuated_scalar: Integers
    independent_is_platform: bool
    component_start: Integers
    component_coordinates: Integers
    component_rows: Integers
    component_determinant: Floats
    actuation_determinant: float
    length_scale: float
    gravity: Floats
    inertial_body: Integers
    shafts: Floats  # (n_s, n_v) rates of rotors and motors by those of the coordinates
    rotor_shaft: Integers
    rotor_parameter: Integers
    friction_target: Integers
    friction_where: Integers
    friction_kind: Integers
    friction_parameter: Integers
    transition_velocity: float
    n_parameters: int  # of bodies, friction and rotors


def build_mechanism(assembly: Assembly) -> tuple[Mechanism, ParameterTable]:
    """Lay a checked description out for the kernels."""
    description, tree = assembly.description, assembly.tree
    home = assembly.home()
    _, jacobian = assembly.closure(home)
    actuated = assembly.actuated_coordinates
    independent = _independent_coordinates(assembly, jacobian)
    dependent = np.setdiff1d(np.arange(tree.n_v), independent)
    sign = assembly.layout.row_sign.astype(np.int64)
    starts, coordinates, rows, determinants = _components(
        jacobian, sign, dependent, tree.row_constraint, description
    )
    mapping = np.zeros((tree.n_v, len(independent)))
    mapping[independent] = np.eye(len(independent))
    if len(dependent):
        mapping[coordinates] = -np.linalg.solve(
            jacobian[np.ix_(rows, coordinates)], jacobian[np.ix_(rows, independent)]
        )
    triple, base_axis = _base_axes(tree, rows)
    table, terms = parameter_table(assembly)
    friction = np.array(terms.friction, dtype=np.int64).reshape(-1, 4).T.copy()
    scalar = [tree.joint_names.index(name) for name in description.actuated_joints]
    mechanism = Mechanism(
        tree=tree,
        row_sign=sign,
        row_is_triple=triple,
        row_base_axis=base_axis,
        independent=independent,
        actuated=actuated,
        actuated_scalar=np.array(scalar, dtype=np.int64),
        independent_is_platform=not np.array_equal(independent, actuated),
        component_start=starts,
        component_coordinates=coordinates,
        component_rows=rows,
        component_determinant=determinants,
        actuation_determinant=float(np.linalg.det(mapping[actuated])),
        length_scale=_size(assembly),
        gravity=np.array(description.gravity),
        inertial_body=np.array(terms.inertial_body, dtype=np.int64),
        shafts=np.array(terms.shafts).reshape(-1, tree.n_v),
        rotor_shaft=np.array(terms.rotor_shaft, dtype=np.int64),
        rotor_parameter=np.array(terms.rotor_parameter, dtype=np.int64),
        friction_target=friction[0],
        friction_where=friction[1],
        friction_kind=friction[2],
        friction_parameter=friction[3],
        transition_velocity=description.transition_velocity,
        n_parameters=len(table.names),
    )
    return mechanism, table


def _size(assembly: Assembly) -> float:
    """Largest distance [m] from the base at home of a body's origin or centre of mass; or 1 m."""
    position, rotation = assembly.body_poses(assembly.home())
    largest = 0.0
    for p, r, name in zip(position, rotation, assembly.tree.body_names, strict=True):
        inertial = assembly.description.link(name).inertial
        com = np.zeros(3) if inertial is None else inertial.com
        largest = max(largest, float(np.linalg.norm(p)), float(np.linalg.norm(p + r @ com)))
    return largest if largest > 1e-3 else 1.0


def _independent_coordinates(assembly: Assembly, jacobian: Floats) -> Integers:
    """Coordinates of the platform where it floats with six degrees of freedom, else actuators."""
    tree = assembly.tree
    if tree.floating_body >= 0 and len(assembly.actuated_coordinates) == 6:
        platform = np.arange(tree.n_v)[tree.floating]
        rest = np.delete(jacobian, platform, axis=1)
        singular = np.linalg.svd(rest, compute_uv=False)
        if rest.shape[1] and singular[rest.shape[1] - 1] > 1e-7 * singular[0]:
            return platform.astype(np.int64)
    return assembly.actuated_coordinates.astype(np.int64)


def _base_axes(tree: KinematicTree, chosen: Integers) -> tuple[Booleans, Integers]:
    """Which rows are one of three that close a point, and along which base axis they may count.

    Where all three are chosen, the base's axes serve as well as the parent body's.
    """
    triple = np.zeros(len(tree.row_kind), dtype=bool)
    axis = np.full(len(tree.row_kind), -1, dtype=np.int64)
    for constraint in np.unique(tree.row_constraint):
        points = np.flatnonzero((tree.row_constraint == constraint) & (tree.row_kind == POINT_ROW))
        if len(points) == 3:
            triple[points] = True
            if np.all(np.isin(points, chosen)):
                axis[points] = np.arange(3)
    return triple, axis


def _components(
    jacobian: Floats,
    sign: Integers,
    dependent: Integers,
    row_constraint: Integers,
    description: Description,
) -> tuple[Integers, Integers, Integers, Floats]:
    """Split dependent coordinates and rows into components and choose square systems."""
    remaining = set(dependent.tolist())
    starts, coordinates, rows, determinants = [0], [], [], []
    while remaining:
        members = {min(remaining)}
        touched: set[int] = set()
        while True:
            touching = np.flatnonzero(np.any(sign[:, sorted(members)] != 0, axis=1))
            grown = set(np.flatnonzero(np.any(sign[touching] != 0, axis=0)).tolist()) & remaining
            grown |= members
            if grown == members and set(touching.tolist()) == touched:
                break
            members, touched = grown, set(touching.tolist())
        columns, candidates = sorted(members), sorted(touched)
        block = jacobian[np.ix_(candidates, columns)]
        order, sizes = _independent_rows(block)
        if len(order) < len(columns) or sizes[-1] < LEAST_PIVOT_ROW * sizes[0]:
            names = {description.constraints[row_constraint[row]].name for row in candidates}
            raise DescriptionError(
                f"robot '{description.name}': the constraints {', '.join(sorted(names))} do not "
                'determine the passive joints at home'
            )
        chosen = sorted(np.array(candidates)[order].tolist())
        coordinates += columns
        rows += chosen
        starts.append(len(coordinates))
        determinants.append(float(np.linalg.det(jacobian[np.ix_(chosen, columns)])))
        remaining -= members
    found = [np.array(indices, dtype=np.int64) for indices in (starts, coordinates, rows)]
    return found[0], found[1], found[2], np.array(determinants)


def _independent_rows(matrix: Floats) -> tuple[list[int], list[float]]:
    """As many rows as columns, each the longest in what the others leave, and these lengths.

    The choice of a QR factorisation with pivoting; SciPy's would cost its import.
    """
    rest, order, sizes = matrix.copy(), [], []
    for _ in range(min(matrix.shape)):
        length = np.linalg.norm(rest, axis=1)
        row = int(np.argmax(length))
        order.append(row)
        sizes.append(float(length[row]))
        unit = rest[row] / max(length[row], 1e-300)
        rest = rest - np.outer(rest @ unit, unit)
    return order, sizes


def layout_of(m: Mechanism) -> Layout:
    """Pick what the compiled loops need, in arrays of their own that may be written to."""
    tree = m.tree
    known: dict[str, Any] = m._asdict() | {name: getattr(tree, name) for name in TREE_FIELDS}
    known.update(
        n_r=len(tree.row_kind),
        n_v=tree.n_v,
        n_p=m.n_parameters,
        inertial_bodies=len(m.inertial_body),
        other_parameters=np.concatenate([m.friction_parameter, m.rotor_parameter]),
    )
    picked: dict[str, Any] = {
        name: np.copy(known[name]) if isinstance(known[name], np.ndarray) else known[name]
        for name in Layout._fields
    }
    return Layout(**picked)
