"""From a recording to the motion and forces that an estimator uses."""

from __future__ import annotations

from pkm_description.errors import DatasetError, EstimationError
from pkm_identification.datasets import Recording
from pkm_identification.quality.examine import FEWEST_SAMPLES, examined
from pkm_identification.signals.averaging import average
from pkm_identification.signals.filtered import filtered_signals
from pkm_identification.signals.period_search import find_period, refined_period
from pkm_identification.signals.periodic import periodic_signals
from pkm_identification.signals.signal_options import ESTIMATE, IN_TIME, SignalOptions
from pkm_identification.signals.signals import Signals


def process(recording: Recording, options: SignalOptions | None = None) -> Signals:
    """Find motion and forces in a recording that has efforts, as `Recording.for_model` returns it.

    One that is too long for memory is read in blocks. Choices are by default made from the data. An
    `EstimationError` where there are too few samples, nothing moves, or options do not fit the
    data; a `DatasetError` where stamps do not increase or numbers are not finite.
    """
    options = options or SignalOptions()
    if options.delay == ESTIMATE:
        raise EstimationError(
            f"delay='{ESTIMATE}' needs the mechanism: use identify or estimate_delay, then give "
            'the number that they found'
        )
    if options.delay is not None:
        recording = recording.with_delay(float(options.delay))
    if not recording.has_efforts:
        raise EstimationError('the dataset has no efforts; use dataset.for_model(model) first')
    if len(recording) < FEWEST_SAMPLES:
        raise EstimationError(f'{len(recording)} samples are too few to identify from')
    if not recording.source.scan.is_tidy:
        raise DatasetError(
            f'{recording.name}: stamps do not increase, or numbers are not finite: pass the '
            'recording through pkm_identification.datasets.tidied first'
        )
    if options.bad_samples == 'leave_out':
        recording = examined(recording, options.clock)
    period = options.period or recording.period
    source = 'given' if options.period else 'recorded'
    if period is None and options.method not in IN_TIME:
        head = recording.source.head
        period = find_period(head.time, head.positions, head.position_valid)
        if period is not None:
            period = refined_period(head.time, head.positions, period, head.position_valid)
        source = 'found in the data'
    if options.method == 'fourier' and period is None:
        raise EstimationError('the motion has no period that could be found; give period=')
    if options.method in IN_TIME or period is None:
        return filtered_signals(recording, options)
    averaged = average(recording, period, options.skip_periods)
    return periodic_signals(recording, options, source, averaged)
