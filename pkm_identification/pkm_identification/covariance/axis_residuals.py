"""Figures of the residuals of one actuator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AxisResiduals:
    """Residuals of one actuator in one recording.

    Each test has a p-value: the chance of at least as odd a figure if the model is right and the
    noise is what it was measured to be.
    """

    joint: str
    run: int  # number of the recording
    rows: int  # number of rows
    rms: float = float('nan')  # root mean square of the rows [N, N m]
    # what their noise makes of it, less what the fit takes; nan, as the next two, where no spread
    # over periods shows the noise
    noise_rms: float = float('nan')
    variance_ratio: float = float('nan')  # (rms / noise_rms)^2: 1 where noise explains residuals
    # Chance of at least that ratio (F-distribution, with the degrees of freedom of the residuals
    # and of the noise)
    variance_p_value: float = float('nan')
    # Of a flat spectrum, relative to that of the noise: Kolmogorov-Smirnov distance of the
    # cumulative periodogram (Bartlett). Filtered samples are compared with what the filter makes
    # of white noise
    whiteness_p_value: float = float('nan')
    # Of the relative spectrum over five ordinates [Hz]; nan of fewer
    peak_frequency: float = float('nan')
    skewness: float = float('nan')  # of the residuals of single samples; 0 for normal ones
    excess_kurtosis: float = float('nan')  # likewise
    # D'Agostino and Pearson's test on at most 2000 evenly spread samples, taken for independent
    normality_p_value: float = float('nan')
    outlier_share: float = float('nan')  # beyond 4 robust deviations; 6.3e-5 of normal samples
    # Stamps [s] of the largest residuals within the band of the rows, and these [N, N m] in units
    # of force; of averaged data within the first period
    worst_times: tuple[float, ...] = ()
    worst_residuals: tuple[float, ...] = ()
