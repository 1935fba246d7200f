"""How well a model predicts forces that it was not identified from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.estimators.registry import SIGNAL_OPTIONS
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import plain
from pkm_identification.signals import LongSignals, SignalOptions, Signals, process
from pkm_identification.signals.bands import BLOCK, FilterBand

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

SHOWN = 50000  # samples in the series of a long recording


@dataclass(frozen=True)
class Comparison:
    """Predicted against reference forces.

    Attributes
    ----------
    relative_absolute_error
        Per actuator (n_a,): sum |predicted - reference| / sum |reference - mean| [M 33].
    overall
        The same over all actuators together.
    residual_rms
        (n_a,) [N, N m].
    residual_covariance
        (n_a, n_a) of the model error.
    """

    relative_absolute_error: Array
    overall: float
    residual_rms: Array
    residual_covariance: Array


@dataclass(frozen=True)
class Validation:
    """Result of `validate`.

    Attributes
    ----------
    joint_names
        Actuated joints.
    time
        Stamps (n,) [s] of the forces, one period where the data are periodic.
    measured, predicted, standard_deviation
        Forces (n, n_a) [N, N m]; measured ones are averaged over the periods, or filtered;
        the standard deviation of the prediction is that of the parameters.
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
    """

    joint_names: list[str]
    time: Array
    measured: Array
    predicted: Array
    standard_deviation: Array
    against_measured: Comparison
    against_truth: Comparison | None
    against_truth_in_band: Comparison | None
    noise_covariance: Array | None
    is_unbiased: NDArray[np.bool_] | None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain numbers."""

        def figures(comparison: Comparison | None) -> dict[str, Any] | None:
            if comparison is None:
                return None
            return {
                'relative_absolute_error': comparison.relative_absolute_error,
                'relative_absolute_error_overall': comparison.overall,
                'residual_rms': comparison.residual_rms,
            }

        return plain(
            {
                'joints': self.joint_names,
                'against_measured': figures(self.against_measured),
                'against_truth': figures(self.against_truth),
                'against_truth_in_band': figures(self.against_truth_in_band),
                'noise': None
                if self.noise_covariance is None
                else np.sqrt(np.diag(self.noise_covariance)),
                'is_unbiased': self.is_unbiased,
                'signals': self.diagnostics,
            }
        )


def relative_absolute_error(predicted: Array, reference: Array) -> tuple[Array, float]:
    """Return sum |predicted - reference| / sum |reference - mean| per axis and overall [M 33]."""
    error = np.abs(predicted - reference).sum(axis=0)
    spread = np.abs(reference - reference.mean(axis=0)).sum(axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        return error / spread, float(error.sum() / spread.sum())


def compare(predicted: Array, reference: Array) -> Comparison:
    """Compare predicted with reference forces (n, n_a)."""
    per_axis, overall = relative_absolute_error(predicted, reference)
    residual = reference - predicted
    return Comparison(
        per_axis,
        overall,
        np.sqrt(np.mean(residual**2, axis=0)),
        residual.T @ residual / len(residual),
    )


def validate(
    dataset: Dataset | LongDataset,
    result: IdentificationResult,
    model: ClosedChainModel,
    **options: Any,
) -> Validation:
    """Predict the forces of a recorded motion and compare.

    Parameters
    ----------
    dataset
        Another recording than the one that was identified from.
    result
        Identified model.
    model
        Mechanism of the same robot.
    **options
        Of the signals (`SignalOptions`).

    Raises
    ------
    DatasetError, EstimationError, ModelFileError
        Unusable data or options, or a result of another robot.
    """
    result.check_robot(model)
    unknown = sorted(set(options) - set(SIGNAL_OPTIONS))
    if unknown:
        raise EstimationError(
            f"unknown option '{unknown[0]}' of validate; valid are {', '.join(SIGNAL_OPTIONS)}"
        )
    if dataset.payload is not None:
        raise EstimationError(
            f"{dataset.provenance.get('source', 'dataset')} was recorded with a payload "
            f"('{dataset.payload.name}'); a result is validated on data of the robot without one"
        )
    constants = result.force_constants
    data = dataset.for_model(model, None if constants is None else constants.conversion)
    signals = process(data, SignalOptions(**options))
    if isinstance(signals, LongSignals):
        return _validate_long(signals, result, model)
    predicted, deviation = _predict(signals, result, model)
    inside = _inside(signals)
    reference = signals.forces
    noise = _reference_noise(signals)
    truth = _truth(data, signals)
    whole, in_band = _against_truth(truth, signals, predicted)
    return Validation(
        joint_names=list(model.actuated_joints),
        time=signals.time[inside],
        measured=reference[inside],
        predicted=predicted[inside],
        standard_deviation=deviation[inside],
        against_measured=compare(predicted[inside], reference[inside]),
        against_truth=whole,
        against_truth_in_band=in_band,
        noise_covariance=noise,
        is_unbiased=_is_unbiased(reference[inside] - predicted[inside], noise),
        diagnostics=signals.diagnostics,
    )


def _validate_long(
    signals: LongSignals, result: IdentificationResult, model: ClosedChainModel
) -> Validation:
    """Compare block by block; the series keep every k-th sample, at most `SHOWN`."""
    result.with_model(model)
    axes, count = len(model.actuated_joints), len(signals) - 2 * signals.band.trim
    mean = np.zeros(axes)
    for stretch, inside in signals.stretches():
        mean += stretch.forces[_every(inside)].sum(axis=0) / count
    error, spread, covariance = np.zeros(axes), np.zeros(axes), np.zeros((axes, axes))
    stride, passed = -(-count // SHOWN), 0
    shown: list[tuple[Array, ...]] = []
    for stretch, inside in signals.stretches():
        predicted, deviation = _predict(stretch, result, model)
        rows = _every(inside)
        reference, forces = stretch.forces[rows], predicted[rows]
        residual = reference - forces
        error += np.abs(residual).sum(axis=0)
        spread += np.abs(reference - mean).sum(axis=0)
        covariance += residual.T @ residual / count
        few = slice(-passed % stride, None, stride)
        series = (stretch.time[rows], reference, forces, deviation[rows])
        shown.append(tuple(each[few].copy() for each in series))
        passed += len(residual)
    time, measured, forces, deviation = (
        np.concatenate([part[k] for part in shown]) for k in range(4)
    )
    with np.errstate(divide='ignore', invalid='ignore'):
        comparison = Comparison(
            error / spread,
            float(error.sum() / spread.sum()),
            np.sqrt(np.diag(covariance)),
            covariance,
        )
    return Validation(
        joint_names=list(model.actuated_joints),
        time=time,
        measured=measured,
        predicted=forces,
        standard_deviation=deviation,
        against_measured=comparison,
        against_truth=None,
        against_truth_in_band=None,
        noise_covariance=None,
        is_unbiased=None,
        diagnostics={**signals.diagnostics, 'shown': f'every {stride}. of {count} samples'},
    )


def _every(rows: slice) -> slice:
    """Samples of a stretch that are its own, not only those that are rows."""
    return slice(rows.start, rows.stop)


def _predict(
    signals: Signals, result: IdentificationResult, model: ClosedChainModel
) -> tuple[Array, Array]:
    """Forces and standard deviations at the samples, in blocks."""
    result.with_model(model)
    blocks = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    parts = [result.predict(signals.motion(model, rows), True) for rows in blocks]
    forces = np.concatenate([part[0] for part in parts])
    deviation = np.concatenate([part[1] for part in parts])
    if isinstance(signals.band, FilterBand):
        forces = signals.band.smooth(forces)  # as the measured forces
    return forces, deviation


def _inside(signals: Signals) -> slice:
    """Samples away from the ends of a filtered record."""
    if isinstance(signals.band, FilterBand):
        return slice(signals.band.trim, len(signals) - signals.band.trim)
    return slice(None)


def _reference_noise(signals: Signals) -> Array | None:
    if signals.force_noise is None:
        return None
    return np.asarray(signals.force_noise.covariance) / signals.averaged


def _is_unbiased(residual: Array, noise: Array | None) -> NDArray[np.bool_] | None:
    if noise is None:
        return None
    variance = np.mean(residual**2, axis=0)
    limit = 1 + 4 * np.sqrt(2 / len(residual))
    return variance <= limit * np.maximum(np.diag(noise), 1e-18)


def _against_truth(
    truth: Array | None, signals: Signals, predicted: Array
) -> tuple[Comparison | None, Comparison | None]:
    """Compare with noise-free forces (n, n_a), in all frequencies and in the band."""
    if truth is None:
        return None, None
    inside = _inside(signals)
    smooth = compare(signals.band.smooth(predicted)[inside], signals.band.smooth(truth)[inside])
    if isinstance(signals.band, FilterBand):  # the predicted forces have no other frequencies
        return smooth, smooth
    return compare(predicted, truth), smooth


def _truth(data: Dataset | LongDataset, signals: Signals) -> Array | None:
    """Noise-free forces (n, n_a) at the samples of the signals, averaged as those."""
    truth = data.truth
    if truth is None or len(truth.time) < 2:
        return None
    if isinstance(signals.band, FilterBand):
        return _interpolated(signals.time, truth.time, truth.forces)
    period, count = signals.diagnostics['period'], len(signals)
    grid = signals.time[0] + period / count * np.arange(signals.averaged * count)
    forces = _interpolated(grid, truth.time, truth.forces)
    return forces.reshape(signals.averaged, count, -1).mean(axis=0)


def _interpolated(time: Array, known: Array, values: Array) -> Array:
    return np.column_stack([np.interp(time, known, column) for column in values.T])
