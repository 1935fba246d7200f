"""What runs once before the robot moves, so that nothing is compiled or loaded in the loop."""

from __future__ import annotations

import numpy as np

from pkm_control.controller import TrajectoryController
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.trajectories import PointToPoint


def warm_up(controller: TrajectoryController) -> None:
    """Run once whatever runs later in or beside the loop; the controller is used up by that."""
    model = controller.model
    q, names = model.home_actuators, model.actuated_joints
    controller.activate(q)
    for coordinates in ('actuators', 'platform'):
        if coordinates == 'platform' and not model.platform_determines_joints:
            continue
        rest = controller.resting_coordinates(coordinates)
        there = PointToPoint(
            [0.0, 0.1], [rest, rest], coordinates, names if coordinates == 'actuators' else None
        )
        execution = controller.plan(there)
        check_feasibility(model, execution, rate=100.0)
        controller.start(execution)
        for cycle in range(3):
            controller.step(cycle * 0.2 + (coordinates == 'platform'), q, np.zeros_like(q))
