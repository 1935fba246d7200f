"""The limits of a robot and the margins that a block of motion keeps to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.clearances import BodyDistances
from pkm_dynamics.analysis.singularities import SINGULAR, has_singularities, jacobian_condition
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_distribution import DriveDistribution, all_drives
from pkm_dynamics.limits.margins import Extremum, Margin, largest, smallest
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import JointStates, PlatformMotion
from pkm_dynamics.trajectories.base import finite_array, finite_number

POSE_SAMPLES = 512  # per block for conditioning and distances: they change slowly
SYMMETRIC = 1e-8  # relative
DEVIATIONS = 3.0  # standard deviations of the forces that an uncertain model leaves free


@dataclass(frozen=True)
class LimitOptions:
    """How much of each limit stays free, and limits that no description holds."""

    force_margin: float = 0.0  # fractions of the force and velocity limits that stay free
    velocity_margin: float = 0.0
    # fraction of each range that stays free at either end (strokes, passive joints, workspace), of
    # the largest tilt and of the largest aperture
    stroke_margin: float = 0.0
    # largest condition number of the scaled actuator Jacobian; None: unchecked
    condition_limit: float | None = SINGULAR
    # one or (n_a,): largest accelerations of the actuators [m/s^2, rad/s^2]
    acceleration: ArrayLike | None = None
    # largest aperture of spherical and universal closures [rad], beside `workspace.aperture` of the
    # description with its margin
    aperture: float | None = None
    # least distance between the bodies' collision shapes [m]; None: unchecked
    clearance: float | None = 0.0
    # relative error of the model's forces, or covariance (n_p, n_p) of its standard parameters, of
    # which three standard deviations count
    force_uncertainty: ArrayLike = 0.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, fraction, top in (
            ('force_margin', self.force_margin, 1.0),
            ('velocity_margin', self.velocity_margin, 1.0),
            ('stroke_margin', self.stroke_margin, 0.5),
        ):
            if not 0.0 <= finite_number(name, fraction) < top:
                raise TrajectoryError(f'{name} must lie in [0, {top}), not {fraction}')
        if self.condition_limit is not None and self.condition_limit != np.inf:
            finite_number('condition_limit', self.condition_limit, positive=True)
        if self.acceleration is not None:
            _check_acceleration(self.acceleration)
        if self.aperture is not None:
            finite_number('aperture', self.aperture, positive=True, within=(0.0, np.pi))
        if self.clearance is not None:
            finite_number('clearance', self.clearance)
        _check_uncertainty(self.force_uncertainty)


def _check_acceleration(value: Any) -> None:
    try:
        limits = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise TrajectoryError(f'acceleration must be one number or more, not {value!r}') from None
    if limits.size == 0 or not np.all(limits > 0.0):
        raise TrajectoryError(f'acceleration must be positive, not {value}')


def _check_uncertainty(value: Any) -> None:
    if np.ndim(value) == 0:
        finite_number('force_uncertainty', value, nonnegative=True)
        return
    covariance = finite_array('force_uncertainty', value, (None, None))
    size = float(np.abs(covariance).max(initial=0.0))
    if covariance.shape[0] != covariance.shape[1] or np.any(
        np.abs(covariance - covariance.T) > SYMMETRIC * size
    ):
        raise TrajectoryError('force_uncertainty must be a fraction or a symmetric covariance')
    if np.any(np.linalg.eigvalsh(covariance) < -SYMMETRIC * size):
        raise TrajectoryError('force_uncertainty has negative eigenvalues: no covariance')


def acceleration_limit(model: ClosedChainModel, options: LimitOptions) -> Floats:
    """Return the acceleration limits (n_a,) of the actuators, infinite without any."""
    value = np.inf if options.acceleration is None else options.acceleration
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), (model.n_a,)))
    except ValueError:
        raise TrajectoryError(
            f'acceleration must be one number or {model.n_a}, got {np.shape(value)}'
        ) from None


def aperture_limits(model: ClosedChainModel, options: LimitOptions) -> tuple[list[str], Floats]:
    """Return the joints that have an aperture and their limits (n,) [rad], infinite without."""
    found = apertures_of_joints(model, *model.home_configuration)
    further = np.inf if options.aperture is None else float(options.aperture)
    return list(found.names), np.minimum(found.limits * (1.0 - options.stroke_margin), further)


def force_allowance(
    model: ClosedChainModel, options: LimitOptions, regressor: Any, forces: Floats
) -> Floats:
    """Return what an uncertain model may be wrong by (N, n_a) [N, N m].

    `regressor` is a function without arguments that gives the regressor (N, n_a, n_p).
    """
    uncertainty = np.asarray(options.force_uncertainty, dtype=float)
    if uncertainty.ndim == 0:
        return np.asarray(float(uncertainty) * np.abs(forces))
    if uncertainty.shape != (model.n_p, model.n_p):
        raise TrajectoryError(
            f'force_uncertainty must be a fraction or a covariance ({model.n_p}, {model.n_p}) of '
            f'the standard parameters, got {uncertainty.shape}'
        )
    rows = regressor()
    variance = np.einsum('tap,pq,taq->ta', rows, uncertainty, rows, optimize=True)
    return np.asarray(DEVIATIONS * np.sqrt(np.maximum(variance, 0.0)))


class Limits:
    """The limits of one robot, safety margins included."""

    def __init__(self, model: ClosedChainModel, options: LimitOptions) -> None:
        self.model, self.options = model, options
        self.condition_limit = options.condition_limit
        stroke_margin, velocity_margin = options.stroke_margin, options.velocity_margin
        self.acceleration = acceleration_limit(model, options)
        self.joints, self.apertures = aperture_limits(model, options)
        self.distances = BodyDistances(model)
        actuated = set(model.actuated_joints)
        self.lower, self.upper = _inset(model.lower, model.upper, stroke_margin)
        self.velocity = np.asarray(model.velocity_limit) * (1.0 - velocity_margin)
        # forces of all drives, where there are more of them than actuators of the model
        self.drives = all_drives(model)
        self.force = np.asarray(self.drives.force_limit) * (1.0 - options.force_margin)
        joints = [model.description.joint(name) for name in model.joint_names]
        self.units = {j.name: 'm' if j.type == 'prismatic' else 'rad' for j in joints}
        self.passive = [i for i, j in enumerate(joints) if j.name not in actuated]
        limits = [joints[i].limit for i in self.passive]
        ends = np.array([[limit.lower, limit.upper] for limit in limits]).reshape(-1, 2)
        self.passive_lower, self.passive_upper = _inset(ends[:, 0], ends[:, 1], stroke_margin)
        self.passive_velocity = np.array([limit.velocity for limit in limits]) * (
            1.0 - velocity_margin
        )
        self.passive_names = [joints[i].name for i in self.passive]
        workspace = read_workspace(model.description)
        self.box = _inset(workspace.lower, workspace.upper, stroke_margin)
        self.tilt = workspace.tilt * (1.0 - stroke_margin)

    def margins(
        self, motion: PlatformMotion, time: Floats, parameters: Floats | None
    ) -> list[Margin]:
        """Return the margins of one block of samples, but for those of the pose.

        For each constraint the worst, and all that are negative.
        """
        model, names = self.model, list(self.model.actuated_joints)
        motion = model.with_joint_states(motion)
        actuators, joints = model.actuator_states(motion), model.joint_states(motion)
        found = self.stroke_margins(actuators.positions, time)
        for constraint, values, limit, unit in (
            ('velocity', actuators.velocities, self.velocity, '/s'),
            ('acceleration', actuators.accelerations, self.acceleration, '/s^2'),
        ):
            extrema = largest(values, limit, time), smallest(values, -limit, time)
            found += worst_and_broken(constraint, extrema, names, self._units(names, unit))
        found += self._forces(motion, time, parameters)
        names, ends = self.passive_names, (self.passive_lower, self.passive_upper)
        values, rates = joints.positions[:, self.passive], joints.velocities[:, self.passive]
        found += _range('joint', values, ends, names, self._units(names), time)
        limit = self.passive_velocity
        extrema = largest(rates, limit, time), smallest(rates, -limit, time)
        found += worst_and_broken('joint_velocity', extrema, names, self._units(names, '/s'))
        return found + self._conditioning(motion, time) + self._distances(motion, joints, time)

    def _forces(
        self, motion: PlatformMotion, time: Floats, parameters: Floats | None
    ) -> list[Margin]:
        """Return the margins of the forces of all drives."""
        model, drives, names = self.model, self.drives, list(self.drives.actuated_joints)
        forces = model.inverse_dynamics(motion, parameters)
        shares: Floats | None = None
        if isinstance(drives, DriveDistribution):
            still, shares = drives.shares(motion)
            forces = still + np.einsum('tdk,tk->td', shares, forces)

        def regressor() -> Floats:
            rows = model.regressor(motion)
            return rows if shares is None else np.asarray(shares @ rows)

        allowance = force_allowance(model, self.options, regressor, forces)
        high, low = forces + allowance, forces - allowance
        extrema = largest(high, self.force, time), smallest(low, -self.force, time)
        effort = ['N' if unit == 'm' else 'N m' for unit in self._units(names)]
        return worst_and_broken('force', extrema, names, effort)

    def _units(self, joints: list[str], suffix: str = '') -> list[str]:
        return [f'{self.units[name]}{suffix}' for name in joints]

    def stroke_margins(self, positions: Floats, time: Floats) -> list[Margin]:
        """Return the margins of actuator positions (N, n_a), as `margins` does."""
        names = list(self.model.actuated_joints)
        ends = self.lower, self.upper
        return _range('stroke', positions, ends, names, self._units(names), time)

    def pose_margins(self, motion: PlatformMotion, time: Floats) -> list[Margin]:
        """Return the margins of the platform's pose, which need no kinematics."""
        found = _range('workspace', motion.position, self.box, ['x', 'y', 'z'], ['m'] * 3, time)
        tilt = np.arccos(np.clip(np.asarray(motion.rotation)[:, 2, 2], -1.0, 1.0))[:, None]
        upper = largest(tilt, np.array([self.tilt]), time)
        return found + worst_and_broken('tilt', (upper,), ['platform'], ['rad'])

    def _conditioning(self, motion: PlatformMotion, time: Floats) -> list[Margin]:
        if self.condition_limit is None or not has_singularities(self.model):
            return []
        found: list[Margin] = []
        limit = np.array([self.condition_limit])
        for some in _pose_samples(len(time)):
            condition = jacobian_condition(self.model, motion[some])
            assert condition is not None
            closest = largest(condition[:, None], limit, time[some])
            found += worst_and_broken('conditioning', (closest,), ['platform'], [''])
        return found

    def _distances(self, motion: PlatformMotion, joints: JointStates, time: Floats) -> list[Margin]:
        found: list[Margin] = []
        names, units = self.distances.pairs, ['rad'] * len(self.joints)
        for some in _pose_samples(len(time)):
            state = joints.positions[some], motion.position[some], motion.rotation[some]
            if np.any(np.isfinite(self.apertures)):
                angles = apertures_of_joints(self.model, *state).angles
                widest = largest(angles, self.apertures, time[some])
                found += worst_and_broken('aperture', (widest,), self.joints, units)
            if names and self.options.clearance is not None:
                gaps = self.distances.clearances(*state)
                limit = np.full(len(names), self.options.clearance)
                closest = smallest(gaps, limit, time[some])
                found += worst_and_broken('clearance', (closest,), names, ['m'] * len(names))
        return found


def _inset(lower: Floats, upper: Floats, share: float) -> tuple[Floats, Floats]:
    """Ends of ranges with a share of each left free at either end; open ranges stay."""
    span = upper - lower
    inset = share * np.where(np.isfinite(span), span, 0.0)
    return lower + inset, upper - inset


def _pose_samples(count: int) -> list[slice]:
    """Return evenly spaced samples of a block, and its last one where they end before it."""
    every = max(count // POSE_SAMPLES, 1)
    even = slice(None, None, every)
    return [even] if (count - 1) % every == 0 else [even, slice(count - 1, count)]


def _range(
    constraint: str,
    values: Floats,
    ends: tuple[Floats, Floats],
    names: list[str],
    units: list[str],
    time: Floats,
) -> list[Margin]:
    below, above = smallest(values, ends[0], time), largest(values, ends[1], time)
    return worst_and_broken(constraint, (below, above), names, units, ends[1] - ends[0])


def worst_and_broken(
    constraint: str,
    extrema: tuple[list[Extremum], ...],
    names: list[str],
    units: list[str],
    sizes: Floats | None = None,
) -> list[Margin]:
    """Return the margins of the worst of all signals, and of all others that break a limit.

    The worst is that with the smallest share of its size left: of the range of each signal
    `sizes` (n,), else of its limit. Limits may differ, and so may units.
    """
    margins = []
    for margin, value, limit, column, time in (e for some in extrema for e in some):
        ranged = sizes is not None and np.isfinite(sizes[column])
        size = sizes[column] if sizes is not None and ranged else abs(limit)
        what = (names[column], time, units[column], size)
        margins.append(Margin(constraint, margin, value, limit, *what))
    worst = min(margins, key=lambda margin: margin.relative, default=None)
    return [margin for margin in margins if margin is worst or margin.margin < 0.0]
