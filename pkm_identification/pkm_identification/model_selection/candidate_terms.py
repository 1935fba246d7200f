"""Terms of drives that a model may lack, as columns beside its regressor.

All act on single drives, from position, velocity and acceleration alone, and pass the same
band as the forces. Shapes of friction laws come from a small grid, so that every candidate
is linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pkm_dynamics.drive_states import DriveStates
from pkm_dynamics.friction_laws import LAWS
from pkm_identification.arrays import Array, Indices
from pkm_identification.estimators.consistent.friction_columns import coulomb_names, drives_alike
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand

# Exponents of power laws: below one friction that saturates, above one that of fluids
POWERS = (0.25, 0.5, 0.75, 1.5, 2.0)
# Of the Stribeck law: the usual exponential and the Gaussian
STRIBECK_EXPONENTS = (1.0, 2.0)
SPEEDS = 5  # of a law's characteristic speed, from the transition velocity to half the largest
# Deflections of presliding over the travel of a drive: less is not seen at usual bands, more is
# a spring, and no real joint
DEPTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
SLOWEST = 1e-2  # of the largest speed, where the transition velocity is smaller or none


@dataclass(frozen=True)
class Candidate:
    """One term of one drive, or of drives that share it by design."""

    term: Term
    axes: tuple[int, ...]
    joints: tuple[str, ...]
    linear: bool = False  # whether the joints move along their axis
    # of a law: its parameters but the amplitude; of a ripple: its period, of presliding: its
    # deflection [m, rad]
    shape: tuple[float, ...] = ()
    harmonics: tuple[int, ...] = ()  # of a ripple
    with_offset: bool = False  # of a spring: an offset moves its rest position
    trials: float = 1.0  # others of its kind that were tried with it, itself included
    replaces: tuple[int, ...] = ()  # free parameters that it stands in place of

    @property
    def width(self) -> int:
        """Number of parameters."""
        return max(1 + self.with_offset, 2 * len(self.harmonics))

    @property
    def offsets(self) -> list[Candidate]:
        """The offsets of the same drives."""
        pairs = zip(self.axes, self.joints, strict=True)
        return [Candidate(Term.OFFSET, (axis,), (joint,), self.linear) for axis, joint in pairs]

    def excludes(self, other: Candidate) -> bool:
        """Whether a model cannot have both."""
        if not set(self.axes) & set(other.axes):
            return False
        is_moved = self.with_offset and other.term is Term.OFFSET
        is_within = self.term is Term.OFFSET and other.with_offset
        are_laws = self.term.is_law and other.term.is_law
        # the column of friction by direction is that of drives that do not yield
        yielding = {self.term, other.term} == {Term.PRESLIDING, Term.ASYMMETRY}
        return self.term == other.term or are_laws or is_moved or is_within or yielding

    def needs(self, taken: Sequence[Candidate]) -> bool:
        """Whether it cannot stand alone: a spring without offset beside none."""
        if self.term is not Term.SPRING or self.with_offset:
            return False
        return not any(
            each.term is Term.OFFSET and set(each.axes) & set(self.axes) for each in taken
        )

    def states(self, count: int) -> DriveStates:
        """Bristles of presliding in its drives, of so many."""
        depth = [self.shape[0] if axis in self.axes else np.inf for axis in range(count)]
        return DriveStates(tuple(depth), (), (), (), (), 0.0)

    def factors(
        self, signals: Signals, axis: int, transition_velocity: float, states: Array | None = None
    ) -> Array:
        """Force per parameter (n, width) of one of its drives along a motion, with its states."""
        q = signals.positions[:, axis]
        if self.term is Term.OFFSET:
            return np.ones((len(q), 1))
        if self.term is Term.SPRING:
            return np.stack([q, np.ones(len(q))], axis=-1) if self.with_offset else q[:, None]
        if self.term is Term.ROTOR:
            return signals.accelerations[:, axis, None]
        if self.term is Term.RIPPLE:
            angle = q[:, None] * (2 * np.pi * np.array(self.harmonics) / self.shape[0])
            return np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(len(q), -1)
        speed, slow = signals.velocities[:, axis], transition_velocity
        sign = np.clip(speed / slow, -1.0, 1.0) if slow > 0 else np.sign(speed)
        if self.term is Term.ASYMMETRY:
            return np.abs(sign)[:, None]
        if states is not None:
            return (states[:, axis] - sign)[:, None]
        parameters = [np.asarray(each) for each in self.shape]
        return np.asarray(LAWS[self.term.value].shape(speed, sign, parameters)[0][:, None])


def candidates_of(problem: Problem, every: int = 1) -> list[Candidate]:
    """All candidates but ripple, of drives whose model does not have them already.

    Of the shapes of friction laws only one in `every`.
    """
    model = problem.model
    joints, driven = list(model.actuated_joints), set(model.description.driven_joints)
    known = set(model.parameter_names)
    found: list[Candidate] = []
    for axis, joint in enumerate(joints):
        if joint not in driven:
            continue
        linear = model.description.joint(joint).type == 'prismatic'
        if f'{joint}.offset' not in known:
            found.append(Candidate(Term.OFFSET, (axis,), (joint,), linear))
        if f'{joint}.stiffness' not in known:
            spring = Candidate(Term.SPRING, (axis,), (joint,), linear)
            found.append(spring)
            if f'{joint}.offset' not in known:
                found.append(replace(spring, with_offset=True))
    for axes in drives_alike(problem, joints, per_axis=False):
        members = tuple(joints[axis] for axis in axes)
        if not driven.issuperset(members):
            continue
        linear = model.description.joint(members[0]).type == 'prismatic'
        if not any(f'{joint}.rotor' in known for joint in members):
            found.append(Candidate(Term.ROTOR, tuple(axes), members, linear))
        terms = [model.description.drive_terms.get(joint) for joint in members]
        is_static = all(each is None or each.presliding is None for each in terms)
        if is_static and friction_parameter(problem, members, 'coulomb') is not None:
            found.append(Candidate(Term.ASYMMETRY, tuple(axes), members, linear))
            found += _presliding(problem, tuple(axes), members, linear, every)
        if all(coulomb_names(problem, joint) for joint in members):
            found += _laws(problem, tuple(axes), members, linear, every)
    return found


def _presliding(
    problem: Problem, axes: tuple[int, ...], joints: tuple[str, ...], linear: bool, every: int
) -> Iterator[Candidate]:
    """Presliding of drives that have none, with deflections from a grid."""
    terms = problem.model.description.drive_terms
    if any(terms[joint].presliding for joint in joints if joint in terms):
        return
    travel = max(
        float(np.ptp(run.signals.positions[:, list(axes)], axis=0).max()) for run in problem.runs
    )
    some = DEPTHS[::every]
    for depth in some:
        shape = (float(f'{depth * travel:.2g}'),)  # as one would write it
        if shape[0] > 0.0:
            yield Candidate(Term.PRESLIDING, axes, joints, linear, shape, trials=float(len(some)))


def friction_parameter(problem: Problem, joints: Sequence[str], kind: str) -> int | None:
    """Index of the free parameter that is this friction of some drives and nothing else.

    None where there is none, or a prior says something of it.
    """
    names = list(problem.model.parameter_names)
    if not {f'{joint}.{kind}' for joint in joints} <= set(names):
        return None
    own = [names.index(f'{joint}.{kind}') for joint in joints]
    rows = np.flatnonzero((problem.base.matrix[:, own] != 0).any(axis=1))
    if len(rows) != 1 or (np.delete(problem.base.matrix[rows[0]], own) != 0).any():
        return None
    found = np.flatnonzero(problem.free == rows[0])
    if not len(found) or problem.prior_information[0][:, rows[0]].any():
        return None
    return int(found[0])


def _laws(
    problem: Problem, axes: tuple[int, ...], joints: tuple[str, ...], linear: bool, every: int
) -> Iterator[Candidate]:
    """Friction laws of drives with shapes from a grid."""
    largest = max(
        float(np.abs(run.signals.velocities[:, list(axes)]).max()) for run in problem.runs
    )
    slow = max(2 * float(problem.model.description.transition_velocity), SLOWEST * largest)
    if not slow < largest / 2:  # no faster than the sign is smoothed over
        return
    speeds = np.geomspace(slow, largest / 2, SPEEDS)
    grids: dict[Term, list[tuple[float, ...]]] = {
        Term.STRIBECK: [(float(v), n) for v, n in product(speeds, STRIBECK_EXPONENTS)],
        Term.ATAN: [(float(1 / v),) for v in speeds],
        Term.POWER: [(n,) for n in POWERS],
    }
    for term, shapes in grids.items():
        some = shapes[::every]
        for shape in some:
            yield Candidate(term, axes, joints, linear, shape, trials=float(len(some)))


@dataclass(frozen=True)
class TimeRows:
    """Rows of all runs in time: forces, regressor and columns of candidates, even those of periods.

    Fourier coefficients of a period are turned into as many samples of it: a rotation, which
    changes neither sums of squares nor white noise.
    """

    forces: Array  # (m, n_a), less the part of the fixed parameters
    regressor: Array  # (m, n_a, f)
    parts: Indices  # (m,) number of the part that each row belongs to
    runs: Indices  # (m,) number of its run

    def residuals(self, values: Array) -> Array:
        """Return Gamma - Psi p (m, n_a)."""
        return np.asarray(self.forces - self.regressor @ values)

    def by_position(self, positions: Array, count: int) -> TimeRows:
        """The same with parts of equal size by the position (m,) of a drive, not by time."""
        order = np.argsort(np.argsort(positions, kind='stable'), kind='stable')
        return replace(self, parts=order * count // len(order))

    def pieces(self, residuals: Array) -> list[Array]:
        """Residuals (m, n_a) run by run."""
        return [residuals[self.runs == number] for number in np.unique(self.runs)]


def time_rows(problem: Problem, count: int) -> TimeRows:
    """Rows of a problem in time, in about so many parts of equal length, two or more a run."""
    sizes = np.array([run.count for run in problem.runs])
    shares = np.maximum(2, np.round(count * sizes / sizes.sum())).astype(int)
    forces, regressors, parts, runs = [], [], [], []
    first = 0
    for number, (run, share) in enumerate(zip(problem.runs, shares, strict=True)):
        forces.append(in_time(run.forces, run.is_periodic))
        regressors.append(in_time(run.regressor, run.is_periodic))
        parts.append(first + np.arange(run.count) * share // run.count)
        runs.append(np.full(run.count, number))
        first += int(share)
    return TimeRows(
        np.concatenate(forces),
        np.concatenate(regressors),
        np.concatenate(parts),
        np.concatenate(runs),
    )


def row_positions(problem: Problem) -> Array:
    """Positions (m, n_a) [m, rad] of the drives at the rows in time."""
    found = []
    for run in problem.runs:
        band, positions = run.signals.band, run.signals.positions
        if isinstance(band, FilterBand):
            found.append(positions[band.row_samples(len(positions))])
        else:  # samples of a period, at as many instants as there are rows
            place = np.arange(run.count) * (len(positions) / run.count)
            found.append(positions[place.astype(np.int64)])
    return np.concatenate(found)


def in_time(rows: Array, is_periodic: bool) -> Array:
    """Rows (m, ...) in time: of Fourier coefficients as many samples of the period."""
    if not is_periodic:
        return rows
    count = len(rows)
    spectrum = np.concatenate(
        [rows[:1] * np.sqrt(count), (rows[1::2] - 1j * rows[2::2]) * np.sqrt(count / 2)]
    )
    return np.asarray(np.fft.irfft(spectrum, count, axis=0))


@dataclass(frozen=True)
class Columns:
    """Columns of candidates in the rows of a problem in time, axis by axis."""

    values: Array  # (m, n_a, s)
    parameters: Indices  # (n_a, s), which parameter of all candidates a column is; -1: none
    firsts: Indices  # first parameter of each candidate

    @property
    def count(self) -> int:
        """Number of parameters of all candidates."""
        return int(self.parameters.max(initial=-1)) + 1

    def only(self, number: int, width: int) -> Columns:
        """Return the columns of one candidate with so many parameters."""
        parameters = self.firsts[number] + np.arange(width)
        there = self.parameters[:, :, None] == parameters  # (n_a, s, w)
        has = there.any(axis=1)
        slots = there.argmax(axis=1)
        values = np.take_along_axis(self.values, slots[None], axis=2) * has
        index = np.where(has, np.arange(width), -1)
        return Columns(values, index, np.zeros(1, dtype=np.int64))

    def joined(self, other: Columns) -> Columns:
        """Return the columns of both, those of the other behind."""
        behind = np.where(other.parameters >= 0, other.parameters + self.count, -1)
        return Columns(
            np.concatenate([self.values, other.values], axis=2),
            np.concatenate([self.parameters, behind], axis=1),
            np.concatenate([self.firsts, other.firsts + self.count]),
        )


def candidate_columns(problem: Problem, candidates: Sequence[Candidate]) -> Columns:
    """Columns of candidates, passed through the band of each run."""
    if not candidates:
        count = sum(run.count for run in problem.runs)
        none = np.zeros((problem.axes, 0), dtype=np.int64)
        return Columns(np.zeros((count, problem.axes, 0)), none, none[0])
    slow = float(problem.model.description.transition_velocity)
    own = [[each for each in candidates if axis in each.axes] for axis in range(problem.axes)]
    firsts = np.cumsum([0, *(each.width for each in candidates)])
    known = {id(each): int(first) for each, first in zip(candidates, firsts, strict=False)}
    slots = max(1, *(sum(each.width for each in some) for some in own))
    parameters = np.full((problem.axes, slots), -1, dtype=np.int64)
    for axis, some in enumerate(own):
        index = [known[id(each)] + k for each in some for k in range(each.width)]
        parameters[axis, : len(index)] = index

    def past(signals: Signals, candidate: Candidate, samples: slice) -> Array | None:
        if candidate.term is not Term.PRESLIDING:
            return None
        return signals.drive_states(candidate.states(problem.axes))[samples]

    def columns(signals: Signals, samples: slice) -> Array:
        some = replace(signals, samples=signals.samples.rows(samples))
        out = np.zeros((len(some), problem.axes, slots))
        for axis, of_axis in enumerate(own):
            if of_axis:
                factors = [
                    each.factors(some, axis, slow, past(signals, each, samples)) for each in of_axis
                ]
                whole = np.concatenate(factors, axis=1)
                out[:, axis, : whole.shape[1]] = whole
        return out

    found = []
    for run in problem.runs:
        rows = np.concatenate([rows for rows, _ in run.signals.row_blocks(columns)])
        found.append(in_time(rows, run.is_periodic))
    return Columns(np.concatenate(found), parameters, firsts[:-1])
