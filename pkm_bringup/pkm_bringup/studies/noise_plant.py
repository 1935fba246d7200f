"""The plant `noise` of the studies: exact periods, with the noise of a robot's sensors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.simulation import PlantEffects, correlated_noise

Array = NDArray[np.float64]


def noisy_periods(
    positions: Array,
    forces: Array,
    periods: int,
    effects: PlantEffects,
    random: np.random.Generator,
) -> tuple[Array, Array]:
    """Return positions and forces of one period (n, n_a) again and again, with noise on both."""
    count = periods * len(positions)
    return (
        np.tile(positions, (periods, 1))
        + correlated_noise(random, effects.position_covariance, count),
        np.tile(forces, (periods, 1)) + correlated_noise(random, effects.force_covariance, count),
    )
