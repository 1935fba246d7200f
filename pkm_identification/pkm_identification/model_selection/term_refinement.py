"""Period and harmonics of a ripple, and the simplest friction law, once one of them is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pkm_identification.model_selection.candidate_terms import Candidate, friction_parameter
from pkm_identification.model_selection.friction_alternatives import (
    REACHES,
    exponents_near,
    is_as_good,
    powers_for,
)
from pkm_identification.model_selection.judged_term import SURELY, Judged
from pkm_identification.model_selection.ripple_screen import LEAST_TURNS
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.regression.problem import Problem

# Multiple of a peak's period, and harmonics of it, one of which is the peak
HARMONICS = (
    *((1, (1,)), (1, (1, 2)), (1, (1, 2, 3))),
    *((2, (1, 2)), (2, (1, 2, 3)), (2, (2, 3))),
    *((3, (1, 3)), (3, (2, 3)), (3, (1, 2, 3))),
)
WAVES = 15  # wave numbers of one step towards the period
PERIOD_STEPS = 3  # a peak is as wide as one over the travel, and known to 0.3 % of it then

# Equations of the model as it is and of further candidates, which stand last
EquationsWith = Callable[[Sequence[Candidate]], Equations]


def refined_ripple(found: Judged, problem: Problem, equations_with: EquationsWith) -> Judged:
    """The same ripple with its period and harmonics; as it is where these bring no more."""
    travel = _travel(problem, found.candidate)
    reach, best = 1 / travel, found
    for _ in range(PERIOD_STEPS):
        best = _nearer(best, reach, travel, equations_with)
        reach *= 2 / (WAVES - 1)
    period = best.candidate.shape[0]
    harmonics = [
        replace(best.candidate, shape=(factor * period,), harmonics=numbers)
        for factor, numbers in HARMONICS
        if travel / (factor * period) >= LEAST_TURNS
    ]
    equations, trials = _tried(harmonics, equations_with)
    worth = best.f * best.candidate.width / max(best.trial.taken, 1e-300)  # in variances
    rows = np.log(equations.rows.forces.size)
    trials.sort(
        key=lambda each: rows * equations.candidates[each.candidate].width - worth * each.taken
    )
    judged = Judged.of(equations, trials[0], best.tried) if trials else best
    judged = _nearer(judged, reach, travel, equations_with) if judged.passes else best
    return judged if judged.passes and judged.trial.fall >= found.trial.fall else found


def simpler_law(
    found: Judged,
    problem: Problem,
    equations_with: EquationsWith,
    is_plausible: Callable[[Equations, Trial], bool],
) -> Judged:
    """A power law in place of viscous friction where it predicts as well as the law beside."""
    law = found.candidate
    viscous = friction_parameter(problem, law.joints, 'viscous')
    if viscous is None:
        return found
    best = found
    for reach in REACHES:
        powers = powers_for(law, viscous, exponents_near(best.candidate.shape[0], reach))
        equations, trials = _tried(powers, equations_with)
        trials = [each for each in trials if is_plausible(equations, each)]
        if not trials:
            return best
        trial = max(trials, key=lambda each: each.taken)
        if not is_as_good(trial, found.trial, SURELY):
            return best
        # the test is that of the law: it tells that viscous friction is not all
        best = Judged(equations, trial, found.f, found.p_value, found.tried)
    return best


def _nearer(found: Judged, reach: float, travel: float, equations_with: EquationsWith) -> Judged:
    """The same ripple with the wave number nearby that takes most of the residuals."""
    candidate = found.candidate
    waves = 1 / candidate.shape[0] + reach * np.linspace(-1, 1, WAVES)
    several = [
        replace(candidate, shape=(1 / float(wave),))
        for wave in waves
        if wave * travel >= LEAST_TURNS
    ]
    equations, trials = _tried(several, equations_with)
    if not trials:
        return found
    return Judged.of(equations, max(trials, key=lambda each: each.taken), found.tried)


def _tried(
    candidates: Sequence[Candidate], equations_with: EquationsWith
) -> tuple[Equations, list[Trial]]:
    """Equations with these candidates, and their trials."""
    equations = equations_with(candidates)
    count = len(equations.candidates)
    return equations, equations.trials(range(count - len(candidates), count))


def _travel(problem: Problem, candidate: Candidate) -> float:
    """Longest travel [m, rad] of the drive in one recording."""
    axis = candidate.axes[0]
    return max(float(np.ptp(run.signals.positions[:, axis])) for run in problem.runs)
