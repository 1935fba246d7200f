"""Friction of joints and constraints: what URDF and sidecar say together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pkm_description.description import FRICTION_MODELS, Constraint, Friction, Joint
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, mapping, number
from pkm_description.xml_elements import suggestion

FRICTION_KEYS: dict[str, tuple[str, ...]] = {
    'coulomb_viscous': ('coulomb', 'viscous'),
    'coulomb': ('coulomb',),
    'viscous': ('viscous',),
    'asymmetric': ('coulomb', 'coulomb_negative', 'viscous'),
    'none': (),
}


def with_friction(
    items: tuple[Any, ...], sidecar: Mapping[str, Any], actuated: set[str]
) -> tuple[Any, ...]:
    """Apply the sidecar's friction to joints or constraints; actuated joints always have some."""
    declared = mapping(sidecar.get('friction', {}), 'friction')
    result: list[Joint | Constraint] = []
    for item in items:
        friction = item.friction
        if item.name in declared:
            friction = friction_of(declared[item.name], item.name, friction)
        elif friction is None and item.name in actuated:
            friction = Friction()
        elif item.name in actuated and friction.model in ('coulomb', 'viscous'):
            friction = dataclasses.replace(friction, model='coulomb_viscous')
        if friction is not None and friction.model == 'none':
            friction = None
        result.append(dataclasses.replace(item, friction=friction))
    return tuple(result)


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
    known = ('model', 'coulomb', 'viscous', 'coulomb_negative')
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
    if min(coulomb, viscous, negative) < 0:
        raise DescriptionError(f"friction of '{name}' must not be negative")
    return Friction(coulomb, viscous, negative, model)


def _friction_model(value: Mapping[str, Any], base: Friction | None) -> str:
    """Friction model that the given keys need, beside what the URDF says."""
    has = set(value) | set(FRICTION_KEYS[base.model] if base else ())
    if 'coulomb_negative' in value:
        return 'asymmetric'
    for model in ('coulomb', 'viscous'):
        if has == {model}:
            return model
    return base.model if base and base.model == 'asymmetric' else 'coulomb_viscous'


def check_constraint_friction(constraint: Constraint) -> None:
    """Refuse friction that the freedom of a closing constraint cannot have."""
    friction, kind = constraint.friction, constraint.type
    if friction is not None and kind == 'fixed':
        raise DescriptionError(f"fixed constraint '{constraint.name}' cannot have friction")
    if friction and friction.model == 'asymmetric' and kind in ('spherical', 'universal'):
        raise DescriptionError(
            f"{kind} constraint '{constraint.name}' cannot have asymmetric friction: "
            'its rotation has no single direction'
        )
