"""How well a model predicts forces that it was not identified from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.options import SIGNALS, require_known
from pkm_identification.result.result import IdentificationResult, check_level
from pkm_identification.signals import SignalOptions, Signals
from pkm_identification.signals.filtering import cutoff_limits
from pkm_identification.signals.process import Examined, examine
from pkm_identification.validation.figures import (
    Comparison,
    compare,
    parameter_error,
    relative_absolute_error,
)
from pkm_identification.validation.force_comparison import compare_forces
from pkm_identification.validation.rollout import (
    HORIZONS,
    Rollout,
    check_horizons,
    recorded_motion,
    roll_out,
)
from pkm_identification.validation.validation import Validation

__all__ = ['Comparison', 'Validation', 'compare', 'relative_absolute_error', 'validate']


def validate(
    dataset: Recording,
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
        Another recording, of the same robot, than the one that was identified from.
    level
        Nominal share of the forces within the predicted bounds.
    true_parameters
        Standard parameters (n_p,) of `model` for the robot that was recorded, where they are
        known. A recording with noise-free signals is that of a simulated robot: by default its
        parameters are those of the description. Of what only the result has, forces of drives
        by position, the true values are not known (nan).
    rollout
        Horizons [s] of an open-loop rollout with the physical standard parameters of the
        result; True: 0.1, 0.5 and 2 s.
    **options
        Of the signals (`SignalOptions`). By default a motion without a period is filtered as those
        that the model was identified from, and so is one whose period only the data tell where
        none of these had one.

    Raises
    ------
    DatasetError, EstimationError, ModelFileError
        Unusable data or options, or a result of another robot.
    """
    require_known('of validate', options, {option.name: option for option in SIGNALS})
    check_level(level)
    examined = examined_for(dataset, result, model, SignalOptions(**options))
    return validate_examined(
        examined, result, model, level=level, true_parameters=true_parameters, rollout=rollout
    )


@dataclass(frozen=True)
class ExaminedData:
    """A recording with the forces of a model's joints, and what was found in it."""

    data: Recording
    options: SignalOptions
    examined: Examined
    _signals: dict[tuple[float | None, float | None], Signals] = field(default_factory=dict)

    def signals_for(self, result: IdentificationResult) -> Signals:
        """Signals in the band of a result, made once for each band."""
        options, examined = self.options, self.examined
        made = result.diagnostics.data
        # treated like the model's data
        if made and not any('period' in each.signals for each in made):
            examined = examined.in_time()
        if examined.period is None:
            options = _in_band_of(result, self.data, options)
        band = examined.period, options.cutoff
        if band not in self._signals:
            self._signals[band] = examined.signals(options)
        return self._signals[band]


def examined_for(
    dataset: Recording,
    result: IdentificationResult,
    model: ClosedChainModel,
    options: SignalOptions,
) -> ExaminedData:
    """Look at a recording that all results with the same force constants can be validated on.

    Errors as of `validate`.
    """
    if dataset.payload is not None:
        raise EstimationError(
            f'{dataset.name} was recorded with a payload '
            f"('{dataset.payload.name}'); a result is validated on data of the robot without one"
        )
    constants = result.force_constants
    data = dataset.for_model(model, None if constants is None else constants.conversion)
    return ExaminedData(data, options, examine(data, options))


def validate_examined(
    recorded: ExaminedData,
    result: IdentificationResult,
    model: ClosedChainModel,
    *,
    level: float = 0.95,
    true_parameters: ArrayLike | None = None,
    rollout: Sequence[float] | float | bool = False,
) -> Validation:
    """Predict the forces of a recording that was looked at, as `validate` does."""
    result = result.with_model(model)
    data, signals = recorded.data, recorded.signals_for(result)
    if true_parameters is None and data.truth is not None:
        true_parameters = model.nominal_parameters
    errors = None
    if true_parameters is not None:
        errors = parameter_error(result, _of_result(true_parameters, model, result))
    horizons = None
    if rollout is not False and rollout is not None:
        horizons = check_horizons(HORIZONS if rollout is True else rollout)
    rolled = _rolled_out(data, signals, result, model, horizons, true_parameters)
    found = compare_forces(data, signals, result, result.model, level)
    return replace(found, parameter_error=errors, rollout=rolled)


def _of_result(
    true_parameters: ArrayLike, model: ClosedChainModel, result: IdentificationResult
) -> ArrayLike:
    """True parameters in the order of the result; nan for those that the model does not have."""
    given = np.asarray(true_parameters, dtype=float)
    if given.shape != (model.n_p,):
        return given  # `parameter_error` says what is wrong
    known = dict(zip(model.parameter_names, given.tolist(), strict=True))
    return [known.get(name, np.nan) for name in result.parameter_names]


def _in_band_of(
    result: IdentificationResult, data: Recording, options: SignalOptions
) -> SignalOptions:
    """Options with the band that the model predicted forces best in, as far as the data allow it.

    Without such a choice, of a band that was given, that which the model comes from; the noise of
    a recording alone does not tell which that is.
    """
    made = [each.signals for each in result.diagnostics.data]
    bands = [_prediction_cutoff(each) for each in made if 'cutoff' in each]
    bands += [each['harmonics'] / each['period'] for each in made if 'harmonics' in each]
    if options.cutoff is not None or not bands:
        return options
    limits = cutoff_limits(data.source.scan.duration, data.interval)
    return replace(options, cutoff=float(np.clip(max(bands), *limits)))


def _prediction_cutoff(signals: Mapping[str, Any]) -> float:
    """Cutoff [Hz] that filtered data of an identification are for predictions."""
    predicted = (signals.get('band_choice') or {}).get('prediction') or signals
    return float(predicted['cutoff'])


def _rolled_out(
    data: Recording,
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
        result.model,
        result.standard_parameters,
        recorded,
        horizons,
        drive_friction=None if friction is None else friction.law.forces,
    )
    if true_parameters is None:
        return found
    floor = roll_out(model, np.asarray(true_parameters, dtype=float), recorded, horizons)
    return replace(found, floor=floor)
