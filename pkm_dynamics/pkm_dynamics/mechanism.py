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
from numpy.typing import NDArray
from scipy.linalg import qr

from pkm_description import Description, DescriptionError, Friction
from pkm_description.assembly import Assembly
from pkm_description.kinematic_tree import POINT_ROW, KinematicTree
from pkm_dynamics.layout import Layout

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COULOMB, VISCOUS, COULOMB_POSITIVE, COULOMB_NEGATIVE = 0, 1, 2, 3
ON_COORDINATE, ON_ROTATION, ON_AXIS_ROTATION, ON_AXIS_SLIDE = 0, 1, 2, 3
INERTIAL_NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
_INERTIAL_UNITS = ('kg', *3 * ('kg m',), *6 * ('kg m^2',))


class Mechanism(NamedTuple):
    """Arrays over bodies (n_b), rows (n_r), coordinates (n_v) and friction terms (n_f)."""

    parent: Integers
    joint_kind: Integers
    coordinate: Integers
    scalar_index: Integers
    origin_position: Floats
    origin_rotation: Floats
    axis: Floats
    platform_body: int
    floating_body: int
    row_kind: Integers
    row_parent: Integers
    row_child: Integers
    row_parent_point: Floats
    row_child_point: Floats
    row_parent_direction: Floats
    row_child_direction: Floats
    row_sign: NDArray[np.int64]
    row_is_triple: NDArray[np.bool_]
    row_base_axis: Integers
    independent: Integers
    actuated: Integers
    actuated_scalar: Integers
    independent_is_platform: bool
    component_start: Integers
    component_coordinates: Integers
    component_rows: Integers
    component_home_sign: Floats
    actuation_home_sign: float
    length_scale: float
    gravity: Floats
    inertial_body: Integers
    rotor_coordinate: Integers
    rotor_parameter: Integers
    friction_target: Integers
    friction_where: Integers
    friction_kind: Integers
    friction_parameter: Integers
    transition_velocity: float
    n_parameters: int


class ParameterTable(NamedTuple):
    """Names, units, nominal values (n_p,) and kinds of the standard parameters."""

    names: list[str]
    units: list[str]
    nominal: Floats
    kinds: list[str]


class _Terms(NamedTuple):
    inertial_body: list[int]
    rotor_coordinate: list[int]
    rotor_parameter: list[int]
    friction: list[tuple[int, int, int, int]]


def build_mechanism(assembly: Assembly) -> tuple[Mechanism, ParameterTable]:
    """Lay a checked description out for the kernels."""
    description, tree = assembly.description, assembly.tree
    home = assembly.home()
    _, jacobian = assembly.closure(home)
    actuated = assembly.actuated_coordinates
    independent = _independent_coordinates(assembly, jacobian)
    dependent = np.setdiff1d(np.arange(tree.n_v), independent)
    sign = _row_signs(assembly)
    starts, coordinates, rows, signs = _components(
        jacobian, sign, dependent, tree.row_constraint, description
    )
    mapping = np.zeros((tree.n_v, len(independent)))
    mapping[independent] = np.eye(len(independent))
    if len(dependent):
        mapping[coordinates] = -np.linalg.solve(
            jacobian[np.ix_(rows, coordinates)], jacobian[np.ix_(rows, independent)]
        )
    triple, base_axis = _base_axes(tree, rows)
    position, _ = assembly.body_poses(home)
    table, terms = _parameters(assembly)
    friction = np.array(terms.friction, dtype=np.int64).reshape(-1, 4)
    mechanism = Mechanism(
        parent=tree.parent,
        joint_kind=tree.joint_kind,
        coordinate=tree.coordinate,
        scalar_index=tree.scalar_index,
        origin_position=tree.origin_position,
        origin_rotation=tree.origin_rotation,
        axis=tree.axis,
        platform_body=tree.platform_body,
        floating_body=tree.floating_body,
        row_kind=tree.row_kind,
        row_parent=tree.row_parent,
        row_child=tree.row_child,
        row_parent_point=tree.row_parent_point,
        row_child_point=tree.row_child_point,
        row_parent_direction=tree.row_parent_direction,
        row_child_direction=tree.row_child_direction,
        row_sign=sign,
        row_is_triple=triple,
        row_base_axis=base_axis,
        independent=independent,
        actuated=actuated,
        actuated_scalar=np.array(
            [tree.joint_names.index(name) for name in description.actuated_joints], dtype=np.int64
        ),
        independent_is_platform=not np.array_equal(independent, actuated),
        component_start=starts,
        component_coordinates=coordinates,
        component_rows=rows,
        component_home_sign=signs,
        actuation_home_sign=float(np.sign(np.linalg.det(mapping[actuated]))),
        length_scale=float(np.max(np.linalg.norm(position, axis=1), initial=1e-3)),
        gravity=np.array(description.gravity),
        inertial_body=np.array(terms.inertial_body, dtype=np.int64),
        rotor_coordinate=np.array(terms.rotor_coordinate, dtype=np.int64),
        rotor_parameter=np.array(terms.rotor_parameter, dtype=np.int64),
        friction_target=friction[:, 0].copy(),
        friction_where=friction[:, 1].copy(),
        friction_kind=friction[:, 2].copy(),
        friction_parameter=friction[:, 3].copy(),
        transition_velocity=description.transition_velocity,
        n_parameters=len(table.names),
    )
    writable: dict[str, Any] = {
        name: value.copy() for name, value in mechanism._asdict().items()
        if isinstance(value, np.ndarray)
    }  # fmt: skip
    return mechanism._replace(**writable), table


def _independent_coordinates(assembly: Assembly, jacobian: Floats) -> Integers:
    """Coordinates of the platform where it floats with six degrees of freedom, else actuators."""
    tree = assembly.tree
    if tree.floating_body >= 0 and len(assembly.actuated_coordinates) == 6:
        first = int(tree.coordinate[tree.floating_body])
        platform = np.arange(first, first + 6)
        rest = np.delete(jacobian, platform, axis=1)
        singular = np.linalg.svd(rest, compute_uv=False)
        if rest.shape[1] and singular[rest.shape[1] - 1] > 1e-7 * singular[0]:
            return platform.astype(np.int64)
    return assembly.actuated_coordinates.astype(np.int64)


def _row_signs(assembly: Assembly) -> NDArray[np.int64]:
    """+1 where a coordinate (n_r, n_v) moves only the child of a row, -1 only the parent."""
    tree = assembly.tree
    none = np.zeros(tree.n_v, dtype=bool)
    sign = np.zeros((len(tree.row_kind), tree.n_v), dtype=np.int64)
    for row in range(len(tree.row_kind)):
        child, parent = tree.row_child[row], tree.row_parent[row]
        moves_child = tree.ancestors[child] if child >= 0 else none
        moves_parent = tree.ancestors[parent] if parent >= 0 else none
        sign[row] = moves_child.astype(np.int64) - moves_parent.astype(np.int64)
    return sign


def _base_axes(tree: KinematicTree, chosen: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Which rows are one of three that close a point, and along which base axis they may count.

    Where all three are chosen, the base's axes serve as well as the parent body's.
    """
    triple = np.zeros(len(tree.row_kind), dtype=bool)
    axis = np.full(len(tree.row_kind), -1, dtype=np.int64)
    for constraint in np.unique(tree.row_constraint):
        points = np.flatnonzero(
            (tree.row_constraint == constraint) & (tree.row_kind == POINT_ROW)
        )
        if len(points) == 3:
            triple[points] = True
            if np.all(np.isin(points, chosen)):
                axis[points] = np.arange(3)
    return triple, axis


def _components(
    jacobian: Floats,
    sign: NDArray[np.int64],
    dependent: Integers,
    row_constraint: Integers,
    description: Description,
) -> tuple[Integers, Integers, Integers, Floats]:
    """Split dependent coordinates and rows into components and choose square systems."""
    remaining = set(dependent.tolist())
    starts, coordinates, rows, signs = [0], [], [], []
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
        _, triangle, order = qr(block.T, mode='economic', pivoting=True)
        diagonal = np.abs(np.diag(triangle)) if block.size else np.array([])
        if len(diagonal) < len(columns) or diagonal[len(columns) - 1] < 1e-7 * diagonal[0]:
            names = {description.constraints[row_constraint[row]].name for row in candidates}
            raise DescriptionError(
                f"robot '{description.name}': the constraints {', '.join(sorted(names))} do not "
                'determine the passive joints at home'
            )
        chosen = sorted(np.array(candidates)[order[: len(columns)]].tolist())
        coordinates += columns
        rows += chosen
        starts.append(len(coordinates))
        signs.append(float(np.sign(np.linalg.det(jacobian[np.ix_(chosen, columns)]))))
        remaining -= members
    return (
        np.array(starts, dtype=np.int64),
        np.array(coordinates, dtype=np.int64),
        np.array(rows, dtype=np.int64),
        np.array(signs),
    )


def _parameters(assembly: Assembly) -> tuple[ParameterTable, _Terms]:
    """Standard parameters in the order of the contract: inertial, friction, rotor."""
    description, tree = assembly.description, assembly.tree
    table = ParameterTable([], [], np.array([]), [])
    nominal: list[float] = []
    terms = _Terms([], [], [], [])

    def add(name: str, unit: str, value: float, kind: str) -> int:
        table.names.append(name)
        table.units.append(unit)
        table.kinds.append(kind)
        nominal.append(value)
        return len(nominal) - 1

    for body, link_name in enumerate(tree.body_names):
        inertial = description.link(link_name).inertial
        if inertial is None or not _moves(assembly, body):
            continue
        terms.inertial_body.append(body)
        values = inertial.standard_parameters()
        for name, unit, value in zip(INERTIAL_NAMES, _INERTIAL_UNITS, values, strict=True):
            add(f'{link_name}.{name}', unit, float(value), 'rigid_body')
    for joint_name in tree.joint_names:
        joint = description.joint(joint_name)
        if joint.friction is not None:
            target = tree.coordinate_of(joint_name)
            linear = joint.type == 'prismatic'
            _add_friction(add, terms, joint_name, joint.friction, target, ON_COORDINATE, linear)
    for index, constraint in enumerate(description.constraints):
        if constraint.friction is not None:
            where = {'revolute': ON_AXIS_ROTATION, 'prismatic': ON_AXIS_SLIDE}.get(
                constraint.type, ON_ROTATION
            )
            if constraint.type == 'fixed':
                raise DescriptionError(f"fixed constraint '{constraint.name}' cannot have friction")
            if where == ON_ROTATION and constraint.friction.model == 'asymmetric':
                raise DescriptionError(
                    f"{constraint.type} constraint '{constraint.name}' cannot have asymmetric "
                    'friction: its rotation has no single direction'
                )
            row = int(np.flatnonzero(tree.row_constraint == index)[0])
            linear = where == ON_AXIS_SLIDE
            _add_friction(add, terms, constraint.name, constraint.friction, row, where, linear)
    for actuator in description.actuators:
        if actuator.rotor_inertia is not None:
            linear = description.joint(actuator.joint).type == 'prismatic'
            index = add(
                f'{actuator.joint}.rotor', 'kg' if linear else 'kg m^2', actuator.rotor_inertia,
                'rotor',
            )  # fmt: skip
            terms.rotor_coordinate.append(tree.coordinate_of(actuator.joint))
            terms.rotor_parameter.append(index)
    return table._replace(nominal=np.array(nominal)), terms


def _moves(assembly: Assembly, body: int) -> bool:
    return bool(np.any(assembly.tree.ancestors[body]))


def _add_friction(
    add: object, terms: _Terms, name: str, friction: Friction, target: int, where: int, linear: bool
) -> None:
    force, damping = ('N', 'N s/m') if linear else ('N m', 'N m s/rad')
    wanted = {
        'coulomb_viscous': ((COULOMB, 'coulomb'), (VISCOUS, 'viscous')),
        'coulomb': ((COULOMB, 'coulomb'),),
        'viscous': ((VISCOUS, 'viscous'),),
        'asymmetric': (
            (COULOMB_POSITIVE, 'coulomb_positive'),
            (COULOMB_NEGATIVE, 'coulomb_negative'),
            (VISCOUS, 'viscous'),
        ),
    }[friction.model]
    values = {
        COULOMB: friction.coulomb,
        VISCOUS: friction.viscous,
        COULOMB_POSITIVE: friction.coulomb,
        COULOMB_NEGATIVE: friction.coulomb_negative,
    }
    for kind, label in wanted:
        unit = damping if kind == VISCOUS else force
        index = add(f'{name}.{label}', unit, values[kind], 'friction')  # type: ignore[operator]
        terms.friction.append((target, where, kind, index))


def layout_of(m: Mechanism) -> Layout:
    """Pick what the compiled loops need."""
    same = {name: getattr(m, name) for name in Layout._fields if name in Mechanism._fields}
    return Layout(
        n_r=len(m.row_kind),
        n_v=m.row_sign.shape[1],
        n_p=m.n_parameters,
        inertial_bodies=len(m.inertial_body),
        other_parameters=np.concatenate([m.friction_parameter, m.rotor_parameter]),
        **same,
    )
