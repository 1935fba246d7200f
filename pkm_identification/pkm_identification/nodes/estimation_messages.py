"""Messages of the estimation server as requests, and answers as messages."""

from __future__ import annotations

from typing import Any

import yaml

from pkm_identification.model_selection.model_comparison import Candidate
from pkm_identification.options import LEVEL, REDUCE, THRESHOLD, written_options
from pkm_identification.requests.apply_request import ApplyRequest
from pkm_identification.requests.compare_request import CompareRequest, require_figures
from pkm_identification.requests.identify_request import (
    Identified,
    IdentifyRequest,
    ReduceRequest,
    loading_options,
)
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.requests.validate_request import ValidateRequest
from pkm_identification.result.fields import plain
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.validate import Validation
from pkm_msgs.msg import DynamicParameters
from pkm_msgs.srv import ApplyModel, Validate


def read_options(message: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a message, whose values are YAML, and those of loading."""
    names, values = list(message.option_name), list(message.option_value)
    if len(names) != len(values):
        raise Refused(Code.BAD_OPTION, f'{len(names)} option names but {len(values)} values')
    with refusing(Code.BAD_OPTION):
        options = written_options(zip(names, values, strict=True))
    return options, loading_options(options)


def read_identify(message: Any) -> tuple[IdentifyRequest, float]:
    """Return the request of an `Identify` or `IdentifyWithProgress`, and the report's level."""
    options, loading = read_options(message)
    is_reduced, level, threshold = (
        options.pop(option.name, option.default) for option in (REDUCE, LEVEL, THRESHOLD)
    )
    with refusing(Code.BAD_OPTION):
        REDUCE.check(is_reduced)
        LEVEL.check(level)
    kind = ReduceRequest if is_reduced else IdentifyRequest
    data = (message.data, *message.further_data)
    return kind(data, message.estimator, options, loading, threshold, message.output), level


def read_compare(message: Any) -> CompareRequest:
    """Return the request of a `Compare`."""
    options, loading = read_options(message)
    threshold = options.pop(THRESHOLD.name, THRESHOLD.default)
    data = (message.data, *message.further_data)
    what = (list(message.name), message.estimator, list(message.validation))
    return CompareRequest(data, *what, options, loading, threshold)


def read_validate(message: Validate.Request) -> ValidateRequest:
    """Return the request of a `Validate`."""
    options, loading = read_options(message)
    return ValidateRequest(message.data, message.model, options, loading)


def read_apply(message: ApplyModel.Request) -> ApplyRequest:
    """Return the request of an `ApplyModel`."""
    return ApplyRequest(
        message.model,
        message.validation_data,
        message.max_relative_absolute_error,
        message.waive_validation,
    )


def fill_identified(answer: Any, result: IdentificationResult, report: str) -> None:
    """Write parameters, residuals and report of an identification."""
    answer.parameters = to_message(result)
    answer.residual_rms = result.residual_rms.tolist()
    answer.diagnostics = report


def fill_validation(answer: Validate.Response, found: Validation) -> None:
    """Write the figures of a validation."""
    answer.name = list(found.joint_names)
    errors = found.against_measured
    answer.relative_absolute_error = errors.relative_absolute_error.tolist()
    answer.relative_absolute_error_overall = errors.overall
    answer.residual_rms = errors.residual_rms.tolist()
    if found.noise_test is not None:
        answer.variance_ratio = found.noise_test.variance_ratio.tolist()
        answer.is_unbiased = found.noise_test.is_unbiased.tolist()
    coverage = None if found.coverage is None else found.coverage.measured_overall
    answer.coverage = _number(coverage)
    answer.report = yaml.safe_dump(found.summary(), sort_keys=False)


def fill_comparison(answer: Any, found: list[Candidate]) -> None:
    """Write the figures of all candidates; `Refused` where none has any."""
    require_figures(found)
    rows = [candidate.row() for candidate in found]
    answer.name = [row['name'] for row in rows]
    answer.failure = [row['failure'] or '' for row in rows]
    answer.parameters = [int(row.get('parameters') or 0) for row in rows]
    answer.proper = [int(row.get('proper') or 0) for row in rows]
    answer.relative_absolute_error = [_number(row.get('error')) for row in rows]
    answer.held_out_error = [_number(row.get('held_out')) for row in rows]
    answer.is_physical = [bool(row.get('is_physical')) for row in rows]
    answer.seconds = [_number(row.get('seconds')) for row in rows]
    answer.report = yaml.safe_dump(plain({'rows': rows}), sort_keys=False)


def identification_report(found: Identified, level: float) -> str:
    """Say as YAML what an identification found beside the parameters."""
    result, known = found.result, found.identifiability
    content = {
        **result.diagnostics,
        'residual_analysis': result.residual_analysis,
        'strongest_correlations': result.strongest_correlations(),
        'confidence_intervals': dict(
            zip(result.names, result.confidence_interval(level), strict=True)
        ),
        'expressions': dict(zip(result.names, result.expressions, strict=True)),
        'identifiability': known.rows(),
        'properly_identified': known.count,
        'provenance': result.provenance,
    }
    if found.reduction is not None:
        content['reduction'] = found.reduction.rows()
    return yaml.safe_dump(plain(content), sort_keys=False)


def to_message(result: IdentificationResult) -> DynamicParameters:
    """Return the message that a controller takes; the stamp is left to the sender.

    Friction of the drives that is not linear stands among the standard parameters.
    """
    parameters = result.controller_parameters
    return DynamicParameters(
        robot=result.robot,
        description_digest=result.digest,
        estimator=result.estimator,
        name=result.names,
        unit=result.units,
        value=result.values.tolist(),
        covariance=result.covariance.ravel().tolist(),
        standard_name=list(parameters),
        standard_value=list(parameters.values()),
        is_physical=result.is_physical,
    )


def _number(value: float | None) -> float:
    return float('nan') if value is None else float(value)
