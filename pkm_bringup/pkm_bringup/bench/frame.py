"""What all benchmarks share: the request, times and their spread, the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.processors import cores
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory, benchmark_circle
from pkm_identification.result.provenance import installed

MICRO = 1e6  # times are shown in us
PACKAGES = ('numpy', 'numba', 'mujoco', 'rclpy', 'pin', 'drake', 'casadi')  # whose versions matter
SHOWN = 200  # samples that show whether a motion can be reached
SPEED = 0.3  # [m/s] of the circle: times do not depend on it, lost cycles hurt less


@dataclass(frozen=True)
class Bench:
    """What is measured, and for how long; `update` gets what is done and the fraction done."""

    robot: str  # name or path, which other processes load it from
    model: ClosedChainModel
    trajectory: Trajectory
    duration: float  # [s] of the 1 kHz loop, half of it for lockstep
    steps: int  # of the controller alone
    search_time: float  # [s] of the search of an excitation
    reference_time: float | None  # [s] of a longer one to compare it with, if any
    recording: float  # [s], the shorter recordings to identify from
    update: Callable[[str, float | None], None]


def slow_motion(model: ClosedChainModel) -> Trajectory:
    """Return the inclined circle, else a slow periodic motion of all actuators about home.

    The circle for platforms that float with six degrees of freedom and reach all of it.
    """
    if model.platform_determines_joints:
        circle = benchmark_circle(model, speed=SPEED)
        try:
            model.joint_states(circle.motion(np.linspace(0.0, circle.duration, SHOWN), model))
        except KinematicsError:
            pass
        else:
            return circle
    room = np.minimum(model.upper - model.home_actuators, model.home_actuators - model.lower)
    amplitude = 0.1 * np.where(np.isfinite(room), room, 1.0)[:, None]
    zero, names = np.zeros_like(amplitude), model.actuated_joints
    return FourierTrajectory(2.0, model.home_actuators, amplitude, zero, 'actuators', names)


def spread(seconds: ArrayLike) -> dict[str, float]:
    """Return p50, p99 and the largest of times (N,) [s], in us."""
    values = np.asarray(seconds, dtype=float) * MICRO
    p50, p99 = np.percentile(values, [50, 99])
    return {'p50': float(p50), 'p99': float(p99), 'max': float(values.max())}


def cpu_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of a call in this thread [s], and what it returns."""
    begin = time.thread_time()
    result = call()
    return time.thread_time() - begin, result


def cost(call: Callable[[], Any], repeats: int, amount: int = 1) -> float:
    """Return the median CPU time of one of `amount` things that a call does [us]."""
    call()  # warms up
    times = [cpu_time(call)[0] for _ in range(repeats)]
    return float(np.median(times)) * MICRO / amount


def machine_facts() -> dict[str, Any]:
    """Return processor, usable cores, load average and versions."""
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            names = [line.partition(':')[2].strip() for line in file if 'model name' in line]
    except OSError:
        names = []
    return {
        'processor': names[0] if names else platform.machine(),
        'cores': cores(),
        'load': os.getloadavg()[0],  # processes that ran or waited in the last minute, mean
        'kernel': platform.release(),
        'python': platform.python_version(),
        'versions': installed(PACKAGES),
    }
