"""The forces of an identified model stay near those of the description, in every cycle.

A model is compared with the description when it is set (`model_difference`), at drawn motions.
On its way the robot meets others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Floats


@dataclass(frozen=True)
class FeedforwardBound:
    """Forces within a band about those of some parameters of the model."""

    parameters: Floats  # (n_p,) standard
    width: Floats  # (n_a,) [N, N m] to either side

    def apply(
        self, model: ClosedChainModel, motion: PlatformMotion, force: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Forces (n_a,) [N, N m] within the band, and which of them (n_a,) were outside.

        `motion` is the one sample that the force belongs to. The friction of the band slides,
        whatever past a drive has. A cycle takes 0.25 ms then, 0.21 ms without (PaLiDA,
        processor time).
        """
        middle = model.states_and_sliding_forces(motion, self.parameters)[1][0]
        away = force - middle
        outside = np.abs(away) > self.width
        if outside.any():
            force = middle + np.clip(away, -self.width, self.width)
        return force, outside
