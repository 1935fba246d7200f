"""Which values of a term real drives can have."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Indices
from pkm_identification.estimators.consistent.friction_columns import linear_names
from pkm_identification.estimators.delay import longest_delay
from pkm_identification.model_selection.candidate_terms import friction_parameter
from pkm_identification.model_selection.term_equations import Equations, Trial
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term

# What yields is Coulomb friction as a whole: to this factor, as the grid of deflections is coarse
YIELDING = 2.0
# Factor of a force constant: beyond it the forces are not those of the drive at all
UNLIKE = 5.0
# Of the range of the motion: zeros that are off by more are found by the stroke, or by homing
FARTHEST = 0.5


class Plausibility:
    """Says of trials whether their values are possible."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._friction = _friction_parameters(problem)
        self._longest = min(longest_delay(run.signals) for run in problem.runs)
        moved = [np.ptp(run.signals.positions, axis=0) for run in problem.runs]
        self._farthest = FARTHEST * np.max(moved, axis=0)

    def __call__(self, equations: Equations, trial: Trial) -> bool:
        """Whether rotors are positive, friction never drives, forces not much too large or late."""
        candidate = equations.candidates[trial.candidate]
        if candidate.term is Term.ROTOR:
            return bool(trial.values[0] > 0)
        if candidate.term is Term.GAIN:
            return bool(1 + trial.values[0] < UNLIKE)
        if candidate.term is Term.DELAY:
            return bool(abs(trial.values[0]) < self._longest)
        if candidate.term is Term.ZERO:
            return bool(abs(trial.values[0]) < self._farthest[candidate.axes[0]])
        if candidate.term is Term.ASYMMETRY:
            coulomb = friction_parameter(self._problem, candidate.joints, 'coulomb')
            return coulomb is not None and bool(abs(trial.values[0]) <= trial.free_values[coulomb])
        if candidate.term is Term.PRESLIDING:
            coulomb = friction_parameter(self._problem, candidate.joints, 'coulomb')
            if coulomb is None:
                return False
            level = trial.free_values[coulomb]
            return bool(level / YIELDING < trial.values[0] < level * YIELDING)
        if not candidate.term.is_law:
            return True
        index = np.concatenate([self._friction[axis] for axis in candidate.axes])
        before, after = equations.free_values[index], trial.free_values[index]
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
