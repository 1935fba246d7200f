"""Combinations of parameters as text, with coefficients as numbers of the geometry."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.geometry_numbers import GeometryNumbers
from pkm_dynamics.parameters.groups import ParameterSpace
from pkm_dynamics.parameters.representatives import length_power


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
