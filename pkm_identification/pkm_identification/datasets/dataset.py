"""The data that an identification starts from, the same for bags, CSV and NPZ files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description import Payload, payload_of
from pkm_description.errors import DatasetError, DescriptionError

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

UNIT_TOLERANCE = 1e-6
UNIT_FACTOR = 1.5
STROKE_TOLERANCE = 0.01  # of the stroke


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
    force_constants
        Force a current, by joint [N/A, N m/A], as recorded; may be empty.
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
        for name in ('positions', 'efforts', 'currents'):
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
        self._leave_out_unmeasured()
        self._check_finite(source)
        self._check_stamps(source)

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

        def cut(values: Array | None) -> Array | None:
            return None if values is None else values[rows]

        return replace(
            self,
            time=self.time[rows],
            positions=self.positions[rows],
            efforts=cut(self.efforts),
            currents=cut(self.currents),
        )

    def with_joints(self, names: Sequence[str]) -> Dataset:
        """Return the dataset with exactly these joints, in this order."""
        columns = [self.joint_names.index(name) for name in names]

        def pick(values: Array | None) -> Array | None:
            return None if values is None else values[:, columns]

        return replace(
            self,
            joint_names=tuple(names),
            positions=self.positions[:, columns],
            efforts=pick(self.efforts),
            currents=pick(self.currents),
            truth=None if self.truth is None else self.truth.with_columns(columns),
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
            )
        ordered = self.with_joints(expected)
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
        return replace(ordered, efforts=values * constants)

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
        for field_name in ('positions', 'efforts', 'currents'):
            array = getattr(self, field_name)
            if array is not None:
                object.__setattr__(self, field_name, _frozen(array[:, kept], field_name, ''))
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
        source = self.provenance.get('source', 'dataset')
        constants = np.empty(len(self.joint_names))
        for i, (name, described) in enumerate(
            zip(self.joint_names, np.asarray(model.force_constants, dtype=float), strict=True)
        ):
            recorded = float(self.force_constants.get(name, np.nan))
            if np.isfinite(recorded) and np.isfinite(described) and not found:
                if abs(recorded - described) > UNIT_TOLERANCE * abs(described):
                    raise DatasetError(
                        f"{source}: force constant of '{name}' is {recorded:g} in the recording "
                        f'and {described:g} in the description; make them agree'
                    )
            value = recorded if np.isfinite(recorded) else described
            if not np.isfinite(value) and name in getattr(model, 'free_joints', ()):
                value = 1.0
            if not np.isfinite(value):
                raise DatasetError(
                    f"{source}: currents of '{name}' cannot become forces: no force constant in "
                    'the recording or the description (<param name="force_constant">)'
                )
            constants[i] = value
        return constants

    def _check_units_agree(self, model: ClosedChainModel) -> None:
        """Refuse efforts and currents that differ by a factor, where a constant is known."""
        assert self.efforts is not None and self.currents is not None
        try:
            constants = self.constants_for(model)
        except DatasetError as error:
            if 'make them agree' in str(error):
                raise
            return
        effort = np.sqrt(np.mean(self.efforts**2, axis=0))
        converted = np.sqrt(np.mean((self.currents * constants) ** 2, axis=0))
        for i, name in enumerate(self.joint_names):
            low, high = sorted((effort[i], converted[i]))
            if high > UNIT_FACTOR * low:
                raise DatasetError(
                    f"{self.provenance.get('source', 'dataset')}: efforts of '{name}' (rms "
                    f'{effort[i]:.4g}) and its currents times the force constant (rms '
                    f'{converted[i]:.4g}) disagree; one of them has another unit'
                )

    def _check_finite(self, source: str) -> None:
        for name in ('positions', 'efforts', 'currents'):
            values = getattr(self, name)
            if values is None or np.isfinite(values).all():
                continue
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise DatasetError(
                f"{source}: {name[:-1]} of joint '{self.joint_names[column]}' is "
                f'{values[row, column]} at sample {row} (t = {self.time[row]:.6f} s)'
            )

    def _check_stamps(self, source: str) -> None:
        if not np.isfinite(self.time).all():
            row = int(np.argmin(np.isfinite(self.time)))
            raise DatasetError(f'{source}: time of sample {row} is {self.time[row]}')
        steps = np.diff(self.time)
        if (steps <= 0).any():
            row = int(np.argmax(steps <= 0)) + 1
            raise DatasetError(
                f'{source}: time does not increase at sample {row} '
                f'({self.time[row - 1]:.6f} s, then {self.time[row]:.6f} s)'
            )


def recorded_payload(content: Any, source: str) -> Payload | None:
    """Return the payload that a recording names, a text or a mapping; raises DatasetError."""
    try:
        return payload_of(content.decode() if isinstance(content, bytes) else content)
    except (DescriptionError, UnicodeDecodeError) as error:
        raise DatasetError(f"'{source}': {error}") from error


def _frozen(values: ArrayLike, name: str, source: str) -> Array:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DatasetError(f'{source}: {name} are not numbers: {error}') from error
    array.setflags(write=False)
    return array


def _quote(names: Sequence[str]) -> str:
    word = 'joint' if len(names) == 1 else 'joints'
    return f'{word} ' + ', '.join(f"'{name}'" for name in names)
