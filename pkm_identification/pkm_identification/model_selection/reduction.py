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
from pkm_identification.datasets import Recording
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.identification import identify
from pkm_identification.model_selection.friction_choice import (
    DriveModel,
    choose_drive_model,
    with_new_names,
)
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
from pkm_identification.options import AUTO, DESCRIBED, FRICTION, THRESHOLD
from pkm_identification.regression.load_iteration import with_own_loads
from pkm_identification.regression.preparation import (
    ParameterOptions,
    Prepared,
    Progress,
    Recordings,
    prepare,
    several,
)
from pkm_identification.regression.prior import Prior
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.selection import matching_names
from pkm_identification.regression.solution import Solution, solve_problem
from pkm_identification.result.fields import plain
from pkm_identification.result.result import IdentificationResult, check_level
from pkm_identification.signals import SignalOptions, Signals
from pkm_identification.signals.bands import FilterBand
from pkm_identification.signals.process import examine
from pkm_identification.signals.signal_options import ESTIMATE

HELD_AT = ('zero', 'nominal')
APART = ('payloads', 'drive_gains', 'force_constants', 'left_out')  # of `identify`, not of this
WITHOUT_LAWS = 'friction laws were not tried: a reduction drops base parameters, and laws are none'
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
    friction: str = DESCRIBED,
    load_friction: Mapping[str, float] | Sequence[str] | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Reduction:
    """Reduce a model to the parameters that the data identify properly.

    Parameters
    ----------
    dataset, model, estimator, shared, reduced, estimate, fixed, prior, drive_terms
        As for `identify`; so are `load_friction` and `options`.
    friction
        `auto` takes the terms of the drives that the data ask for before anything is dropped, but
        no friction laws: their shapes are those of all parameters, and they are none of them.
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
    FRICTION.check(friction)
    if drive_terms:
        model = model.with_drive_terms(drive_terms)
    if load_friction:
        model = model.with_load_friction(load_friction)
    signal_options, own = split_options(estimator, options)
    report('reading signals', 0.0)
    datasets = several(dataset)
    for each in (*datasets, *several(validation)):
        if each.payload is not None:
            raise EstimationError(
                f'{each.provenance.get("source", "dataset")} was recorded with a payload '
                f"('{each.payload.name}'); a model is reduced on data of the robot without one"
            )
    parameters = ParameterOptions(
        shared=shared, reduced=reduced, estimate=estimate, fixed=fixed or {}, prior=prior
    )
    request = build_request(datasets, None, False)
    prepared = prepare(datasets, model, signal_options, request, parameters, report)
    chosen = DriveModel()
    if friction == AUTO:
        report('choosing terms of the drives', 0.05)
        described = build_problem(prepared.signals, model, **parameters)
        chosen = choose_drive_model(described, parameters, WITHOUT_LAWS)
        extended = model.with_drive_terms(chosen.terms) if chosen.terms else model
        parameters = with_new_names(parameters, model, extended)
        model = extended
    if len(model.load_friction):  # steps whose loads are those of the description drop other ones

        def solve(loaded: ClosedChainModel) -> Solution:
            return solve_problem(
                build_problem(prepared.signals, loaded, **parameters), estimator, own
            )

        model, _ = with_own_loads(model, solve(model), solve)
    problem = build_problem(prepared.signals, model, **parameters)
    base = problem.base
    names = list(base.names)
    patterns = [keep] if isinstance(keep, str) else list(keep)
    kept = {names[i] for pattern in patterns for i in matching_names(pattern, names, 'keep')}
    report('predicting', 0.1)
    pairs = zip(datasets, prepared.signals, strict=True)
    own_data = [build_held_out(each, signals, model, base) for each, signals in pairs]
    held_out = [
        build_held_out(each, _signals_like(prepared, each, model, signal_options), model, base)
        for each in several(validation)
    ]
    signs = possible_signs(base, model)
    rules = Rules(estimator, own, signs, threshold, kept, held_at, significance)
    steps, dropped, left = drop_parameters(problem, rules, own_data, held_out, report)
    report('identifying what is left', 0.9)
    without = dropped if held_at == 'zero' else []
    held = {name: value for name, value in held_values(left).items() if name not in without}
    options |= {'shared': shared, 'reduced': reduced, 'prior': prior, 'drive_terms': drive_terms}
    options['load_friction'] = load_friction
    result = identify(dataset, model, estimator, fixed=held, left_out=without, **options)
    known = result.diagnostics
    left_parameters = replace(known.parameters, dropped=tuple(dropped))
    warnings = (*known.warnings, *_warnings(steps[-1], significance))
    terms = replace(known.drive_terms, tried_terms=chosen.tried, refused=chosen.refused)
    known = replace(known, parameters=left_parameters, warnings=warnings, drive_terms=terms)
    given = {**result.provenance.options, **({'friction': friction} if friction == AUTO else {})}
    provenance = replace(result.provenance, options=given)
    result = replace(result, diagnostics=known, provenance=provenance)
    values, relative = np.asarray(result.values), result.relative_standard_deviation
    found = Identifiability(names, values, relative, signs, is_free(left), threshold)
    report('done', 1.0)
    return Reduction(tuple(steps), tuple(dropped), result, found, held_at)


def _signals_like(
    prepared: Prepared, data: Recording, model: ClosedChainModel, options: SignalOptions
) -> Signals:
    """Signals of a recording that is predicted, filtered as those that are estimated from."""
    if options.delay == ESTIMATE:
        options = replace(options, delay=None)
    examined = examine(data.for_model(model), options)
    bands = [each.band.cutoff for each in prepared.signals if isinstance(each.band, FilterBand)]
    if examined.period is None and bands:
        options = replace(options, cutoff=max(bands))
    return examined.signals(options)


def _warnings(last: ReductionStep, significance: float | None) -> list[str]:
    """Say where certainty alone has dropped what the data show."""
    if significance is not None or last.p_value >= NOTICED:
        return []
    return [
        f'the residuals show what was dropped: their variance has grown {last.variance_ratio:.3g} '
        f'times (p = {last.p_value:.1g}). Uncertain parameters are not zero for that; '
        'significance=0.01 keeps those that matter'
    ]
