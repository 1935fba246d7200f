"""The standard parameters of a mechanism and where they act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import DescriptionError, Friction, Motor, TrajectoryError
from pkm_description.assembly import Assembly
from pkm_description.friction import check_constraint_friction
from pkm_dynamics.array_types import Booleans, Floats
from pkm_dynamics.layout import COULOMB, COULOMB_NEGATIVE, COULOMB_POSITIVE, VISCOUS

FRICTION_KINDS = {
    'coulomb': COULOMB,
    'viscous': VISCOUS,
    'coulomb_positive': COULOMB_POSITIVE,
    'coulomb_negative': COULOMB_NEGATIVE,
}
ON_COORDINATE, ON_ROTATION, ON_AXIS_ROTATION, ON_AXIS_SLIDE, ON_SHAFT = 0, 1, 2, 3, 4
LOAD = 'load'  # field of a load factor's name
INERTIAL_NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
_INERTIAL_UNITS = ('kg', *3 * ('kg m',), *6 * ('kg m^2',))


class ParameterTable(NamedTuple):
    """Names, units, nominal values (n_p,) and kinds of the standard parameters."""

    names: list[str]
    units: list[str]
    nominal: Floats
    kinds: list[str]


class RubbingPlace(NamedTuple):
    """A joint (target: its coordinate) or constraint (its first closing row) with friction."""

    name: str
    friction: Friction
    target: int
    where: int
    linear: bool


class Terms(NamedTuple):
    """Where the parameters act: bodies, shafts and friction (target, where, kind, index).

    A shaft (n_v,) is a rotor's or a motor's rate by those of the tree's coordinates.
    """

    inertial_body: list[int]
    shafts: list[Floats]
    rotor_shaft: list[int]
    rotor_parameter: list[int]
    friction: list[tuple[int, int, int, int]]


def parameter_table(assembly: Assembly) -> tuple[ParameterTable, Terms]:
    """Standard parameters in the order of the contract: inertial, friction, rotor."""
    description, tree = assembly.description, assembly.tree
    table = ParameterTable([], [], np.array([]), [])
    nominal: list[float] = []
    terms = Terms([], [], [], [], [])

    def add(name: str, unit: str, value: float, kind: str) -> int:
        table.names.append(name)
        table.units.append(unit)
        table.kinds.append(kind)
        nominal.append(value)
        return len(nominal) - 1

    for body, link_name in enumerate(tree.body_names):
        inertial = description.link(link_name).inertial
        if inertial is None or not np.any(tree.ancestors[body]):
            continue
        terms.inertial_body.append(body)
        values = inertial.standard_parameters()
        for name, unit, value in zip(INERTIAL_NAMES, _INERTIAL_UNITS, values, strict=True):
            add(f'{link_name}.{name}', unit, float(value), 'rigid_body')
    for place in rubbing_places(assembly):
        _add_friction(add, terms, place)
    motors = _motors(assembly)
    for motor, shaft in motors:
        if motor.friction is not None and motor.friction.model != 'none':
            terms.shafts.append(shaft)
            target = len(terms.shafts) - 1
            place = RubbingPlace(motor.name, motor.friction, target, ON_SHAFT, False)
            _add_friction(add, terms, place)
    rotors = [
        (item.joint, item.rotor_inertia, np.eye(tree.n_v)[tree.coordinate_of(item.joint)])
        for item in (*description.actuators, *description.followers)
    ]
    rotors += [(motor.name, motor.rotor_inertia, shaft) for motor, shaft in motors]
    sliding = [joint.name for joint in description.joints if joint.type == 'prismatic']
    for name, inertia, shaft in rotors:
        if inertia is not None:
            unit = 'kg' if name in sliding else 'kg m^2'
            terms.rotor_parameter.append(add(f'{name}.rotor', unit, inertia, 'rotor'))
            terms.rotor_shaft.append(len(terms.shafts))
            terms.shafts.append(shaft)
    return table._replace(nominal=np.array(nominal)), terms


def _motors(assembly: Assembly) -> list[tuple[Motor, Floats]]:
    """Motors behind transmissions, with their rates by those of the tree's coordinates."""
    found = []
    for each in assembly.description.transmissions:
        places = [assembly.tree.coordinate_of(joint) for joint in each.joints]
        for motor, row in zip(each.motors, each.inverse, strict=True):
            shaft = np.zeros(assembly.tree.n_v)
            shaft[places] = row
            found.append((motor, shaft))
    return found


def shaft_size(shaft: Floats) -> float:
    """Rate of a shaft that one of its joints moves at the rate one, the joint that does most.

    Coulomb friction at the shaft is linear up to where that joint has its transition velocity.
    """
    return float(np.max(np.abs(shaft)))


def checked_parameters(parameters: ArrayLike | None, nominal: Floats) -> Floats:
    """Standard parameters (n_p,) as a new array, the nominal ones when absent."""
    values = np.array(nominal if parameters is None else parameters, dtype=np.float64)
    if values.shape != nominal.shape or not np.all(np.isfinite(values)):
        raise TrajectoryError(
            f'parameters must be {len(nominal)} finite numbers in the order of parameter_names, '
            f'got the shape {values.shape}'
        )
    return values


def rubbing_places(assembly: Assembly) -> list[RubbingPlace]:
    """Joints of the tree, then closing constraints, that have friction."""
    description, tree = assembly.description, assembly.tree
    places = []
    for name in tree.joint_names:
        joint = description.joint(name)
        if joint.friction is not None:
            target, linear = tree.coordinate_of(name), joint.type == 'prismatic'
            places.append(RubbingPlace(name, joint.friction, target, ON_COORDINATE, linear))
    for index, constraint in enumerate(description.constraints):
        if constraint.friction is not None:
            where = {'revolute': ON_AXIS_ROTATION, 'prismatic': ON_AXIS_SLIDE}.get(
                constraint.type, ON_ROTATION
            )
            check_constraint_friction(constraint)
            row = int(np.flatnonzero(tree.row_constraint == index)[0])
            linear = where == ON_AXIS_SLIDE
            places.append(RubbingPlace(constraint.name, constraint.friction, row, where, linear))
    return places


def load_table(loaded: Sequence[RubbingPlace]) -> ParameterTable:
    """Load factors of joints and constraints whose friction grows with their load."""
    return ParameterTable(
        [f'{each.name}.{LOAD}' for each in loaded],
        ['1' if each.linear else 'm' for each in loaded],
        np.array([each.friction.load for each in loaded], dtype=float),
        ['friction'] * len(loaded),
    )


def _add_friction(
    add: Callable[[str, str, float, str], int], terms: Terms, place: RubbingPlace
) -> None:
    name, friction, target, where, linear = place
    force, damping = ('N', 'N s/m') if linear else ('N m', 'N m s/rad')
    for label, value in friction.parameters.items():
        kind = FRICTION_KINDS[label]
        unit = damping if kind == VISCOUS else force
        index = add(f'{name}.{label}', unit, value, 'friction')
        terms.friction.append((target, where, kind, index))


def zero_mask(patterns: Iterable[str], names: list[str], nominal: Floats) -> Booleans:
    """Which parameters (n_p,) match one of the patterns; each must match one, and be zero."""
    mask = np.zeros(len(names), dtype=bool)
    for pattern in patterns:
        matching = np.array([fnmatchcase(name, pattern) for name in names])
        if not matching.any():
            raise DescriptionError(f"zero_parameters: '{pattern}' matches no parameter")
        mask |= matching
    wrong = np.flatnonzero(mask & (nominal != 0.0))
    if len(wrong):
        raise DescriptionError(
            f"zero_parameters names '{names[wrong[0]]}', whose nominal value is "
            f'{nominal[wrong[0]]:g}'
        )
    return mask
