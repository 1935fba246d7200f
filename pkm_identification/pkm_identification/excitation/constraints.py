"""The limits of a robot as one table of sampled constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import FeasibilityError
from pkm_dynamics.conditioning import has_singularities
from pkm_identification.excitation.sensitivities import Samples

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DesignLimits:
    """How much of each limit a design leaves free.

    Attributes
    ----------
    force_margin : float
        Fraction of the actuator force kept for feedback, noise and model error.
    velocity_margin : float
        Fraction of the velocity limits.
    stroke_margin : float
        Fraction of each range (strokes, passive joints, workspace), at either end.
    condition_factor : float
        Largest condition number of the scaled actuator Jacobian, as a multiple of that
        at home.
    """

    force_margin: float = 0.25
    velocity_margin: float = 0.05
    stroke_margin: float = 0.04
    condition_factor: float = 4.0


class ConstraintTable:
    """All limits as columns sign * quantity / size - limit, feasible when not positive."""

    def __init__(self, model: Any, limits: DesignLimits, condition_limit: float) -> None:
        joints = [model.description.joint(name) for name in model.joint_names]
        names = list(model.joint_names)
        lower = np.array([joint.limit.lower for joint in joints])
        upper = np.array([joint.limit.upper for joint in joints])
        speed = np.array([joint.limit.velocity for joint in joints])
        actuated = [names.index(name) for name in model.actuated_joints]
        lower[actuated], upper[actuated] = model.lower, model.upper
        speed[actuated] = model.velocity_limit
        span = upper - lower
        free = limits.stroke_margin * np.where(np.isfinite(span), span, 0.0)
        size = np.where(np.isfinite(span), 0.5 * span, 1.0)
        self.parts: list[tuple[str, NDArray[np.intp], Array, Array]] = []
        self._add('positions', upper - free, size, 1.0)
        self._add('positions', -(lower + free), size, -1.0)
        self._both('velocities', speed * (1.0 - limits.velocity_margin))
        self._both('forces', np.asarray(model.force_limit) * (1.0 - limits.force_margin))
        workspace = model.description.sidecar.get('workspace') or {}
        size = np.full(3, 0.1)
        top = np.array(workspace.get('position_upper', [np.inf] * 3), dtype=float)
        low = np.array(workspace.get('position_lower', [-np.inf] * 3), dtype=float)
        free = limits.stroke_margin * np.where(np.isfinite(top - low), top - low, 0.0)
        self._add('platform', top - free, size, 1.0)
        self._add('platform', -(low + free), size, -1.0)
        if 'tilt' in workspace:
            upright = -np.cos(np.array([float(workspace['tilt']) * (1.0 - limits.stroke_margin)]))
            self._add('upright', upright, np.array([0.2]), -1.0)
        if has_singularities(model):
            floor = np.array([1.0 / condition_limit])
            self._add('dexterity', -floor, floor * limits.condition_factor, -1.0)
        self.count = sum(len(part[1]) for part in self.parts)
        if self.count == 0:
            raise FeasibilityError(
                f"robot '{model.description.name}' gives no limit at all: a design needs "
                'stroke, velocity or effort limits'
            )

    def _both(self, field: str, limit: Array) -> None:
        self._add(field, limit, limit, 1.0)
        self._add(field, limit, limit, -1.0)

    def _add(self, field: str, limit: Array, size: Array, sign: float) -> None:
        finite = np.flatnonzero(np.isfinite(limit))
        if finite.size:
            self.parts.append((field, finite, sign / size[finite], limit[finite] / size[finite]))

    def values(self, samples: Samples) -> Array:
        """Return (M, C) constraint values."""
        columns = [getattr(samples, f)[:, i] * k - limit for f, i, k, limit in self.parts]
        return np.concatenate(columns, axis=1)

    def slopes(self, derivative: Samples) -> Array:
        """Return (M, C) local derivatives."""
        return np.concatenate(
            [getattr(derivative, f)[:, i] * k for f, i, k, _ in self.parts], axis=1
        )
