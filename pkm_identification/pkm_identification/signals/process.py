"""From a dataset to the motion and forces that an estimator uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.datasets.long_dataset import LONG
from pkm_identification.option import check_values
from pkm_identification.options import SIGNALS
from pkm_identification.quality.examine import examined
from pkm_identification.quality.examine_long import examined_long
from pkm_identification.quality.stamps import nominal_interval
from pkm_identification.signals import filtering, fourier
from pkm_identification.signals.averaging import Averaged, average, average_long
from pkm_identification.signals.bands import HarmonicBand
from pkm_identification.signals.completion import completed
from pkm_identification.signals.gridding import evened
from pkm_identification.signals.local_regression import cubic_gains, local_motion
from pkm_identification.signals.long_signals import LongSignals, filtered_long
from pkm_identification.signals.noise import Noise
from pkm_identification.signals.period_refinement import refined_period
from pkm_identification.signals.periods import find_period
from pkm_identification.signals.platform_motion import filter_gains, white_covariance
from pkm_identification.signals.signals import Signals

Array = NDArray[np.float64]

IN_TIME = ('filter', 'local_cubic')
HALF_WIDTH = 0.2  # of 1 / cutoff: the second derivative of a cubic bends down early
LEAST_INTERVALS = 5
ESTIMATE = 'estimate'
OF_FILTER = ('cutoff',), 'the motion has a period, whose Fourier series is taken'
OF_PERIODS = ('harmonics', 'skip_periods'), 'the motion is filtered, no Fourier series is taken'
FLATTENED = 0.003  # share of the accelerations
MUCH_SETTLING = 0.25  # of the periods
FORCE_RESOLUTION = 1e-6  # of the force's range, where it has no noise


@dataclass(frozen=True)
class SignalOptions:
    """How velocities and accelerations are found.

    Attributes
    ----------
    method
        `fourier` (periodic motion), `filter` (zero-phase Butterworth and central
        differences), `local_cubic` (local weighted cubic regression [M 5.1.3], at the stamps
        as they are), or `auto`: Fourier where a period is known or found, else the filter.
    period
        [s]; None: from the recording, else from the data.
    harmonics
        Harmonics of the refit; None: from the noise.
    cutoff
        Cutoff of the filter [Hz]; None: from the noise.
    skip_periods
        Periods left out at the beginning; None: those in which the motion still settles.
    bad_samples
        `leave_out`: outliers, stuck and saturated samples have no weight; `keep`: they are
        not looked for.
    delay
        From a position to the effort of the same sample [s]; None: as recorded; `estimate`
        (of `identify`): with the parameters.
    """

    method: str = 'auto'
    period: float | None = None
    harmonics: int | None = None
    cutoff: float | None = None
    skip_periods: int | None = None
    bad_samples: str = 'leave_out'
    delay: float | str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_values(SIGNALS, vars(self))


def process(
    dataset: Dataset | LongDataset, options: SignalOptions | None = None
) -> Signals | LongSignals:
    """Find motion and forces in a dataset that has efforts.

    Parameters
    ----------
    dataset
        As `Dataset.for_model` returns it; one that is too long for memory is read in blocks.
    options
        Choices; by default all are made from the data.

    Raises
    ------
    EstimationError
        Too few samples, nothing moves, or the options do not fit the data.
    """
    options = options or SignalOptions()
    if options.delay == ESTIMATE:
        raise EstimationError(
            f"delay='{ESTIMATE}' needs the mechanism: use identify or estimate_delay, then give "
            'the number that they found'
        )
    if options.delay is not None:
        dataset = dataset.with_delay(float(options.delay))
    if isinstance(dataset, Dataset) and dataset.efforts is not None:
        if 2 * dataset.positions.size > LONG:
            dataset = LongDataset.from_memory(dataset)
    head = dataset.scan.head if isinstance(dataset, LongDataset) else dataset
    if head.efforts is None:
        raise EstimationError('the dataset has no efforts; use dataset.for_model(model) first')
    if len(dataset) < 16:
        raise EstimationError(f'{len(dataset)} samples are too few to identify from')
    if options.bad_samples == 'leave_out' and isinstance(dataset, LongDataset):
        dataset = examined_long(dataset)
    elif options.bad_samples == 'leave_out' and isinstance(dataset, Dataset):
        dataset = head = examined(dataset)
    period = options.period or dataset.period
    source = 'given' if options.period else 'recorded'
    if period is None and options.method not in IN_TIME:
        measured = head.time, head.positions
        period = find_period(*measured, head.position_valid)
        if period is not None:
            period = refined_period(*measured, period, head.position_valid)
        source = 'found in the data'
    if options.method == 'fourier' and period is None:
        raise EstimationError('the motion has no period that could be found; give period=')
    if options.method in IN_TIME or period is None:
        if isinstance(dataset, LongDataset):
            if options.method == 'local_cubic':
                raise EstimationError(
                    f"{len(dataset)} samples are too many for method 'local_cubic': use 'filter', "
                    'or a part of the recording'
                )
            unused = _unused_options(options, *OF_PERIODS)
            return filtered_long(dataset, options.cutoff, unused)
        return _filtered(dataset, options)
    if isinstance(dataset, LongDataset):
        averaged = average_long(dataset, period, options.skip_periods)
    else:
        averaged = average(dataset, period, options.skip_periods)
    return _periodic(dataset, options, source, averaged)


def _periodic(
    dataset: Dataset | LongDataset, options: SignalOptions, source: str, averaged: Averaged
) -> Signals:
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
    delay = dataset.effort_delay
    q, qd, qdd = (refit.sampled(count, delay, order) for order in range(3))
    return Signals(
        time=averaged.start + delay + period / count * np.arange(count, dtype=np.float64),
        positions=q,
        velocities=qd,
        accelerations=qdd,
        forces=force_mean,
        band=HarmonicBand(harmonics, period, weights),
        averaged=averaged.periods,
        force_noise=force_noise,
        position_noise=position_noise,
        measured_harmonics=refit.kept,
        folded_positions=averaged.positions,
        folded_forces=averaged.forces,
        delay=delay,
        recording=dataset.provenance.get('metadata', {}),
        diagnostics={
            'method': 'fourier',
            'period': period,
            'period_source': source,
            'periods': averaged.periods,
            'skipped_periods': averaged.skipped,
            'samples_a_period': count,
            'interpolated': averaged.forces.interpolated,
            'significant_harmonics': significant,
            'harmonics': harmonics,
            'kept_harmonics': int(refit.kept[1:].sum()),
            'force_noise_is_white': None if force_noise is None else force_noise.is_white,
            'strays': averaged.strays,
            'unseen_share': 0.0 if weights is None else float(1 - weights.mean()),
            'warnings': [
                *_settling_warnings(averaged, period, options),
                *_unused_options(options, *OF_FILTER),
            ],
            **_quality(dataset),
        },
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


def _unused_options(options: SignalOptions, names: Sequence[str], why: str) -> list[str]:
    """Say which of the given options mean nothing for these signals."""
    given = [name for name in names if getattr(options, name) is not None]
    return [f'{name}= is not used: {why}' for name in given]


def _quality(dataset: Dataset | LongDataset) -> dict[str, Any]:
    return {} if dataset.quality is None else {'quality': dataset.quality.to_dict()}


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


def _filtered(dataset: Dataset, options: SignalOptions) -> Signals:
    assert dataset.efforts is not None
    axes = len(dataset.joint_names)
    valid = None
    if not dataset.all_valid:
        flags = (dataset.position_valid, dataset.effort_valid)
        shape = dataset.positions.shape
        valid = np.hstack([np.ones(shape, bool) if each is None else each for each in flags])
    together = np.hstack([dataset.positions, dataset.efforts])
    time, samples, there = evened(dataset.time, together, valid)
    positions, efforts = samples[:, :axes], samples[:, axes:]
    interval = nominal_interval(time)
    cutoff = options.cutoff or filtering.choose_cutoff(positions, efforts, interval)
    gaps = filtering.holes(there, cutoff, interval)
    grid = filtering.grid(cutoff, interval, len(time), gaps, dataset.effort_delay)
    q, qd, qdd, forces = grid.signals(positions, efforts, dataset.effort_delay)
    warnings: list[str] = []
    gains, how = filter_gains(grid.motion), grid.diagnostics(interpolated=time is not dataset.time)
    if options.method == 'local_cubic':
        half_width = max(HALF_WIDTH / cutoff, LEAST_INTERVALS * interval)
        derived = qdd
        q, qd, qdd = local_motion(dataset, time[:: grid.coarse] + dataset.effort_delay, half_width)
        warnings = _flattening_warnings(qdd, derived, interval)
        gains = cubic_gains(half_width, interval)
        how |= {
            'method': 'local_cubic',
            'half_width': half_width,
            'filter': 'local weighted cubic regression; rows through a Butterworth filter of '
            'order 4, zero phase',
        }
    return Signals(
        time=time[:: grid.coarse] + dataset.effort_delay,
        positions=q,
        velocities=qd,
        accelerations=qdd,
        forces=forces,
        band=grid.band,
        position_covariance=white_covariance(positions),
        noise_gains=gains,
        delay=dataset.effort_delay,
        diagnostics={
            **how,
            'bridged_share': 0.0 if there is None else float(1 - there.mean()),
            'gaps_without_rows': 0 if gaps is None else len(gaps),
            'warnings': [*warnings, *_unused_options(options, *OF_PERIODS)],
            **_quality(dataset),
        },
    )


def _flattening_warnings(cubic: Array, filtered: Array, interval: float) -> list[str]:
    """Say by how much local cubics flatten the accelerations (N, n_a) behind the filter."""
    there = np.isfinite(cubic) & np.isfinite(filtered)
    size = np.sum(np.where(there, filtered, 0.0) ** 2)
    share = 1 - np.sum(np.where(there, cubic * filtered, 0.0)) / size if size > 0 else 0.0
    if share < FLATTENED:
        return []
    return [
        f'local cubics make the accelerations {100 * share:.2g} % too small, and inertias too '
        f'large: the motion is fast for samples every {1e3 * interval:.3g} ms; take method=filter'
    ]
