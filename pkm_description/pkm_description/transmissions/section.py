"""The section `transmissions` of a YAML, and ratios and offsets of single joints in a URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.description import (
    JOINT,
    MOTOR,
    SIDES,
    Actuator,
    Array,
    Joint,
    Motor,
    Transmission,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.friction import friction_of
from pkm_description.readers.urdf_transmissions import Reduction
from pkm_description.sidecar import known_keys, mapping, number, numbers
from pkm_description.xml_elements import suggestion

RATIOS = ('matrix', 'reduction', 'lead')
KEYS = ('joints', 'motors', *RATIOS, 'offset')
POSITIVE_KEYS = ('force_constant', 'effort', 'velocity')
MOTOR_KEYS = (*POSITIVE_KEYS, 'rotor_inertia', 'friction')
SINGULAR = 1e-12  # smallest by largest singular value of the equilibrated matrix: rounding
ROUNDING = 1e-12  # of the largest entry of a row: what an inverse leaves for zero
AGREEMENT = 1e-6  # of a force constant or ratio that two places give


def read_transmissions(
    sidecar: Mapping[str, Any],
    joints: Sequence[Joint],
    driven: Sequence[str],
    reductions: Sequence[Reduction] = (),
) -> tuple[Transmission, ...]:
    """Transmissions of a sidecar, and of `reductions` in the URDF where it says none.

    Raises DescriptionError naming a joint without a drive, a joint or motor that two of them have,
    a matrix that is singular or not square, or a ratio or offset that contradicts the URDF.
    """
    found: list[Transmission] = []
    names = [joint.name for joint in joints]
    for key, content in mapping(sidecar.get('transmissions', {}), 'transmissions').items():
        where = f'transmissions.{key}'
        each = _transmission(str(key), content, driven, where)
        for earlier in found:
            _check_apart(each, earlier)
        for motor in each.motors:
            if motor.name in names:
                raise DescriptionError(f"{where}: motor '{motor.name}' has the name of a joint")
        found.append(each)
    taken = {joint for each in found for joint in each.joints}
    for reduction in reductions:
        if reduction.joint in taken:
            _check_agrees(reduction, found)
        elif reduction.joint in driven:
            taken.add(reduction.joint)
            used = {motor.name for each in found for motor in each.motors} | set(names)
            found.append(_of_reduction(reduction, used))
    return tuple(found)


def read_side(sidecar: Mapping[str, Any], transmissions: Sequence[Transmission]) -> str:
    """Side that the robot's topics are of; raises DescriptionError."""
    side = sidecar.get('side', JOINT)
    if side not in SIDES:
        raise DescriptionError(f'side must be {" or ".join(SIDES)}, not {side!r}')
    if side == MOTOR and not transmissions:
        raise DescriptionError('side is motor, but there are no transmissions')
    return str(side)


def with_motor_limits(
    joints: tuple[Joint, ...], transmissions: Sequence[Transmission]
) -> tuple[Joint, ...]:
    """Joints within the limits of their motors too; those of coupled motors are refused."""
    limits = {}
    for each in transmissions:
        for place, (motor, joint) in enumerate(zip(each.motors, each.joints, strict=True)):
            if np.isinf(motor.effort) and np.isinf(motor.velocity):
                continue
            if each.coupled[place]:
                raise DescriptionError(
                    f"transmissions.{each.name}: the limits of motor '{motor.name}' cannot be "
                    f"said of joints alone, as others move '{joint}' too: give limits of the "
                    'joints that hold at any motion of the others'
                )
            size = abs(float(each.matrix[place, place]))
            limits[joint] = motor.velocity * size, motor.effort / size
    return tuple(_within(joint, *limits.get(joint.name, (np.inf, np.inf))) for joint in joints)


def with_motor_constants(
    actuators: tuple[Actuator, ...], transmissions: Sequence[Transmission]
) -> tuple[Actuator, ...]:
    """Force constants of joints from those of their own motors, where they have none."""
    constants = {
        joint: motor.force_constant / abs(float(each.matrix[place, place]))
        for each in transmissions
        for place, (joint, motor) in enumerate(zip(each.joints, each.motors, strict=True))
        if not each.coupled[place] and np.isfinite(motor.force_constant)
    }
    for item in actuators:
        own, other = item.force_constant, constants.get(item.joint, np.nan)
        if abs(own - other) > AGREEMENT * abs(own):  # False where one is nan
            raise DescriptionError(
                f"joint '{item.joint}': its force_constant is {own:g}, that of its motor through "
                f'the transmission {other:g}; give one of them'
            )
    return tuple(
        replace(item, force_constant=constants[item.joint]) if item.joint in constants else item
        for item in actuators
    )


def _transmission(name: str, content: Any, driven: Sequence[str], where: str) -> Transmission:
    table = known_keys(content, where, KEYS)
    joints = _names(table.get('joints'), f'{where}.joints')
    for joint in joints:
        if joint not in driven:
            raise DescriptionError(
                f"{where} names '{joint}', which is no joint with a drive"
                f'{suggestion(joint, driven)}; they are {", ".join(driven)}'
            )
    motors = _motors(table.get('motors'), joints, where)
    given = [key for key in RATIOS if key in table]
    if len(given) != 1:
        raise DescriptionError(f'{where} must have one of {", ".join(RATIOS)}')
    matrix = _matrix(table[given[0]], len(joints), f'{where}.{given[0]}')
    inverse = _inverse(matrix, f'{where}.{given[0]}')
    if given[0] == 'reduction':
        matrix, inverse = inverse, matrix
    offset = table.get('offset', 0.0)
    listed = offset if isinstance(offset, list) else [offset] * len(joints)
    own = numbers(listed, len(joints), f'{where}.offset')
    return Transmission(name, joints, motors, frozen(matrix), frozen(inverse), own)


def _names(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(n, str) for n in value):
        raise DescriptionError(f'{what} must be a list of names, not {value!r}')
    twice = [name for name in value if value.count(name) > 1]
    if twice:
        raise DescriptionError(f"{what} lists '{twice[0]}' twice")
    return tuple(value)


def _motors(value: Any, joints: tuple[str, ...], where: str) -> tuple[Motor, ...]:
    what = f'{where}.motors'
    if isinstance(value, Mapping):
        names = _names([str(name) for name in value], what)
        motors = tuple(_motor(name, value[name], f'{what}.{name}') for name in names)
    else:
        names = _names([f'{joint}_motor' for joint in joints] if value is None else value, what)
        motors = tuple(Motor(name) for name in names)
    if len(motors) != len(joints):
        raise DescriptionError(
            f'{where} has {len(motors)} motors for {len(joints)} joints: as many are needed'
        )
    return motors


def _motor(name: str, content: Any, what: str) -> Motor:
    table = known_keys({} if content is None else content, what, MOTOR_KEYS)
    values: dict[str, Any] = {
        key: number(table[key], f'{what}.{key}') for key in MOTOR_KEYS[:-1] if key in table
    }
    for key, value in values.items():
        if value < 0.0 or (value == 0.0 and key in POSITIVE_KEYS):
            raise DescriptionError(f'{what}.{key} must be positive, not {value:g}')
    if 'friction' in table:
        friction = values['friction'] = friction_of(table['friction'], f'motor {name}')
        if friction.load is not None:
            raise DescriptionError(
                f'{what}.friction cannot grow with a load: a motor is no joint of the mechanism'
            )
    return Motor(name, **values)


def _matrix(value: Any, count: int, what: str) -> Array:
    """Square matrix (k, k) of one number for all joints, one a joint, or rows."""
    if not isinstance(value, list):
        return np.eye(count) * number(value, what)
    if not any(isinstance(row, list) for row in value):
        return np.diag(numbers(value, count, what))
    if len(value) != count:
        raise DescriptionError(f'{what} has {len(value)} rows for {count} joints and motors')
    return np.array(
        [numbers(row, count, f'row {place} of {what}') for place, row in enumerate(value, 1)]
    )


def _inverse(matrix: Array, what: str) -> Array:
    """Inverse whose zeros are zeros: no joint depends on a motor by rounding."""
    scale = [np.max(np.abs(matrix), axis=axis, keepdims=True) for axis in (0, 1)]
    if all(each.all() for each in scale):
        even = matrix / np.max(np.abs(matrix), axis=1, keepdims=True)
        even = even / np.max(np.abs(even), axis=0, keepdims=True)
        sizes = np.linalg.svd(even, compute_uv=False)
        if sizes[-1] > SINGULAR * sizes[0]:
            found = np.linalg.inv(matrix)
            largest = np.max(np.abs(found), axis=1, keepdims=True)
            return np.where(np.abs(found) > ROUNDING * largest, found, 0.0)
    raise DescriptionError(f'{what} is singular: some motion of the motors would move no joint')


def _check_apart(one: Transmission, other: Transmission) -> None:
    pairs = (
        ('joint', one.joints, other.joints),
        ('motor', [m.name for m in one.motors], [m.name for m in other.motors]),
    )
    for kind, mine, theirs in pairs:
        both = [name for name in mine if name in theirs]
        if both:
            raise DescriptionError(
                f"{kind} '{both[0]}' is in two transmissions, '{other.name}' and '{one.name}'"
            )


def _check_agrees(reduction: Reduction, found: Sequence[Transmission]) -> None:
    """Refuse a ratio or an offset of the URDF that the YAML contradicts."""
    each = next(item for item in found if reduction.joint in item.joints)
    place = each.joints.index(reduction.joint)
    ratio, offset = float(each.inverse[place, place]), float(each.offset[place])
    pairs = {'reduction': (ratio, reduction.ratio)}
    if reduction.offset is not None:
        pairs['offset'] = offset, reduction.offset
    for what, (own, given) in pairs.items():
        if not each.coupled[place] and abs(own - given) > AGREEMENT * max(abs(own), abs(given)):
            raise DescriptionError(
                f"joint '{reduction.joint}': its {what} is {own:g} in transmissions.{each.name} "
                f"and {given:g} in <transmission name='{reduction.name}'> of the URDF; make "
                'them agree'
            )


def _of_reduction(reduction: Reduction, taken: set[str]) -> Transmission:
    motor = reduction.motor if reduction.motor not in taken else f'{reduction.joint}_motor'
    while motor in taken:
        motor += '_motor'
    ratio = np.array([[reduction.ratio]])
    name = reduction.name or reduction.joint
    return Transmission(
        name,
        (reduction.joint,),
        (Motor(motor),),
        frozen(1.0 / ratio),
        frozen(ratio),
        frozen([reduction.offset or 0.0]),
    )


def _within(joint: Joint, velocity: float, effort: float) -> Joint:
    limit = joint.limit
    if velocity >= limit.velocity and effort >= limit.effort:
        return joint
    narrow = replace(
        limit, velocity=min(limit.velocity, velocity), effort=min(limit.effort, effort)
    )
    return replace(joint, limit=narrow)
