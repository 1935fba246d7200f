"""The nearest request that is possible, where one is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.conditioning import has_singularities
from pkm_identification.excitation.design_periods import longest_period
from pkm_identification.excitation.search.design_problem import DesignTask

FRACTIONS = 'force_margin', 'velocity_margin', 'stroke_margin', 'force_uncertainty'
FACTORS = 'acceleration', 'aperture', 'condition_factor', 'period'
FAR = 1e3  # by which the factors can be relaxed
PERIODS = 0.0, *(0.08 * k for k in range(1, 13))  # shares of it that are tried in turn
STEPS = 8  # of the bisection
OVERLAP = 0.02  # [m] beyond contact to which a clearance can be relaxed

Possible = Callable[[DesignTask], bool]


def relaxable(model: Any, task: DesignTask) -> list[str]:
    """Return the options of a task that could be less strict."""
    limits, found = task.limits, []
    found += [name for name in FRACTIONS if np.any(np.asarray(getattr(limits, name)))]
    if limits.acceleration is not None and np.any(np.isfinite(limits.acceleration)):
        found.append('acceleration')
    if limits.aperture is not None:
        found.append('aperture')
    if limits.clearance is not None and BodyDistances(model).pairs:
        found.append('clearance')
    if has_singularities(model) and np.isfinite(limits.condition_factor):
        found.append('condition_factor')
    return [*found, 'period']


def relaxed(task: DesignTask, shares: dict[str, float]) -> DesignTask:
    """Return the task with options relaxed by shares of 0 (as asked for) to 1 (next to none)."""
    limits: dict[str, Any] = {}
    for name, share in shares.items():
        if name == 'period':
            if share > 0.0:
                period = longest_period(task) * FAR**share
                task = dataclasses.replace(task, period=period, period_range=None)
            continue
        given = getattr(task.limits, name)
        if name in FRACTIONS:
            limits[name] = np.asarray(given, dtype=float) * (1.0 - share)
        elif name == 'clearance':
            limits[name] = given - share * (max(given, 0.0) + OVERLAP)
        else:
            limits[name] = np.asarray(given, dtype=float) * FAR**share
        if np.ndim(limits[name]) == 0:
            limits[name] = float(limits[name])
    if 'aperture' in limits:
        limits['aperture'] = min(limits['aperture'], np.pi)
    return dataclasses.replace(task, limits=dataclasses.replace(task.limits, **limits))


def nearest_requests(task: DesignTask, names: Sequence[str], possible: Possible) -> str:
    """Return what to ask for instead, as text; empty where nothing helps.

    Each option alone, where that suffices; else all of them together, each as strict as
    the others allow.
    """
    alone = [text for name in names if (text := _together(task, [name], possible))]
    if alone:
        return ', or '.join(alone)
    return _together(task, names, possible) if len(names) > 1 else ''


def widest(
    task: DesignTask, names: Sequence[str], possible: Possible, periods: Sequence[float] = PERIODS
) -> dict[str, float] | None:
    """Return shares with which a task becomes possible; None where there are none.

    All as wide as can be but for the period, whose shares are tried in turn: in the
    longest one nothing accelerates.
    """
    for share in periods if 'period' in names else (0.0,):
        shares = {name: share if name == 'period' else 1.0 for name in names}
        if possible(relaxed(task, shares)):
            return shares
    return None


def _together(task: DesignTask, names: Sequence[str], possible: Possible) -> str:
    shares = widest(task, names, possible)
    if shares is None:
        return ''
    for name in names:
        low, high = 0.0, shares[name]
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            if possible(relaxed(task, {**shares, name: middle})):
                high = middle
            else:
                low = middle
        strict = {**shares, name: 0.0}
        shares[name] = 0.0 if high < 2.0**-STEPS * 1.5 and possible(relaxed(task, strict)) else high
    changed = {name: share for name, share in shares.items() if share > 0.0}
    return ' with '.join(_text(task, name, relaxed(task, changed)) for name in changed)


def _text(task: DesignTask, name: str, found: DesignTask) -> str:
    if name == 'period':
        return f'period of at least {_rounded(found.period, up=True)} s'
    given, value = getattr(task.limits, name), getattr(found.limits, name)
    if np.ndim(given) > 0:
        factor = float(np.max(value) / np.max(given))
        return f'{name} times {_rounded(factor, up=name in FACTORS)}'
    bound = 'at least' if name in FACTORS else 'at most'
    return f'{name} of {bound} {_rounded(value, up=name in FACTORS)}'


def _rounded(value: float, up: bool) -> str:
    """Return a number with three digits, rounded to the less strict side."""
    if value == 0.0:
        return '0'
    unit = 10.0 ** (np.floor(np.log10(abs(value))) - 2)
    whole = np.ceil(value / unit - 1e-9) if up else np.floor(value / unit + 1e-9)
    return f'{whole * unit:.6g}'
