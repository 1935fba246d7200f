"""Identified friction of the drives that is not linear in its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.friction_laws import DriveFriction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IdentifiedFriction:
    """Friction laws of the drives, with the uncertainty of their parameters.

    Attributes
    ----------
    law
        The friction, with its values (k,); Coulomb and viscous friction are base parameters.
    units
        One per parameter.
    covariance
        (k, k); an infinite variance marks what the data do not determine.
    cross_covariance
        (r, k) with the base parameters.
    """

    law: DriveFriction
    units: tuple[str, ...]
    covariance: Array
    cross_covariance: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays; their shapes must fit."""
        count = len(self.law.names)
        for name in ('covariance', 'cross_covariance'):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        shapes = self.covariance.shape, self.cross_covariance.shape[1:], (len(self.units),)
        if shapes != ((count, count), (count,), (count,)):
            raise ValueError(f'friction with {count} parameters, but other shapes: {shapes}')

    @property
    def names(self) -> list[str]:
        """Names of the parameters (k,), for example `leg1_strut.stribeck_velocity`."""
        return self.law.names

    @property
    def values(self) -> Array:
        """Values (k,) of the parameters."""
        return self.law.values

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (k,) of the values; zero, not rounding, where limits hold them."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
