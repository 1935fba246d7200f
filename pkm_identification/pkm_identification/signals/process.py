"""From a dataset to the motion and forces that an estimator uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Dataset
from pkm_identification.signals import filtering, fourier
from pkm_identification.signals.bands import Band, FilterBand, HarmonicBand
from pkm_identification.signals.noise import Noise, noise_from_spread
from pkm_identification.signals.periods import Folded, find_period, fold, settling_periods

if TYPE_CHECKING:
    from pkm_dynamics import PlatformMotion

Array = NDArray[np.float64]

METHODS = ('auto', 'fourier', 'filter')
NEGLIGIBLE = 1e-9  # noise below this share of a signal is rounding
OVERSAMPLING = 16  # samples a cutoff period for the regressor of filtered motions
FORCE_RESOLUTION = 1e-6  # of the force's range, where it has no noise


@dataclass(frozen=True)
class SignalOptions:
    """How velocities and accelerations are found.

    Attributes
    ----------
    method
        `fourier` (periodic motion), `filter`, or `auto`: Fourier where a period is known
        or found.
    period
        [s]; None: from the recording, else from the data.
    harmonics
        Harmonics of the refit; None: from the noise.
    cutoff
        Cutoff of the filter [Hz]; None: from the noise.
    skip_periods
        Periods left out at the beginning; None: those in which the motion still settles.
    """

    method: str = 'auto'
    period: float | None = None
    harmonics: int | None = None
    cutoff: float | None = None
    skip_periods: int | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.method not in METHODS:
            raise EstimationError(
                f"unknown signal method '{self.method}'; valid are {', '.join(METHODS)}"
            )
        for name, least in (('period', 0.0), ('cutoff', 0.0), ('harmonics', 1)):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= least and value > 0):
                raise EstimationError(f'{name} must be positive, got {value}')
        if self.skip_periods is not None and self.skip_periods < 0:
            raise EstimationError(f'skip_periods must not be negative, got {self.skip_periods}')


@dataclass(frozen=True)
class Signals:
    """Motion of the actuators and forces at the same instants.

    Attributes
    ----------
    time
        Stamps of the forces (n,) [s] on the clock of the dataset; one period where averaged.
    positions, velocities, accelerations
        Actuators (n, n_a), evaluated at `time`.
    forces
        Measured forces or torques (n, n_a) [N, N m], averaged over `averaged` periods.
    band
        Turns samples into the rows that an estimator sees.
    averaged
        Number of periods P.
    force_noise, position_noise
        Noise of one sample before averaging; None where the data are one period or none.
    measured_harmonics
        Harmonics (K + 1,) whose motion was measured and carries position noise; in the
        others the motion is below its noise and taken as zero.
    folded_positions, folded_forces
        The measured periods (P, n, n_a) that were averaged; None for filtered data.
    delay
        Time from a position to the force of the same sample [s].
    diagnostics
        What was chosen and why.
    """

    time: Array
    positions: Array
    velocities: Array
    accelerations: Array
    forces: Array
    band: Band
    averaged: int = 1
    force_noise: Noise | None = None
    position_noise: Noise | None = None
    measured_harmonics: NDArray[np.bool_] | None = None
    folded_positions: Folded | None = None
    folded_forces: Folded | None = None
    delay: float = 0.0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def motion(self, model: Any, rows: slice = slice(None)) -> PlatformMotion:
        """Return the motion of the mechanism (by its forward kinematics)."""
        return model.motion_from_actuators(
            self.positions[rows], self.velocities[rows], self.accelerations[rows]
        )

    @property
    def is_long(self) -> bool:
        """Whether the samples are read block by block, as they are too many for memory."""
        return False

    @property
    def row_count(self) -> int:
        """Number of rows that the band makes of the samples."""
        return self.band.row_count(len(self))

    def row_blocks(
        self, function: Callable[[Signals, slice], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield rows of a function of the motion, and of the forces, block by block.

        Parameters
        ----------
        function
            Gives (k, n_a, ...) for some samples of signals, for example a regressor.
        """
        band = self.band
        if not isinstance(band, FilterBand):
            yield (
                band.evaluate(lambda samples: function(self, samples), len(self)),
                band.rows(self.forces),
            )
            return
        for samples, inside in band.stretches(len(self)):
            rows = band.smooth(function(self, samples))[inside]
            yield rows, band.smooth(self.forces[samples])[inside]

    def with_periods(self, chosen: NDArray[np.bool_]) -> Signals:
        """Return the same signals from some of the periods (P,) only, with the same harmonics.

        Raises
        ------
        EstimationError
            The data are not periods.
        """
        positions, forces = self.folded_positions, self.folded_forces
        if positions is None or forces is None or not isinstance(self.band, HarmonicBand):
            raise EstimationError('the data are not periodic: there are no periods to choose from')
        mean = positions.samples[chosen].mean(axis=0)
        refit = fourier.fit(mean, positions.period, self.band.harmonics)
        if self.measured_harmonics is not None:
            refit.coefficients[~self.measured_harmonics] = 0.0
        q, qd, qdd = (refit.sampled(len(self), self.delay, order) for order in range(3))
        return replace(
            self,
            positions=q,
            velocities=qd,
            accelerations=qdd,
            forces=forces.samples[chosen].mean(axis=0),
            averaged=int(np.count_nonzero(chosen)),
        )


def process(dataset: Dataset, options: SignalOptions | None = None) -> Signals:
    """Find motion and forces in a dataset that has efforts.

    Parameters
    ----------
    dataset
        As `Dataset.for_model` returns it.
    options
        Choices; by default all are made from the data.

    Raises
    ------
    EstimationError
        Too few samples, nothing moves, or the options do not fit the data.
    """
    options = options or SignalOptions()
    if dataset.efforts is None:
        raise EstimationError('the dataset has no efforts; use dataset.for_model(model) first')
    if len(dataset) < 16:
        raise EstimationError(f'{len(dataset)} samples are too few to identify from')
    period = options.period or dataset.period
    source = 'given' if options.period else 'recorded'
    if period is None and options.method != 'filter':
        period, source = find_period(dataset.time, dataset.positions), 'found in the data'
    if options.method == 'fourier' and period is None:
        raise EstimationError('the motion has no period that could be found; give period=')
    if options.method == 'filter' or period is None:
        return _filtered(dataset, options)
    return _periodic(dataset, options, period, source)


def _periodic(dataset: Dataset, options: SignalOptions, period: float, source: str) -> Signals:
    assert dataset.efforts is not None
    skip = options.skip_periods
    if skip is None:
        skip = settling_periods(fold(dataset.time, dataset.positions, period))
    positions = fold(dataset.time, dataset.positions, period, skip)
    efforts = fold(dataset.time, dataset.efforts, period, skip)
    periods, count, _ = positions.samples.shape
    position_noise = force_noise = None
    if periods > 1:
        whole = not efforts.interpolated  # interpolation takes noise at high frequencies away
        position_noise, force_noise = (
            noise_from_spread(
                folded.deviations,
                use_total=whole,
                negligible=(NEGLIGIBLE * folded.mean.std(axis=0)) ** 2,
            )
            for folded in (positions, efforts)
        )
    position_variance = _averaged_variance(positions.mean, position_noise)
    significant = fourier.significant_harmonics(positions.mean, position_variance)
    harmonics = options.harmonics or _useful_harmonics(
        positions.mean, efforts.mean, period, significant, position_variance,
        _averaged_variance(efforts.mean, force_noise),
    )  # fmt: skip
    refit = fourier.fit(positions.mean, period, harmonics, position_variance)
    start = float(dataset.time[0] + skip * period)
    delay = dataset.effort_delay
    q, qd, qdd = (refit.sampled(count, delay, order) for order in range(3))
    return Signals(
        time=start + delay + period / count * np.arange(count),
        positions=q,
        velocities=qd,
        accelerations=qdd,
        forces=efforts.mean,
        band=HarmonicBand(harmonics, period),
        averaged=periods,
        force_noise=force_noise,
        position_noise=position_noise,
        measured_harmonics=refit.kept,
        folded_positions=positions,
        folded_forces=efforts,
        delay=delay,
        diagnostics={
            'method': 'fourier',
            'period': period,
            'period_source': source,
            'periods': periods,
            'skipped_periods': skip,
            'samples_a_period': count,
            'interpolated': efforts.interpolated,
            'significant_harmonics': significant,
            'harmonics': harmonics,
            'kept_harmonics': int(refit.kept[1:].sum()),
            'force_noise_is_white': None if force_noise is None else force_noise.is_white,
        },
    )


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
    time, positions = filtering.uniform(dataset.time, dataset.positions)
    _, efforts = filtering.uniform(dataset.time, dataset.efforts)
    interval = float(np.median(np.diff(time)))
    cutoff = options.cutoff or filtering.choose_cutoff(positions, efforts, interval)
    band = filtering.low_pass(cutoff, interval, len(time))
    q, qd, qdd = filtering.derivatives(positions, interval, band, dataset.effort_delay)
    # nothing above the cutoff is left: a coarser grid loses nothing and saves the regressor
    coarse = slice(None, None, max(1, int(1 / (OVERSAMPLING * cutoff * interval))))
    step = interval * (coarse.step or 1)
    return Signals(
        time=time[coarse] + dataset.effort_delay,
        positions=q[coarse],
        velocities=qd[coarse],
        accelerations=qdd[coarse],
        forces=band.smooth(efforts)[coarse],  # as the positions: parallel filtering [P]
        band=filtering.low_pass(cutoff, step, len(time[coarse])),
        diagnostics={
            'method': 'filter',
            'cutoff': cutoff,
            'filter': 'Butterworth, order 4, zero phase; central differences of order 8',
            'interval': step,
            'interpolated': time is not dataset.time,
        },
    )
