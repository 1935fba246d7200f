"""Result of a validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.result.fields import plain
from pkm_identification.result.verdict import Grade
from pkm_identification.validation.figures import Comparison, Coverage, NoiseTest, ParameterError
from pkm_identification.validation.rollout import Rollout


@dataclass(frozen=True)
class Validation:
    """Result of `validate`.

    Attributes
    ----------
    joint_names
        Actuated joints.
    time
        Stamps (n,) [s] of the forces, one period where the data are periodic.
    period
        Of the forces [s]; None where they are those of all samples.
    measured, predicted, standard_deviation
        Forces (n, n_a) [N, N m]; measured ones are averaged over the periods, or filtered;
        the standard deviation of the prediction is that of the parameters.
    positions, velocities
        Of the actuators (n, n_a) [m, rad], [m/s, rad/s] at these times.
    against_measured
        Errors against the averaged (or filtered) measured forces.
    against_truth
        Errors against noise-free forces, averaged alike; None without ground truth. They
        include the forces that a servo makes of position noise, which no averaged motion
        shows.
    against_truth_in_band
        The same after both were limited to the frequencies in which the motion is known.
    noise_covariance
        Of the reference forces `measured` (n_a, n_a), None where it cannot be told.
    is_unbiased
        Whether, per actuator, the model error is explained by that noise: its variance is
        at most its expectation plus four standard deviations [A V]. None without noise.
    diagnostics
        How the signals were made.
    noise_test
        Variance of the model error against that of the noise; None without noise.
    coverage
        Share of the forces within their predicted bounds.
    parameter_error
        Estimates against the true parameters, where they are known.
    rollout
        Open-loop motion under the recorded forces, where it was asked for.
    """

    joint_names: list[str]
    time: Array
    measured: Array
    predicted: Array
    standard_deviation: Array
    positions: Array
    velocities: Array
    against_measured: Comparison
    against_truth: Comparison | None
    against_truth_in_band: Comparison | None
    noise_covariance: Array | None
    is_unbiased: Mask | None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    noise_test: NoiseTest | None = None
    coverage: Coverage | None = None
    parameter_error: ParameterError | None = None
    rollout: Rollout | None = None
    period: float | None = None

    @property
    def noise_share(self) -> float | None:
        """Noise of the reference forces over these, RMS over all actuators; None where unknown."""
        if self.noise_covariance is None:
            return None
        error = self.against_measured
        left = max(float(np.trace(error.residual_covariance)), np.finfo(float).tiny)
        noise = error.relative_rms * np.sqrt(np.trace(self.noise_covariance) / left)
        return min(float(noise), error.relative_rms)

    @property
    def grade(self) -> Grade:
        """How good the model is on these data, as `pkm identify` grades it on held-out parts.

        Unproven where it may be good or not: more than that is error, and nobody knows how much of
        it is noise.
        """
        noise, error = self.noise_share, self.against_measured.relative_rms
        whole = Grade.of(error)
        if noise is None:
            return whole if whole is Grade.GOOD else Grade.UNPROVEN
        return Grade.of(float(np.sqrt(max(error**2 - noise**2, 0.0))))

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain numbers."""

        def figures(comparison: Comparison | None) -> dict[str, Any] | None:
            if comparison is None:
                return None
            return {
                'relative_absolute_error': comparison.relative_absolute_error,
                'relative_absolute_error_overall': comparison.overall,
                'relative_rms_overall': comparison.relative_rms,
                'residual_rms': comparison.residual_rms,
                'residual_covariance': comparison.residual_covariance,
            }

        covariance = self.noise_covariance
        return plain(
            {
                'grade': self.grade.value,
                'joints': self.joint_names,
                'against_measured': figures(self.against_measured),
                'against_truth': figures(self.against_truth),
                'against_truth_in_band': figures(self.against_truth_in_band),
                'noise_share': self.noise_share,
                'noise': None if covariance is None else np.sqrt(np.diag(covariance)),
                'noise_covariance': covariance,
                'is_unbiased': self.is_unbiased,
                'noise_test': self.noise_test,
                'coverage': self.coverage,
                'parameter_error': self.parameter_error,
                'rollout': self.rollout,
                'signals': self.diagnostics,
            }
        )
