"""Examination of a recording: every defect found, bad samples marked as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.recorded_data import Recording
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.stored_array import StoredArray
from pkm_identification.quality.clock import recovered_clock
from pkm_identification.quality.frozen import (
    MOVING,
    find_constant,
    find_saturated,
    find_stuck,
    resolution,
)
from pkm_identification.quality.report import LEFT_OUT, Defect, Quality, located, merged
from pkm_identification.quality.spikes import (
    NOISY,
    SMOOTH,
    Neighbours,
    best_neighbours,
    find_spikes,
)
from pkm_identification.quality.stamps import clock_defects
from pkm_identification.quality.velocity_scale import velocity_defects

MOST_OUTLIERS = 0.05  # share; more of them are how the signal is
MOST_BAD = 0.5  # share of the samples of a joint that may be left out
FEWEST_SAMPLES = 16  # samples: fewer show neither a motion nor its noise
NEIGHBOURHOOD = (
    256  # samples around a block that are examined with it: the reach of all predictions
)
SAMPLE = 2**14  # samples that show how a signal is predicted
COARSE = 0.5  # of the noise: standard deviation of the rounding that is reported


@dataclass(frozen=True)
class Scales:
    """What is known of a whole recording before its parts are examined."""

    # steps of positions and efforts (c,) each; 0 where there are none
    resolution: tuple[Array, Array]
    neighbours: tuple[Neighbours, Neighbours]  # that predict positions and efforts best
    limits: Array | None  # largest efforts (c,) [N, N m], or None
    # smallest and largest value of positions and efforts, (2, c) each; None: those of the part
    extremes: tuple[Array, Array] | None = None


def examined(recording: Recording, clock: str = 'auto') -> Recording:
    """Return a recording, with efforts, with its bad samples marked and the report of its quality.

    With the `clock` 'auto', repeats of a sample are dropped, and the robot's own even clock
    replaces the stamps where the motion shows that only those are off; 'stamps' keeps all rows
    and their stamps. So does a long recording, which is examined block by block, in memory that
    grows with its defects alone; how its signals are predicted is decided by its first samples. A
    recording that was examined is returned as it is. A `DatasetError` where more than half of the
    samples of a joint are bad.
    """
    if recording.quality is not None or len(recording) < FEWEST_SAMPLES:
        return recording
    recording, is_even = _on_own_clock(recording, clock)
    defects = list(recording.defects)
    source, extremes = recording.source, None
    if recording.is_long:
        scan = source.scan
        extremes = (scan.extremes.positions, scan.effort_range)
    scales = scales_of(source.head, recording.effort_limits, extremes)
    names, interval = recording.joint_names, recording.interval
    valid, noises = (StoredArray(), StoredArray()), []
    before = np.zeros(0)  # the stamp before the block
    for window, core, _ in source.windows(NEIGHBOURHOOD):
        stamps = clock_defects(np.append(before, window.time[core]), interval)
        flags, found, noise = examine_part(window, names, scales, core)
        defects += [*(each for each in stamps if not is_even or each.kind != 'jitter'), *found]
        noises.append(noise)
        for whole, part in zip(valid, flags, strict=True):
            whole.append(part)
        before = window.time[core][-1:]
    moving = MOVING * _level(scales, noises)
    defects += velocity_defects(source, names, source.scan.interval, moving)
    defects += find_constant(source, names, moving)
    quality = report(len(recording), interval, defects, names, scales, noises)
    refuse_ruins(quality, names, recording.name)
    marked = source.marked(*(whole.array() for whole in valid))
    return replace(recording, source=marked, quality=quality)


def _level(scales: Scales, noises: Sequence[Sequence[Array]]) -> Array:
    """Noise or step (c,) of the positions of a whole recording, whichever is larger."""
    noise = np.median([each[0] for each in noises], axis=0)
    return np.asarray(np.maximum(noise, scales.resolution[0]))


def _on_own_clock(recording: Recording, clock: str) -> tuple[Recording, bool]:
    """Return a recording on the clock of its robot, and whether that replaces the stamps."""
    if recording.is_long or clock != 'auto':
        return recording, False
    found = recovered_clock(recording.source.whole)
    if found is None:
        return recording, False
    block = recording.source.whole.rows(found.rows)._replace(time=found.time)
    source = Source.of(block, is_long=False)
    defects = (*recording.defects, *found.defects)
    return replace(recording, source=source, defects=defects), found.is_even


def scales_of(
    sample: Block, limits: Array | None, extremes: tuple[Array, Array] | None = None
) -> Scales:
    """What a recording, or the first part of a long one, shows of its signals."""
    assert sample.efforts is not None
    few = slice(0, SAMPLE)
    return Scales(
        (resolution(sample.positions), resolution(sample.efforts)),
        (
            best_neighbours(sample.time[few], sample.positions[few], SMOOTH),
            best_neighbours(sample.time[few], sample.efforts[few], NOISY),
        ),
        limits,
        extremes,
    )


def examine_part(
    block: Block, names: Sequence[str], scales: Scales, core: slice = slice(None)
) -> tuple[list[Mask], list[Defect], list[Array]]:
    """Examine consecutive samples (N, c) of some joints with the scales of the whole recording.

    Those in `core` are reported, the others only surround them. Returns which positions and efforts
    (N, c) of the core may be used, what was found, and standard deviations (c,) of their noise.
    """
    time, positions = block.time, block.positions
    assert block.efforts is not None
    flags = []
    defects: list[Defect] = []
    noises = []
    moving = np.zeros(positions.shape[1])
    signals: tuple[tuple[str, Array, Mask | None], ...] = (
        ('position', positions, block.position_valid),
        ('effort', block.efforts, block.effort_valid),
    )
    for k, (signal, values, known) in enumerate(signals):
        valid = np.ones(values.shape, dtype=bool) if known is None else np.array(known)
        step = scales.resolution[k]
        spikes, noise = find_spikes(time, values, valid, step, scales.neighbours[k])
        typical = np.median(noise, axis=0)
        if signal == 'position':
            moving = MOVING * np.maximum(np.maximum(typical, step), 1e-9 * np.ptp(values, axis=0))
        is_motion = signal == 'position'
        stuck = find_stuck(values, valid, step, noise, positions, moving, is_motion=is_motion)
        free, limits = valid & ~stuck, None if is_motion else scales.limits
        extremes = None if scales.extremes is None else scales.extremes[k]
        saturated = find_saturated(values, free, limits, step, positions, moving, extremes)
        stuck &= ~saturated
        spikes &= ~(stuck | saturated)
        many = spikes.mean(axis=0) > MOST_OUTLIERS
        for kind, found in (('outlier', spikes), ('stuck', stuck), ('saturation', saturated)):
            for column in np.flatnonzero(found[core].any(axis=0)):
                rows = np.flatnonzero(found[core, column])
                is_outlier = kind == 'outlier'
                done = 'kept: too many to be mistakes' if is_outlier and many[column] else LEFT_OUT
                figures = {'noise': float(typical[column])} if is_outlier else {}
                defects.append(
                    located(kind, rows, time[core], done, signal, names[int(column)], **figures)
                )
        spikes[:, many] = False
        flags.append((valid & ~(spikes | stuck | saturated))[core])
        noises.append(typical)
    return flags, defects, noises


def report(
    samples: int,
    interval: float,
    defects: Sequence[Defect],
    names: Sequence[str],
    scales: Scales,
    noises: Sequence[Sequence[Array]],
) -> Quality:
    """Put what was found in the parts of a recording together."""
    levels, steps, coarse = {}, {}, []
    for k, signal in enumerate(('position', 'effort')):
        noise = np.median([each[k] for each in noises], axis=0)
        step = scales.resolution[k]
        levels[signal] = {name: float(v) for name, v in zip(names, noise, strict=True)}
        steps[signal] = {name: float(v) for name, v in zip(names, step, strict=True) if v > 0}
        rounding = step / np.sqrt(12)
        for column in np.flatnonzero((step > 0) & (rounding >= COARSE * noise)):
            done, joint = 'kept: counts as noise of step / sqrt(12)', names[int(column)]
            share = (rounding[column] / max(noise[column], rounding[column])) ** 2
            figures = {'step': float(step[column]), 'share_of_variance': float(share)}
            what = f'steps of {step[column]:.3g}'
            coarse.append(
                Defect('quantisation', samples, 1.0, done, signal, joint, (), 0, figures, what)
            )
    return Quality(samples, interval, merged([*defects, *coarse], samples), steps, levels)


def refuse_ruins(quality: Quality, names: Sequence[str], source: str) -> None:
    """Refuse a recording in which most of a joint's samples are bad; names it and what is wrong."""
    left_out = [defect for defect in quality.defects if defect.treatment == LEFT_OUT]
    for signal, name in product(('position', 'effort'), names):
        bad = [defect for defect in left_out if (defect.signal, defect.joint) == (signal, name)]
        if sum(defect.share for defect in bad) > MOST_BAD:
            worst = max(bad, key=lambda defect: defect.share)
            raise DatasetError(f'{source}: most samples are bad: {worst.line()}')
