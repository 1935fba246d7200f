"""Force constants and payloads that were estimated together with the dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description import Payload
from pkm_description.errors import EstimationError

Array = NDArray[np.float64]

PARTS = (('mass', slice(0, 1)), ('centre', slice(1, 4)), ('inertia', slice(4, 10)))


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
        for name in ('values', 'covariance', 'with_parameters', 'nominal', 'ratio_deviation'):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

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

    def current_deviation(self, forces: Array, regressor: Array, covariance: Array) -> Array:
        """Standard deviations (N, n_a) [A] of predicted currents.

        Parameters
        ----------
        forces
            Predicted (N, n_a).
        regressor
            Of the base parameters (N, n_a, r).
        covariance
            Of the base parameters (r, r). Where it is infinite the deviation is, too; also
            where constants and parameters are undetermined by a common factor alone, of
            which currents do not depend.
        """
        known = np.isfinite(np.diag(covariance))
        block = regressor[..., known]
        axes = np.arange(len(self.values))
        relative = forces / self._divisor
        own = np.diag(self.covariance)
        variance = np.einsum('nar,rs,nas->na', block, covariance[np.ix_(known, known)], block)
        cross = np.einsum('nar,ar->na', block, self.with_parameters[np.ix_(axes, known)])
        finite = np.where(np.isfinite(own), own, 0.0)
        variance = variance - 2 * relative * cross + relative**2 * finite
        scale = max(float(np.abs(block).max(initial=0.0)), 1e-300)
        hidden = (np.abs(regressor[..., ~known]) > 1e-12 * scale).any(axis=-1) | ~np.isfinite(own)
        deviation = np.sqrt(np.maximum(variance, 0.0)) / self._divisor
        deviation = np.where(np.isfinite(self.values), deviation, 0.0)
        return np.where(hidden & np.isfinite(self.values), np.inf, deviation)

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
    def from_mapping(
        cls, content: Mapping[str, Any], joints: list[str], size: int
    ) -> ForceConstants:
        """Read what `to_mapping` wrote, of a result with `size` parameters.

        Raises
        ------
        ValueError, KeyError, TypeError
            The content is malformed.
        """
        def column(name: str) -> Array:
            return np.array([float(content[name][joint]) for joint in joints])

        found = cls(
            joint_names=tuple(joints),
            values=column('values'),
            covariance=content['covariance'],
            with_parameters=content['covariance_with_parameters'],
            nominal=column('nominal'),
            groups=tuple(tuple(str(name) for name in group) for group in content['groups']),
            common_deviation=float(content['common_deviation']),
            ratio_deviation=content['ratio_deviation'],
        )
        count = len(joints)
        for array, shape, what in (
            (found.covariance, (count, count), 'covariance'),
            (found.with_parameters, (count, size), 'covariance_with_parameters'),
            (found.ratio_deviation, (count,), 'ratio_deviation'),
        ):
            if array.shape != shape:
                raise ValueError(f'{what} of force_constants has shape {array.shape}, not {shape}')
        if (found.values <= 0).any() or not np.isfinite(found.values).any():
            raise ValueError('force_constants must be positive')
        if np.isnan(found.covariance).any() or (np.diag(found.covariance) < 0).any():
            raise ValueError('covariance of force_constants has a negative variance or NaN')
        return found


def given_constants(model: Any, size: int) -> ForceConstants:
    """Return the force constants of a description, as exact, beside `size` parameters.

    Raises
    ------
    EstimationError
        A drive has none.
    """
    joints = tuple(model.actuated_joints)
    values = np.array(model.force_constants, dtype=float)
    free = set(getattr(model, 'free_joints', ()))
    lacking = [
        name for name, value in zip(joints, values, strict=True)
        if name not in free and not np.isfinite(value)
    ]  # fmt: skip
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
        for name, shape in (('values', (10,)), ('covariance', (10, 10))):
            array = np.array(getattr(self, name), dtype=float)
            if array.shape != shape:
                raise ValueError(f'{name} of a payload has shape {array.shape}, not {shape}')
            array.setflags(write=False)
            object.__setattr__(self, name, array)

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

        Raises
        ------
        DescriptionError
            No body can have this mass.
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
    def from_mapping(cls, content: Mapping[str, Any]) -> PayloadEstimate:
        """Read what `to_mapping` wrote; raises ValueError, KeyError or TypeError."""
        return cls(
            name=str(content['name']),
            link=str(content['link']),
            datasets=tuple(int(number) for number in content['datasets']),
            values=np.hstack([content['mass'], content['centre'], content['inertia']]),
            covariance=content['covariance'],
        )
