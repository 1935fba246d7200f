"""Variance of residuals that nothing disturbs, by what moves how."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array, Mask
from pkm_identification.covariance.error_variances import variance_coefficients
from pkm_identification.monitoring.residual_stream import Residuals
from pkm_identification.result.force_errors import TERMS, Domain, error_terms, speed_soon
from pkm_identification.result.result import IdentificationResult

LEAST_VARIANCE = 1e-3  # of the mean variance, as what a drive at rest or none of the noise leaves
SLIDES = 0.01  # share of rest below which a residual tells what sliding leaves
# Widths that are tried of the speeds at which drives begin to slide, in transition velocities of
# the description: means over the window and the noise of speeds make it wider, Stribeck friction
# and joints of other legs that still rest, too
WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class ResidualVariance:
    """Variance of residuals: of the parameters, of what the model lacks, of friction at rest.

    What the model lacks is from recordings without disturbance, larger near reversals and at slow
    motion where they say so, and larger beyond the motion that they show. Friction of a drive at
    rest has any value up to `holding`, that of one that begins to slide is not yet what the model
    says: this part falls exponentially with the speed, as Stribeck friction does. A part that ended
    at a speed would make alarms of slow starts: residuals just beyond it are as large as below.
    """

    coefficients: Array  # (n_a, TERMS) of the variance beyond that of the parameters
    speed: Array  # RMS (n_a,) that velocities are relative to
    quickness: Array  # likewise of accelerations
    domain: Domain  # motion that the recordings show
    holding: Array  # friction (n_a,) [N, N m] that a drive at rest holds in either direction
    sliding: float  # speed [m/s, rad/s] in which the part of friction at rest falls to 1 / e

    @classmethod
    def fitted(cls, result: IdentificationResult, parts: Residuals) -> ResidualVariance:
        """Fit to residuals without disturbance.

        The speed at which drives surely slide is the one that makes their slow residuals most
        likely, of all axes together: a recording has few starts from rest. Raises EstimationError
        where residuals have no noise, or depend on parameters that are not known.
        """
        _require_known(result, parts)
        errors, count = result.diagnostics.force_errors, parts.forces.shape[1]
        speed, quickness = (
            np.maximum(np.sqrt(np.mean(each**2, axis=0)), np.finfo(float).tiny)
            for each in (parts.velocities, parts.accelerations)
        )
        fastest = np.abs(parts.velocities).max(axis=0)
        domain = Domain(parts.positions.min(axis=0), parts.positions.max(axis=0), fastest)
        holding = np.zeros(count) if errors is None else errors.holding
        slow = 0.0 if errors is None else errors.transition_velocity
        first = cls(np.zeros((count, TERMS)), speed, quickness, domain, holding, slow)
        if not (slow > 0.0 and holding.any()):
            return first._with_coefficients(parts)
        tried = [replace(first, sliding=slow * width)._with_coefficients(parts) for width in WIDTHS]
        near = first._soon(parts) < WIDTHS[-1] * slow
        return max(tried, key=lambda each: each._likelihood(parts, near))

    def __call__(self, part: Residuals) -> Array:
        """Variances (k, n_a) of residuals."""
        terms = self._terms(part)
        beyond = np.einsum('nat,at->na', terms, self.coefficients)
        beyond = np.maximum(beyond, LEAST_VARIANCE * self.coefficients.sum(axis=1))
        farthest = self.domain.distance(part.positions, part.velocities).max(axis=1, keepdims=True)
        return np.asarray(beyond * (1 + farthest) ** 2 + self._known(part))

    def at_rest(self, part: Residuals) -> Array:
        """Share (k, n_a) of the friction at rest, 1 there."""
        if not self.sliding > 0.0:
            return np.zeros_like(part.forces)
        return np.asarray(np.exp(-self._soon(part) / self.sliding))

    def _soon(self, part: Residuals) -> Array:
        return speed_soon(part.velocities, part.accelerations, self.speed, self.quickness)

    def _terms(self, part: Residuals) -> Array:
        return error_terms(part.velocities / self.speed, part.accelerations / self.quickness)

    def _known(self, part: Residuals) -> Array:
        """Variances (k, n_a) by the parameters, and by friction of drives at rest."""
        return np.asarray(part.deviation**2 + self.at_rest(part) * self.holding**2 / 3)

    def _with_coefficients(self, parts: Residuals) -> ResidualVariance:
        """Fit what the model lacks where drives slide.

        All terms: a slow start fills a small part of a recording, and must not alarm in the next
        one. Where they rest the variance is that of all friction that they may hold, far above the
        residuals of most moments, and would leave nothing to slow motion.
        """
        squares, known, terms = parts.forces**2, self._known(parts), self._terms(parts)
        slides = self.at_rest(parts) < SLIDES
        coefficients = np.zeros_like(self.coefficients)
        for axis, own in enumerate(slides.T):
            rows = own if own.any() else ~own
            mean = squares[rows, axis].mean()
            found = variance_coefficients(*(each[rows, axis] for each in (squares, known, terms)))
            lacking = LEAST_VARIANCE * mean - (terms[rows, axis] @ found).mean()
            found[0] += max(float(lacking), 0.0)
            coefficients[axis] = found
        return replace(self, coefficients=coefficients)

    def _likelihood(self, parts: Residuals, chosen: Mask) -> float:
        """Logarithm of the likelihood of chosen residuals (k, n_a), but for a constant."""
        variance = self(parts)
        each = -0.5 * (np.log(variance) + parts.forces**2 / variance)
        return float(each[chosen].sum())


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
