"""The demo's robot in this process: no nodes, no bags, no ROS 2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.offline import measured_arrays, simulate
from pkm_bringup.outputs import write_output
from pkm_bringup.views.tracking_view import TrackedRun, observed_gains
from pkm_control.feedforward import Feedforward, identified_feedforward, no_feedforward
from pkm_description import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Trajectory
from pkm_dynamics.worlds import MUJOCO
from pkm_identification.requests.apply_request import ApplyRequest, applicable_model
from pkm_identification.requests.identify_request import IdentifyRequest, identify_recordings


class SimulatedHere:
    """A simulated robot under control, as `pkm simulate` drives it; recordings are NPZ files."""

    suffix = '.npz'

    def __init__(self, model: ClosedChainModel, world: str, seed: int) -> None:
        if world != MUJOCO:
            raise PkmError(f'without nodes the robot moves in {MUJOCO}, not in {world}')
        self._model, self._seed = model, seed
        self._gain_scale = 1.0
        self._feedforward: Feedforward = no_feedforward()
        self._runs: dict[Path, TrackedRun] = {}

    def begin(self, gain_scale: float) -> None:
        """Take gains of so many times the default ones."""
        self._gain_scale = gain_scale

    def remove_model(self) -> None:
        """Control by feedback alone."""
        self._feedforward = no_feedforward()

    def apply_model(self, model: Path, friction: bool) -> None:
        """Control with an identified model, with or without its friction."""
        found = applicable_model(ApplyRequest(str(model)), self._model).result
        parameters = found.controller_parameters
        given = (self._model, model.stem, list(parameters), list(parameters.values()))
        self._feedforward = identified_feedforward(*given, friction=friction)

    def identify(self, data: Path, estimator: str, output: Path, **options: Any) -> object:
        """Identify from a recording and write a model file."""
        request = IdentifyRequest([str(data)], estimator, options, output=str(output))
        return identify_recordings(request, self._model)

    def record(
        self,
        trajectory: Trajectory,
        periods: int,
        data: Path,
        progress: Callable[[str, float], None],
    ) -> None:
        """Drive a trajectory from home and record its periods at full speed."""
        recording = simulate(
            self._model,
            trajectory,
            periods,
            feedforward=self._feedforward,
            gains=servo_gains(self._model, scale=self._gain_scale),
            seed=self._seed + len(self._runs),  # each drive has its own noise
            progress=lambda phase, part: progress(phase, part or 0.0),
        )
        arrays = measured_arrays(recording, self._model, trajectory.period)
        write_output(data, lambda path: np.savez_compressed(path, **arrays))
        run = recording.running
        time, errors = recording.trajectory_time[run], recording.errors[run]
        self._runs[data] = TrackedRun(
            data.stem,
            tuple(self._model.actuated_joints),
            time,
            errors,
            bool(recording.feedforward.any()),
            observed_gains(time, errors, recording.feedback[run]),
        )

    def tracked(self, data: Path) -> TrackedRun:
        """Return how the trajectory of a recording was followed."""
        return self._runs[data]
