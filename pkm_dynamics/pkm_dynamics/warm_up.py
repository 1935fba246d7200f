"""Compile the kernels once, so that no node waits for them: python -m pkm_dynamics.warm_up."""

from __future__ import annotations

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from pkm_description import load
from pkm_dynamics.kernels import closure, forces, joint_rates
from pkm_dynamics.model import ClosedChainModel

ROBOT = 'palida'  # any robot: the kernels are the same for all


def compile_positions(robot: str) -> None:
    """Call the kernels that close the loops."""
    model = ClosedChainModel(load(robot))
    model.inverse_kinematics(*model.home_configuration[1:])
    model.forward_kinematics(model.home_actuators[None])
    model._positions.check_joints(*model.home_configuration)


def compile_motions(robot: str) -> None:
    """Call the kernels of rates, forces and Jacobians, none of which closes the loops."""
    model = ClosedChainModel(load(robot))
    configuration = model.home_configuration
    state = closure.BY_PLATFORM, *configuration, np.zeros((1, 6)), np.zeros((1, 6))
    code = model._motion_code(closure.BY_PLATFORM, 'columns', 'inertial', 'dynamics', 'systems')
    parameters = model.nominal_parameters.copy()
    joint_rates.joint_motion(model._layout, code, *state)
    forces.states_and_forces(model._layout, code, *state, parameters)
    forces.regressor(model._layout, code, *state)
    joint_rates.actuator_jacobians(model._layout, code, *configuration)
    model.platform_jacobian_at(*configuration)


def compile_friction(robot: str) -> None:
    """Call the kernels of friction that grows with loads, or has a past."""
    model = ClosedChainModel(load(robot))
    model = model.with_drive_terms('*:presliding(1e-3)').with_load_friction('*')
    zero = np.zeros((2, model.n_a))
    motion = model.motion_from_actuators(model.home_actuators + zero, zero, zero)
    motion = model.with_drive_states(motion, [0.0, 1.0])
    model.load_forces(motion, model.joint_states(motion), np.ones(len(model.load_friction)))


def warm_up(robot: str = ROBOT) -> float:
    """Call every kernel once, in two processes; returns the time taken [s]."""
    start = time.perf_counter()
    spawn = multiprocessing.get_context('spawn')  # a fork would share LLVM's state
    with ProcessPoolExecutor(2, spawn) as pool:
        works = (compile_positions, compile_motions, compile_friction)
        for part in [pool.submit(work, robot) for work in works]:
            part.result()
    return time.perf_counter() - start


if __name__ == '__main__':
    sys.stdout.write(f'kernels ready after {warm_up():.1f} s\n')
