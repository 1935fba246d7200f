"""Which base parameters are estimated and which are held fixed, how well known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices

NAMES_SHOWN = 4  # in a message


@dataclass(frozen=True)
class Selection:
    """Free and fixed base parameters."""

    free: Indices  # (f,) into the names of the base parameters
    fixed: Indices  # (g,)
    values: Array  # (g,) of the fixed ones
    covariance: Array  # (g, g); a variance of zero is taken as exact

    @property
    def size(self) -> int:
        """Number of base parameters r = f + g."""
        return len(self.free) + len(self.fixed)

    def expand(self, free_values: Array) -> Array:
        """Return all base parameters (r,) from the free ones (f,)."""
        values = np.empty(self.size)
        values[self.free], values[self.fixed] = free_values, self.values
        return values


def build_selection(
    names: Sequence[str],
    nominal: Array,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> Selection:
    """Select the parameters to estimate among base parameters with nominal values (r,).

    `estimate` and `fixed` as of `identify`: `fixed` goes before a pattern of `estimate`, a name
    before a pattern. EstimationError where a name is unknown or both fixed and to be estimated,
    a value is no number, or nothing is left to estimate.
    """
    held: dict[int, tuple[float, float]] = {}
    if estimate is not None:
        wanted = [estimate] if isinstance(estimate, str) else list(estimate)
        chosen = {i for name in wanted for i in matching_names(name, names, 'estimate')}
        held = {i: (float(nominal[i]), 0.0) for i in range(len(names)) if i not in chosen}
        both = sorted(set(wanted) & set(fixed or {}))
        if both:
            raise EstimationError(f"parameter '{both[0]}' is both in estimate and in fixed")
    for i, (name, given) in by_parameter(fixed or {}, names, 'fixed').items():
        held[i] = value_and_deviation(name, (nominal[i], 0.0) if given is None else given)
    free = np.array([i for i in range(len(names)) if i not in held], dtype=np.int64)
    if not free.size:
        raise EstimationError('all parameters are fixed: there is nothing to estimate')
    index = np.array(sorted(held), dtype=np.int64)
    values, deviations = np.array([held[i] for i in index], dtype=float).reshape(-1, 2).T
    return Selection(free, index, values, np.diag(deviations**2))


def matching_names(pattern: str, names: Sequence[str], option: str) -> list[int]:
    """Return the indices of the names that are `pattern` or match it.

    EstimationError where none does; the message lists the near ones.
    """
    if pattern in names:
        return [list(names).index(pattern)]
    found = [i for i, name in enumerate(names) if fnmatchcase(name, pattern)]
    if not found:
        near = get_close_matches(pattern, names, NAMES_SHOWN, 0.3) or list(names)[:NAMES_SHOWN]
        raise EstimationError(
            f"{option}: no base parameter is called or matches '{pattern}'; near are "
            f'{", ".join(near)}'
        )
    return found


def by_parameter(
    given: Mapping[str, Any], names: Sequence[str], option: str
) -> dict[int, tuple[str, Any]]:
    """Return what is given for each parameter by index, with the name or pattern it came by.

    A name goes before a pattern, a later pattern before an earlier one.
    """
    patterns = [name for name in given if name not in names]
    exact = [name for name in given if name in names]
    found: dict[int, tuple[str, Any]] = {}
    for name in (*patterns, *exact):
        found |= dict.fromkeys(matching_names(name, names, option), (name, given[name]))
    return found


def value_and_deviation(name: str, given: Any) -> tuple[float, float]:
    """Return a value with its standard deviation, 0 where only a value is given."""
    try:
        pair = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError, OverflowError):
        pair = np.zeros(0)
    if pair.shape == (1,):
        pair = np.append(pair, 0.0)
    if pair.shape != (2,) or not np.isfinite(pair).all() or pair[1] < 0:
        raise EstimationError(
            f"parameter '{name}': give a value or (value, standard deviation >= 0), not {given!r}"
        )
    return float(pair[0]), float(pair[1])
