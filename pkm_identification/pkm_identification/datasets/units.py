"""Forces from motor currents: constants, their uncertainty, and contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array

Constant = float | Sequence[float]

UNIT_TOLERANCE = 1e-6
UNIT_FACTOR = 1.5
DEVIATIONS = 3.0  # standard deviations that a constant may be off from the description
OPPOSITE = -0.5  # correlation of efforts with currents of the wrong sign


class MissingForceConstantError(DatasetError):
    """Currents of a joint cannot become forces: nobody says how much force a current makes."""


def parsed_constants(
    given: Mapping[str, Any], names: Sequence[str], source: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Split {joint: constant or (constant, standard deviation)} [N/A, N m/A]; raises on others."""
    constants, deviations = {}, {}
    for name, value in given.items():
        if name not in names:
            raise DatasetError(
                f"{source}: force constant of unknown joint '{name}'; joints are {', '.join(names)}"
            )
        try:
            numbers = np.atleast_1d(np.asarray(value, dtype=float))
        except (TypeError, ValueError, OverflowError):
            numbers = np.zeros(0)
        if numbers.shape not in ((1,), (2,)) or not np.isfinite(numbers).all() or not numbers[0]:
            raise DatasetError(
                f"{source}: force constant of '{name}' must be a number other than 0 or a number "
                f'and its standard deviation [N/A, N m/A], got {value!r}'
            )
        if len(numbers) == 2 and numbers[1] < 0:
            raise DatasetError(
                f"{source}: the standard deviation of the force constant of '{name}' is "
                f'{numbers[1]:g}; it must not be negative'
            )
        constants[name] = float(numbers[0])
        if len(numbers) == 2:
            deviations[name] = float(numbers[1])
    return constants, deviations


def constants_of(
    names: Sequence[str],
    recorded: Mapping[str, float],
    deviations: Mapping[str, float],
    described: Array | Sequence[float],
    source: str,
    places: tuple[str, str] = ('the recording', 'the description'),
    check: bool = True,
    free: Sequence[str] = (),
) -> Array:
    """Force constants (n,) [N/A, N m/A] of joints, as recorded or given, else as described (n,).

    `described` is NaN where there is none. `source` and `places` are for messages: the data, and
    where the constants come from. `check` refuses constants that contradict each other by more than
    their `deviations` make likely; without it the recorded ones count. Joints in `free` have no
    drive: their current is zero, their constant 1. Of another joint one must be known
    (`MissingForceConstantError`).
    """
    constants = np.empty(len(names))
    for i, (name, nominal) in enumerate(zip(names, described, strict=True)):
        own = float(recorded.get(name, np.nan))
        if check and np.isfinite(own) and np.isfinite(nominal):
            allowed = max(UNIT_TOLERANCE * abs(nominal), DEVIATIONS * deviations.get(name, 0.0))
            if abs(own - nominal) > allowed:
                raise DatasetError(
                    f"{source}: force constant of '{name}' is {own:g} in {places[0]} "
                    f'and {nominal:g} in {places[1]}; make them agree'
                )
        constants[i] = own if np.isfinite(own) else nominal
        if not np.isfinite(constants[i]) and name in free:
            constants[i] = 1.0
        if not np.isfinite(constants[i]):
            raise MissingForceConstantError(
                f"{source}: currents of '{name}' cannot become forces: no force constant in "
                'the recording or the description (<param name="force_constant">), and none given '
                "(force_constants={'joint': value or (value, standard deviation)})"
            )
    return constants


def check_efforts_agree(
    names: Sequence[str], efforts: Array, converted: Array, source: str
) -> None:
    """Refuse efforts (N, n) [N, N m] that are not the currents times the force constants.

    They differ from the `converted` currents by a factor or in sign; the `DatasetError` names the
    joint.
    """
    effort = np.sqrt(np.mean(efforts**2, axis=0))
    other = np.sqrt(np.mean(converted**2, axis=0))
    for i, name in enumerate(names):
        low, high = sorted((effort[i], other[i]))
        if high > UNIT_FACTOR * low:
            raise DatasetError(
                f"{source}: efforts of '{name}' (rms {effort[i]:.4g}) and its currents times the "
                f'force constant (rms {other[i]:.4g}) disagree; one of them has another unit'
            )
        together = float(np.mean(efforts[:, i] * converted[:, i]))
        if together < OPPOSITE * effort[i] * other[i]:
            raise DatasetError(
                f"{source}: efforts of '{name}' and its currents times the force constant have "
                'opposite signs; one of them counts in the other direction'
            )
