"""What the data leave open, and how well they determine the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_identification.arrays import Array, freeze
from pkm_identification.result.fields import Fields

INVISIBLE = 1e-6  # share of its terms that a sum may keep by rounding where it should be zero
LEAST_DERIVATIVE = 1e-12  # of the largest one: less is rounding


@dataclass(frozen=True)
class UnidentifiableDirections:
    """Changes of the unknowns that make no difference to the data.

    Unknowns that take part in such a change have an infinite variance, one by one; a
    combination that the change does not move is known all the same. The unknowns are the base
    parameters (r), followed by the force constants (n_a) where these are estimated.
    """

    directions: Array  # the changes (k, u), of any length, in the units of the unknowns
    covariance: Array  # (u, u) of the estimate with no uncertainty along the directions

    def __post_init__(self) -> None:
        """Copy and freeze the arrays; their shapes must fit."""
        freeze(self, 'directions', 'covariance')
        size = len(self.covariance)
        if self.covariance.shape != (size, size) or self.directions.shape[1:] != (size,):
            raise ValueError(
                f'directions of shape {self.directions.shape} do not fit a covariance of shape '
                f'{self.covariance.shape}'
            )

    def deviation(self, gradient: Array) -> Array:
        """Standard deviations (...) of quantities with these derivatives (..., k).

        By the first k unknowns, the others make no difference; what is beyond the unknowns counts
        as exact. Infinite where a direction moves the quantity.
        """
        gradient = gradient[..., : len(self.covariance)]
        used = slice(0, gradient.shape[-1])
        covariance, directions = self.covariance[used, used], self.directions[:, used]
        moved = np.abs(gradient @ directions.T)
        terms = np.abs(gradient) @ np.abs(directions).T
        is_open = moved > INVISIBLE * terms + LEAST_DERIVATIVE * terms.max(initial=0.0)
        return np.where(is_open.any(axis=-1), np.inf, _deviation(gradient, covariance))

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries of a model file."""
        return {'directions': self.directions, 'covariance': self.covariance}

    @classmethod
    def from_fields(cls, given: Fields, size: int) -> UnidentifiableDirections:
        """Read what `to_mapping` gave, of `size` unknowns; a ValueError names what is wrong."""
        return cls(
            given.numbers('directions', (-1, size), finite=True),
            given.covariance('covariance', size),
        )


def linear_deviation(gradient: Array, covariance: Array) -> Array:
    """Standard deviations (...) of quantities with derivatives (..., u) by unknowns.

    Infinite where one of them moves with an unknown whose variance is infinite.
    """
    known = np.isfinite(np.diag(covariance))
    size = np.abs(gradient)
    is_open = size[..., ~known] > LEAST_DERIVATIVE * size.max(initial=1e-300)
    finite = _deviation(gradient[..., known], covariance[np.ix_(known, known)])
    return np.where(is_open.any(axis=-1), np.inf, finite)


def _deviation(gradient: Array, covariance: Array) -> Array:
    variance = np.einsum('...r,rs,...s->...', gradient, covariance, gradient, optimize=True)
    return np.sqrt(np.maximum(variance, 0.0))
