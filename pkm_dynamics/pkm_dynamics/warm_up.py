"""Compile the kernels once, so that no node waits for them: python -m pkm_dynamics.warm_up."""

from __future__ import annotations

import sys
import time

import numpy as np

from pkm_description import load
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion


def warm_up(robot: str = 'palida') -> float:
    """Call every kernel once; returns the time taken [s]."""
    start = time.perf_counter()
    model = ClosedChainModel(load(robot))
    motion = PlatformMotion(
        model.home_position[None], model.home_rotation[None], np.zeros((1, 6)), np.zeros((1, 6))
    )
    model.inverse_dynamics(motion)
    model.regressor(motion)
    model.states_and_forces(model.with_joint_states(motion))
    model.joint_states(model.with_joint_states(motion))
    model.jacobian(motion.position, motion.rotation)
    model.platform_jacobian(model.home_actuators[None])
    return time.perf_counter() - start


if __name__ == '__main__':
    sys.stdout.write(f'kernels ready after {warm_up():.1f} s\n')
