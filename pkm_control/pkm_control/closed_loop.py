"""A controller and a plant in one fast loop, without ROS: for tests, studies and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_control.control_types import Outcome, StepResult
from pkm_control.controller import TrajectoryController
from pkm_control.learning.repetition import Repetition
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution, Phase, Trajectory

# Fields of a recording, and those of a cycle's result that they collect.
OF_RESULT = {
    **{name: name for name in ('time', 'trajectory_time', 'phase', 'feedforward', 'feedback')},
    **{f'{name}s': name for name in ('position', 'desired_position', 'command')},
    'desired_velocities': 'desired_velocity',
    'saturated': 'saturated',
}


class Plant(Protocol):
    """Anything that takes commands, forces or signals of valves, for one control interval.

    A sample has the `time` [s] of the interval's end and the measured `positions` (n_a,)
    [m, rad]; currents and truth where the plant knows them. See `pkm_dynamics.simulation`.
    """

    @property
    def sample(self) -> Any:
        """The latest sample."""

    def step(self, command: ArrayLike) -> Any:
        """Apply commands (n_a,) for one interval and return the new sample."""


@dataclass(frozen=True)
class ClosedLoopRecording:
    """One row a control cycle; positions are those measured at its start.

    Currents and truth, where the plant has them, belong to the interval that follows,
    at `current_time`.
    """

    time: Floats  # (N,) [s]
    trajectory_time: Floats  # (N,) [s]
    compute_time: Floats  # (N,) [s]
    phase: NDArray[np.int64]  # (N,) numbers of `Phase`
    positions: Floats  # (N, n_a)
    # (N, n_d) of all drives, which a robot may have more of than degrees of freedom
    drive_positions: Floats
    drive_commands: Floats  # [N, N m]
    desired_positions: Floats  # (N, n_a)
    desired_velocities: Floats  # (N, n_a)
    commands: Floats  # (N, n_a) [N, N m]
    feedforward: Floats  # (N, n_a) [N, N m]
    feedback: Floats  # (N, n_a) [N, N m]
    saturated: NDArray[np.bool_]  # (N, n_a)
    current_time: Floats  # (N,) [s]
    currents: Floats  # (N, n_d) [A]
    truth_positions: Floats  # (N, n_d)
    truth_velocities: Floats  # (N, n_d)
    truth_forces: Floats  # (N, n_d)
    outcome: Outcome | None  # of the motion; None when the loop ended before it

    @property
    def errors(self) -> Floats:
        """Desired minus measured positions (N, n_a) [m, rad]."""
        return self.desired_positions - self.positions

    @property
    def running(self) -> NDArray[np.bool_]:
        """Which cycles (N,) lie in the periods at full speed."""
        return self.phase == Phase.RUN

    def tracking_rms(self) -> Floats:
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
    repetition_of: Callable[[Execution], Repetition] | None = None,
) -> ClosedLoopRecording:
    """Hold, follow `trajectory` from the plant's latest sample, and come to rest.

    The controller is activated if it is not active; `periods`, `ramp_time` and
    `approach_speed` are those of `Execution`. The robot rests for `settle_time` [s] before and
    after the motion; the loop ends after `time_limit` [s] even if the motion has not.
    `before_step` gets the time and the controller before each cycle, to stop a motion or
    replace the feedforward; `repetition_of` gets the execution and returns a repetition that is
    learned from. Raises ControlFault when the controller stops commanding, and
    TrajectoryError for a malformed trajectory or argument.
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
            repetition = None if repetition_of is None else repetition_of(execution)
            controller.start(execution, repetition=repetition)
            started = True
        if before_step is not None:
            before_step(elapsed, controller)
        clock = perf_counter()
        efforts = getattr(sample, 'efforts', None)
        result = controller.step(sample.time, sample.positions, efforts)
        duration = perf_counter() - clock
        if result.outcome is not None:
            outcome, end = result.outcome, elapsed + settle_time
        rows.append((result, plant.step(result.command), duration))
    return _recording(rows, outcome)


def _recording(
    rows: list[tuple[StepResult, Any, float]], outcome: Outcome | None
) -> ClosedLoopRecording:
    missing = np.full(len(rows[0][0].position), np.nan)
    computed: dict[str, Any] = {
        name: np.array([getattr(result, of_result) for result, _, _ in rows])
        for name, of_result in OF_RESULT.items()
    }
    seen: dict[str, Any] = {
        name: np.array([getattr(sample, name, missing) for _, sample, _ in rows])
        for name in ('currents', 'truth_positions', 'truth_velocities', 'truth_forces')
    }
    parts = [(result, sample) for result, sample, _ in rows]
    of_drives: dict[str, Any] = {
        'drive_positions': [getattr(seen, 'drive_positions', own.position) for own, seen in parts],
        'drive_commands': [getattr(seen, 'drive_commands', own.command) for own, seen in parts],
    }
    return ClosedLoopRecording(
        **computed,
        **seen,
        **{name: np.array(values) for name, values in of_drives.items()},
        compute_time=np.array([duration for _, _, duration in rows]),
        current_time=np.array([getattr(sample, 'current_time', np.nan) for _, sample, _ in rows]),
        outcome=outcome,
    )
