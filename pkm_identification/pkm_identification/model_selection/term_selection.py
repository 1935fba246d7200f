"""Which terms of the drives the data ask for: forward selection by held-out error and F test.

At each step of the selection the candidate that lowers the squared error of held-out parts of
the data most is taken, as long as it lowers it by more than one standard deviation of the paired
differences of the parts (one standard error rule [Breiman et al. 1984]) and an F test agrees,
whose level is that of all candidates of the step together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Indices
from pkm_identification.estimators.consistent.friction_columns import linear_names
from pkm_identification.model_selection.candidate_terms import (
    Candidate,
    Columns,
    TimeRows,
    candidate_columns,
    candidates_of,
    row_positions,
    time_rows,
)
from pkm_identification.model_selection.ripple_screen import LEAST_TURNS, drive_samples, ripple_peak
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term, TriedTerm

PARTS = 10  # held out one by one, as for the choice of a band
LEVEL = 0.01  # of the F tests of one step together: one false term in a hundred right models
SURELY = 1.0  # standard deviations of its spread over the parts that an error must fall by
RANGES = (2, 3)  # of a drive's positions that are held out one by one: beyond them a spring grows
TESTED = 5  # best candidates of a step: those behind them bring less
SHOWN = 3  # best candidates of the last step that were not taken, in the table
MOST_STEPS = 4  # a drive: laws, offset, ripple, spring
# Multiple of a peak's period, and harmonics of it, one of which is the peak
HARMONICS = (
    *((1, (1,)), (1, (1, 2)), (1, (1, 2, 3))),
    *((2, (1, 2)), (2, (1, 2, 3)), (2, (2, 3))),
    *((3, (1, 3)), (3, (2, 3)), (3, (1, 2, 3))),
)
ASKED_EVERY = 2  # shapes of a law differ little from the next, and only the law is named
WAVES = 15  # wave numbers of one step towards the period
PERIOD_STEPS = 3  # a peak is as wide as one over the travel, and known to 0.3 % of it then


@dataclass(frozen=True)
class Selected:
    """Terms that were taken, and the table of those that were tried."""

    taken: tuple[Candidate, ...] = ()
    tried: tuple[TriedTerm, ...] = ()


def select_terms(problem: Problem, laws: bool = True) -> Selected:
    """Choose terms of the drives that the residuals of a problem ask for, with or without `laws`.

    EstimationError where the recordings are too long for memory.
    """
    if any(run.is_long for run in problem.runs):
        raise EstimationError(
            "friction='auto' keeps all rows in memory: give it a part of the data (--from, --to)"
        )
    search = _Search(problem, () if laws else problem.model.actuated_joints)
    tried: list[TriedTerm] = []
    for step in range(1, MOST_STEPS * problem.axes + 1):
        judged = list(search.judged())
        best = next((each for each in judged if each.passes), None)
        if best is None:
            return Selected(
                tuple(search.taken), (*tried, *(each.row(step) for each in judged[:SHOWN]))
            )
        best = search.take(best)
        tried.append(replace(best.row(step), is_taken=True))
    return Selected(tuple(search.taken), tuple(tried))


def asked_for(problem: Problem, with_laws: Sequence[str] = ()) -> TriedTerm | None:
    """Return the one term that residuals ask for most; None where none is significant.

    `with_laws` are joints that have a friction law already. None also for recordings so long
    that their rows would have to be made again.
    """
    if any(run.known_rows is None and len(run.folded.sample) > 1 for run in problem.runs):
        return None
    judged = _Search(problem, with_laws, ASKED_EVERY).judged()
    return next((each.row(1) for each in judged if each.passes), None)


@dataclass(frozen=True)
class _Judged:
    """A candidate, and what tests say of it."""

    equations: Equations
    trial: Trial
    f: float
    p_value: float  # times `tried`
    tried: float  # candidates beside it

    @property
    def candidate(self) -> Candidate:
        return self.equations.candidates[self.trial.candidate]

    @property
    def falls(self) -> bool:
        """Whether the held-out error falls surely."""
        return self.trial.fall > SURELY * self.trial.deviation

    @property
    def passes(self) -> bool:
        return self.falls and self.p_value < LEVEL

    def row(self, step: int) -> TriedTerm:
        """Entry of the table."""
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
            shape=candidate.shape if candidate.term.is_law else (),
        )


@dataclass
class _Search:
    """Candidates beside a model that grows."""

    problem: Problem
    with_laws: Sequence[str] = ()
    every: int = 1  # of the shapes of friction laws, one in so many
    taken: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows: TimeRows = time_rows(self.problem, PARTS)
        self._plain = [
            each
            for each in candidates_of(self.problem, self.every)
            if not (each.term.is_law and set(each.joints) & set(self.with_laws))
        ]
        self._columns: Columns = candidate_columns(self.problem, self._plain)
        self._ripples: list[tuple[Candidate, Columns]] = []  # that were taken
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

    def judged(self) -> Iterator[_Judged]:
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
        trials = sorted(equations.trials(rest), key=lambda each: -each.fall)
        found = {each.candidate: each for each in trials}
        seen: set[tuple[Term, tuple[int, ...]]] = set()
        for trial in trials:
            candidate = equations.candidates[trial.candidate]
            kind = candidate.term, candidate.axes
            if kind in seen or not self._is_plausible(equations, trial):
                continue
            seen.add(kind)  # the best shape of each
            judged = self._judge(equations, trial, len(kinds) * candidate.trials)
            if judged.passes and not self._holds_elsewhere(equations, trial):
                continue
            offset = candidate.offset
            if candidate.with_offset and offset in equations.candidates:
                # what an offset alone explains is none: a spring grows beyond the data
                alone = found.get(equations.candidates.index(offset))
                first = None if alone is None else self._judge(equations, alone, len(kinds))
                if first is not None and first.passes:
                    judged = first
                    seen.add((Term.OFFSET, candidate.axes))
            yield judged
            if len(seen) >= TESTED:
                return

    def take(self, best: _Judged) -> _Judged:
        """Take a candidate; of a ripple first find period and harmonics."""
        if best.candidate.term is Term.RIPPLE:
            best = self._refined(best)
        candidate = best.candidate
        own = best.equations.columns.only(best.trial.candidate, candidate.width)
        if candidate.term is Term.RIPPLE:
            self._ripples.append((candidate, own))
        self._model = self._model.joined(own)
        self.taken.append(candidate)
        return best

    def _residuals(self) -> Array:
        """Residuals (m, n_a) of the model as it is, in time."""
        equations = Equations.of(self._rows, self._model, self.taken)
        return equations.with_active(*range(len(self.taken))).residuals()

    def _equations(self, further: Sequence[Candidate]) -> Equations:
        """Equations of the candidates, ripples that were taken and further ones."""
        columns = self._columns
        for _, own in self._ripples:
            columns = columns.joined(own)
        if further:
            columns = columns.joined(candidate_columns(self.problem, further))
        candidates = [*self._plain, *(each for each, _ in self._ripples), *further]
        equations = Equations.of(self._rows, columns, candidates)
        return equations.with_active(*(candidates.index(each) for each in self.taken))

    def _holds_elsewhere(self, equations: Equations, trial: Trial) -> bool:
        """Whether a spring also predicts forces at positions that the estimate does not know."""
        candidate = equations.candidates[trial.candidate]
        if candidate.term is not Term.SPRING:
            return True
        positions = self._positions[:, candidate.axes[0]]
        for count in RANGES:
            rows = self._rows.by_position(positions, count)
            again = Equations.of(rows, equations.columns, equations.candidates)
            found = again.with_active(*equations.active).trials([trial.candidate])
            if not found or found[0].fall <= SURELY * found[0].deviation:
                return False
        return True

    def _judge(self, equations: Equations, trial: Trial, tried: float) -> _Judged:
        ratio, chance = equations.f_test(trial)
        return _Judged(equations, trial, ratio, min(1.0, tried * chance), tried)

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

    def _refined(self, found: _Judged) -> _Judged:
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

    def _nearer(self, found: _Judged, reach: float) -> _Judged:
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
        if not candidate.term.is_law:
            return True
        index = np.concatenate([self._friction[axis] for axis in candidate.axes])
        before, after = equations.values[index], trial.model_values[index]
        return bool(trial.values[0] > 0 and (after >= np.minimum(before, 0.0)).all())


def _friction_parameters(problem: Problem) -> list[Indices]:
    """Free parameters of each drive that are its Coulomb and viscous friction."""
    names = list(problem.model.parameter_names)
    found = []
    for joint in problem.model.actuated_joints:
        own = [names.index(name) for name in linear_names(joint) if name in names]
        rows = np.flatnonzero(np.abs(problem.base.matrix[:, own]).max(axis=1, initial=0.0) > 0)
        found.append(np.flatnonzero(np.isin(problem.free, rows)))
    return found
