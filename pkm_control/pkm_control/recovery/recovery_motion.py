"""The way back from outside the strokes, where no goal is feasible."""

from __future__ import annotations

import numpy as np

from pkm_control.control_types import ControlFault, ErrorCode
from pkm_control.recovery.slow_motion import check_way, slow_way
from pkm_description.errors import FeasibilityError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import PointToPoint

INSET = 0.01  # of the stroke: how far within it the way ends


def recovery_motion(model: ClosedChainModel, positions: Floats) -> PointToPoint:
    """Return the slow straight way of the actuators (n_a,) to just within their strokes.

    Those within stay where they are. Raises ControlFault, INFEASIBLE, where nothing is outside,
    or the loops do not close on the way, or the drives cannot hold the robot there.
    """
    lower, upper = np.asarray(model.lower), np.asarray(model.upper)
    outside = (positions < lower) | (positions > upper)
    if not outside.any():
        raise ControlFault(ErrorCode.INFEASIBLE, 'all joints are within their strokes')
    inset = INSET * (upper - lower)
    target = np.where(outside, np.clip(positions, lower + inset, upper - inset), positions)
    way = slow_way(model, positions, target, 'actuators')
    try:
        check_way(model, way)
    except FeasibilityError as error:
        raise ControlFault(ErrorCode.INFEASIBLE, str(error)) from error
    return way
