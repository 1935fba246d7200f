"""What the action `compare` of the estimation server does, without ROS communication."""

from __future__ import annotations

from typing import Any

import yaml

from pkm_description.errors import DatasetError, EstimationError, PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.reductions import find_reduction
from pkm_identification.datasets import load
from pkm_identification.estimators.registry import check_option_names, estimators, find_estimator
from pkm_identification.model_selection.identifiability import THRESHOLD, check_threshold
from pkm_identification.model_selection.model_comparison import (
    Candidate,
    Progress,
    check_compared_options,
    compare_estimators,
    compare_models,
)
from pkm_identification.requests.estimation import Refused, loading_options, parse_options
from pkm_identification.result.plain import plain
from pkm_identification.written_options import written_options


def compare_request(
    model: ClosedChainModel, request: Any, progress: Progress | None = None
) -> list[Candidate]:
    """Do what `Compare` asks for.

    Options are those of `identify` and of the estimators, each of which takes those that it
    has; `threshold` [%]; `load`, a mapping of options of `load`.

    Raises
    ------
    Refused
        With BAD_DATA, UNKNOWN_ESTIMATOR, BAD_OPTION, or ESTIMATION_FAILED where no candidate
        has figures.
    """
    names = list(request.name)
    _check_estimators([request.estimator] if request.estimator else names)
    options = parse_options(request.option_name, request.option_value)
    try:
        loading = loading_options(options)
        threshold = check_threshold(options.pop('threshold', THRESHOLD))
        if request.estimator:
            check_option_names(request.estimator, options)
            for name in names:
                find_reduction(model.description, name.removesuffix('+shared'))
        else:
            check_compared_options(names or estimators(), options)
        options = written_options(options, model)
    except PkmError as error:
        raise Refused('BAD_OPTION', str(error)) from error
    try:
        data = [load(path, **loading) for path in (request.data, *request.further_data)]
        further: dict[str, Any] = {
            'validation': [load(path, **loading) for path in request.validation],
            'threshold': threshold,
            'progress': progress,
            **options,
        }
        if request.estimator:
            found = compare_models(data, model, request.estimator, levels=names or None, **further)
        else:
            found = compare_estimators(data, model, names or None, **further)
    except DatasetError as error:
        raise Refused('BAD_DATA', str(error)) from error
    except PkmError as error:
        raise Refused('ESTIMATION_FAILED', str(error)) from error
    if all(candidate.result is None for candidate in found):
        failures = '; '.join(f'{candidate.name}: {candidate.error}' for candidate in found)
        raise Refused('ESTIMATION_FAILED', failures)
    return found


def fill_comparison(answer: Any, found: list[Candidate]) -> None:
    """Write the figures of all candidates into a `Compare.Result`."""
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


def _check_estimators(names: list[str]) -> None:
    for name in names:
        try:
            find_estimator(name)
        except EstimationError as error:
            raise Refused('UNKNOWN_ESTIMATOR', str(error)) from error


def _number(value: float | None) -> float:
    return float('nan') if value is None else float(value)
