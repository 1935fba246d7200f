"""The limits of a robot as one table of sampled constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.singularities import has_singularities
from pkm_dynamics.joint_servo.gains import BANDWIDTH, DAMPING
from pkm_dynamics.limits.robot_limits import LimitOptions, acceleration_limit, aperture_limits
from pkm_dynamics.trajectories.base import finite_number
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.excitation.search.samples import POSE_FIELDS, Samples

CLEARANCE_SIZE = 0.05  # [m]
APERTURE_SIZE = 0.3  # [rad]
OF_SERVO = 'tracking', 'commands'  # fields of `Samples`
# Those that a longer period makes smaller
WITH_TIME = ('velocities', 'accelerations', 'high', 'low', *OF_SERVO)
# Fields of `DesignLimits` that are no limits of the robot itself
NOT_OF_ROBOT = (
    'reach',
    'frequency',
    'bandwidth',
    'damping',
    'gain_scale',
    'max_error',
    'error_margin',
)


@dataclass(frozen=True)
class DesignLimits:
    """How much of each limit a design leaves free, and limits that no description holds."""

    # fraction of the actuator force kept for feedback, noise and model error
    force_margin: float = 0.25
    velocity_margin: float = 0.05  # fraction of the velocity limits
    # fraction of each range (strokes, passive joints, workspace) at either end, of tilt, aperture
    stroke_margin: float = 0.04
    # largest condition number of the scaled actuator Jacobian, as a multiple of that at home
    condition_factor: float = 4.0
    acceleration: ArrayLike | None = None  # largest accelerations of the actuators [m/s^2, rad/s^2]
    # largest angle [rad] by which spherical and universal closures bend from home, beside
    # `workspace.aperture` of the description, where it has one
    aperture: float | None = None
    # least distance [m] between struts and between struts and platform, for robots whose
    # URDF has collision cylinders
    clearance: float = 0.005
    # largest way of an actuator from home, as a fraction of its stroke
    reach: float = 1.0
    # how wrong the nominal model's forces may be: a fraction, or the covariance of the
    # standard parameters, of which three standard deviations are kept
    force_uncertainty: ArrayLike = 0.0
    # highest frequency of the motion [Hz], below what the drives follow and the first
    # structural mode of the robot; by default the servo's natural frequency. A free period is at
    # least `harmonics` / `frequency`
    frequency: float | None = None
    # of the joint servo that shall follow the motion without a feedforward, as `servo_gains` takes
    # them; an infinite bandwidth: none
    bandwidth: float = BANDWIDTH  # [Hz]
    damping: float = DAMPING
    gain_scale: float = 1.0
    # largest position errors of the joints [m, rad]; by default those that `largest_errors` allows
    max_error: float | None = None
    # fraction of them, and of the forces of the servo, that noise may take, and an inertia that is
    # another one than at home
    error_margin: float = 0.2

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        self.options(1.0)
        for name in ('frequency', 'damping', 'gain_scale', 'max_error'):
            if getattr(self, name) is not None:
                finite_number(name, getattr(self, name), positive=True)
        if self.bandwidth != np.inf:
            finite_number('bandwidth', self.bandwidth, positive=True)
        if not 0.0 < finite_number('reach', self.reach) <= 1.0:
            raise TrajectoryError(f'reach must lie in (0, 1], not {self.reach}')
        if not 0.0 <= finite_number('error_margin', self.error_margin) < 1.0:
            raise TrajectoryError(f'error_margin must lie in [0, 1), not {self.error_margin}')
        if not self.condition_factor > 1.0:
            raise TrajectoryError(
                f'condition_factor must be larger than 1, not {self.condition_factor}'
            )

    def options(self, home_condition: float) -> LimitOptions:
        """Return the options of a feasibility check, given the condition number at home."""
        if self.condition_factor != np.inf:
            finite_number('condition_factor', self.condition_factor, positive=True)
        same = {name: value for name, value in vars(self).items() if name not in NOT_OF_ROBOT}
        return LimitOptions(condition_limit=same.pop('condition_factor') * home_condition, **same)

    @property
    def highest_frequency(self) -> float:
        """Frequency [Hz] that no motion exceeds, infinite where nothing says one."""
        if self.frequency is not None:
            return float(self.frequency)
        return float(self.bandwidth * np.sqrt(self.gain_scale))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as written into files."""
        return {
            name: None if value is None else np.asarray(value, dtype=float).tolist()
            for name, value in vars(self).items()
        }


class ConstraintTable:
    """All limits as columns sign * quantity / size - limit, feasible when not positive."""

    def __init__(
        self,
        model: ClosedChainModel,
        options: LimitOptions,
        distances: BodyDistances,
        reach: float,  # largest way from home as a fraction of each stroke
        errors: Array,  # (n_a,) [m, rad] that a servo may leave
        commands: Array,  # (n_a,) [N, N m] that it may give
    ) -> None:
        joints = [model.description.joint(name) for name in model.joint_names]
        names = list(model.joint_names)
        lower = np.array([joint.limit.lower for joint in joints])
        upper = np.array([joint.limit.upper for joint in joints])
        speed = np.array([joint.limit.velocity for joint in joints])
        actuated = [names.index(name) for name in model.actuated_joints]
        lower[actuated], upper[actuated] = model.lower, model.upper
        speed[actuated] = model.velocity_limit
        size = np.where(np.isfinite(upper - lower), 0.5 * (upper - lower), 1.0)
        self.parts: list[tuple[str, Indices, Array, Array]] = []
        self._range('positions', lower, upper, size, options.stroke_margin)
        if reach < 1.0:
            way = np.full((2, len(names)), np.inf)
            home, span = np.asarray(model.home_actuators), upper[actuated] - lower[actuated]
            way[:, actuated] = reach * span + home, reach * span - home
            self._add('positions', way[0], size, 1.0)
            self._add('positions', way[1], size, -1.0)
        self._both('velocities', speed * (1.0 - options.velocity_margin))
        pushed = np.full(len(names), np.inf)
        pushed[actuated] = acceleration_limit(model, options)
        self._both('accelerations', pushed)
        force = np.asarray(model.force_limit) * (1.0 - options.force_margin)
        self._add('high', force, force, 1.0)
        self._add('low', force, force, -1.0)
        self._both('tracking', errors)
        self._both('commands', commands)
        workspace = read_workspace(model.description)
        ends = workspace.lower, workspace.upper
        self._range('platform', *ends, np.full(3, 0.1), options.stroke_margin)
        if np.isfinite(workspace.tilt):
            tilt = workspace.tilt * (1.0 - options.stroke_margin)
            self._add('upright', -np.cos(np.array([tilt])), np.array([0.2]), -1.0)
        worst = np.inf if options.condition_limit is None else options.condition_limit
        if has_singularities(model) and np.isfinite(worst):
            floor = np.array([1.0 / worst])
            self._add('dexterity', -floor, 4.0 * floor, -1.0)
        _, widest = aperture_limits(model, options)
        self._add('aperture', widest, np.full(widest.shape, APERTURE_SIZE), 1.0)
        if options.clearance is not None:
            least = np.full(len(distances.pairs), -float(options.clearance))
            self._add('clearance', least, np.full(least.shape, CLEARANCE_SIZE), -1.0)
        self.count = sum(len(part[1]) for part in self.parts)
        if self.count == 0:
            raise FeasibilityError(
                f"robot '{model.description.name}' gives no limit at all: a design needs "
                'stroke, velocity or effort limits'
            )
        self.geometric = ~self._columns_of(*WITH_TIME)
        self.of_pose = self._columns_of(*POSE_FIELDS)
        self.of_servo = self._columns_of(*OF_SERVO)
        self.of_state = self.geometric | self._columns_of('velocities')

    @property
    def fields(self) -> set[str]:
        """Fields of `Samples` that a limit applies to."""
        return {part[0] for part in self.parts}

    def _columns_of(self, *names: str) -> Mask:
        return np.concatenate([np.full(len(part[1]), part[0] in names) for part in self.parts])

    def _range(self, field: str, lower: Array, upper: Array, size: Array, margin: float) -> None:
        span = upper - lower
        free = margin * np.where(np.isfinite(span), span, 0.0)
        self._add(field, upper - free, size, 1.0)
        self._add(field, -(lower + free), size, -1.0)

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

    def servo_slopes(self, fields: Mapping[str, Array]) -> Array:
        """Return derivatives (M, C, n_z) by the unknowns, those of `OF_SERVO` (M, n_a, n_z)."""
        parts = [fields[f][:, i] * k[:, None] for f, i, k, _ in self.parts if f in OF_SERVO]
        given = np.concatenate(parts, axis=1)
        slopes = np.zeros((len(given), self.count, given.shape[2]))
        slopes[:, self.of_servo] = given
        return slopes
