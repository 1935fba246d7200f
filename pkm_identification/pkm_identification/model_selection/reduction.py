"""Stepwise reduction to the properly identified parameters [M 5.3, 6.2]; METHODS section 6.

What the data do not determine goes first, then the parameter with the largest relative
standard deviation, one at a time; the rest is estimated anew each time, until all that
are left are properly identified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.identification import identify
from pkm_identification.model_selection.identifiability import (
    Identifiability,
    check_threshold,
    possible_signs,
)
from pkm_identification.model_selection.reduction_steps import (
    ReductionStep,
    Rules,
    build_held_out,
    drop_parameters,
    held_values,
    is_free,
)
from pkm_identification.options import THRESHOLD
from pkm_identification.regression.preparation import Progress, Recordings, several
from pkm_identification.regression.prior import Prior
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.selection import matching_names
from pkm_identification.result.fields import plain
from pkm_identification.result.result import IdentificationResult, check_level
from pkm_identification.signals import process

HELD_AT = ('zero', 'nominal')
APART = ('payloads', 'drive_gains', 'force_constants', 'left_out')  # of `identify`, not of this
NOTICED = 1e-3  # chance of such a growth of the residuals below which it is said
CALIBRATE_FIRST = 'calibrate first, then reduce data with the force constants found'


@dataclass(frozen=True)
class Reduction:
    """A model that was reduced step by step.

    Attributes
    ----------
    steps
        Estimates, the first of all parameters, the last of those that are left.
    dropped
        Names, in the order of their dropping.
    result
        Identification of the parameters that are left; the others are held. Its verdict
        on physical bodies is about those that are left.
    identifiability
        Of the result.
    held_at
        `zero` or `nominal`: where dropped parameters are held.
    """

    steps: tuple[ReductionStep, ...]
    dropped: tuple[str, ...]
    result: IdentificationResult
    identifiability: Identifiability
    held_at: str

    @property
    def kept(self) -> list[str]:
        """Names of the parameters that are left."""
        known = self.identifiability.is_estimated
        return [name for name, is_known in zip(self.result.names, known, strict=True) if is_known]

    def rows(self) -> list[dict[str, Any]]:
        """Return the steps as plain numbers."""
        return [plain(dict(vars(step))) for step in self.steps]


def reduce_model(
    dataset: Recordings,
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    threshold: float = THRESHOLD.default,
    validation: Recordings = (),
    keep: Sequence[str] | str = (),
    held_at: str = 'zero',
    significance: float | None = None,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: Prior = None,
    drive_terms: Mapping[str, Any] | Sequence[str] | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Reduction:
    """Reduce a model to the parameters that the data identify properly.

    Parameters
    ----------
    dataset, model, estimator, shared, reduced, estimate, fixed, prior, drive_terms, **options
        As for `identify`.
    threshold
        Largest relative standard deviation [%] of a properly identified parameter.
    validation
        Recordings that are only predicted, to see what the reduction costs.
    keep
        Names or patterns of parameters that are never dropped.
    held_at
        Dropped parameters are left out of the model (`zero`, as [M]) or stay at the
        values of the description (`nominal`).
    significance
        What makes the residuals grow significantly when it is dropped is essential and
        stays, however uncertain (F-test of each step at this level, for example 0.01).
        None: certainty alone decides [M].
    progress
        Called with what is done and the fraction done; may raise to stop.

    Raises
    ------
    DatasetError, EstimationError
        As `identify`; or a choice is not valid.
    """
    check_threshold(threshold)
    for name in APART:
        if options.get(name):
            raise EstimationError(
                f"a reduction does not go with '{name}': "
                + ('keep= and fixed= say what stays' if name == 'left_out' else CALIBRATE_FIRST)
            )
    options = {name: value for name, value in options.items() if name not in APART}
    if held_at not in HELD_AT:
        raise EstimationError(f"held_at must be {' or '.join(HELD_AT)}, not '{held_at}'")
    if significance is not None:
        check_level(significance)
    report = progress or (lambda phase, fraction: None)
    find_estimator(estimator)
    if drive_terms:
        model = model.with_drive_terms(drive_terms)
    signal_options, own = split_options(estimator, options)
    report('reading signals', 0.0)
    datasets = several(dataset)
    for each in (*datasets, *several(validation)):
        if each.payload is not None:
            raise EstimationError(
                f'{each.provenance.get("source", "dataset")} was recorded with a payload '
                f"('{each.payload.name}'); a model is reduced on data of the robot without one"
            )
    signals = [process(each.for_model(model), signal_options) for each in datasets]
    common: dict[str, Any] = {'shared': shared, 'reduced': reduced, 'prior': prior}
    problem = build_problem(signals, model, estimate=estimate, fixed=fixed, **common)
    base = problem.base
    names = list(base.names)
    patterns = [keep] if isinstance(keep, str) else list(keep)
    kept = {names[i] for pattern in patterns for i in matching_names(pattern, names, 'keep')}
    report('predicting', 0.1)
    own_data, held_out = (
        [build_held_out(each, model, base, signal_options) for each in group]
        for group in (datasets, several(validation))
    )
    signs = possible_signs(base, model)
    rules = Rules(estimator, own, signs, threshold, kept, held_at, significance)
    steps, dropped, left = drop_parameters(problem, rules, own_data, held_out, report)
    report('identifying what is left', 0.9)
    without = dropped if held_at == 'zero' else []
    held = {name: value for name, value in held_values(left).items() if name not in without}
    options |= {**common, 'drive_terms': drive_terms}
    result = identify(dataset, model, estimator, fixed=held, left_out=without, **options)
    known = result.diagnostics
    parameters = replace(known.parameters, dropped=tuple(dropped))
    warnings = (*known.warnings, *_warnings(steps[-1], significance))
    known = replace(known, parameters=parameters, warnings=warnings)
    result = replace(result, diagnostics=known)
    values, relative = np.asarray(result.values), result.relative_standard_deviation
    found = Identifiability(names, values, relative, signs, is_free(left), threshold)
    report('done', 1.0)
    return Reduction(tuple(steps), tuple(dropped), result, found, held_at)


def _warnings(last: ReductionStep, significance: float | None) -> list[str]:
    """Say where certainty alone has dropped what the data show."""
    if significance is not None or last.p_value >= NOTICED:
        return []
    return [
        f'the residuals show what was dropped: their variance has grown {last.variance_ratio:.3g} '
        f'times (p = {last.p_value:.1g}). Uncertain parameters are not zero for that; '
        'significance=0.01 keeps those that matter'
    ]
