"""Correlated noise that is the same on every machine."""

from __future__ import annotations

import numpy as np

from pkm_dynamics.array_types import Floats


def noise_root(covariance: Floats) -> Floats:
    """Return the symmetric root R (n, n) of a covariance: R R = covariance.

    There is only one. Other roots, of an eigenvalue or singular value decomposition, have
    signs and, for equal eigenvalues, directions that depend on the processor.

    Parameters
    ----------
    covariance
        (n, n), positive semidefinite.
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def correlated_noise(random: np.random.Generator, covariance: Floats, count: int) -> Floats:
    """Return `count` independent normal samples (count, n) of mean zero.

    Parameters
    ----------
    random
        Advanced by count * n numbers.
    covariance
        (n, n), positive semidefinite.
    """
    return np.asarray(random.standard_normal((count, len(covariance))) @ noise_root(covariance))
