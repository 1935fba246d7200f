"""The band of filtered motions, by what it does to the forces that are predicted.

A narrow band loses what the motion tells, a wide one lets noise of the positions into the
accelerations, which makes inertias too small. Neither shows in the residuals of the band itself:
there the smaller inertias are the best. So parameters of each band predict parts of the recording
that they were not estimated from, all in one band: the narrowest that holds the motion, in which
the regressor has hardly any noise. Of bands whose errors differ by less than one standard deviation
of the difference the narrowest is taken (one standard error rule [Breiman et al. 1984]).

Predictions may be better in a wider band than parameters: steps of friction are fast, and noise of
the motion adds noise, but no bias. So each band also predicts the measured forces as they are, by
the parameters that were taken; noise of the forces is the same for all bands.

Where each part shows parameters of its own, as motions of one axis after the other do, parts
predict nothing of each other, and their errors choose by chance. Then the middle is taken of the
bands from that which holds the motion to the widest (by ratios, no other is as near to whichever is
the best), and of harmonics the usual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from pkm_description.errors import EstimationError, KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.datasets.source import Block, Source
from pkm_identification.quality.stamps import between_pauses
from pkm_identification.regression.held_out import Parts, part_counts, parts, solved
from pkm_identification.regression.run import RowRegressor, Run
from pkm_identification.regression.selection import Selection
from pkm_identification.signals.averaging import Averaged
from pkm_identification.signals.bands import FilterBand
from pkm_identification.signals.even_grid import EvenSamples
from pkm_identification.signals.filtered import filtered_signals
from pkm_identification.signals.filtering import TRIM, cutoff_limits, motion_frequency
from pkm_identification.signals.signal_options import SignalOptions
from pkm_identification.signals.signals import BandChoice, BandTrial, PredictionBand, Signals

OVERSAMPLING = 16  # samples a cutoff period: half of the usual ones tell the same
PARTS = 10  # held out one by one
RATIO = 2.0  # from one cutoff to the next: errors change little within
MOTION = 6.0  # times its frequency is the band that holds the motion, and steps of friction
NEGLIGIBLE = 0.05  # excess of the mean square error: 2.5 per cent of the error, however uncertain
REACH = 4.5  # median distances from the median, three deviations of normal values
CHANCE = 0.002  # of a sign test, all of ten parts: less speaks against what the noise says
SHORT = 0.1  # of the longest stretch between pauses: shorter ones hardly add to it
NO_GAIN = 2  # cutoffs in a row that are not better than one below: wider ones only get worse
# Held-out errors in every band over the spread of the forces, or over what the model leaves of the
# same forces with parameters from all parts, where that is larger (it lacks an offset, say): parts
# of other motions, which tell nothing of each other
NOTHING_SHARED = 3.0
LEAST_ERROR = 1e-12  # of the forces' spread: rounding, in data without noise
LEAST_SPREAD = 1e-12  # of the largest of the axes: forces of an axis that hardly has any
HALVES = 0.1  # of the sampling rate: half of the samples show motions in bands up to it


class Piece(NamedTuple):
    """Samples that stand for a recording."""

    recording: Recording
    margin: int = 0  # samples at either end that lead the filter in, but give no rows

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest cutoff [Hz]."""
        return cutoff_limits(self.span, self.recording.interval)

    @property
    def span(self) -> float:
        """Duration [s]."""
        return self.recording.source.scan.duration

    def without_ends(self, seconds: float) -> Piece:
        """Leave so much out at either end, at least."""
        return self._replace(margin=max(self.margin, int(seconds / self.recording.interval)))

    @property
    def motion_frequency(self) -> float:
        """Frequency [Hz] of most of the motion."""
        even = EvenSamples(self.recording)
        return motion_frequency(self._columns(even)[0], even.interval)

    @property
    def forces(self) -> Array:
        """Measured forces (N, n_a) on an even grid."""
        return self._columns(EvenSamples(self.recording))[1]

    def _columns(self, even: EvenSamples) -> tuple[Array, Array]:
        """Positions and forces (N, n_a) on an even grid."""
        positions, forces = np.split(even.read(slice(0, even.count))[1], 2, axis=1)
        return positions, forces

    def signals(self, options: SignalOptions, half: int | None) -> Signals:
        """Filter; with the `half` 0 or 1 the motion of the even or odd samples."""
        found = filtered_signals(self.recording, options, half, OVERSAMPLING)
        band = found.band
        assert isinstance(band, FilterBand)
        margin = self.margin * self.recording.interval * band.rate  # in samples of the filter
        trim = max(band.trim, int(np.ceil(margin)))
        return replace(found, band=replace(band, trim=trim))


def pieces_of(recordings: Sequence[Recording]) -> list[Piece]:
    """Stretches that stand for recordings, none with a pause: all that fit into memory."""
    found = []
    for each in recordings:
        for block in each.source.probes():
            rows = between_pauses(block.time)
            longest = max(part.stop - part.start for part in rows)
            found += [
                Piece(replace(each, source=Source.of(block.rows(part), is_long=False)))
                for part in rows
                if part.stop - part.start >= SHORT * longest
            ]
    return found


def mean_period(recording: Recording, averaged: Averaged) -> Piece:
    """Return the mean period of a recording, between two more of them."""
    positions, forces = averaged.positions, averaged.forces
    count = len(positions.mean)
    time = averaged.start + positions.period / count * np.arange(3 * count, dtype=np.float64)
    motion, force = np.tile(positions.mean, (3, 1)), np.tile(forces.mean, (3, 1))
    seen = [
        None if each.seen is None else np.tile(each.seen, (3, 1)) for each in (positions, forces)
    ]
    position_valid, effort_valid = seen
    block = Block(time, motion, force, None, position_valid, effort_valid)
    # the forces of periods are those before the filter of the drives already
    piece = replace(recording, source=Source.of(block, is_long=False), effort_filter=None)
    return Piece(piece, count)


def choose_band(
    pieces: Sequence[Piece],
    model: ClosedChainModel,
    base: RowRegressor,
    selection: Selection,
    options: SignalOptions,
    usual: float | None = None,
) -> BandChoice | None:
    """Choose one cutoff for all pieces; None where they are too short for a choice.

    A `usual` one [Hz] is taken unless it is worse in all of ten parts, by a sign test.
    """
    cutoffs, pieces = _candidates(pieces, usual)
    if len(cutoffs) < 2:
        return None
    widest = None if usual is None else cutoffs[-1]

    def of(cutoff: float, half: int | None = None) -> list[Run]:
        chosen = replace(options, cutoff=cutoff)
        return [Run(each.signals(chosen, half), base, model, selection) for each in pieces]

    margins = [each.margin / each.recording.source.count for each in pieces]
    spans = [(1 - 2 * out) * each.span for each, out in zip(pieces, margins, strict=True)]
    counts = part_counts(spans, PARTS)  # not by the samples of a band, which differ
    # harmonics are those of each period: no band of predictions is chosen for them
    forces = [each.forces for each in pieces] if usual is None else None
    tried: list[_Tried] = []
    chosen, parts_agree = 0, True
    for cutoff in cutoffs:
        if parts_agree and len(tried) > chosen + NO_GAIN and cutoff != widest:
            continue
        try:
            runs = of(cutoff)
            targets = forces and [
                own[:: round(1 / (run.filter.rate * each.recording.source.scan.interval))]
                for own, run, each in zip(forces, runs, pieces, strict=True)
            ]
            found, measured = parts(runs, counts, margins, targets)
        except (EstimationError, KinematicsError):  # too few rows; noise beyond what can be reached
            continue
        values, weights = found.held_out_values()
        tried.append(_Tried(cutoff, found, measured, values, found.values(weights)))
        scored = tried[0].found
        rows, number = scored.count.sum(), len(scored.count)
        errors = [(each.cutoff, scored.errors(each.values) * number / rows) for each in tried]
        trials = _compared(errors, scored.spread / rows)
        chosen = _narrowest(trials)
        parts_agree = min(_beyond(scored, each) for each in tried) <= NOTHING_SHARED
    if not tried:
        return None
    last = len(trials) - 1
    if trials[-1].cutoff == widest and (trials[-1].chance > CHANCE or not parts_agree):
        chosen = last
    elif not parts_agree:
        chosen = last // 2
    cutoff, found = tried[chosen][:2]
    bias = _noise_bias(of, cutoff, pieces, found, scored)
    predicted = None if usual is not None else _prediction(tried[chosen:])
    return BandChoice(cutoff, trials, tried[0].cutoff, bias, predicted, parts_agree)


class _Tried(NamedTuple):
    """A band with its parts: filtered forces, measured ones, and parameters without each part."""

    cutoff: float
    found: Parts
    measured: Parts
    values: Array  # (k, f)
    whole: Array  # (f,) of all parts


def _beyond(scored: Parts, tried: _Tried) -> float:
    """Held-out error over the spread of the forces, or over the error of all parts if larger."""
    held_out, inside = (scored.errors(each).sum(axis=0) for each in (tried.values, tried.whole))
    size = np.maximum(np.maximum(scored.spread, inside), 1e-300)
    return float(np.sqrt(np.mean(held_out / size)))


def _prediction(tried: Sequence[_Tried]) -> PredictionBand | None:
    """Choose the band to predict in, from that on which the parameters come from.

    These are of all parts: they do not know the band, and without a part they may be far worse.
    By a mean over the parts in which none is far out: where stamps or positions leap, wide bands
    are worse in one part. None where gaps leave no part with rows in all bands.
    """
    first, rows = tried[0], tried[0].found.count
    there = np.all([each.found.count > 0 for each in tried], axis=0)
    if not there.any():
        return None
    values = first.whole
    errors = [each.measured.mean_errors(values)[there] for each in tried]
    size = np.maximum(first.measured.spread / rows.sum(), 1e-300)
    least = LEAST_ERROR * size
    scale = np.maximum(np.min([each.mean(axis=0) for each in errors], axis=0), least)
    by_part = [(each / scale).mean(axis=1) for each in errors]
    chosen = int(np.argmin([_typical(each - by_part[0])[0] for each in by_part]))
    trials = []
    for each, square, own in zip(tried, errors, by_part, strict=True):
        more = own - by_part[chosen]
        typical = np.array([_typical(axis)[0] for axis in square.T])
        relative = float(np.sqrt(np.mean(typical / size)))
        trials.append(BandTrial(each.cutoff, relative, *_typical(more), _chance(more)))
    in_band = [each.found.mean_errors(values)[there] for each in (first, tried[chosen])]
    ratios = np.maximum(in_band[1], least) / np.maximum(in_band[0], least)
    return PredictionBand(tried[chosen].cutoff, tuple(trials), np.median(ratios, axis=0))


def _typical(values: Array) -> tuple[float, float]:
    """Mean of values (k,), those far out moved to `REACH`, and its standard deviation [Huber]."""
    centre = np.median(values)
    reach = REACH * float(np.median(np.abs(values - centre)))
    near = np.clip(values, centre - reach, centre + reach)
    spread = float(near.std(ddof=1)) if len(near) > 1 else 0.0
    return float(near.mean()), spread / np.sqrt(len(near))


def _chance(more: Array) -> float:
    """Chance of so many positive differences (k,), if one sign were as likely as the other."""
    return float(bdtrc(np.count_nonzero(more > 0) - 1, len(more), 0.5))


def _candidates(pieces: Sequence[Piece], usual: float | None) -> tuple[list[float], list[Piece]]:
    """Cutoffs [Hz] from that which holds the motion on, and the pieces long enough for it.

    All bands have the rows of the narrowest, which loses most of them at the ends.
    """
    spans = [each.span for each in pieces]
    frequency = float(np.average([each.motion_frequency for each in pieces], weights=spans))
    lowest = max(MOTION * frequency, min(each.limits[0] for each in pieces))
    highest = min(each.limits[1] for each in pieces)
    if usual is not None:
        highest = min(highest, usual)
    if lowest >= highest:
        return [], []
    steps = int(np.ceil(np.log(highest / lowest) / np.log(RATIO)))
    cutoffs = [float(each) for each in np.geomspace(lowest, highest, steps + 1)]
    long_enough = [each for each in pieces if each.limits[0] <= lowest]
    return cutoffs, [each.without_ends(TRIM / lowest) for each in long_enough]


def _narrowest(trials: Sequence[BandTrial]) -> int:
    """Index of the narrowest band that is as good as the best."""
    good = (i for i, each in enumerate(trials) if each.excess <= min(each.deviation, NEGLIGIBLE))
    return next(good, 0)


def _compared(tried: Sequence[tuple[float, Array]], size: Array) -> tuple[BandTrial, ...]:
    """Compare cutoffs by the mean square errors (k, n_a) of the parts that were held out.

    Errors of an axis count by the least that any cutoff leaves of them, so that no axis rules by
    its size or by what the model lacks there. `size` (n_a,) is the variance of the forces.
    """
    least = np.min([errors.mean(axis=0) for _, errors in tried], axis=0)
    least = np.maximum(least, LEAST_ERROR * size)
    size = np.maximum(size, max(LEAST_SPREAD * float(size.max()), 1e-300))
    by_part = [(errors / np.maximum(least, 1e-300)).mean(axis=1) for _, errors in tried]
    best = min(by_part, key=lambda each: float(each.sum()))
    trials = []
    for (cutoff, errors), own in zip(tried, by_part, strict=True):
        more = (own - best) / max(float(best.sum()), 1e-300)
        relative = np.sqrt(np.mean(errors.mean(axis=0) / size))
        deviation = np.sqrt(len(more)) * more.std(ddof=1) if len(more) > 1 else 0.0
        of_trial = (float(relative), float(more.sum()), float(deviation), _chance(more))
        trials.append(BandTrial(cutoff, *of_trial))
    return tuple(trials)


def _noise_bias(
    of: Callable[[float, int | None], list[Run]],
    cutoff: float,
    pieces: Sequence[Piece],
    found: Parts,
    scored: Parts,
) -> Array | None:
    """Relative error (n_a,) of predicted forces by the noise in the regressor of a band.

    Motions from either half of the samples have noise of their own. Half of their difference has
    that of the motion from all samples, and makes the estimate smaller by
    (Psi^T W Psi)^-1 (D^T W D) p.
    """
    if cutoff > HALVES / max(each.recording.interval for each in pieces):
        return None
    _, weights = found.held_out_values()
    square = np.einsum('a,kaij->ij', weights, found.square)
    noise = np.zeros_like(square)
    for first, second in zip(of(cutoff, 0), of(cutoff, 1), strict=True):
        for one, other in zip(first.blocks(), second.blocks(), strict=True):
            half = (one.regressor - other.regressor) / 2
            noise += np.einsum('a,mai,maj->ij', weights, half, half, optimize=True)
    change = solved(square, noise @ found.values(weights))
    bent = np.einsum('kaij,i,j->a', scored.square, change, change)
    return np.asarray(np.sqrt(np.maximum(bent, 0.0) / np.maximum(scored.spread, 1e-300)))
