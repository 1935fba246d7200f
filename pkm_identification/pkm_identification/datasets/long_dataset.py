"""Recordings that are too long for memory: checked in one pass, then read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description import Payload
from pkm_description.errors import DatasetError
from pkm_identification.datasets.dataset import STROKE_TOLERANCE, Dataset
from pkm_identification.datasets.long_truth import LongTruth
from pkm_identification.datasets.scan import Scan, flags_of, joined, scan_source
from pkm_identification.datasets.sources import ArraySource, Block, Source
from pkm_identification.datasets.tidy_source import TidySource
from pkm_identification.quality.report import Quality

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

LONG = 4_000_000  # numbers; recordings with more are read in blocks


@dataclass(frozen=True)
class LongDataset:
    """A recording that is read in blocks; otherwise as `Dataset`.

    `time`, `positions`, `efforts` and `currents` read all of it into memory.

    Attributes
    ----------
    source
        Gives the samples, again and again.
    scan
        What the check of all samples showed; its datasets have the joints of this one.
    columns
        Of the source, in the order of `joint_names`.
    constants
        Forces a current (n,), where efforts are made of currents; None: as recorded.
    truth
        Noise-free signals where a simulated robot wrote them into the file.
    efforts_are_currents
        Whether what the source calls efforts are currents [A].
    bad_positions, bad_efforts
        Samples that an examination left out, as sample * n + joint in ascending order.
    quality
        What an examination of all samples found, None before.
    """

    source: Source
    scan: Scan
    columns: NDArray[np.int64]
    constants: Array | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    truth: LongTruth | None = None
    efforts_are_currents: bool = False
    bad_positions: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    bad_efforts: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    quality: Quality | None = None

    @classmethod
    def of(cls, source: Source, names: Sequence[str], **fields: Any) -> LongDataset:
        """Check all samples of a source.

        Parameters
        ----------
        source
            Samples.
        names
            Joints, one a column.
        **fields
            Others of `Dataset`.

        Raises
        ------
        DatasetError
            As `Dataset` does.
        """
        where = str(fields.get('provenance', {}).get('source', 'dataset'))
        tidy = TidySource(source, where, tuple(names))
        scan, columns = scan_source(tidy, tuple(names), fields)
        return cls(tidy, scan, columns, provenance=scan.head.provenance)

    @classmethod
    def from_memory(cls, dataset: Dataset) -> LongDataset:
        """Read a dataset in memory by blocks, too, so that its processing needs little more."""
        block = Block(
            dataset.time,
            dataset.positions,
            dataset.efforts,
            dataset.currents,
            dataset.position_valid,
            dataset.effort_valid,
        )
        fields = {
            name: getattr(dataset, name)
            for name in (
                'effort_delay',
                'force_constants',
                'force_constant_deviations',
                'payload',
                'period',
                'urdf',
                'sidecar',
                'provenance',
                'effort_limits',
                'effort_scale_deviation',
                'defects',
            )
        }
        long = cls.of(ArraySource(block), dataset.joint_names, **fields)
        return replace(long, quality=dataset.quality)

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.scan.count

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints, one a column."""
        return self.scan.head.joint_names

    @property
    def effort_delay(self) -> float:
        """Stamp of an effort or current minus the stamp of the position in the same row [s]."""
        return self.scan.head.effort_delay

    @property
    def force_constants(self) -> Mapping[str, float]:
        """Force a current, by joint, as recorded."""
        return self.scan.head.force_constants

    @property
    def payload(self) -> Payload | None:
        """Body that was fixed to the platform; None without one."""
        return self.scan.head.payload

    @property
    def effort_scale_deviation(self) -> Array | None:
        """Standard deviation (n,) of the factor of a joint's efforts; see `Dataset`."""
        return self.scan.head.effort_scale_deviation

    @property
    def effort_limits(self) -> Array | None:
        """Largest efforts (n,) of the drives, after `for_model`; see `Dataset`."""
        return self.scan.head.effort_limits

    @property
    def period(self) -> float | None:
        """Period of the recorded motion [s], None where unknown."""
        return self.scan.head.period

    @property
    def urdf(self) -> str:
        """Description that was recorded, else empty."""
        return self.scan.head.urdf

    @property
    def sidecar(self) -> str:
        """Its YAML file, else empty."""
        return self.scan.head.sidecar

    @property
    def interval(self) -> float:
        """Sampling interval of the first samples [s]."""
        return self.scan.interval

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return self.scan.last - self.scan.first

    @property
    def is_complete(self) -> bool:
        """Whether the stamps are even and no sample is bad."""
        is_bad = len(self.bad_positions) + len(self.bad_efforts) > 0
        return self.scan.is_even and self.scan.all_valid and not is_bad

    def blocks(self) -> Iterator[Block]:
        """Yield the samples in their order; each call reads them anew."""
        number = 0
        for block in self.source.blocks():
            efforts = _pick(block.efforts, self.columns)
            currents = _pick(block.currents, self.columns)
            if self.efforts_are_currents:
                efforts, currents = None, efforts
            if self.constants is not None and currents is not None:
                efforts = currents * self.constants
            count = len(block.time)
            yield Block(
                block.time,
                block.positions[:, self.columns],
                efforts,
                currents,
                self._valid(block.position_valid, self.bad_positions, number, count),
                self._valid(block.effort_valid, self.bad_efforts, number, count),
            )
            number += count

    def _valid(self, known: Flags | None, bad: Numbers, first: int, count: int) -> Flags | None:
        """Which samples first ... first + count (count, n) may be used; None: all."""
        axes = len(self.columns)
        low, high = np.searchsorted(bad, [first * axes, (first + count) * axes])
        if known is not None:
            known = known[:, self.columns]
            known = None if known.all() else known
        if low == high:
            return known
        valid = np.ones(count * axes, dtype=bool)
        valid[bad[low:high] - first * axes] = False
        square = valid.reshape(count, axes)
        return square if known is None else square & known

    @cached_property
    def in_memory(self) -> Dataset:
        """All samples at once."""
        parts = list(self.blocks())

        return replace(
            self.scan.head,
            time=np.concatenate([part.time for part in parts]),
            positions=np.concatenate([part.positions for part in parts]),
            efforts=joined([part.efforts for part in parts]),
            currents=joined([part.currents for part in parts]),
            position_valid=flags_of([part.position_valid for part in parts], parts),
            effort_valid=flags_of([part.effort_valid for part in parts], parts),
            quality=self.quality,
        )

    @property
    def time(self) -> Array:
        """Stamps (N,) [s]."""
        return self.in_memory.time

    @property
    def positions(self) -> Array:
        """Positions (N, n) [m, rad]."""
        return self.in_memory.positions

    @property
    def efforts(self) -> Array | None:
        """Forces or torques (N, n) [N, N m], or None."""
        return self.in_memory.efforts

    @property
    def currents(self) -> Array | None:
        """Motor currents (N, n) [A], or None."""
        return self.in_memory.currents

    def __getitem__(self, rows: slice) -> Dataset:
        """Return the samples of a slice, in memory."""
        return self.in_memory[rows]

    def with_joints(self, names: Sequence[str]) -> LongDataset:
        """Return the dataset with exactly these joints, in this order."""
        chosen = [self.joint_names.index(name) for name in names]
        scan = replace(
            self.scan,
            lower=self.scan.lower[chosen],
            upper=self.scan.upper[chosen],
            head=self.scan.head.with_joints(names),
            probes=tuple(probe.with_joints(names) for probe in self.scan.probes),
            effort_range=self.scan.effort_range[:, chosen],
        )
        constants = None if self.constants is None else self.constants[chosen]
        truth = None if self.truth is None else self.truth.with_columns(chosen)
        axes = len(self.joint_names)
        return replace(
            self,
            scan=scan,
            columns=self.columns[chosen],
            constants=constants,
            truth=truth,
            bad_positions=_of_columns(self.bad_positions, axes, chosen),
            bad_efforts=_of_columns(self.bad_efforts, axes, chosen),
        )

    def with_delay(self, delay: float) -> LongDataset:
        """Return the recording with another delay from positions to efforts [s]."""
        return self._changed(lambda part: part.with_delay(delay))

    def renamed(self, joints: Mapping[str, str]) -> LongDataset:
        """Return the joints named in `joints` alone, by their other names; see `Dataset`."""
        head = self.scan.head.renamed(joints)  # refuses what is not there
        chosen = self.with_joints(list(joints))
        probes = tuple(probe.renamed(joints) for probe in self.scan.probes)
        scan = replace(chosen.scan, head=head, probes=probes)
        return replace(chosen, scan=scan, provenance=head.provenance)

    def with_efforts_as_currents(self) -> LongDataset:
        """Take efforts for the currents [A] that they are.

        Raises
        ------
        DatasetError
            There are no efforts, or currents besides them.
        """
        head = self.scan.head
        if head.efforts is None or head.currents is not None:
            raise DatasetError(
                f"{self.provenance.get('source', 'dataset')}: effort_unit 'A' needs efforts and no "
                'currents'
            )

        def swapped(part: Dataset) -> Dataset:
            return replace(part, efforts=None, currents=part.efforts)

        return replace(self._changed(swapped), efforts_are_currents=True)

    def with_force_constants(
        self, constants: Mapping[str, float], deviations: Mapping[str, float]
    ) -> LongDataset:
        """Return the recording with other force constants [N/A, N m/A]."""

        def given(part: Dataset) -> Dataset:
            return replace(part, force_constants=constants, force_constant_deviations=deviations)

        return self._changed(given)

    def _changed(self, change: Callable[[Dataset], Dataset]) -> LongDataset:
        probes = tuple(change(probe) for probe in self.scan.probes)
        return replace(self, scan=replace(self.scan, head=change(self.scan.head), probes=probes))

    def for_model(
        self, model: ClosedChainModel, force_constants: Mapping[str, float] | None = None
    ) -> LongDataset:
        """Return the dataset in the joint order of `model`, with efforts in force units.

        See `Dataset.for_model`; efforts and currents are compared in the probes.
        """
        probes = self.scan.probes
        together = replace(
            probes[0],
            time=np.concatenate([probe.time for probe in probes]),
            positions=np.concatenate([probe.positions for probe in probes]),
            efforts=joined([probe.efforts for probe in probes]),
            currents=joined([probe.currents for probe in probes]),
            position_valid=None,
            effort_valid=None,
        ).for_model(model, force_constants)
        ordered = self.with_joints(together.joint_names)._changed(
            lambda part: replace(part, effort_limits=together.effort_limits)
        )
        has_currents = self.scan.head.currents is not None
        if not has_currents or (self.scan.head.efforts is not None and force_constants is None):
            return ordered
        assert together.currents is not None and together.efforts is not None
        constants = np.asarray(together.constants_for(model, found=force_constants is not None))

        def converted(part: Dataset) -> Dataset:
            assert part.currents is not None
            return replace(
                part,
                efforts=part.currents * constants,
                effort_scale_deviation=together.effort_scale_deviation,
            )

        changed = ordered._changed(converted)
        ends = np.sort(ordered.scan.effort_range * constants, axis=0)
        return replace(changed, scan=replace(changed.scan, effort_range=ends), constants=constants)

    def stroke_warnings(self, model: ClosedChainModel) -> list[str]:
        """Name the joints whose positions leave the stroke by more than 1 % of it."""
        lower, upper = np.asarray(model.lower), np.asarray(model.upper)
        beyond = np.maximum(lower - self.scan.lower, self.scan.upper - upper)
        bound = np.where(np.isfinite(upper - lower), STROKE_TOLERANCE * (upper - lower), np.inf)
        return [
            f"positions of '{name}' leave its stroke [{lower[i]:g}, {upper[i]:g}] by up to "
            f'{beyond[i]:.4g}; do unit and zero fit the description?'
            for i, name in enumerate(self.joint_names)
            if beyond[i] > bound[i]
        ]


def _of_columns(bad: Numbers, axes: int, chosen: Sequence[int]) -> Numbers:
    """Bad samples of some of the joints, as sample * len(chosen) + joint."""
    place = np.full(axes, -1)
    place[list(chosen)] = np.arange(len(chosen))
    samples, joints = np.divmod(bad, axes)
    kept = place[joints] >= 0
    return np.sort(samples[kept] * len(chosen) + place[joints[kept]])


def _pick(values: Array | None, columns: NDArray[np.int64]) -> Array | None:
    return None if values is None else values[:, columns]
