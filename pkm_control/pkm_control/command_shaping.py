"""What lies between the forces that are wanted and those that are commanded."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.feedforward import Feedforward
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories.point_to_point import quintic_blend


class CommandLimits:
    """Limits forces to those of the drives, and how fast they change."""

    def __init__(
        self,
        limit: ArrayLike,  # (n_a,) [N, N m]
        rise_time: float,  # [s] from zero to the limit
    ) -> None:
        self._limit = np.asarray(limit, dtype=float)
        self._rise_time = rise_time
        self._last: Floats | None = None

    def reset(self) -> None:
        """Let the next command be any within the limits: brakes bear the robot until then."""
        self._last = None

    def command(self, interval: float, wanted: Floats) -> Floats:
        """Return the command (n_a,) nearest to what is wanted, `interval` [s] after the last."""
        command = np.clip(wanted, -self._limit, self._limit)
        if self._last is not None and self._rise_time > 0.0:
            change = self._limit * (interval / self._rise_time)
            command = np.clip(command, self._last - change, self._last + change)
        self._last = command
        return command


class ModelChange:
    """Lets another feedforward take over smoothly: what it jumps by is faded out."""

    def __init__(self, feedforward: Feedforward, duration: float) -> None:
        self._duration = duration
        self.reset(feedforward)

    def reset(self, feedforward: Feedforward) -> None:
        """Begin with this feedforward at once."""
        self._model: Feedforward = feedforward
        self._last: Floats | None = None  # force of the last cycle
        self._jump: Floats | None = None
        self._since = 0.0

    def smooth(self, time: float, feedforward: Feedforward, force: Floats) -> Floats:
        """Return the force (n_a,) [N, N m] to use at `time` [s] for that of the feedforward."""
        if feedforward is not self._model:
            self._model = feedforward
            self._jump = None if self._last is None else self._last - force
            self._since = time
        if self._jump is not None:
            u = (time - self._since) / self._duration if self._duration > 0.0 else 1.0
            if u < 1.0:
                force = force + (1.0 - quintic_blend(u)[0]) * self._jump
            else:
                self._jump = None
        self._last = force
        return force
