"""What a finished recording is worth: gaps, saturation, tracking, whole periods."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import load
from pkm_identification.datasets.bags.bag_reader import RawBag, matching, read_bag
from pkm_identification.datasets.bags.bag_recording import RUN, STATE

GAP_FACTOR = 1.5
LONGEST_GAP = 0.05  # [s] that an identification bears
MISSING_FRACTION = 0.01  # of the samples
SATURATED_FRACTION = 0.05
COMPARED = ('desired_position', 'position', 'saturated')
TRACKING_WARNING = 0.02  # of the stroke, or m, rad where there is none


@dataclass(frozen=True)
class RecordingQuality:
    """The fields of `pkm_msgs/RecordingQuality`."""

    duration: float = 0.0  # of the recorded whole periods [s]
    periods: int = 0
    samples: int = 0
    rate: float = 0.0  # median sampling rate [Hz]
    gaps: int = 0
    longest_gap: float = 0.0  # longest interval between samples [s], 0 where none is a gap
    # of the samples with any clamped command; NaN where the controller's state was not recorded
    saturated_fraction: float = float('nan')
    # (n_a,) position errors at full speed [m, rad]; NaN as the fraction
    tracking_rms: Array = field(default_factory=lambda: np.zeros(0))
    tracking_max: Array = field(default_factory=lambda: np.zeros(0))
    # what is noteworthy; `usable` says whether one can identify from the recording
    warnings: list[str] = field(default_factory=list)
    usable: bool = False


def verify_recording(
    path: str | Path,
    model: ClosedChainModel,
    periods: int | None = None,
    duration: float | None = None,
) -> RecordingQuality:
    """Read a finished bag as an identification would, and say how good it is.

    `periods` whole periods, or a `duration` [s] of a motion from rest to rest, should be there. Not
    usable, with the reason as a warning, where the data cannot be read.
    """
    try:
        dataset = load(path).for_model(model)
        bag = read_bag(Path(path), [STATE], numbers={STATE: COMPARED + ('phase',)})
        return _judged(dataset, bag, model, periods, duration)
    except DatasetError as error:
        return RecordingQuality(warnings=[str(error)])


def _judged(
    dataset: Any, bag: RawBag, model: ClosedChainModel, wanted: int | None, duration: float | None
) -> RecordingQuality:
    warnings, bad = [], []
    interval = dataset.interval
    steps = np.diff(dataset.time)
    gaps = steps[steps > GAP_FACTOR * interval]
    recorded, remark = _periods(dataset)
    if remark:
        warnings.append(remark)
    if wanted is not None and recorded < wanted:
        bad.append(f'{recorded} of {wanted} whole periods were recorded')
    length = float(len(dataset) * interval)
    if duration is not None and length < duration - LONGEST_GAP:
        bad.append(f'{length:.3f} of {duration:.3f} s were recorded')
    longest = float(gaps.max(initial=0.0))
    missing = float(np.sum(np.round(gaps / interval) - 1.0)) / max(len(dataset), 1)
    if longest > LONGEST_GAP or missing > MISSING_FRACTION:
        bad.append(f'{missing:.1%} of the samples are missing, the longest gap is {longest:.4f} s')
    elif gaps.size:
        warnings.append(f'{gaps.size} gaps, the longest {longest:.4f} s')
    saturated, rms, largest, remark = _control(bag, model)
    if remark:
        warnings.append(remark)
    if saturated > SATURATED_FRACTION:
        bad.append(f'{saturated:.1%} of the commands were saturated')
    elif saturated > 0.0:
        warnings.append(f'{saturated:.2%} of the commands were saturated')
    warnings += _tracking_warnings(largest, model) + dataset.stroke_warnings(model)
    return RecordingQuality(
        duration=length,
        periods=recorded,
        samples=len(dataset),
        rate=float(1.0 / interval) if interval > 0.0 else 0.0,
        gaps=int(gaps.size),
        longest_gap=longest,
        saturated_fraction=saturated,
        tracking_rms=rms,
        tracking_max=largest,
        warnings=bad + warnings,
        usable=not bad,
    )


def _periods(dataset: Any) -> tuple[int, str]:
    """Return the whole periods in the data, and a remark where phases do not tell them."""
    if 'periods' in dataset.provenance:
        return int(dataset.provenance['periods']), ''
    if dataset.period is None:
        return 0, 'whole periods cannot be told: neither phases nor the period were recorded'
    length = dataset.duration + dataset.interval
    return int(length / dataset.period + 1e-6), 'phases were not recorded: ramps count as periods'


def _control(bag: RawBag, model: ClosedChainModel) -> tuple[float, Array, Array, str]:
    """Return saturated fraction, position errors (rms, max) at full speed, and a remark.

    All are NaN where they are not in the recording; the remark then says why.
    """
    unknown = np.full(model.n_a, np.nan)

    def nothing(reason: str) -> tuple[float, Array, Array, str]:
        return float('nan'), unknown, unknown, f'saturation and tracking are unknown: {reason}'

    topics = matching(list(bag.topics), STATE)
    if not topics or not bag.topics[topics[0]].span:
        return nothing(f"'{STATE}' was not recorded")
    table = bag.table(topics[0])
    running = table.numbers('phase') == RUN
    if not running.any():
        return nothing(f"'{STATE}' never reports full speed (phase RUN)")
    names, columns = table.by_joint(COMPARED)
    missing = set(COMPARED) - set(columns)
    missing |= set(model.actuated_joints) - set(names)
    if missing:
        return nothing(f"'{STATE}' lacks {', '.join(sorted(missing))}")
    order = [names.index(name) for name in model.actuated_joints]
    error = (columns['desired_position'] - columns['position'])[running][:, order]
    saturated = columns['saturated'][running].astype(bool).any(axis=1)
    rms = np.sqrt(np.mean(error**2, axis=0))
    return float(saturated.mean()), rms, np.abs(error).max(axis=0), ''


def _tracking_warnings(largest: Array, model: ClosedChainModel) -> list[str]:
    span = np.asarray(model.upper) - np.asarray(model.lower)
    bound = TRACKING_WARNING * np.where(np.isfinite(span), span, 1.0)
    return [
        f'{name} was up to {error:.4f} off its path'
        for name, error, limit in zip(model.actuated_joints, largest, bound, strict=True)
        if error > limit
    ]
