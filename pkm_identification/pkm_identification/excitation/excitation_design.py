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

Array = NDArray[np.float64]
FORMAT, VERSION = 'pkm_excitation_design', 1
RAMP_TIME = 1.0  # [s]


@dataclass(frozen=True)
class ExcitationDesign:
    """A feasible periodic trajectory that identifies well.

    Attributes
    ----------
    trajectory : FourierTrajectory
    criterion : str
        What was optimised.
    figures : dict
        Values of all criteria for one period at `sampling_rate` (see
        `criteria.figures`), `parameters` (number), `samples`, `sampling_rate` [Hz], and
        `standard_deviation`: {parameter: expected standard deviation after one period},
        for the noise covariance of the design (unit variance [N^2] when none was given).
    margins : dict
        Worst margin to each limit of the robot along one period:
        {constraint: {margin, value, limit, name, time, unit}}.
    ramp_time : float
        Ramp with which ramp in and ramp out are feasible, too [s].
    origin : dict
        Seed, options and history of the search.
    model : ClosedChainModel or None
        The robot; needed by `motion`.
    """

    trajectory: FourierTrajectory
    criterion: str
    figures: Mapping[str, Any]
    margins: Mapping[str, Any]
    ramp_time: float = RAMP_TIME
    origin: Mapping[str, Any] = field(default_factory=dict)
    model: Any = None

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

    def save(self, path: str | Path) -> None:
        """Write the design as YAML.

        Raises
        ------
        TrajectoryError
            The file exists already or cannot be written.
        """
        content = {
            'format': FORMAT,
            'version': VERSION,
            'criterion': self.criterion,
            'ramp_time': float(self.ramp_time),
            'trajectory': self.trajectory.to_dict(),
            'figures': dict(self.figures),
            'margins': {name: dict(margin) for name, margin in self.margins.items()},
            'origin': dict(self.origin),
        }
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
        write_new_text(path, text, TrajectoryError)

    @classmethod
    def load(cls, path: str | Path, model: Any = None) -> ExcitationDesign:
        """Read a design that `save` wrote."""
        try:
            content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise TrajectoryError(f'{path}: not a readable design ({error})') from None
        if not isinstance(content, dict) or content.get('format') != FORMAT:
            raise TrajectoryError(f"{path}: not an excitation design (format '{FORMAT}')")
        if content.get('version') != VERSION:
            raise TrajectoryError(
                f'{path}: version {content.get("version")!r} is unknown; this is {VERSION}'
            )
        missing = {'criterion', 'trajectory', 'figures', 'margins'} - set(content)
        if missing:
            raise TrajectoryError(f'{path}: lacks {", ".join(sorted(missing))}')
        trajectory = Trajectory.from_dict(content['trajectory'])
        if not isinstance(trajectory, FourierTrajectory):
            raise TrajectoryError(f'{path}: a design holds a Fourier trajectory')
        return cls(
            trajectory,
            content['criterion'],
            content['figures'],
            content['margins'],
            float(content.get('ramp_time', RAMP_TIME)),
            content.get('origin', {}),
            model,
        )
