"""Validate a model file on a recording that it was not identified from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.option import Option
from pkm_identification.options import SIGNALS, VALIDATION, require_known
from pkm_identification.requests.identify_request import Progress, given
from pkm_identification.requests.refusal import Code, refusing
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult
from pkm_identification.validation.rollout import check_horizons
from pkm_identification.validation.validate import Validation, validate

VALID: dict[str, Option] = {option.name: option for option in (*VALIDATION, *SIGNALS)}


@dataclass(frozen=True)
class ValidateRequest:
    """Which model to validate on what; `Refused` with BAD_OPTION.

    `options` are `level`, `rollout` and those of the signals, by name; None is the default.
    """

    data: str
    model_file: str
    options: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)  # options of `load`

    def __post_init__(self) -> None:
        """Check the options."""
        with refusing(Code.BAD_OPTION):
            require_known('of validate', given(self.options), VALID)
            if not isinstance(self.options.get('rollout'), bool | None):
                check_horizons(self.options['rollout'])


def validate_on_recording(
    request: ValidateRequest, model: ClosedChainModel, progress: Progress | None = None
) -> Validation:
    """Compare prediction and recording; `Refused`: BAD_MODEL, WRONG_ROBOT or BAD_DATA."""
    report = progress or (lambda phase, fraction: None)
    result = load_model_file(request.model_file, model)
    with refusing(Code.BAD_DATA):
        report('reading the data', 0.0)
        recording = load(request.data, **request.loading)
        report('predicting', 0.3)
        return validate(recording, result, model, **given(request.options))


def load_model_file(path: str, model: ClosedChainModel) -> IdentificationResult:
    """Return the result in a model file of this robot, or refuse it (BAD_MODEL, WRONG_ROBOT)."""
    with refusing(Code.BAD_MODEL):
        result = load_result(path)
    with refusing(Code.WRONG_ROBOT):
        return result.with_model(model)
