"""What is known before: rows that a least-squares problem takes beside those of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics.friction_laws import LINEAR
from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import whitening_rows
from pkm_identification.regression.selection import Selection, by_parameter, value_and_deviation
from pkm_identification.result.result import IdentificationResult

Prior = IdentificationResult | Mapping[str, Any] | None  # earlier result, or (value, deviation)

LEAST_CORRELATION = 1e-14  # share of the largest eigenvalue below which a correlation is singular


def prior_information(
    prior: Prior, names: Sequence[str], selection: Selection
) -> tuple[Array, Array]:
    """Whiten a prior: rows B (k, r) and target b (k,) with B p = b + unit noise.

    Of an earlier result every parameter counts whose variance is finite and not zero, with the
    correlation; else (value, standard deviation) by name or pattern, a name before a pattern.
    EstimationError where a name is unknown or fixed, a standard deviation is zero, or the
    earlier result has other parameters than `names` (r,).
    """
    if prior is None:
        return np.zeros((0, len(names))), np.zeros(0)
    if isinstance(prior, IdentificationResult):
        require_same_parameters(prior, names)
        return whitened(prior.values, prior.covariance)
    if not isinstance(prior, Mapping):
        raise EstimationError(
            'prior must be an IdentificationResult or {name: (value, standard deviation)}, '
            f'not {type(prior).__name__}'
        )
    rows, target = [], []
    for i, (name, given) in by_parameter(prior, names, 'prior').items():
        value, deviation = value_and_deviation(name, given)
        if deviation <= 0:
            raise EstimationError(
                f"prior of '{name}' needs a standard deviation above zero; use fixed= for "
                'what is known exactly'
            )
        if i in selection.fixed:
            raise EstimationError(f"parameter '{names[i]}' is fixed and has a prior; give one")
        rows.append(np.eye(len(names))[i] / deviation)
        target.append(value / deviation)
    return np.array(rows).reshape(-1, len(names)), np.array(target)


def require_linear_friction(prior: Prior, estimator: str) -> None:
    """Raise `EstimationError` if the friction of an earlier result is another model's."""
    if not isinstance(prior, IdentificationResult) or prior.drive_friction is None:
        return
    laws = sorted({law for law in prior.drive_friction.law.laws if law != LINEAR})
    raise EstimationError(
        f"the prior of estimator '{prior.estimator}' has friction of the law "
        f"{', '.join(laws)}, of which Coulomb and viscous friction are only a part: '{estimator}' "
        'has no such law; give what is known of the other parameters, '
        'prior={name: (value, standard deviation)}'
    )


def require_same_parameters(prior: IdentificationResult, names: Sequence[str]) -> None:
    """Raise `EstimationError` unless an earlier result has these base parameters."""
    if list(prior.names) != list(names):
        odd = sorted(set(prior.names) ^ set(names)) or ['the order']
        raise EstimationError(
            f"the prior of estimator '{prior.estimator}' has other base parameters than this "
            f'problem (differs in {", ".join(odd[:3])}); use the same shared= and reduced='
        )


def whitened(values: Array, covariance: Array) -> tuple[Array, Array]:
    """Return rows B (k, n) and target b (k,) with B p = b + unit noise.

    Estimates (n,) whose variance is infinite or zero do not count.
    """
    variance = np.diag(covariance)
    known = np.flatnonzero(np.isfinite(variance) & (variance > 0))
    rows = np.zeros((len(known), len(values)))
    rows[:, known] = whitening_rows(covariance[np.ix_(known, known)], LEAST_CORRELATION)
    return rows, rows @ values
