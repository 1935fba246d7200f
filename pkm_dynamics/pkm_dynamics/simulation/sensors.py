"""Sensors of the simulated robot: correlated noise, quantisation, force constants."""

from __future__ import annotations

import numpy as np

from pkm_description import Description
from pkm_dynamics.array_types import Floats
from pkm_dynamics.simulation.effects import PlantEffects


class Sensors:
    """Position and current sensors of the actuated joints.

    Positions and currents draw from streams of their own, so switching one noise off
    leaves the other as it was.
    """

    def __init__(self, description: Description, effects: PlantEffects, seed: int) -> None:
        streams = np.random.SeedSequence(seed).spawn(2)
        self._position_stream, self._force_stream = map(np.random.default_rng, streams)
        self.set_effects(effects)
        constants = np.array([a.force_constant for a in description.actuators], dtype=float)
        self._force_constants = np.where(np.isfinite(constants), constants, 1.0)
        self._driven = np.array([not a.free for a in description.actuators], dtype=float)

    def set_effects(self, effects: PlantEffects) -> None:
        """Change noise and resolution; the streams of random numbers go on."""
        self._position_factor = _factor(effects.position_covariance)
        self._force_factor = _factor(effects.force_covariance)
        self._resolution = effects.position_resolution

    def positions(self, truth: Floats) -> Floats:
        """Return measured positions (n_a,) [m, rad]: noise, then quantisation."""
        measured = truth
        if self._position_factor is not None:
            noise = self._position_stream.standard_normal(len(truth))
            measured = measured + self._position_factor @ noise
        if self._resolution > 0.0:
            measured = np.round(measured / self._resolution) * self._resolution
        return measured

    def currents(self, forces: Floats) -> Floats:
        """Return measured currents (n_a,) [A] of mean actuator forces (n_a,) [N, N m].

        Free joints have no current: zero, without noise.
        """
        measured = forces
        if self._force_factor is not None:
            noise = self._force_stream.standard_normal(len(forces))
            measured = measured + self._force_factor @ noise
        return measured * self._driven / self._force_constants


def _factor(covariance: Floats) -> Floats | None:
    """Return the root of a covariance, or None where there is no noise."""
    return noise_root(covariance) if np.any(covariance) else None


def noise_root(covariance: Floats) -> Floats:
    """Return the symmetric root R (n, n) of a semidefinite covariance: R R = covariance.

    There is only one. Other roots, of an eigenvalue or singular value decomposition, have
    signs and, for equal eigenvalues, directions that depend on the processor.
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def correlated_noise(random: np.random.Generator, covariance: Floats, count: int) -> Floats:
    """Return `count` normal samples (count, n) of mean zero; takes count * n random numbers."""
    return np.asarray(random.standard_normal((count, len(covariance))) @ noise_root(covariance))
