"""Friction of drives that several models explain: which of them the data tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.model_selection.candidate_terms import Candidate
from pkm_identification.model_selection.term_equations import Equations, Trial, spread_of_sum
from pkm_identification.result.drive_terms import Term

# Deviations of their difference by which one of two models must predict held-out parts better:
# chance of one in twenty-five where both are alike (Student's t of ten parts)
TOLD = 2.0
# Exponents of the power law in place of viscous friction, from one that is hardly told from
# Coulomb friction to that of turbulence; then nearer around the best
EXPONENTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2, 1.5, 2.0)
REACHES = (None, 0.1, 0.03)  # of one round around the best; none: all
POINTS = 7  # of a round


def told_apart(
    equations: Equations, trials: Sequence[Trial], is_plausible: Sequence[bool]
) -> tuple[list[Trial], set[int]]:
    """Leave of offset and Coulomb friction by direction the one that the data tell.

    Both are a constant times the sign of the velocity plus a constant, but at standstill. Where
    the data do not tell, offsets stay: the second value are candidates of which that is so.
    """
    known = {each.candidate: each for each in trials}
    numbers = {each: number for number, each in enumerate(equations.candidates) if number in known}
    dropped, ambiguous = set(), set()
    for trial, plausible in zip(trials, is_plausible, strict=True):
        candidate = equations.candidates[trial.candidate]
        if candidate.term is not Term.ASYMMETRY:
            continue
        offsets = [numbers[each] for each in candidate.offsets if each in numbers]
        if len(offsets) < len(candidate.axes):
            continue
        difference = trial.falls - sum(known[each].falls for each in offsets)
        least = TOLD * spread_of_sum(difference)
        if plausible and difference.sum() > least:
            dropped.update(offsets)
            continue
        dropped.add(trial.candidate)
        if plausible and difference.sum() >= -least:
            ambiguous.update(offsets)
    return [each for each in trials if each.candidate not in dropped], ambiguous


def powers_for(law: Candidate, viscous: int, exponents: Array) -> list[Candidate]:
    """Power laws in place of the viscous friction of the drives of a law."""
    return [
        replace(law, term=Term.POWER, shape=(float(each),), replaces=(viscous,), trials=1.0)
        for each in exponents
    ]


def exponents_near(best: float, reach: float | None) -> Array:
    """Exponents of one round, all without `reach`; one is viscous friction itself."""
    if reach is None:
        return np.array(EXPONENTS)
    found = best + reach * np.linspace(-1.0, 1.0, POINTS)
    return np.asarray(found[(found > EXPONENTS[0] / 2) & (np.abs(found - 1.0) > 1e-3)])


def is_as_good(simple: Trial, other: Trial, deviations: float) -> bool:
    """Whether a model of fewer parameters predicts held-out parts no surely worse."""
    worse = other.falls - simple.falls
    return bool(worse.sum() <= deviations * spread_of_sum(worse))
