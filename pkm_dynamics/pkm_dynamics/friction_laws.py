"""Friction of the drives beyond Coulomb and viscous: laws that are not linear in all parameters.

A drive's friction is F(v) = c s(v) + d v + f(v). The Coulomb and viscous part is linear and
belongs to the standard parameters (`<joint>.coulomb`, `<joint>.viscous`); f is one of

    stribeck   D s(v) exp(-(|v| / vs)^n)     D = Fs - Fc, static over Coulomb friction
    atan       D atan(k v)                    [M eq. 16]
    power      D s(v) |v|^n                   [M eq. 17], with no viscous part beside it

with s(v) the sign of v, linear between -v0 and v0: the same smoothing around standstill, with
the description's `transition_velocity` v0, that Coulomb friction has [O 4.5]. (The exponent of
the Stribeck term is negative; [M eq. 32] prints no sign.) Every law vanishes at standstill, so
no force depends on the direction in which a drive came to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.description import frozen
from pkm_description.errors import ModelFileError
from pkm_dynamics.array_types import Floats, Integers

Evaluation = tuple[Floats, tuple[Floats, ...]]

LINEAR = 'coulomb_viscous'


class FrictionLaw(NamedTuple):
    """One law f(v)."""

    # its parameters, the amplitude D first: f is linear in it and in nothing else
    fields: tuple[str, ...]
    units: tuple[str, ...]  # with {force} and {velocity} for those of the joint
    # f / D and its derivatives by the other parameters, from v, s(v) and those parameters
    shape: Callable[[Floats, Floats, Sequence[Floats]], Evaluation]


def _stribeck(v: Floats, sign: Floats, parameters: Sequence[Floats]) -> Evaluation:
    velocity, exponent = parameters
    ratio = np.abs(v) / velocity
    power = ratio**exponent
    value = sign * np.exp(-power)
    logarithm = np.log(np.where(ratio > 0.0, ratio, 1.0))
    return value, (value * power * exponent / velocity, -value * power * logarithm)


def _atan(v: Floats, sign: Floats, parameters: Sequence[Floats]) -> Evaluation:
    (slope,) = parameters
    return np.arctan(slope * v), (v / (1.0 + (slope * v) ** 2),)


def _power(v: Floats, sign: Floats, parameters: Sequence[Floats]) -> Evaluation:
    (exponent,) = parameters
    speed = np.abs(v)
    value = sign * speed**exponent
    return value, (value * np.log(np.where(speed > 0.0, speed, 1.0)),)


LAWS: Mapping[str, FrictionLaw] = {
    LINEAR: FrictionLaw((), (), lambda v, sign, parameters: (np.zeros_like(v), ())),
    'stribeck': FrictionLaw(
        ('stribeck_force', 'stribeck_velocity', 'stribeck_exponent'),
        ('{force}', '{velocity}', '1'),
        _stribeck,
    ),
    'atan': FrictionLaw(('atan_force', 'atan_slope'), ('{force}', '1/({velocity})'), _atan),
    # at 1 m/s or 1 rad/s: the speed counts in SI units
    'power': FrictionLaw(('power_force', 'power_exponent'), ('{force}', '1'), _power),
}


def parameter_units(law: str, force_unit: str) -> list[str]:
    """Units of a law's parameters at a joint whose force is in N or N m."""
    velocity = 'm/s' if force_unit == 'N' else 'rad/s'
    return [unit.format(force=force_unit, velocity=velocity) for unit in LAWS[law].units]


@dataclass(frozen=True)
class DriveFriction:
    """Friction of the drives beyond their Coulomb and viscous parameters."""

    joint_names: tuple[str, ...]  # actuated joints (n_a,), the order of velocities and forces
    laws: tuple[str, ...]  # law of each, a key of `LAWS`; `coulomb_viscous` adds nothing
    values: Floats  # (k,) parameters of all laws, joint by joint, in the order of `names`
    transition_velocity: float  # half width of the smoothing around standstill [m/s, rad/s]

    def __post_init__(self) -> None:
        """Copy, freeze and check."""
        values = frozen(self.values)
        object.__setattr__(self, 'values', values)
        if len(self.laws) != len(self.joint_names) or values.shape != (len(self.names),):
            raise ModelFileError(
                f'friction of {len(self.joint_names)} drives with {len(self.laws)} laws needs '
                f'{len(self.names)} values, got the shape {values.shape}'
            )

    @classmethod
    def from_parameters(
        cls, parameters: Mapping[str, float], joint_names: Sequence[str], transition_velocity: float
    ) -> DriveFriction:
        """Friction from values by name (`<joint>.stribeck_force`, ...).

        Raises ModelFileError where a name belongs to no drive or law, a law is not complete or a
        joint has two, or a value is none that the law can have.
        """
        laws, values = [], []
        left = dict(parameters)
        for joint in joint_names:
            given = {name.rpartition('.')[2] for name in left if name.rpartition('.')[0] == joint}
            law = next((key for key, law in LAWS.items() if given & set(law.fields)), LINEAR)
            for field in LAWS[law].fields:
                if field not in given:
                    raise ModelFileError(f"parameter '{joint}.{field}' is missing")
                values.append(float(left.pop(f'{joint}.{field}')))
                _check(f'{joint}.{field}', values[-1])
            laws.append(law)
        if left:
            name = next(iter(left))
            raise ModelFileError(f"parameter '{name}' belongs to no friction law of a drive")
        return cls(tuple(joint_names), tuple(laws), np.array(values), transition_velocity)

    @property
    def names(self) -> list[str]:
        """Names of the parameters (k,)."""
        pairs = zip(self.joint_names, self.laws, strict=True)
        return [f'{joint}.{field}' for joint, law in pairs for field in LAWS[law].fields]

    def forces(self, velocities: ArrayLike) -> Floats:
        """Forces (N, n_a) [N, N m] at velocities (N, n_a) [m/s, rad/s] of the drives."""
        v = np.asarray(velocities, dtype=float)
        forces = np.zeros_like(v)
        for columns, index, shape, _ in self._shapes(v):
            forces[:, columns] = self.values[index[0]] * shape
        return forces

    def jacobian(self, velocities: ArrayLike) -> Floats:
        """Derivatives (N, n_a, k) of the forces by the parameters."""
        v = np.asarray(velocities, dtype=float)
        jacobian = np.zeros((*v.shape, len(self.values)))
        for columns, index, shape, slopes in self._shapes(v):
            jacobian[:, columns, index[0]] = shape
            for row, slope in zip(index[1:], slopes, strict=True):
                jacobian[:, columns, row] = self.values[index[0]] * slope
        return jacobian

    def _shapes(self, v: Floats) -> Iterator[tuple[Integers, Integers, Floats, tuple[Floats, ...]]]:
        """Columns of the drives of each law, their parameters, and the law's evaluation."""
        for law, columns, index in self._groups:
            rate = v[:, columns]
            sign = smoothed_sign(rate, self.transition_velocity)
            yield columns, index, *LAWS[law].shape(rate, sign, list(self.values[index[1:]]))

    @cached_property
    def _groups(self) -> list[tuple[str, Integers, Integers]]:
        """Drives of each law, and where their parameters (fields, drives) stand in `values`."""
        first = np.cumsum([0, *(len(LAWS[law].fields) for law in self.laws)])
        groups = []
        for law in dict.fromkeys(self.laws):
            count = len(LAWS[law].fields)
            columns = np.flatnonzero([each == law for each in self.laws])
            if count:
                groups.append((law, columns, first[columns] + np.arange(count)[:, None]))
        return groups


def smoothed_sign(velocities: Floats, transition_velocity: float) -> Floats:
    """Sign that Coulomb friction has at velocities of any shape: linear about standstill."""
    if transition_velocity > 0.0:
        return np.clip(velocities / transition_velocity, -1.0, 1.0)
    return np.sign(velocities)


def is_friction_law_parameter(name: str) -> bool:
    """Whether a name ends as the parameters of the laws do."""
    field = name.rpartition('.')[2]
    return any(field in law.fields for law in LAWS.values())


def _check(name: str, value: float) -> None:
    """Refuse what no fit gives: shapes that are not positive, numbers that are not finite."""
    if not np.isfinite(value):
        raise ModelFileError(f"parameter '{name}' is not finite")
    if not name.endswith('_force') and value <= 0.0:
        raise ModelFileError(f"parameter '{name}' must be positive, is {value:.6g}")
