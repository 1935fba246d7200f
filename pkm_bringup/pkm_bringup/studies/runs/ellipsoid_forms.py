"""The plain update of a bounding ellipsoid beside that in square-root form [P III].

Both take the same strips in with the same choice of weights. What differs is what they keep from
strip to strip: the information matrix M itself [P eq. 30], or its root [P eq. 35]. Rounding may
leave M without being positive definite; a root always is one of a definite matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.estimators.set_membership.bounding_ellipsoid import bound, optimal_weight

KEPT = {'double': np.float64, 'single': np.float32}  # in what numbers are kept between two strips
REFERENCE = ('square root', 'double')


class Set(NamedTuple):
    """An ellipsoid {p: (p - centre)^T information (p - centre) <= 1}."""

    information: Array  # (n, n)
    centre: Array  # (n,)
    lost_at: int | None  # number of the strip that left no positive definite matrix
    outliers: int


def plain_form(rows: Array, middles: Array, kept: type) -> Set:
    """Take strips |middle - row p| <= 1 into the unit ball by [P eq. 30]."""
    size, outliers = rows.shape[1], 0
    information: Array = np.eye(size, dtype=kept)
    centre: Array = np.zeros(size, dtype=kept)
    for number, (across, value) in enumerate(zip(rows, middles, strict=True)):
        matrix, old = information.astype(float), centre.astype(float)
        spread = float(across @ np.linalg.solve(matrix, across))
        if not spread > 0.0:
            return Set(matrix, old, number, outliers)
        miss = float(value - across @ old)
        if abs(miss) > 1.0 + np.sqrt(spread):
            outliers += 1
            continue
        weight = optimal_weight(size, miss, spread)
        if weight == 0.0:
            continue
        share = 1.0 / (1.0 + weight)
        joined = share * matrix + (1.0 - share) * np.outer(across, across)
        target = share * matrix @ old + (1.0 - share) * across * value
        new = np.linalg.solve(joined, target)
        taken = share * old @ matrix @ old + (1.0 - share) * value**2 - new @ joined @ new
        information, centre = (joined / (1.0 - taken)).astype(kept), new.astype(kept)
        if not (taken < 1.0 and np.linalg.eigvalsh(information)[0] > 0.0):
            return Set(information.astype(float), new, number, outliers)
    return Set(information.astype(float), centre.astype(float), None, outliers)


def root_form(rows: Array, middles: Array, kept: type) -> Set:
    """Take the strips in by the square-root form of the estimator `ellipsoid`."""
    size = rows.shape[1]
    root: Array = np.eye(size, dtype=kept)
    centre: Array = np.zeros(size, dtype=kept)
    missed = np.zeros(len(rows), dtype=np.bool_)
    bound(root, centre, np.ascontiguousarray(rows), middles, np.ones(len(rows)), False, missed)
    upper = root.astype(float)
    return Set(upper.T @ upper, centre.astype(float), None, int(missed.sum()))


def compare_forms(rows: Array, middles: Array) -> list[dict[str, Any]]:
    """Return how far each form is from the square root in double precision, after one pass.

    `centre_off` is the largest distance of a centre's parameter in half-widths of the set,
    `log_volume_off` the difference of ln det M^-1; None where definiteness was lost, at the strip
    `lost_at`.
    """
    forms = {'square root': root_form, 'plain': plain_form}
    found = {
        (form, kept): take_in(rows, middles, number)
        for form, take_in in forms.items()
        for kept, number in KEPT.items()
    }
    reference = found[REFERENCE]
    half = np.sqrt(np.diag(np.linalg.inv(reference.information)))
    volume = -np.linalg.slogdet(reference.information)[1]
    return [
        {
            'form': form,
            'kept': kept,
            'strips': len(rows),
            'outliers': each.outliers,
            'lost_at': each.lost_at,
            'centre_off': None
            if each.lost_at is not None
            else float(np.max(np.abs(each.centre - reference.centre) / half)),
            'log_volume_off': None
            if each.lost_at is not None
            else float(-np.linalg.slogdet(each.information)[1] - volume),
        }
        for (form, kept), each in found.items()
    ]
