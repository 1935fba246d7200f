"""Redundant actuation: the YAML's section, the minimal coordinates, and what refuses such robots.

The mechanism is described by the positions of as many drives as it has degrees of freedom, its
coordinates. The positions of the other drives follow from these; friction and rotors of all drives
act where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.description import (
    Array,
    Constraint,
    Description,
    Joint,
    RedundantActuation,
    frozen,
)
from pkm_description.errors import DescriptionError, RedundantActuationError
from pkm_description.sidecar import known_keys, mapping, number
from pkm_description.xml_elements import suggestion

SECTION = 'redundant_actuation'
KEYS = ('drives', 'scale', 'preload')


def with_redundant_actuation(description: Description) -> Description:
    """Return the robot with what the section `redundant_actuation` of its YAML says.

    Raises DescriptionError where the section names no joint with a drive, or cannot be used, and
    RedundantActuationError where the robot has something else that does not go with it.
    """
    if SECTION not in description.sidecar:
        return description
    section = known_keys(description.sidecar[SECTION], SECTION, KEYS)
    names = description.driven_joints
    drives = section.get('drives')
    if not isinstance(drives, list) or not all(isinstance(name, str) for name in drives):
        raise DescriptionError(
            f'{SECTION}.drives must be a list of the joints with a drive whose positions follow '
            f'from those of the others, not {drives!r}'
        )
    for index, name in enumerate(drives):
        _check_named(name, names, 'drives')
        if name in drives[:index]:
            raise DescriptionError(f"{SECTION}.drives lists '{name}' twice")
    if not 0 < len(drives) < len(names):
        raise DescriptionError(
            f'{SECTION}.drives must name at least one drive and leave one, not {len(drives)} of '
            f'{len(names)}'
        )
    largest = {name: description.joint(name).limit.effort for name in names}
    scale = _per_drive(section.get('scale', {}), 'scale', largest)
    for name, value in zip(names, scale, strict=True):
        if value <= 0.0:
            raise DescriptionError(f'{SECTION}.scale.{name} must be positive, not {value:g}')
    preload = _per_drive(section.get('preload', {}), 'preload', dict.fromkeys(names, 0.0))
    found = replace(
        description,
        redundant_actuation=RedundantActuation(tuple(drives), tuple(names), scale, preload),
    )
    _check_alone(found)
    return found


def coordinate_description(description: Description) -> Description:
    """Return the mechanism driven at its coordinates alone, with the other drives as followers.

    A robot without redundant actuation is returned as it is. Forces of the result are generalised
    forces at its coordinates, not those of the drives there. Raises RedundantActuationError where
    the robot has something that does not go with it.
    """
    redundant = description.redundant_actuation
    if redundant is None or description.followers:
        return description
    _check_alone(description)
    followers = tuple(a for a in description.actuators if a.joint in redundant.drives)
    own = tuple(a for a in description.actuators if a.joint not in redundant.drives)
    return replace(description, actuators=own, followers=followers)


def drive_description(description: Description) -> Description:
    """Return the robot with all its drives of what `coordinate_description` returned."""
    redundant = description.redundant_actuation
    if redundant is None or not description.followers:
        return description
    drives = {each.joint: each for each in (*description.actuators, *description.followers)}
    actuators = tuple(drives[name] for name in redundant.joints)
    return replace(description, actuators=actuators, followers=())


def refuse_redundant_actuation(description: Description, use: str) -> None:
    """Raise RedundantActuationError where a robot has more drives than degrees of freedom.

    `use` says what it was wanted for.
    """
    redundant = description.redundant_actuation
    if redundant is not None:
        raise RedundantActuationError(
            f"robot '{description.name}' has more drives than degrees of freedom "
            f'({", ".join(redundant.drives)}): {use} is not made for these'
        )


def _check_alone(description: Description) -> None:
    """Refuse what does not go with redundant actuation yet."""
    rubbing: list[Joint | Constraint] = [*description.joints, *description.constraints]
    present = {
        'a free joint': description.free_joints,
        'a transmission': description.transmissions,
        'a drive term': description.drive_terms,
        'friction by load': [
            item.name for item in rubbing if item.friction and item.friction.load is not None
        ],
    }
    for what, found in present.items():
        if found:
            refuse_redundant_actuation(description, what)


def _check_named(name: str, names: list[str], where: str) -> None:
    if name not in names:
        raise DescriptionError(
            f"{SECTION}.{where} names '{name}', which is no joint with a drive"
            f'{suggestion(name, names)}; they are {", ".join(names)}'
        )


def _per_drive(given: Any, key: str, default: Mapping[str, float]) -> Array:
    """Numbers (n_a,) by joint, the default where none is given."""
    table = mapping(given, f'{SECTION}.{key}')
    for name in table:
        _check_named(str(name), list(default), key)
    values = {**default, **table}
    return frozen(np.array([number(values[name], f'{SECTION}.{key}.{name}') for name in default]))
