"""The YAML beside a URDF: what a URDF cannot say."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import yaml

from pkm_description.description import Actuator, Description, Inertial, Joint, Pose, frozen
from pkm_description.errors import DescriptionError
from pkm_description.rotation_formats import rotation_from_rpy
from pkm_description.untrusted.bounded_yaml import MAX_DEPTH, PLAIN_LOADER
from pkm_description.xml_elements import suggestion

MAX_CHARACTERS = 1_000_000
KEYS = (
    *('title', 'home', 'base', 'platform', 'actuated_joints'),
    *('gravity', 'free_joints', 'redundant_actuation', 'same_design'),
    *('zero_parameters', 'equal_parameters', 'reduced_models'),
    *('friction', 'transition_velocity', 'rotor_inertia', 'drives', 'transmissions', 'side'),
    'hydraulics',
    *('simulation', 'workspace', 'benchmark_circle', 'sources', 'notes'),
)
ABOUT = ('title', 'sources', 'notes')  # what any YAML file may have


class _StrictLoader(PLAIN_LOADER):
    """Plain YAML: no tags whoever registered them, no aliases, no key twice."""


def _mapping_without_twins(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise DescriptionError(f'the key {key!r} (line {line}) must be a text')
        if key in found:
            raise DescriptionError(f"the key '{key}' stands there twice (line {line})")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_OPENING = (
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
)
_CLOSING = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)

_StrictLoader.add_constructor('tag:yaml.org,2002:map', _mapping_without_twins)
# YAML 1.1 takes 1e-3, without a point, for a text.
_StrictLoader.add_implicit_resolver(
    'tag:yaml.org,2002:float', re.compile(r'^[-+]?\d+(\.\d*)?[eE][-+]?\d+$'), list('-+0123456789')
)


def read_mapping(text: str, where: str) -> dict[str, Any]:
    """Read a YAML mapping; tags, aliases, repeated keys and huge files are refused."""
    if len(text) > MAX_CHARACTERS:
        raise DescriptionError(f"'{where}' has {len(text)} characters; at most {MAX_CHARACTERS}")
    depth = 0
    try:
        for token in yaml.scan(text, Loader=_StrictLoader):
            depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
            if depth > MAX_DEPTH:
                raise DescriptionError(f"'{where}' is nested more than {MAX_DEPTH} levels deep")
            # A few nested aliases can stand for gigabytes; no sidecar needs one.
            if isinstance(token, yaml.AliasToken):
                raise DescriptionError(f"'{where}' uses YAML aliases: refused")
            if isinstance(token, yaml.TagToken):
                place = f'line {token.start_mark.line + 1}'
                raise DescriptionError(f"'{where}' cannot be read: YAML tags ({place}) are refused")
        try:
            content = yaml.load(text, Loader=_StrictLoader)
        except DescriptionError as error:
            raise DescriptionError(f"'{where}': {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        line = ' '.join(str(error).split())
        line += ' (YAML is indented by spaces, not by tabs)' if _is_at_a_tab(error, text) else ''
        raise DescriptionError(f"'{where}' cannot be read: {line}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise DescriptionError(f"'{where}' must be a mapping, not a {type(content).__name__}")
    return content


def _is_at_a_tab(error: Exception, text: str) -> bool:
    mark = getattr(error, 'problem_mark', None)
    if mark is None or mark.line >= text.count('\n') + 1:
        return False
    return text.split('\n')[mark.line][mark.column : mark.column + 1] == '\t'


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Parse a sidecar: `read_mapping` with the known keys only."""
    content = read_mapping(text, where)
    unknown = [key for key in content if key not in KEYS]
    if unknown:
        raise DescriptionError(
            f"'{where}' has the unknown key '{unknown[0]}'{suggestion(unknown[0], KEYS)}; "
            f'keys are {", ".join(KEYS)}'
        )
    if not isinstance(content.get('title', ''), str):
        raise DescriptionError(f"'{where}': title must be a text, not {content['title']!r}")
    return content


def numbers(value: Any, count: int, what: str) -> np.ndarray:
    """Return a finite read-only vector (count,) or raise DescriptionError naming `what`."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array([])
    if array.shape != (count,) or not np.all(np.isfinite(array)):
        raise DescriptionError(f'{what} must be {count} finite numbers, not {value!r}')
    return frozen(array)


def number(value: Any, what: str) -> float:
    """Return a finite float or raise DescriptionError naming `what`."""
    try:
        found = float(value) if isinstance(value, int | float) else np.nan
    except OverflowError:  # a whole number may have any length
        found = np.nan
    if isinstance(value, bool) or not np.isfinite(found):
        raise DescriptionError(f'{what} must be a finite number, not {value!r}')
    return found


def known_keys(value: Any, what: str, keys: Collection[str]) -> Mapping[str, Any]:
    """Return a mapping that has only these keys or raise DescriptionError."""
    for key in mapping(value, what):
        if key not in keys:
            raise DescriptionError(
                f"{what} has the unknown key '{key}'{suggestion(str(key), keys)}; keys are "
                f'{", ".join(keys) or "none"}'
            )
    return mapping(value, what)


def per_drive(
    description: Description, value: Any, what: str, default: float | None = None
) -> np.ndarray:
    """Return (n_a,) values given as one number or as {joint: number}; free joints have the default.

    Raises DescriptionError naming `what`, also for a drive that is missing without a default.
    """
    driven = description.driven_joints
    table = value if isinstance(value, Mapping) else dict.fromkeys(driven, number(value, what))
    known_keys(table, what, driven)
    found = []
    for joint in description.actuated_joints:
        if joint not in table and default is None:
            raise DescriptionError(f"{what} has no '{joint}'")
        found.append(number(table.get(joint, default), f'{what}.{joint}'))
    return np.array(found)


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """Return a mapping or raise DescriptionError naming `what`."""
    if not isinstance(value, Mapping):
        raise DescriptionError(f'{what} must be a mapping, not {value!r}')
    return value


def home_of(sidecar: Mapping[str, Any]) -> tuple[Pose, bool, dict[str, float]]:
    """Home pose, whether it was declared, and first guesses of joints at home."""
    if 'home' not in sidecar:
        return Pose(), False, {}
    home = known_keys(sidecar['home'], 'home', ('position', 'rpy', 'joints'))
    if 'rpy' in home and 'position' not in home:
        raise DescriptionError('home has an rpy but no position; both belong to the platform')
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
                f"rotor_inertia names '{name}', which is no joint with a drive"
                f'{suggestion(str(name), actuated)}; '
                f'they are {", ".join(sorted(actuated))}'
            )
    values = {name: number(value, f"rotor_inertia of '{name}'") for name, value in rotors.items()}
    driven = tuple(
        dataclasses.replace(item, rotor_inertia=values.get(item.joint, item.rotor_inertia))
        for item in actuators
    )
    return driven + tuple(Actuator(name, np.nan, free=True) for name in free)


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
                f"free_joints names '{name}', which is no joint with one degree of freedom"
                f'{suggestion(name, scalar)}; without a drive are {valid}'
            )
        if name in names[:index]:
            raise DescriptionError(f"free_joints lists '{name}' twice")
    return tuple(names)


def without_effort(joints: tuple[Joint, ...], free: tuple[str, ...]) -> tuple[Joint, ...]:
    """Set the effort limit of free joints to zero: nothing drives them."""
    held = {j.name: dataclasses.replace(j.limit, effort=0.0) for j in joints if j.name in free}
    return tuple(dataclasses.replace(j, limit=held.get(j.name, j.limit)) for j in joints)


def designs_of(sidecar: Mapping[str, Any], description: Description) -> tuple[tuple[str, ...], ...]:
    """Groups of links or joints of one design; members must agree in their nominal data."""
    groups = sidecar.get('same_design', [])
    if not isinstance(groups, list) or not all(
        isinstance(group, list) and group and all(isinstance(name, str) for name in group)
        for group in groups
    ):
        raise DescriptionError('same_design must be a list of lists of names')
    rotors = {a.joint: a.rotor_inertia for a in description.actuators}
    links = {link.name: link.inertial for link in description.links}
    joints = {j.name: (j.type, j.friction, rotors.get(j.name)) for j in description.joints}
    seen: set[str] = set()
    for group in groups:
        for name in group:
            if name not in links and name not in joints:
                raise DescriptionError(
                    f"same_design names '{name}', which is no link or joint"
                    f'{suggestion(name, [*links, *joints])}'
                )
            if name in seen:
                raise DescriptionError(f"same_design lists '{name}' twice")
            seen.add(name)
        if len({name in links for name in group}) != 1:
            raise DescriptionError(f'same_design mixes links and joints: {group}')
        first = group[0]
        for name in group[1:]:
            if first in links:
                same = _same_inertial(links[first], links[name])
                what = 'masses, centres of mass and inertias'
            else:
                same, what = joints[first] == joints[name], 'type, friction and rotor inertia'
            if not same:
                raise DescriptionError(
                    f"same_design: '{name}' has other nominal parameters than '{first}'; {what} "
                    'must agree'
                )
    return tuple(tuple(group) for group in groups)


def _same_inertial(first: Inertial | None, second: Inertial | None) -> bool:
    if first is None or second is None:
        return first is second
    one, other = first.standard_parameters(), second.standard_parameters()
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))
