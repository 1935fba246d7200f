"""Variance of residuals that nothing disturbs, by what moves how."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.covariance.error_variances import variance_coefficients
from pkm_identification.monitoring.residual_stream import Residuals
from pkm_identification.result.force_errors import TERMS, Domain
from pkm_identification.result.result import IdentificationResult

LEAST_VARIANCE = 1e-3  # of the mean variance, as what a drive at rest or none of the noise leaves
NEAR = np.exp(-1)  # share of rest at the widest, from which residuals tell the width
# Of a term near standstill: where drives slide, less of it may be made a huge variance at rest
SEEN = 0.03
SLIDES = 0.01  # share of rest below which a residual tells what sliding leaves


@dataclass(frozen=True)
class ResidualVariance:
    """Variance of residuals: of the parameters, of what the model lacks, of friction at rest.

    What the model lacks is from recordings without disturbance, larger near reversals and at slow
    motion where they say so, and larger beyond the motion that they show. Friction of a drive at
    rest has any value up to `holding`, that of one that begins to slide is not yet what the model
    says: this part falls with the speed, and counts by its mean over the window, for a drive that
    reverses may rest in a part of it. One that ended at a speed would make alarms of slow starts:
    residuals just beyond it are as large as below.
    """

    coefficients: Array  # (n_a, TERMS) of the variance beyond that of the parameters
    domain: Domain  # motion that the recordings show
    holding: Array  # friction (n_a,) [N, N m] that a drive at rest holds in either direction
    width: int  # of `WIDTHS`, in which the share of friction at rest falls to 1 / e

    @classmethod
    def fitted(cls, result: IdentificationResult, parts: Residuals) -> ResidualVariance:
        """Fit to residuals without disturbance.

        The width is of all axes together, for a recording has few starts from rest, and the first
        with which the largest score is not that of a slow drive. The most likely one would be that
        of most moments, in which friction at rest is far from its bounds, and alarm in the others.
        Raises EstimationError where residuals have no noise, or depend on parameters that are not
        known.
        """
        _require_known(result, parts)
        errors, count = result.diagnostics.force_errors, parts.forces.shape[1]
        fastest = np.abs(parts.velocities).max(axis=0)
        domain = Domain(parts.positions.min(axis=0), parts.positions.max(axis=0), fastest)
        holding = np.zeros(count) if errors is None else errors.holding
        first = cls(np.zeros((count, TERMS)), domain, holding, 0)
        if not (parts.rest.any() and holding.any()):
            return first._with_coefficients(parts)
        widths = range(parts.rest.shape[2])
        near = parts.rest[..., -1] > NEAR
        for width in widths:
            found = replace(first, width=width)._with_coefficients(parts)
            scores = np.abs(parts.forces) / np.sqrt(found(parts))
            if scores[near].max(initial=0.0) <= scores[~near].max(initial=0.0):
                break
        return found

    def __call__(self, part: Residuals) -> Array:
        """Variances (k, n_a) of residuals."""
        beyond = np.einsum('nat,at->na', part.terms, self.coefficients)
        beyond = np.maximum(beyond, LEAST_VARIANCE * self.coefficients.sum(axis=1))
        farthest = self.domain.distance(part.positions, part.velocities).max(axis=1, keepdims=True)
        return np.asarray(beyond * (1 + farthest) ** 2 + self._known(part))

    def at_rest(self, part: Residuals) -> Array:
        """Share (k, n_a) of the friction at rest, 1 there."""
        return part.rest[..., self.width]

    def held(self, part: Residuals) -> Array:
        """Part (k, n_a) of the variance that each drive has by itself: friction at rest."""
        return np.asarray((self.at_rest(part) * self.holding) ** 2 / 3)

    def _known(self, part: Residuals) -> Array:
        """Variances (k, n_a) by the parameters, and by friction of drives at rest."""
        return np.asarray(part.deviation**2 + self.held(part))

    def _with_coefficients(self, parts: Residuals) -> ResidualVariance:
        """Fit what the model lacks where drives slide.

        All terms: a slow start fills a small part of a recording, and must not alarm in the next
        one. Where they rest the variance is that of all friction that they may hold, far above the
        residuals of most moments, and would leave nothing to slow motion.
        """
        squares, known, terms = parts.forces**2, self._known(parts), parts.terms
        slides = self.at_rest(parts) < SLIDES
        coefficients = np.zeros_like(self.coefficients)
        for axis, own in enumerate(slides.T):
            rows = own if own.any() else ~own
            mean = squares[rows, axis].mean()
            found = np.zeros(TERMS)
            seen = terms[rows, axis].max(axis=0) > SEEN
            given = squares[rows, axis], known[rows, axis], terms[rows, axis][:, seen]
            found[seen] = variance_coefficients(*given)
            lacking = LEAST_VARIANCE * mean - (terms[rows, axis] @ found).mean()
            found[0] += max(float(lacking), 0.0)
            coefficients[axis] = found
        return replace(self, coefficients=coefficients)


def _require_known(result: IdentificationResult, parts: Residuals) -> None:
    """Refuse residuals that give no level."""
    joints = result.model.actuated_joints
    exact = ~parts.forces.any(axis=0)
    if exact.any():
        joint = joints[int(np.argmax(exact))]
        raise EstimationError(f'{joint}: its residuals show no noise, and so no level of an alarm')
    open_ones = ~np.isfinite(parts.deviation).all(axis=0)
    if open_ones.any():
        joint = joints[int(np.argmax(open_ones))]
        raise EstimationError(
            f'{joint}: the forces of the recording without disturbance depend on parameters that '
            'the identification left open'
        )
