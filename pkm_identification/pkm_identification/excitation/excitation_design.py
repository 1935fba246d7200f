"""A finished excitation design: trajectory, figures, margins; saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import TrajectoryError
from pkm_dynamics.new_file import write_new_text
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory
from pkm_identification.excitation.directions import ParameterDirection, parameter_directions

Array = NDArray[np.float64]
FORMAT, VERSION = 'pkm_excitation_design', 2
READABLE = (1, 2)  # the first kept no information matrix
RAMP_TIME = 1.0  # [s]


@dataclass(frozen=True)
class ExcitationDesign:
    """A feasible periodic trajectory that identifies well.

    Attributes
    ----------
    trajectory : FourierTrajectory
    criterion : str or dict
        What was optimised: a name, or {name: weight}.
    figures : dict
        Values of all criteria for one period at `sampling_rate` and what was known before
        (see `criteria.figures`), `d_optimal_per_second` (of the motion alone, whatever its
        period), `parameters` (number), `samples`, `sampling_rate` [Hz], and
        `standard_deviation`: {parameter: expected standard deviation after one period},
        for the noise covariance of the design (unit variance [N^2] when none was given).
    margins : dict
        Worst margin to each limit of the robot along one period:
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
    model: Any = None
    period_information: Array | None = None
    prior: Array | None = None

    @property
    def period(self) -> float:
        """Period [s]."""
        return self.trajectory.period

    @property
    def coefficients(self) -> Array:
        """Offset, sine and cosine amplitudes (n_c, 1 + 2 harmonics) [m, rad]."""
        parts = [self.trajectory.offset[:, None], self.trajectory.sine, self.trajectory.cosine]
        return np.concatenate(parts, axis=1)

    def motion(self, t: ArrayLike) -> Any:
        """Return the platform motion at times t (N,) [s]."""
        if self.model is None:
            raise TrajectoryError('the design was loaded without a model: use load(path, model)')
        return self.trajectory.motion(np.asarray(t, dtype=float), self.model)

    def information(self, periods: float = 1) -> Array:
        """Return the information matrix (n, n) after some periods, the prior included."""
        if self.period_information is None:
            raise TrajectoryError('the design holds no information matrix: a file of version 1')
        if not (np.isfinite(periods) and periods > 0.0):
            raise TrajectoryError(f'periods must be positive, not {periods!r}')
        own = periods * self.period_information
        return np.asarray(own if self.prior is None else own + self.prior)

    def standard_deviation(self, periods: float = 1) -> dict[str, float]:
        """Return the expected standard deviation of each parameter after some periods."""
        names = list(self.figures['standard_deviation'])
        information = self.information(periods)
        scale = 1.0 / np.sqrt(np.diag(information))
        inverse = np.linalg.inv(information * np.outer(scale, scale))
        return dict(zip(names, (scale * np.sqrt(np.diag(inverse))).tolist(), strict=True))

    def directions(self, periods: float = 1, scaled: bool = False) -> list[ParameterDirection]:
        """Return the combinations of parameters after some periods, the least visible first.

        See `parameter_directions`: the first and the last bound the condition number.
        """
        names = list(self.figures['standard_deviation'])
        return parameter_directions(self.information(periods), names, scaled)

    def save(self, path: str | Path) -> None:
        """Write the design as YAML.

        Raises
        ------
        TrajectoryError
            The file exists already or cannot be written.
        """
        several = not isinstance(self.criterion, str)
        content = {
            'format': FORMAT,
            'version': VERSION,
            'criterion': dict(self.criterion) if several else self.criterion,  # type: ignore[arg-type]
            'ramp_time': float(self.ramp_time),
            'trajectory': self.trajectory.to_dict(),
            'figures': dict(self.figures),
            'margins': {name: dict(margin) for name, margin in self.margins.items()},
            'origin': dict(self.origin),
        }
        for name in ('period_information', 'prior'):
            matrix = getattr(self, name)
            if matrix is not None:
                content[name] = matrix.tolist()
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        write_new_text(path, text, TrajectoryError)

    @classmethod
    def load(cls, path: str | Path, model: Any = None) -> ExcitationDesign:
        """Read a design that `save` wrote.

        Raises
        ------
        TrajectoryError
            The file cannot be read, is no design, or belongs to another robot than `model`.
        """
        try:
            content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise TrajectoryError(f'{path}: not a readable design ({error})') from None
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
        trajectory = Trajectory.from_dict(content['trajectory'])
        if not isinstance(trajectory, FourierTrajectory):
            raise TrajectoryError(f'{path}: a design holds a Fourier trajectory')
        if model is not None and trajectory.robot not in ('', model.description.name):
            raise TrajectoryError(
                f"{path}: the design is for robot '{trajectory.robot}', not "
                f"'{model.description.name}'"
            )
        return cls(
            trajectory,
            content['criterion'],
            content['figures'],
            content['margins'],
            float(content.get('ramp_time', RAMP_TIME)),
            content.get('origin', {}),
            model,
            _matrix(path, content, 'period_information'),
            _matrix(path, content, 'prior'),
        )


def _matrix(path: str | Path, content: Mapping[str, Any], name: str) -> Array | None:
    if content.get(name) is None:
        return None
    try:
        matrix = np.array(content[name], dtype=float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2 or len(matrix) != len(matrix.T) or not np.all(np.isfinite(matrix)):
        raise TrajectoryError(f'{path}: {name} is no square matrix of finite numbers')
    return matrix
