"""Whether a drive answers its commands with the opposite force.

A servo cannot brake a robot one of whose drives pushes the wrong way: whatever it commands makes
the error grow. Then only power off and brakes help, and every millisecond counts.

Momentum tells such a drive from a push (De Luca and Mattone, ICRA 2003). With the inertia M that
the actuators feel, their speeds fall short of the desired ones by s; a feedforward u and a
feedback f are commanded. Where all drives do as told, M ds/dt = d - f, with a disturbance d of
loads that the model does not know. A drive that does the opposite is one of d = 2 (u + f) on its
axis alone: twice the command. Several may do so at once. Compared are the impulses of these
forces over a window.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from pkm_control.stops import StopEvent
from pkm_control.supervision import Finding
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.actuator_inertia import inertia_matrix

WINDOW = 0.02  # [s] of the impulses: a half is several times the delay of a filtered speed
FEWEST = 4  # cycles in a window, where they are long
# [s] for which all windows must say so, in both of their halves: a blow lies in one of them
PERSISTS = 0.008
# Disturbance over command, 2 where the inertia is right: that of home is up to a third off.
LEAST_RATIO, MOST_RATIO = 1.4, 2.8
# Of the command: by this much at least the axis must accelerate against it, and off the desired
# motion. A push that the servo withstands, or a load that the model does not know, does neither.
ANSWER = 0.5
OTHERS = 0.5  # of its share of a force limit: what axes that obey may be disturbed by
LEAST_COMMAND = 0.05  # of the force limit: less is answered by friction
# Of it, in the first half of the first window: a push is too strong for a drive at its limit, too.
MOST_COMMAND = 0.9


class _Moment(NamedTuple):
    """What is known at the end of a cycle: arrays (n_a,)."""

    time: float  # [s]
    slip: Floats  # [m/s, rad/s] desired minus measured speed
    position: Floats  # [m, rad] measured
    velocity: Floats  # [m/s, rad/s]
    command: Floats  # [N s, N m s] impulse of the commands since the beginning
    feedback: Floats  # [N s, N m s] the same beyond the feedforward


class DriveResponse:
    """Compares what the axes do with what their drives are told."""

    def __init__(self, model: ClosedChainModel) -> None:
        self._model, self._joints = model, model.actuated_joints
        self._limit = np.asarray(model.force_limit, dtype=float)
        self._inertia = inertia_matrix(model)
        self.begin()

    def begin(self) -> None:
        """Look anew."""
        self._moments: deque[_Moment] = deque()
        self._command = self._feedback = np.zeros_like(self._limit)  # of the last cycle
        self._suspect: tuple[int, float] | None = None  # axis, and since when [s]

    def slip_ends(self, slip: Floats) -> None:
        """Go on with desired speeds that leap to the measured ones, `slip` (n_a,) less."""
        self._moments = deque(each._replace(slip=each.slip - slip) for each in self._moments)

    def check(
        self,
        time: float,
        slip: Floats,
        position: Floats,
        velocity: Floats,
        feedforward: Floats,
        command: Floats,
    ) -> Finding | None:
        """Return what is wrong after the cycle of `time` [s].

        Arrays (n_a,): desired minus measured speeds [m/s, rad/s], measured positions [m, rad] and
        speeds, the force that the model asks for and the command [N, N m].
        """
        axis = self._opposing(time, slip, position, velocity)
        self._command, self._feedback = command, command - feedforward
        if axis is None or self._suspect is None or self._suspect[0] != axis:
            self._suspect = None if axis is None else (axis, time)
            return None
        if time - self._suspect[1] < PERSISTS or self._explained(axis):
            return None
        what = 'the drive answers its commands with the opposite force'
        message = f'{self._joints[axis]}: {what}: check its sign and that of its encoder'
        return Finding(StopEvent.DRIVE_OPPOSES, message)

    def _explained(self, axis: int) -> bool:
        """Whether the described robot moves as it does under the commands as they are.

        Its inertia is another one than at home, and speeds and weight take forces, too: with the
        mean acceleration of the window they take a force of the command's sign.
        """
        first, last = self._moments[0], self._moments[-1]
        middle = self._moments[len(self._moments) // 2]
        acceleration = (last.velocity - first.velocity) / (last.time - first.time)
        state = middle.position[None], middle.velocity[None], acceleration[None]
        try:
            force = self._model.inverse_dynamics(self._model.motion_from_actuators(*state))[0]
        except PkmError:
            return False
        return bool(force[axis] * (last.command - first.command)[axis] > 0.0)

    def _opposing(
        self, time: float, slip: Floats, position: Floats, velocity: Floats
    ) -> int | None:
        """Return the axis whose drive does so in both halves of the window up to now."""
        moments = self._moments
        command, feedback = np.zeros((2, len(self._limit)))
        if moments:
            last = moments[-1]
            interval = time - last.time
            command = last.command + interval * self._command
            feedback = last.feedback + interval * self._feedback
        moments.append(_Moment(time, slip, position, velocity, command, feedback))
        while len(moments) > FEWEST + 1 and time - moments[1].time >= WINDOW:
            moments.popleft()
        if len(moments) <= FEWEST or time - moments[0].time < WINDOW:
            return None
        middle = moments[len(moments) // 2]
        most = MOST_COMMAND if self._suspect is None else np.inf
        early = self._opposed(moments[0], middle, most)
        late = self._opposed(middle, moments[-1], np.inf)
        return late if late == early else None

    def _opposed(self, first: _Moment, last: _Moment, most: float) -> int | None:
        """Return the worst axis whose drive does the opposite between two moments.

        Commands of `most` of the force limit prove nothing.
        """
        command = last.command - first.command
        limit = self._limit * (last.time - first.time)
        off = self._inertia @ (last.slip - first.slip)
        suspect = (np.abs(command) > LEAST_COMMAND * limit) & (np.abs(command) < most * limit)
        suspect &= off * command > ANSWER * command**2
        if not suspect.any():
            return None
        gained = self._inertia @ (last.velocity - first.velocity)
        disturbance = off + last.feedback - first.feedback
        ratio = disturbance / np.where(suspect, command, np.inf)
        suspect &= (ratio > LEAST_RATIO) & (ratio < MOST_RATIO)
        suspect &= gained * command < -ANSWER * command**2
        if not suspect.any():
            return None
        shares = np.abs(disturbance) / self._limit
        axis = int(np.argmax(suspect * shares))
        return axis if (shares[~suspect] < OTHERS * shares[axis]).all() else None
