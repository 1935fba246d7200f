"""The motion of a robot whose drives let go, caught before it reaches a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from pkm_description.errors import FeasibilityError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.integration import integrate_motion
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.presets.fitting import feasible_size
from pkm_dynamics.trajectories import SampledTrajectory
from pkm_dynamics.trajectories.point_to_point import quintic_area

LONGEST_FALL = 2.0  # [s]
PIECE, STEP = 0.05, 0.005  # [s] of the integration: until a range is left, and its instants
MOST_EVALUATIONS = 1500  # of a piece; more is friction that chatters
INTERVAL = 0.001  # [s] of the result's samples
STUCK_TIME = 0.2  # [s] after which a robot that falls has left the friction's transition
STUCK_SPEED = 5.0  # times the transition velocity of friction
RAMP_SHARE = 0.1  # of the path's time in which the drives let go
CATCH_SHARES = (0.3, 0.45, 0.6, 0.75)  # of the path's time in which the drives catch


def free_fall(model: ClosedChainModel) -> SampledTrajectory:
    """Return the fall from rest at home without drive forces, and the catch after it [O 4.3].

    The path is that of the nominal model under its own weight. The robot is let go and
    caught by the time scaling of a ramp, which keeps it on the path; between, the
    actuator forces are zero. Where friction would hold the robot at home, the path is
    that of the robot without friction, whose forces are then those of friction alone.
    The longest fall that keeps every limit is taken. Raises FeasibilityError where the robot
    does not fall, or cannot be caught within its limits.
    """
    robot = model.description.name
    path = _path(model, None)
    if path is None:
        parameters = np.array(model.nominal_parameters, dtype=float)
        parameters[model.parameter_mask('friction')] = 0.0
        path = _path(model, parameters)
    if path is None:
        raise FeasibilityError(f"robot '{robot}' does not fall: its weight is in balance at home")
    best, longest = None, 0.0
    for catch in CATCH_SHARES:

        def build(size: float, catch: float = catch) -> SampledTrajectory:
            return _caught(model, path, max(size, 1e-3) * float(path.t[-1]), catch)

        size = 0.98 * feasible_size(model, build)
        free = size * (1.0 - RAMP_SHARE - catch)
        if size > 0.02 and free > longest:
            best, longest = build(size), free
    if best is None:
        raise FeasibilityError(
            f"robot '{robot}' cannot be caught within its limits after a free fall from home"
        )
    return best


def _path(model: ClosedChainModel, parameters: Floats | None) -> Any | None:
    """Return the actuators' positions [m, rad] over time [s] until a range is left, or None."""
    q, qd = np.array(model.home_actuators, dtype=float), np.zeros(model.n_a)
    instants = np.arange(round(PIECE / STEP) + 1) * STEP
    times, states, begin = [np.zeros(1)], [q[None]], 0.0
    while begin < LONGEST_FALL - 0.5 * PIECE:
        fall = integrate_motion(
            model,
            instants,
            q=q,
            qd=qd,
            parameters=parameters,
            method='LSODA',
            tolerance=1e-9,
            max_evaluations=MOST_EVALUATIONS,
        )
        piece = model.actuator_states(fall.motion)
        times.append(begin + fall.time[1:])
        states.append(piece.positions[1:])
        begin += PIECE
        q, qd = piece.positions[-1], piece.velocities[-1]
        if not fall.success or np.any(q < model.lower) or np.any(q > model.upper):
            break
        slow = STUCK_SPEED * model.description.transition_velocity
        if begin > STUCK_TIME and np.abs(qd).max() < slow:
            return None
    time = np.concatenate(times)
    if len(time) < 6:
        return None
    return make_interp_spline(time, np.concatenate(states), k=5)


def _caught(model: ClosedChainModel, path: Any, length: float, catch: float) -> SampledTrajectory:
    """Return the first `length` [s] of the path, with a ramp at either end."""
    ramps = np.array([2.0 * RAMP_SHARE, 2.0 * catch]) * length
    free = length * (1.0 - RAMP_SHARE - catch)
    end = ramps.sum() + free
    time = np.linspace(0.0, end, max(int(np.ceil(end / INTERVAL)), 40))
    rising = quintic_area(np.clip(time / ramps[0], 0.0, 1.0)) * ramps[0]
    falling = quintic_area(np.clip((end - time) / ramps[1], 0.0, 1.0)) * ramps[1]
    s = np.where(
        time < ramps[0],
        rising,
        np.where(time < end - ramps[1], 0.5 * ramps[0] + time - ramps[0], length - falling),
    )
    return SampledTrajectory(
        time, path(s), 'actuators', list(model.actuated_joints), model.description.name
    )
