"""Compare estimators, or reduced models of a robot, on the same recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.reductions import find_reduction
from pkm_identification.estimators.estimator_options import estimators, require_estimator
from pkm_identification.model_selection.model_comparison import (
    Candidate,
    ModelLevel,
    compare_estimators,
    compare_models,
    divided,
)
from pkm_identification.options import THRESHOLD, check_options
from pkm_identification.requests.identify_request import Progress, given, load_all, resolved_options
from pkm_identification.requests.refusal import Code, Refused, refusing


@dataclass(frozen=True)
class CompareRequest:
    """What to compare on which recordings; `Refused` with UNKNOWN_ESTIMATOR or BAD_OPTION.

    Options, loading and threshold are as of `IdentifyRequest`; each estimator takes those of the
    options that it has.
    """

    data: Sequence[str]  # paths of recordings of one robot
    names: Sequence[str] = ()  # of estimators, or of reduced models; empty: all
    of_models: str = ''  # estimator that compares models; empty: estimators are compared
    # paths of recordings that are only predicted; empty: the last part of each recording is
    validation: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)
    threshold: float = THRESHOLD.default

    def __post_init__(self) -> None:
        """Check everything that can be checked without robot and recordings."""
        with refusing(Code.UNKNOWN_ESTIMATOR):
            for name in self.estimators:
                require_estimator(name)
        with refusing(Code.BAD_OPTION):
            check_options(self.estimators, given(self.options))
            THRESHOLD.check(self.threshold)

    @property
    def estimators(self) -> tuple[str, ...]:
        """Those that are used."""
        return (self.of_models,) if self.of_models else tuple(self.names or estimators())


def compare_on_recordings(
    request: CompareRequest, model: ClosedChainModel, progress: Progress | None = None
) -> list[Candidate]:
    """Identify by each candidate, which may fail; `Refused`: BAD_DATA, ESTIMATION_FAILED."""
    chosen = list(request.names) or None
    if request.of_models:
        with refusing(Code.BAD_OPTION):
            for name in request.names:
                find_reduction(model.description, ModelLevel.of(name).reduced)
    options = resolved_options(request.options, model)
    report = progress or (lambda phase, fraction: None)
    report('reading the data', 0.0)
    with refusing(Code.ESTIMATION_FAILED, data=Code.BAD_DATA):
        data = load_all(request.data, request.loading)
        held_out = load_all(request.validation, request.loading)
        if not held_out:
            data, held_out = divided(data)
        options |= {'validation': held_out, 'threshold': request.threshold, 'progress': progress}
        if request.of_models:
            return compare_models(data, model, request.of_models, levels=chosen, **options)
        return compare_estimators(data, model, chosen, **options)


def require_figures(found: Sequence[Candidate]) -> None:
    """Raise `Refused` with ESTIMATION_FAILED where no candidate has figures."""
    if all(candidate.result is None for candidate in found):
        failures = '; '.join(f'{candidate.name}: {candidate.error}' for candidate in found)
        raise Refused(Code.ESTIMATION_FAILED, failures)
