"""What may change on a robot, as directions of its watched parameters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from pkm_description.payload import STANDARD
from pkm_identification.arrays import Array
from pkm_identification.monitoring.watched_parameters import (
    ENCODER,
    FORCE_SCALE,
    FRICTION,
    ROTOR,
    WatchedParameters,
)

# Drives from which on friction that all of them have in common is told from that of one
LEAST_IN_COMMON = 3


class Kind(str, Enum):
    """Kinds of changes."""

    PAYLOAD = 'payload'
    FRICTION = 'friction'
    FORCE_CONSTANT = 'force_constant'
    ROTOR = 'rotor'
    ENCODER = 'encoder'
    COMMON_FRICTION = 'common_friction'


@dataclass(frozen=True)
class Cause:
    """A change by amounts (d,) along directions (w, d) of the watched parameters."""

    kind: Kind
    joint: str  # empty where it is of no single joint
    names: tuple[str, ...]  # of the amounts (d,)
    directions: Array
    also: Array  # (w, e): what else changes with it, unknown
    group: str  # changes that are found alike well

    @property
    def key(self) -> str:
        """Name of the change, unique on a robot."""
        return f'{self.kind.value} {self.joint}'.strip()


def causes_of(watched: WatchedParameters) -> list[Cause]:
    """Return the changes that are looked for on a robot.

    Friction that the drives have in common comes first, where there are at least three: it changes
    with the temperature, and is no cause of concern.
    """
    model, index, size = watched.model, watched.index, len(watched.names)

    def unit(*names: str) -> Array:
        return np.eye(size)[:, [index[name] for name in names]]

    drives, link = model.actuated_joints, model.description.platform
    nominal = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    nothing = unit()
    found = []
    kinds = [each for each in FRICTION if any(nominal.get(f'{j}.{each}') for j in drives)]
    if len(drives) >= LEAST_IN_COMMON and kinds:
        common = np.zeros((size, len(kinds)))
        for k, each in enumerate(kinds):
            for joint in drives:
                if (name := f'{joint}.{each}') in index:
                    common[index[name], k] = nominal[name]
        kind = Kind.COMMON_FRICTION
        found.append(Cause(kind, '', tuple(kinds), common, nothing, kind.value))
    point = [name for name in STANDARD[:4] if f'{link}.{name}' in index]
    if point:
        rest = unit(*(f'{link}.{n}' for n in STANDARD[4:] if f'{link}.{n}' in index))
        columns = unit(*(f'{link}.{name}' for name in point))
        kind = Kind.PAYLOAD
        found.append(Cause(kind, '', tuple(point), columns, rest, kind.value))
    joints = dict.fromkeys(n.rpartition('.')[0] for n in index if n.rpartition('.')[2] in FRICTION)
    for joint in joints:
        own = tuple(each for each in FRICTION if f'{joint}.{each}' in index)
        columns = unit(*(f'{joint}.{each}' for each in own))
        group = 'friction of drives' if joint in drives else 'friction of passive joints'
        found.append(Cause(Kind.FRICTION, joint, own, columns, nothing, group))
    of_drives = ((Kind.FORCE_CONSTANT, FORCE_SCALE), (Kind.ENCODER, ENCODER), (Kind.ROTOR, ROTOR))
    for kind, name in of_drives:
        for joint in drives:
            if f'{joint}.{name}' in index:
                columns = unit(f'{joint}.{name}')
                found.append(Cause(kind, joint, (name,), columns, nothing, kind.value))
    return found
