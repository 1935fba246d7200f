"""A finished excitation design: trajectory, figures, margins; saved, loaded and shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_description.untrusted.named_files import file_text, regular_file
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.atomic_write import write_text_atomically
from pkm_dynamics.trajectories import (
    FourierTrajectory,
    Trajectory,
    load_trajectory,
    trajectory_from_dict,
)
from pkm_dynamics.trajectories.base import finite_array, finite_number
from pkm_dynamics.trajectories.trajectory_files import MAX_FILE_SIZE
from pkm_identification.arrays import Array
from pkm_identification.excitation.information import (
    ParameterDirection,
    information_factor,
    parameter_directions,
)
from pkm_identification.excitation.search.criteria import normalised_weights, standard_deviations

FORMAT, VERSION = 'pkm_excitation_design', 2
READABLE = (1, 2)  # the first kept no information matrix
RAMP_TIME = 1.0  # [s]
MARGIN_KEYS = 'margin', 'value', 'limit', 'name', 'time', 'unit'

HEAD = 4096  # bytes of a file in which the format stands
DESIGNS = Path(__file__).parent / 'designs'  # that are shipped with the package


@dataclass(frozen=True)
class ExcitationDesign:
    """A feasible periodic trajectory that identifies well.

    Attributes
    ----------
    trajectory : FourierTrajectory
    criterion : str or dict
        What was optimised: a name, or {name: weight}.
    figures : dict
        `criterion`, what the search minimised: a logarithm, or a weighted sum of some, for a
        record of `measuring_time` [s] (files of earlier releases have neither). Values of all
        criteria for one period at `sampling_rate` and what was known before (see
        `criteria.figures`), `d_optimal_per_second` (of the motion alone, for as many samples as
        one second has, so that periods compare), `parameters` (number), `rank` (directions of
        them that are shown), `samples`, `sampling_rate` [Hz], and
        `standard_deviation`: {parameter: expected standard deviation after one period} in
        SI units, for the noise covariance of the design (unit variance [N^2] when none was
        given); infinite for what is not shown.
    margins : dict
        Worst margin to each limit of the robot along one period, and to the further limits
        `acceleration` and `aperture` of the design:
        {constraint: {margin, value, limit, name, time, unit}}.
    ramp_time : float
        Ramp with which ramp in and ramp out are feasible, too [s].
    origin : dict
        Seed, options and history of the search; `cancelled` where it was ended early.
    model : ClosedChainModel or None
        The robot; needed by `motion`.
    period_information, prior : (n, n) or None
        Information of one period, and what was known before.
    """

    trajectory: FourierTrajectory
    criterion: str | Mapping[str, float]
    figures: Mapping[str, Any]
    margins: Mapping[str, Any]
    ramp_time: float = RAMP_TIME
    origin: Mapping[str, Any] = field(default_factory=dict)
    model: ClosedChainModel | None = None
    period_information: Array | None = None
    prior: Array | None = None

    def __post_init__(self) -> None:
        """Copy and freeze the matrices."""
        for name in ('period_information', 'prior'):
            if getattr(self, name) is not None:
                shape = (len(self.names),) * 2
                object.__setattr__(self, name, finite_array(name, getattr(self, name), shape))

    @property
    def period(self) -> float:
        """Period [s]."""
        return self.trajectory.period

    @property
    def coefficients(self) -> Array:
        """Offset, sine and cosine amplitudes (n_c, 1 + 2 harmonics) [m, rad]."""
        parts = [self.trajectory.offset[:, None], self.trajectory.sine, self.trajectory.cosine]
        return np.concatenate(parts, axis=1)

    def motion(self, t: ArrayLike) -> PlatformMotion:
        """Return the platform motion at times t (N,) [s]."""
        if self.model is None:
            raise TrajectoryError('the design was loaded without a model: use load(path, model)')
        return self.trajectory.motion(np.asarray(t, dtype=float), self.model)

    @property
    def names(self) -> list[str]:
        """Parameters that the figures are about, the order of the information matrix."""
        return list(self.figures['standard_deviation'])

    def information(self, periods: float = 1) -> Array:
        """Return the information matrix (n, n) after some periods, the prior included."""
        if self.period_information is None:
            raise TrajectoryError('the design holds no information matrix: a file of version 1')
        own = finite_number('periods', periods, positive=True) * self.period_information
        return np.asarray(own if self.prior is None else own + self.prior)

    def standard_deviation(self, periods: float = 1) -> dict[str, float]:
        """Return the expected standard deviation of each parameter after some periods.

        In SI units; infinite for what is not shown.
        """
        deviations = standard_deviations(information_factor(self.information(periods)))
        return dict(zip(self.names, deviations.tolist(), strict=True))

    def directions(self, periods: float = 1, scaled: bool = False) -> list[ParameterDirection]:
        """Return the combinations of parameters after some periods, the least visible first.

        See `parameter_directions`: the first and the last bound the condition number.
        """
        return parameter_directions(self.information(periods), self.names, scaled)

    def save(self, path: str | Path) -> None:
        """Write the design as YAML to a new file, or raise `TrajectoryError`."""
        criterion = self.criterion
        content = {
            'format': FORMAT,
            'version': VERSION,
            'criterion': criterion if isinstance(criterion, str) else dict(criterion),
            'ramp_time': float(self.ramp_time),
            'trajectory': self.trajectory.to_dict(),
            'figures': dict(self.figures),
            'margins': {name: dict(margin) for name, margin in self.margins.items()},
            'origin': dict(self.origin),
        }
        for name in ('period_information', 'prior'):
            if (matrix := getattr(self, name)) is not None:
                content[name] = matrix.tolist()
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        write_text_atomically(path, text, TrajectoryError)

    @classmethod
    def load(cls, path: str | Path, model: ClosedChainModel | None = None) -> ExcitationDesign:
        """Read a design that `save` wrote.

        A `TrajectoryError` where the file cannot be read, is no design, or belongs to another robot
        than `model`.
        """
        text = file_text(path, TrajectoryError, MAX_FILE_SIZE, 'design')
        content = load_yaml(text, f"design '{path}'", TrajectoryError, MAX_FILE_SIZE)
        if not isinstance(content, dict) or content.get('format') != FORMAT:
            raise TrajectoryError(f"{path}: not an excitation design (format '{FORMAT}')")
        if content.get('version') not in READABLE:
            known = ' and '.join(str(version) for version in READABLE)
            raise TrajectoryError(
                f'{path}: version {content.get("version")!r} is unknown; known are {known}'
            )
        missing = {'criterion', 'trajectory', 'figures', 'margins'} - set(content)
        if missing:
            raise TrajectoryError(f'{path}: lacks {", ".join(sorted(missing))}')
        try:
            return cls._read(content, model)
        except TrajectoryError as error:
            raise TrajectoryError(f'{path}: {error}') from None

    @classmethod
    def _read(cls, content: Mapping[str, Any], model: ClosedChainModel | None) -> ExcitationDesign:
        trajectory = trajectory_from_dict(content['trajectory'])
        if not isinstance(trajectory, FourierTrajectory):
            raise TrajectoryError('a design holds a Fourier trajectory')
        if model is not None:
            if trajectory.robot not in ('', model.description.name):
                raise TrajectoryError(
                    f"the design is for robot '{trajectory.robot}', not '{model.description.name}'"
                )
            trajectory.ordered(model.actuated_joints)
        figures, margins = (_table(content, name) for name in ('figures', 'margins'))
        _check_figures(figures)
        for name, margin in margins.items():
            if not isinstance(margin, Mapping) or not set(MARGIN_KEYS) <= set(margin):
                raise TrajectoryError(f'margins: {name} needs {", ".join(MARGIN_KEYS)}')
        criterion = content['criterion']
        weights = normalised_weights(criterion)
        return cls(
            trajectory,
            criterion if isinstance(criterion, str) else weights,
            figures,
            margins,
            finite_number('ramp_time', content.get('ramp_time', RAMP_TIME), positive=True),
            _table(content, 'origin') if 'origin' in content else {},
            model,
            content.get('period_information'),
            content.get('prior'),
        )


def is_design(path: Path) -> bool:
    """Whether a file holds an excitation design rather than a bare trajectory."""
    with regular_file(path, TrajectoryError, MAX_FILE_SIZE).open('rb') as file:
        return f'format: {FORMAT}'.encode() in file.read(HEAD)


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content[name]
    if not isinstance(table, Mapping):
        raise TrajectoryError(f'{name}: a table of keys is needed, got {table!r}')
    return table


def _check_figures(figures: Mapping[str, Any]) -> None:
    deviations = figures.get('standard_deviation')
    if not isinstance(deviations, Mapping):
        raise TrajectoryError('figures: standard_deviation of each parameter is missing')
    for name, value in {**figures, **deviations}.items():
        if name != 'standard_deviation' and (
            isinstance(value, bool) or not isinstance(value, int | float) or value != value
        ):
            raise TrajectoryError(f'figures: {name} is no number: {value!r}')


def shipped_excitations() -> list[str]:
    """Return the robots for which an excitation is shipped."""
    return sorted(path.stem for path in DESIGNS.glob('*.yaml'))


def excitation_path(robot: str) -> Path:
    """Return the file of the excitation shipped for a robot of the library."""
    path = DESIGNS / f'{robot}.yaml'
    if robot not in shipped_excitations():
        valid = ', '.join(shipped_excitations()) or 'none'
        raise TrajectoryError(
            f"no excitation is shipped for robot '{robot}'; shipped are {valid}. "
            'Design one with design_excitation'
        )
    return path


def load_excitation(robot_or_path: str | Path) -> FourierTrajectory:
    """Return the excitation of a library robot, or of a trajectory or design file."""
    path = Path(robot_or_path)
    if not path.suffix:
        path = excitation_path(str(robot_or_path))
    trajectory = load_motion(path)
    if not isinstance(trajectory, FourierTrajectory):
        raise TrajectoryError(f'{path}: an excitation is a Fourier trajectory')
    return trajectory


def load_motion(path: str | Path) -> Trajectory:
    """Return the trajectory in a trajectory or design file; raises TrajectoryError."""
    path = Path(path)
    try:
        holds_design = is_design(path)
    except OSError as error:
        raise TrajectoryError(f'{path}: cannot be read ({error})') from None
    return ExcitationDesign.load(path).trajectory if holds_design else load_trajectory(path)
