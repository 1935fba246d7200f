"""From recordings to signals that a problem is built of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypedDict

from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording
from pkm_identification.estimators.delay import estimate_delay
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.regression.prior import Prior
from pkm_identification.result.diagnostics import Delay
from pkm_identification.signals import SignalOptions, Signals, process
from pkm_identification.signals.signal_options import ESTIMATE

Progress = Callable[[str, float], None]
Recordings = Recording | Sequence[Recording]


def several(recordings: Recordings) -> list[Recording]:
    """Return one or several recordings as a list."""
    return [recordings] if isinstance(recordings, Recording) else list(recordings)


class Phase(str, Enum):
    """Phases of an identification, as its progress names them."""

    READING = 'reading signals'
    DELAY = 'estimating the delay'
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
    if options.delay == ESTIMATE:
        report(Phase.DELAY, 0.02)
        for i, each in enumerate(data):
            delays.append(estimate_delay(each, model, options, **parameters))
            data[i] = each.with_delay(delays[-1].value)
        options = replace(options, delay=None)
    signals = [process(each, options) for each in data]
    outside = [text for each in data for text in each.stroke_warnings(model)]
    return Prepared(recordings, data, signals, request, delays, outside)
