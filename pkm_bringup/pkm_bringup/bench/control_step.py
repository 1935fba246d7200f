"""Time of one step of the controller: desired motion, feedforward, PD, clamps."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from pkm_bringup.bench.frame import Bench, spread
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Phase

INTERVAL = 1e-3  # [s] of the 1 kHz loop
WARM_UP = 500  # steps that fill caches and do not count


def measure(bench: Bench) -> dict[str, Any]:
    """Measure the controller alone, along a trajectory with the nominal feedforward.

    The measured positions are the desired ones of the cycle before, as with a robot
    that follows well. Wall and CPU time [us] of the same steps; the garbage collector is
    frozen as in the node.
    """
    bench.update('controller steps', None)
    model, trajectory, steps = bench.model, bench.trajectory, bench.steps
    controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    positions = np.array(model.home_actuators)
    controller.activate(positions)
    repeated = 1
    if trajectory.period is not None:
        repeated = int(np.ceil((steps + WARM_UP) * INTERVAL / trajectory.period)) + 1
    controller.start(controller.plan(trajectory, repeated))
    wall, cpu = np.zeros(steps), np.zeros(steps)
    now, done = 0.0, -WARM_UP
    gc.collect()
    gc.freeze()
    try:
        while done < steps:
            begin, busy = time.perf_counter(), time.thread_time()
            result = controller.step(now, positions)
            busy, begin = time.thread_time() - busy, time.perf_counter() - begin
            positions = result.desired_position
            now += INTERVAL
            if result.outcome is not None and result.phase is not Phase.RUN:
                break
            if result.phase is Phase.RUN:
                if done >= 0:
                    wall[done], cpu[done] = begin, busy
                done += 1
    finally:
        gc.unfreeze()
    count = max(done, 1)
    return {'steps': count, 'wall': spread(wall[:count]), 'cpu': spread(cpu[:count])}
