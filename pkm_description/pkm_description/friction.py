"""Friction of joints and constraints: what URDF and sidecar say together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pkm_description.description import (
    FRICTION_MODELS,
    Constraint,
    Description,
    DriveTerms,
    Friction,
    Joint,
)
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, mapping, number
from pkm_description.xml_elements import suggestion

_KEY = {'coulomb_positive': 'coulomb'}
# keys of a mapping that gives the parameters of each model
FRICTION_KEYS: dict[str, tuple[str, ...]] = {
    model: () if model == 'none' else (*(_KEY.get(name, name) for name in labels), 'load')
    for model, labels in FRICTION_MODELS.items()
}


def with_friction(
    items: tuple[Any, ...], sidecar: Mapping[str, Any], actuated: set[str]
) -> tuple[Any, ...]:
    """Apply the sidecar's friction to joints or constraints; actuated joints always have some."""
    declared = mapping(sidecar.get('friction', {}), 'friction')
    result: list[Joint | Constraint] = []
    for item in items:
        friction = item.friction
        if friction is None and item.name in actuated and set(_keys(declared, item)) == {'load'}:
            friction = Friction()  # what a drive has where nothing else is said
        if item.name in declared:
            friction = friction_of(declared[item.name], item.name, friction)
        elif friction is None and item.name in actuated:
            friction = Friction()
        elif item.name in actuated and friction.model in ('coulomb', 'viscous', 'load'):
            friction = dataclasses.replace(friction, model='coulomb_viscous')
        if friction is not None and friction.model == 'none':
            friction = None
        result.append(dataclasses.replace(item, friction=friction))
    return tuple(result)


def _keys(declared: Mapping[str, Any], item: Joint | Constraint) -> Iterable[str]:
    value = declared.get(item.name)
    return value if isinstance(value, Mapping) else ()


def with_load_friction(
    description: Description, factors: Mapping[str, float] | Sequence[str] | str
) -> Description:
    """Return the robot with friction that grows with the load of its joints.

    The texts of the description, and with them its digest, stay as they are: it is the same
    robot, of which more is modelled.

    Parameters
    ----------
    description
        The robot.
    factors
        Load factors by joint or constraint or pattern (`{'leg*_strut': 0.1}`), as `load` in the
        section `friction` of the YAML; or names alone, whose factors start at zero.

    Raises
    ------
    DescriptionError
        A name matches no joint that can rub, or a factor cannot be used.
    """
    listed = [factors] if isinstance(factors, str) else factors
    given = listed if isinstance(listed, Mapping) else dict.fromkeys(listed, 0.0)
    own = joint_frictions(description)
    found: dict[str, Friction] = {}
    for pattern, factor in given.items():
        matching = [name for name in own if fnmatchcase(name, str(pattern))]
        if not matching:
            raise DescriptionError(
                f"load_friction names '{pattern}', which is no joint or constraint that can rub"
                f'{suggestion(str(pattern), own)}; they are {", ".join(own)}'
            )
        for name in matching:
            base = own[name] or Friction(model='load')
            found[name] = dataclasses.replace(base, load=_load_factor(factor, name))
    return _with_changed(description, found)


def with_only_load_friction(description: Description, factors: Mapping[str, float]) -> Description:
    """Return the robot with these load factors in place of its own."""
    own = joint_frictions(description)
    bare = {
        name: None if own[name] == Friction(model='load', load=factor) else each
        for name, factor in load_factors(description).items()
        for each in [dataclasses.replace(own[name] or Friction(), load=None)]
    }
    return with_load_friction(_with_changed(description, bare), factors)


def without_friction(description: Description) -> Description:
    """Return a robot whose joints and constraints do not rub; springs and offsets stay."""
    kept = ('offset', 'stiffness', 'rest', 'ripple')
    terms = {
        item.joint: DriveTerms(**{key: getattr(item.terms, key) for key in kept})
        for item in description.actuators
    }
    gears = tuple(
        dataclasses.replace(
            each, motors=tuple(dataclasses.replace(motor, friction=None) for motor in each.motors)
        )
        for each in description.transmissions
    )
    return dataclasses.replace(
        description,
        joints=tuple(dataclasses.replace(joint, friction=None) for joint in description.joints),
        constraints=tuple(
            dataclasses.replace(each, friction=None) for each in description.constraints
        ),
        actuators=tuple(
            dataclasses.replace(each, terms=terms[each.joint]) for each in description.actuators
        ),
        transmissions=gears,
    )


def load_factors(description: Description) -> dict[str, float]:
    """Load factors by joint and constraint, of those whose friction grows with their load."""
    rubbing = joint_frictions(description).items()
    return {name: each.load for name, each in rubbing if each and each.load is not None}


def joint_frictions(description: Description) -> dict[str, Friction | None]:
    """Friction of all joints and constraints that can rub."""
    found = {item.name: item.friction for item in description.joints if item.is_scalar}
    cuts = [item for item in description.constraints if item.type != 'fixed']
    return found | {item.name: item.friction for item in cuts}


def _with_changed(description: Description, changed: Mapping[str, Friction | None]) -> Description:
    """Return a description with the friction of some joints and constraints replaced."""

    def replaced(items: tuple[Any, ...]) -> tuple[Any, ...]:
        frictions = (changed.get(item.name, item.friction) for item in items)
        pairs = zip(items, frictions, strict=True)
        return tuple(dataclasses.replace(item, friction=each) for item, each in pairs)

    return dataclasses.replace(
        description,
        joints=replaced(description.joints),
        constraints=replaced(description.constraints),
    )


def check_friction_names(sidecar: Mapping[str, Any], names: set[str]) -> None:
    """Every name under `friction` must be a scalar joint or a constraint."""
    for name in mapping(sidecar.get('friction', {}), 'friction'):
        if name not in names:
            raise DescriptionError(
                f"friction names '{name}', which is no joint or constraint"
                f'{suggestion(str(name), names)}; they are {", ".join(sorted(names))}'
            )


def friction_of(value: Any, name: str, base: Friction | None = None) -> Friction:
    """Friction as a mapping says it, beside `base`; raises DescriptionError."""
    known = ('model', 'coulomb', 'viscous', 'coulomb_negative', 'load')
    value = known_keys(value, f"friction of '{name}'", known)
    model = value.get('model', _friction_model(value, base))
    base = base or Friction()
    if not isinstance(model, str) or model not in FRICTION_MODELS:
        raise DescriptionError(
            f"friction of '{name}' has the unknown model '{model}'; "
            f'models are {", ".join(FRICTION_MODELS)}'
        )
    for key in value:
        if key != 'model' and key not in FRICTION_KEYS[model]:
            raise DescriptionError(
                f"friction of '{name}' gives '{key}', which the model '{model}' does not have"
            )
    coulomb = number(value.get('coulomb', base.coulomb), f"coulomb friction of '{name}'")
    viscous = number(value.get('viscous', base.viscous), f"viscous friction of '{name}'")
    negative = number(value.get('coulomb_negative', coulomb), f"coulomb friction of '{name}'")
    load = _load_factor(value['load'], name) if 'load' in value else base.load
    if model == 'load':
        if load is None:
            raise DescriptionError(f"friction of '{name}' has the model 'load', but no load factor")
        return Friction(model=model, load=load)
    if min(coulomb, viscous, negative) < 0:
        raise DescriptionError(f"friction of '{name}' must not be negative")
    return Friction(coulomb, viscous, negative, model, load)


def _load_factor(value: Any, name: str) -> float:
    factor = number(value, f"load friction of '{name}'")
    if factor < 0.0:
        raise DescriptionError(f"friction of '{name}' must not be negative")
    return factor


def _friction_model(value: Mapping[str, Any], base: Friction | None) -> str:
    """Friction model that the given keys need, beside what the URDF says."""
    has = set(value) | set(FRICTION_KEYS[base.model] if base else ())
    if 'coulomb_negative' in value:
        return 'asymmetric'
    for model in ('coulomb', 'viscous'):
        if has - {'load'} == {model}:
            return model
    if has == {'load'}:
        return 'load'
    return base.model if base and base.is_asymmetric else 'coulomb_viscous'


def check_constraint_friction(constraint: Constraint) -> None:
    """Refuse friction that the freedom of a closing constraint cannot have."""
    friction, kind = constraint.friction, constraint.type
    if friction is not None and kind == 'fixed':
        raise DescriptionError(f"fixed constraint '{constraint.name}' cannot have friction")
    if friction and friction.is_asymmetric and kind in ('spherical', 'universal'):
        raise DescriptionError(
            f"{kind} constraint '{constraint.name}' cannot have asymmetric friction: "
            'its rotation has no single direction'
        )
