"""Signals of a periodic motion: averaged periods and their Fourier series."""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.signals import fourier
from pkm_identification.signals.averaging import Averaged
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.signals.completion import completed
from pkm_identification.signals.noise import Noise
from pkm_identification.signals.signal_options import OF_FILTER, SignalOptions
from pkm_identification.signals.signals import PeriodicDiagnostics, Samples, Signals

MUCH_SETTLING = 0.25  # of the periods: a servo that needs more rather never settles
FORCE_RESOLUTION = 1e-6  # of the force's range, where it has no noise


def periodic_signals(
    recording: Recording, options: SignalOptions, source: str, averaged: Averaged
) -> Signals:
    """Return one period of motion and forces, refitted by a Fourier series.

    Parameters
    ----------
    recording
        Of which the periods are.
    options
        Choices; harmonics by default from the noise.
    source
        Where the period is known from.
    averaged
        The periods.
    """
    position_mean, force_mean = averaged.positions.mean, averaged.forces.mean
    position_noise, force_noise = averaged.position_noise, averaged.force_noise
    count, period = len(position_mean), float(averaged.positions.period)
    position_variance = _averaged_variance(position_mean, position_noise)
    significant = fourier.significant_harmonics(position_mean, position_variance)
    harmonics = options.harmonics or _useful_harmonics(
        position_mean,
        force_mean,
        period,
        significant,
        position_variance,
        _averaged_variance(force_mean, force_noise),
    )
    weights = None
    seen, force_seen = averaged.positions.seen, averaged.forces.seen
    if seen is not None:
        position_mean, certain = completed(position_mean, seen, harmonics)
        force_seen = certain[:, None] & (True if force_seen is None else force_seen)
    if force_seen is not None:
        weights = np.broadcast_to(force_seen, force_mean.shape).astype(float)
    refit = fourier.fit(position_mean, period, harmonics, position_variance)
    delay = recording.effort_delay
    q, qd, qdd = (refit.sampled(count, delay, order) for order in range(3))
    time = averaged.start + delay + period / count * np.arange(count, dtype=np.float64)
    return Signals(
        samples=Samples(time, q, qd, qdd, force_mean),
        band=HarmonicBand(harmonics, period, weights),
        diagnostics=PeriodicDiagnostics(
            method='fourier',
            period=period,
            period_source=source,
            periods=averaged.periods,
            skipped_periods=averaged.skipped,
            samples_a_period=count,
            interpolated=averaged.forces.interpolated,
            significant_harmonics=significant,
            harmonics=harmonics,
            kept_harmonics=int(refit.kept[1:].sum()),
            force_noise_is_white=None if force_noise is None else force_noise.is_white,
            strays=averaged.strays,
            unseen_share=0.0 if weights is None else float(1 - weights.mean()),
        ),
        averaged=averaged.periods,
        force_noise=force_noise,
        position_noise=position_noise,
        measured_harmonics=refit.kept,
        folded_positions=averaged.positions,
        folded_forces=averaged.forces,
        delay=delay,
        quality=recording.quality,
        warnings=(*_settling_warnings(averaged, period, options), *options.unused(*OF_FILTER)),
        recording=recording.provenance.get('metadata', {}),
    )


def _settling_warnings(averaged: Averaged, period: float, options: SignalOptions) -> list[str]:
    """Say where so much was left out as settling that the periods rather do not repeat."""
    total = averaged.skipped + averaged.periods
    if options.skip_periods is not None or averaged.skipped <= max(2, MUCH_SETTLING * total):
        return []
    return [
        f'{averaged.skipped} of {total} periods were left out because they differ from those after '
        f'them: the motion goes on settling, or its period is not {period:.7g} s; compare period= '
        'and skip_periods='
    ]


def _averaged_variance(mean: Array, noise: Noise | None) -> Array:
    """Noise variance (n_h, n_a) of one sample of a mean over periods."""
    if noise is None:
        return np.broadcast_to(fourier.noise_floor(mean), (len(mean) // 2 + 1, mean.shape[1]))
    return np.einsum('kaa->ka', noise.spectrum) / noise.periods


def _useful_harmonics(
    positions: Array,
    forces: Array,
    period: float,
    significant: int,
    position_variance: Array,
    force_variance: Array,
) -> int:
    """Harmonics up to which position noise, through the inertia, stays below force noise.

    The motion there may be below its own noise, but the forces still tell about friction,
    and leaving the motion's content out would bias the inertia. Never fewer than stand
    out of the noise.
    """
    refit = fourier.fit(positions, period, significant)
    acceleration = refit.sampled(len(positions), 0.0, 2).std(axis=0)
    inertia = forces.std(axis=0) / np.maximum(acceleration, 1e-12)
    largest = max(1, int(fourier.MAX_RELATIVE_FREQUENCY * len(positions)))
    frequency = 2 * np.pi / period * np.arange(1, largest + 1)[:, None]
    rounding = fourier.ROUNDING * np.abs(positions).max(axis=0)
    uncertain = (
        inertia
        * frequency**2
        * np.sqrt(np.maximum(position_variance[1 : largest + 1], rounding**2))
    )
    resolution = FORCE_RESOLUTION * np.maximum(forces.std(axis=0), 1e-12)
    certain = np.sqrt(np.maximum(force_variance[1 : largest + 1], resolution**2))
    beyond = np.flatnonzero(np.median(uncertain / certain, axis=1) > 1.0)
    useful = int(beyond[0]) if beyond.size else largest
    return min(max(significant, useful), (len(positions) - 1) // 2)
