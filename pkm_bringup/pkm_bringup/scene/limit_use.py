"""How much of its limits a robot uses along a motion, body by body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.singularities import SINGULAR, jacobian_condition
from pkm_dynamics.array_types import Floats

# Colours by the share that is used, told apart by the colour-blind; grey without a limit
STOPS = (
    (0.0, (0.72, 0.79, 0.87)),
    (0.5, (0.3, 0.5, 0.7)),
    (0.8, (0.94, 0.77, 0.1)),
    (1.0, (0.84, 0.37, 0.0)),
)
BEYOND, NO_LIMIT = (0.48, 0.0, 0.47), (0.79, 0.8, 0.82)
AT_LIMIT = 1.0001  # what is still at it, whatever rounding says

STROKE, VELOCITY, FORCE, CONDITION = LIMITS = ('stroke', 'velocity', 'force', 'condition')


def limit_use(model: ClosedChainModel, motion: PlatformMotion, forces: Floats) -> dict[str, Floats]:
    """Return the share of each limit that is used (N, 1 + n_b), by limit; nan where none is.

    0 is farthest from a limit, 1 is at it, more is beyond. Columns are the base and the bodies of
    the tree; what a joint uses stands at its child.

    - `stroke` of every joint: distance from the middle of its range by half the range,
    - `velocity` of every joint: speed by limit,
    - `force` of the drives: `forces` (N, n_a) [N, N m] by limit,
    - `condition` of the actuator Jacobian, at the platform: log(condition number) by the logarithm
      of the limit that motions are checked against; none for open chains.
    """
    tree, joints = model.tree_layout.tree, model.joint_states(motion)
    names = model.joint_names
    limits = [model.description.joint(name).limit for name in names]
    lower, upper = (np.array([getattr(each, end) for each in limits]) for end in ('lower', 'upper'))
    # joints by the bodies that they move
    body_of = {names[k]: 1 + body for body, k in enumerate(tree.scalar_index) if k >= 0}
    columns = [body_of[name] for name in names]
    shape = (len(motion), 1 + tree.n_b)

    def at(chosen: list[int], values: Floats) -> Floats:
        found = np.full(shape, np.nan)
        found[:, chosen] = values
        return found

    half, middle = 0.5 * (upper - lower), 0.5 * (upper + lower)
    condition = jacobian_condition(model, motion)
    platform = at([], np.zeros((len(motion), 0)))
    if condition is not None:
        platform[:, 1 + tree.platform_body] = np.log(condition) / np.log(SINGULAR)
    drives = [body_of[name] for name in model.actuated_joints]
    with np.errstate(invalid='ignore', divide='ignore'):
        stroke = np.where(np.isfinite(half), np.abs(joints.positions - middle) / half, np.nan)
        speed = np.abs(joints.velocities) / np.array([each.velocity for each in limits])
        force = np.abs(forces) / model.force_limit
    velocity = np.array([each.velocity for each in limits])
    return {
        STROKE: at(columns, stroke),
        VELOCITY: at(columns, np.where(np.isfinite(velocity), speed, np.nan)),
        FORCE: at(drives, np.where(np.isfinite(model.force_limit), force, np.nan)),
        CONDITION: platform,
    }


def closest_limit(use: dict[str, Floats]) -> Floats:
    """Return the largest use of any limit (N, n); nan where there is none."""
    largest: Callable[..., Floats] = np.fmax.reduce
    return largest(list(use.values()))


def colours_of(use: Floats) -> Floats:
    """Return red, green and blue (n, 3), 0..1, of shares of limits (n,)."""
    shares = [share for share, _ in STOPS]
    channels = np.array([colour for _, colour in STOPS]).T
    found = np.stack([np.interp(use, shares, channel) for channel in channels], axis=-1)
    found[use > AT_LIMIT] = BEYOND
    found[np.isnan(use)] = NO_LIMIT
    return found
