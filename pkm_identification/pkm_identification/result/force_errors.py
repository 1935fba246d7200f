"""How far predicted forces of other motions are off, as held-out parts of the data show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pkm_identification.arrays import Array, Mask

# Of the RMS velocity: within which friction that falls with the speed dies down
SLOW = (0.05, 0.25)
# Of the RMS velocity over the RMS acceleration, a time: so near to a reversal, noise, averages
# and filters blur the step of friction
REVERSAL = 0.05
STANDSTILL = 1e-9  # relative speed and acceleration that are none
LEVELS = np.array([0.5, 0.68, 0.8, 0.9, 0.95, 0.99])  # at which quantiles of errors are kept
TERMS = 2 + len(SLOW)
# Of the range of positions, and of the largest speed: so far beyond, errors are hardly others
MARGIN = 0.1


@dataclass(frozen=True)
class Domain:
    """Positions and speeds that errors are known of."""

    lowest: Array  # positions (n_a,) [m, rad]
    highest: Array
    fastest: Array  # largest speeds (n_a,) [m/s, rad/s]

    def distance(self, positions: Array, velocities: Array) -> Array:
        """How far beyond samples (n, n_a) lie, in widths of the range and in largest speeds."""
        least = np.finfo(float).tiny
        beyond = np.maximum(self.lowest - positions, positions - self.highest)
        beyond = beyond / np.maximum(self.highest - self.lowest, least)
        faster = np.abs(velocities) / np.maximum(self.fastest, least) - 1
        return np.maximum(np.maximum(beyond, faster), 0.0)

    def is_left(self, positions: Array, velocities: Array) -> Mask:
        """Whether samples (n, n_a) lie beyond, by more than a margin."""
        return np.asarray(self.distance(positions, velocities) > MARGIN)


@dataclass(frozen=True)
class ForceErrors:
    """Variance of the errors of predicted forces, beyond what the parameters' covariance makes.

    Of each actuator a constant and parts near reversals, none negative. From residuals of parts
    of the data that were predicted by the estimate from all others.
    """

    variances: Array  # (n_a, terms) [N^2, N^2 m^2]
    least: Array  # variances (n_a,) that they have at least
    velocity: Array  # RMS (n_a,) [m/s, rad/s] that the velocities are relative to
    acceleration: Array  # likewise (n_a,) [m/s^2, rad/s^2]
    force: Array  # RMS (n_a,) of the predicted forces [N, N m]
    quantiles: Array  # (n_a, levels) of the errors over their standard deviations, at `LEVELS`
    rms: Array  # (n_a,) [N, N m] of the held-out residuals, with their noise
    relative: Array  # `rms` over that of the measured forces (n_a,)
    holds_noise: bool  # whether the noise of measured forces is in the variances: it is unknown
    holding: Array  # friction (n_a,) [N, N m] that a drive at rest holds in either direction
    transition_velocity: float  # below which drives are at rest [m/s, rad/s]
    # highest frequency [Hz] of the residuals; None where they are of all frequencies
    cutoff: float | None = None
    # a wider band that predictions are made in [Hz], and mean square errors (n_a,) in it over those
    # in the narrow one
    wider_cutoff: float | None = None
    wider_growth: Array | None = None
    domain: Domain | None = None  # None of long recordings, and of earlier files
    # directions of the parameters that hardly anything but one held-out part tells, over all: how
    # well they predict that part, no other can tell
    untested: float = 0.0
    parts: tuple[float, ...] = ()  # durations of the parts that were held out one by one [s]

    @property
    def measured(self) -> Array:
        """RMS (n_a,) of the measured forces [N, N m], as far as errors tell it."""
        relative = np.where(self.relative > 0, self.relative, 1.0)
        return np.where(self.relative > 0, self.rms / relative, self.force)

    @property
    def overall(self) -> float:
        """Relative RMS error of all axes together, as `relative` is of each."""
        power = max(float(np.sum(self.measured**2)), np.finfo(float).tiny)
        return float(np.sqrt(np.sum(self.rms**2) / power))

    def variance(self, positions: Array, velocities: Array, accelerations: Array) -> Array:
        """Variances (n, n_a) of forces predicted for such a motion, (n, n_a) each.

        Beyond the motion that errors are known of they grow: what a model lacks is smooth, and
        its error at least linear in the distance. It has doubled where a joint is a whole range
        away, or at twice the speed; forces of all drives depend on every joint.
        """
        terms = error_terms(velocities / self.velocity, accelerations / self.acceleration)
        lacking = np.maximum(np.einsum('nat,at->na', terms, self.variances), self.least)
        if self.domain is not None:
            farthest = self.domain.distance(positions, velocities).max(axis=1, keepdims=True)
            lacking = lacking * (1 + farthest) ** 2
        return lacking + self.at_rest(velocities, accelerations) * self.holding**2 / 3

    def at_rest(self, velocities: Array, accelerations: Array) -> Array:
        """How far (n, n_a) drives rest, from 0 to 1: friction there has any value up to `holding`.

        Variances times this are as of a uniform distribution at velocity zero. A drive that
        reverses is not at rest: it slides soon before and after.
        """
        return rest_share(
            velocities, accelerations, self.velocity, self.acceleration, self.transition_velocity
        )

    def growth(self, cutoff: float) -> Array:
        """Factors (n_a,) of the variances in another band [Hz].

        By a power of the cutoff between the two bands that are known, in proportion to it beyond:
        as if the errors were white.
        """
        if self.cutoff is None or cutoff <= self.cutoff:
            return np.ones(len(self.rms))
        if self.wider_cutoff is None or self.wider_growth is None:
            return np.full(len(self.rms), cutoff / self.cutoff)
        least = np.maximum(self.wider_growth, 1.0)
        share = np.log(cutoff / self.cutoff) / np.log(self.wider_cutoff / self.cutoff)
        return np.asarray(least ** min(share, 1.0) * max(1.0, cutoff / self.wider_cutoff))

    def reach(self, level: float) -> Array:
        """Half the widths (n_a,) of bands that hold this share of the errors, in deviations."""
        normal = ndtri(0.5 + 0.5 * LEVELS)
        factors = self.quantiles / normal
        factor = np.array([np.interp(level, LEVELS, each) for each in factors])
        return np.asarray(factor * ndtri(0.5 + 0.5 * level))


def rest_share(
    velocities: Array, accelerations: Array, speed: Array, quickness: Array, transition: float
) -> Array:
    """Share (n, n_a) of rest, with RMS velocities and accelerations (n_a,) of the data."""
    soon = speed_soon(velocities, accelerations, speed, quickness)
    return np.asarray(np.maximum(1 - (soon / max(transition, STANDSTILL)) ** 2, 0.0))


def speed_soon(velocities: Array, accelerations: Array, speed: Array, quickness: Array) -> Array:
    """Speed (n, n_a) that is reached soon before or after, which a drive that reverses has, too."""
    return np.asarray(np.abs(velocities) + REVERSAL * speed / quickness * np.abs(accelerations))


def error_terms(velocities: Array, accelerations: Array) -> Array:
    """Terms (n, n_a, t) of the variance at relative velocities and accelerations."""
    speeds = np.abs(velocities)
    near = [np.exp(-speeds / reach) for reach in SLOW]
    near.append(np.exp(-speeds / (REVERSAL * np.abs(accelerations) + STANDSTILL)))
    return np.stack([np.ones_like(speeds), *near], axis=-1)
