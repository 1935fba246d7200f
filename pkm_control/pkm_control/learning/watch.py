"""Whether a learned force does harm while it acts: then the robot is not the one it is of."""

from __future__ import annotations

import math

import numpy as np

from pkm_control.learning.learned_force import LearnedForce, Scope
from pkm_dynamics.array_types import Floats

WINDOW = 0.1  # [s] in which errors count for e times less
# Error over that of the model alone, at the same place, that is taken for harm
WORSE = 1.1
# Standard deviations of a sum that chance does not reach in a day of repetitions
SURE = 5.0
LASTING = 0.02  # [s] that harm must last
SETTLING = 0.3  # [s] at full speed until an error is that of the period: of a servo of 3 Hz or more
EXPLAINED = 4.0  # squared error over what is left of it without the force, before that


class LearningWatch:
    """Compares errors with what they would be without the learned force.

    Two questions, of weighted sums over the latest `WINDOW`: is the error larger than it would be
    by the loop's own answer to the force taken away (|e| > |e + effect|), and is it larger than
    `WORSE` times what it was with the model alone. Each sum is compared with its own standard
    deviation, from the samples as they are.
    """

    def __init__(
        self,
        effect: LearnedForce,  # (n, n_a) [m, rad] what the learned force takes off the error
        alone: LearnedForce,  # (n, n_a) [m, rad] error of the model alone
        weight: Floats,  # (n_a,) [1/m, 1/rad] of errors
    ) -> None:
        values = np.concatenate([effect.values, alone.values], axis=1)
        self._tables = LearnedForce(effect.scope, effect.interval, values)
        self._weight = weight
        self._sums = np.zeros(4)
        self._harm = 0.0  # [s] that it lasts
        self._settling = 0.0 if effect.scope is Scope.MOTION else SETTLING
        self._steady = 0.0  # [s] at full speed

    def does_harm(self, interval: float, place: float, weight: float, error: Floats) -> bool:
        """Take the error (n_a,) of a cycle at a `place` [s] of the table; whether it does harm.

        `weight` is that of the table there. In the ramps of a motion of which a period is learned
        the tables only resemble what happens: there the force must explain most of the error.
        """
        effect, alone = np.split(self._tables.at(place), 2)
        e, p, a = (self._weight * each for each in (error, weight * effect, alone))
        self._steady = self._steady + interval if weight >= 1.0 else 0.0
        settled = self._steady > self._settling
        share = 1.0 if settled else EXPLAINED
        without = e + p
        self._sums *= math.exp(-interval / WINDOW)
        self._sums += (
            float(e @ e - share * (without @ without)),
            settled * float(e @ e - WORSE**2 * (a @ a)),
            4.0 * share**2 * float((e * e) @ (p * p)),
            settled * float(np.sum(e**4)),
        )
        less, more, of_less, of_more = self._sums.tolist()
        harm = less > SURE * math.sqrt(of_less) or more > SURE * math.sqrt(of_more)
        self._harm = self._harm + interval if harm else 0.0
        return self._harm >= LASTING
