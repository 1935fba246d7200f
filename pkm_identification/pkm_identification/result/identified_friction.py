"""Identified friction of the drives that is not linear in its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array, freeze
from pkm_identification.result.fields import Fields, check_deviations, different


@dataclass(frozen=True)
class IdentifiedFriction:
    """Friction laws of the drives, with the uncertainty of their parameters."""

    # the friction, with its values (k,); Coulomb and viscous friction are base parameters
    law: DriveFriction
    units: tuple[str, ...]  # one per parameter
    covariance: Array  # (k, k); an infinite variance marks what the data do not determine
    cross_covariance: Array  # (r, k) with the base parameters

    def __post_init__(self) -> None:
        """Copy and freeze the arrays; their shapes must fit."""
        count = len(self.law.names)
        freeze(self, 'covariance', 'cross_covariance')
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

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries of a model file."""
        rows = zip(self.names, self.values, self.standard_deviation, self.units, strict=True)
        keys = ('name', 'value', 'standard_deviation', 'unit')
        return {
            'laws': dict(zip(self.law.joint_names, self.law.laws, strict=True)),
            'transition_velocity': self.law.transition_velocity,
            'parameters': [dict(zip(keys, row, strict=True)) for row in rows],
            'covariance': self.covariance,
            'cross_covariance': self.cross_covariance,
        }

    @classmethod
    def from_fields(cls, given: Fields, joints: list[str], count: int) -> IdentifiedFriction:
        """Read what `to_mapping` gave, of a result with `count` base parameters.

        A `ValueError` names an entry that is malformed.
        """
        rows = given.mappings('parameters')
        names = different([row.text('name') for row in rows], given.path('parameters'))
        values = {name: row.finite('value') for name, row in zip(names, rows, strict=True)}
        law = DriveFriction.from_parameters(
            values, joints, given.number('transition_velocity', least=0.0)
        )
        laws = given.mapping('laws').content
        if names != law.names or dict(zip(joints, law.laws, strict=True)) != dict(laws):
            raise ValueError(f"'{given.where}': laws and parameters do not belong together")
        found = cls(
            law,
            tuple(row.text('unit') for row in rows),
            given.covariance('covariance', len(names)),
            given.numbers('cross_covariance', (count, len(names)), finite=True),
        )
        check_deviations(rows, found.standard_deviation)
        return found
