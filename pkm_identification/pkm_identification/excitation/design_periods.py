"""Periods that fit a robot: the suggested one, a free one's range, the shortest."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pkm_dynamics.limits.limits import LimitOptions, acceleration_limit
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.search.design_problem import DesignTask

FACTORS = 0.08, 4.0  # of the suggested period, between which a free one lies
SUGGESTED = 0.5, 60.0  # [s]
USED_STROKE = 0.25


def suggested_period(model: Any, harmonics: int, limits: DesignLimits | None = None) -> float:
    """Return a period [s] at which strokes, speeds and forces are used to similar degrees."""
    options = LimitOptions(acceleration=None if limits is None else limits.acceleration)
    longest, _, _ = shortest_period(model, options, USED_STROKE)
    return float(np.clip(np.ceil(14.0 * harmonics * longest) / 10.0, *SUGGESTED))


def highest_frequency_period(harmonics: int, limits: DesignLimits) -> float:
    """Return the period [s] in which the last harmonic has the highest frequency allowed."""
    return 0.0 if limits.frequency is None else harmonics / limits.frequency


def free_period(
    model: Any, harmonics: int, limits: DesignLimits, shortest: float
) -> tuple[float, tuple[float, float]]:
    """Return the first guess and the range of a free period [s], none below `shortest`.

    The highest frequency of the limits counts, too.
    """
    shortest = max(shortest, highest_frequency_period(harmonics, limits))
    suggested = suggested_period(model, harmonics, limits)
    ends = max(FACTORS[0] * suggested, shortest), max(FACTORS[1] * suggested, shortest)
    return max(suggested, shortest), ends


def refreshed(model: Any, task: DesignTask) -> DesignTask:
    """Return a task whose free period is that of its limits."""
    if task.period_range is None:
        return task
    first, ends = free_period(model, task.harmonics, task.limits, 0.0)
    return dataclasses.replace(task, period=first, period_range=ends)


def longest_period(task: DesignTask) -> float:
    """Return the longest period [s] that a task allows."""
    return task.period if task.period_range is None else task.period_range[1]


def shortest_period(model: Any, options: LimitOptions, share: float) -> tuple[float, str, str]:
    """Return the period [s] in which a sine can use a share of every stroke, and what bounds it.

    Nominal inertia and the forces that rest at home leaves; the margins count. Then the
    kind of limit and the joint that bound it.
    """
    span = np.asarray(model.upper) - np.asarray(model.lower)
    amplitude = share * np.where(np.isfinite(span), span, 0.5)
    speed = np.asarray(model.velocity_limit) * (1.0 - options.velocity_margin)
    rest = np.zeros((1, model.n_a))
    home = np.asarray(model.home_actuators)[None]
    still = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest))[0]
    pushed = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest + 1.0))[0]
    force = np.asarray(model.force_limit) * (1.0 - options.force_margin)
    left = np.maximum(force - np.abs(still), 1e-9)
    inertia = np.maximum(np.abs(pushed - still), 1e-9)
    times = {
        'velocity': 2.0 * np.pi * amplitude / speed,
        'acceleration': 2.0 * np.pi * np.sqrt(amplitude / acceleration_limit(model, options)),
        'force': 2.0 * np.pi * np.sqrt(amplitude * inertia / left),
    }
    kind = max(times, key=lambda name: float(np.max(times[name])))
    joint = int(np.argmax(times[kind]))
    return float(times[kind][joint]), kind, model.actuated_joints[joint]
