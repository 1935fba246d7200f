#!/usr/bin/env python3
"""Make the recording that is shipped as an example: `python scripts/ship_example.py`.

The simulated serial arm moves from pose to pose, each axis at its own time, with all effects of
its description, and rests before and after. It is logged as a host logs a real arm: stamps in ms
that jitter, lost cycles, samples that are repeated, angles in degrees with few digits, motor
currents. Nothing is drawn but from one seed; the files are written over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import pkm_description
from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import SampledTrajectory
from pkm_identification.datasets.portion import EXAMPLES

NAME, SEED = 'serial_arm', 7
POSES, BETWEEN = 26, 1.0  # [s] from pose to pose
REACH = (0.9, 0.35, 0.4, 0.9, 0.6, 1.2)  # [rad] of the axes around home
REST = 2.0  # [s] before and after
EVERY = 10  # of the samples of 1 kHz are logged
JITTER = 4e-4  # [s], standard deviation of the stamps: 4 % of an interval
LOST, REPEATED = 0.01, 0.03  # share of the cycles


def motion(model: ClosedChainModel, random: np.random.Generator) -> SampledTrajectory:
    """Return a spline through random poses, first and last at home."""
    home = np.array([model.description.home_joints[name] for name in model.actuated_joints])
    poses = home + random.uniform(-1.0, 1.0, (POSES, len(home))) * REACH
    poses[[0, -1]] = home
    return SampledTrajectory(BETWEEN * np.arange(POSES), poses, 'actuators', model.actuated_joints)


def logged(
    time: NDArray[np.float64], columns: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return stamps and samples as a host logs them."""
    stamps = time + np.abs(random.normal(0.0, JITTER, len(time)))
    repeated = np.flatnonzero(random.random(len(time)) < REPEATED)
    columns = columns.copy()
    columns[repeated] = columns[np.maximum(repeated - 1, 0)]
    there = random.random(len(time)) >= LOST
    return stamps[there], columns[there]


def main() -> None:
    """Simulate, spoil, write."""
    random = np.random.default_rng(SEED)
    model = ClosedChainModel(pkm_description.load(NAME))
    effects = PlantEffects.from_description(model.description)
    run = run_closed_loop(
        SimulatedPlant(model.description, effects, SEED),
        TrajectoryController(model, servo_gains(model), no_feedforward()),
        motion(model, random),
        settle_time=REST,
    )
    if run.outcome is None or not run.outcome.succeeded:
        raise SystemExit(f'the motion did not run to its end: {run.outcome}')
    whole = [np.degrees(run.positions), run.currents]
    time = run.time[::EVERY] - run.time[0]
    stamps, columns = logged(time, np.column_stack(whole)[::EVERY], random)
    axes = range(1, len(model.actuated_joints) + 1)
    header = ['time_ms', *(f'pos_{k}' for k in axes), *(f'cur_{k}' for k in axes)]
    lines = [','.join(header)]
    for stamp, row in zip(stamps, columns, strict=True):
        angles, currents = np.split(row, 2)
        numbers = [f'{1e3 * stamp:.1f}', *(f'{x:.4f}' for x in angles)]
        lines.append(','.join([*numbers, *(f'{x:.3f}' for x in currents)]))
    EXAMPLES.mkdir(exist_ok=True)
    (EXAMPLES / f'{NAME}.csv').write_text('\n'.join(lines) + '\n')
    names = ', '.join(model.actuated_joints)
    (EXAMPLES / f'{NAME}.columns.yaml').write_text(
        '# What the columns of serial_arm.csv are: python scripts/ship_example.py\n'
        f'time: {{column: time_ms, unit: ms}}\njoints: [{names}]\n'
        "position: {column: 'pos_{n}', unit: deg}\ncurrent: 'cur_{n}'\n"
    )


if __name__ == '__main__':
    main()
