"""Gains of the joint servo from a bandwidth, a damping ratio and the model's inertia."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import PkmError

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

BANDWIDTH = 10.0  # [Hz]
DAMPING = 0.8


class GainError(PkmError):
    """Gains of a servo make no sense."""


@dataclass(frozen=True)
class ServoGains:
    """Diagonal gains of a joint PD.

    Attributes
    ----------
    proportional : (n_a,) [N/m, N m/rad]
    derivative : (n_a,) [N s/m, N m s/rad]
    inertia : (n_a,) [kg, kg m^2]
        Effective inertia that the gains were computed for.
    bandwidth : float [Hz]
        Natural frequency of each axis with that inertia at scale 1.
    damping : float
        Damping ratio at scale 1.
    scale : float
        Factor on both gains.
    """

    proportional: Array
    derivative: Array
    inertia: Array
    bandwidth: float
    damping: float
    scale: float = 1.0


def inertia_matrix(model: ClosedChainModel, positions: ArrayLike | None = None) -> Array:
    """Inertia of the mechanism as the actuators feel it, (n_a, n_a) [kg, kg m^2].

    Column i is the change of the actuator forces at rest when actuator i accelerates
    by one unit and the others do not.

    Parameters
    ----------
    positions : (n_a,), optional
        Actuator positions; home by default.
    """
    q = np.asarray(model.home_actuators if positions is None else positions, dtype=float)
    count = len(q)
    at_rest = np.tile(q, (count + 1, 1))
    accelerations = np.vstack([np.zeros(count), np.eye(count)])
    motion = model.motion_from_actuators(at_rest, np.zeros_like(at_rest), accelerations)
    forces = model.inverse_dynamics(motion)
    return (forces[1:] - forces[0]).T


def servo_gains(
    model: ClosedChainModel,
    bandwidth: float = BANDWIDTH,
    damping: float = DAMPING,
    scale: float = 1.0,
) -> ServoGains:
    """Gains that give each axis, on its own, the wanted natural frequency and damping.

    With w = 2 pi bandwidth and m_i the diagonal of `inertia_matrix` at home,
    Kp_i = scale m_i w^2 and Kd_i = scale 2 damping m_i w. The axes of a parallel robot
    are coupled; `modal_frequencies` says what the coupling makes of it. Doubling
    `scale` doubles both gains: the bandwidth and the damping ratio grow by sqrt(2).

    Raises
    ------
    GainError
        For a bandwidth, damping or scale that is not positive and finite.
    """
    for name, value in (('bandwidth', bandwidth), ('damping', damping), ('scale', scale)):
        if not np.isfinite(value) or value <= 0.0:
            raise GainError(f'{name}: a positive number is needed, got {value}')
    inertia = np.diag(inertia_matrix(model)).copy()
    if not (np.isfinite(inertia).all() and (inertia > 0.0).all()):
        joint = model.actuated_joints[int(np.argmin(np.where(inertia > 0.0, 1, 0)))]
        raise GainError(f'{joint}: the model gives no positive inertia at home')
    w = 2.0 * np.pi * bandwidth
    arrays = (scale * inertia * w**2, scale * 2.0 * damping * inertia * w, inertia)
    for array in arrays:
        array.setflags(write=False)
    return ServoGains(*arrays, float(bandwidth), float(damping), float(scale))


def modal_frequencies(model: ClosedChainModel, gains: ServoGains) -> Array:
    """Undamped natural frequencies (n_a,) [Hz] of the coupled servo at home, ascending."""
    stiffness = np.sqrt(gains.proportional)
    flexibility = np.linalg.inv(inertia_matrix(model))
    symmetric = stiffness[:, None] * 0.5 * (flexibility + flexibility.T) * stiffness
    return np.sqrt(np.maximum(np.linalg.eigvalsh(symmetric), 0.0)) / (2.0 * np.pi)
