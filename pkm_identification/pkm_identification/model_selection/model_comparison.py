"""Estimators, or models of different size, on the same data: one row each.

What one of them cannot do is its row's error; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import LAWS, LINEAR
from pkm_dynamics.parameters.reductions import find_reduction, reduced_models
from pkm_identification.datasets import Recording
from pkm_identification.estimators.estimator_options import estimators, require_estimator
from pkm_identification.estimators.registry import SIGNAL_OPTIONS
from pkm_identification.identification import Preparation, identify_prepared, prepared_for_estimates
from pkm_identification.model_selection.identifiability import Identifiability, identifiability
from pkm_identification.options import (
    AUTO,
    ESTIMATORS,
    FRICTION,
    THRESHOLD,
    check_options,
    names,
    options_of,
)
from pkm_identification.regression.preparation import Phase, Progress, Recordings, several
from pkm_identification.result.diagnostics import Diagnostics
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import SignalOptions
from pkm_identification.validation.validate import (
    ExaminedData,
    Validation,
    examined_for,
    validate,
    validate_examined,
)

OF_LAWS, USUAL_LAW = 'nonlinear_friction', 'stribeck'  # its default law
WITH_AUTO = ('wls', 'feasible')  # the plain estimator, and that of real bodies
HELD_OUT = 0.2  # of a recording
HARDLY = 0.01  # share of an error, or of a period, that makes no difference
LARGEST_CONDITION = 1e16  # a larger condition number is rounding
_Key = frozenset[tuple[str, int]]  # names of options, and identities of their values
TRANSFERRED = ('method', 'cutoff', 'bad_samples', 'clock')  # signal options that suit other motions


@dataclass(frozen=True)
class Candidate:
    """One estimator, or one model, on the data."""

    name: str  # of the estimator or of the model
    options: Mapping[str, Any]  # that it was identified with
    result: IdentificationResult | None = None  # None where it failed
    identifiability: Identifiability | None = None  # likewise
    validations: tuple[Validation, ...] = ()  # one a held-out recording, but for those that failed
    own: Validation | None = None  # on the (first) recording that it was identified from
    seconds: float = float('nan')  # of the estimate itself, without signals and regressor
    error: str = ''  # why it failed
    extra: Mapping[str, Any] = field(default_factory=dict)  # figures known before

    def row(self) -> dict[str, Any]:
        """Return the figures as plain numbers; None where there are none.

        Errors are relative absolute errors [M 33]: `error` on the data that were identified
        from, `held_out` on others, `held_out_truth` against noise-free forces in the band;
        `parameter_error` is eps_AV [M 34] against the parameters of a simulated robot.
        """
        row: dict[str, Any] = {'name': self.name, 'failure': self.error or None, **self.extra}
        result, found = self.result, self.identifiability
        if result is None or found is None:
            return row
        in_band = [each.against_truth_in_band for each in self.validations]
        coverages = [each.coverage for each in self.validations]
        determined = found.is_determined
        relative = found.relative[determined]
        row |= {
            'parameters': int(np.count_nonzero(found.is_estimated)),
            'proper': found.count,
            'undetermined': int(np.count_nonzero(found.is_estimated & ~determined)),
            'largest_relative_standard_deviation': float(relative.max()) if relative.size else None,
            'median_relative_standard_deviation': (
                float(np.median(relative)) if relative.size else None
            ),
            'is_physical': result.is_physical,
            'condition_number': _condition(result.diagnostics),
            'seconds': self.seconds,
            'error': None if self.own is None else self.own.against_measured.overall,
            'held_out': _mean(v.against_measured.overall for v in self.validations),
            'held_out_truth': _mean(v.overall for v in in_band if v),
            'coverage': _mean(v.measured_overall for v in coverages if v),
        }
        for validation in (*self.validations, self.own):
            if validation is not None and validation.parameter_error is not None:
                row['parameter_error'] = validation.parameter_error.average
                row['median_parameter_error'] = validation.parameter_error.median
                break
        return row


def compare_estimators(
    dataset: Recordings,
    model: ClosedChainModel,
    names: Sequence[str] | None = None,
    *,
    validation: Recordings = (),
    threshold: float = THRESHOLD.default,
    progress: Progress | None = None,
    **options: Any,
) -> list[Candidate]:
    """Identify by several estimators from the same data.

    Parameters
    ----------
    dataset, model
        As for `identify`.
    names
        Estimators; all that there are by default.
    validation
        Recordings that are only predicted.
    threshold
        Largest relative standard deviation [%] of a properly identified parameter.
    progress
        Called with what is done and the fraction done; may raise to stop.
    **options
        Of `identify`, of the signals, and of the estimators: each takes those that it has.

    Raises
    ------
    EstimationError
        An estimator is unknown, or an option that none of them has.
    """
    chosen = list(estimators() if names is None else dict.fromkeys(names))
    for name in chosen:
        require_estimator(name)
    check_options(chosen, options)
    jobs = [
        _Job(name, name, {k: v for k, v in options.items() if k in options_of((name,))})
        for name in chosen
    ]
    if names is None and 'law' not in options:
        jobs += [_with_law(jobs, law) for law in LAWS if law not in (LINEAR, USUAL_LAW)]
    if names is None and FRICTION.name not in options:
        jobs += [_with_auto(each) for each in jobs if each.name in WITH_AUTO]
    return _run(jobs, several(dataset), several(validation), model, threshold, progress)


def _with_law(jobs: Sequence[_Job], law: str) -> _Job:
    """Return the job of the estimator of friction laws with another law."""
    job = next(each for each in jobs if each.estimator == OF_LAWS)
    return job._replace(name=f'{OF_LAWS} law={law}', options={**job.options, 'law': law})


def _with_auto(job: _Job) -> _Job:
    """Return a job with the terms of the drives that the data ask for."""
    name = f'{job.name} {FRICTION.name}={AUTO}'
    return job._replace(name=name, options={**job.options, FRICTION.name: AUTO})


def divided(recordings: Sequence[Recording]) -> tuple[list[Recording], list[Recording]]:
    """Divide each recording into one to identify from and a last fifth, or period, to predict.

    One with a payload, or of a single period, is kept whole.
    """
    used, held_out = [], []
    for each in recordings:
        cut = _cut(each)
        if cut is None:
            used.append(each)
            continue
        used.append(each.between(0.0, cut))
        held_out.append(each.between(cut))
    return used, held_out


def _cut(recording: Recording) -> float | None:
    """Time [s] at which a recording is divided; None where it is kept whole."""
    period, duration = recording.period, recording.duration
    if recording.payload is not None:
        return None
    if period is None:
        return (1 - HELD_OUT) * duration
    periods = int((duration + recording.interval) / period + HARDLY)
    if periods < 2:
        return None
    return (periods - max(1, int(HELD_OUT * periods))) * period - 0.5 * recording.interval


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the candidate with the least error on held-out data; None where there is none.

    Of those whose error is hardly larger, one whose estimate belongs to real bodies.
    """
    errors = {
        number: row['held_out']
        for number, row in enumerate(candidate.row() for candidate in candidates)
        if row.get('held_out') is not None and np.isfinite(row['held_out'])
    }
    if not errors:
        return None
    least = min(errors.values())
    good = [number for number, error in errors.items() if error <= (1 + HARDLY) * least]
    good.sort(key=lambda number: errors[number])
    physical = [number for number in good if candidates[number].row()['is_physical']]
    return candidates[(physical or good)[0]]


def compare_models(
    dataset: Recordings,
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    levels: Sequence[str] | None = None,
    validation: Recordings = (),
    threshold: float = THRESHOLD.default,
    progress: Progress | None = None,
    **options: Any,
) -> list[Candidate]:
    """Identify the reduced models of a robot from the same data [M Table 6].

    Parameters
    ----------
    dataset, model, estimator, validation, threshold, progress, **options
        As for `compare_estimators`.
    levels
        Names of reduced models of the description; by default all that it declares, else
        `full` and `geometry`, and one with the parameters of each design shared. A name
        with `+shared` behind it shares these.

    Raises
    ------
    EstimationError
        There is no such model, or no such option.
    """
    require_estimator(estimator)
    check_options((estimator,), options)
    declared = reduced_models(model.description)
    if levels is None:
        own = [name for name in declared if name not in ('full', 'geometry')]
        chosen = own or ['full', 'geometry']
        if model.description.same_design and not any(declared[name].shared for name in chosen):
            chosen = [*chosen, 'geometry+shared']
    else:
        chosen = list(dict.fromkeys(levels))
    jobs = []
    for name in chosen:
        level = ModelLevel.of(name)
        find_reduction(model.description, level.reduced)  # says which there are
        base = model.base_parameters(**level._asdict())
        extra = {'rigid_body': int(base.is_rigid_body.sum())}
        jobs.append(_Job(name, estimator, {**options, **level._asdict()}, extra))
    return _run(jobs, several(dataset), several(validation), model, threshold, progress)


class ModelLevel(NamedTuple):
    """A reduced model by its name, and whether it shares the parameters of each design."""

    reduced: str
    shared: bool

    @classmethod
    def of(cls, text: str) -> ModelLevel:
        """Read `name` or `name+shared`."""
        return cls(text.removesuffix('+shared'), text.endswith('+shared'))


class _Job(NamedTuple):
    """An identification, and figures of its row that are known before."""

    name: str
    estimator: str
    options: dict[str, Any]
    extra: Mapping[str, Any] = {}


def _run(
    jobs: Sequence[_Job],
    used: list[Recording],
    held_out: list[Recording],
    model: ClosedChainModel,
    threshold: float,
    progress: Progress | None,
) -> list[Candidate]:
    report = progress or (lambda phase, fraction: None)
    found, shared = [], _Shared(used, model)
    for number, job in enumerate(jobs):

        def step(phase: str, fraction: float, name: str = job.name, number: int = number) -> None:
            report(f'{name}: {phase}', (number + fraction) / len(jobs))

        found.append(_candidate(job, shared, held_out, threshold, step))
    report(Phase.DONE, 1.0)
    return found


class _Shared:
    """What is made once for all jobs with the same options of data and model.

    Options are the same objects for all jobs, so that their identity tells them apart.
    """

    def __init__(self, used: list[Recording], model: ClosedChainModel) -> None:
        self.used = used
        self.model = model
        self._prepared: dict[_Key, Preparation] = {}
        self._examined: dict[tuple[int, _Key], ExaminedData] = {}

    def prepared(self, options: Mapping[str, Any], progress: Progress) -> Preparation:
        """Return the recordings that are estimated from."""
        key = _key(options)
        if key not in self._prepared:
            made = prepared_for_estimates(self.used, self.model, progress=progress, **options)
            self._prepared[key] = made
        return self._prepared[key]

    def validate(
        self, recording: Recording, result: IdentificationResult, options: Mapping[str, Any]
    ) -> Validation:
        """Predict a recording, which is examined once but for results with force constants."""
        if result.force_constants is not None:
            return validate(recording, result, self.model, **options)
        key = id(recording), _key(options)
        if key not in self._examined:
            made = examined_for(recording, result, self.model, SignalOptions(**options))
            self._examined[key] = made
        return validate_examined(self._examined[key], result, self.model)


def _key(options: Mapping[str, Any]) -> _Key:
    return frozenset((name, id(value)) for name, value in options.items())


def _candidate(
    job: _Job, shared: _Shared, held_out: list[Recording], threshold: float, report: Progress
) -> Candidate:
    moments: dict[str, float] = {}

    def progress(phase: str, fraction: float) -> None:
        moments[phase] = time.perf_counter()
        report(phase, 0.8 * fraction)

    own = {*names(ESTIMATORS[job.estimator]), FRICTION.name}
    estimate = {key: value for key, value in job.options.items() if key in own}
    data = {key: value for key, value in job.options.items() if key not in own}
    signals = {key: value for key, value in job.options.items() if key in SIGNAL_OPTIONS}
    elsewhere = {key: value for key, value in signals.items() if key in TRANSFERRED}
    try:
        preparation = shared.prepared(data, progress)
        result = identify_prepared(preparation, job.estimator, progress=progress, **estimate)
        seconds = moments[Phase.ANALYSING] - moments[Phase.ESTIMATING]
        first = shared.used[0]
        fit = None if first.payload is not None else shared.validate(first, result, signals)
        judged = identifiability(result, shared.model, threshold)
    except (PkmError, ArithmeticError, ValueError, TypeError, np.linalg.LinAlgError) as error:
        text = ' '.join(str(error).split())
        text = text if isinstance(error, PkmError) else f'{type(error).__name__}: {text}'
        return Candidate(job.name, job.options, error=text, extra=job.extra)
    report('validating', 0.9)
    validations, failures = [], []
    for each in held_out:
        try:
            validations.append(shared.validate(each, result, elsewhere))
        except PkmError as error:
            failures.append(f'validation: {error}')
    errors, predicted = '; '.join(failures), tuple(validations)
    return Candidate(
        job.name, job.options, result, judged, predicted, fit, seconds, errors, job.extra
    )


def _condition(diagnostics: Diagnostics) -> float | None:
    """Condition number, infinite where it is beyond what double precision tells."""
    if diagnostics.condition is None:
        return None
    value = diagnostics.condition.condition_number
    return value if value < LARGEST_CONDITION else float('inf')


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
