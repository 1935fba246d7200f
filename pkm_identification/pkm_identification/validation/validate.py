"""How well a model predicts forces that it was not identified from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.estimators.registry import SIGNAL_OPTIONS
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import LongSignals, SignalOptions, Signals, process
from pkm_identification.signals.bands import BLOCK, FilterBand
from pkm_identification.validation.figures import (
    Comparison,
    Coverage,
    check_level,
    compare,
    covered,
    noise_test,
    parameter_error,
    relative_absolute_error,
)
from pkm_identification.validation.long import validate_long
from pkm_identification.validation.recorded_motion import recorded_motion
from pkm_identification.validation.reference import (
    inside_of,
    motion_variance,
    noise_free_forces,
    noise_of_identification,
    own_noise,
    predicted_forces,
)
from pkm_identification.validation.rollout import HORIZONS, Rollout, check_horizons, roll_out
from pkm_identification.validation.validation import Validation

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

__all__ = ['Comparison', 'Validation', 'compare', 'relative_absolute_error', 'validate']

Array = NDArray[np.float64]


def validate(
    dataset: Dataset | LongDataset,
    result: IdentificationResult,
    model: ClosedChainModel,
    *,
    level: float = 0.95,
    true_parameters: ArrayLike | None = None,
    rollout: Sequence[float] | float | bool = False,
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
    level
        Nominal share of the forces within the predicted bounds.
    true_parameters
        Standard parameters (n_p,) of the robot that was recorded, where they are known. A
        recording with noise-free signals is that of a simulated robot: by default its
        parameters are those of the description.
    rollout
        Horizons [s] of an open-loop rollout with the physical standard parameters of the
        result; True: 0.1, 0.5 and 2 s.
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
    check_level(level)
    if dataset.payload is not None:
        raise EstimationError(
            f'{dataset.provenance.get("source", "dataset")} was recorded with a payload '
            f"('{dataset.payload.name}'); a result is validated on data of the robot without one"
        )
    constants = result.force_constants
    data = dataset.for_model(model, None if constants is None else constants.conversion)
    signals = process(data, SignalOptions(**options))
    if true_parameters is None and data.truth is not None:
        true_parameters = model.nominal_parameters
    errors = None if true_parameters is None else parameter_error(result, true_parameters)
    horizons = _horizons(rollout)
    if isinstance(signals, LongSignals):
        if horizons is not None:
            recorded_motion(data, signals, float(horizons[-1]))  # says that it is too long
        return replace(validate_long(data, signals, result, model), parameter_error=errors)
    predicted, deviation = predicted_forces(signals, result, model)
    inside = inside_of(signals)
    reference = signals.forces
    noise = own_noise(signals)
    truth = noise_free_forces(data, signals)
    whole, in_band = _against_truth(truth, signals, predicted)
    residual = reference[inside] - predicted[inside]
    test = None
    if noise is not None and signals.force_noise is not None:
        test = noise_test(residual, noise, signals.force_noise)
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
        is_unbiased=None if test is None else test.is_unbiased,
        diagnostics=signals.diagnostics,
        noise_test=test,
        coverage=_coverage(data, signals, result, model, (predicted, deviation), truth, level),
        parameter_error=errors,
        rollout=_rolled_out(data, signals, result, model, horizons, true_parameters),
    )


def _horizons(rollout: Sequence[float] | float | bool) -> Array | None:
    if rollout is False or rollout is None:
        return None
    return check_horizons(HORIZONS if rollout is True else rollout)


def _coverage(
    data: Dataset | LongDataset,
    signals: Signals,
    result: IdentificationResult,
    model: ClosedChainModel,
    prediction: tuple[Array, Array],
    truth: Array | None,
    level: float,
) -> Coverage:
    """Share of measured and of noise-free forces within the bounds of the prediction."""
    predicted, deviation = prediction
    deviation = np.sqrt(deviation**2 + motion_variance(signals, result, model))
    inside = inside_of(signals)
    noise, source = own_noise(signals), 'spread over periods'
    if noise is None:
        noise, source = noise_of_identification(data, signals, result), 'identification'
    measured: tuple[Array | None, float | None] = (None, None)
    if noise is not None:
        spread = np.sqrt(deviation**2 + np.diag(noise))[inside]
        measured = covered((signals.forces - predicted)[inside], spread, level)
    exact: tuple[Array | None, float | None] = (None, None)
    guaranteed: tuple[Array | None, float | None] = (None, None)
    if truth is not None:
        error = signals.band.smooth(truth - predicted)
        if isinstance(signals.band, FilterBand):  # the predicted forces are filtered already
            error = signals.band.smooth(truth) - predicted
        exact = covered(error[inside], deviation[inside], level)
        if result.guaranteed is not None:
            guaranteed = _within_bounds(signals, result, model, truth)
    known_from = source if noise is not None else 'unknown'
    return Coverage(level, *measured, *exact, known_from, *guaranteed)


def _within_bounds(
    signals: Signals, result: IdentificationResult, model: ClosedChainModel, truth: Array
) -> tuple[Array, float]:
    """Share of noise-free forces (n, n_a) within the bounds of the guaranteed set."""
    blocks = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    parts = [result.predict(signals.motion(model, rows), bounds=True) for rows in blocks]
    centre, reach = (np.concatenate([part[k] for part in parts]) for k in range(2))
    band, inside = signals.band, inside_of(signals)
    within = (np.abs(band.smooth(truth - centre)) <= reach)[inside]
    return within.mean(axis=0), float(within.mean())


def _rolled_out(
    data: Dataset | LongDataset,
    signals: Signals,
    result: IdentificationResult,
    model: ClosedChainModel,
    horizons: Array | None,
    true_parameters: ArrayLike | None,
) -> Rollout | None:
    if horizons is None:
        return None
    recorded = recorded_motion(data, signals, float(horizons[-1]))
    friction = result.drive_friction
    found = roll_out(
        model,
        result.standard_parameters,
        recorded,
        horizons,
        drive_friction=None if friction is None else friction.law.forces,
    )
    if true_parameters is None:
        return found
    floor = roll_out(model, np.asarray(true_parameters, dtype=float), recorded, horizons)
    return replace(found, floor=floor)


def _against_truth(
    truth: Array | None, signals: Signals, predicted: Array
) -> tuple[Comparison | None, Comparison | None]:
    """Compare with noise-free forces (n, n_a), in all frequencies and in the band."""
    if truth is None:
        return None, None
    inside, exact = inside_of(signals), signals.band.smooth(truth)
    if isinstance(signals.band, FilterBand):  # the predicted forces are filtered already
        smooth = compare(predicted[inside], exact[inside])
        return smooth, smooth
    return compare(predicted, truth), compare(signals.band.smooth(predicted), exact)
