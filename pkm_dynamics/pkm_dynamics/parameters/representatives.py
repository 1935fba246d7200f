"""Which parameter stands for each combination, from the mechanism alone.

A choice must not depend on the motions, the nominal values, the order of legs in the
file or rounding, so it looks at the exact null space and at how the links are connected.
Links have an order, and what comes later is folded into what comes before: the platform
first where loops meet in it, so that its mass carries those of the struts, and outwards
from the base in a serial arm, as in the usual regrouping for such arms [Khalil, Dombre].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pkm_description import Constraint, Description, Joint
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.groups import ParameterSpace

# Inertias first: masses are what is folded in.
_FIELD_ORDER = ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz', 'mx', 'my', 'mz', 'm')
_KIND_ORDER = {'friction': 0, 'rigid_body': 1, 'rotor': 2, 'drive': 3}
# Share of a parameter in what is free to fold in, below which another one is folded first;
# no round number, so that no round geometry lies on the edge.
_LEAST_SHARE = 0.0317
_POWERS = {'kg': 0, 'kg m': 1, 'kg m^2': 2, 'N m': 1, 'N m s/rad': 2}
DUST = 1e-9  # a coefficient of this size, lengths relative to the robot's, is none


def preference(model: DynamicModel, space: ParameterSpace, places: Mapping[str, int]) -> list[int]:
    """Order the free parameters, most wanted as a representative first.

    `places` are those of the links, the least first.
    """
    actuated = set(model.actuated_joints)

    def key(index: int) -> tuple:
        kind = space.kinds[index]
        owners = [name.rpartition('.')[0] for name in space.members[index]]
        field = space.labels[index].rpartition('.')[2]
        if kind == 'rigid_body':
            near = min(places.get(owner, len(places)) for owner in owners)
            place = _FIELD_ORDER.index(field)
        else:
            near, place = int(owners[0] not in actuated), 0
        return _KIND_ORDER[kind], near, natural_key(min(owners, key=natural_key)), place, field

    return sorted(range(len(space.labels)), key=key)


def choose_places(model: DynamicModel, space: ParameterSpace, null: Floats) -> dict[str, int]:
    """Order of the links whose combinations are shortest, for standard parameters, none shared.

    `null` (k, n_p) are orthonormal null directions.
    """

    def length(places: Mapping[str, int]) -> int:
        return _length(fold(null, preference(model, space, places)), space)

    orders = _orders(model.description)
    return orders[0] if len(orders) == 1 else min(orders, key=length)


def _orders(description: Description) -> list[dict[str, int]]:
    """Orders of the links in which others are folded into them, the preferred one first.

    Outwards from the platform, or first the platform and then outwards from the base,
    where loops meet in the platform; outwards from the base where they do not, or where
    the platform is but a link of a planar loop.
    """
    from_base = distances(description, description.base_link)
    from_platform = distances(description, description.platform)
    platform_first = {**from_base, description.platform: -1}
    connections = _connections(description)
    if connections < 2:
        return [from_base]
    return [from_platform, platform_first] + ([from_base] if connections == 2 else [])


def _connections(description: Description) -> int:
    """Joints and loop closures that move at the platform, or at links fixed to it."""
    rigid = {description.platform}
    items: list[Joint | Constraint] = [*description.joints, *description.constraints]
    for _ in description.joints:
        for item in items:
            if item.type == 'fixed' and rigid & {item.parent, item.child}:
                rigid |= {item.parent, item.child} - {description.base_link}
    return sum(
        item.type not in ('fixed', 'floating') and bool(rigid & {item.parent, item.child})
        for item in items
    )


def distances(description: Description, start: str) -> dict[str, int]:
    """Joints between each link and the one named `start`, loop closures too."""
    neighbours: dict[str, set[str]] = {}
    items: list[Joint | Constraint] = [*description.joints, *description.constraints]
    for item in items:
        if item.type != 'floating':
            neighbours.setdefault(item.parent, set()).add(item.child)
            neighbours.setdefault(item.child, set()).add(item.parent)
    found = {start: 0}
    pending = [start]
    while pending:
        link = pending.pop(0)
        for other in neighbours.get(link, ()):
            if other not in found:
                found[other] = found[link] + 1
                pending.append(other)
    return found


def length_power(unit: str) -> int:
    """Power of length in a parameter's unit."""
    return _POWERS.get(unit, 0)


def natural_key(name: str) -> tuple:
    """Sort names with numbers by their value: leg2 before leg10."""
    parts = re.split(r'(\d+)', name)
    return tuple((int(part), '') if part.isdigit() else (-1, part) for part in parts)


class Folding(NamedTuple):
    """Representatives, what is folded into them and how.

    The base parameters are p[kept] + coefficients @ p[folded].
    """

    kept: list[int]
    folded: list[int]
    coefficients: Floats


def _length(folding: Folding, space: ParameterSpace) -> int:
    """Terms of all combinations.

    Two kinds count double: a moment divided by a length that is added to a mass, and a
    mass that is subtracted from a mass or a moment of inertia.
    """
    powers = [length_power(unit) for unit in space.units]
    fields = [label.rpartition('.')[2] for label in space.labels]
    length = 0
    for row, column in np.argwhere(np.abs(folding.coefficients) > DUST):
        first, other = folding.kept[row], folding.folded[column]
        subtracted = folding.coefficients[row, column] < 0.0
        masses = fields[other] == 'm' and fields[first] in ('m', 'Ixx', 'Iyy', 'Izz')
        length += 2 if powers[first] < powers[other] or (masses and subtracted) else 1
    return length


def fold(null: Floats, order: list[int]) -> Folding:
    """Split parameters into representatives and those that are folded into them.

    `null` (k, n) are orthonormal null directions; `order` has the parameters most wanted as a
    representative first.
    """
    rest = null.copy()
    folded: list[int] = []
    least = _LEAST_SHARE
    while len(rest):
        for index in reversed(order):
            if index in folded or len(rest) == 0:
                continue
            share = np.linalg.norm(rest[:, index])
            if share > least:
                folded.append(index)
                rest = _without(rest, index)
        least /= 10.0
    folded.sort()
    kept = sorted(set(order) - set(folded))
    if not folded:
        return Folding(kept, [], np.zeros((len(kept), 0)))
    coefficients = -np.linalg.solve(null[:, folded], null[:, kept]).T
    coefficients[np.abs(coefficients) < DUST] = 0.0
    return Folding(kept, folded, np.asarray(coefficients, dtype=np.float64))


def _without(rows: Floats, index: int) -> Floats:
    """Orthonormal basis (k - 1, n) of what the rows (k, n) span with a zero at `index`."""
    mirror = rows[:, index].copy()
    mirror[0] += np.copysign(np.linalg.norm(mirror), mirror[0])
    # A reflection that takes the column to its first entry; the other rows have none of it.
    reflected = rows - np.outer(mirror, mirror @ rows) * (2.0 / (mirror @ mirror))
    return reflected[1:]
