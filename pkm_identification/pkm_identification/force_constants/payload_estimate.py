"""Payloads that were estimated together with the dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description import Payload
from pkm_description.payload import PARTS
from pkm_identification.arrays import Array, freeze
from pkm_identification.result.fields import Fields


@dataclass(frozen=True)
class PayloadEstimate:
    """A body that was fixed to the platform in some of the data, as the data show it.

    Attributes
    ----------
    name, link
        Of the payload.
    datasets
        Numbers of the datasets, from 0, in which it was there.
    values
        Mass [kg], centre [m], inertia about the centre [kg m^2] (10,): m, cx, cy, cz, Ixx,
        Ixy, Ixz, Iyy, Iyz, Izz.
    covariance
        (10, 10); zero for what was given as exact, infinite variance for what neither the
        data nor the payload as given determine.
    """

    name: str
    link: str
    datasets: tuple[int, ...]
    values: Array
    covariance: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        freeze(self, 'values', 'covariance')
        if (self.values.shape, self.covariance.shape) != ((10,), (10, 10)):
            raise ValueError(
                f'a payload has values of shape {self.values.shape} and a covariance of shape '
                f'{self.covariance.shape}, not (10,) and (10, 10)'
            )

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (10,) of the values."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.values[0])

    @property
    def centre(self) -> Array:
        """Centre of mass (3,) [m] in the frame of the link."""
        return self.values[1:4]

    @property
    def inertia(self) -> Array:
        """Inertia (3, 3) [kg m^2] about the centre of mass."""
        full = np.zeros((3, 3))
        full[np.triu_indices(3)] = self.values[4:]
        return full + np.triu(full, 1).T

    def as_payload(self) -> Payload:
        """Return the payload for another identification; what is not determined is left open.

        DescriptionError where no body can have this mass.
        """
        deviation = self.standard_deviation
        fields: dict[str, Any] = {}
        for name, part in PARTS:
            if np.isfinite(deviation[part]).all():
                value, spread = self.values[part], deviation[part]
                fields[name] = value[0] if name == 'mass' else value
                fields[f'{name}_deviation'] = spread[0] if name == 'mass' else spread
        return Payload(**fields, name=self.name, link=self.link)

    def to_mapping(self) -> dict[str, Any]:
        """Return numbers and texts for a file."""
        deviation = self.standard_deviation
        return {
            'name': self.name,
            'link': self.link,
            'datasets': list(self.datasets),
            'mass': self.mass,
            'mass_deviation': deviation[0],
            'centre': self.centre,
            'centre_deviation': deviation[1:4],
            'inertia': self.values[4:],
            'inertia_deviation': deviation[4:],
            'covariance': self.covariance,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> PayloadEstimate:
        """Read what `to_mapping` wrote; a ValueError names what is malformed."""
        datasets = fields.numbers('datasets', (-1,), finite=True)
        centre = fields.numbers('centre', (3,), finite=True)
        inertia = fields.numbers('inertia', (6,), finite=True)
        return cls(
            name=fields.text('name'),
            link=fields.text('link'),
            datasets=tuple(int(number) for number in datasets),
            values=np.array([fields.number('mass'), *centre, *inertia]),
            covariance=fields.covariance('covariance', 10),
        )
