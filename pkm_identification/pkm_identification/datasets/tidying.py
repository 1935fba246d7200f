"""Recordings put in order: stamps sorted, joints without efforts dropped, bad numbers marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.recorded_data import MEASURED, Recording
from pkm_identification.datasets.source import Block, Source, collected, joined
from pkm_identification.quality.report import LEFT_OUT, Defect, located, merged
from pkm_identification.quality.stamps import in_order, in_sequence, is_increasing

MOST_LOST = 0.5  # share of a joint's samples; with more, what is left is not a recording


def tidied(recording: Recording) -> Recording:
    """Return a recording whose stamps increase and whose numbers are all finite.

    Samples are sorted by their stamps, and those that share one are merged or left out
    (`in_order`), after a clock that began anew was continued and stamps with too few digits were
    spread (`in_sequence`, of recordings in memory); in a long recording a stamp may be late by up
    to one block. Joints without a single effort or current, as a driver reports passive ones, are
    dropped. A sample that is not finite is marked and holds the one before instead. What was done
    is in `defects` and under `left_out` in the provenance. A tidy recording is returned as it is.
    A `DatasetError` where a stamp is not finite, stamps make no clock, or most samples of a joint
    are lost.
    """
    if recording.source.scan.is_tidy:
        return recording
    recording = _without_lost_velocities(_without_unmeasured(recording))
    work = _Tidying(recording)
    source = collected(work.blocks())
    work.refuse_lost(source.count)
    if not source.scan.is_tidy:
        raise DatasetError(f'{recording.name}: {_lasting_gap(recording, source)}')
    defects = merged([*recording.defects, *work.defects], source.count)
    return replace(recording, source=source, defects=defects)


def _without_unmeasured(recording: Recording) -> Recording:
    """Drop joints whose efforts and currents are all NaN, unless no joint has any."""
    measured = np.zeros(len(recording.joint_names), dtype=bool)
    for block in recording.source.blocks():
        for values in (block.efforts, block.currents):
            if values is not None:
                measured |= ~np.isnan(values).all(axis=0)
    if measured.all() or not measured.any():
        return recording
    names = np.array(recording.joint_names)
    left_out = [*recording.provenance.get('left_out', ()), *names[~measured].tolist()]
    return replace(
        recording.with_joints(names[measured].tolist()),
        provenance={**recording.provenance, 'left_out': left_out},
    )


def _without_lost_velocities(recording: Recording) -> Recording:
    """Drop the velocities where some of them are not finite: positions tell the motion."""
    lost = 0
    for block in recording.source.blocks():
        if block.velocities is not None:
            lost += int(np.count_nonzero(~np.isfinite(block.velocities).all(axis=1)))
    if not lost:
        return recording
    source = recording.source.changed(lambda block, rows: block._replace(velocities=None))
    share = lost / max(len(recording), 1)
    defect = Defect('not_finite', lost, share, 'velocities are not used', 'velocity')
    return replace(recording, source=source, defects=(*recording.defects, defect))


def _lasting_gap(recording: Recording, source: Source) -> str:
    """Say where a joint of a long recording begins without numbers for a whole block."""
    for block in source.blocks():
        for values in block[1:4]:
            if values is not None and not np.isfinite(values).all():
                column = int(np.flatnonzero(~np.isfinite(values).all(axis=0))[0])
                return (
                    f"joint '{recording.joint_names[column]}' has no numbers in some of the time "
                    f'(about t = {block.time[0]:.6f} s)'
                )
    return 'time does not increase'


@dataclass
class _Tidying:
    """One pass over a recording that puts it in order."""

    recording: Recording
    defects: list[Defect] = field(default_factory=list)
    # row, stamp and value of the first sample that is not finite, by signal and joint
    first: dict[tuple[str, str], tuple[int, float, float]] = field(default_factory=dict)
    before: dict[str, Array] = field(default_factory=dict)
    done: int = 0
    last: float = -np.inf

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in order; what overlaps its neighbour is sorted with it."""
        waiting: Block | None = None
        for block, _, rows in self.recording.source.windows(0):
            bad = np.flatnonzero(~np.isfinite(block.time))
            if len(bad):
                raise DatasetError(
                    f'{self.recording.name}: time of sample {rows.start + bad[0]} is '
                    f'{block.time[bad[0]]}'
                )
            block = self._sorted(block)
            if waiting is None:
                waiting = block
            elif len(block.time) and block.time[0] > waiting.time[-1]:
                yield self._marked(waiting)
                waiting = block
            else:
                both = self._sorted(joined([waiting, block]))
                half = len(both.time) // 2
                yield self._marked(both.rows(slice(0, half)))
                waiting = both.rows(slice(half, None))
        assert waiting is not None
        yield self._marked(waiting)

    def _sorted(self, block: Block) -> Block:
        if is_increasing(block.time):
            return block
        values = block.measured
        if not self.recording.is_long:  # parts of a long one do not tell a late one from a restart
            time, defects = in_sequence(block.time, values)
            self.defects.extend(defects)
            block = block._replace(time=time)
        rows, defects = in_order(block.time, values, self.recording.name)
        self.defects.extend(defects)
        return block.rows(rows)

    def _marked(self, block: Block) -> Block:
        """Mark samples that are not finite and put the one before in their place."""
        if not len(block.time):
            return block
        if block.time[0] <= self.last:
            raise DatasetError(
                f'{self.recording.name}: time does not increase at sample {self.done} '
                f'({self.last:.6f} s, then {block.time[0]:.6f} s)'
            )
        for name in MEASURED:
            values = getattr(block, name)
            if values is None:
                continue
            bad = ~np.isfinite(values)
            if bad.any():
                self._note(name, values, bad, block.time)
                which = 'position_valid' if name == 'positions' else 'effort_valid'
                known = getattr(block, which)
                good = ~bad if known is None else known & ~bad
                values = held(values, bad, self.before.get(name))
                block = block._replace(**{name: values, which: good})
            self.before[name] = values[-1]
        self.done, self.last = self.done + len(block.time), float(block.time[-1])
        return block

    def _note(self, name: str, values: Array, bad: Mask, time: Array) -> None:
        for column in np.flatnonzero(bad.any(axis=0)):
            rows = np.flatnonzero(bad[:, column])
            joint, signal, row = self.recording.joint_names[column], name[:-1], int(rows[0])
            first = self.done + row, float(time[row]), float(values[row, column])
            self.first.setdefault((signal, joint), first)
            self.defects.append(located('not_finite', rows, time, LEFT_OUT, signal, joint))

    def refuse_lost(self, samples: int) -> None:
        """Refuse a joint with most of its samples not finite."""
        for lost in merged(self.defects, samples):
            if lost.kind == 'not_finite' and lost.count > MOST_LOST * samples:
                row, time, value = self.first[lost.signal, lost.joint]
                raise DatasetError(
                    f"{self.recording.name}: {lost.signal} of joint '{lost.joint}' is {value} in "
                    f'{lost.count} of {samples} samples, first at sample {row} (t = {time:.6f} s)'
                )


def held(values: Array, bad: Mask, before: Array | None = None) -> Array:
    """Return the values (k, n) with the last good one in the place of bad ones.

    Bad ones at the beginning hold `before` (n,), the values before the first row, else the next.
    """
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(bad, -1, rows), axis=0)
    first = np.argmin(bad, axis=0)
    filled = np.take_along_axis(values, np.where(last < 0, first, last), axis=0)
    return filled if before is None else np.where(last < 0, before, filled)
