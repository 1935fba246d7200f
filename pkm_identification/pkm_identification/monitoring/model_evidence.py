"""What an identified model tells of the watched parameters, to compare recordings with."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.monitoring.contrast import Evidence
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.result.result import IdentificationResult

# Information about what is none by the model's convention, over that of the recordings: so much
# that nothing else is left of it, too little to disturb the arithmetic
CERTAIN = 1e6


def require_linear(result: IdentificationResult) -> None:
    """Refuse a model whose forces are not those of base parameters alone; EstimationError."""
    if result.drive_friction is not None:
        raise EstimationError(
            'the model has friction laws that are not linear in parameters, and a change would be '
            'measured against linear ones: identify one with linear friction'
        )
    if result.force_constants is not None:
        raise EstimationError(
            'the model has force constants of its own, and the recordings are read with those of '
            'the description: put them there, and identify without them'
        )


def watched_values(result: IdentificationResult) -> Array:
    """Base parameters (r,) of one design that the model has; nominal where it tells none."""
    base = result.model.base_parameters(shared=True, reduced=True)
    if tuple(result.names) == tuple(base.names):
        return np.asarray(result.values, dtype=float)
    nominal = np.asarray(base.values(), dtype=float)
    known = dict(zip(result.names, result.values.tolist(), strict=True))
    return np.array([known.get(n, v) for n, v in zip(base.names, nominal, strict=True)])


def model_evidence(
    result: IdentificationResult, watched: WatchedParameters, seen: Evidence
) -> Evidence:
    """Evidence of a model with its covariance: rigid bodies, friction, rotors.

    Factors of drives and offsets of encoders are none by what the model says. So is what single
    joints and the platform have beyond the shared design, where the model is of one design. `seen`
    is what recordings tell, which the certainty of these is in proportion to.
    """
    size, linear = len(watched.names), watched.columns.shape[1]
    base = watched.model.base_parameters(shared=True, reduced=True)
    of_one_design = tuple(result.names) == tuple(base.names)
    told = len(base.names) if of_one_design else linear
    reading = np.zeros((len(result.names), size))
    if of_one_design:
        reading[:, :told] = np.eye(told)
    else:
        reading[:, :told] = result.matrix @ watched.columns
    known = np.isfinite(np.diag(result.covariance))
    covariance = result.covariance[np.ix_(known, known)]
    precise = np.zeros((len(known), len(known)))
    precise[np.ix_(known, known)] = _inverse(covariance)
    start = np.concatenate([watched.values, np.zeros(size - len(watched.values))])
    information = reading.T @ precise @ reading
    score = reading.T @ (precise @ (result.values - reading @ start))
    certain = np.where(np.arange(size) >= told, CERTAIN * np.diag(seen.information), 0.0)
    return Evidence(information + np.diag(certain), score, information)


def _inverse(covariance: Array) -> Array:
    """Inverse (n, n) by the scale of the deviations; nothing of what is known exactly is lost."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return np.asarray(np.linalg.pinv(covariance / np.outer(deviation, deviation), rcond=1e-12,
                                     hermitian=True) / np.outer(deviation, deviation))  # fmt: skip
