"""Bounds of predicted forces: parameters, motion, what the model lacks, and noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.result.force_errors import ForceErrors
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand
from pkm_identification.validation import reference


class Bounds(NamedTuple):
    """Half the widths (n, n_a) of the bounds of predicted forces."""

    measured: Array | None  # of measured forces; None where their noise is unknown
    truth: Array  # of forces without noise, as far as it is told apart


class ForceBounds:
    """Bounds of the forces that a result predicts for one recording.

    The variances of parameters and motion, the errors of held-out parts of the identification's
    data (`ForceErrors`), and the noise of the forces: from the spread over periods, else that of
    the identification, else it is in the errors.
    """

    def __init__(
        self,
        data: Recording,
        signals: Signals,
        result: IdentificationResult,
        model: ClosedChainModel,
        level: float,
    ) -> None:
        self._errors = result.diagnostics.force_errors
        self._reach: Array | float = float(ndtri(0.5 + 0.5 * level))
        if self._errors is not None:
            self._reach = self._errors.reach(level)
        noise, self.noise_from = reference.own_noise(signals), 'spread over periods'
        self._in_errors = np.zeros(len(model.actuated_joints))
        self._growth = np.ones(len(model.actuated_joints))
        if self._errors is not None and self._errors.holds_noise:
            self._in_errors = _noise_in_errors(self._errors, data, signals)
            self._growth = _growth(self._errors, data, signals)
        if noise is None:
            noise = reference.noise_of_identification(data, signals, result)
            self.noise_from = 'unknown' if noise is None else 'identification'
        self._is_known = noise is not None
        if noise is None and self._errors is not None and self._errors.holds_noise:
            self._is_known, self.noise_from = True, 'held-out residuals'
        self._noise = np.zeros(1) if noise is None else np.diag(noise)
        self._of_motion = reference.motion_variance(signals, result, model)

    def of(self, part: Signals, deviation: Array) -> Bounds:
        """Bounds of predictions with these deviations (n, n_a) at the samples of a stretch."""
        variance = deviation**2 + self._of_motion
        if self._errors is not None:
            lacking = self._errors.variance(part.positions, part.velocities, part.accelerations)
            variance = variance + np.maximum(lacking * self._growth - self._in_errors, 0.0)
        bound = self._reach * np.sqrt(variance + self._noise) if self._is_known else None
        return Bounds(bound, self._reach * np.sqrt(variance))


def _noise_in_errors(errors: ForceErrors, data: Recording, signals: Signals) -> Array:
    """Noise (n_a,) in errors that hold it, where the spread over periods shows it now."""
    if signals.force_noise is None:
        return np.zeros(len(errors.rms))
    single = np.diag(signals.force_noise.covariance)
    if errors.cutoff is None:
        return single
    return np.asarray(single * 2 * data.interval * errors.cutoff * reference.passed_power())


def _growth(errors: ForceErrors, data: Recording, signals: Signals) -> Array:
    """Growth (n_a,) of errors with their noise by a wider band.

    None where the spread over periods tells how much of them is noise.
    """
    if errors.cutoff is None or signals.force_noise is not None:
        return np.ones(len(errors.rms))
    band = signals.band
    if isinstance(band, FilterBand):
        return errors.growth(band.cutoff)
    passed = 2 * data.interval * errors.cutoff * reference.passed_power()
    return np.full(len(errors.rms), max(1.0, 1 / (passed * signals.averaged)))
