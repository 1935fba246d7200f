"""The data that an identification starts from, the same for bags, CSV and NPZ files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description import MotorSide, Payload
from pkm_description.description import JOINT, SIDES, EncoderAndDrive
from pkm_description.errors import DatasetError, DescriptionError
from pkm_description.transmissions.calibration import check_names
from pkm_description.transmissions.motor_side import side_of
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.drive_distribution import DriveDistribution
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.coordinate_forces import CoordinateForces
from pkm_identification.datasets.effort_filter import EffortFilter
from pkm_identification.datasets.joint_side import JointSide
from pkm_identification.datasets.source import Block, Source, joined
from pkm_identification.datasets.truth import Truth
from pkm_identification.datasets.units import (
    MissingForceConstantError,
    check_efforts_agree,
    constants_of,
)
from pkm_identification.quality.report import Defect, Quality

Named = TypeVar('Named')
Drives = ClosedChainModel | DriveDistribution
STROKE_TOLERANCE = 0.01  # of the stroke: homing and calibration are rarely better
MEASURED = ('positions', 'efforts', 'currents')
VALID = ('position_valid', 'effort_valid')
SAMPLES = ('time', *MEASURED, *VALID, 'velocities')
NAMING = (
    '; joints={name in the data: joint of the robot} (--joint NAME=NAME) says which is which, '
    'joints that are not named there are left out'
)


@dataclass(frozen=True)
class Recording:
    """Measured positions with efforts or motor currents of the same samples.

    Short recordings are in memory, longer ones are read block by block; `time`, `positions`,
    `efforts` and `currents` are all samples in memory. `from_arrays` makes a recording of
    arrays; `tidied` sorts stamps and marks what is not finite.

    Attributes
    ----------
    source
        The samples, one column a joint.
    joint_names
        Joints, one a column.
    effort_delay
        Stamp of an effort or current minus the stamp of the position in the same row [s].
    effort_filter
        Low pass of the drives that the efforts or currents went through; None: none is known.
    force_constants, force_constant_deviations
        Force a current, by joint [N/A, N m/A], as recorded or given, and its standard
        deviation where it is uncertain; may be empty.
    period
        Period of the recorded motion [s], None where unknown.
    payload
        Body that was fixed to the platform; None without one.
    truth
        Noise-free signals where a simulated robot published them.
    urdf, sidecar
        Description texts that were recorded, else empty.
    provenance
        Where the data come from and what was left out: joints whose efforts or currents
        are all NaN (passive ones, as a driver reports them) under `left_out`.
    effort_limits
        Largest effort (n,) of the drives [N, N m], as `for_model` finds it in the
        description; None where unknown.
    effort_scale_deviation
        Standard deviation (n,) of the factor that all efforts of a joint are off by, from
        that of its force constant; set by `for_model` where efforts are made of currents.
    defects
        What was found wrong when the data were put together: stamps sorted or merged,
        samples that are not finite.
    quality
        What `examined` found, None before.
    side
        `motor` where names and samples are of motors, force constants too; `for_model` turns them
        to the side of the joints.
    calibration
        Of the machine that was recorded, by the names here; `for_model` applies it.
    """

    source: Source
    joint_names: tuple[str, ...]
    effort_delay: float = 0.0
    effort_filter: EffortFilter | None = None
    force_constants: Mapping[str, float] = field(default_factory=dict)
    period: float | None = None
    payload: Payload | None = None
    truth: Truth | None = None
    urdf: str = ''
    sidecar: str = ''
    provenance: Mapping[str, Any] = field(default_factory=dict)
    effort_limits: Array | None = None
    force_constant_deviations: Mapping[str, float] = field(default_factory=dict)
    effort_scale_deviation: Array | None = None
    defects: tuple[Defect, ...] = ()
    quality: Quality | None = None
    side: str = JOINT
    calibration: Mapping[str, EncoderAndDrive] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the fields."""
        names = tuple(str(name) for name in self.joint_names)
        object.__setattr__(self, 'joint_names', names)
        duplicates = {name for name in names if names.count(name) > 1}
        if duplicates:
            raise DatasetError(f"{self.name}: joint '{sorted(duplicates)[0]}' appears twice")
        if self.source.width != len(names):
            raise DatasetError(
                f'{self.name}: positions have shape {(self.source.count, self.source.width)}, '
                f'expected {(self.source.count, len(names))} (samples x joints)'
            )
        if self.side not in SIDES:
            raise DatasetError(f"{self.name}: side is '{self.side}'; it is {' or '.join(SIDES)}")
        if self.period is not None and not 0 < self.period < np.inf:
            raise DatasetError(f'{self.name}: the period must be positive [s], got {self.period}')
        if not np.isfinite(self.effort_delay):
            raise DatasetError(f'{self.name}: effort_delay [s] is {self.effort_delay}')

    @classmethod
    def from_arrays(
        cls,
        time: ArrayLike,
        joint_names: Sequence[str],
        positions: ArrayLike,
        efforts: ArrayLike | None = None,
        currents: ArrayLike | None = None,
        *,
        position_valid: ArrayLike | None = None,
        effort_valid: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        **metadata: Any,
    ) -> Recording:
        """Return a recording of arrays, which are copied, and the other attributes.

        `time` are increasing stamps (N,) [s] of the positions (see `tidied` for others), one column
        of the others (N, n) a joint: `positions` [m, rad], `efforts` [N, N m] or `currents` [A], or
        both, measured `velocities` [m/s, rad/s]. `position_valid` and `effort_valid` say which
        positions and which efforts or currents may be used; None: all.
        """
        name = str(metadata.get('provenance', {}).get('source', 'dataset'))
        stamps = _frozen(time, 'time', name)
        if stamps.ndim != 1 or not stamps.size:
            raise DatasetError(f'{name}: time must be (N,) with N > 0, got shape {stamps.shape}')
        if efforts is None and currents is None:
            raise DatasetError(f'{name}: neither efforts [N, N m] nor currents [A] are given')
        arrays: dict[str, Array | Mask | None] = {}
        given = (positions, efforts, currents, position_valid, effort_valid, velocities)
        shape = (stamps.size, len(joint_names))
        for kind, values in zip(SAMPLES[1:], given, strict=True):
            arrays[kind] = None
            if values is not None:
                array = _frozen(values, kind, name, bool if kind in VALID else float)
                if array.shape != shape:
                    raise DatasetError(
                        f'{name}: {kind} have shape {array.shape}, expected {shape} '
                        '(samples x joints)'
                    )
                arrays[kind] = array
        source = Source.of(Block(stamps, **arrays))  # type: ignore[arg-type]
        return cls(source, tuple(joint_names), **metadata)

    def changed(self, **changes: Any) -> Recording:
        """Return the recording with other arrays, as for `from_arrays`, or other attributes."""
        whole = self.source.whole
        arrays = {name: changes.pop(name, getattr(whole, name)) for name in SAMPLES}
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != 'source'}
        return Recording.from_arrays(**arrays, **(own | changes))

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.source.count

    @property
    def name(self) -> str:
        """What messages call the recording."""
        return str(self.provenance.get('source', 'dataset'))

    @property
    def is_long(self) -> bool:
        """Whether the samples are read block by block, as they are too many for memory."""
        return self.source.is_long

    @property
    def time(self) -> Array:
        """Stamps (N,) [s] of the positions."""
        return self.source.whole.time

    @property
    def positions(self) -> Array:
        """Positions (N, n) [m, rad]."""
        return self.source.whole.positions

    @property
    def efforts(self) -> Array | None:
        """Forces or torques (N, n) [N, N m], None where only currents are known."""
        return self.source.whole.efforts

    @property
    def currents(self) -> Array | None:
        """Motor currents (N, n) [A], or None."""
        return self.source.whole.currents

    @property
    def velocities(self) -> Array | None:
        """Measured velocities (N, n) [m/s, rad/s], or None."""
        return self.source.whole.velocities

    @property
    def position_valid(self) -> Mask | None:
        """Which positions (N, n) may be used; None: all."""
        return self.source.whole.position_valid

    @property
    def effort_valid(self) -> Mask | None:
        """Which efforts or currents (N, n) may be used; None: all."""
        return self.source.whole.effort_valid

    @property
    def has_efforts(self) -> bool:
        """Whether there are efforts; nothing is read for the answer."""
        return self.source.read(slice(0, 1)).efforts is not None

    @property
    def has_currents(self) -> bool:
        """Whether there are currents; nothing is read for the answer."""
        return self.source.read(slice(0, 1)).currents is not None

    @property
    def is_complete(self) -> bool:
        """Whether the stamps are even and all samples may be used."""
        return self.source.scan.is_even and self.source.scan.all_valid

    @property
    def interval(self) -> float:
        """Median sampling interval of the first samples [s]."""
        time = self.source.head.time
        return float(np.median(np.diff(time))) if len(time) > 1 else float('nan')

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        first, last = (self.source.read(slice(k, k + 1)).time[0] for k in (0, len(self) - 1))
        return float(last - first)

    @property
    def head(self) -> Recording:
        """The first samples, in memory; all of a short recording."""
        if not self.is_long:
            return self
        return replace(self, source=Source.of(self.source.head, is_long=False))

    def __getitem__(self, rows: slice) -> Recording:
        """Return the samples of a slice, in memory."""
        return replace(self, source=Source.of(self.source.read(rows), is_long=False))

    def between(self, start: float, stop: float = np.inf, named: str = '') -> Recording:
        """Return the samples from `start` to before `stop` [s from the first sample].

        Parts that meet share no sample. Stamps stay as they are, long recordings are not read.
        `named` goes behind what messages call the recording. A `DatasetError` where fewer than two
        samples lie there.
        """
        part = self.source.portion(start, stop)
        if part.count < 2:
            raise DatasetError(
                f'{self.name}: from {start:g} s to {stop:g} s there are {part.count} samples; it '
                f'is {self.duration:.6g} s long'
            )
        first, last = (float(part.read(slice(k, k + 1)).time[0]) for k in (0, part.count - 1))
        origin = float(self.source.read(slice(0, 1)).time[0])
        provenance = {
            **self.provenance,
            'source': f'{self.name}{named or f":{start:g}-{stop:g}"}',
            'between': [first - origin, last - origin],
        }
        defects = tuple(each for each in self.defects if each.touches(first, last))
        return replace(self, source=part, provenance=provenance, defects=defects, quality=None)

    def with_joints(self, names: Sequence[str]) -> Recording:
        """Return the recording with exactly these joints, in this order."""
        if tuple(names) == self.joint_names:
            return self
        columns = [self.joint_names.index(name) for name in names]

        def pick(values: Array | None) -> Array | None:
            return None if values is None else values[columns]

        return replace(
            self,
            source=self.source.changed(lambda block, rows: block.columns(columns), len(columns)),
            joint_names=tuple(names),
            truth=None if self.truth is None else self.truth.with_columns(columns),
            effort_limits=pick(self.effort_limits),
            effort_scale_deviation=pick(self.effort_scale_deviation),
            defects=tuple(d for d in self.defects if not d.joint or d.joint in names),
        )

    def with_delay(self, delay: float) -> Recording:
        """Return the recording with another delay from positions to efforts [s]."""
        return replace(self, effort_delay=float(delay))

    def as_commanded(self) -> Recording:
        """Say that the efforts are commands to joints, each held until the next position."""
        provenance = {**self.provenance, 'forces': 'commanded'}
        own = {name: replace(each, drive=1) for name, each in self.calibration.items()}
        known = replace(self, calibration=own, provenance=provenance)
        return replace(known, effort_delay=0.5 * self.interval, effort_filter=None)

    def with_efforts_as_currents(self) -> Recording:
        """Take efforts for the currents [A] that they are.

        A `DatasetError` where there are no efforts, or currents besides them.
        """
        if not self.has_efforts or self.has_currents:
            there = 'currents besides efforts' if self.has_efforts else 'no efforts'
            raise DatasetError(f"{self.name} holds {there}: effort_unit 'A' has nothing to say")
        return self._converted(lambda block: block._replace(currents=block.efforts, efforts=None))

    def _converted(self, change: Callable[[Block], Block]) -> Recording:
        return replace(self, source=self.source.changed(lambda block, rows: change(block)))

    def renamed(self, joints: Mapping[str, str]) -> Recording:
        """Return the joints in {name here: name of the robot} alone, by the other names.

        A `DatasetError` where a joint is not there, or two get one name.
        """
        missing = [name for name in joints if name not in self.joint_names]
        if missing:
            raise DatasetError(
                f'{self.name}: there is no {_quote(missing)}; the joints are '
                f'{", ".join(self.joint_names)}'
            )
        twice = sorted({name for name in joints.values() if list(joints.values()).count(name) > 1})
        if twice:
            raise DatasetError(f"{self.name}: two joints are to be called '{twice[0]}'")
        left_out = [name for name in self.joint_names if name not in joints]
        chosen = self.with_joints(list(joints))
        return replace(
            chosen,
            joint_names=tuple(joints.values()),
            force_constants=self._by_new_name(self.force_constants, joints),
            force_constant_deviations=self._by_new_name(self.force_constant_deviations, joints),
            calibration=self._by_new_name(self.calibration, joints),
            defects=tuple(
                replace(each, joint=joints.get(each.joint, each.joint)) for each in chosen.defects
            ),
            provenance={
                **self.provenance,
                'left_out': [*self.provenance.get('left_out', ()), *left_out],
                'joints': dict(joints),
            },
        )

    def _by_new_name(
        self, values: Mapping[str, Named], joints: Mapping[str, str]
    ) -> dict[str, Named]:
        """Values by joint, without those of joints that are left out."""
        out = set(self.joint_names) - set(joints)
        return {joints.get(name, name): values[name] for name in values if name not in out}

    def for_model(
        self, model: ClosedChainModel, force_constants: Mapping[str, float] | None = None
    ) -> Recording:
        """Return the recording in the joint order of `model`, with efforts in force units.

        Joints are matched by name. Currents become efforts with the force constants of the
        recording or of the description; with `force_constants` [N/A, N m/A] by joint, as an
        identification found them, those count alone, and currents before efforts. Efforts and
        currents are compared in the probes of a long recording. A `DatasetError` where a joint is
        missing or unknown, a force constant is missing, or the constants (or the efforts and
        currents) contradict each other. What motors say is turned to their joints first, and
        what encoders and drives say, by the calibration of the recording, not that of `model`.
        Forces of redundant drives become generalised forces at the coordinates.
        """
        if model.description.followers:
            return self._at_coordinates(model, force_constants)
        return self._of_drives(model, force_constants)

    def _at_coordinates(
        self, model: ClosedChainModel, force_constants: Mapping[str, float] | None
    ) -> Recording:
        """Return what a recording of more drives than degrees of freedom says at coordinates."""
        drives = DriveDistribution(model)
        ordered = self._of_drives(drives, force_constants)
        uncertain = ordered.effort_scale_deviation
        if uncertain is not None and uncertain.any():
            joint = ordered.joint_names[int(np.argmax(uncertain))]
            raise DatasetError(
                f"{self.name}: the force constant of '{joint}' has a standard deviation, which "
                'redundant drives cannot have: give the constant alone'
            )
        made = CoordinateForces(drives, self.effort_delay, self.name)
        return replace(
            ordered,
            source=made.source(ordered.source),
            joint_names=tuple(model.actuated_joints),
            truth=None if ordered.truth is None else made.truth(ordered.truth),
            defects=made.defects(ordered.defects),
            effort_limits=np.full(model.n_a, np.inf),
            effort_scale_deviation=None,
            force_constants={},
            force_constant_deviations={},
        )

    def _of_drives(
        self, model: Drives, force_constants: Mapping[str, float] | None = None
    ) -> Recording:
        """Return the recording in the order of the drives, as `for_model` says."""
        motors = side_of(model.description, self.side, self.calibration)
        if motors is not None:
            kind = 'actuated joints' if self.side == JOINT else 'motors'
            self._check_joints(model, list(motors.motors), kind)
            try:
                check_names(self.calibration, motors.motors)
            except DescriptionError as error:
                raise DatasetError(f'{self.name}: calibration: {error}') from None
            free = getattr(model, 'free_joints', ())
            ordered = self.with_joints(motors.motors)._on_joint_side(motors, force_constants, free)
            return ordered._of_drives(model, force_constants)
        expected = list(model.actuated_joints)
        self._check_joints(model, expected)
        limits = np.asarray(getattr(model, 'force_limit', np.full(len(expected), np.inf)))
        ordered = replace(self.with_joints(expected), effort_limits=limits.astype(float))
        if not ordered.has_currents:
            return ordered
        if force_constants is not None:
            ordered = replace(ordered, force_constants=force_constants)
            return ordered._with_forces(ordered.constants_for(model, found=True))
        if ordered.has_efforts:
            ordered._check_units_agree(model)
            return ordered
        constants = ordered.constants_for(model)
        spread = [ordered.force_constant_deviations.get(name, 0.0) for name in expected]
        return replace(
            ordered._with_forces(constants),
            effort_scale_deviation=np.array(spread) / np.abs(constants),
        )

    def _with_forces(self, constants: Array) -> Recording:
        """Make efforts [N, N m] of the currents."""
        return self._converted(
            lambda block: block._replace(efforts=np.asarray(block.currents) * constants)
        )

    def _on_joint_side(
        self, motors: MotorSide, found: Mapping[str, float] | None, free: Sequence[str]
    ) -> Recording:
        """Return what the motors, the columns, say of their joints."""
        known = self
        if motors.coupled.any() and self.has_currents:
            if found is not None:
                raise DatasetError(
                    f'{self.name}: force constants of joints were found, but these currents are '
                    'those of coupled motors, which are none of a joint'
                )
            known = self._with_forces_of_motors(motors, free)
        side = JointSide(motors)
        return replace(
            known,
            source=side.source(known.source),
            joint_names=motors.joints,
            side=JOINT,
            calibration={},
            force_constants=side.constants(known.force_constants),
            force_constant_deviations=side.constants(known.force_constant_deviations),
            truth=None if known.truth is None else side.truth(known.truth),
            defects=side.defects(known.defects),
        )

    def _with_forces_of_motors(self, motors: MotorSide, free: Sequence[str]) -> Recording:
        """Make efforts of the currents of motors, the columns; those of coupled ones are exact."""
        deviations = np.array([self.force_constant_deviations.get(m, 0.0) for m in motors.motors])
        for motor in np.array(motors.motors)[motors.coupled & (deviations > 0)].tolist():
            raise DatasetError(
                f"{self.name}: the force constant of motor '{motor}' has a standard deviation, "
                'which joints that share motors cannot have: give the constant alone'
            )
        constants = constants_of(
            *(self.joint_names, self.force_constants, self.force_constant_deviations),
            *(motors.force_constants, self.name),
            free=free,
        )
        known = self
        if self.has_efforts:
            probes = joined(self.source.probes())
            assert probes.efforts is not None and probes.currents is not None
            check_efforts_agree(
                self.joint_names, probes.efforts, probes.currents * constants, self.name
            )
        else:
            known = replace(
                self._with_forces(constants), effort_scale_deviation=deviations / np.abs(constants)
            )
        without = known._converted(lambda block: block._replace(currents=None))
        return replace(without, force_constants={}, force_constant_deviations={})

    def _check_joints(
        self, model: Drives, expected: list[str], what: str = 'actuated joints'
    ) -> None:
        known = set(expected) | set(getattr(model, 'joint_names', expected))
        missing = [name for name in expected if name not in self.joint_names]
        unknown = [name for name in self.joint_names if name not in known]
        if not missing and not unknown:
            return
        parts = [f'lacks {_quote(missing)}'] if missing else []
        empty = [n for n in missing if n in self.provenance.get('left_out', ())]
        parts += [f'has no efforts of {_quote(empty)}'] if empty else []
        parts += [f'has unknown {_quote(unknown)}'] if unknown else []
        raise DatasetError(
            f'{self.name}: {" and ".join(parts)}; robot '
            f"'{model.description.name}' has the {what} {', '.join(expected)}"
            + (NAMING if unknown else '')
        )

    def constants_for(self, model: Drives, found: bool = False) -> Array:
        """Return the force constants (n_a,) of the recording, else of the description.

        Joints without a drive, whose current is zero, have 1. The joints must be in the order of
        `model`. Constants `found` from data may differ from the description's.
        """
        return constants_of(
            self.joint_names,
            self.force_constants,
            self.force_constant_deviations,
            np.asarray(model.force_constants, dtype=float),
            self.name,
            check=not found,
            free=getattr(model, 'free_joints', ()),
        )

    def _check_units_agree(self, model: Drives) -> None:
        """Refuse efforts and currents that contradict each other, where a constant is known."""
        try:
            constants = self.constants_for(model)
        except MissingForceConstantError:
            return
        probes = joined(self.source.probes())
        assert probes.efforts is not None and probes.currents is not None
        check_efforts_agree(
            self.joint_names, probes.efforts, probes.currents * constants, self.name
        )

    def stroke_warnings(self, model: ClosedChainModel) -> list[str]:
        """Name the joints whose positions leave the stroke by more than 1 % of it, and when.

        The joints must be in the order of `model`; `for_model` sees to that.
        """
        lower, upper = np.asarray(model.lower), np.asarray(model.upper)
        bound = np.where(np.isfinite(upper - lower), STROKE_TOLERANCE * (upper - lower), np.inf)
        first: dict[int, float] = {}
        farthest = np.zeros(len(self.joint_names))
        for block in self.source.blocks():
            beyond = np.maximum(lower - block.positions, block.positions - upper)
            farthest = np.maximum(farthest, beyond.max(axis=0))
            for i in np.flatnonzero((beyond > bound).any(axis=0)):
                first.setdefault(int(i), float(block.time[np.argmax(beyond[:, i] > bound[i])]))
        return [
            f"positions of '{self.joint_names[i]}' leave its stroke [{lower[i]:g}, {upper[i]:g}] "
            f'from t = {first[i]:.6f} s on, by up to {farthest[i]:.4g}; do unit and zero fit the '
            'description?'
            for i in sorted(first)
        ]


def _frozen(values: ArrayLike, name: str, source: str, kind: type = float) -> NDArray[Any]:
    if isinstance(values, np.memmap):
        return values  # too long to be copied, and nobody else writes to it
    try:
        if np.iscomplexobj(values):
            raise TypeError('they are complex')
        array: NDArray[Any] = np.array(values, dtype=kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise DatasetError(f'{source}: {name} are not numbers: {error}') from error
    array.setflags(write=False)
    return array


def _quote(names: Sequence[str]) -> str:
    word = 'joint' if len(names) == 1 else 'joints'
    return f'{word} ' + ', '.join(f"'{name}'" for name in names)
