"""Signals of a periodic motion: averaged periods and their Fourier series.

Phases that no period shows are filled by least squares instead of FFT.
"""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets import Recording
from pkm_identification.quality.report import Defect, stretches
from pkm_identification.quality.standstill import standing, standstill_defect
from pkm_identification.signals import fourier
from pkm_identification.signals.averaging import Averaged
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.signals.noise import Noise
from pkm_identification.signals.signal_options import OF_FILTER, SignalOptions
from pkm_identification.signals.signals import PeriodicDiagnostics, Samples, Signals

MUCH_SETTLING = 0.25  # of the periods: a servo that needs more rather never settles
FORCE_RESOLUTION = 1e-6  # of the force's range, where it has no noise
LONGEST = 0.5  # of the shortest wave length: the motion in a longer gap is not determined
SOLVER_TOLERANCE = 1e-13  # relative: far below the noise of any encoder, above rounding
MOST_ROUNDS = 500  # of the solver


def periodic_signals(
    recording: Recording, options: SignalOptions, source: str, averaged: Averaged
) -> Signals:
    """One period of motion and forces, refitted by a Fourier series.

    `source` says where the period is known from; the harmonics are by default from the noise.
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
    still, report = _standstill(averaged, position_mean, options)
    if still is not None:
        weights = (1.0 if weights is None else weights) * ~still[:, None]
        weights = np.broadcast_to(weights, force_mean.shape)
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
            standstill_share=0.0 if report is None else report.share,
        ),
        averaged=averaged.periods,
        force_noise=force_noise,
        position_noise=position_noise,
        measured_harmonics=refit.kept,
        folded_positions=averaged.positions,
        folded_forces=averaged.forces,
        delay=delay,
        quality=recording.quality and recording.quality.with_defect(report),
        warnings=(*_settling_warnings(averaged, period, options), *options.unused(*OF_FILTER)),
        recording=recording.provenance.get('metadata', {}),
    )


def _standstill(
    averaged: Averaged, positions: Array, options: SignalOptions
) -> tuple[Mask | None, Defect | None]:
    """Phases (n,) of a period (n, n_a) in which no joint moves, and the report of them."""
    if options.standstill == 'keep':
        return None, None
    count = len(positions)
    interval = float(averaged.positions.period) / count
    found = standing([positions], interval)
    report = standstill_defect(found, count, lambda row: float(averaged.start + interval * row))
    if report is None:
        return None, None
    still = np.zeros(count, dtype=bool)
    for first, last in found:
        still[first : last + 1] = True
    return still, report


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

    The motion there may be below its own noise, but the forces still tell about friction, and
    leaving the motion's content out would bias the inertia. Never fewer than stand out of the
    noise.
    """
    refit = fourier.fit(positions, period, significant)
    acceleration = refit.sampled(len(positions), 0.0, 2).std(axis=0)
    inertia = forces.std(axis=0) / np.maximum(acceleration, 1e-12)
    largest = max(1, int(fourier.MAX_RELATIVE_FREQUENCY * len(positions)))
    frequency = 2 * np.pi / period * np.arange(1, largest + 1)[:, None]
    rounding = fourier.ROUNDING * np.abs(positions).max(axis=0)
    deviation = np.sqrt(np.maximum(position_variance[1 : largest + 1], rounding**2))
    uncertain = inertia * frequency**2 * deviation
    resolution = FORCE_RESOLUTION * np.maximum(forces.std(axis=0), 1e-12)
    certain = np.sqrt(np.maximum(force_variance[1 : largest + 1], resolution**2))
    beyond = np.flatnonzero(np.median(uncertain / certain, axis=1) > 1.0)
    useful = int(beyond[0]) if beyond.size else largest
    return min(max(significant, useful), (len(positions) - 1) // 2)


def completed(mean: Array, seen: Mask, harmonics: int) -> tuple[Array, Mask]:
    """One period (n, n_a), and the phases (n,) at which the motion of all joints is determined.

    Phases that were not `seen` (n, n_a) hold the Fourier series that fits the others by least
    squares: the discrete Fourier transform of the result, up to `harmonics`, is that series, and
    the filled phases carry no information of their own.
    """
    count = len(mean)
    filled = np.array(mean)
    certain = np.ones(count, dtype=bool)
    for column in np.flatnonzero(~seen.all(axis=0)):
        good = seen[:, column]
        certain &= _certain(good, count / harmonics)
        filled[~good, column] = _series(mean[:, column], good, harmonics)[~good]
    return filled, certain


def _certain(good: Mask, shortest_wave: float) -> Mask:
    """Which phases (n,) do not lie in a long gap; a gap may go over the end of the period."""
    count = len(good)
    certain = np.ones(count, dtype=bool)
    twice = np.flatnonzero(~np.concatenate([good, good]))
    for first, last in stretches(twice):
        if last - first + 1 > LONGEST * shortest_wave:
            certain[np.arange(first, last + 1) % count] = False
    return certain


def _series(values: Array, good: Mask, harmonics: int) -> Array:
    """Fourier series (n,) that fits the good ones of some samples (n,)."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    count = len(values)
    start = _synthesis(_analysis(values, harmonics), count)

    def back(samples: Array) -> Array:
        whole = np.zeros(count)
        whole[good] = samples
        return _analysis(whole, harmonics)

    operator = LinearOperator(
        (int(good.sum()), 2 * harmonics + 1),
        matvec=lambda spectrum: _synthesis(spectrum, count)[good],
        rmatvec=back,
        dtype=float,
    )
    rest = values[good] - start[good]
    change = lsqr(
        operator, rest, atol=SOLVER_TOLERANCE, btol=SOLVER_TOLERANCE, iter_lim=MOST_ROUNDS
    )[0]
    return np.asarray(start + _synthesis(change, count))


def _analysis(values: Array, harmonics: int) -> Array:
    """Orthonormal coefficients (2 K + 1,) of samples (n,)."""
    transform = np.fft.rfft(values, norm='ortho')[: harmonics + 1]
    parts = [transform[:1].real, np.sqrt(2) * transform[1:].real, np.sqrt(2) * transform[1:].imag]
    return np.concatenate(parts)


def _synthesis(coefficients: Array, count: int) -> Array:
    """Samples (n,) of orthonormal coefficients (2 K + 1,): the transpose of `_analysis`."""
    harmonics = (len(coefficients) - 1) // 2
    spectrum = np.zeros(count // 2 + 1, dtype=complex)
    spectrum[0] = coefficients[0]
    cosine, sine = coefficients[1 : harmonics + 1], coefficients[harmonics + 1 :]
    spectrum[1 : harmonics + 1] = (cosine + 1j * sine) / np.sqrt(2)
    return np.fft.irfft(spectrum, count, norm='ortho')
