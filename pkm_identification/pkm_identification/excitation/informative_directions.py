"""Which combinations of parameters a motion shows least and best: what bounds its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import EstimationError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ParameterDirection:
    """A unit vector in the space of the parameters, and how well it is seen.

    Attributes
    ----------
    information : float
        Eigenvalue of the information matrix.
    components : dict
        {parameter: component}, the largest first.
    """

    information: float
    components: dict[str, float]

    @property
    def standard_deviation(self) -> float:
        """Of the parameters along this direction; infinite where nothing is seen."""
        return float(self.information**-0.5) if self.information > 0.0 else float('inf')


def parameter_directions(
    information: ArrayLike, names: Sequence[str], scaled: bool = False
) -> list[ParameterDirection]:
    """Return the eigenvectors of an information matrix (n, n), the least visible first.

    The first and the last bound the condition number, whose square is the ratio of their
    eigenvalues: the first tells what the motion shows too little of, the last what it shows
    more of than it needs.

    Parameters
    ----------
    information : (n, n)
    names : sequence of n parameters
    scaled : bool
        Count every parameter in units in which it alone would have unit information, as
        `condition_number_scaled` does, rather than in SI units.

    Raises
    ------
    EstimationError
        For another shape, or numbers that are not finite.
    """
    matrix = np.array(information, dtype=float)
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise EstimationError(
            f'information of {len(names)} parameters must be a finite matrix '
            f'({len(names)}, {len(names)}), got {matrix.shape}'
        )
    if scaled:
        lengths = np.sqrt(np.diag(matrix))
        lengths[lengths <= 0.0] = 1.0
        matrix = matrix / np.outer(lengths, lengths)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return [
        _direction(float(value), vector, names)
        for value, vector in zip(values, vectors.T, strict=True)
    ]


def _direction(value: float, vector: Array, names: Sequence[str]) -> ParameterDirection:
    order = np.argsort(-np.abs(vector), kind='stable')
    sign = 1.0 if vector[order[0]] >= 0.0 else -1.0
    components = {names[i]: float(sign * vector[i]) for i in order}
    return ParameterDirection(max(value, 0.0), components)
