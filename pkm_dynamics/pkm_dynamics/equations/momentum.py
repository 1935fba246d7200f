"""The equations of motion without accelerations: generalised momentum.

With P = dT/dqd = M(q) qd the momentum of the actuators' coordinates,

    d/dt P = Q + dT/dq - dV/dq - friction

Both P and the right-hand terms are linear in the standard parameters p and depend on
positions and velocities only: d/dt (Y_P p) + Y_R p = Q. For one body of momentum h_b,
P = J_b^T h_b and dT/dq = dJ_b^T h_b, because d/dt P = J_b^T dh_b + dJ_b^T h_b and the
first term is what Newton and Euler ask of the forces. Integrated between samples or
passed through a low pass w / (s + w), the time derivative disappears:

    [Y_P(k+1) - Y_P(k) + integral of Y_R dt] p = integral of Q dt
    [w (Y_P - L Y_P) + L Y_R] p = L Q
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import TrajectoryError
from pkm_dynamics.equations.body_regressors import local, local_columns, momentum_regressor, spread
from pkm_dynamics.equations.body_regressors import wrench_regressor as wrenches
from pkm_dynamics.equations.forward_dynamics import with_joint_rates
from pkm_dynamics.equations.quadrature import interval_integrals, low_pass
from pkm_dynamics.kinematics.body_motion import shifted_columns
from pkm_dynamics.parameters.parameter_terms import ParameterTerms

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.motion import PlatformMotion

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MomentumForm:
    """d/dt (momentum @ p) + rest @ p = Q, the actuator forces.

    Attributes
    ----------
    momentum : (N, n_a, n_p) [kg m/s, kg m^2/s per parameter]
        Generalised momentum.
    rest : (N, n_a, n_p) [N, N m per parameter]
        dV/dq - dT/dq, and friction.
    """

    momentum: Floats
    rest: Floats

    def intervals(self, time: ArrayLike, rule: str = 'spline') -> Floats:
        """Regressor (N - 1, n_a, n_p) of the impulses between samples [N s, N m s].

        It times the parameters equals `interval_integrals(time, forces, rule)`.
        """
        self._check(time)
        return np.diff(self.momentum, axis=0) + interval_integrals(time, self.rest, rule)

    def filtered(self, time: ArrayLike, cutoff: float) -> Floats:
        """Regressor (N, n_a, n_p) of low-passed forces; `cutoff` [Hz].

        It times the parameters equals `low_pass(time, forces, cutoff)`.
        """
        self._check(time)
        smooth = low_pass(time, self.momentum, cutoff, self.momentum[0])
        change = 2.0 * np.pi * cutoff * (self.momentum - smooth)
        return np.asarray(change + low_pass(time, self.rest, cutoff))

    def _check(self, time: ArrayLike) -> None:
        if np.shape(time) != (len(self.momentum),):
            raise TrajectoryError(
                f'time has the shape {np.shape(time)}, the motion {len(self.momentum)} samples'
            )


def momentum_form(model: ClosedChainModel, motion: PlatformMotion) -> MomentumForm:
    """Momentum and remaining forces per standard parameter; accelerations do not matter."""
    bodies = model.body_motion(with_joint_rates(model, motion))
    terms, chosen = ParameterTerms.of(model), ParameterTerms.of(model).bodies
    unit = momentum_regressor(local(bodies, chosen, bodies.twist))
    jacobian = np.swapaxes(local_columns(bodies, chosen, bodies.jacobian), -1, -2)
    momentum = spread(terms, jacobian @ unit, model.n_p)
    rotors = terms.rotor_coordinates
    felt = np.swapaxes(bodies.transfer[:, rotors], 1, 2)
    momentum[..., terms.rotor_columns] = felt * bodies.rates[:, None, rotors]

    turning = shifted_columns(bodies.jacobian_rate(), bodies.position)
    change = np.swapaxes(local_columns(bodies, chosen, turning), -1, -2)
    still = np.zeros_like(bodies.twist)
    still[..., :3] = -np.asarray(model.description.gravity)
    weight = wrenches(np.zeros((len(bodies), len(chosen), 6)), local(bodies, chosen, still))
    rest = spread(terms, jacobian @ weight - change @ unit, model.n_p)
    friction = terms.friction_forces(bodies) @ bodies.transfer
    rest[..., terms.friction_columns] = np.swapaxes(friction, 1, 2)
    return MomentumForm(momentum, rest)
