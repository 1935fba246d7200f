"""Small motions for tests of what excites a robot."""

import numpy as np

from pkm_dynamics.trajectories import FourierTrajectory


def excitation(amplitude=0.015, period=1.0):
    """Three harmonics of the pose of PaLiDA's platform about home."""
    rng = np.random.default_rng(1)
    size = amplitude * np.array([1, 1, 1, 4, 4, 4])[:, None] / np.array([1, 2, 3])
    return FourierTrajectory(
        period,
        [0, 0, -0.755, 0, 0, 0],
        size * rng.choice([-1, 1], (6, 3)),
        size * rng.choice([-1, 1], (6, 3)),
        robot='palida',
    )
