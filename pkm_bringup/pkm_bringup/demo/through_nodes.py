"""The demo's robot behind ROS 2: its nodes, each a process, and their client."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pkm_bringup.demo.scenario import DemoOptions
from pkm_bringup.nodes.robot_client import RobotClient
from pkm_bringup.processes import NodeProcesses
from pkm_bringup.views.tracking_view import TrackedRun, tracked_run
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory

MODULES = {
    'description_publisher': 'pkm_description.nodes.description_publisher',
    'simulated_robot': 'pkm_dynamics.nodes.simulated_robot',
    'trajectory_controller': 'pkm_control.nodes.trajectory_controller',
    'excitation_server': 'pkm_identification.nodes.excitation_server',
    'estimation_server': 'pkm_identification.nodes.estimation_server',
}


class ThroughNodes:
    """The nodes of the demo, started and ended with the context."""

    suffix = ''  # a bag is a folder

    def __init__(self, options: DemoOptions, model: ClosedChainModel) -> None:
        self._options, self._joints = options, list(model.actuated_joints)
        self._context = ExitStack()

    def __enter__(self) -> ThroughNodes:
        options, output = self._options, self._options.output.resolve()
        os.environ.setdefault('ROS_LOG_DIR', str(output / 'log' / 'ros'))
        os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        os.environ.setdefault('ROS_DOMAIN_ID', str(random.SystemRandom().randint(1, 100)))
        with self._context as context:
            self._processes = context.enter_context(NodeProcesses(output / 'log'))
            self._start('simulated_robot', world=options.world, lockstep=True, seed=options.seed)
            self._start('description_publisher')
            for node in ('excitation_server', 'estimation_server'):
                self._start(node, data_folder=str(options.output))
            self._client = context.enter_context(RobotClient(self._processes.check))
            self._context = context.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    def begin(self, gain_scale: float) -> None:
        """Start the controller anew, with gains of so many times the default ones."""
        self._processes.stop('trajectory_controller')
        scale = {'gain_scale': gain_scale}
        self._start('trajectory_controller', update_mode='state', autostart=True, **scale)
        self._client.wait_until_ready()

    def remove_model(self) -> None:
        """Control by feedback alone."""
        self._client.remove_model()

    def apply_model(self, model: Path, friction: bool) -> None:
        """Control with an identified model, with or without its friction."""
        self._client.apply_model(model, friction)

    def identify(self, data: Path, estimator: str, output: Path, **options: Any) -> object:
        """Identify from a bag and write a model file."""
        return self._client.identify(data, estimator, output, **options)

    def record(
        self,
        trajectory: Trajectory,
        periods: int,
        data: Path,
        progress: Callable[[str, float], None],
    ) -> None:
        """Drive a trajectory and record a bag."""
        self._client.excite(trajectory, periods, data, progress)

    def tracked(self, data: Path) -> TrackedRun:
        """Return how the trajectory of a bag was followed."""
        run = tracked_run(data, self._joints)
        assert run is not None  # the server records the controller
        return run

    def _start(self, node: str, **parameters: str | bool | int | float) -> None:
        parameters['robot'] = self._options.robot
        self._processes.start(node, MODULES[node], parameters)
