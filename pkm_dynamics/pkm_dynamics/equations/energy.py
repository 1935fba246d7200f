"""Energy, linear in the standard parameters and free of accelerations [O 2.56, 2.57].

Kinetic and potential energy of bodies, rotors and drives (springs, ripple) are
E = e(q, qd) p. Between two samples it changes by the work of the actuators (and of a
wrench on the platform) less the heat of friction:

    e(k+1) p - e(k) p + (integral of d(q, qd) dt) p = integral of Q . qd dt

where d p = sum over the joints of friction force times rate. What bristles of presliding give
back counts as heat that is negative. One row an interval, in the
unknown p; [O 2.56] is the same without friction and with Q . delta q for the work. At
each sample, Q . qd = dE/dt + d p holds exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.body_regressors import (
    local,
    momentum_regressor,
    potential_regressor,
    spread,
)
from pkm_dynamics.equations.forward_dynamics import checked_forces, with_joint_rates
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms


def energy_balance(model: ClosedChainModel, motion: PlatformMotion, time: ArrayLike) -> Floats:
    """Regressor (N - 1, n_p) of the energy balance between samples [J].

    energy_balance @ parameters equals `actuator_work` of the same N consecutive samples at
    times (N,) [s], whose accelerations matter for the loads of joints alone. Friction with a
    past needs the states of the drives (`with_drive_states`), else it slides.
    """
    bodies = model.body_motion(with_joint_rates(model, motion))
    terms = ParameterTerms.of(model)
    kinetic, potential = body_energy_parts(model, bodies, terms)
    if len(model.load_friction):
        bodies = model.body_motion(motion)
    heat = body_dissipation(model, bodies, terms, model.past_of(motion))
    columns = model.parameter_mask('friction') | model.parameter_mask('drive')
    rows = np.diff(kinetic + potential, axis=0)
    rows[:, columns] += _interval_integrals(_times(time, len(motion)), heat[:, columns])
    return rows


def actuator_work(
    model: ClosedChainModel, motion: PlatformMotion, time: ArrayLike, forces: ArrayLike
) -> Floats:
    """Work (N - 1,) of the actuators between samples [J], at times (N,) [s].

    `forces` (N, n_a) [N, N m] are those of the actuators; add `wrench_forces` where a wrench
    acts on the platform.
    """
    given = checked_forces(model, forces, len(motion))
    states = model.actuator_states(with_joint_rates(model, motion))
    power = np.sum(given * states.velocities, axis=1)
    return _interval_integrals(_times(time, len(motion)), power)


def body_energy_parts(
    model: ClosedChainModel, motion: BodyMotion, terms: ParameterTerms
) -> tuple[Floats, Floats]:
    """Kinetic and potential energy (N, n_p) each per standard parameter [J].

    The energy is zero for a body at rest in the base's origin; friction has none. Forces of
    drives by their position (offset, spring, ripple) have a potential.
    """
    twist = local(motion, terms.bodies, motion.twist)
    blocks = 0.5 * (twist[..., None, :] @ momentum_regressor(twist))[..., 0, :]
    kinetic = spread(terms, blocks, model.n_p)
    kinetic[:, terms.rotor_columns] = 0.5 * (motion.rates @ terms.rotors.T) ** 2
    height = potential_regressor(motion, terms, np.asarray(model.description.gravity))
    potential = spread(terms, height, model.n_p)
    positions = motion.joints[:, model.mechanism.actuated_scalar]
    potential[:, model.drive_columns] = model.drive_forces.potentials(positions)
    for part in (kinetic, potential):
        model.count_averages(part)
    return kinetic, potential


def body_dissipation(
    model: ClosedChainModel, motion: BodyMotion, terms: ParameterTerms, past: Floats | None = None
) -> Floats:
    """Power that friction takes (N, n_p) per standard parameter [W].

    With the states (N, n_a + n_w) of drives that have a past, negative where bristles give it
    back; never so without them.
    """
    out = np.zeros((len(motion), model.n_p))
    forces = terms.friction_forces(motion)
    out[:, terms.friction_columns] = np.einsum('nfv,nv->nf', forces, motion.rates)
    rubbing = model.load_friction
    if len(rubbing):
        forces = rubbing.tree_forces(motion, model.load_parameters)
        out[:, rubbing.columns_of] = np.einsum('nlv,nv->nl', forces, motion.rates)
    if past is not None:
        rates, states = motion.actuator_rates, model.drive_states
        states.write_powers(out, past, rates)
        warm = model.drive_columns.start + model.drive_forces.warm
        out[:, warm] = states.heat(past, rates) * rates[:, states.warm_axes]
    return out


def _times(time: ArrayLike, count: int) -> Floats:
    times = checked_times(time)
    if len(times) != count:
        raise TrajectoryError(f'time has {len(times)} samples, the motion {count}')
    return times


def checked_times(time: ArrayLike) -> Floats:
    """Times (N,) [s], at least two, finite and increasing."""
    times = np.asarray(time, dtype=float)
    if times.ndim != 1 or len(times) < 2:
        raise TrajectoryError(f'time must have the shape (N,) with N >= 2, got {times.shape}')
    steps = np.diff(times)
    if not np.all(np.isfinite(times)) or np.any(steps <= 0.0):
        raise TrajectoryError(
            f'time must increase; it does not after sample {int(np.argmin(steps > 0.0))}'
        )
    return times


def _interval_integrals(times: Floats, values: Floats) -> Floats:
    """Integrals of values (N, ...) over the N - 1 intervals of times (N,) [s], by a cubic spline.

    Its error is of order h^4 on smooth signals.
    """
    if len(times) < 4:  # too few for a spline: trapezoids
        steps = np.diff(times).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(0.5 * steps * (values[1:] + values[:-1]))
    total = CubicSpline(times, values, axis=0).antiderivative()(times)
    return np.asarray(np.diff(total, axis=0))
