"""Candidates beside a model that grows: the best of each step, with period and shape refined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.estimators.consistent.friction_columns import linear_names
from pkm_identification.model_selection.candidate_terms import (
    Candidate,
    Columns,
    TimeRows,
    candidate_columns,
    candidates_of,
    friction_parameter,
    row_positions,
    time_rows,
)
from pkm_identification.model_selection.friction_alternatives import (
    REACHES,
    exponents_near,
    is_as_good,
    powers_for,
    told_apart,
)
from pkm_identification.model_selection.ripple_screen import LEAST_TURNS, drive_samples, ripple_peak
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.model_selection.term_steadiness import is_steady
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term, TriedTerm

PARTS = 10  # held out one by one, as for the choice of a band
LEVEL = 0.01  # of the F tests of one step together: one false term in a hundred right models
SURELY = 1.0  # standard deviations of its spread over the parts that an error must fall by
RANGES = (2, 3)  # of a drive's positions that are held out one by one: beyond them a spring grows
TESTED = 5  # best candidates of a step: those behind them bring less
# Multiple of a peak's period, and harmonics of it, one of which is the peak
HARMONICS = (
    *((1, (1,)), (1, (1, 2)), (1, (1, 2, 3))),
    *((2, (1, 2)), (2, (1, 2, 3)), (2, (2, 3))),
    *((3, (1, 3)), (3, (2, 3)), (3, (1, 2, 3))),
)
# What yields is Coulomb friction as a whole: to this factor, as the grid of deflections is coarse
YIELDING = 2.0
WAVES = 15  # wave numbers of one step towards the period
PERIOD_STEPS = 3  # a peak is as wide as one over the travel, and known to 0.3 % of it then


@dataclass(frozen=True)
class Judged:
    """A candidate, and what tests say of it."""

    equations: Equations
    trial: Trial
    f: float
    p_value: float  # times `tried`
    tried: float  # candidates beside it
    is_ambiguous: bool = False  # an offset that the data do not tell from friction by direction

    @property
    def candidate(self) -> Candidate:
        """The candidate itself."""
        return self.equations.candidates[self.trial.candidate]

    @property
    def falls(self) -> bool:
        """Whether the held-out error falls surely."""
        return self.trial.fall > SURELY * self.trial.deviation

    @property
    def passes(self) -> bool:
        """Whether all tests say that the model lacks it."""
        return self.falls and self.p_value < LEVEL

    def row(self, step: int, names: Sequence[str]) -> TriedTerm:
        """Entry of the table; names (f,) of the free parameters."""
        candidate, equations = self.candidate, self.equations
        after = equations.with_active(self.trial.candidate)
        total = float(np.sum(equations.held_out @ equations.weights))
        return TriedTerm(
            step=step,
            term=candidate.term,
            joints=candidate.joints,
            is_taken=False,
            error_before=equations.relative_error(candidate.axes),
            error_after=after.relative_error(candidate.axes),
            gain=self.trial.fall / max(total, 1e-300),
            deviation=self.trial.deviation / max(total, 1e-300),
            f=self.f,
            p_value=self.p_value,
            linear=candidate.linear,
            period=candidate.shape[0] if candidate.term is Term.RIPPLE else None,
            harmonics=candidate.harmonics,
            shape=candidate.shape if is_friction(candidate) else (),
            is_ambiguous=self.is_ambiguous,
            replaces=tuple(names[index] for index in candidate.replaces),
        )


@dataclass
class Search:
    """Candidates beside a model that grows."""

    problem: Problem
    with_laws: Sequence[str] = ()
    every: int = 1  # of the shapes of friction laws, one in so many
    may_change: bool = True  # whether parameters of the description may be replaced by others
    taken: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows: TimeRows = time_rows(self.problem, PARTS)
        self._plain = [
            each
            for each in candidates_of(self.problem, self.every)
            if not (is_friction(each) and set(each.joints) & set(self.with_laws))
            and (self.may_change or each.term is not Term.ASYMMETRY)
        ]
        self._columns: Columns = candidate_columns(self.problem, self._plain)
        # that were taken: ripples, and powers in place of viscous friction
        self._further: list[tuple[Candidate, Columns]] = []
        self._model: Columns = candidate_columns(self.problem, [])  # of all that were taken
        self._friction = _friction_parameters(self.problem)
        names = self.problem.model.parameter_names
        joints = enumerate(self.problem.model.actuated_joints)
        self._known_offsets = [
            Candidate(Term.OFFSET, (axis,), (joint,))
            for axis, joint in joints
            if f'{joint}.offset' in names
        ]
        self._positions = row_positions(self.problem)

    def judged(self) -> Iterator[Judged]:
        """Best candidates of a step, the best first; tests are made when one is asked for."""
        peaks = list(self._peaks(self._residuals()))
        equations = self._equations(peaks)
        rest = [
            number
            for number, each in enumerate(equations.candidates)
            if not any(each == one or each.excludes(one) for one in self.taken)
            and not each.needs([*self.taken, *self._known_offsets])
        ]
        if not rest:
            return
        kinds = {
            (equations.candidates[each].term, equations.candidates[each].axes) for each in rest
        }
        trials = equations.trials(rest)
        plausible = [self._is_plausible(equations, each) for each in trials]
        trials, ambiguous = told_apart(equations, trials, plausible)
        trials.sort(key=lambda each: -each.fall)
        seen: set[tuple[Term, tuple[int, ...]]] = set()
        for trial in trials:
            candidate = equations.candidates[trial.candidate]
            kind = candidate.term, candidate.axes
            if kind in seen or not self._is_plausible(equations, trial):
                continue
            seen.add(kind)  # the best shape of each
            is_ambiguous = trial.candidate in ambiguous
            judged = self._judge(equations, trial, len(kinds) * candidate.trials, is_ambiguous)
            if judged.passes and not self._holds(equations, trial):
                continue
            if candidate.with_offset:
                # what a constant alone explains is none: a spring grows beyond the data
                for alone in (
                    each for each in trials if self._is_constant(equations, each, candidate)
                ):
                    first = self._judge(equations, alone, len(kinds), alone.candidate in ambiguous)
                    if first.passes:
                        judged = first
                        seen.add((first.candidate.term, first.candidate.axes))
                        break
            yield judged
            if len(seen) >= TESTED:
                return

    def take(self, best: Judged) -> Judged:
        """Take a candidate; of a ripple first find period and harmonics, of a law a simpler one."""
        if best.candidate.term is Term.RIPPLE:
            best = self._refined(best)
        elif best.candidate.term.is_law:
            best = self._simpler(best)
        candidate = best.candidate
        own = best.equations.columns.only(best.trial.candidate, candidate.width)
        if candidate not in self._plain:
            self._further.append((candidate, own))
        self._model = self._model.joined(own)
        self.taken.append(candidate)
        return best

    def _residuals(self) -> Array:
        """Residuals (m, n_a) of the model as it is, in time."""
        equations = Equations.of(self._rows, self._model, self.taken)
        return equations.with_active(*range(len(self.taken))).residuals()

    def _equations(self, further: Sequence[Candidate]) -> Equations:
        """Equations of the candidates, others that were taken and further ones."""
        columns = self._columns
        for _, own in self._further:
            columns = columns.joined(own)
        if further:
            columns = columns.joined(candidate_columns(self.problem, further))
        candidates = [*self._plain, *(each for each, _ in self._further), *further]
        equations = Equations.of(self._rows, columns, candidates)
        return equations.with_active(*(candidates.index(each) for each in self.taken))

    def _holds(self, equations: Equations, trial: Trial) -> bool:
        """Whether a term is no matter of some parts or positions of the data."""
        candidate = equations.candidates[trial.candidate]
        if not is_steady(equations, trial.candidate):
            return False
        return candidate.term is not Term.SPRING or self._holds_elsewhere(equations, trial)

    def _holds_elsewhere(self, equations: Equations, trial: Trial) -> bool:
        """Whether a spring also predicts forces at positions that the estimate does not know."""
        candidate = equations.candidates[trial.candidate]
        positions = self._positions[:, candidate.axes[0]]
        for count in RANGES:
            rows = self._rows.by_position(positions, count)
            again = Equations.of(rows, equations.columns, equations.candidates)
            found = again.with_active(*equations.active).trials([trial.candidate])
            if not found or found[0].fall <= SURELY * found[0].deviation:
                return False
        return True

    def _is_constant(self, equations: Equations, trial: Trial, spring: Candidate) -> bool:
        """Whether a trial is of the offset, or of the Coulomb friction, of a spring's drive."""
        candidate = equations.candidates[trial.candidate]
        is_constant = candidate.term in (Term.OFFSET, Term.ASYMMETRY)
        return is_constant and set(spring.axes) <= set(candidate.axes)

    def _judge(
        self, equations: Equations, trial: Trial, tried: float, is_ambiguous: bool = False
    ) -> Judged:
        ratio, chance = equations.f_test(trial)
        return Judged(equations, trial, ratio, min(1.0, tried * chance), tried, is_ambiguous)

    def _peaks(self, residuals: Array) -> Iterator[Candidate]:
        """Ripple with one harmonic where it stands out, of each drive without one."""
        model = self.problem.model
        description = model.description
        has = {axis for each in self.taken if each.term is Term.RIPPLE for axis in each.axes}
        pieces = drive_samples(self.problem, self._rows.pieces(residuals))
        for axis, joint in enumerate(model.actuated_joints):
            is_known = any(name.startswith(f'{joint}.ripple_') for name in model.parameter_names)
            if axis in has or is_known or joint not in description.driven_joints:
                continue
            positions, left = ([each[:, axis] for each in some] for some in pieces)
            peak = ripple_peak(positions, left, [run.count for run in self.problem.runs])
            if peak is not None:
                linear = description.joint(joint).type == 'prismatic'
                place = (axis,), (joint,), linear, (1 / peak.wave,), (1,)
                yield Candidate(Term.RIPPLE, *place, trials=peak.independent)

    def _refined(self, found: Judged) -> Judged:
        """The same ripple with its period and harmonics; as it is where these bring no more."""
        travel = self._travel(found.candidate)
        reach, best = 1 / travel, found
        for _ in range(PERIOD_STEPS):
            best = self._nearer(best, reach)
            reach *= 2 / (WAVES - 1)
        harmonics = [
            self._changed(best.candidate, factor, numbers)
            for factor, numbers in HARMONICS
            if travel / (factor * best.candidate.shape[0]) >= LEAST_TURNS
        ]
        equations = self._equations(harmonics)
        offset = len(equations.candidates) - len(harmonics)
        tried = [offset + number for number in range(len(harmonics))]
        worth = best.f * best.candidate.width / max(best.trial.taken, 1e-300)  # in variances
        rows = np.log(equations.rows.forces.size)
        trials = sorted(
            equations.trials(tried),
            key=lambda each: rows * equations.candidates[each.candidate].width - worth * each.taken,
        )
        judged = self._judge(equations, trials[0], best.tried) if trials else best
        judged = self._nearer(judged, reach) if judged.passes else best
        return judged if judged.passes and judged.trial.fall >= found.trial.fall else found

    def _simpler(self, found: Judged) -> Judged:
        """A power law in place of viscous friction where it predicts as well as the law beside."""
        law = found.candidate
        viscous = friction_parameter(self.problem, law.joints, 'viscous')
        if viscous is None or not self.may_change:
            return found
        best = found
        for reach in REACHES:
            powers = powers_for(law, viscous, exponents_near(best.candidate.shape[0], reach))
            equations = self._equations(powers)
            first = len(equations.candidates) - len(powers)
            trials = equations.trials(range(first, len(equations.candidates)))
            trials = [each for each in trials if self._is_plausible(equations, each)]
            if not trials:
                return best
            trial = max(trials, key=lambda each: each.taken)
            if not is_as_good(trial, found.trial, SURELY):
                return best
            # the test is that of the law: it tells that viscous friction is not all
            best = Judged(equations, trial, found.f, found.p_value, found.tried)
        return best

    def _nearer(self, found: Judged, reach: float) -> Judged:
        """The same ripple with the wave number nearby that takes most of the residuals."""
        candidate = found.candidate
        waves = 1 / candidate.shape[0] + reach * np.linspace(-1, 1, WAVES)
        several = [
            replace(candidate, shape=(1 / float(wave),))
            for wave in waves
            if wave * self._travel(candidate) >= LEAST_TURNS
        ]
        equations = self._equations(several)
        first = len(equations.candidates) - len(several)
        trials = equations.trials(range(first, len(equations.candidates)))
        if not trials:
            return found
        best = max(trials, key=lambda each: each.taken)
        return self._judge(equations, best, found.tried)

    def _travel(self, candidate: Candidate) -> float:
        """Longest travel [m, rad] of the drive in one recording."""
        axis = candidate.axes[0]
        return max(float(np.ptp(run.signals.positions[:, axis])) for run in self.problem.runs)

    def _changed(self, ripple: Candidate, factor: int, harmonics: tuple[int, ...]) -> Candidate:
        """Return a ripple of a period that is a multiple, with these harmonics."""
        return replace(ripple, shape=(factor * ripple.shape[0],), harmonics=harmonics)

    def _is_plausible(self, equations: Equations, trial: Trial) -> bool:
        """Whether a rotor is positive, and friction never drives."""
        candidate = equations.candidates[trial.candidate]
        if candidate.term is Term.ROTOR:
            return bool(trial.values[0] > 0)
        if candidate.term is Term.ASYMMETRY:
            coulomb = friction_parameter(self.problem, candidate.joints, 'coulomb')
            return coulomb is not None and bool(abs(trial.values[0]) <= trial.free_values[coulomb])
        if candidate.term is Term.PRESLIDING:
            coulomb = friction_parameter(self.problem, candidate.joints, 'coulomb')
            if coulomb is None:
                return False
            level = trial.free_values[coulomb]
            return bool(level / YIELDING < trial.values[0] < level * YIELDING)
        if not candidate.term.is_law:
            return True
        index = np.concatenate([self._friction[axis] for axis in candidate.axes])
        before, after = equations.free_values[index], trial.free_values[index]
        return bool(trial.values[0] > 0 and (after >= np.minimum(before, 0.0)).all())


def is_friction(candidate: Candidate) -> bool:
    """Whether a candidate is a shape of friction: a law, or presliding."""
    return candidate.term.is_law or candidate.term is Term.PRESLIDING


def _friction_parameters(problem: Problem) -> list[Indices]:
    """Free parameters of each drive that are its Coulomb and viscous friction."""
    names = list(problem.model.parameter_names)
    found = []
    for joint in problem.model.actuated_joints:
        own = [names.index(name) for name in linear_names(joint) if name in names]
        rows = np.flatnonzero(np.abs(problem.base.matrix[:, own]).max(axis=1, initial=0.0) > 0)
        found.append(np.flatnonzero(np.isin(problem.free, rows)))
    return found
