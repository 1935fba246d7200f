"""Forces of the drives by their position: constant offset, spring, force ripple.

The force of a drive at q, beside those of bodies, friction and rotors, is

    Q = offset + stiffness (q - rest) + sum_k (cos_k cos(2 pi k q / period) + sin_k sin(...))

linear in all but rest and period, which belong to the description. It acts on its own drive
alone, so its columns need nothing of the mechanism but the actuators' positions. So does what the
temperature adds to viscous friction, sum_i warm_up_i z_i v, with z_i v from the states of
the drives (`drive_states`); without these the drives are cold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.description import DriveTerms, WarmUp, frozen
from pkm_description.drives import POWER, terms_of
from pkm_description.errors import DescriptionError, ModelFileError
from pkm_dynamics.array_types import Floats, Integers

OFFSET, STIFFNESS, COSINE, SINE, WARM = range(5)
PERIOD, REST, PRESLIDING = (
    'ripple_period',
    'rest',
    'presliding',
)  # constants that stand beside the parameters
_WAVE = re.compile(r'ripple_(cos|sin)(\d+)')
_WARM = re.compile(r'warm_up(?:_(time|start))?(\d+)|warm_up_(coulomb|viscous)')


@dataclass(frozen=True)
class DriveForces:
    """Terms of all drives, one an entry (n_d,) of each field."""

    names: list[str]  # `<joint>.offset`, `.stiffness`, `.ripple_cos1`, `.ripple_sin1`, ...
    units: list[str]
    actuators: Integers  # which drive of the n_a
    kinds: Integers
    # rest position [m, rad] of a spring, wave number [1/m, 1/rad] of a ripple
    numbers: Floats
    values: Floats  # nominal [N, N m, N/m, N m/rad]
    n_a: int

    @classmethod
    def of(
        cls, description: Description, terms: Mapping[str, DriveTerms] | None = None
    ) -> DriveForces:
        """Collect the terms of a description, or others by joint."""
        terms = description.drive_terms if terms is None else terms
        joints = description.actuated_joints
        entries = [
            (index, joint, *entry)
            for index, joint in enumerate(joints)
            if joint in terms
            for entry in _entries(terms[joint], description.joint(joint).type == 'prismatic')
        ]
        return cls(
            [f'{joint}.{field}' for _, joint, field, *_ in entries],
            [entry[3] for entry in entries],
            np.array([entry[0] for entry in entries], dtype=np.int64),
            np.array([entry[4] for entry in entries], dtype=np.int64),
            frozen([entry[5] for entry in entries]),
            frozen([entry[6] for entry in entries]),
            len(joints),
        )

    def forces(self, positions: ArrayLike, values: ArrayLike | None = None) -> Floats:
        """Forces (N, n_a) [N, N m] at positions (N, n_a) [m, rad] for values (n_d,), or nominal."""
        q = np.asarray(positions, dtype=float)
        factors = self._factors(q) * (self.values if values is None else np.asarray(values))
        return np.asarray(factors @ self._of_axes)

    def warm_forces(self, heat: Floats, values: ArrayLike | None = None) -> Floats:
        """Forces (N, n_a) that the temperature adds, with z_i v (N, n_w), for values (n_d,)."""
        factors = heat * (self.values if values is None else np.asarray(values))[self.warm]
        return np.asarray(factors @ self._of_axes[self.warm])

    def columns(self, positions: ArrayLike, heat: Floats | None = None) -> Floats:
        """Force per parameter (N, n_a, n_d) at positions (N, n_a), with z_i v (N, n_w)."""
        factors = self._factors(np.asarray(positions, dtype=float))
        if heat is not None:
            factors[:, self.warm] = heat
        out = np.zeros((len(factors), self.n_a, len(self.names)))
        out[:, self.actuators, np.arange(len(self.names))] = factors
        return out

    def potentials(self, positions: ArrayLike) -> Floats:
        """Potential energy per parameter (N, n_d) [m, rad, ...] at positions (N, n_a)."""
        q = np.asarray(positions, dtype=float)[:, self.actuators]
        out = q.copy()  # of an offset
        springs, cosines, sines = self._groups
        numbers = self.numbers
        out[:, springs] = 0.5 * (q[:, springs] - numbers[springs]) ** 2
        out[:, cosines] = np.sin(q[:, cosines] * numbers[cosines]) / numbers[cosines]
        out[:, sines] = -np.cos(q[:, sines] * numbers[sines]) / numbers[sines]
        out[:, self.kinds == WARM] = 0.0
        return out

    @cached_property
    def warm(self) -> Integers:
        """Indices (n_w,) of the terms of the temperature."""
        return np.flatnonzero(self.kinds == WARM)

    @cached_property
    def _of_axes(self) -> Floats:
        """Which actuator each term acts on (n_d, n_a)."""
        return (self.actuators[:, None] == np.arange(self.n_a)).astype(float)

    @cached_property
    def _constant(self) -> Floats:
        """Multipliers (n_d,) where they do not depend on the position."""
        return np.where(self.kinds == WARM, 0.0, 1.0)

    @cached_property
    def _groups(self) -> tuple[Integers, Integers, Integers]:
        """Indices of springs, cosines and sines."""
        springs, cosines, sines = (
            np.flatnonzero(self.kinds == kind) for kind in (STIFFNESS, COSINE, SINE)
        )
        return springs, cosines, sines

    def _factors(self, positions: Floats) -> Floats:
        """Multipliers (N, n_d) of the parameters."""
        q = positions[:, self.actuators]
        out = np.tile(self._constant, (len(q), 1))
        if len(self.warm) == len(self.kinds):
            return out
        springs, cosines, sines = self._groups
        out[:, springs] = q[:, springs] - self.numbers[springs]
        out[:, cosines] = np.cos(q[:, cosines] * self.numbers[cosines])
        out[:, sines] = np.sin(q[:, sines] * self.numbers[sines])
        return out


def _entries(terms: DriveTerms, linear: bool) -> list[tuple[str, str, int, float, float]]:
    """Field, unit, kind, number and nominal value of each parameter of a drive."""
    force, spring = ('N', 'N/m') if linear else ('N m', 'N m/rad')
    found = []
    if terms.offset is not None:
        found.append(('offset', force, OFFSET, 0.0, terms.offset))
    if terms.stiffness is not None:
        found.append(('stiffness', spring, STIFFNESS, terms.rest, terms.stiffness))
    ripple = terms.ripple
    if ripple is not None:
        for k, cosine, sine in zip(ripple.harmonics, ripple.cosine, ripple.sine, strict=True):
            wave = 2.0 * np.pi * k / ripple.period
            found.append((f'ripple_cos{k}', force, COSINE, wave, cosine))
            found.append((f'ripple_sin{k}', force, SINE, wave, sine))
    if terms.warm_up is not None:
        unit = 's^2/m^2' if linear else 's^2/rad^2'  # of viscous friction by W
        own = zip(terms.warm_up.times, terms.warm_up.values, strict=True)
        found += [(f'warm_up{i}', unit, WARM, time, b) for i, (time, b) in enumerate(own, 1)]
    return found


def drive_constants(terms: Mapping[str, DriveTerms]) -> dict[str, float]:
    """Constants by name [m, rad]: `<joint>.rest`, `.ripple_period` and `.presliding`."""
    found = {}
    for joint, own in terms.items():
        if own.stiffness is not None:
            found[f'{joint}.{REST}'] = own.rest
        if own.ripple is not None:
            found[f'{joint}.{PERIOD}'] = own.ripple.period
        if own.presliding is not None:
            found[f'{joint}.{PRESLIDING}'] = own.presliding
        if own.warm_up is not None:
            found |= {f'{joint}.{name}': value for name, value in _warm_constants(own.warm_up)}
    return found


def is_drive_entry(name: str) -> bool:
    """Whether a name is that of a force of a drive by position, or of a constant of one."""
    field = name.rpartition('.')[2]
    plain = ('offset', 'stiffness', REST, PERIOD, PRESLIDING)
    return field in plain or any(each.fullmatch(field) for each in (_WAVE, _WARM))


def terms_of_entries(entries: Mapping[str, float], joints: list[str]) -> dict[str, DriveTerms]:
    """Forces by joint from parameters and constants by name; their values are the nominal ones.

    Raises ModelFileError where a joint has no drive, or a constant or half of a harmonic is
    missing.
    """
    found: dict[str, dict[str, float]] = {}
    for name, value in entries.items():
        joint, _, field = name.rpartition('.')
        if joint not in joints:
            raise ModelFileError(f"parameter '{name}' is of a joint that has no drive")
        found.setdefault(joint, {})[field] = float(value)
    try:
        return {joint: terms_of(_section(joint, own), joint) for joint, own in found.items()}
    except DescriptionError as error:
        raise ModelFileError(f'forces of drives by position: {error}') from error


def _section(joint: str, fields: Mapping[str, float]) -> dict[str, Any]:
    """Section `drives` of one joint."""
    section: dict[str, Any] = {
        key: fields[key] for key in ('offset', 'stiffness', REST, PRESLIDING) if key in fields
    }
    waves = [match for match in map(_WAVE.fullmatch, fields) if match]
    harmonics = sorted({int(match[2]) for match in waves})
    if harmonics or PERIOD in fields:
        needed = [PERIOD, *(f'ripple_{wave}{k}' for k in harmonics for wave in ('cos', 'sin'))]
        for name in needed:
            if name not in fields:
                raise ModelFileError(f"parameter '{joint}.{name}' is missing")
        cosine, sine = ([fields[f'ripple_{wave}{k}'] for k in harmonics] for wave in ('cos', 'sin'))
        ripple = {'period': fields[PERIOD], 'harmonics': harmonics}
        section['ripple'] = {**ripple, 'cosine': cosine, 'sine': sine}
    if 'stiffness' in fields and REST not in fields:
        raise ModelFileError(f"parameter '{joint}.{REST}' is missing")
    if any(_WARM.fullmatch(name) for name in fields):
        section['warm_up'] = _warm_section(joint, fields)
    return section


def _warm_constants(warm: WarmUp) -> Iterator[tuple[str, float]]:
    """Constants of a drive that warms up, by name."""
    for kind, values in (('time', warm.times), ('start', warm.start)):
        yield from ((f'warm_up_{kind}{i}', value) for i, value in enumerate(values, 1))
    for kind, level in (('coulomb', warm.coulomb), ('viscous', warm.viscous)):
        if level is not None:
            yield f'warm_up_{kind}', level


def _warm_section(joint: str, fields: Mapping[str, float]) -> dict[str, Any]:
    """Section `warm_up` of one joint."""
    count = sum(1 for name in fields if (match := _WARM.fullmatch(name)) and match[1] == 'time')
    section: dict[str, Any] = {}
    for key, name in (('times', 'warm_up_time'), ('values', 'warm_up'), ('start', 'warm_up_start')):
        found = [fields[f'{name}{i}'] for i in range(1, count + 1) if f'{name}{i}' in fields]
        if key != 'start' and len(found) < max(count, 1):
            raise ModelFileError(f"parameter '{joint}.{name}{len(found) + 1}' is missing")
        section |= {key: found} if found else {}
    level = {key: fields[f'warm_up_{key}'] for key in POWER if f'warm_up_{key}' in fields}
    return section | level
