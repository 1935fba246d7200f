"""From recordings to signals that a problem is built of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypedDict

import numpy as np

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.datasets import Recording
from pkm_identification.estimators.delay import estimate_delay
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.regression.band_choice import choose_band, mean_period, pieces_of
from pkm_identification.regression.prior import Prior
from pkm_identification.regression.selection import Selection, build_selection
from pkm_identification.result.diagnostics import Delay
from pkm_identification.signals import SignalOptions, Signals
from pkm_identification.signals.process import Examined, examine
from pkm_identification.signals.signal_options import ESTIMATE
from pkm_identification.signals.signals import BandChoice, PeriodicDiagnostics

Progress = Callable[[str, float], None]
Recordings = Recording | Sequence[Recording]


def several(recordings: Recordings) -> list[Recording]:
    """Return one or several recordings as a list."""
    return [recordings] if isinstance(recordings, Recording) else list(recordings)


class Phase(str, Enum):
    """Phases of an identification, as its progress names them."""

    READING = 'reading signals'
    BAND = 'choosing the band'
    DELAY = 'estimating the delay'
    CHOOSING = 'choosing terms of the drives'
    BUILDING = 'building the regressor'
    ESTIMATING = 'estimating'
    ANALYSING = 'analysing the residuals'
    CHECKING = 'checking physical feasibility'
    DONE = 'done'

    __str__ = str.__str__


class ParameterOptions(TypedDict):
    """Which parameters a problem has; see `identify` and `build_problem`."""

    shared: bool
    reduced: bool | str
    estimate: Sequence[str] | str | None
    fixed: Mapping[str, Any]
    prior: Prior


@dataclass(frozen=True)
class Prepared:
    """What a problem is built of."""

    recordings: list[Recording]  # as they were given
    data: list[Recording]  # the same in the model's joint order, with forces, delays and constants
    signals: list[Signals]  # one a recording
    request: ForceConstantRequest  # payloads and force constants
    delays: list[Delay]  # where they were estimated
    outside: list[str]  # warnings of positions outside the strokes


def prepare(
    recordings: list[Recording],
    model: ClosedChainModel,
    options: SignalOptions,
    request: ForceConstantRequest,
    parameters: ParameterOptions,
    report: Progress,
) -> Prepared:
    """Convert currents, estimate the delay where that is asked for, and process the signals.

    DatasetError or EstimationError where recordings or options do not fit the robot.
    """
    data = request.forces_of(recordings, model)
    request = request.with_recorded_deviations(data, model, parameters['prior'])
    delays: list[Delay] = []
    ready = _ready(data, model, options, parameters, report)
    if options.delay == ESTIMATE:
        report(Phase.DELAY, 0.05)
        for i, (each, own) in enumerate(zip(data, ready, strict=True)):
            delays.append(estimate_delay(each, model, own.options, **parameters))
            data[i] = each.with_delay(delays[-1].value)
        ready = _ready(data, model, replace(options, delay=None), parameters, report)
    signals = [each.signals() for each in ready]
    outside = [text for each in data for text in each.stroke_warnings(model)]
    return Prepared(recordings, data, signals, request, delays, outside)


@dataclass(frozen=True)
class _Ready:
    """A recording with the band that its signals are made in."""

    examined: Examined
    options: SignalOptions
    choice: BandChoice | None

    def signals(self) -> Signals:
        found = self.examined.signals(self.options)
        return replace(found, diagnostics=replace(found.diagnostics, band_choice=self.choice))


def _ready(
    data: Sequence[Recording],
    model: ClosedChainModel,
    options: SignalOptions,
    parameters: ParameterOptions,
    report: Progress,
) -> list[_Ready]:
    """Examine recordings; choose one cutoff for the filtered ones, and one for the periodic ones.

    Periods that only the data tell count where all recordings have one: motions that come back
    about the same are averaged to less than they tell.

    Harmonics are those that stand out of the noise, unless these are worse than fewer.
    """
    if options.delay == ESTIMATE:
        options = replace(options, delay=None)
    examined = [examine(each, options) for each in data]
    if any(each.period is None for each in examined):  # recordings of one model are treated alike
        examined = [each.in_time() for each in examined]
    filtered = [each for each in examined if each.period is None]
    periodic = [each for each in examined if each.period is not None]
    choice = series = None
    usual: dict[Examined, int] = {}
    if filtered and options.cutoff is None:
        report(Phase.BAND, 0.02)
        problem = (model, *_selected(model, parameters), options)
        choice = choose_band(pieces_of([each.recording for each in filtered]), *problem)
    if periodic and options.harmonics is None:
        report(Phase.BAND, 0.02)
        usual = {each: _harmonics(each, options) for each in periodic}
        series = _choose_harmonics(usual, model, *_selected(model, parameters), options)
    found = []
    for each in examined:
        own, own_choice = options, choice if each.period is None else series
        if own_choice is not None and each.period is None:
            own = replace(options, cutoff=own_choice.cutoff)
        elif own_choice is not None and each.period is not None:
            most = max(1, round(own_choice.cutoff * each.period))
            own = replace(options, harmonics=min(most, usual[each]))
        found.append(_Ready(each, own, own_choice))
    return found


def _selected(
    model: ClosedChainModel, parameters: ParameterOptions
) -> tuple[BaseParameters, Selection]:
    """Base parameters, and which of them are estimated."""
    base = model.base_parameters(shared=parameters['shared'], reduced=parameters['reduced'])
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    selection = build_selection(base.names, nominal, parameters['estimate'], parameters['fixed'])
    return base, selection


def _choose_harmonics(
    usual: Mapping[Examined, int],
    model: ClosedChainModel,
    base: BaseParameters,
    selection: Selection,
    options: SignalOptions,
) -> BandChoice | None:
    """Choose the highest frequency of Fourier series with so many harmonics by the noise.

    None where a period is too short.
    """
    pieces = [mean_period(each.recording, each.averaged) for each in usual]
    highest = max(count / (each.period or 1.0) for each, count in usual.items())
    in_time = replace(options, method='filter', period=None, skip_periods=None)
    return choose_band(pieces, model, base, selection, in_time, highest)


def _harmonics(examined: Examined, options: SignalOptions) -> int:
    """Harmonics that stand out of the noise."""
    found = examined.signals(options).diagnostics
    assert isinstance(found, PeriodicDiagnostics)
    return found.harmonics
