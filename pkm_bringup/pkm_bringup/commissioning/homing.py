"""Offsets of the encoders of a robot that stands still where one knows it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pkm_description import Description, DescriptionError
from pkm_description.transmissions.calibration import homed
from pkm_description.transmissions.motor_side import side_of
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

STANDS = 1e-3  # [m, rad] by which what an encoder says may change: noise, and no motion


def homed_at(
    model: ClosedChainModel,
    heard: Iterable[tuple[Sequence[str], Sequence[float]]],
    at: Sequence[float] | None = None,
) -> Description:
    """Return the description with the offsets of a robot that stands still.

    Parameters
    ----------
    model
        The robot, with the signs of its encoders.
    heard
        Names and positions of joint states [m, rad], as the encoders say them.
    at
        Where the actuated joints are (n_a,) [m, rad], by default at home.

    Raises
    ------
    DescriptionError
        Nothing was heard of an encoder, it moved, or `at` has another number of joints.
    """
    description = model.description
    joints = model.home_actuators if at is None else np.asarray(at, dtype=float)
    if len(joints) != len(model.actuated_joints):
        raise DescriptionError(
            f'{len(joints)} positions are given of the {len(model.actuated_joints)} joints '
            f'{", ".join(model.actuated_joints)}'
        )
    return homed(description, _rest(said_names(description), heard), joints)


def said_names(description: Description) -> tuple[str, ...]:
    """Names that the encoders have in the joint states, in the order of the actuated joints."""
    motors = side_of(description, description.side, {})
    return tuple(description.actuated_joints) if motors is None else motors.motors


def _rest(names: Sequence[str], heard: Iterable[tuple[Sequence[str], Sequence[float]]]) -> Floats:
    """Mean of what was heard (n_a,), whose range must be that of something at rest."""
    by_name = [dict(zip(*each, strict=False)) for each in heard]
    rows = [
        [each[name] for name in names] for each in by_name if all(name in each for name in names)
    ]
    values = np.array(rows, dtype=float).reshape(-1, len(names))
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        raise DescriptionError(
            f'no joint state with a number for each of {", ".join(names)} was heard'
        )
    moved = np.ptp(values, axis=0)
    if moved.max() > STANDS:
        axis = int(np.argmax(moved))
        raise DescriptionError(
            f"'{names[axis]}' moved by {moved[axis]:.3g} m or rad, but the robot must stand still"
        )
    return np.asarray(values.mean(axis=0))
