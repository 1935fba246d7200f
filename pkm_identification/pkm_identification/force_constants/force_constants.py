"""Force constants that were estimated together with the dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array, freeze
from pkm_identification.covariance.unidentifiable_directions import (
    UnidentifiableDirections,
    linear_deviation,
)
from pkm_identification.result.fields import Fields


@dataclass(frozen=True)
class ForceConstants:
    """Estimated force constants of the drives.

    Attributes
    ----------
    joint_names
        Actuated joints.
    values
        Force constants (n_a,) [N/A, N m/A]; nan for joints without a drive.
    covariance
        (n_a, n_a); an infinite variance marks what the data do not determine. That of
        constants which share a factor is singular.
    with_parameters
        Covariance (n_a, r) with the base parameters of the result.
    nominal
        (n_a,) that the data were converted with.
    groups
        Joints that share one estimated factor; joints in none have an exact constant.
    common_deviation
        Relative standard deviation of the geometric mean of the estimated constants:
        infinite where the data show only their ratios.
    ratio_deviation
        Relative standard deviation (n_a,) of each constant over that mean.
    """

    joint_names: tuple[str, ...]
    values: Array
    covariance: Array
    with_parameters: Array
    nominal: Array
    groups: tuple[tuple[str, ...], ...]
    common_deviation: float
    ratio_deviation: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        freeze(self, 'values', 'covariance', 'with_parameters', 'nominal', 'ratio_deviation')

    @property
    def standard_deviation(self) -> Array:
        """Standard deviations (n_a,) of the values."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def by_joint(self) -> dict[str, float]:
        """Force constants of the joints with a drive."""
        pairs = zip(self.joint_names, self.values.tolist(), strict=True)
        return {name: value for name, value in pairs if np.isfinite(value)}

    @property
    def conversion(self) -> dict[str, float]:
        """Force constants of all joints, 1 for those without a drive, whose current is zero."""
        return {name: self.by_joint.get(name, 1.0) for name in self.joint_names}

    def currents(self, forces: Array) -> Array:
        """Currents (N, n_a) [A] of forces (N, n_a) [N, N m]; zero where there is no drive."""
        return np.where(np.isfinite(self.values), forces / self._divisor, 0.0)

    def current_deviation(
        self,
        forces: Array,
        regressor: Array,
        covariance: Array,
        unidentifiable_directions: UnidentifiableDirections | None = None,
    ) -> Array:
        """Standard deviations (N, n_a) [A] of the currents of predicted forces (N, n_a).

        `regressor` are derivatives (N, n_a, k) of the forces by the base parameters, and by those
        of friction laws of the drives where there are some, `covariance` is of these parameters (k,
        k). Where it is infinite the deviation is, too, unless the directions (of base parameters
        and force constants) say that the current stays the same.
        """
        has_drive = np.isfinite(self.values)
        by_constant = np.einsum('na,ab->nab', -forces / self._divisor**2, np.diag(1.0 * has_drive))
        gradient = np.concatenate([regressor / self._divisor[:, None], by_constant], axis=2)
        gradient[:, ~has_drive] = 0.0
        if unidentifiable_directions is not None:
            return unidentifiable_directions.deviation(gradient)
        cross = np.zeros((len(self.values), len(covariance)))
        cross[:, : self.with_parameters.shape[1]] = self.with_parameters
        whole = np.block([[covariance, cross.T], [cross, self.covariance]])
        return linear_deviation(gradient, whole)

    @property
    def _divisor(self) -> Array:
        return np.where(np.isfinite(self.values), self.values, 1.0)

    def to_mapping(self) -> dict[str, Any]:
        """Return numbers and texts for a file."""
        return {
            'values': dict(zip(self.joint_names, self.values, strict=True)),
            'standard_deviation': dict(zip(self.joint_names, self.standard_deviation, strict=True)),
            'nominal': dict(zip(self.joint_names, self.nominal, strict=True)),
            'groups': [list(group) for group in self.groups],
            'common_deviation': self.common_deviation,
            'ratio_deviation': self.ratio_deviation,
            'covariance': self.covariance,
            'covariance_with_parameters': self.with_parameters,
        }

    @classmethod
    def from_fields(cls, fields: Fields, joints: list[str], size: int) -> ForceConstants:
        """Read what `to_mapping` wrote, of a result with `size` parameters.

        A ValueError names what is malformed.
        """
        count = len(joints)

        def column(name: str) -> Array:
            entries = fields.mapping(name)
            return np.array([entries.number(joint) for joint in joints])

        found = cls(
            joint_names=tuple(joints),
            values=column('values'),
            covariance=fields.covariance('covariance', count),
            with_parameters=fields.numbers(
                'covariance_with_parameters', (count, size), finite=True
            ),
            nominal=column('nominal'),
            groups=_groups(fields, joints),
            common_deviation=fields.number('common_deviation', least=0.0),
            ratio_deviation=fields.numbers('ratio_deviation', (count,)),
        )
        if not (found.values[np.isfinite(found.values)] > 0).all():
            raise ValueError(f"'{fields.path('values')}' must be positive")
        if not np.isfinite(found.values).any():
            raise ValueError(f"'{fields.path('values')}' hold no number")
        return found


def _groups(fields: Fields, joints: list[str]) -> tuple[tuple[str, ...], ...]:
    groups = fields.get('groups')
    if not isinstance(groups, list):
        raise ValueError(f"'{fields.path('groups')}' must be a list, not {groups!r}")
    for group in groups:
        if not isinstance(group, list) or not all(name in joints for name in group):
            raise ValueError(f"'{fields.path('groups')}' holds {group!r}, no list of joints")
    return tuple(tuple(group) for group in groups)


def given_constants(model: ClosedChainModel, size: int) -> ForceConstants:
    """Return the force constants of a description, as exact, beside `size` parameters.

    EstimationError where a drive has none.
    """
    joints = tuple(model.actuated_joints)
    values = np.array(model.force_constants, dtype=float)
    known = {*model.free_joints, *(joints[i] for i in np.flatnonzero(np.isfinite(values)))}
    lacking = [name for name in joints if name not in known]
    if lacking:
        raise EstimationError(
            f"the description gives '{lacking[0]}' no force constant: currents are not known"
        )
    return exact_constants(joints, values, size)


def exact_constants(joints: Sequence[str], values: Array, size: int) -> ForceConstants:
    """Return force constants (n_a,) that count as exact, beside `size` parameters."""
    count = len(joints)
    return ForceConstants(
        joint_names=tuple(joints),
        values=values,
        covariance=np.zeros((count, count)),
        with_parameters=np.zeros((count, size)),
        nominal=values,
        groups=(),
        common_deviation=0.0,
        ratio_deviation=np.zeros(count),
    )
