"""Identify a robot, or reduce its model, from recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pkm_description.errors import EstimationError, ModelFileError
from pkm_description.untrusted.named_files import allowed
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.estimators.estimator_options import require_estimator
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.identification import identify
from pkm_identification.model_selection.identifiability import Identifiability, identifiability
from pkm_identification.model_selection.reduction import Reduction, reduce_model
from pkm_identification.option import Option
from pkm_identification.options import LOAD, REDUCTION, THRESHOLD, check_options, names
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.result.reading import load_result
from pkm_identification.result.result import IdentificationResult

Progress = Callable[[str, float], None]
RECORDED = 'recorded'  # payload: the one that the recording names


@dataclass(frozen=True)
class IdentifyRequest:
    """What to identify from which recordings.

    `options` of `identify`, of the signals and of the estimator, by name; None is the default.
    `prior` and `force_constants` may be paths of model files, `drive_gains` a mapping of the
    fields of `DriveGains`, a payload the text `recorded`. A wrong request raises `Refused` with
    UNKNOWN_ESTIMATOR, BAD_OPTION or CANNOT_WRITE.
    """

    data: Sequence[str]  # paths of recordings of one robot
    estimator: str = 'wls'
    options: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)  # options of `load`
    threshold: float = THRESHOLD.default  # [%] of a properly identified parameter
    output: str = ''  # model file to write; empty: none
    further_options: ClassVar[tuple[Option, ...]] = ()  # besides those of `identify`

    def __post_init__(self) -> None:
        """Check everything that can be checked without the recordings."""
        with refusing(Code.UNKNOWN_ESTIMATOR):
            require_estimator(self.estimator)
        with refusing(Code.BAD_OPTION):
            check_options((self.estimator,), given(self.options), self.further_options)
            THRESHOLD.check(self.threshold)
        if self.output:
            with refusing(Code.CANNOT_WRITE):
                allowed(self.output)
        if self.output and Path(self.output).exists():
            raise Refused(
                Code.CANNOT_WRITE, f"'{self.output}' exists already and is not overwritten"
            )


@dataclass(frozen=True)
class ReduceRequest(IdentifyRequest):
    """As `IdentifyRequest`; `options` also hold those of a reduction.

    These are `validation` (paths of recordings that are only predicted), `keep`, `held_at` and
    `significance`.
    """

    further_options: ClassVar[tuple[Option, ...]] = REDUCTION


@dataclass(frozen=True)
class Identified:
    """An identified model and what is known of its parameters."""

    result: IdentificationResult
    identifiability: Identifiability
    reduction: Reduction | None = None  # the steps to it, where the model was reduced


def identify_recordings(
    request: IdentifyRequest, model: ClosedChainModel, progress: Progress | None = None
) -> Identified:
    """Identify from recordings and write the model file that is asked for.

    Raises `Refused` with BAD_DATA, BAD_OPTION, ESTIMATION_FAILED or CANNOT_WRITE.
    """
    options = resolved_options(request.options, model)
    reduction_options = {key: options.pop(key) for key in names(REDUCTION) if key in options}
    report = progress or (lambda phase, fraction: None)
    report('reading the data', 0.0)
    with refusing(Code.ESTIMATION_FAILED, data=Code.BAD_DATA):
        compares = isinstance(request, ReduceRequest)
        data = load_all(request.data, {'truth': compares, **request.loading})
        if 'payloads' in options:
            options['payloads'] = _payloads(options['payloads'], data)
        if isinstance(request, ReduceRequest):
            held_out = load_all(reduction_options.pop('validation', ()), request.loading)
            options |= {**reduction_options, 'validation': held_out, 'progress': progress}
            reduction = reduce_model(
                data, model, request.estimator, threshold=request.threshold, **options
            )
            result = reduction.result
        else:
            reduction = None
            result = identify(data, model, request.estimator, progress=progress, **options)
        found = Identified(result, identifiability(result, model, request.threshold), reduction)
    if request.output:
        with refusing(Code.CANNOT_WRITE):
            result.save(request.output)
    return found


def load_all(paths: Sequence[str] | str, loading: Mapping[str, Any]) -> list[Any]:
    """Return the recordings of some paths."""
    return [load(path, **loading) for path in ([paths] if isinstance(paths, str) else paths)]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None, which is the default of each."""
    return {name: value for name, value in options.items() if value is not None}


def resolved_options(options: Mapping[str, Any], model: ClosedChainModel) -> dict[str, Any]:
    """Return options as `identify` takes them, files read; `Refused` with BAD_OPTION."""
    found = given(options)
    with refusing(Code.BAD_OPTION):
        try:
            for name in ('prior', 'force_constants'):
                if isinstance(found.get(name), str):
                    found[name] = load_result(found[name], model)
            name = 'drive_gains'
            if isinstance(found.get(name), dict):
                found[name] = DriveGains(**found[name])
        except (ModelFileError, TypeError) as error:
            raise EstimationError(f"option '{name}': {error}") from error
    return found


def loading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `load` out of all options of a request."""
    found = options.pop(LOAD, None) or {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise Refused(
            Code.BAD_OPTION,
            f"option '{LOAD}' must be a mapping of options of `load`, such as "
            f'{{effort_unit: A, joints: {{theirs: ours}}}}, not {found!r}',
        )
    return found


def _payloads(asked: Sequence[Any], data: Sequence[Any]) -> list[Any]:
    """Return payloads with those that the recordings name in place of `recorded`."""
    if len(asked) != len(data):
        return list(asked)  # `identify` says what is wrong
    return [
        each.payload if isinstance(payload, str) and payload == RECORDED else payload
        for payload, each in zip(asked, data, strict=True)
    ]
