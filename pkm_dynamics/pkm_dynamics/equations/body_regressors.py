"""Wrench, momentum and energy of single bodies, linear in their ten parameters.

In body axes and about the body frame's origin, with m the mass, h = m c the first moments
and I the inertia about that origin [A, H]:

    wrench    f = m a + alpha x h + omega x (omega x h)
              n = h x a + I alpha + omega x I omega        (a less gravity)
    momentum  p = m v + omega x h,  l = h x v + I omega
    energy    T = (v . p + omega . l) / 2,  V = -g . (m r + R h)
"""

from __future__ import annotations

import numpy as np

from pkm_description.tree_geometry import cross, skew
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms


def inertia_columns(vector: Floats) -> Floats:
    """Matrices (..., 3, 6): I v for I given as Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    out = np.zeros((*vector.shape, 6))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = x, y, z
    out[..., 1, 1], out[..., 1, 3], out[..., 1, 4] = x, y, z
    out[..., 2, 2], out[..., 2, 4], out[..., 2, 5] = x, y, z
    return out


def _assembled(mass: Floats, force: Floats, moment: Floats, inertia: Floats) -> Floats:
    out = np.zeros((*mass.shape[:-1], 6, 10))
    out[..., :3, 0] = mass
    out[..., :3, 1:4] = force
    out[..., 3:, 1:4] = moment
    out[..., 3:, 4:] = inertia
    return out


def local(motion: BodyMotion, bodies: Integers, vectors: Floats) -> Floats:
    """Express twists or accelerations (N, n_b, 6) of some bodies in their own axes (N, k, 6)."""
    turn = motion.rotation[:, bodies]
    chosen = vectors[:, bodies].reshape(len(motion), len(bodies), 2, 3)
    return np.asarray((chosen @ turn).reshape(len(motion), len(bodies), 6))


def local_columns(motion: BodyMotion, bodies: Integers, jacobian: Floats) -> Floats:
    """Express the columns of Jacobians (N, n_b, 6, n_a) in the bodies' axes (N, k, 6, n_a)."""
    turn = np.swapaxes(motion.rotation[:, bodies], -1, -2)
    chosen = jacobian[:, bodies]
    return np.concatenate([turn @ chosen[..., :3, :], turn @ chosen[..., 3:, :]], axis=-2)


def wrench_regressor(twist: Floats, acceleration: Floats) -> Floats:
    """Wrenches (..., 6, 10) per parameter from local twists and accelerations (..., 6)."""
    omega, turn = twist[..., 3:], skew(twist[..., 3:])
    a, alpha = acceleration[..., :3], acceleration[..., 3:]
    inertia = inertia_columns(alpha) + turn @ inertia_columns(omega)
    return _assembled(a, skew(alpha) + turn @ turn, -skew(a), inertia)


def momentum_regressor(twist: Floats) -> Floats:
    """Momenta (..., 6, 10) [p; l] per parameter from local twists (..., 6)."""
    v, omega = twist[..., :3], twist[..., 3:]
    return _assembled(v, skew(omega), -skew(v), inertia_columns(omega))


def inertia_matrices(parameters: Floats) -> Floats:
    """Matrices (k, 6, 6) from local twists to momenta of bodies with parameters (k, 10)."""
    basis = momentum_regressor(np.eye(6))
    return np.asarray(np.einsum('jip,kp->kij', basis, parameters))


def body_wrenches(motion: BodyMotion, bodies: Integers, inertia: Floats, gravity: Floats) -> Floats:
    """Wrenches (N, k, 6) that some bodies of inertias (k, 6, 6) need, in their own axes.

    About their own origins, with gravity (3,) overcome.
    """
    acceleration = motion.acceleration.copy()
    acceleration[..., :3] -= gravity
    # With A = [a - omega x v; alpha]: wrench = M A + V x* (M V).
    twist = local(motion, bodies, motion.twist)
    spatial = local(motion, bodies, acceleration)
    v, omega = twist[..., :3], twist[..., 3:]
    spatial[..., :3] -= cross(omega, v)
    momentum = (inertia @ twist[..., None])[..., 0]
    wrench = (inertia @ spatial[..., None])[..., 0]
    wrench[..., :3] += cross(omega, momentum[..., :3])
    wrench[..., 3:] += cross(v, momentum[..., :3]) + cross(omega, momentum[..., 3:])
    return np.asarray(wrench)


def spread(terms: ParameterTerms, blocks: Floats, n_p: int) -> Floats:
    """Put blocks (N, k, ..., 10) of the bodies into columns (N, ..., n_p)."""
    out = np.zeros((len(blocks), *blocks.shape[2:-1], n_p))
    for index, columns in enumerate(terms.columns):
        out[..., columns] = blocks[:, index]
    return out


def potential_regressor(motion: BodyMotion, terms: ParameterTerms, gravity: Floats) -> Floats:
    """Potential energy (N, k, 10) per parameter of each body, zero at the base's origin."""
    out = np.zeros((len(motion), len(terms.bodies), 10))
    out[..., 0] = -motion.position[:, terms.bodies] @ gravity
    out[..., 1:4] = -gravity @ motion.rotation[:, terms.bodies]
    return out
