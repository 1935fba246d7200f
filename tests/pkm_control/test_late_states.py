"""The loop on a machine that is often late: the robot neither falls nor swings up."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import SimulatedPlant
from pkm_dynamics.trajectories import benchmark_circle

SECONDS = 3


@pytest.mark.parametrize(
    ('scale', 'every', 'gap', 'holding', 'moving'),  # cycles; largest errors [m]
    [
        (1.0, 1, 0, 0.5e-3, 2e-3),
        (1.0, 1, 12, 0.5e-3, 3e-3),
        (1.0, 1, 40, 1.5e-3, 0.025),
        (1.0, 10, 80, 1.5e-3, 0.045),
        (2.0, 1, 40, 1.5e-3, 0.03),
    ],
)
@pytest.mark.parametrize('moves', [False, True])
def test_forces_held_for_many_cycles(moves, scale, every, gap, holding, moving) -> None:
    """Before one cycle in `every`, the last command stays for half of `gap` to `gap` cycles."""
    model = model_of('palida')
    plant, random = SimulatedPlant(model.description), np.random.default_rng(0)
    loop = TrajectoryController(model, servo_gains(model, scale=scale), nominal_feedforward(model))
    loop.activate(plant.sample.positions)
    if moves:
        loop.start(loop.plan(benchmark_circle(model), SECONDS, 1.0, 0.25))
    largest, left, command = 0.0, 0, np.zeros(model.n_a)
    for cycle in range(1000 * SECONDS):
        if left:
            left -= 1
        else:
            result = loop.step(plant.sample.time, plant.sample.positions)
            assert result.fault is None and result.outcome is None
            largest = max(largest, np.abs(result.desired_position - result.position).max())
            command = result.command
            if cycle > 200 and random.random() < 1 / every:
                left = int(random.integers(gap // 2, gap + 1))
        plant.step(command)
    assert largest < (moving if moves else holding)
