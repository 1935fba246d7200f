"""From a recording to the motion and forces that an estimator uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pkm_description.errors import DatasetError, EstimationError
from pkm_identification.datasets import Recording
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.quality.clock import recovered_clock
from pkm_identification.quality.examine import FEWEST_SAMPLES, examined
from pkm_identification.quality.prediction import MAD_TO_SIGMA
from pkm_identification.quality.report import WORDS
from pkm_identification.signals.averaging import Averaged, average
from pkm_identification.signals.filtered import filtered_signals
from pkm_identification.signals.period_search import find_period, refined_period
from pkm_identification.signals.periodic import periodic_signals
from pkm_identification.signals.signal_options import ESTIMATE, IN_TIME, SignalOptions
from pkm_identification.signals.signals import Signals

# Periods that a motion must show, nearly, so that it is known to repeat: of two that are alike the
# spread is one difference, which tells no noise from a motion that comes back only about the same
THRICE = 2.95
# Of a motion: periods that differ by more are none. Noise and settling of motions that are worth
# identifying from stay far below it.
UNLIKE = 0.1


@dataclass(frozen=True, eq=False)
class Examined:
    """A recording whose bad samples are known, and its period."""

    recording: Recording
    period: float | None  # [s]; None where the motion is filtered
    source: str  # where the period is known from
    skip_periods: int | None  # at the beginning; None: by the settling
    is_found: bool = False  # whether only the data tell the period
    warnings: tuple[str, ...] = ()  # what a user should know of the period

    @cached_property
    def averaged(self) -> Averaged:
        """Mean over the periods."""
        assert self.period is not None
        return average(self.recording, self.period, self.skip_periods)

    @property
    def unlike(self) -> float:
        """By how much the positions differ from period to period, of the motion; 0 of one period.

        Of half the axes, periods and samples: bad ones and a ramp at the end do not count.
        """
        positions = self.averaged.positions
        apart, last = [], np.empty((0, *positions.mean.shape))
        for some in positions.blocks():
            block = np.concatenate([last, some])
            apart.append(np.median(np.abs(np.diff(block, axis=0)), axis=1))
            last = block[-1:]
        each = np.concatenate(apart)
        if not len(each):
            return 0.0
        size = np.maximum(positions.mean.std(axis=0), np.finfo(float).tiny)
        return float(MAD_TO_SIGMA / np.sqrt(2) * np.median(np.median(each, axis=0) / size))

    def in_time(self) -> Examined:
        """Return the same without a period that only the data tell."""
        return replace(self, period=None) if self.is_found else self

    def signals(self, options: SignalOptions) -> Signals:
        """Find motion and forces."""
        if self.period is None:
            found = filtered_signals(self.recording, options)
        else:
            found = periodic_signals(self.recording, options, self.source, self.averaged)
        said = (*self.warnings, *found.warnings, *self._not_done(options))
        return replace(found, warnings=said)

    def _not_done(self, options: SignalOptions) -> list[str]:
        """Say what a recording that is read in blocks would have got in memory."""
        if not self.recording.is_long:
            return []
        head = self.recording.source.head
        clock = recovered_clock(head) if options.clock == 'auto' else None
        missing = []
        if clock is not None:
            kinds = ', '.join(dict.fromkeys(WORDS[each.kind] for each in clock.defects))
            missing.append(f'its clock is not repaired, though its beginning shows {kinds}')
        if self.period is None and options.velocities == 'auto' and head.velocities is not None:
            missing.append('its measured velocities are not used')
        if not missing:
            return []
        return [
            f'{self.recording.name}: {len(self.recording)} samples are too many for memory: '
            f'{"; ".join(missing)}. A part of it has that (--from, --to)'
        ]


def process(recording: Recording, options: SignalOptions | None = None) -> Signals:
    """Find motion and forces in a recording that has efforts, as `Recording.for_model` returns it.

    One that is too long for memory is read in blocks. Choices are by default made from the data. An
    `EstimationError` where there are too few samples, nothing moves, or options do not fit the
    data; a `DatasetError` where stamps do not increase or numbers are not finite.
    """
    options = options or SignalOptions()
    return examine(recording, options).signals(options)


def examine(recording: Recording, options: SignalOptions) -> Examined:
    """Look for bad samples and for a period; raises as `process`."""
    if options.delay == ESTIMATE:
        raise EstimationError(
            f"delay='{ESTIMATE}' needs the mechanism: use identify or estimate_delay, then give "
            'the number that they found'
        )
    if options.delay is not None:
        recording = recording.with_delay(float(options.delay))
    if options.effort_filter is not None:
        drive = EffortFilter.of(options.effort_filter, 'options')
        recording = replace(recording, effort_filter=drive)
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
    is_found = False
    if period is None and options.method not in IN_TIME:
        head = recording.source.head
        period = find_period(head.time, head.positions, head.position_valid)
        if period is not None:
            period = refined_period(head.time, head.positions, period, head.position_valid)
        source, is_found = 'found in the data', options.method == 'auto'
        # a motion that ends where it began need not go on so
        if period and options.method == 'auto' and recording.duration < THRICE * period:
            period = None
    if options.method == 'fourier' and period is None:
        raise EstimationError('the motion has no period that could be found; give period=')
    own = None if options.method in IN_TIME else period
    found = Examined(recording, own, source, options.skip_periods, is_found)
    return found if own is None or is_found else _checked(found, options)


def _checked(found: Examined, options: SignalOptions) -> Examined:
    """Leave out a period that the data contradict; EstimationError where it was asked for."""
    assert found.period is not None
    if found.recording.duration < 2 * found.period or (unlike := found.unlike) <= UNLIKE:
        return found
    said = (
        f'{found.recording.name}: the motion does not repeat after {found.period:.7g} s, the '
        f'period that was {found.source}: from one to the next it differs by {100 * unlike:.0f} %'
    )
    if options.period or options.method == 'fourier':
        raise EstimationError(f'{said}; give the period of the motion, or none')
    return replace(found, period=None, warnings=(f'{said}; no period is used',))
