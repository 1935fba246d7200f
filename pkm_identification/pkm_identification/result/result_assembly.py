"""The result of an identification, put together from what its steps found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.drives import drive_mapping
from pkm_description.friction import load_factors
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import is_friction_law_parameter
from pkm_identification.arrays import Array
from pkm_identification.covariance.judgement import Judgement
from pkm_identification.datasets import Recording
from pkm_identification.quality.force_size import described_force_defects, force_limit_defects
from pkm_identification.quality.position_range import stroke_defects
from pkm_identification.quality.report import Defect, Quality
from pkm_identification.quality.stamps import slow_rate_defects
from pkm_identification.regression.preparation import ParameterOptions, Prepared
from pkm_identification.regression.solution import Solution
from pkm_identification.result import provenance
from pkm_identification.result.diagnostics import (
    DataDiagnostics,
    Delay,
    Diagnostics,
    ParameterDiagnostics,
)
from pkm_identification.result.drive_terms import DriveTermDiagnostics
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals
from pkm_identification.signals.noise import Noise

HEAD = 5_000  # samples at the beginning of a recording that is too long for memory
COMPARED = 500  # of them, whose forces are compared with the described ones


def assemble(
    model: ClosedChainModel,
    estimator: str,
    prepared: Prepared,
    solution: Solution,
    judgement: Judgement,
    left_out: Sequence[int],
    terms: DriveTermDiagnostics,
    options: Mapping[str, Any],
) -> IdentificationResult:
    """Put a result together; `left_out` are indices of the base parameters that it does without.

    `options` are those of `identify`, as they were given.
    """
    found, base = solution.estimate, solution.problem.base
    description = model.description
    names = list(base.names)
    constants = solution.force_constants
    root = found.guaranteed_root
    return IdentificationResult(
        names=names,
        values=solution.values,
        covariance=solution.covariance,
        units=list(base.units),
        expressions=list(base.expressions),
        estimator=estimator,
        matrix=base.matrix,
        columns=base.columns,
        parameter_names=list(model.parameter_names),
        consistent=judgement.consistent,
        joint_names=list(model.actuated_joints),
        residuals=judgement.residuals,
        residual_rms=judgement.residual_rms,
        robot=description.name,
        digest=description.digest,
        path=provenance.description_path(description),
        guaranteed=None
        if root is None
        else GuaranteedSet(solution.values, root, solution.problem.free),
        force_constants=constants or prepared.request.given_constants(model, len(names)),
        payloads=solution.payloads,
        drive_friction=solution.drive_friction,
        drive_terms=drive_mapping(description),
        load_friction=load_factors(description),
        load_parameters=model.load_parameters if len(model.load_friction) else None,
        unidentifiable_directions=solution.unidentifiable_directions,
        diagnostics=_diagnostics(model, prepared, solution, judgement, left_out, terms),
        provenance=provenance.Provenance(
            data=tuple(
                {key: each.provenance[key] for key in each.provenance if key != 'metadata'}
                for each in prepared.recordings
            ),
            recording=tuple(each.provenance.get('metadata', {}) for each in prepared.recordings),
            options=options,
            versions=provenance.versions(),
        ),
        residual_analysis=judgement.analysis,
        mechanism=model,
    )


def given_options(
    parameters: ParameterOptions, left_out: Sequence[str], fixed: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the options of the parameters that were given, as a file can say them."""
    given: dict[str, Any] = {
        'estimate': parameters['estimate'],
        'fixed': fixed,
        'prior': parameters['prior'],
        'left_out': list(left_out) or None,
    }
    prior = parameters['prior']
    if isinstance(prior, IdentificationResult):
        given['prior'] = {'estimator': prior.estimator, 'file': prior.file, **prior.provenance}
    return {name: value for name, value in given.items() if value is not None}


def _diagnostics(
    model: ClosedChainModel,
    prepared: Prepared,
    solution: Solution,
    judgement: Judgement,
    left_out: Sequence[int],
    terms: DriveTermDiagnostics,
) -> Diagnostics:
    found, fitted = solution.estimate, solution.fitted
    names = solution.problem.base.names
    undetermined = [fitted.names[i] for i in found.undetermined]
    signals = [run.signals for run in solution.problem.runs]
    delays: Sequence[Delay | None] = prepared.delays or [None] * len(signals)
    data = zip(prepared.recordings, prepared.data, signals, delays, strict=True)
    return Diagnostics(
        fit=solution.fit,
        condition=judgement.condition,
        force_errors=judgement.force_errors,
        residual_findings=judgement.findings,
        parameters=ParameterDiagnostics(
            undetermined=tuple(n for n in undetermined if not is_friction_law_parameter(n)),
            fixed=tuple(names[i] for i in solution.problem.selection.fixed if i < len(names)),
            equations=fitted.equations,
            degrees_of_freedom=fitted.degrees_of_freedom,
            left_out=tuple(names[i] for i in left_out),
            contradicted=judgement.contradicted,
        ),
        data=tuple(_of_recording(model, *each) for each in data),
        drive_terms=terms,
        is_physical=judgement.consistent.is_physical,
        violations=judgement.consistent.violations,
        warnings=(
            *prepared.outside,
            *_warnings(signals),
            *prepared.request.warnings,
            *found.warnings,
        ),
        own=found.diagnostics,
    )


def _warnings(several: Sequence[Signals]) -> list[str]:
    """Say what a user should know of the signals, and of which recording of several."""
    if len(several) == 1:
        return list(several[0].warnings)
    return [
        f'data {number}: {text}'
        for number, each in enumerate(several, start=1)
        for text in each.warnings
    ]


def _of_recording(
    model: ClosedChainModel,
    recording: Recording,
    data: Recording,
    signals: Signals,
    delay: Delay | None,
) -> DataDiagnostics:
    def deviations(noise: Noise | None) -> Array | None:
        return None if noise is None else np.sqrt(np.diag(noise.covariance))

    quality = signals.quality
    if quality is not None:
        for defect in _unlike_robot(model, data, signals, quality):
            quality = quality.with_defect(defect)
    force_noise = signals.force_noise
    return DataDiagnostics(
        recorded_description=provenance.recorded_description(recording, model.description.digest),
        signals=signals.diagnostics.to_dict(),
        quality=None if quality is None else quality.to_dict(),
        force_constant_deviation=data.effort_scale_deviation,
        delay=delay,
        force_noise=deviations(force_noise),
        force_noise_correlation=None if force_noise is None else force_noise.correlation,
        position_noise=deviations(signals.position_noise),
    )


def _unlike_robot(
    model: ClosedChainModel, data: Recording, signals: Signals, quality: Quality
) -> list[Defect]:
    """Find positions, forces and stamps that the described robot cannot have."""
    names, lower, upper = data.joint_names, np.asarray(model.lower), np.asarray(model.upper)
    found = stroke_defects(data.source, names, lower, upper)
    if signals.is_long:
        signals = replace(signals, samples=signals.samples.rows(slice(0, HEAD)))
    some = slice(None, None, max(len(signals) // COMPARED, 1))
    forces = signals.forces[some]
    if not any(each.kind == 'rate' for each in quality.defects):
        found += slow_rate_defects(data.interval, len(data))
    if data.effort_limits is not None:
        found += force_limit_defects(forces, names, data.effort_limits)
    described = model.inverse_dynamics(signals.motion(model, some))
    constants = np.asarray(model.force_constants)
    return found + described_force_defects(forces, described, names, constants)
