"""What the services of the estimation server do, without ROS communication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.errors import DatasetError, EstimationError, ModelFileError, PkmError
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.estimators.registry import (
    SIGNAL_OPTIONS,
    check_option_names,
    find_estimator,
)
from pkm_identification.identify import Progress, identify
from pkm_identification.model_selection.identifiability import (
    THRESHOLD,
    check_threshold,
    identifiability,
)
from pkm_identification.model_selection.reduction import reduce_model
from pkm_identification.result.plain import plain
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import SignalOptions
from pkm_identification.validation.figures import check_level
from pkm_identification.validation.rollout import check_horizons
from pkm_identification.validation.validate import Validation, validate
from pkm_identification.written_options import (
    check_written_names,
    check_written_signals,
    option_value,
    written_options,
)

REDUCTION_OPTIONS = ('validation', 'keep', 'held_at', 'significance')
REPORT_OPTIONS = ('threshold', 'level')
VALIDATION_OPTIONS = ('level', 'rollout')
LOADING = 'load'  # option that holds those of `pkm_identification.load`
NOTICED = 0.01  # relative difference of force constants
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
            options[name] = option_value(text)
        except yaml.YAMLError as error:
            raise Refused('BAD_OPTION', f"option '{name}': '{text}' is not YAML") from error
    return options


def identify_request(
    model: ClosedChainModel, request: Any, progress: Progress | None = None
) -> tuple[IdentificationResult, str]:
    """Do what `Identify` or `IdentifyWithProgress` asks for.

    Options are those of `identify`; `threshold` [%] and `level` of the report; `load`, a
    mapping of options of `load`; with `reduce`, also `validation` (paths), `keep`, `held_at`
    and `significance` of `reduce_model`.

    Returns
    -------
    result, report
        The report is YAML.

    Raises
    ------
    Refused
        With BAD_DATA, UNKNOWN_ESTIMATOR, BAD_OPTION, ESTIMATION_FAILED or CANNOT_WRITE.
    """
    try:
        find_estimator(request.estimator)
    except EstimationError as error:
        raise Refused('UNKNOWN_ESTIMATOR', str(error)) from error
    options = parse_options(request.option_name, request.option_value)
    try:
        loading = loading_options(options)
        reduction, report = _split_request(request.estimator, options)
        options = written_options(options, model)
    except EstimationError as error:
        raise Refused('BAD_OPTION', str(error)) from error
    if request.output and Path(request.output).exists():
        raise Refused('CANNOT_WRITE', f"'{request.output}' exists already and is not overwritten")
    try:
        data = [load(path, **loading) for path in (request.data, *request.further_data)]
        if reduction is not None:
            held_out = [load(path, **loading) for path in _paths(reduction.pop('validation', []))]
            reduced = reduce_model(
                data,
                model,
                request.estimator,
                validation=held_out,
                progress=progress,
                threshold=report['threshold'],
                **reduction,
                **options,
            )
            result = reduced.result
            report['reduction'] = reduced.rows()
        else:
            result = identify(data, model, request.estimator, progress=progress, **options)
        text = identification_report(result, model, **report)
    except DatasetError as error:
        raise Refused('BAD_DATA', str(error)) from error
    except PkmError as error:
        raise Refused('ESTIMATION_FAILED', str(error)) from error
    if request.output:
        try:
            result.save(request.output)
        except ModelFileError as error:
            raise Refused('CANNOT_WRITE', str(error)) from error
    return result, text


def _split_request(
    estimator: str, options: dict[str, Any]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Take the options of a reduction (None without one) and of the report out of all options.

    Raises
    ------
    EstimationError
        An option is unknown or has no such value.
    """
    is_reduced = options.pop('reduce', False)
    if not isinstance(is_reduced, bool):
        raise EstimationError(f"option 'reduce' must be true or false, not {is_reduced!r}")
    own = REDUCTION_OPTIONS if is_reduced else ()
    check_option_names(estimator, options, (*own, *REPORT_OPTIONS, LOADING, 'reduce'))
    report = {
        'threshold': check_threshold(options.pop('threshold', THRESHOLD)),
        'level': check_level(options.pop('level', 0.95)),
    }
    if not is_reduced:
        return None, report
    reduction = {name: options.pop(name) for name in REDUCTION_OPTIONS if name in options}
    reduction = {name: value for name, value in reduction.items() if value is not None}
    check_written_names(reduction, 'keep')
    if 'significance' in reduction:
        check_level(reduction['significance'])
    return reduction, report


def loading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `load` out of all options."""
    found = options.pop(LOADING, None) or {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise EstimationError(
            f"option '{LOADING}' must be a mapping of options of `load`, such as "
            f'{{effort_unit: A, joints: {{theirs: ours}}}}, not {found!r}'
        )
    return found


def _paths(given: Any) -> list[str]:
    paths = [given] if isinstance(given, str) else given
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise EstimationError(f"option 'validation' must be paths of recordings, not {given!r}")
    return paths


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


def identification_report(
    result: IdentificationResult,
    model: ClosedChainModel,
    threshold: float = THRESHOLD,
    level: float = 0.95,
    **further: Any,
) -> str:
    """Say as YAML what a result holds beside its parameters."""
    found = identifiability(result, model, threshold)
    content = {
        **result.diagnostics,
        'residual_analysis': [entry.to_mapping() for entry in result.residual_analysis],
        'strongest_correlations': result.strongest_correlations(),
        'confidence_intervals': dict(
            zip(result.names, result.confidence_interval(level), strict=True)
        ),
        'identifiability': found.rows(),
        'properly_identified': found.count,
        'provenance': result.provenance,
        **further,
    }
    return yaml.safe_dump(plain(content), sort_keys=False)


def validate_request(model: ClosedChainModel, request: Any) -> Validation:
    """Do what `Validate` asks for.

    Raises
    ------
    Refused
        With BAD_DATA, BAD_MODEL, WRONG_ROBOT or BAD_OPTION.
    """
    options = parse_options(request.option_name, request.option_value)
    valid = (*VALIDATION_OPTIONS, *SIGNAL_OPTIONS, LOADING)
    for name in options:
        if name not in valid:
            raise Refused(
                'BAD_OPTION', f"unknown option '{name}' of validate; valid are {', '.join(valid)}"
            )
    result = load_model_file(request.model, model)
    try:
        loading = loading_options(options)
        check_written_signals(options)
        SignalOptions(**{name: options[name] for name in options if name in SIGNAL_OPTIONS})
        check_level(options.get('level', 0.95))
        if not isinstance(options.get('rollout'), bool | None):
            check_horizons(options['rollout'])
    except (EstimationError, TypeError, ValueError) as error:
        raise Refused('BAD_OPTION', str(error)) from error
    return _validated(model, request.data, result, 'BAD_DATA', options, loading)


def validation_report(validation: Validation) -> str:
    """Say as YAML what a validation found."""
    return yaml.safe_dump(validation.summary(), sort_keys=False)


def applicable_model(model: ClosedChainModel, request: Any) -> tuple[IdentificationResult, str]:
    """Return the model that `ApplyModel` may send to the controller, and a remark.

    Raises
    ------
    Refused
        With BAD_MODEL, WRONG_ROBOT, NOT_PHYSICAL or VALIDATION_FAILED.
    """
    result = load_model_file(request.model, model)
    remarks = _constants_remark(result, model)
    if not result.is_physical:
        consistent = result.consistent
        if not consistent.p_value > LEAST_P_VALUE:
            raise Refused(
                'NOT_PHYSICAL',
                f"'{request.model}' is not physical ({'; '.join(consistent.violations)}) and the "
                f'nearest physical model contradicts the data (p = {consistent.p_value:.1e})',
            )
        remarks.append(
            'the estimate itself is not physical; applied is the nearest physical model, which '
            f'is {consistent.distance:.2f} standard deviations away (p = {consistent.p_value:.3f})'
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
    return result, '; '.join(remarks)


def _constants_remark(result: IdentificationResult, model: ClosedChainModel) -> list[str]:
    """Say where a model rests on other force constants than those of the description."""
    if result.force_constants is None:
        return []
    own = result.force_constants.by_joint
    described = zip(model.actuated_joints, np.asarray(model.force_constants).tolist(), strict=True)
    given = {name: value for name, value in described if name in own}
    off = {name: abs(value / own[name] - 1) for name, value in given.items()}
    worst = max(off, key=lambda name: off[name], default='')
    if not worst or not off[worst] > NOTICED:
        return []
    return [
        f"the model rests on force constants unlike the description's ('{worst}': "
        f'{own[worst]:.4g}, described {given[worst]:.4g}): a controller that makes currents with '
        'the latter is off by as much; put the former into the description'
    ]


def _validated(
    model: ClosedChainModel,
    data: str,
    result: IdentificationResult,
    code: str,
    options: Mapping[str, Any] | None = None,
    loading: Mapping[str, Any] | None = None,
) -> Validation:
    try:
        return validate(load(data, **(loading or {})), result, model, **(options or {}))
    except PkmError as error:
        raise Refused(code, str(error)) from error
