"""Variances of errors as a sum of terms, and quantiles of errors that these do not know.

Both by parts of the data: errors are alike within a part, so variances that were fitted to it say
little of another one, and errors over the deviations that were fitted to them are too small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from pkm_identification.arrays import Array, Indices

PASSES = 5  # of the weights of squared errors, which change little after three
LEAST_VARIANCE = 1e-3  # of the mean square: below it a variance from some hundred samples is chance
# Chance that the errors of unknown parts seem more likely by terms that they do not follow
CHANCE = 0.025


class ErrorVariances(NamedTuple):
    """Variances of one axis' errors."""

    coefficients: Array  # (t,), none negative, of the terms
    scores: Array  # (n,) errors over their deviations, from the variances of the other parts

    def quantiles(self, levels: Array) -> Array:
        """Quantiles (l,) of the scores.

        With a constant variance none is below a normal one: it is where few parts make the
        variance, and another motion may be like these all through.
        """
        found = np.quantile(self.scores, levels)
        if self.coefficients[1:].any():
            return np.asarray(found)
        return np.maximum(found, ndtri(0.5 + 0.5 * levels))


def error_variances(
    squares: Array, known: Array, terms: Array, parts: Indices, least: float, fitted: float
) -> ErrorVariances:
    """Find c so that known + max(terms @ c, least) are the means of squares (n,).

    `terms` (n, t), the first of which is a constant. The others count only where they make the
    errors of parts that they were not fitted to surely more likely, as of normal errors. The mean
    of terms @ c is no less than `fitted`.
    """
    chosen = 1
    expected = _expected(squares, known, terms[:, :1], parts, least, fitted)
    count = len(np.unique(parts))
    if terms.shape[1] > 1 and count > 1:
        full = _expected(squares, known, terms, parts, least, fitted)
        gain = _likelihood(squares, full, parts) - _likelihood(squares, expected, parts)
        surely = stdtrit(count - 1, 1 - CHANCE) * np.std(gain, ddof=1) / np.sqrt(count)
        if gain.mean() > surely:
            chosen, expected = terms.shape[1], full
    coefficients = np.zeros(terms.shape[1])
    coefficients[:chosen] = _at_least(
        fitted, terms[:, :chosen], variance_coefficients(squares, known, terms[:, :chosen])
    )
    return ErrorVariances(coefficients, np.sqrt(squares / expected))


def variance_coefficients(squares: Array, known: Array, terms: Array) -> Array:
    """Coefficients (t,), none negative, so that known + terms @ c are the means of the squares.

    Each square has a standard deviation in proportion to its mean: by reweighted non-negative
    least squares.
    """
    from scipy.optimize import nnls

    mean = max(float(squares.mean()), np.finfo(float).tiny)
    floor = LEAST_VARIANCE * mean
    expected = np.full(len(squares), mean)
    found = np.zeros(terms.shape[1])
    for _ in range(PASSES):
        found = nnls(terms / expected[:, None], (squares - known) / expected)[0]
        expected = np.maximum(known + terms @ found, floor)
    return np.asarray(found)


def _at_least(fitted: float, terms: Array, coefficients: Array) -> Array:
    """Return coefficients of a mean no less than `fitted`: in proportion, or of the constant."""
    mean = float((terms @ coefficients).mean())
    if mean >= fitted:
        return coefficients
    if mean <= 0.0:
        return np.append(fitted, np.zeros(terms.shape[1] - 1))
    return coefficients * (fitted / mean)


def _expected(
    squares: Array, known: Array, terms: Array, parts: Indices, least: float, fitted: float
) -> Array:
    """Variances (n,) by the coefficients of all other parts; by all, where there is one part."""
    floor = max(LEAST_VARIANCE * float(squares.mean()), np.finfo(float).tiny)
    expected = np.empty(len(squares))
    for part in np.unique(parts):
        own = parts == part
        rest = own if own.all() else ~own
        found = variance_coefficients(squares[rest], known[rest], terms[rest])
        found = _at_least(fitted, terms[rest], found)
        expected[own] = known[own] + np.maximum(terms[own] @ found, least)
    return np.maximum(expected, floor)


def _likelihood(squares: Array, expected: Array, parts: Indices) -> Array:
    """Mean logarithm of the likelihood of normal errors (p,) in each part, but for a constant."""
    each = -0.5 * (np.log(expected) + squares / expected)
    return np.array([each[parts == part].mean() for part in np.unique(parts)])
