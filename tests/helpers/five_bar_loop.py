"""A five-bar linkage on waves of both motors under a servo, in its steady state."""

import numpy as np

from pkm_dynamics.joint_servo.steady_state import steady_state
from pkm_dynamics.trajectories import FourierTrajectory

PERIOD = 0.6  # [s]
SINE = [[0.2, 0.05], [-0.1, 0.08]]  # [rad]
COSINE = [[0.05, -0.06], [0.15, 0.02]]


def two_motor_waves(model):
    """Two harmonics of either motor about home."""
    return FourierTrajectory(
        PERIOD, model.home_actuators, SINE, COSINE, 'actuators', model.actuated_joints
    )


def steady(model, servo, trajectory, count, parameters=None, feedforward=False):
    """Solve for the steady state at `count` instants of a period.

    Parameters are the standard ones, nominal by default; feedforward is that of the nominal
    ones, or none.
    """
    motion = trajectory.motion(PERIOD / count * np.arange(count), model)
    reference = model.actuator_states(motion).positions
    forces = model.inverse_dynamics(motion) if feedforward else np.zeros_like(reference)
    values = model.nominal_parameters if parameters is None else parameters
    return steady_state(model, values, reference, forces, servo, PERIOD)
