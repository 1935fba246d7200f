"""Predicted forces against measured and noise-free ones, part by part of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets import Recording
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import BLOCK, FilterBand
from pkm_identification.signals.signals import PeriodicDiagnostics, Rows
from pkm_identification.validation import reference
from pkm_identification.validation.figures import (
    Coverage,
    RunningComparison,
    RunningShare,
    noise_test,
)
from pkm_identification.validation.force_bounds import ForceBounds
from pkm_identification.validation.validation import Validation

THIRDS = 3  # slow, middle and fast samples
SHOWN = 50_000  # samples in the series of a long recording: enough for any picture


class _Forces(NamedTuple):
    """Forces of one part: where they were measured, of all frequencies, and in the band."""

    measured: Array
    whole: Array | None
    in_band: Array | None


def compare_forces(
    data: Recording,
    signals: Signals,
    result: IdentificationResult,
    model: ClosedChainModel,
    level: float,
) -> Validation:
    """Compare in two passes: means of the references first, then errors and coverage.

    The series of a long recording keep every k-th sample, at most `SHOWN`.
    """
    parts = _Parts(data, signals)
    means, count = parts.means()
    against = [None if mean is None else RunningComparison(mean) for mean in means]
    coverage = _Coverage(data, signals, result, model, level)
    stride = -(-count // SHOWN) if signals.is_long else 1
    shown: list[tuple[Array, ...]] = []
    passed = 0
    for part, own, truth, references in parts:
        predicted, deviation = reference.predicted_forces(part, result, model)
        predictions = parts.forces_of(part, own, predicted)
        for comparison, forces, expected in zip(against, predictions, references, strict=True):
            if comparison is not None and forces is not None and expected is not None:
                comparison.add(forces, expected)
        coverage.add(part, own, predicted, deviation, truth)
        few = slice(-passed % stride, None, stride)
        series = (part.time, part.forces, predicted, deviation, part.positions, part.velocities)
        shown.append(tuple(each[own][few].copy() for each in series))
        passed += len(references.measured)
    found = [None if each is None else each.result() for each in against]
    assert found[0] is not None
    noise, test = reference.own_noise(signals), None
    if noise is not None and signals.force_noise is not None:
        square = np.diag(found[0].residual_covariance)
        test = noise_test(square, count, noise, signals.force_noise)
    time, measured, predicted, deviation, positions, velocities = (
        np.concatenate(each) for each in zip(*shown, strict=True)
    )
    made = signals.diagnostics
    period = made.period if isinstance(made, PeriodicDiagnostics) else None
    thinned = {'shown': f'every {stride}. of {count} samples'} if signals.is_long else {}
    return Validation(
        joint_names=list(model.actuated_joints),
        time=time,
        measured=measured,
        predicted=predicted,
        standard_deviation=deviation,
        positions=positions,
        velocities=velocities,
        against_measured=found[0],
        against_truth=found[2] if parts.is_filtered else found[1],
        against_truth_in_band=found[2],
        noise_covariance=noise,
        is_unbiased=None if test is None else test.is_unbiased,
        diagnostics=signals.summary() | thinned,
        noise_test=test,
        coverage=coverage.result(),
        period=period,
    )


class _Parts:
    """Stretches of signals with the forces that predictions of them are compared with."""

    def __init__(self, data: Recording, signals: Signals) -> None:
        self._data, self._signals = data, signals
        self.is_filtered = isinstance(signals.band, FilterBand)

    def __iter__(self) -> Iterator[tuple[Signals, Rows, Array | None, _Forces]]:
        """Yield a stretch, its usable samples, noise-free forces (n, n_a), and references."""
        for part, own in self._signals.stretches():
            truth = reference.noise_free_forces(self._data.truth, part)
            whole = in_band = None
            if truth is not None:
                in_band = part.band.smooth(truth)
                whole = None if self.is_filtered else truth
                in_band = in_band[own] if self.is_filtered else in_band
            yield part, own, truth, _Forces(part.forces[own], whole, in_band)

    def forces_of(self, part: Signals, own: Rows, predicted: Array) -> _Forces:
        """Return predicted forces (n, n_a) as the references; those of a filter are filtered."""
        if self.is_filtered:
            return _Forces(predicted[own], None, predicted[own])
        return _Forces(predicted[own], predicted, part.band.smooth(predicted))

    def means(self) -> tuple[list[Array | None], int]:
        """Means (n_a,) of the references, and the number of usable samples."""
        totals: list[Array | float] = [0.0, 0.0, 0.0]
        counts = [0, 0, 0]
        for *_, references in self:
            for k, forces in enumerate(references):
                if forces is not None:
                    totals[k] = totals[k] + forces.sum(axis=0)
                    counts[k] += len(forces)
        pairs = zip(totals, counts, strict=True)
        return [np.asarray(total / count) if count else None for total, count in pairs], counts[0]


class _Coverage:
    """Share of measured and of noise-free forces within the bounds of the prediction."""

    def __init__(
        self,
        data: Recording,
        signals: Signals,
        result: IdentificationResult,
        model: ClosedChainModel,
        level: float,
    ) -> None:
        self._result, self._model, self._level = result, model, level
        self._bounds = ForceBounds(data, signals, result, model, level)
        self._measured, self._truth, self._guaranteed = (RunningShare() for _ in range(3))
        self._by_speed = [RunningShare() for _ in range(THIRDS)]
        self._beyond, self._known = RunningShare(), RunningShare()
        self._limits: Array | None = None  # of the speeds (2, n_a)

    def add(
        self, part: Signals, own: Rows, predicted: Array, deviation: Array, truth: Array | None
    ) -> None:
        """Take in predictions (n, n_a) and their deviations at the samples of a stretch."""
        bounds = self._bounds.of(part, deviation)
        if bounds.measured is not None:
            within = (np.abs(part.forces - predicted) <= bounds.measured)[own]
            self._measured.add(within)
            self._add_by_speed(np.abs(part.velocities[own]), within)
            self._add_by_domain(part.positions[own], part.velocities[own], within)
        if truth is None:
            return
        band = part.band
        if isinstance(band, FilterBand):  # the predicted forces are filtered already
            error = band.smooth(truth) - predicted
        else:
            error = band.smooth(truth - predicted)
        self._truth.add(np.abs(error[own]) <= bounds.truth[own])
        if self._result.guaranteed is not None:
            blocks = [slice(i, i + BLOCK) for i in range(0, len(part), BLOCK)]
            found = [self._result.predict(part.motion(self._model, b), bounds=True) for b in blocks]
            centre, reach = (np.concatenate([each[k] for each in found]) for k in range(2))
            self._guaranteed.add((np.abs(band.smooth(truth - centre)) <= reach)[own])

    def _add_by_speed(self, speeds: Array, within: Mask) -> None:
        """Take in which forces (k, n_a) are within; the first stretch tells the thirds."""
        if self._limits is None:
            self._limits = np.quantile(speeds, np.arange(1, THIRDS) / THIRDS, axis=0)
        third = np.sum(speeds > self._limits[:, None], axis=0)
        for number, share in enumerate(self._by_speed):
            share.add(within, third == number)

    def _add_by_domain(self, positions: Array, velocities: Array, within: Mask) -> None:
        errors = self._result.diagnostics.force_errors
        if errors is None or errors.domain is None:
            return
        beyond = errors.domain.is_left(positions, velocities)
        self._beyond.add(beyond)
        self._known.add(within, ~np.asarray(beyond.any(axis=1))[:, None])

    def result(self) -> Coverage:
        """Return the shares of all samples."""
        by_speed = [each.result()[1] for each in self._by_speed]
        known = None not in by_speed
        return Coverage(
            self._level,
            *self._measured.result(),
            *self._truth.result(),
            self._bounds.noise_from,
            *self._guaranteed.result(),
            by_speed=np.array(by_speed, dtype=float) if known else None,
            beyond=self._beyond.result()[0],
            within_domain=self._known.result()[1],
        )
