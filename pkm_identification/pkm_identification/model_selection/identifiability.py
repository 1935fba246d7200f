"""Which parameters a recording identifies properly [M 5.3]; METHODS section 6.

A base parameter is properly identified where its relative standard deviation is at most
15 % and its value can belong to real bodies and friction. The latter is a matter of sign:
a linear form of the standard parameters is non-negative (or non-positive) on the cone of
physical ones, or it can have any value.

Where bodies or rotors are equal, some base parameters are differences of them, and zero: a
share of a value near zero says nothing. What the data know of them is judged by the size of the
parts that are subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.options import THRESHOLD
from pkm_identification.physical.bodies import PhysicalBodies
from pkm_identification.physical.cone_program import equal, minimise, physical_rows
from pkm_identification.result.result import IdentificationResult

ROUNDING = 1e-9  # of the terms of a difference, by which it is zero
SIGN_ROUNDING = 1e-6  # of a form's largest value on the cone


@dataclass(frozen=True)
class Identifiability:
    """How well each base parameter is known.

    Attributes
    ----------
    names
        Base parameters (r,).
    values, relative
        Estimates (r,), and their standard deviations by these [%], or by the size of the equal
        parts where they are differences of them; infinite for what the data do not determine.
    signs
        (r,): 1 where no real robot has a negative value, -1 where none has a positive one,
        else 0.
    is_estimated
        (r,), False for parameters that were held at a given value.
    threshold
        Largest relative standard deviation [%] of a properly identified parameter.
    is_difference
        (r,), True for differences of parts that are equal in the description; None: none are.
    """

    names: list[str]
    values: Array
    relative: Array
    signs: Indices
    is_estimated: Mask
    threshold: float
    is_difference: Mask | None = None

    @property
    def differences(self) -> list[str]:
        """Names of the differences of equal parts."""
        if self.is_difference is None:
            return []
        return [name for name, each in zip(self.names, self.is_difference, strict=True) if each]

    @property
    def is_determined(self) -> Mask:
        """Whether the data determine the parameter at all (r,)."""
        return np.isfinite(self.relative) & self.is_estimated

    @property
    def is_possible(self) -> Mask:
        """Whether a real robot can have the parameter's value (r,)."""
        return self.signs * self.values >= 0

    @property
    def is_proper(self) -> Mask:
        """Properly identified (r,): known within the threshold, and possible."""
        return self.is_estimated & self.is_possible & (self.relative <= self.threshold)

    @property
    def count(self) -> int:
        """Number of properly identified parameters."""
        return int(np.count_nonzero(self.is_proper))

    def verdict(self, index: int) -> str:
        """Say in a word or two how well a parameter is known."""
        if not self.is_estimated[index]:
            return 'held'
        if not self.is_determined[index]:
            return 'undetermined'
        if not self.is_possible[index]:
            return 'impossible sign'
        return 'proper' if self.is_proper[index] else 'uncertain'

    def rows(self) -> list[dict[str, Any]]:
        """Return name, value, relative standard deviation [%] and verdict of each parameter.

        Of differences of equal parts (`is_difference`) the deviation is relative to these.
        """
        differences = set(self.differences)
        return [
            {
                'name': name,
                'value': float(self.values[i]),
                'relative_standard_deviation': float(self.relative[i]),
                'verdict': self.verdict(i),
                'is_difference': name in differences,
            }
            for i, name in enumerate(self.names)
        ]


_SIGNS: WeakKeyDictionary[BaseParameters, Indices] = WeakKeyDictionary()


def identifiability(
    result: IdentificationResult,
    model: ClosedChainModel | None = None,
    threshold: float = THRESHOLD.default,
) -> Identifiability:
    """Judge the parameters of a result.

    Parameters
    ----------
    result
        From `identify`.
    model
        Its mechanism; the result loads it itself where it is not given.
    threshold
        Largest relative standard deviation [%] of a properly identified parameter.

    Raises
    ------
    EstimationError
        The mechanism has other base parameters than the result.
    ModelFileError
        The result belongs to another robot.
    """
    mechanism = result.model if model is None else result.with_model(model).model
    base = base_of(result, mechanism)
    sizes = sizes_of_differences(base.matrix, mechanism.nominal_parameters)
    scale = np.maximum(np.abs(result.values), sizes)
    with np.errstate(divide='ignore', invalid='ignore'):
        by_size = 100 * result.standard_deviation / scale
    held = set(result.diagnostics.parameters.fixed)
    return Identifiability(
        names=list(result.names),
        values=np.asarray(result.values),
        relative=np.where(sizes > 0, by_size, result.relative_standard_deviation),
        signs=possible_signs(base, mechanism),
        is_estimated=np.array([name not in held for name in result.names], dtype=bool),
        threshold=check_threshold(threshold),
        is_difference=sizes > 0,
    )


def sizes_of_differences(matrix: Array, nominal: Array) -> Array:
    """Sizes (r,) of equal parts whose difference a base parameter is; 0 for all others.

    Of base parameters `matrix` (r, n_p) at the `nominal` standard parameters (n_p,): half the sum
    of the absolute terms, where the terms themselves cancel.
    """
    terms = np.abs(matrix) @ np.abs(nominal)
    cancels = np.abs(matrix @ nominal) <= ROUNDING * terms
    return np.where(cancels, 0.5 * terms, 0.0)


def check_threshold(threshold: float) -> float:
    """Return a relative standard deviation [%] that is one, else raise `EstimationError`."""
    if not isinstance(threshold, int | float) or not 0.0 < threshold < np.inf:
        raise EstimationError(f'the threshold must be a positive percentage, got {threshold!r}')
    return float(threshold)


def base_of(result: IdentificationResult, model: ClosedChainModel) -> BaseParameters:
    """Base parameters of a result; EstimationError where the mechanism has other ones."""
    shared, reduced = result.provenance.shared, result.provenance.reduced
    base = model.base_parameters(shared=shared, reduced=reduced)
    if list(base.names) != list(result.names):
        raise EstimationError(
            f"the base parameters of the result ({len(result.names)}) are not those of '"
            f"{model.description.name}' with shared={shared}, reduced={reduced} "
            f'({len(base.names)})'
        )
    return base


def possible_signs(base: BaseParameters, model: ClosedChainModel) -> Indices:
    """Signs (r,) that real bodies and friction allow: 1, -1, or 0 where both are possible.

    Each base parameter is minimised and maximised over the physical standard parameters
    whose pseudo-inertias (scaled) and coefficients sum up to one; once for the same `base`.
    """
    if base not in _SIGNS:
        _SIGNS[base] = _possible_signs(base, model)
        _SIGNS[base].setflags(write=False)
    return _SIGNS[base]


def _possible_signs(base: BaseParameters, model: ClosedChainModel) -> Indices:
    bodies = PhysicalBodies(model, base.space)
    rows = np.asarray(base.matrix) @ base.space.expand * bodies.sizes
    total = sum(np.einsum('aak->k', bodies.scaled_basis(name)) for name in bodies.blocks)
    is_coefficient = np.isin(np.arange(len(bodies.names)), bodies.coefficients)
    total = total + is_coefficient
    limited = is_coefficient.copy()  # by a body or as a coefficient
    for block in bodies.blocks.values():
        limited |= np.any(block != 0.0, axis=0)
    conditions = [
        equal(np.vstack([total, np.eye(len(total))[~limited]]), np.eye(1 + sum(~limited))[0]),
        *physical_rows(bodies, 0.0),
    ]
    signs = np.zeros(len(rows), dtype=np.int64)
    for index, row in enumerate(rows):
        used = np.flatnonzero(row)
        if not limited[used].all():
            continue
        if is_coefficient[used].all():  # no body in it
            signs[index] = 1 if (row[used] > 0).all() else -1 if (row[used] < 0).all() else 0
            continue
        ends = []
        for direction in (1.0, -1.0):
            form = direction * row / np.abs(row).max()
            found = minimise(np.zeros(len(form)), form, conditions)
            if not found.is_solved:
                raise EstimationError(
                    f"no range of '{base.names[index]}' found: solver says {found.status}"
                )
            ends.append(direction * found.value)
        low, high = ends
        rounding = SIGN_ROUNDING * max(abs(low), abs(high))
        signs[index] = 1 if low >= -rounding else -1 if high <= rounding else 0
    return signs
