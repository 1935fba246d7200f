"""What the services of the estimation server do, without ROS communication."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from pkm_description.errors import (
    DatasetError,
    EstimationError,
    KinematicsError,
    ModelFileError,
    PkmError,
)
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.estimators import identify
from pkm_identification.estimators.identify import Progress
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import load_result
from pkm_identification.validation import Validation, validate

COMMON_OPTIONS = ('shared', 'reduced')
LEAST_P_VALUE = 1e-3  # below this the nearest physical model contradicts the data


class Refused(PkmError):
    """A request that is not fulfilled; `code` is a constant name of the service."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_options(names: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Return options from their names and YAML values."""
    if len(names) != len(values):
        raise Refused('BAD_OPTION', f'{len(names)} option names but {len(values)} values')
    options = {}
    for name, text in zip(names, values, strict=True):
        try:
            options[name] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise Refused('BAD_OPTION', f"option '{name}': '{text}' is not YAML") from error
    return options


def identify_request(
    model: ClosedChainModel, request: Any, progress: Progress | None = None
) -> IdentificationResult:
    """Do what `Identify` or `IdentifyWithProgress` asks for.

    Raises
    ------
    Refused
        With BAD_DATA, UNKNOWN_ESTIMATOR, BAD_OPTION, ESTIMATION_FAILED or CANNOT_WRITE.
    """
    options = parse_options(request.option_name, request.option_value)
    common = {name: options.pop(name) for name in COMMON_OPTIONS if name in options}
    for name, value in common.items():
        if not isinstance(value, bool):
            raise Refused('BAD_OPTION', f"option '{name}' must be true or false, not '{value}'")
    try:
        find_estimator(request.estimator)
    except EstimationError as error:
        raise Refused('UNKNOWN_ESTIMATOR', str(error)) from error
    try:
        split_options(request.estimator, options)
    except EstimationError as error:
        raise Refused('BAD_OPTION', str(error)) from error
    if request.output and Path(request.output).exists():
        raise Refused('CANNOT_WRITE', f"'{request.output}' exists already and is not overwritten")
    try:
        result = identify(
            load(request.data), model, request.estimator, progress=progress, **common, **options
        )
    except DatasetError as error:
        raise Refused('BAD_DATA', str(error)) from error
    except (EstimationError, KinematicsError) as error:
        raise Refused('ESTIMATION_FAILED', str(error)) from error
    if request.output:
        try:
            result.save(request.output)
        except ModelFileError as error:
            raise Refused('CANNOT_WRITE', str(error)) from error
    return result


def load_model_file(path: str, model: ClosedChainModel) -> IdentificationResult:
    """Return the result in a model file of this robot, or raise `Refused`."""
    try:
        result = load_result(path)
    except ModelFileError as error:
        raise Refused('BAD_MODEL', str(error)) from error
    try:
        return result.with_model(model)
    except ModelFileError as error:
        raise Refused('WRONG_ROBOT', str(error)) from error


def validate_request(model: ClosedChainModel, data: str, path: str) -> Validation:
    """Do what `Validate` asks for: BAD_DATA, BAD_MODEL or WRONG_ROBOT where it cannot."""
    result = load_model_file(path, model)
    return _validated(model, data, result, 'BAD_DATA')


def applicable_model(model: ClosedChainModel, request: Any) -> tuple[IdentificationResult, str]:
    """Return the model that `ApplyModel` may send to the controller, and a remark.

    Raises
    ------
    Refused
        With BAD_MODEL, WRONG_ROBOT, NOT_PHYSICAL or VALIDATION_FAILED.
    """
    result = load_model_file(request.model, model)
    remark = ''
    if not result.is_physical:
        feasible = result.feasible
        if not feasible.p_value > LEAST_P_VALUE:
            raise Refused(
                'NOT_PHYSICAL',
                f"'{request.model}' is not physical ({'; '.join(feasible.violations)}) and the "
                f'nearest physical model contradicts the data (p = {feasible.p_value:.1e})',
            )
        remark = (
            'the estimate itself is not physical; applied is the nearest physical model, which '
            f'is {feasible.distance:.2f} standard deviations away (p = {feasible.p_value:.3f})'
        )
    if request.validation_data:
        physical = result.as_physical()
        validation = _validated(model, request.validation_data, physical, 'VALIDATION_FAILED')
        error = validation.against_measured.overall
        if not error <= request.max_relative_absolute_error:
            raise Refused(
                'VALIDATION_FAILED',
                f"relative absolute error on '{request.validation_data}' is {error:.3f}, at most "
                f'{request.max_relative_absolute_error:g} is allowed',
            )
    return result, remark


def _validated(
    model: ClosedChainModel, data: str, result: IdentificationResult, code: str
) -> Validation:
    try:
        return validate(load(data), result, model)
    except (DatasetError, EstimationError, KinematicsError) as error:
        raise Refused(code, str(error)) from error
