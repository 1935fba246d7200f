"""Candidates beside a model that grows: the best of each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.model_selection.candidate_terms import (
    Candidate,
    Columns,
    TimeRows,
    candidate_columns,
    candidates_of,
    row_positions,
    time_rows,
)
from pkm_identification.model_selection.friction_alternatives import told_apart
from pkm_identification.model_selection.judged_term import SURELY, Judged, is_friction
from pkm_identification.model_selection.measurement_terms import measurement_terms
from pkm_identification.model_selection.ripple_screen import drive_samples, ripple_peak
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.model_selection.term_plausibility import Plausibility
from pkm_identification.model_selection.term_refinement import refined_ripple, simpler_law
from pkm_identification.model_selection.term_steadiness import is_steady
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term

PARTS = 10  # held out one by one, as for the choice of a band
RANGES = (2, 3)  # of a drive's positions that are held out one by one: beyond them a spring grows
# Where the motion shows no more than half of the stroke, a spring must explain more than this share
# of the spread of its drive's forces: a smaller force may come from anything that depends on the
# position (ripple with a long period, geometry), and a spring would make it grow beyond the motion
SMALL, MOST_OF_STROKE = 0.05, 0.5
TESTED = 5  # best candidates of a step: those behind them bring less


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
        of_measurement, columns = measurement_terms(self.problem, self._rows)
        self._columns: Columns = candidate_columns(self.problem, self._plain).joined(columns)
        self._plain += of_measurement
        # that were taken: ripples, and powers in place of viscous friction
        self._further: list[tuple[Candidate, Columns]] = []
        self._model: Columns = candidate_columns(self.problem, [])  # of all that were taken
        self._is_plausible = Plausibility(self.problem)
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
            judged = Judged.of(equations, trial, len(kinds) * candidate.trials, is_ambiguous)
            if judged.passes and not self._holds(equations, trial):
                continue
            if candidate.with_offset:
                # what a constant alone explains is none: a spring grows beyond the data
                for alone in (
                    each for each in trials if self._is_constant(equations, each, candidate)
                ):
                    first = Judged.of(equations, alone, len(kinds), alone.candidate in ambiguous)
                    if first.passes and self._holds(equations, alone):
                        judged = first
                        seen.add((first.candidate.term, first.candidate.axes))
                        break
            yield judged
            if len(seen) >= TESTED:
                return

    def take(self, best: Judged) -> Judged:
        """Take a candidate; of a ripple first find period and harmonics, of a law a simpler one."""
        if best.candidate.term is Term.RIPPLE:
            best = refined_ripple(best, self.problem, self._equations)
        elif best.candidate.term.is_law and self.may_change:
            best = simpler_law(best, self.problem, self._equations, self._is_plausible)
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
        if candidate.term is not Term.SPRING:
            return True
        return self._tells(equations, trial) and self._holds_elsewhere(equations, trial)

    def _tells(self, equations: Equations, trial: Trial) -> bool:
        """Whether a spring explains much beside an offset, or most of the stroke is shown."""
        (axis,) = equations.candidates[trial.candidate].axes
        if np.ptp(self._positions[:, axis]) > MOST_OF_STROKE * self._stroke(axis):
            return True
        offsets = [
            number
            for number, each in enumerate(equations.candidates)
            if each.term is Term.OFFSET and each.axes == (axis,) and number not in equations.active
        ]
        without = equations.with_active(*offsets).relative_error((axis,))
        left = equations.with_active(trial.candidate).relative_error((axis,))
        return bool(without**2 - left**2 > SMALL**2)

    def _stroke(self, axis: int) -> float:
        """Stroke of a drive [m, rad], one turn where it goes round; zero where none is known."""
        model = self.problem.model
        stroke = float(model.upper[axis] - model.lower[axis])
        if np.isfinite(stroke):
            return stroke
        joint = model.description.joint(model.actuated_joints[axis])
        return 2 * np.pi if joint.type == 'continuous' else 0.0

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
