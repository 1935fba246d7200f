"""One call from a dataset to an identified model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pkm_description import Payload
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.errors import DatasetError, KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_identification.covariance.judgement import judge
from pkm_identification.estimators.registry import WITH_FRICTION_LAWS, split_options
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.force_constants.force_constant_estimation import solve_with_force_constants
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.model_selection.friction_choice import (
    DriveModel,
    choose_drive_model,
    drive_term_diagnostics,
    estimator_with_laws,
    require_known_forces,
    why_no_laws,
    with_new_names,
)
from pkm_identification.model_selection.hidden_rotors import with_hidden_rotors
from pkm_identification.model_selection.term_selection import asked_for
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
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.selection import matching_names
from pkm_identification.regression.solution import Solution, solve_problem
from pkm_identification.result.drive_terms import TriedTerm
from pkm_identification.result.result import IdentificationResult
from pkm_identification.result.result_assembly import assemble, given_options
from pkm_identification.signals import SignalOptions


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
    _, own = split_options(estimator, options)
    _check(model, estimator, prior, friction)
    preparation = prepared_for_estimates(
        dataset,
        model,
        shared=shared,
        reduced=reduced,
        estimate=estimate,
        fixed=fixed,
        prior=prior,
        payloads=payloads,
        drive_gains=drive_gains,
        force_constants=force_constants,
        left_out=left_out,
        drive_terms=drive_terms,
        load_friction=load_friction,
        progress=progress,
        **{name: value for name, value in options.items() if name not in own},
    )
    return identify_prepared(preparation, estimator, friction=friction, progress=progress, **own)


@dataclass(frozen=True)
class Preparation:
    """Recordings that are ready for estimates, by one estimator after the other."""

    prepared: Prepared
    model: ClosedChainModel  # with the terms of the drives and the load friction that were given
    parameters: ParameterOptions
    left_out: list[str]
    given: Mapping[str, Any]  # options, as a file can say them
    # found once for all estimators: missing terms by joints with laws, drive models by what refused
    # laws to them
    _missing: dict[tuple[str, ...], TriedTerm | None] = field(default_factory=dict, init=False)
    _chosen: dict[str, DriveModel] = field(default_factory=dict, init=False)

    @cached_property
    def problem(self) -> Problem:
        """Problem of the robot as it is described, whose rows all estimates share."""
        return _problem(self.prepared, self.model, self.parameters)

    def problem_of(self, model: ClosedChainModel, parameters: ParameterOptions) -> Problem:
        """Problem of this model or of one with further terms."""
        if model is self.model and parameters is self.parameters:
            return self.problem
        return _problem(self.prepared, model, parameters)

    def asked_for(self, problem: Problem, with_laws: Sequence[str]) -> TriedTerm | None:
        """Term that the residuals of a problem ask for; none with unknown constants or payloads."""
        if not self.prepared.request.is_plain:
            return None
        if problem is not self.problem:
            return asked_for(problem, with_laws)
        if (key := tuple(with_laws)) not in self._missing:
            self._missing[key] = asked_for(problem, with_laws)
        return self._missing[key]

    def drive_model(self, refused: str) -> DriveModel:
        """Choose terms of the drives, with the errors of `choose_drive_model`."""
        if refused not in self._chosen:
            require_known_forces(self.prepared)
            self._chosen[refused] = choose_drive_model(self.problem, self.parameters, refused)
        return self._chosen[refused]


def prepared_for_estimates(
    dataset: Recordings,
    model: ClosedChainModel,
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
    progress: Progress | None = None,
    **signals: Any,
) -> Preparation:
    """Read recordings and choose their band; options and errors as of `identify`."""
    asked = {
        'drive_terms': drive_terms,
        'load_friction': load_friction,
        'drive_gains': drive_gains,
        'force_constants': force_constants,
    }
    for what in (name for name, value in asked.items() if value):
        refuse_redundant_actuation(model.description, what)
    report = progress or (lambda phase, fraction: None)
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
    options = SignalOptions(**signals)
    prepared = prepare(recordings, model, options, request, parameters, report)
    given = {
        'shared': shared,
        'reduced': reduced,
        **prepared.request.options,
        **given_options({**parameters, 'estimate': estimate}, without, fixed),
        **({'drive_terms': drive_terms} if drive_terms else {}),
        **({'load_friction': load_friction} if load_friction else {}),
        **signals,
    }
    return Preparation(prepared, model, parameters, without, given)


def identify_prepared(
    preparation: Preparation,
    estimator: str = 'wls',
    *,
    friction: str = DESCRIBED,
    progress: Progress | None = None,
    **own: Any,
) -> IdentificationResult:
    """Identify from recordings that are prepared.

    `friction`, `progress`, and what is returned and raised are as of `identify`, `own` are the
    options of the estimator.
    """
    report = progress or (lambda phase, fraction: None)
    prepared, model, parameters = preparation.prepared, preparation.model, preparation.parameters
    _check(model, estimator, parameters['prior'], friction)
    given = {
        **preparation.given,
        **({'friction': friction} if friction != DESCRIBED else {}),
        **own,
    }
    request, chosen = prepared.request, DriveModel()
    if friction == AUTO:
        report(Phase.CHOOSING, 0.1)
        refused = why_no_laws(estimator, own)
        chosen = preparation.drive_model(refused)
        extended = model.with_drive_terms(chosen.terms) if chosen.terms else model
        parameters = with_new_names(parameters, model, extended)
        model = extended
        estimator, own = estimator_with_laws(estimator, own, chosen)
        if chosen.without:
            fixed = {**parameters['fixed'], **dict.fromkeys(chosen.without, 0.0)}
            parameters = {**parameters, 'fixed': fixed}

    def solve(model: ClosedChainModel, parameters: ParameterOptions) -> Solution:
        report(Phase.BUILDING, 0.15)
        if not request.is_plain:
            report(Phase.ESTIMATING, 0.5)
            nominal = request.nominal_constants(prepared.data, model)
            return solve_with_force_constants(
                request, estimator, own, prepared.signals, model, nominal, parameters
            )
        problem = preparation.problem_of(model, parameters)
        report(Phase.ESTIMATING, 0.5)
        deviations = [each.effort_scale_deviation for each in prepared.data]
        laws = None if estimator in WITH_FRICTION_LAWS else chosen.laws
        return solve_problem(problem, estimator, own, deviations, laws)

    solution = solve(model, parameters)
    if request.is_plain:
        described = model
        model, solution = with_hidden_rotors(prepared, model, solution, parameters, solve)
        parameters = with_new_names(parameters, described, model)
    if len(model.load_friction):
        require_no_payload(request, model)
        model, solution = with_own_loads(model, solution, lambda loaded: solve(loaded, parameters))
    names = solution.problem.base.names
    open_ended = [
        i
        for name in (*preparation.left_out, *chosen.without)
        for i in matching_names(name, names, 'left_out')
    ]
    judgement = judge(solution, open_ended, report)
    terms = drive_term_diagnostics(solution, chosen, preparation.asked_for)
    report(Phase.DONE, 1.0)
    return assemble(model, estimator, prepared, solution, judgement, open_ended, terms, given)


def _problem(prepared: Prepared, model: ClosedChainModel, parameters: ParameterOptions) -> Problem:
    """Build a problem; where poses cannot be reached, say what may be the reason."""
    try:
        return build_problem(prepared.signals, model, **parameters)
    except KinematicsError as error:
        if not prepared.outside:
            raise
        raise DatasetError(f'{error}; {prepared.outside[0]}') from error


def _check(model: ClosedChainModel, estimator: str, prior: Prior, friction: str) -> None:
    """Refuse what cannot be estimated of a robot, or with such a prior."""
    if estimator not in WITH_FRICTION_LAWS:
        require_linear_friction(prior, estimator)
    FRICTION.check(friction)
    asked = {
        'friction auto': friction == AUTO,
        f'the estimator {estimator}': estimator in WITH_FRICTION_LAWS,
    }
    for what in (name for name, value in asked.items() if value):
        refuse_redundant_actuation(model.description, what)
