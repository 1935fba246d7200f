"""Motion and forces at the same instants, as an estimator uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from pkm_description.errors import EstimationError, KinematicsError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.drive_states import DriveStates
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.quality.position_range import why_impossible
from pkm_identification.quality.report import Quality
from pkm_identification.signals import fourier
from pkm_identification.signals.bands import BLOCK, Band, FilterBand, HarmonicBand
from pkm_identification.signals.folding import Folded
from pkm_identification.signals.noise import Noise

Rows = slice | Mask | Indices


@dataclass(frozen=True)
class Samples:
    """Motion of the actuators and forces at the same instants."""

    time: Array  # stamps of the forces (n,) [s]
    positions: Array  # actuators (n, n_a), evaluated at `time`
    velocities: Array
    accelerations: Array
    forces: Array  # forces or torques (n, n_a) [N, N m]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def rows(self, chosen: slice) -> Samples:
        """Return some of the samples."""
        return Samples(*(getattr(self, each.name)[chosen] for each in fields(self)))


class SampleSource(Protocol):
    """Samples that are made when they are asked for, as all of them are too many for memory."""

    def __len__(self) -> int:
        """Return the number of samples."""
        ...

    def rows(self, chosen: slice) -> Samples:
        """Return some of the samples; a slice without a step."""
        ...


@dataclass(frozen=True)
class BandTrial:
    """One cutoff that was tried for a filter."""

    cutoff: float  # [Hz]
    # relative RMS error of the forces of held-out parts, in the band that holds the motion: root
    # mean square over the axes
    error: float
    # mean square error above that of the best, over the best's; each axis relative to the least
    # that any cutoff leaves of it
    excess: float
    deviation: float  # standard deviation of `excess`, from the differences of the parts
    chance: float  # that it is worse than the best in so many parts, if it were as good


@dataclass(frozen=True)
class PredictionBand:
    """The band in which the parameters of a narrower one predict measured forces best."""

    cutoff: float  # [Hz]
    # errors are those of the measured forces, with their noise, over parts none of which counts as
    # far out
    trials: tuple[BandTrial, ...]
    # mean square error of forces (n_a,) in this band over that in the band of the parameters
    error_growth: Array


@dataclass(frozen=True)
class BandChoice:
    """How a cutoff, or as many harmonics, was chosen: by predicted forces of held-out parts."""

    cutoff: float  # chosen [Hz]
    trials: tuple[BandTrial, ...]
    scored_in: float  # cutoff of the band in which the predictions are compared [Hz]
    # relative error (n_a,) of the predicted forces that noise of the measured motion causes through
    # its bias of the parameters; None where it cannot be told from halves of the samples
    noise_bias: Array | None
    prediction: PredictionBand | None = None  # None for harmonics: they are those of each period
    # whether parts of the data predict each other at all. Where not, errors choose by chance: the
    # middle of the bands was taken, of harmonics the usual ones
    parts_agree: bool = True


@dataclass(frozen=True)
class PeriodicDiagnostics:
    """How the signals of a periodic motion were made."""

    method: str  # always `fourier`
    period: float  # [s]
    period_source: str  # where it is known from
    periods: int  # averaged
    skipped_periods: int  # left out at the beginning
    samples_a_period: int  # n
    interpolated: bool  # whether even stamps off the grid were interpolated
    significant_harmonics: int  # that stand out of the position noise
    harmonics: int  # of the series
    kept_harmonics: int  # in it after its noise was left out
    force_noise_is_white: bool | None  # None for one period
    strays: int  # samples left out for being far from the other periods'
    unseen_share: float  # of the phases that no period shows, or that are left out
    standstill_share: float = 0.0  # of the phases, in which no joint moves: they have no weight
    band_choice: BandChoice | None = None  # None where the harmonics were given

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class FilterDiagnostics:
    """How the signals of a motion without a period were made."""

    method: str  # `filter` or `local_cubic`
    cutoff: float  # [Hz]
    filter: str  # in words
    interval: float  # from sample to sample [s]
    interpolated: bool  # whether gaps or uneven stamps were bridged
    bridged_share: float  # of all samples
    gaps_without_rows: int  # long gaps, on which no rows rest
    standstill_share: float = 0.0  # of all samples, in which no joint moves and no rows are
    half_width: float | None = None  # of the window of local cubics [s]
    # above which measured velocities count, by joint [Hz]; those of others are of the positions
    velocity_crossover: dict[str, float] | None = None
    band_choice: BandChoice | None = None  # None where the cutoff was given

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Signals:
    """Motion of the actuators and forces at the same instants.

    `time`, `positions`, `velocities`, `accelerations` and `forces` are those of all samples; of a
    long recording without a period they are too many for memory, `row_blocks` and `stretches`
    give them part by part.
    """

    # one period where averaged; forces are measured ones, averaged over `averaged` periods
    # or filtered: of a motion without a period, nothing outside the band is left in them
    samples: Samples | SampleSource
    band: Band  # turns samples into the rows that an estimator sees
    diagnostics: PeriodicDiagnostics | FilterDiagnostics  # what was chosen
    averaged: int = 1  # number of periods P
    # noise of one sample before averaging; None where the data are one period or none
    force_noise: Noise | None = None
    position_noise: Noise | None = None
    # harmonics (K + 1,) whose motion is above its noise and carries that; of others it is zero
    measured_harmonics: Mask | None = None
    # the measured periods (P, n, n_a) that were averaged; None for filtered data
    folded_positions: Folded | None = None
    folded_forces: Folded | None = None
    # of a filtered motion: covariance (n_a, n_a) of the noise of one measured position,
    # and that (3, 3) of the value, slope and curvature that white unit noise leaves behind
    position_covariance: Array | None = None
    noise_gains: Array | None = None
    delay: float = 0.0  # time from a position to the force of the same sample [s]
    quality: Quality | None = None  # what an examination of the recording found, None without one
    warnings: tuple[str, ...] = ()  # what a user should know of the signals
    # what the recording says of itself, such as the trajectory that was run
    recording: Mapping[str, Any] = field(default_factory=dict)
    # states (n_s,) at the first sample of drives with a past; none where nothing came before
    begun: Mapping[DriveStates, Array] = field(default_factory=dict)
    _states: dict[DriveStates, Array] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    # of all samples, of the last model that asked; of few samples only
    _motion: dict[ClosedChainModel, PlatformMotion] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    @property
    def is_long(self) -> bool:
        """Whether the samples are read part by part, as they are too many for memory."""
        return not isinstance(self.samples, Samples)

    def _all(self, what: str) -> Samples:
        if isinstance(self.samples, Samples):
            return self.samples
        raise EstimationError(
            f'the {what} of {len(self)} samples are too many to be in memory at once; '
            'ls, wls and gauss_markov take them block by block, give others a part of the '
            'recording'
        )

    @property
    def time(self) -> Array:
        """Stamps of the forces (n,) [s] on the clock of the recording."""
        return self._all('stamps').time

    @property
    def positions(self) -> Array:
        """Positions (n, n_a) [m, rad]."""
        return self._all('positions').positions

    @property
    def velocities(self) -> Array:
        """Velocities (n, n_a) [m/s, rad/s]."""
        return self._all('velocities').velocities

    @property
    def accelerations(self) -> Array:
        """Accelerations (n, n_a) [m/s^2, rad/s^2]."""
        return self._all('accelerations').accelerations

    @property
    def forces(self) -> Array:
        """Forces (n, n_a) [N, N m]."""
        return self._all('forces').forces

    def stamp(self, row: int) -> float:
        """Return the stamp of one sample [s]."""
        return float(self.samples.rows(slice(row, row + 1)).time[0])

    def with_samples(self, **changes: Array) -> Signals:
        """Return the signals with another motion or other forces, fields of `Samples`."""
        return replace(self, samples=replace(self._all('samples'), **changes))

    def motion(self, model: ClosedChainModel, rows: slice = slice(None)) -> PlatformMotion:
        """Return the motion of the mechanism (by its forward kinematics).

        With the states of its drives, which the samples before these have made. KinematicsError
        where the robot cannot be there.
        """
        is_kept = len(self) <= BLOCK and rows.indices(len(self)) == (0, len(self), 1)
        if is_kept and model in self._motion:
            return self._motion[model]
        found = self._motion_of(model, rows)
        if is_kept:
            self._motion.clear()
            self._motion[model] = found
        return found

    def _motion_of(self, model: ClosedChainModel, rows: slice) -> PlatformMotion:
        positions = self.positions[rows]
        try:
            found = model.motion_from_actuators(
                positions, self.velocities[rows], self.accelerations[rows]
            )
        except KinematicsError as error:
            ends = np.asarray(model.lower), np.asarray(model.upper)
            said = why_impossible(model.actuated_joints, positions, *ends)
            raise type(error)(f'{said} {error}', error.samples) from None
        if model.drive_states:
            found.drive_states = self.drive_states(model.drive_states)[rows]
        return found

    def drive_states(self, states: DriveStates) -> Array:
        """States (n, n_s) of drives with a past, at all samples; settled in a periodic motion."""
        if states not in self._states:
            motion = (self.time, self.positions, self.velocities)
            is_period = isinstance(self.band, HarmonicBand)
            self._states[states] = states.along(*motion, self.begun.get(states), is_period)
        return self._states[states]

    def _parts(self) -> Iterator[tuple[Signals, slice, slice]]:
        """Overlapping parts of filtered signals, where they lie, and which of theirs are rows.

        The drives of each go on from what was asked for of the one before.
        """
        assert isinstance(self.band, FilterBand)
        before, first = self, 0
        for samples, inside in self.band.stretches(len(self)):
            row = samples.start - first
            begun = {key: value[row] for key, value in before._states.items()}
            part = replace(self, samples=self.samples.rows(samples), begun=begun or self.begun)
            yield part, samples, inside
            before, first = part, samples.start

    @property
    def usable(self) -> slice | Mask:
        """Samples (n,) of which motion and all forces rest on measurements.

        Not those at the ends of a filtered record, nor those in gaps.
        """
        band = self.band
        if isinstance(band, FilterBand):
            inside = slice(band.trim, len(self) - band.trim)
            if band.holes is None:
                return inside
            flags = np.zeros(len(self), dtype=bool)
            flags[inside] = True
            return flags & ~band.in_hole(np.arange(len(self)))
        if isinstance(band, HarmonicBand) and band.weights is not None:
            return np.asarray((band.weights > 0).all(axis=1))
        return slice(None)

    @property
    def row_count(self) -> int:
        """Number of rows that the band makes of the samples."""
        return self.band.row_count(len(self))

    def row_blocks(
        self, function: Callable[[Signals, slice], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield rows of a function of the motion, and of the forces, block by block.

        The function gives (k, n_a, ...) for some samples of signals, for example a regressor.
        """
        band = self.band
        if not isinstance(band, FilterBand):
            yield (
                band.evaluate(lambda samples: function(self, samples), len(self)),
                band.rows(self.forces),
            )
            return
        for part, samples, inside in self._parts():
            picked = band.picked(samples, inside)
            rows = band.smooth(function(part, slice(None)))[picked]
            # copies: a view would keep all of the filtered samples
            yield rows.copy(), part.forces[picked].copy()

    def stretches(self) -> Iterator[tuple[Signals, Rows]]:
        """Yield signals that fit into memory, and which of their samples are usable.

        All signals in memory are one stretch. Others overlap by what a filter needs on either
        side; each usable sample is in one of them.
        """
        if not self.is_long:
            yield self, self.usable
            return
        band = self.band
        assert isinstance(band, FilterBand)
        for part, samples, inside in self._parts():
            yield part, band.picked(samples, slice(inside.start, inside.stop, 1))

    def with_periods(self, chosen: Mask) -> Signals:
        """The same signals from some of the periods (P,) only, with the same harmonics."""
        positions, forces = self.folded_positions, self.folded_forces
        if positions is None or forces is None or not isinstance(self.band, HarmonicBand):
            raise EstimationError('the data are not periodic: there are no periods to choose from')
        mean = positions.samples[chosen].mean(axis=0)
        refit = fourier.fit(mean, positions.period, self.band.harmonics)
        if self.measured_harmonics is not None:
            refit.coefficients[~self.measured_harmonics] = 0.0
        q, qd, qdd = (refit.sampled(len(self), self.delay, order) for order in range(3))
        some = self.with_samples(
            positions=q,
            velocities=qd,
            accelerations=qdd,
            forces=forces.samples[chosen].mean(axis=0),
        )
        return replace(some, averaged=int(np.count_nonzero(chosen)))

    def summary(self) -> dict[str, Any]:
        """Return what was chosen, found and warned of as plain values."""
        quality = {} if self.quality is None else {'quality': self.quality.to_dict()}
        return {**self.diagnostics.to_dict(), 'warnings': list(self.warnings), **quality}
