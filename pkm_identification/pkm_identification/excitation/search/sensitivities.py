"""Local derivatives of the regressor and the limited quantities.

A sample of a motion is its state (x, xd, xdd) in trajectory coordinates, 3 n_c numbers.
Everything that a design needs depends on one sample at a time, so the derivatives with
respect to Fourier coefficients and period follow exactly from those with respect to the
state by the chain rule: 3 n_c directions, however many harmonics. The local derivatives
are differences of the compiled model, exact in accelerations, in which all quantities are
affine. Positions and velocities move by so little that one-sided differences err by some
1e-6, far below what the curvature estimate of an optimiser can tell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_identification.excitation.search.samples import POSE_FIELDS, Evaluator, Samples

Array = NDArray[np.float64]

STEPS = 3e-6, 1e-6, 1.0  # of position, velocity, acceleration [SI]; the last is exact


def local_derivatives(
    evaluator: Evaluator, states: Array, samples: Samples, slope: Array, near: NDArray[np.bool_]
) -> list[tuple[int, int, Samples]]:
    """Return the derivatives of everything at states (M, 3, n_c) with respect to the states.

    Parameters
    ----------
    evaluator : Evaluator
    states : (M, 3, n_c)
    samples : Samples
        What the evaluator says there.
    slope : (M, n_a, n)
        Derivatives of a criterion with respect to the regressor.
    near : (M,)
        Where the derivatives of `POSE_FIELDS`, which are costly, are wanted; they are zero
        elsewhere.

    Returns
    -------
    list of (order, coordinate, Samples)
        For the position (order 0), velocity (1) or acceleration (2) of a coordinate,
        the derivatives of every field of `Samples`; in place of the regressor's, that of
        the criterion (M,).
    """
    count, _, n_c = states.shape
    # neighbours in time stay neighbours in the batch
    shifts = np.zeros((3 * n_c, 3, n_c))
    for order, step in enumerate(STEPS):
        shifts[order * n_c : (order + 1) * n_c, order] = step * np.eye(n_c)
    batch = (states[:, None] + shifts).reshape(-1, 3, n_c)
    guess = np.repeat(samples.positions, len(shifts), axis=0)
    poses = np.zeros((count, len(shifts)), dtype=bool)
    poses[near, :n_c] = True
    flat = evaluator.evaluate(batch, guess, np.flatnonzero(poses), evaluator.weights(slope))
    here: dict[str, Array] = dict(vars(samples))
    here['regressor'] = np.einsum('tan,tan->t', slope, samples.regressor)
    slopes = {}
    for name, values in vars(flat).items():
        moved = values.reshape(count, 3, n_c, *values.shape[1:])
        changes = moved - here[name][:, None, None]
        if name in POSE_FIELDS:
            changes[~poses.reshape(count, 3, n_c)] = 0.0
        changes /= np.array(STEPS).reshape(1, 3, *[1] * (changes.ndim - 2))
        slopes[name] = changes
    return [
        (order, i, Samples(**{name: change[:, order, i] for name, change in slopes.items()}))
        for order in range(3)
        for i in range(n_c)
    ]
