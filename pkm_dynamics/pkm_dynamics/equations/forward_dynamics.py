"""Forward dynamics in the actuators' coordinates.

    M(q) qdd = Q + J^T w - c(q, qd) - l(q, qd, qdd)

with M = sum of J_b^T M_b J_b over the bodies, rotors added, c the actuator forces at
zero actuator acceleration (velocity products, gravity, friction) and w a wrench on the
platform. The loops need no multipliers: J_b already moves along them. Friction l that grows
with the loads of the joints depends on the accelerations, which are iterated then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import SimulationError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.body_regressors import inertia_matrices, local_columns
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.equations.wrench import PlatformWrench, body_wrench_forces
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.kinematics.kinematic_model import actuator_rates_of
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms


@dataclass(frozen=True)
class Accelerations:
    """What a state and its forces lead to."""

    actuators: Floats  # (N, n_a) [m/s^2, rad/s^2]
    platform: Floats  # (N, 6) [dv; domega] [m/s^2, rad/s^2]
    motion: PlatformMotion  # the state with its accelerations, of all joints too


def forward_dynamics(
    model: DynamicModel,
    state: PlatformMotion,
    forces: ArrayLike,
    parameters: ArrayLike | None = None,
    wrench: PlatformWrench | None = None,
) -> Accelerations:
    """Accelerations of a state under actuator forces.

    Of the N samples of the state (see `actuator_state`) positions and velocities count, and the
    states of drives that it has; the forces (N, n_a) or (n_a,) [N, N m] are positive along
    positive velocity, the standard parameters (n_p,) the description's when absent, and the
    wrench acts on the platform.
    Raises TrajectoryError where a shape is wrong, SimulationError where the mass matrix of a
    sample is not positive definite, KinematicsError where load friction locks the mechanism.
    """
    values = model.counting_parameters(parameters)
    given = checked_forces(model, forces, len(state))
    terms = ParameterTerms.of(model)
    bodies = model.body_motion(with_joint_rates(model, state))
    still = bodies.accelerated(bodies.rates_dot_of(np.zeros((len(bodies), model.n_a))))
    rubbing = model.load_friction
    factors = values[rubbing.columns_of]
    unloaded = values.copy()
    unloaded[rubbing.columns_of] = 0.0
    unmoved = still.platform_motion()
    unmoved.drive_states = state.drive_states
    load = given - model.inverse_dynamics(unmoved, unloaded)
    pushed = None
    if wrench is not None:
        load = load + body_wrench_forces(bodies, wrench)
        pushed = wrench.at_origin(state.rotation)
    mass = body_mass_matrix(bodies, terms, values, inertia_matrices(values[terms.columns]))

    def moving(qdd: Floats) -> BodyMotion:
        return bodies.accelerated(still.rates_dot + np.einsum('nva,na->nv', bodies.transfer, qdd))

    def slowed(loads: Floats) -> Floats:
        return solve_mass(mass, load - np.einsum('nla,nl->na', unit, factors * loads))

    def loads_at(qdd: Floats) -> Floats:
        return rubbing.loads(moving(qdd), model.load_parameters, pushed)

    qdd = solve_mass(mass, load)
    if factors.any():
        unit = rubbing.terms.friction_forces(bodies) @ bodies.transfer
        qdd = slowed(rubbing.settled(lambda loads: loads_at(slowed(loads)), loads_at(qdd)))
    motion = moving(qdd).platform_motion()
    motion.drive_states = state.drive_states
    return Accelerations(qdd, motion.acceleration, motion)


def mass_matrix(
    model: DynamicModel, state: PlatformMotion, parameters: ArrayLike | None = None
) -> Floats:
    """Inertia that the actuators feel (N, n_a, n_a) [kg, kg m, kg m^2], symmetric.

    Positive definite where the parameters are physical. Velocities do not matter.
    """
    values = model.counting_parameters(parameters)
    bodies, terms = model.body_motion(with_joint_rates(model, state)), ParameterTerms.of(model)
    return body_mass_matrix(bodies, terms, values, inertia_matrices(values[terms.columns]))


def body_mass_matrix(
    motion: BodyMotion, terms: ParameterTerms, parameters: Floats, inertia: Floats
) -> Floats:
    """`mass_matrix`, where the bodies' motion and inertias (k, 6, 6) are at hand."""
    jacobian = local_columns(motion, terms.bodies, motion.jacobian)
    momentum = inertia @ jacobian
    n, k, _, n_a = jacobian.shape
    left = jacobian.reshape(n, 6 * k, n_a)
    matrix = np.swapaxes(left, 1, 2) @ momentum.reshape(n, 6 * k, n_a)
    felt = terms.rotors @ motion.transfer
    matrix += np.swapaxes(felt, 1, 2) @ (parameters[terms.rotor_columns][:, None] * felt)
    return np.asarray(0.5 * (matrix + np.swapaxes(matrix, 1, 2)))


def solve_mass(matrix: Floats, load: Floats) -> Floats:
    """Accelerations (N, n_a) of mass matrices (N, n_a, n_a) under loads (N, n_a)."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        least = np.linalg.eigvalsh(matrix)[:, 0]
        raise SimulationError(
            f'the mass matrix of sample {int(np.argmin(least))} is not positive definite (least '
            f'eigenvalue {least.min():.3g}): the parameters are not physical, or an actuator '
            'moves no mass'
        ) from error
    half = np.linalg.solve(lower, load[:, :, None])
    return np.asarray(np.linalg.solve(np.swapaxes(lower, 1, 2), half)[:, :, 0])


def actuator_state(
    model: DynamicModel, q: ArrayLike, qd: ArrayLike, initial: PlatformMotion | None = None
) -> PlatformMotion:
    """State of actuator positions and velocities (N, n_a) at zero actuator acceleration."""
    return model.motion_from_actuators(q, qd, np.zeros(np.shape(q)), initial)


def with_joint_rates(model: DynamicModel, state: PlatformMotion) -> PlatformMotion:
    """Return the state with all joint positions and velocities, whatever its accelerations."""
    joints, rates = state.joint_positions, state.joint_velocities
    moving = (state.position, state.rotation, state.twist, np.zeros((len(state), 6)))
    if joints is None or rates is None:
        if not model.platform_determines_joints:
            q = model.inverse_kinematics(state.position, state.rotation)
            jacobian = model.platform_jacobian(q)
            return actuator_state(model, q, actuator_rates_of(jacobian, state.twist, 'twist'))
        joints, rates, _ = model.joint_states(PlatformMotion(*moving, joints))
    return PlatformMotion(*moving, joints, rates, np.zeros_like(joints))


def checked_forces(model: DynamicModel, forces: ArrayLike, count: int) -> Floats:
    """Actuator forces (N, n_a) of forces (N, n_a) or (n_a,)."""
    given = np.array(forces, dtype=np.float64)
    if given.shape not in ((model.n_a,), (count, model.n_a)) or not np.all(np.isfinite(given)):
        raise TrajectoryError(
            f'forces must be finite and of the shape ({model.n_a},) or ({count}, {model.n_a}) for '
            f'the joints {", ".join(model.actuated_joints)}, got {given.shape}'
        )
    return np.array(np.broadcast_to(given, (count, model.n_a)))
