"""One call from a dataset to an identified model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pkm_description import Payload
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.errors import DatasetError, KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_identification.covariance.judgement import judge
from pkm_identification.estimators.registry import WITH_FRICTION_LAWS, find_estimator, split_options
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.force_constants.force_constant_estimation import solve_with_force_constants
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.model_selection.friction_choice import (
    DriveModel,
    choose_drive_model,
    drive_term_diagnostics,
    estimator_with_laws,
    why_no_laws,
    with_new_names,
)
from pkm_identification.model_selection.hidden_rotors import with_hidden_rotors
from pkm_identification.options import AUTO, DESCRIBED, FRICTION
from pkm_identification.regression.load_iteration import require_no_payload, with_own_loads
from pkm_identification.regression.preparation import (
    ParameterOptions,
    Phase,
    Prepared,
    Progress,
    Recordings,
    prepare,
    several,
)
from pkm_identification.regression.prior import Prior, require_linear_friction
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.selection import matching_names
from pkm_identification.regression.solution import Solution, solve_problem
from pkm_identification.result.result import IdentificationResult
from pkm_identification.result.result_assembly import assemble, given_options


def identify(
    dataset: Recordings,
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: Prior = None,
    payloads: Sequence[Payload | Mapping[str, Any] | str | None] | None = None,
    drive_gains: DriveGains | bool | str = False,
    force_constants: IdentificationResult | ForceConstants | Mapping[str, float] | None = None,
    left_out: Sequence[str] | str = (),
    drive_terms: Mapping[str, Any] | Sequence[str] | str | None = None,
    load_friction: Mapping[str, float] | Sequence[str] | str | None = None,
    friction: str = DESCRIBED,
    progress: Progress | None = None,
    **options: Any,
) -> IdentificationResult:
    """Identify the base parameters of a mechanism.

    Parameters
    ----------
    dataset
        Measured positions with efforts or currents; joints are matched by name. Several
        recordings of one robot are processed each by itself, with its own period and noise,
        and estimated from together.
    model
        The mechanism.
    estimator
        `ls`, `wls`, `gauss_markov`, ... (see `estimators()`).
    shared
        Links and joints of one design share their parameters.
    reduced
        Leave parameters out that the description declares zero; a name is one of
        the description's `reduced_models`.
    estimate
        Names or patterns (`*.viscous`) of the base parameters to estimate; the others are
        fixed at their nominal values.
    fixed
        By name or pattern: value, (value, standard deviation), or None for the nominal
        value. The deviations enter the covariance of the result, with what they make
        uncertain in the estimated parameters.
    prior
        What is known before: an earlier result, or (value, standard deviation) by name.
    payloads
        Body fixed to the platform in each dataset: `Payload`, its mapping or YAML text, or
        None; by default what the datasets name. What is not known of it is estimated.
    drive_gains
        True or a `DriveGains`: force constants are estimated from the currents, together
        with the rest. Their common factor needs a known payload, a constant or a parameter
        that is known; without any, its variance is infinite.
    force_constants
        By joint [N/A, N m/A], or a result in which they were estimated: they count before
        those of data and description, as exact.
    left_out
        Names or patterns of base parameters that the model does without: held at zero,
        while the verdict on physical bodies lets them have any value.
    drive_terms
        Forces of the drives by position that the description does not have: offset, spring,
        force ripple, as of `pkm_description.with_drive_terms` (`'leg3_strut:ripple(0.06,2)'`).
        The result's `model` has them, and its model file.
    load_friction
        Names or patterns of joints whose friction grows with their load, where the description
        does not say so, as of `pkm_description.with_load_friction` (`'leg*_strut'`). The loads
        are those of the estimate itself: it is repeated until they settle.
    friction
        `described`: what description and `drive_terms` say. `auto`: also offsets, springs,
        rotors, force ripple and friction laws of the drives that the data ask for, chosen step
        by step by held-out error and F test; `diagnostics.drive_terms` has the table.
    progress
        Called with the phase and the fraction done; may raise to stop.
    **options
        Of the signals (`SignalOptions`: method, period, harmonics, cutoff,
        skip_periods) and of the estimator.

    Returns
    -------
    IdentificationResult
        Its covariance rests on the noise that the spread over periods shows (else on the
        residuals). Where the residuals are larger than that noise explains, the model
        lacks something: the covariance then follows the residuals, frequency by
        frequency; `diagnostics['covariance_scale']` tells how much wider that is.

    Raises
    ------
    DatasetError
        Joints, units or values do not fit the robot.
    EstimationError
        Unknown estimator, option or parameter, or the data do not suffice.
    """
    report = progress or (lambda phase, fraction: None)
    find_estimator(estimator)
    if estimator not in WITH_FRICTION_LAWS:
        require_linear_friction(prior, estimator)
    signal_options, own = split_options(estimator, options)
    FRICTION.check(friction)
    asked = {
        'drive_terms': drive_terms,
        'load_friction': load_friction,
        'drive_gains': drive_gains,
        'force_constants': force_constants,
        'friction auto': friction == AUTO,
        f'the estimator {estimator}': estimator in WITH_FRICTION_LAWS,
    }
    for what in (name for name, value in asked.items() if value):
        refuse_redundant_actuation(model.description, what)
    model = model.with_drive_terms(drive_terms) if drive_terms else model
    model = model.with_load_friction(load_friction) if load_friction else model
    report(Phase.READING, 0.0)
    recordings = several(dataset)
    request = build_request(recordings, payloads, drive_gains, force_constants)
    without = [left_out] if isinstance(left_out, str) else list(left_out)
    held = {**(fixed or {}), **dict.fromkeys(without, 0.0)}
    parameters = ParameterOptions(
        shared=shared, reduced=reduced, estimate=estimate, fixed=held, prior=prior
    )
    prepared = prepare(recordings, model, signal_options, request, parameters, report)
    chosen = DriveModel()
    if friction == AUTO:
        report(Phase.CHOOSING, 0.1)
        refused = why_no_laws(estimator, own)
        chosen = choose_drive_model(prepared, model, parameters, refused)
        extended = model.with_drive_terms(chosen.terms) if chosen.terms else model
        parameters = with_new_names(parameters, model, extended)
        model = extended
        estimator, own = estimator_with_laws(estimator, own, chosen)
        parameters['fixed'] = {**held, **dict.fromkeys(chosen.without, 0.0)}
    solution = _solve(prepared, model, estimator, own, parameters, chosen, report)
    if prepared.request.is_plain:
        described = model
        model, solution = with_hidden_rotors(
            prepared,
            model,
            solution,
            parameters,
            lambda wider, named: _solve(prepared, wider, estimator, own, named, chosen, report),
        )
        parameters = with_new_names(parameters, described, model)
    if len(model.load_friction):
        require_no_payload(prepared.request, model)
        settings = (estimator, own, parameters, chosen, report)
        model, solution = with_own_loads(
            model, solution, lambda loaded: _solve(prepared, loaded, *settings)
        )
    names = solution.problem.base.names
    open_ended = [
        i for name in (*without, *chosen.without) for i in matching_names(name, names, 'left_out')
    ]
    judgement = judge(solution, open_ended, report)
    terms = drive_term_diagnostics(prepared, solution, chosen)
    report(Phase.DONE, 1.0)
    given = {
        'shared': shared,
        'reduced': reduced,
        **prepared.request.options,
        **given_options({**parameters, 'estimate': estimate}, without, fixed),
        **({'drive_terms': drive_terms} if drive_terms else {}),
        **({'load_friction': load_friction} if load_friction else {}),
        **({'friction': friction} if friction != DESCRIBED else {}),
        **options,
    }
    return assemble(model, estimator, prepared, solution, judgement, open_ended, terms, given)


def _solve(
    prepared: Prepared,
    model: ClosedChainModel,
    estimator: str,
    own: Mapping[str, Any],
    parameters: ParameterOptions,
    chosen: DriveModel,
    report: Progress,
) -> Solution:
    """Build the problem and estimate, with unknown force constants and payloads if need be."""
    report(Phase.BUILDING, 0.15)
    request, data = prepared.request, prepared.data
    if not request.is_plain:
        report(Phase.ESTIMATING, 0.5)
        nominal = request.nominal_constants(data, model)
        return solve_with_force_constants(
            request, estimator, own, prepared.signals, model, nominal, parameters
        )
    try:
        problem = build_problem(prepared.signals, model, **parameters)
    except KinematicsError as error:
        if not prepared.outside:
            raise
        raise DatasetError(f'{error}; {prepared.outside[0]}') from error
    report(Phase.ESTIMATING, 0.5)
    deviations = [each.effort_scale_deviation for each in data]
    laws = None if estimator in WITH_FRICTION_LAWS else chosen.laws
    return solve_problem(problem, estimator, own, deviations, laws)
