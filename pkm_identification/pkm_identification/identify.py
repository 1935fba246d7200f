"""One call from a dataset to an identified model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description import Payload
from pkm_description.errors import DatasetError, KinematicsError
from pkm_dynamics.friction_laws import is_friction_law_parameter
from pkm_identification.covariance.residual_tests import analyse_residuals, condition_numbers
from pkm_identification.covariance.residuals import residual_rms, residuals_in_time, together
from pkm_identification.datasets import Recording
from pkm_identification.estimators.delay import Delay, with_estimated_delay
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.force_constants.calibrate import calibrate
from pkm_identification.force_constants.calibration_request import build_request
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.physical.nearest import Feasible, nearest_feasible
from pkm_identification.regression.prior import require_linear_friction
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.selection import matching_names
from pkm_identification.regression.solution import solve_problem
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.file import plain
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.provenance import (
    description_path,
    recorded_description,
    selection_options,
    versions,
)
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals, process
from pkm_identification.signals.noise import Noise
from pkm_identification.signals.signal_options import ESTIMATE

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]


def identify(
    dataset: Recording | Sequence[Recording],
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: IdentificationResult | Mapping[str, Any] | None = None,
    payloads: Sequence[Payload | Mapping[str, Any] | str | None] | None = None,
    drive_gains: DriveGains | bool | str = False,
    force_constants: IdentificationResult | ForceConstants | Mapping[str, float] | None = None,
    left_out: Sequence[str] | str = (),
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
    if estimator != 'nonlinear_friction':
        require_linear_friction(prior, estimator)
    signal_options, own = split_options(estimator, options)
    report('reading signals', 0.0)
    datasets = [dataset] if isinstance(dataset, Recording) else list(dataset)
    request = build_request(datasets, payloads, drive_gains, force_constants)
    data = request.forces_of(datasets, model)
    request = request.with_recorded_deviations(data, model, prior)
    without = [left_out] if isinstance(left_out, str) else list(left_out)
    parameters: dict[str, Any] = {
        'shared': shared,
        'reduced': reduced,
        'estimate': estimate,
        'prior': prior,
        'fixed': {**(fixed or {}), **dict.fromkeys(without, 0.0)},
    }
    delays: list[Delay] = []
    if signal_options.delay == ESTIMATE:
        report('estimating the delay', 0.02)
        for i, each in enumerate(data):
            data[i], found_delay = with_estimated_delay(each, model, signal_options, parameters)
            delays.append(found_delay)
        signal_options = replace(signal_options, delay=None)
    signals = [process(each, signal_options) for each in data]
    scales = [each.effort_scale_deviation for each in data]
    report('building the regressor', 0.15)
    calibrated = None
    outside = [text for each in data for text in each.stroke_warnings(model)]
    if request.is_plain:
        try:
            problem = build_problem(signals, model, **parameters)
        except KinematicsError as error:
            if not outside:
                raise
            raise DatasetError(f'{error}; {outside[0]}') from error
        report('estimating', 0.5)
        solution = solve_problem(problem, estimator, own, scales)
        problem = fitted = solution.problem or problem
    else:
        calibrated = calibrate(
            request,
            estimator,
            own,
            signals,
            model,
            request.nominal_constants(data, model),
            **parameters,
        )
        problem, fitted, solution = calibrated.problem, calibrated.fitted, calibrated.solution
        signals = [run.signals for run in problem.runs]
    found, values, covariance = solution.estimate, solution.values, solution.covariance
    names = list(problem.base.names)
    report('analysing the residuals', 0.7)
    in_time = residuals_in_time(problem, values, found.drive_friction)
    conditions = condition_numbers(fitted, found.noise or ())
    report('checking physical feasibility', 0.8)
    open_ended = [i for name in without for i in matching_names(name, problem.base.names, '')]
    feasible = _feasible(problem, found, values, _any_value(covariance, open_ended))
    report('done', 1.0)
    description = model.description
    digest = description.digest
    result = IdentificationResult(
        names=names,
        values=values,
        covariance=covariance,
        units=list(problem.base.units),
        expressions=list(problem.base.expressions),
        estimator=estimator,
        matrix=problem.base.matrix,
        columns=problem.base.columns,
        parameter_names=list(model.parameter_names),
        feasible=feasible,
        joint_names=list(model.actuated_joints),
        residuals=together(in_time),
        residual_rms=residual_rms(fitted, found.values),
        robot=description.name,
        digest=digest,
        path=description_path(description),
        guaranteed=(
            None
            if found.guaranteed_root is None
            else GuaranteedSet(values, found.guaranteed_root, problem.free)
        ),
        force_constants=calibrated.constants
        if calibrated is not None and calibrated.constants is not None
        else request.given_constants(model, len(names)),
        payloads=() if calibrated is None else calibrated.payloads,
        drive_friction=solution.drive_friction,
        open_directions=solution.open_directions,
        diagnostics=plain(
            {
                **solution.fit,
                'condition_number': found.condition_number
                if np.isfinite(found.condition_number)
                else conditions['condition_number_weighted'],
                **conditions,
                'undetermined': [
                    name
                    for name in (fitted.names[i] for i in found.undetermined)
                    if not is_friction_law_parameter(name)
                ],
                'fixed': [names[i] for i in problem.selection.fixed if i < len(names)],
                'equations': fitted.equations,
                'degrees_of_freedom': fitted.degrees_of_freedom,
                'left_out': [names[i] for i in open_ended],
                'recorded_description': _one_or_list(
                    [recorded_description(each, digest) for each in datasets]
                ),
                'is_physical': feasible.is_physical,
                'violations': feasible.violations,
                'warnings': outside
                + [text for each in signals for text in each.warnings]
                + request.warnings
                + list(found.diagnostics.get('warnings', [])),
                'signals': _one_or_list([each.diagnostics.to_dict() for each in signals]),
                'quality': _one_or_list(
                    [None if each.quality is None else each.quality.to_dict() for each in signals]
                ),
                'force_constant_deviation': _one_or_list(scales),
                **({'delay': _one_or_list([asdict(each) for each in delays])} if delays else {}),
                **_measured_noise(signals),
                **{k: v for k, v in found.diagnostics.items() if k != 'warnings'},
            }
        ),
        provenance=plain(
            {
                'data': _one_or_list(
                    [
                        {k: v for k, v in each.provenance.items() if k != 'metadata'}
                        for each in datasets
                    ]
                ),
                'recording': _one_or_list(
                    [each.provenance.get('metadata', {}) for each in datasets]
                ),
                'options': {
                    'shared': shared,
                    'reduced': reduced,
                    **request.options,
                    **selection_options(estimate, fixed, prior, without),
                    **options,
                },
                'versions': versions(),
            }
        ),
        residual_analysis=analyse_residuals(fitted, found, in_time),
    )
    return result.with_model(model)


def _any_value(covariance: Array, indices: Sequence[int]) -> Array:
    """Covariance in which some parameters may have any value."""
    if not indices:
        return covariance
    changed = covariance.copy()
    changed[indices], changed[:, indices] = 0.0, 0.0
    changed[indices, indices] = np.inf
    return changed


def _feasible(problem: Problem, found: Estimate, values: Array, covariance: Array) -> Feasible:
    """Return the physical standard parameters of the estimate itself, else the nearest ones."""
    if found.standard_parameters is None:
        return nearest_feasible(values, covariance, problem.base, problem.model)
    return Feasible(
        standard_parameters=np.asarray(found.standard_parameters),
        distance=0.0,
        p_value=1.0,
        is_physical=True,
        violations=(),
    )


def _one_or_list(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _measured_noise(signals: Sequence[Signals]) -> dict[str, Any]:
    """Standard deviations and correlation of the noise that the periods show."""

    def deviations(noise: Noise | None) -> Array | None:
        return None if noise is None else np.sqrt(np.diag(noise.covariance))

    force = [each.force_noise for each in signals]
    return {
        'force_noise': _one_or_list([deviations(noise) for noise in force]),
        'force_noise_correlation': _one_or_list(
            [None if noise is None else noise.correlation for noise in force]
        ),
        'position_noise': _one_or_list([deviations(each.position_noise) for each in signals]),
    }
