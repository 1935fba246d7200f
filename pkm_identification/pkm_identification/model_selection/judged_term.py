"""A term that a model may lack, with what tests say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_identification.model_selection.candidate_terms import Candidate
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.result.drive_terms import Term, TriedTerm

LEVEL = 0.01  # of the F tests of one step together: one false term in a hundred right models
SURELY = 1.0  # standard deviations of its spread over the parts that an error must fall by


@dataclass(frozen=True)
class Judged:
    """A candidate, and what tests say of it."""

    equations: Equations
    trial: Trial
    f: float
    p_value: float  # times `tried`
    tried: float  # candidates beside it
    is_ambiguous: bool = False  # an offset that the data do not tell from friction by direction

    @classmethod
    def of(
        cls, equations: Equations, trial: Trial, tried: float, is_ambiguous: bool = False
    ) -> Judged:
        """Test a candidate beside so many others."""
        ratio, chance = equations.f_test(trial)
        return cls(equations, trial, ratio, min(1.0, tried * chance), tried, is_ambiguous)

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
            value=self._value,
        )

    @property
    def _value(self) -> float | None:
        """Force constant over the nominal one, or delay [s]."""
        if not self.candidate.term.is_of_measurement:
            return None
        return float(self.trial.values[0]) + (self.candidate.term is Term.GAIN)


def is_friction(candidate: Candidate) -> bool:
    """Whether a candidate is a shape of friction: a law, or presliding."""
    return candidate.term.is_law or candidate.term is Term.PRESLIDING
