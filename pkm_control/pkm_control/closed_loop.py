"""A controller and a plant in one fast loop, without ROS: for tests, studies and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_control.control_types import StepResult
from pkm_control.controller import TrajectoryController
from pkm_control.outcome import Outcome
from pkm_dynamics.trajectories import Phase, Trajectory

Array = NDArray[np.float64]


class Plant(Protocol):
    """Anything that takes actuator forces for one control interval.

    A sample has the `time` [s] of the interval's end and the measured `positions` (n_a,)
    [m, rad]; currents and truth where the plant knows them. See `pkm_dynamics.simulation`.
    """

    @property
    def sample(self) -> Any:
        """The latest sample."""

    def step(self, command: ArrayLike) -> Any:
        """Apply forces (n_a,) [N, N m] for one interval and return the new sample."""


@dataclass(frozen=True)
class ClosedLoopRecording:
    """One row a control cycle; positions are those measured at its start.

    Currents and truth, where the plant has them, belong to the interval that follows,
    at `current_time`.
    """

    time: Array  # (N,) [s]
    trajectory_time: Array  # (N,) [s]
    compute_time: Array  # (N,) [s]
    phase: NDArray[np.int64]  # (N,) numbers of `Phase`
    positions: Array  # (N, n_a)
    desired_positions: Array  # (N, n_a)
    desired_velocities: Array  # (N, n_a)
    commands: Array  # (N, n_a) [N, N m]
    feedforward: Array  # (N, n_a) [N, N m]
    feedback: Array  # (N, n_a) [N, N m]
    saturated: NDArray[np.bool_]  # (N, n_a)
    current_time: Array  # (N,) [s]
    currents: Array  # (N, n_a) [A]
    truth_positions: Array  # (N, n_a)
    truth_velocities: Array  # (N, n_a)
    truth_forces: Array  # (N, n_a)
    outcome: Outcome | None  # of the motion; None when the loop ended before it

    @property
    def errors(self) -> Array:
        """Desired minus measured positions (N, n_a) [m, rad]."""
        return self.desired_positions - self.positions

    @property
    def running(self) -> NDArray[np.bool_]:
        """Which cycles (N,) lie in the periods at full speed."""
        return self.phase == Phase.RUN

    def tracking_rms(self) -> Array:
        """RMS position error (n_a,) [m, rad] at full speed."""
        return np.sqrt(np.mean(self.errors[self.running] ** 2, axis=0))


def run_closed_loop(
    plant: Plant,
    controller: TrajectoryController,
    trajectory: Trajectory,
    periods: int = 1,
    ramp_time: float = 1.0,
    approach_speed: float = 0.1,
    settle_time: float = 0.5,
    before_step: Callable[[float, TrajectoryController], None] | None = None,
    time_limit: float = 600.0,
) -> ClosedLoopRecording:
    """Hold, follow `trajectory`, and come to rest.

    Parameters
    ----------
    plant : Plant
        Its latest sample is where the controller starts.
    controller : TrajectoryController
        Activated here if it is not active.
    periods, ramp_time, approach_speed
        As of `Execution`.
    settle_time : float [s]
        Time at rest before and after the motion.
    before_step : callable, optional
        Called with the time and the controller before each cycle, to stop a motion or
        replace the feedforward.
    time_limit : float [s]
        The loop ends after this time even if the motion has not.

    Raises
    ------
    ControlFault
        When the controller stops commanding.
    TrajectoryError
        When the trajectory or an argument is malformed.
    """
    if not controller.active:
        controller.activate(plant.sample.positions)
    execution = controller.plan(trajectory, periods, ramp_time, approach_speed)
    begin = plant.sample.time
    started = False
    end: float | None = None
    outcome: Outcome | None = None
    rows: list[tuple[StepResult, Any, float]] = []
    while True:
        sample = plant.sample
        elapsed = sample.time - begin
        if elapsed > time_limit or (end is not None and elapsed > end):
            break
        if not started and elapsed >= settle_time:
            controller.start(execution)
            started = True
        if before_step is not None:
            before_step(elapsed, controller)
        clock = perf_counter()
        result = controller.step(sample.time, sample.positions)
        duration = perf_counter() - clock
        if result.outcome is not None:
            outcome, end = result.outcome, elapsed + settle_time
        rows.append((result, plant.step(result.command), duration))
    return _recording(rows, outcome)


def _recording(
    rows: list[tuple[StepResult, Any, float]], outcome: Outcome | None
) -> ClosedLoopRecording:
    results = [row[0] for row in rows]
    after = [row[1] for row in rows]
    missing = np.full(len(results[0].position), np.nan)

    def of(name: str) -> Any:
        return np.array([getattr(result, name) for result in results])

    def seen(name: str, default: Any) -> Any:
        return np.array([getattr(sample, name, default) for sample in after])

    return ClosedLoopRecording(
        time=of('time'),
        trajectory_time=of('trajectory_time'),
        compute_time=np.array([row[2] for row in rows]),
        phase=of('phase').astype(int),
        positions=of('position'),
        desired_positions=of('desired_position'),
        desired_velocities=of('desired_velocity'),
        commands=of('command'),
        feedforward=of('feedforward'),
        feedback=of('feedback'),
        saturated=of('saturated'),
        current_time=seen('current_time', np.nan),
        currents=seen('currents', missing),
        truth_positions=seen('truth_positions', missing),
        truth_velocities=seen('truth_velocities', missing),
        truth_forces=seen('truth_forces', missing),
        outcome=outcome,
    )
