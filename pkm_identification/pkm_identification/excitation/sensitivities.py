"""Local derivatives of the regressor and the limited quantities.

A sample of a motion is its state (x, xd, xdd) in trajectory coordinates, 3 n_c numbers.
Everything that a design needs depends on one sample at a time, so the derivatives with
respect to Fourier coefficients and period follow exactly from those with respect to the
state by the chain rule: 3 n_c directions, however many harmonics. The local derivatives
are differences of the compiled model: exact in accelerations, in which all quantities are
affine, central in velocities, in which all but Coulomb friction is quadratic (no
truncation error but there), central in positions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pkm_identification.excitation.samples import POSE_FIELDS, Evaluator, Samples

Array = NDArray[np.float64]

POSITION_STEP = 1e-6  # [m, rad]
VELOCITY_STEP = 1e-5  # [m/s, rad/s]
ACCELERATION_STEP = 1.0  # [m/s^2, rad/s^2], exact at any size


def linearise(
    evaluator: Evaluator, states: Array, slope_of: Callable[[Samples], Array]
) -> tuple[Samples, list[tuple[int, int, Samples]]]:
    """Evaluate at states (M, 3, n_c) together with the local derivatives.

    Parameters
    ----------
    evaluator : Evaluator
    states : (M, 3, n_c)
    slope_of : callable
        From the samples, the derivatives (M, n_a, n) of a criterion with respect to the
        regressor.

    Returns
    -------
    samples : Samples
    derivatives : list of (order, coordinate, Samples)
        For the position (order 0), velocity (1) or acceleration (2) of a coordinate,
        the derivatives of every field of `Samples`; in place of the regressor's, that of
        the criterion (M,).
    """
    count, _, n_c = states.shape
    samples = evaluator.evaluate(states)
    weights = evaluator.weights(slope_of(samples))
    shifts = [_shift(n_c, 2, i, ACCELERATION_STEP) for i in range(n_c)]
    for order, step in ((0, POSITION_STEP), (1, VELOCITY_STEP)):
        for i in range(n_c):
            shifts += [_shift(n_c, order, i, step), _shift(n_c, order, i, -step)]
    # neighbours in time stay neighbours in the batch
    batch = (states[:, None] + np.array(shifts)).reshape(-1, 3, n_c)
    moved = (np.arange(len(shifts)) >= n_c) & (np.arange(len(shifts)) < 3 * n_c)
    guess = np.repeat(samples.positions, len(shifts), axis=0)
    flat = evaluator.evaluate(batch, guess, np.flatnonzero(np.tile(moved, count)), weights)
    fields = {
        name: values.reshape(count, len(shifts), *values.shape[1:])
        for name, values in vars(flat).items()
    }
    here: dict[str, Array] = dict(vars(samples))
    here['regressor'] = np.einsum('tan,tan->t', slope_of(samples), samples.regressor)
    derivatives = []
    for i in range(n_c):
        change = {k: (v[:, i] - here[k]) / ACCELERATION_STEP for k, v in fields.items()}
        for name in POSE_FIELDS:
            change[name] = np.zeros_like(here[name])
        derivatives.append((2, i, Samples(**change)))
    for order, step in ((0, POSITION_STEP), (1, VELOCITY_STEP)):
        for i in range(n_c):
            at = n_c + 2 * (order * n_c + i)
            slopes = {k: (v[:, at] - v[:, at + 1]) / (2.0 * step) for k, v in fields.items()}
            derivatives.append((order, i, Samples(**slopes)))
    return samples, derivatives


def _shift(n_c: int, order: int, coordinate: int, step: float) -> Array:
    shift = np.zeros((3, n_c))
    shift[order, coordinate] = step
    return shift
