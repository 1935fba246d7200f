"""A joint_trajectory_controller as its documentation and source describe it, for one process.

Position, velocity and acceleration by quintics, effort on lines, PID with the integral clamped; a
new trajectory begins where the robot is measured, with the present command as its effort; the last
point stays with its effort; a cancel, and an error beyond the tolerance of a path, which aborts its
goal, hold the measured positions with the effort of the last goal that succeeded, which is none at
first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant


class Desired(NamedTuple):
    """What the controller wants now (n_a,) each."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray


def quintic(first: Desired, second: Desired, length: float, t: float) -> Desired:
    """Point between two others; the effort is on a line."""
    rows = []
    for begin, end in zip(zip(*first[:3], strict=True), zip(*second[:3], strict=True), strict=True):
        powers = [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
            [0, 0, 2, 0, 0, 0],
            [1, length, length**2, length**3, length**4, length**5],
            [0, 1, 2 * length, 3 * length**2, 4 * length**3, 5 * length**4],
            [0, 0, 2, 6 * length, 12 * length**2, 20 * length**3],
        ]
        rows.append(np.linalg.solve(powers, [*begin, *end]))
    c = np.array(rows)
    at = np.array([t**k for k in range(6)])
    slope = np.array([k * t ** (k - 1) if k else 0.0 for k in range(6)])
    bend = np.array([k * (k - 1) * t ** (k - 2) if k > 1 else 0.0 for k in range(6)])
    share = t / length
    effort = (1 - share) * first.effort + share * second.effort
    return Desired(c @ at, c @ slope, c @ bend, effort)


class JtcStandIn:
    """The controller; `step` returns efforts (n_a,), `aborted` says that a goal has ended so."""

    def __init__(self, p, d, i, i_clamp) -> None:
        self.tolerance = np.inf  # [m, rad] of a path
        self.aborted = False
        self.p, self.d, self.i, self.i_clamp = p, d, i, i_clamp
        self.integral = np.zeros_like(p)
        self.command = np.zeros_like(p)  # efforts
        self.hold_effort = np.zeros_like(p)
        self.points: list[tuple[float, Desired]] = []
        self.desired: Desired | None = None
        self.last = 0.0

    def start(self, time: float, trajectory, measured, velocity) -> None:
        """Take a trajectory in place of what there is, from what is measured and commanded now."""
        still = np.zeros_like(measured)
        now = Desired(np.array(measured), np.array(velocity), still, self.command)
        arrays = trajectory.positions, trajectory.velocities, trajectory.accelerations
        rows = zip(trajectory.time, *arrays, trajectory.efforts, strict=True)
        points = [(time + t, Desired(*row)) for t, *row in rows]
        self.points = points if points[0][0] <= time + 1e-9 else [(time, now), *points]

    def succeed(self) -> None:
        """End a goal at its last point."""
        self.hold_effort = self.points[-1][1].effort

    def cancel(self, time: float, measured) -> None:
        """Hold what is measured."""
        still = np.zeros_like(measured)
        self.points = [(time, Desired(np.array(measured), still, still, self.hold_effort))]

    def step(self, time: float, measured, velocity) -> np.ndarray:
        """Efforts for what is measured."""
        interval, self.last = time - self.last, time
        self.desired = self._desired(time, measured)
        if (np.abs(self.desired.position - measured) > self.tolerance).any():
            self.aborted, self.tolerance = True, np.inf
            self.cancel(time, measured)
            self.desired = self._desired(time, measured)
        error = self.desired.position - measured
        term = np.clip(self.integral + interval * self.i * error, -self.i_clamp, self.i_clamp)
        self.integral = term
        feedback = self.p * error + term + self.d * (self.desired.velocity - velocity)
        self.command = self.desired.effort + feedback
        return self.command

    def _desired(self, time: float, measured) -> Desired:
        after = next((k for k, (t, _) in enumerate(self.points) if t > time), len(self.points))
        if after == len(self.points):
            still = np.zeros_like(measured)
            end = self.points[-1][1]
            return Desired(end.position, still, still, end.effort)
        if after == 0:
            return self.points[0][1]
        (t0, first), (t1, second) = self.points[after - 1], self.points[after]
        return quintic(first, second, t1 - t0, time - t0)


class JtcRobot:
    """The simulated robot under the stand-in; its PID is that of the project's servo."""

    def __init__(self, model, feedforward) -> None:
        self.model, self.feedforward = model, feedforward
        effects = PlantEffects.from_description(self.model.description)
        self.plant = SimulatedPlant(self.model.description, effects, seed=3)
        self.sample = self.plant.sample
        gains = servo_gains(self.model)
        limit = 0.2 * np.asarray(self.model.force_limit)
        integral = 2.0 * gains.proportional  # catches up in half a second
        self.controller = JtcStandIn(gains.proportional, gains.derivative, integral, limit)
        self.heights: list[float] = []

    @property
    def time(self) -> float:
        return self.sample.time

    def run(self, duration: float) -> None:
        for _ in range(round(duration * 1000)):
            # measured speeds as a drive gives them
            measured = np.array(self.sample.positions), np.array(self.sample.truth_velocities)
            self.sample = self.plant.step(self.controller.step(self.time, *measured))
            self.heights.append(float(self.plant.mujoco_data.body('platform').xpos[2]))

    @property
    def q(self) -> np.ndarray:
        return np.array(self.sample.positions)

    def follow(self, trajectory) -> None:
        """Begin a trajectory."""
        velocity = np.array(self.sample.truth_velocities)
        self.controller.start(self.time, trajectory, self.q, velocity)

    @property
    def height_held(self) -> float:
        """Height [m] of the platform where the controller wants the robot to be."""
        position, _ = self.model.forward_kinematics(self.controller.desired.position[None])
        return float(position[0, 2])
