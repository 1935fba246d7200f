"""Gains of the joint servo from a bandwidth, a damping ratio and the model's inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.description import frozen
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.actuator_inertia import effective_inertia

BANDWIDTH = 10.0  # [Hz] at twice the gains of this, a cycle of delay is still left to instability
DAMPING = 0.7  # 5 % overshoot of an axis on its own
VELOCITY_CUTOFF = 150.0  # [Hz] of the low pass on the derivative
# Share of its stroke, and distances, that a joint may be off at most. What a servo of the usual
# bandwidth leaves of the shipped excitations without a model is half of these at most.
STROKE_SHARE = 0.15
SLIDING, ROTATING = 0.05, 0.2  # [m], [rad]


class GainError(PkmError):
    """Gains of a servo make no sense."""


@dataclass(frozen=True)
class ServoGains:
    """Diagonal gains of a joint PD."""

    proportional: Floats  # (n_a,) [N/m, N m/rad]
    derivative: Floats  # (n_a,) [N s/m, N m s/rad]
    inertia: Floats  # (n_a,) [kg, kg m^2] that one actuator moves at home while the others are free
    bandwidth: float  # [Hz] natural frequency of each axis with that inertia at scale 1
    damping: float  # damping ratio at scale 1
    scale: float  # factor on both gains


def servo_gains(
    model: ClosedChainModel,
    bandwidth: float = BANDWIDTH,
    damping: float = DAMPING,
    scale: float = 1.0,
) -> ServoGains:
    """Return gains that give each axis, on its own, a natural frequency [Hz] and damping.

    With w = 2 pi bandwidth and m_i of `effective_inertia`, Kp_i = scale m_i w^2 and
    Kd_i = scale 2 damping m_i w. The axes of a parallel robot are coupled, so that its modes
    lie about `bandwidth`. Doubling `scale` doubles both gains: the natural frequency and the
    damping ratio grow by sqrt(2). Raises GainError for a number that is not positive and
    finite, and SimulationError where the inertia matrix is not positive definite.
    """
    for name, value in (('bandwidth', bandwidth), ('damping', damping), ('scale', scale)):
        if not np.isfinite(value) or value <= 0.0:
            raise GainError(f'{name}: a positive number is needed, got {value}')
    inertia = effective_inertia(model)
    w = 2.0 * np.pi * bandwidth
    stiffness, damper = scale * inertia * w**2, scale * 2.0 * damping * inertia * w
    arrays = frozen(stiffness), frozen(damper), frozen(inertia)
    return ServoGains(*arrays, float(bandwidth), float(damping), float(scale))


def largest_errors(model: ClosedChainModel) -> Floats:
    """Largest errors (n_a,) [m, rad] of the joints that are allowed where nobody says others."""
    joints = [model.description.joint(name) for name in model.actuated_joints]
    usual = np.array([SLIDING if joint.type == 'prismatic' else ROTATING for joint in joints])
    return np.minimum(usual, STROKE_SHARE * (np.asarray(model.upper) - np.asarray(model.lower)))
