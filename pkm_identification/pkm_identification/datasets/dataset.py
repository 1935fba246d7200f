"""The data that an identification starts from, the same for bags, CSV and NPZ files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description import Payload, payload_of
from pkm_description.errors import DatasetError, DescriptionError
from pkm_identification.datasets.tidy_source import held
from pkm_identification.datasets.units import check_efforts_agree, constants_of
from pkm_identification.quality.report import LEFT_OUT, Defect, Quality, located
from pkm_identification.quality.stamps import in_order, is_increasing

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

STROKE_TOLERANCE = 0.01  # of the stroke
MEASURED = ('positions', 'efforts', 'currents')
MOST_LOST = 0.5  # share of the samples of a joint that may be no number
NAMING = (
    '; joints={name in the data: joint of the robot} (--joint NAME=NAME) says which is which, '
    'joints that are not named there are left out'
)


@dataclass(frozen=True)
class Truth:
    """Noise-free signals of a simulated robot, in the joint order of their dataset.

    Attributes
    ----------
    time
        Stamps (M,) [s], on the clock of the dataset.
    positions, velocities, forces
        Actuated joints (M, n_a) [m, rad], [m/s, rad/s], [N, N m].
    """

    time: Array
    positions: Array
    velocities: Array
    forces: Array

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.time)

    def with_columns(self, columns: Sequence[int] | NDArray[np.int64]) -> Truth:
        """Return the signals of some joints."""
        signals = (self.positions, self.velocities, self.forces)
        return Truth(self.time, *(values[:, columns] for values in signals))


@dataclass(frozen=True)
class Dataset:
    """Measured positions with efforts or motor currents of the same samples.

    Attributes
    ----------
    time
        Stamps of the positions (N,) [s].
    joint_names
        Joints, one a column.
    positions
        Positions (N, n) [m, rad].
    efforts
        Forces or torques (N, n) [N, N m], or None where only currents are known.
    currents
        Motor currents (N, n) [A], or None.
    effort_delay
        Stamp of an effort or current minus the stamp of the position in the same row [s].
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
    position_valid, effort_valid
        Which samples (N, n) may be used, of the positions and of the efforts or currents;
        None where all may. A sample that is no number holds the one before instead.
    effort_limits
        Largest effort (n,) of the drives [N, N m], as `for_model` finds it in the
        description; None where unknown.
    effort_scale_deviation
        Standard deviation (n,) of the factor that all efforts of a joint are off by, from
        that of its force constant; set by `for_model` where efforts are made of currents.
    defects
        What was found wrong when the data were put together: stamps sorted or merged,
        samples that are no number.
    quality
        What `examined` found, None before.
    """

    time: Array
    joint_names: tuple[str, ...]
    positions: Array
    efforts: Array | None = None
    currents: Array | None = None
    effort_delay: float = 0.0
    force_constants: Mapping[str, float] = field(default_factory=dict)
    period: float | None = None
    payload: Payload | None = None
    truth: Truth | None = None
    urdf: str = ''
    sidecar: str = ''
    provenance: Mapping[str, Any] = field(default_factory=dict)
    position_valid: Flags | None = None
    effort_valid: Flags | None = None
    effort_limits: Array | None = None
    force_constant_deviations: Mapping[str, float] = field(default_factory=dict)
    effort_scale_deviation: Array | None = None
    defects: tuple[Defect, ...] = ()
    quality: Quality | None = None

    def __post_init__(self) -> None:
        """Copy and freeze the arrays and check them."""
        source = str(self.provenance.get('source', 'dataset'))
        object.__setattr__(self, 'joint_names', tuple(str(name) for name in self.joint_names))
        duplicates = {name for name in self.joint_names if self.joint_names.count(name) > 1}
        if duplicates:
            raise DatasetError(f"{source}: joint '{sorted(duplicates)[0]}' appears twice")
        time = _frozen(self.time, 'time', source)
        if time.ndim != 1 or not time.size:
            raise DatasetError(f'{source}: time must be (N,) with N > 0, got shape {time.shape}')
        object.__setattr__(self, 'time', time)
        shape = (time.size, len(self.joint_names))
        for name in MEASURED:
            values = getattr(self, name)
            if values is None:
                continue
            array = _frozen(values, name, source)
            if array.shape != shape:
                raise DatasetError(
                    f'{source}: {name} have shape {array.shape}, expected {shape} '
                    '(samples x joints)'
                )
            object.__setattr__(self, name, array)
        if self.efforts is None and self.currents is None:
            raise DatasetError(f'{source}: neither efforts [N, N m] nor currents [A] are given')
        for name in ('position_valid', 'effort_valid'):
            flags = getattr(self, name)
            if flags is not None:
                object.__setattr__(self, name, _flags(flags, shape, name, source))
        if self.period is not None and not 0 < self.period < np.inf:
            raise DatasetError(f'{source}: the period must be positive [s], got {self.period}')
        if not np.isfinite(self.effort_delay):
            raise DatasetError(f'{source}: effort_delay [s] is {self.effort_delay}')
        self._leave_out_unmeasured()
        self._order_stamps(source)
        self._mark_not_finite(source)

    def __len__(self) -> int:
        """Return the number of samples."""
        return int(self.time.size)

    @property
    def interval(self) -> float:
        """Median sampling interval [s]."""
        return float(np.median(np.diff(self.time))) if len(self) > 1 else float('nan')

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0])

    def __getitem__(self, rows: slice) -> Dataset:
        """Return the samples of a slice."""

        def cut(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            time=self.time[rows],
            positions=self.positions[rows],
            efforts=cut(self.efforts),
            currents=cut(self.currents),
            position_valid=cut(self.position_valid),
            effort_valid=cut(self.effort_valid),
        )

    def with_joints(self, names: Sequence[str]) -> Dataset:
        """Return the dataset with exactly these joints, in this order."""
        columns = [self.joint_names.index(name) for name in names]

        def pick(values: Any) -> Any:
            return None if values is None else values[..., columns]

        return replace(
            self,
            joint_names=tuple(names),
            positions=self.positions[:, columns],
            efforts=pick(self.efforts),
            currents=pick(self.currents),
            truth=None if self.truth is None else self.truth.with_columns(columns),
            position_valid=pick(self.position_valid),
            effort_valid=pick(self.effort_valid),
            effort_limits=pick(self.effort_limits),
            effort_scale_deviation=pick(self.effort_scale_deviation),
            defects=tuple(d for d in self.defects if not d.joint or d.joint in names),
        )

    def with_delay(self, delay: float) -> Dataset:
        """Return the dataset with another delay from positions to efforts [s]."""
        return replace(self, effort_delay=float(delay))

    def renamed(self, joints: Mapping[str, str]) -> Dataset:
        """Return the joints named in `joints` alone, by their other names.

        Parameters
        ----------
        joints
            {name here: name of the robot}.

        Raises
        ------
        DatasetError
            A joint is not there, or two get one name.
        """
        source = self.provenance.get('source', 'dataset')
        missing = [name for name in joints if name not in self.joint_names]
        if missing:
            raise DatasetError(
                f'{source}: there is no {_quote(missing)}; the joints are '
                f'{", ".join(self.joint_names)}'
            )
        twice = sorted({name for name in joints.values() if list(joints.values()).count(name) > 1})
        if twice:
            raise DatasetError(f"{source}: two joints are to be called '{twice[0]}'")
        left_out = [name for name in self.joint_names if name not in joints]
        chosen = self.with_joints(list(joints))
        return replace(
            chosen,
            joint_names=tuple(joints.values()),
            force_constants=_by_new_name(self.force_constants, joints),
            force_constant_deviations=_by_new_name(self.force_constant_deviations, joints),
            defects=tuple(
                replace(each, joint=joints.get(each.joint, each.joint)) for each in chosen.defects
            ),
            provenance={
                **self.provenance,
                'left_out': [*self.provenance.get('left_out', ()), *left_out],
                'joints': dict(joints),
            },
        )

    def for_model(
        self, model: ClosedChainModel, force_constants: Mapping[str, float] | None = None
    ) -> Dataset:
        """Return the dataset in the joint order of `model`, with efforts in force units.

        Joints are matched by name. Currents become efforts with the force constants of
        the recording or of the description; with `force_constants` [N/A, N m/A] by joint,
        as an identification found them, those count alone, and currents before efforts.

        Raises
        ------
        DatasetError
            A joint is missing or unknown, a force constant is missing, or the constants
            (or the efforts and currents) contradict each other.
        """
        expected = list(model.actuated_joints)
        known = set(expected) | set(getattr(model, 'joint_names', expected))
        source = self.provenance.get('source', 'dataset')
        missing = [name for name in expected if name not in self.joint_names]
        unknown = [name for name in self.joint_names if name not in known]
        if missing or unknown:
            parts = [f'lacks {_quote(missing)}'] if missing else []
            empty = [n for n in missing if n in self.provenance.get('left_out', ())]
            parts += [f'has no efforts of {_quote(empty)}'] if empty else []
            parts += [f'has unknown {_quote(unknown)}'] if unknown else []
            raise DatasetError(
                f'{source}: {" and ".join(parts)}; robot '
                f"'{model.description.name}' has the actuated joints {', '.join(expected)}"
                + (NAMING if unknown else '')
            )
        limits = np.asarray(getattr(model, 'force_limit', np.full(len(expected), np.inf)))
        ordered = replace(self.with_joints(expected), effort_limits=limits.astype(float))
        values = ordered.currents
        if values is None:
            return ordered
        if force_constants is not None:
            ordered = replace(ordered, efforts=None, force_constants=force_constants)
            constants = ordered.constants_for(model, found=True)
            return replace(ordered, efforts=values * constants)
        if ordered.efforts is not None:
            ordered._check_units_agree(model)
            return ordered
        constants = ordered.constants_for(model)
        spread = [ordered.force_constant_deviations.get(name, 0.0) for name in expected]
        return replace(
            ordered,
            efforts=values * constants,
            effort_scale_deviation=np.array(spread) / np.abs(constants),
        )

    def stroke_warnings(self, model: ClosedChainModel) -> list[str]:
        """Name the joints whose positions leave the stroke by more than 1 % of it, and when.

        The joints must be in the order of `model`; `for_model` sees to that.
        """
        lower, upper = np.asarray(model.lower), np.asarray(model.upper)
        beyond = np.maximum(lower - self.positions, self.positions - upper)
        bound = np.where(np.isfinite(upper - lower), STROKE_TOLERANCE * (upper - lower), np.inf)
        found = []
        for i, name in enumerate(self.joint_names):
            rows = np.flatnonzero(beyond[:, i] > bound[i])
            if rows.size:
                found.append(
                    f"positions of '{name}' leave its stroke [{lower[i]:g}, {upper[i]:g}] from "
                    f't = {self.time[rows[0]]:.6f} s on, by up to {beyond[rows, i].max():.4g}; '
                    'do unit and zero fit the description?'
                )
        return found

    def _leave_out_unmeasured(self) -> None:
        """Drop joints whose efforts and currents are all NaN, unless no joint has any."""
        values = [v for v in (self.efforts, self.currents) if v is not None]
        empty = np.all([np.isnan(v).all(axis=0) for v in values], axis=0)
        if not empty.any() or empty.all():
            return
        names = [name for name, is_empty in zip(self.joint_names, empty, strict=True) if is_empty]
        kept = np.flatnonzero(~empty)
        for field_name in MEASURED:
            array = getattr(self, field_name)
            if array is not None:
                object.__setattr__(self, field_name, _frozen(array[:, kept], field_name, ''))
        for field_name in ('position_valid', 'effort_valid', 'effort_limits'):
            array = getattr(self, field_name)
            if array is not None:
                object.__setattr__(self, field_name, array[..., kept])
        if self.truth is not None:
            object.__setattr__(self, 'truth', self.truth.with_columns(kept))
        object.__setattr__(self, 'joint_names', tuple(self.joint_names[i] for i in kept))
        left_out = [*self.provenance.get('left_out', ()), *names]
        object.__setattr__(self, 'provenance', {**self.provenance, 'left_out': left_out})

    def constants_for(self, model: ClosedChainModel, found: bool = False) -> Array:
        """Return the force constants (n_a,) of the recording, else of the description.

        Joints without a drive, whose current is zero, have 1. The joints must be in the
        order of `model`. Constants `found` from data may differ from the description's.

        Raises
        ------
        DatasetError
            They contradict each other, or one is missing.
        """
        return constants_of(
            self.joint_names,
            self.force_constants,
            self.force_constant_deviations,
            np.asarray(model.force_constants, dtype=float),
            str(self.provenance.get('source', 'dataset')),
            check=not found,
            free=getattr(model, 'free_joints', ()),
        )

    def _check_units_agree(self, model: ClosedChainModel) -> None:
        """Refuse efforts and currents that contradict each other, where a constant is known."""
        assert self.efforts is not None and self.currents is not None
        try:
            constants = self.constants_for(model)
        except DatasetError as error:
            if 'make them agree' in str(error):
                raise
            return
        source = str(self.provenance.get('source', 'dataset'))
        check_efforts_agree(self.joint_names, self.efforts, self.currents * constants, source)

    def _order_stamps(self, source: str) -> None:
        """Sort by stamps and merge equal ones; refuse what no clock gives."""
        if not np.isfinite(self.time).all():
            row = int(np.argmin(np.isfinite(self.time)))
            raise DatasetError(f'{source}: time of sample {row} is {self.time[row]}')
        if is_increasing(self.time):
            return
        values = [getattr(self, name) for name in MEASURED]
        order = in_order(self.time, [each for each in values if each is not None], source)
        for name in ('time', *MEASURED, 'position_valid', 'effort_valid'):
            array = getattr(self, name)
            if array is not None:
                array = array[order.rows]
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        object.__setattr__(self, 'defects', (*self.defects, *order.defects))

    def _mark_not_finite(self, source: str) -> None:
        """Mark samples that are no number and put the one before in their place."""
        found: list[Defect] = []
        for name in MEASURED:
            values = getattr(self, name)
            if values is None:
                continue
            bad = ~np.isfinite(values)
            if not bad.any():
                continue
            for column in np.flatnonzero(bad.any(axis=0)):
                rows = np.flatnonzero(bad[:, column])
                joint, signal = self.joint_names[column], name[:-1]
                if len(rows) > MOST_LOST * len(self):
                    raise DatasetError(
                        f"{source}: {signal} of joint '{joint}' is {values[rows[0], column]} in "
                        f'{len(rows)} of {len(self)} samples, first at sample {rows[0]} '
                        f'(t = {self.time[rows[0]]:.6f} s)'
                    )
                found.append(located('not_finite', rows, self.time, LEFT_OUT, signal, joint))
            object.__setattr__(self, name, _frozen(held(values, bad), name, source))
            which = 'position_valid' if name == 'positions' else 'effort_valid'
            before = getattr(self, which)
            flags = ~bad if before is None else before & ~bad
            flags.setflags(write=False)
            object.__setattr__(self, which, flags)
        if found:
            object.__setattr__(self, 'defects', (*self.defects, *found))

    @property
    def all_valid(self) -> bool:
        """Whether every sample may be used."""
        return self.position_valid is None and self.effort_valid is None


def _flags(values: ArrayLike, shape: tuple[int, int], name: str, source: str) -> Flags:
    flags = np.array(values, dtype=bool)
    if flags.shape != shape:
        raise DatasetError(
            f'{source}: {name} has shape {flags.shape}, expected {shape} (samples x joints)'
        )
    flags.setflags(write=False)
    return flags


def recorded_payload(content: Any, source: str) -> Payload | None:
    """Return the payload that a recording names, a text or a mapping; raises DatasetError."""
    try:
        return payload_of(content.decode() if isinstance(content, bytes) else content)
    except (DescriptionError, UnicodeDecodeError) as error:
        raise DatasetError(f"'{source}': {error}") from error


def _frozen(values: ArrayLike, name: str, source: str) -> Array:
    try:
        if np.iscomplexobj(values):
            raise TypeError('they are complex')
        array = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DatasetError(f'{source}: {name} are not numbers: {error}') from error
    array.setflags(write=False)
    return array


def _by_new_name(values: Mapping[str, float], joints: Mapping[str, str]) -> dict[str, float]:
    return {joints.get(name, name): value for name, value in values.items()}


def _quote(names: Sequence[str]) -> str:
    word = 'joint' if len(names) == 1 else 'joints'
    return f'{word} ' + ', '.join(f"'{name}'" for name in names)
