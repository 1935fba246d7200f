"""Two observations of the same parameters, compared in the directions that both know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array, Indices, Mask

LEAST_INFORMATION = 1e-9  # of the largest, scaled: what neither observation knows
LEAST_SEPARATE = 1e-5  # of an amount's information that is left by the others: less is theirs


@dataclass(frozen=True)
class Evidence:
    """Information (w, w), score (w,) and its covariance (w, w), of one or several observations."""

    information: Array
    score: Array
    spread: Array
    whole: Array | None = None  # information (w, w) before some changes were free; None: the same

    @property
    def shown(self) -> Array:
        """Information (w, w) with all that the motion shows, by which its rest is judged."""
        return self.information if self.whole is None else self.whole

    @classmethod
    def of(cls, observations: Iterable[Evidence]) -> Evidence:
        """Sum over independent observations, at least one."""
        parts = list(observations)
        information, score, spread = (
            np.sum([getattr(each, name) for each in parts], axis=0)
            for name in ('information', 'score', 'spread')
        )
        whole = None  # a contrast then needs no second inverse
        if any(each.whole is not None for each in parts):
            whole = np.sum([each.shown for each in parts], axis=0)
        return cls(information, score, spread, whole)

    def beyond(self, directions: Array) -> Evidence:
        """Return what is told however much changed along directions (w, d)."""
        if not directions.shape[1]:
            return self
        weighted = self.information @ directions
        back = weighted @ inverse_of(directions.T @ weighted) @ directions.T
        rest = np.eye(len(self.score)) - back
        information = rest @ self.information
        information = (information + information.T) / 2
        return Evidence(information, rest @ self.score, rest @ self.spread @ rest.T, self.shown)

    def without(self, other: Evidence) -> Evidence:
        """Return what is left without a part of the sum."""
        return Evidence(
            self.information - other.information,
            self.score - other.score,
            self.spread - other.spread,
        )


@dataclass(frozen=True)
class Contrast:
    """Information M (w, w) about the change of parameters, score M times the change.

    Of weighted least squares in which the parameters themselves are free: with informations A
    before and B after, M is their parallel sum A (A + B)^+ B, which knows what both know.
    """

    information: Array
    score: Array
    spread: Array  # covariance of the score
    shown: Array  # information with all that the motions show (`Evidence.shown`)

    @classmethod
    def between(cls, before: Evidence, after: Evidence) -> Contrast:
        """Contrast of two independent observations."""
        total = before.information + after.information
        inverse = inverse_of(total, LEAST_INFORMATION)
        left, right = before.information @ inverse, after.information @ inverse
        information = left @ after.information
        information = (information + information.T) / 2
        shown = information
        if after.whole is not None:
            inverse = inverse_of(before.information + after.whole, LEAST_INFORMATION)
            shown = before.information @ inverse @ after.whole
        return cls(
            information,
            left @ after.score - right @ before.score,
            left @ after.spread @ left.T + right @ before.spread @ right.T,
            shown,
        )

    def along(self, directions: Array) -> Contrast:
        """Contrast of changes along directions (w, d), none along others."""
        information, spread, shown = (
            directions.T @ each @ directions for each in (self.information, self.spread, self.shown)
        )
        return Contrast(information, directions.T @ self.score, spread, shown)

    def fitted(self, own: Indices, others: Indices) -> Fit:
        """Fit some of the changes, as others change freely and the rest does not."""
        if not len(own):
            nothing = np.zeros(0)
            return Fit(nothing, np.zeros((0, 0)), np.zeros(0, dtype=bool), 0.0)
        # what known changes have taken all of is left with its rounding
        left = np.diag(self.information) > LEAST_SEPARATE * np.diag(self.shown)
        others = others[left[others]]
        whole = self.shown[own, own]
        square = self.information[np.ix_(own, own)]
        score, meat = self.score[own], self.spread[np.ix_(own, own)]
        if len(others):
            mixed = self.information[np.ix_(others, own)]
            back = inverse_of(self.information[np.ix_(others, others)]) @ mixed
            crossed = back.T @ self.spread[np.ix_(others, own)]
            square = square - back.T @ mixed
            score = score - back.T @ self.score[others]
            meat = meat - crossed - crossed.T + back.T @ self.spread[np.ix_(others, others)] @ back
        told = np.diag(square) > LEAST_SEPARATE * whole
        chosen = np.outer(told, told)
        square, score, meat = square * chosen, score * told, meat * chosen
        bread = inverse_of(square)
        size = float(score @ inverse_of(meat) @ score)
        return Fit(bread @ score, bread @ meat @ bread, told, size)


@dataclass(frozen=True)
class Fit:
    """Amounts (d,) of changes and their covariance."""

    values: Array
    covariance: Array
    told: Mask  # (d,) whether an amount is told from what else changes
    size: float  # sum of squares of the amounts together, in variances

    @property
    def rank(self) -> int:
        """Number of amounts that are told."""
        return int(np.count_nonzero(self.told))


def inverse_of(square: Array, least: float = LEAST_SEPARATE) -> Array:
    """Pseudo-inverse (n, n) of a symmetric matrix without negative eigenvalues, by its scale."""
    scale = np.sqrt(np.maximum(np.diag(square), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    if len(square) == 1:
        return np.where(square > 0, 1.0 / np.where(square > 0, square, 1.0), 0.0)
    sizes, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    known = sizes > least * max(float(sizes[-1]), 1e-300)
    root = vectors[:, known] / np.sqrt(sizes[known]) / scale[:, None]
    return np.asarray(root @ root.T)
