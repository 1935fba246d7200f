"""Validation with recordings that are too long for memory, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.datasets.long_truth import LongTruth
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import LongSignals, Signals
from pkm_identification.validation.figures import Comparison
from pkm_identification.validation.reference import predicted_forces
from pkm_identification.validation.validation import Validation

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

SHOWN = 50000  # samples in the series of a long recording


class RunningComparison:
    """A `Comparison` of forces that come block by block.

    Parameters
    ----------
    mean
        Of the reference (n_a,) [N, N m].
    count
        Number of samples to come.
    """

    def __init__(self, mean: Array, count: int) -> None:
        self._mean, self._count = mean, count
        self._error, self._spread = np.zeros_like(mean), np.zeros_like(mean)
        self._covariance = np.zeros((len(mean), len(mean)))

    def add(self, predicted: Array, reference: Array) -> None:
        """Take in forces (k, n_a)."""
        residual = reference - predicted
        self._error += np.abs(residual).sum(axis=0)
        self._spread += np.abs(reference - self._mean).sum(axis=0)
        self._covariance += residual.T @ residual / self._count

    def result(self) -> Comparison:
        """Return the figures of all samples."""
        with np.errstate(divide='ignore', invalid='ignore'):
            return Comparison(
                self._error / self._spread,
                float(self._error.sum() / self._spread.sum()),
                np.sqrt(np.diag(self._covariance)),
                self._covariance,
            )


def validate_long(
    data: Dataset | LongDataset,
    signals: LongSignals,
    result: IdentificationResult,
    model: ClosedChainModel,
) -> Validation:
    """Compare block by block; the series keep every k-th sample, at most `SHOWN`."""
    axes, count = len(model.actuated_joints), len(signals) - 2 * signals.band.trim
    truth = data.truth if isinstance(data.truth, LongTruth) else None
    mean, exact_mean = np.zeros(axes), np.zeros(axes)
    for stretch, rows, exact in _stretches(signals, truth):
        mean += stretch.forces[rows].sum(axis=0) / count
        exact_mean += 0.0 if exact is None else exact.sum(axis=0) / count
    measured, noise_free = (RunningComparison(each, count) for each in (mean, exact_mean))
    stride, passed = -(-count // SHOWN), 0
    shown: list[tuple[Array, ...]] = []
    for stretch, rows, exact in _stretches(signals, truth):
        forces, deviation = (each[rows] for each in predicted_forces(stretch, result, model))
        measured.add(forces, stretch.forces[rows])
        if exact is not None:
            noise_free.add(forces, exact)
        few = slice(-passed % stride, None, stride)
        series = (stretch.time[rows], stretch.forces[rows], forces, deviation)
        shown.append(tuple(each[few].copy() for each in series))
        passed += len(forces)
    time, reference, forces, deviation = (
        np.concatenate([part[k] for part in shown]) for k in range(4)
    )
    against_truth = None if truth is None else noise_free.result()
    return Validation(
        joint_names=list(model.actuated_joints),
        time=time,
        measured=reference,
        predicted=forces,
        standard_deviation=deviation,
        against_measured=measured.result(),
        against_truth=against_truth,
        against_truth_in_band=against_truth,  # the filter leaves no other frequencies
        noise_covariance=None,
        is_unbiased=None,
        diagnostics={**signals.diagnostics, 'shown': f'every {stride}. of {count} samples'},
    )


def _stretches(
    signals: LongSignals, truth: LongTruth | None
) -> Iterator[tuple[Signals, slice, Array | None]]:
    """Yield stretches, which of their samples are their own, and these' noise-free forces."""
    reader = None if truth is None else truth.reader()
    for stretch, inside in signals.stretches():
        rows = slice(inside.start, inside.stop)
        exact = None
        if reader is not None:
            exact = signals.band.smooth(reader.at(stretch.time))[rows]
        yield stretch, rows, exact
