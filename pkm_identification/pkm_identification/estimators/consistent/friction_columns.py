"""Friction laws of the drives as columns of an identification problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.friction_laws import LAWS, LINEAR, DriveFriction, parameter_units
from pkm_dynamics.parameters.groups import group_name
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import RowRegressor, Rows, Run
from pkm_identification.regression.selection import Selection

COULOMB = ('coulomb', 'coulomb_positive', 'coulomb_negative')
EXPONENTS = {'stribeck_exponent': (0.5, 3.0), 'power_exponent': (0.05, 3.0)}
SHOWN = 1e-2  # share of the forces that an amplitude of no size counts as
SLOWEST = 1e-3  # share of the largest speed, where the description has no transition velocity


@dataclass(frozen=True)
class FrictionGroup:
    """Drives with one friction law and the same parameters in it."""

    law: str  # key of `friction_laws.LAWS`
    axes: tuple[int, ...]  # of the actuated joints
    name: str  # what the parameters are called after
    force: float  # size of the forces of these drives [N, N m]: the unit of the amplitude in a fit
    low: Array  # (s,) least values of the other parameters of the law
    high: Array  # (s,)


@dataclass(frozen=True)
class LawRegressor:
    """Regressor of a run with columns of friction laws behind it, whose shapes are given."""

    base: RowRegressor
    laws: FrictionColumns

    @property
    def names(self) -> list[str]:
        """Names of the parameters (r + g)."""
        return [*self.base.names, *self.laws.names]

    @property
    def columns(self) -> Array:
        """Standard parameters with the same forces (n_p, r) as the base ones; laws have none."""
        return self.base.columns

    def regressor(self, motion: PlatformMotion) -> Array:
        """Return the force per parameter (N, n_a, r + g)."""
        laws, model = self.laws, self.laws.problem.model
        velocities = model.actuator_states(motion).velocities
        own = laws.jacobian(laws.friction(laws.start), velocities)
        return np.concatenate([self.base.regressor(motion), own], axis=-1)


@dataclass(frozen=True)
class FrictionColumns:
    """Groups of drives, and what their friction makes of the rows of a problem.

    Parameters are ordered group by group, in each as the law's fields.
    """

    problem: Problem
    groups: tuple[FrictionGroup, ...]
    transition_velocity: float

    @property
    def names(self) -> list[str]:
        """Names (g,) of the parameters."""
        return [f'{each.name}.{field}' for each in self.groups for field in LAWS[each.law].fields]

    @property
    def amplitudes(self) -> Indices:
        """Indices of the amplitudes among the parameters."""
        counts = [len(LAWS[each.law].fields) for each in self.groups]
        return np.cumsum([0, *counts[:-1]], dtype=np.int64)

    @property
    def shapes(self) -> Indices:
        """Indices of the other parameters."""
        return np.setdiff1d(np.arange(len(self.names)), self.amplitudes)

    @property
    def constant(self) -> Mask:
        """Which parameters (g,) have only one possible value."""
        constant = np.zeros(len(self.names), dtype=bool)
        constant[self.shapes] = np.concatenate([each.low == each.high for each in self.groups])
        return constant

    @property
    def joint_index(self) -> Indices:
        """Parameter (k,) that each parameter of `friction` has the value of."""
        owners: dict[int, list[int]] = {}
        for group, first in zip(self.groups, self.amplitudes, strict=True):
            for axis in group.axes:
                owners[axis] = list(range(first, first + len(LAWS[group.law].fields)))
        return np.array([i for axis in sorted(owners) for i in owners[axis]], dtype=np.int64)

    @property
    def start(self) -> Array:
        """Parameters (g,) without friction: no amplitudes, shapes at their least."""
        values = np.zeros(len(self.names))
        values[self.shapes] = np.concatenate([each.low for each in self.groups])
        return values

    def friction(self, values: Array) -> DriveFriction:
        """Friction of the drives with parameters (g,)."""
        joints = self.problem.model.actuated_joints
        known = {axis: group.law for group in self.groups for axis in group.axes}
        laws = tuple(known.get(axis, LINEAR) for axis in range(len(joints)))
        own, slow = values[self.joint_index], self.transition_velocity
        return DriveFriction(tuple(joints), laws, own, slow)

    def jacobian(self, friction: DriveFriction, velocities: Array) -> Array:
        """Derivatives (N, n_a, g) of the forces by the parameters of the groups."""
        own = friction.jacobian(velocities)
        jacobian = np.zeros((*own.shape[:2], len(self.names)))
        for column, parameter in enumerate(self.joint_index):
            jacobian[..., parameter] += own[..., column]
        return jacobian

    def rows(self, function: Callable[[Array], Array]) -> Iterator[tuple[Run, Array]]:
        """Rows (m, n_a, ...) of a function of the drives' velocities, run by run."""
        for run in self.problem.runs:
            blocks = run.signals.row_blocks(
                lambda signals, samples: function(signals.velocities[samples])
            )
            yield run, np.concatenate([rows for rows, _ in blocks])

    def with_given_shapes(self) -> Problem:
        """Return the problem in the base parameters and the amplitudes, all else given."""
        linear = self.linearised(self.start)
        runs = tuple(replace(run, base=LawRegressor(run.base, self)) for run in linear.runs)
        return replace(linear, runs=runs)

    def linearised(self, values: Array) -> Problem:
        """Return the problem in the base parameters and these, linear about `values` (g,)."""
        problem = self.problem
        friction = self.friction(values)

        def both(velocities: Array) -> Array:
            jacobian = self.jacobian(friction, velocities)
            return np.concatenate([jacobian, friction.forces(velocities)[..., None]], axis=-1)

        selection = problem.selection
        free, constant = np.flatnonzero(~self.constant), np.flatnonzero(self.constant)
        wider = Selection(
            np.concatenate([selection.free, selection.size + free]),
            np.concatenate([selection.fixed, selection.size + constant]),
            np.concatenate([selection.values, values[constant]]),
            np.pad(selection.covariance, (0, len(constant))),
        )
        runs = []
        for run, columns in self.rows(both):
            slope, force = columns[..., :-1], columns[..., -1]
            rows = Rows(
                np.concatenate([run.regressor, slope[..., free]], axis=-1),
                run.forces - force + slope[..., free] @ values[free],
                np.concatenate([run.rows.fixed, slope[..., constant]], axis=-1),
            )
            runs.append(run.with_rows(rows, wider))
        before, target = problem.prior_information
        sizes = values.copy()  # an amplitude of zero has a size all the same
        least = SHOWN * np.array([group.force for group in self.groups])
        sizes[self.amplitudes] = np.maximum(np.abs(values[self.amplitudes]), least)
        return replace(
            problem,
            runs=tuple(runs),
            selection=wider,
            all_nominal=np.concatenate([problem.all_nominal, sizes]),
            prior_information=(np.pad(before, ((0, 0), (0, len(values)))), target),
            further_names=tuple(self.names),
        )


def build_columns(
    problem: Problem, law: str | Mapping[str, str], per_axis: bool, exponent: float | None
) -> FrictionColumns:
    """Choose laws, groups and ranges.

    `law` is one for all drives, or by joint name or pattern: drives that no pattern names have
    linear friction. Drives that share their Coulomb or viscous parameter share these too, unless
    `per_axis`. `exponent` is that of the Stribeck law; None estimates it.

    EstimationError: an unknown law or joint, drives that share friction but not the law, a drive
    without Coulomb friction in the description, motions too slow, or recordings too long.
    """
    joints = list(problem.model.actuated_joints)
    laws = _laws(law, joints)
    if any(run.is_long for run in problem.runs):
        raise EstimationError(
            "estimator 'nonlinear_friction' keeps all rows in memory: give it a part of the data"
        )
    v0 = float(problem.model.description.transition_velocity)
    speeds = np.max([np.abs(run.signals.velocities).max(axis=0) for run in problem.runs], axis=0)
    sizes = np.max([run.force_size for run in problem.runs], axis=0)
    groups = []
    for axes in drives_alike(problem, joints, per_axis):
        chosen = {laws[axis] for axis in axes}
        members = tuple(joints[axis] for axis in axes)
        if len(chosen) > 1:
            raise EstimationError(
                f'{", ".join(members)} share their friction but not its law '
                f'({", ".join(sorted(chosen))}); use shared=False or one law'
            )
        kind = chosen.pop()
        if kind == LINEAR:
            continue
        lacking = [joint for joint in members if not coulomb_names(problem, joint)]
        if lacking:
            raise EstimationError(
                f"drive '{lacking[0]}' has no Coulomb friction in the description, which a "
                'friction law adds to; declare a friction model with it (coulomb_viscous, '
                'coulomb, asymmetric, asymmetric_coulomb)'
            )
        speed = float(speeds[list(axes)].max())
        low, high = _ranges(kind, v0, speed, exponent, members[0])
        size = max(float(sizes[list(axes)].max()), 1e-12)
        groups.append(FrictionGroup(kind, tuple(axes), group_name(members), size, low, high))
    return FrictionColumns(problem, tuple(groups), v0)


def fixed_columns(
    problem: Problem, laws: Mapping[str, tuple[str, tuple[float, ...]]]
) -> FrictionColumns:
    """Columns of laws by joint whose parameters but the amplitude are given."""
    joints = list(problem.model.actuated_joints)
    sizes = np.max([run.force_size for run in problem.runs], axis=0)
    groups = []
    for axes in drives_alike(problem, joints, per_axis=False):
        members = tuple(joints[axis] for axis in axes)
        if members[0] in laws:
            law, shape = laws[members[0]]
            size = max(float(sizes[axes].max()), 1e-12)
            given = np.array(shape, dtype=float)
            group = FrictionGroup(law, tuple(axes), group_name(members), size, given, given)
            groups.append(group)
    v0 = float(problem.model.description.transition_velocity)
    return FrictionColumns(problem, tuple(groups), v0)


def friction_units(friction: DriveFriction, model: ClosedChainModel) -> tuple[str, ...]:
    """Units (k,) of the parameters of drives' friction."""
    known = dict(zip(model.parameter_names, model.parameter_units, strict=True))
    units: list[str] = []
    for joint, law in zip(friction.joint_names, friction.laws, strict=True):
        if law != LINEAR:
            force = next(known[name] for name in linear_names(joint) if name in known)
            units += parameter_units(law, force)
    return tuple(units)


def coulomb_names(problem: Problem, joint: str) -> list[str]:
    """Names of the Coulomb parameters of a joint."""
    known = set(problem.model.parameter_names)
    return [f'{joint}.{field}' for field in COULOMB if f'{joint}.{field}' in known]


def _laws(law: str | Mapping[str, str], joints: list[str]) -> list[str]:
    """Law of each drive."""
    if isinstance(law, str):
        law = {'*': law}
    laws = [LINEAR] * len(joints)
    for pattern, name in law.items():
        if name not in LAWS:
            raise EstimationError(f"unknown friction law '{name}'; valid are {', '.join(LAWS)}")
        matching = [i for i, joint in enumerate(joints) if fnmatchcase(joint, pattern)]
        if not matching:
            raise EstimationError(
                f"law: no drive is called or matches '{pattern}'; they are {', '.join(joints)}"
            )
        for i in matching:
            laws[i] = name
    return laws


def drives_alike(problem: Problem, joints: list[str], per_axis: bool) -> list[list[int]]:
    """Axes that share a linear friction parameter, together."""
    space = problem.base.space
    names = list(problem.model.parameter_names)
    groups: dict[tuple[int, ...], list[int]] = {}
    for axis, joint in enumerate(joints):
        own = [i for i, name in enumerate(names) if name in linear_names(joint)]
        labels = tuple(np.flatnonzero(space.expand[own].any(axis=0)).tolist())
        groups.setdefault((-1 - axis,) if per_axis or not labels else labels, []).append(axis)
    return list(groups.values())


def linear_names(joint: str) -> list[str]:
    """Names that linear friction parameters of a joint may have."""
    return [f'{joint}.{field}' for field in (*COULOMB, 'viscous')]


def _ranges(
    law: str, v0: float, speed: float, exponent: float | None, joint: str
) -> tuple[Array, Array]:
    """Lowest and highest values of the parameters but the amplitude."""
    slow = 2 * v0 if v0 > 0 else SLOWEST * speed
    slopes = (1 / max(speed, 1e-300), 1 / slow)
    ranges = {'stribeck_velocity': (slow, speed / 2), 'atan_slope': slopes, **EXPONENTS}
    if exponent is not None:
        ranges['stribeck_exponent'] = (exponent, exponent)
    chosen = np.array([ranges[field] for field in LAWS[law].fields[1:]])
    if (chosen[:, 0] > chosen[:, 1]).any():
        raise EstimationError(
            f"drive '{joint}' moves at {speed:.3g} m/s (rad/s) at most, no faster than its "
            f'friction is smoothed over: that shows no {law} friction'
        )
    return chosen[:, 0], chosen[:, 1]
