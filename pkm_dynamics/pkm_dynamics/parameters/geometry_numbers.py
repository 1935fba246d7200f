"""Combinations of parameters as text, with coefficients as numbers of the geometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pkm_description import Description
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.groups import ParameterSpace
from pkm_dynamics.parameters.representatives import length_power, natural_key

TOLERANCE = 1e-9  # relative: far above rounding, far below the digits of a description
_LARGEST_DENOMINATOR = 12
_LARGEST_INTEGER = 1000
_MULTIPLES = (*(Fraction(n) for n in range(2, 13)), Fraction(1, 2), Fraction(1, 3))
_QUANTITIES: tuple[tuple[str, int, Callable[[float, float, float], float]], ...] = (
    ('x', 1, lambda x, y, z: x),
    ('y', 1, lambda x, y, z: y),
    ('z', 1, lambda x, y, z: z),
    ('x^2', 2, lambda x, y, z: x * x),
    ('y^2', 2, lambda x, y, z: y * y),
    ('z^2', 2, lambda x, y, z: z * z),
    ('x y', 2, lambda x, y, z: x * y),
    ('x z', 2, lambda x, y, z: x * z),
    ('y z', 2, lambda x, y, z: y * z),
    ('y^2 + z^2', 2, lambda x, y, z: y * y + z * z),
    ('x^2 + z^2', 2, lambda x, y, z: x * x + z * z),
    ('x^2 + y^2', 2, lambda x, y, z: x * x + y * y),
    ('length', 1, lambda x, y, z: math.sqrt(x * x + y * y + z * z)),
)


class Number(NamedTuple):
    """A number of the geometry: its size, power of length, links and what it is."""

    value: float
    power: int
    links: frozenset[str]
    text: str


class Recognised(NamedTuple):
    """A coefficient as a number of the geometry, and what it is."""

    value: float
    text: str


class GeometryNumbers:
    """Numbers of a description: where joints are attached, and how their axes stand.

    Coordinates, their squares and products, sums of them over the joints between links
    of one design (with `shared`), components of axes.
    """

    def __init__(self, description: Description, shared: bool) -> None:
        self._numbers = list(_numbers(description, shared))
        self._values = np.array([number.value for number in self._numbers])
        self._powers = np.array([number.power for number in self._numbers])
        self._near: dict[frozenset[str], Integers] = {}

    def recognise(self, coefficient: float, power: int, links: Iterable[str]) -> Recognised | None:
        """Find a number that agrees to 1e-9 of its size; None where there is none.

        Integers and simple fractions where the coefficient has no unit; then numbers of
        joints at the given links, those between two of them first; then small multiples,
        products and ratios of such numbers. `power` is that of length in the coefficient's unit.
        """
        size, sign = abs(coefficient), math.copysign(1.0, coefficient)
        fraction = Fraction(size).limit_denominator(_LARGEST_DENOMINATOR)
        if power == 0 and 0 < fraction <= _LARGEST_INTEGER and _close(float(fraction), size):
            return Recognised(sign * float(fraction), str(fraction))
        near = self._at(frozenset(links))
        close = np.abs(self._values[near] - size) <= TOLERANCE * size
        for index in near[close & (self._powers[near] == power)]:
            number = self._numbers[index]
            return Recognised(sign * number.value, number.text)
        return self._multiple(size, sign, near[self._powers[near] == power]) or self._combined(
            size, sign, power, near[self._powers[near] < 2]
        )

    def _at(self, links: frozenset[str]) -> Integers:
        """Numbers that touch one of the links, those that belong to them only first."""
        if links not in self._near:
            touching = [i for i, number in enumerate(self._numbers) if number.links & links]
            touching.sort(key=lambda i: not self._numbers[i].links <= links)
            self._near[links] = np.array(touching, dtype=np.int64)
        return self._near[links]

    def _multiple(self, size: float, sign: float, near: Integers) -> Recognised | None:
        """A small multiple or fraction of a number: parts that are carried twice, or halved."""
        for factor in _MULTIPLES:
            values = float(factor) * self._values[near]
            close = np.flatnonzero(np.abs(values - size) <= TOLERANCE * size)
            if len(close):
                text = self._numbers[near[close[0]]].text
                return Recognised(sign * float(values[close[0]]), f'{factor} * {text}')
        return None

    def _combined(
        self, size: float, sign: float, power: int, simple: Integers
    ) -> Recognised | None:
        """Products and ratios of two numbers, and the inverse of one."""
        values, powers = self._values[simple], self._powers[simple]
        names = [self._numbers[i].text for i in simple]
        products = np.multiply.outer(values, values)
        fitting = np.add.outer(powers, powers) == power
        close = np.argwhere(fitting & (np.abs(products - size) <= TOLERANCE * size))
        if len(close):
            i, j = sorted(close[0].tolist())
            return Recognised(sign * float(products[i, j]), f'{names[i]} * {names[j]}')
        ratios = np.divide.outer(values, values)
        fitting = np.subtract.outer(powers, powers) == power
        close = np.argwhere(fitting & (np.abs(ratios - size) <= TOLERANCE * size))
        if len(close):
            i, j = close[0].tolist()
            return Recognised(sign * float(ratios[i, j]), f'{names[i]} / {names[j]}')
        inverse = np.flatnonzero((powers == -power) & (np.abs(values * size - 1.0) <= TOLERANCE))
        if len(inverse):
            i = int(inverse[0])
            return Recognised(sign / float(values[i]), f'1 / {names[i]}')
        return None


class _Point(NamedTuple):
    """Where a joint is attached to the first link, in that link's frame."""

    label: str
    links: tuple[str, str]
    position: tuple[float, float, float]


def _numbers(description: Description, shared: bool) -> Iterable[Number]:
    points = _points(description)
    for family in _families(description, points) if shared else []:
        around = frozenset(link for point in family for link in point.links)
        for what, power, quantity in _QUANTITIES[:-1]:
            total = abs(math.fsum(quantity(*point.position) for point in family))
            if total > 1e-12:
                first, last = family[0].label, family[-1].label
                yield Number(total, power, around, f'sum of {what} over {first} .. {last}')
    for point in points:
        for what, power, quantity in _QUANTITIES:
            value = abs(quantity(*point.position))
            if value > 0.0:
                yield Number(value, power, frozenset(point.links), f'{what} of {point.label}')
    for name, links, components in _directions(description):
        for component in np.unique(np.abs(components)).tolist():
            if 1e-12 < component < 1.0 - 1e-12:
                yield Number(component, 0, frozenset(links), f'axis of {name}')


def _points(description: Description) -> list[_Point]:
    points = []
    for joint in description.joints:
        if joint.type != 'floating':
            links = joint.parent, joint.child
            points.append(_Point(joint.name, links, _triple(joint.origin.position)))
    for item in description.constraints:
        both = bool(np.any(item.parent_origin.position) and np.any(item.child_origin.position))
        for pose, links in (
            (item.parent_origin, (item.parent, item.child)),
            (item.child_origin, (item.child, item.parent)),
        ):
            label = f'{item.name} on {links[0]}' if both else item.name
            points.append(_Point(label, links, _triple(pose.position)))
    return points


def _triple(position: Floats) -> tuple[float, float, float]:
    x, y, z = position.tolist()
    return x, y, z


def _directions(description: Description) -> Iterable[tuple[str, tuple[str, str], Floats]]:
    for joint in description.joints:
        if joint.type not in ('floating', 'fixed'):
            yield joint.name, (joint.parent, joint.child), joint.axis
            yield joint.name, (joint.parent, joint.child), joint.origin.rotation
    for item in description.constraints:
        for pose, axis in (
            (item.parent_origin, item.parent_axis),
            (item.child_origin, item.child_axis),
        ):
            yield item.name, (item.parent, item.child), pose.rotation @ axis


def _families(description: Description, points: list[_Point]) -> list[list[_Point]]:
    """Points between links of the same two designs, more than one each."""
    design = {
        name: min(group, key=natural_key) for group in description.same_design for name in group
    }
    families: dict[tuple[str, ...], list[_Point]] = {}
    for point in points:
        key = tuple(design.get(link, link) for link in point.links)
        families.setdefault(key, []).append(point)
    return [
        sorted(family, key=lambda point: natural_key(point.label))
        for family in families.values()
        if len(family) > 1
    ]


def _close(value: float, size: float) -> bool:
    return abs(value - size) <= TOLERANCE * size


def recognise(
    model: DynamicModel,
    shared: bool,
    coefficients: Floats,
    space: ParameterSpace,
    kept: list[int],
    folded: list[int],
) -> list[dict[str, str]]:
    """Set coefficients (r, k) to the geometry's numbers that they are; say which.

    Changes `coefficients` in place by less than 1e-9 of their size.
    """
    numbers = GeometryNumbers(model.description, shared)
    owners = [{name.rpartition('.')[0] for name in items} for items in space.members]
    powers = [length_power(unit) for unit in space.units]
    sources: list[dict[str, str]] = [{} for _ in kept]
    for row, column in np.argwhere(coefficients != 0.0):
        first, other = kept[row], folded[column]
        found = numbers.recognise(
            float(coefficients[row, column]),
            powers[first] - powers[other],
            owners[first] | owners[other],
        )
        if found is not None:
            coefficients[row, column] = found.value
            if not found.text.isdigit():
                sources[row][space.labels[other]] = found.text
    return sources


def expression(row: Floats, labels: list[str], first: int) -> str:
    """Write a combination as text, the parameter of index `first` before the others."""
    terms = [labels[first]]
    for index in np.flatnonzero(row):
        if index != first:
            # Rounded twice, so that a tie in the seventh digit falls the same way every time.
            value = float(f'{abs(row[index]):.10g}')
            factor = '' if value == 1.0 else f'{value:.6g}*'
            terms.append(f'{"-" if row[index] < 0 else "+"} {factor}{labels[index]}')
    return ' '.join(terms)
