"""The YAML beside a URDF: what a URDF cannot say."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from pkm_description.description import (
    FRICTION_MODELS,
    Actuator,
    Constraint,
    Description,
    Friction,
    Joint,
    Pose,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.rotations import rotation_from_rpy

MAX_CHARACTERS = 1_000_000
FRICTION_KEYS: dict[str, tuple[str, ...]] = {
    'coulomb_viscous': ('coulomb', 'viscous'),
    'coulomb': ('coulomb',),
    'viscous': ('viscous',),
    'asymmetric': ('coulomb', 'coulomb_negative', 'viscous'),
    'none': (),
}
KEYS = (
    'title', 'home', 'gravity', 'free_joints', 'same_design', 'zero_parameters', 'friction',
    'transition_velocity', 'rotor_inertia', 'simulation', 'workspace', 'benchmark_circle',
    'sources', 'notes',
)  # fmt: skip


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Parse a sidecar; tags, unknown keys and huge files are refused."""
    if len(text) > MAX_CHARACTERS:
        raise DescriptionError(f"'{where}' has {len(text)} characters; at most {MAX_CHARACTERS}")
    try:
        # A few nested aliases can stand for gigabytes; no sidecar needs one.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise DescriptionError(f"'{where}' uses YAML aliases: refused")
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        line = ' '.join(str(error).split())
        raise DescriptionError(f"'{where}' cannot be read: {line}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise DescriptionError(f"'{where}' must be a mapping, not a {type(content).__name__}")
    unknown = [key for key in content if key not in KEYS]
    if unknown:
        raise DescriptionError(
            f"'{where}' has the unknown key '{unknown[0]}'; keys are {', '.join(KEYS)}"
        )
    return content


def numbers(value: Any, count: int, what: str) -> np.ndarray:
    """Return a finite read-only vector (count,) or raise DescriptionError naming `what`."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array([])
    if array.shape != (count,) or not np.all(np.isfinite(array)):
        raise DescriptionError(f'{what} must be {count} finite numbers, not {value!r}')
    return frozen(array)


def number(value: Any, what: str) -> float:
    """Return a finite float or raise DescriptionError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise DescriptionError(f'{what} must be a finite number, not {value!r}')
    return float(value)


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Return a mapping or raise DescriptionError naming `what`."""
    if not isinstance(value, Mapping):
        raise DescriptionError(f'{what} must be a mapping, not {value!r}')
    return value


def home_of(sidecar: Mapping[str, Any]) -> tuple[Pose, bool, dict[str, float]]:
    """Home pose, whether it was declared, and first guesses of joints at home."""
    if 'home' not in sidecar:
        return Pose(), False, {}
    home = mapping(sidecar['home'], 'home')
    for key in home:
        if key not in ('position', 'rpy', 'joints'):
            raise DescriptionError(
                f"home has the unknown key '{key}'; keys are position, rpy, joints"
            )
    guess = {
        str(name): number(value, f"home of joint '{name}'")
        for name, value in mapping(home.get('joints', {}), 'home joints').items()
    }
    pose = Pose(
        numbers(home.get('position', [0, 0, 0]), 3, 'home position'),
        frozen(rotation_from_rpy(numbers(home.get('rpy', [0, 0, 0]), 3, 'home rpy'))),
    )
    return pose, 'position' in home, guess


def with_actuators(
    actuators: tuple[Actuator, ...], sidecar: Mapping[str, Any], free: tuple[str, ...]
) -> tuple[Actuator, ...]:
    """Add the sidecar's rotor inertias [kg, kg m^2], and the free joints at the end."""
    rotors = mapping(sidecar.get('rotor_inertia', {}), 'rotor_inertia')
    actuated = {actuator.joint for actuator in actuators}
    for name in rotors:
        if name not in actuated:
            raise DescriptionError(
                f"rotor_inertia names '{name}', which is no joint with a drive; "
                f"they are {', '.join(sorted(actuated))}"
            )
    undriven = tuple(Actuator(name, np.nan, free=True) for name in free)
    return _with_rotors(actuators, rotors) + undriven


def free_joints_of(
    sidecar: Mapping[str, Any], joints: tuple[Joint, ...], driven: set[str]
) -> tuple[str, ...]:
    """Joints that the sidecar declares to be degrees of freedom without a drive."""
    names = sidecar.get('free_joints', [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DescriptionError(f'free_joints must be a list of joint names, not {names!r}')
    scalar = [joint.name for joint in joints if joint.is_scalar]
    for index, name in enumerate(names):
        if name in driven:
            raise DescriptionError(
                f"free_joints names '{name}', which has an effort command interface: a joint "
                'either has a drive or is free'
            )
        if name not in scalar:
            valid = ', '.join(item for item in scalar if item not in driven)
            raise DescriptionError(
                f"free_joints names '{name}', which is no joint with one degree of freedom; "
                f'without a drive are {valid}'
            )
        if name in names[:index]:
            raise DescriptionError(f"free_joints lists '{name}' twice")
    return tuple(names)


def without_effort(joints: tuple[Joint, ...], free: tuple[str, ...]) -> tuple[Joint, ...]:
    """Set the effort limit of free joints to zero: nothing drives them."""
    return tuple(
        dataclasses.replace(joint, limit=dataclasses.replace(joint.limit, effort=0.0))
        if joint.name in free
        else joint
        for joint in joints
    )


def _with_rotors(
    actuators: tuple[Actuator, ...], rotors: Mapping[str, Any]
) -> tuple[Actuator, ...]:
    return tuple(
        dataclasses.replace(
            a, rotor_inertia=number(rotors[a.joint], f"rotor_inertia of '{a.joint}'")
        )
        if a.joint in rotors
        else a
        for a in actuators
    )


def with_friction(
    items: tuple[Any, ...], sidecar: Mapping[str, Any], actuated: set[str]
) -> tuple[Any, ...]:
    """Apply the sidecar's friction to joints or constraints; actuated joints always have some."""
    declared = mapping(sidecar.get('friction', {}), 'friction')
    result: list[Joint | Constraint] = []
    for item in items:
        friction = item.friction
        if item.name in declared:
            friction = _friction(declared[item.name], item.name, friction)
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
                f"friction names '{name}', which is no joint or constraint; "
                f"they are {', '.join(sorted(names))}"
            )


def _friction(value: Any, name: str, base: Friction | None) -> Friction:
    value = mapping(value, f"friction of '{name}'")
    model = value.get('model', _friction_model(value, base))
    base = base or Friction()
    if model not in FRICTION_MODELS:
        raise DescriptionError(
            f"friction of '{name}' has the unknown model '{model}'; "
            f"models are {', '.join(FRICTION_MODELS)}"
        )
    known = ('model', 'coulomb', 'viscous', 'coulomb_negative')
    for key in value:
        if key not in known:
            raise DescriptionError(
                f"friction of '{name}' has the unknown key '{key}'; keys are {', '.join(known)}"
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


def designs_of(
    sidecar: Mapping[str, Any], description: Description
) -> tuple[tuple[str, ...], ...]:
    """Groups of links or joints of one design; members must agree in their nominal data."""
    groups = sidecar.get('same_design', [])
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and group and all(isinstance(name, str) for name in group)
        for group in groups
    ):
        raise DescriptionError('same_design must be a list of lists of names')
    rotors = {a.joint: a.rotor_inertia for a in description.actuators}
    links = {link.name: link for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    seen: set[str] = set()
    for group in groups:
        kinds = {'link' if n in links else 'joint' if n in joints else None for n in group}
        for name in group:
            if name not in links and name not in joints:
                raise DescriptionError(f"same_design names '{name}', which is no link or joint")
            if name in seen:
                raise DescriptionError(f"same_design lists '{name}' twice")
            seen.add(name)
        if len(kinds) != 1:
            raise DescriptionError(f'same_design mixes links and joints: {group}')
        for name in group[1:]:
            if kinds == {'link'}:
                same = _same_inertial(links[group[0]], links[name])
            else:
                first, other = joints[group[0]], joints[name]
                same = (first.type, first.friction) == (other.type, other.friction)
                same = same and rotors.get(group[0]) == rotors.get(name)
            if not same:
                raise DescriptionError(
                    f"same_design: '{name}' has other nominal parameters than '{group[0]}'"
                )
    return tuple(tuple(group) for group in groups)


def _same_inertial(first: Any, second: Any) -> bool:
    if first.inertial is None or second.inertial is None:
        return first.inertial is second.inertial
    return bool(
        np.allclose(
            first.inertial.standard_parameters(),
            second.inertial.standard_parameters(),
            rtol=1e-9,
            atol=1e-12,
        )
    )
