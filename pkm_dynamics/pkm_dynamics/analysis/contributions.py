"""What the actuator forces of a motion are made of [O 2.55, 2.76-2.88].

Inverse dynamics falls apart into groups whose sum it is:

- inertia of the platform and of the struts (every other body): terms of the
  accelerations of the independent coordinates, the platform's where it floats with six
  degrees of freedom, otherwise the actuators';
- Coriolis and centripetal forces of all bodies: products of velocities;
- weight of the platform and of the struts;
- friction of all joints, inertia of the rotors;
- forces of the drives by their position: offsets, springs, ripple.

The products of velocities are a quadratic form of the tree's rates: those of a linear and
an angular rate are Coriolis forces (a strut that lengthens while it turns), those of two
angular rates centripetal, as in [O appendix B].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.tree_geometry import solve_rows
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.equations.body_regressors import local, local_columns, wrench_regressor
from pkm_dynamics.kinematics.body_motion import BodyMotion, body_accelerations, shifted
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms

GROUPS = (
    *('platform_inertia', 'strut_inertia', 'coriolis', 'centripetal'),
    *('platform_gravity', 'strut_gravity', 'friction', 'rotor', 'drive'),
)


@dataclass(frozen=True)
class Contributions:
    """Actuator forces by dynamic group along a motion."""

    forces: dict[str, Floats]  # forces (N, n_a) [N, N m] of each of `GROUPS`
    actuated_joints: list[str]

    @property
    def total(self) -> Floats:
        """Sum (N, n_a) of all groups: the inverse dynamics."""
        return np.asarray(sum(self.forces.values()))

    def norms(self) -> dict[str, Floats]:
        """Norm (N,) over the actuators of each group's forces."""
        return {name: np.linalg.norm(force, axis=1) for name, force in self.forces.items()}

    def percent(self) -> dict[str, float]:
        """Mean norm of each group by the mean norm of the total [%] [O 2.76-2.81].

        Groups act against each other: the shares do not add up to 100.
        """
        return self._shares(np.mean)

    def variation(self) -> dict[str, float]:
        """Range of each group's norm by the mean norm of the total [%] [O 2.82-2.88].

        What does not vary along a motion is hard to tell from an offset.
        """
        return self._shares(np.ptp)

    def _shares(self, figure: Callable[[Floats], Any]) -> dict[str, float]:
        whole = max(float(np.linalg.norm(self.total, axis=1).mean()), 1e-300)
        return {name: 100.0 * float(figure(norm)) / whole for name, norm in self.norms().items()}


def contributions(
    model: ClosedChainModel, motion: PlatformMotion, parameters: ArrayLike | None = None
) -> Contributions:
    """Actuator forces of a motion by dynamic group.

    The standard parameters (n_p,) are the description's when absent; TrajectoryError where
    their shape is wrong.
    """
    values = model.counting_parameters(parameters)
    terms, bodies = ParameterTerms.of(model), model.body_motion(motion)
    forces_of = _BodyForces(bodies, terms, values)
    tree = bodies.geometry.layout.tree
    is_platform = terms.bodies == tree.platform_body
    independent = _independent(model, bodies)

    bias = _velocity_accelerations(bodies, independent, bodies.rates)
    inertia = forces_of.at(bodies.rates_dot - bias)
    gravity = forces_of.in_gravity(np.asarray(model.description.gravity))
    products = forces_of.of_velocity(bias, bodies.rates)
    turning = np.where(tree.lengths, 0.0, bodies.rates)
    own = _velocity_accelerations(bodies, independent, turning)
    centripetal = forces_of.of_velocity(own, turning)
    friction = np.einsum('nfv,f->nv', terms.friction_forces(bodies), values[terms.friction_columns])
    factors = values[model.load_friction.columns_of]
    if factors.any():
        loaded = model.load_friction.tree_forces(bodies, model.load_parameters)
        friction += np.einsum('nlv,l->nv', loaded, factors)
    velocities = bodies.rates[:, model.mechanism.actuated]
    past = model.past_forces(motion, velocities, values)
    driven = values[terms.rotor_columns] * (bodies.rates_dot @ terms.rotors.T)
    found = {
        'platform_inertia': inertia[:, is_platform].sum(axis=1),
        'strut_inertia': inertia[:, ~is_platform].sum(axis=1),
        'coriolis': (products - centripetal).sum(axis=1),
        'centripetal': centripetal.sum(axis=1),
        'platform_gravity': gravity[:, is_platform].sum(axis=1),
        'strut_gravity': gravity[:, ~is_platform].sum(axis=1),
        'friction': np.einsum('nv,nva->na', friction, bodies.transfer) + past,
        'rotor': np.einsum('nr,nra->na', driven, terms.rotors @ bodies.transfer),
        'drive': model.drive_forces.forces(
            bodies.joints[:, model.mechanism.actuated_scalar], values[model.drive_columns]
        ),
    }
    return Contributions(found, list(model.actuated_joints))


class _BodyForces:
    """Actuator forces (N, k, n_a) of each body with inertia, for several accelerations."""

    def __init__(self, motion: BodyMotion, terms: ParameterTerms, values: Floats) -> None:
        self.motion, self.terms = motion, terms
        self.values = values[terms.columns]
        self.jacobian = local_columns(motion, terms.bodies, motion.jacobian)

    def _forces(self, twist: Floats, acceleration: Floats) -> Floats:
        chosen = self.terms.bodies
        unit = wrench_regressor(
            local(self.motion, chosen, twist), local(self.motion, chosen, acceleration)
        )
        wrench = np.einsum('nkip,kp->nki', unit, self.values)
        return np.asarray(np.einsum('nkia,nki->nka', self.jacobian, wrench))

    def at(self, rates_dot: Floats) -> Floats:
        """From rest, at accelerations (N, n_v)."""
        return self.of_velocity(rates_dot, np.zeros_like(rates_dot))

    def in_gravity(self, gravity: Floats) -> Floats:
        """At rest in gravity (3,)."""
        zero = np.zeros_like(self.motion.twist)
        upward = zero.copy()
        upward[..., :3] = -gravity
        return self._forces(zero, upward)

    def of_velocity(self, rates_dot: Floats, rates: Floats) -> Floats:
        """At rates and accelerations (N, n_v), without gravity."""
        geometry = self.motion.geometry
        spatial = geometry.twists(rates)
        acceleration = body_accelerations(geometry, rates, rates_dot, spatial)
        return self._forces(shifted(spatial, geometry.position), acceleration)


def _velocity_accelerations(bodies: BodyMotion, independent: Integers, rates: Floats) -> Floats:
    """Accelerations (N, n_v) that rates (N, n_v) need at zero independent acceleration."""
    geometry = bodies.geometry
    twists = geometry.twists(rates)
    change = geometry.row_jacobian_rate(twists, geometry.screw_rates(twists))
    zero = np.zeros((len(rates), len(independent), 1))
    solution = solve_rows(geometry.row_jacobian, independent, -change @ rates[:, :, None], zero)
    return np.asarray(solution[:, :, 0])


def _independent(model: ClosedChainModel, bodies: BodyMotion) -> Integers:
    tree = bodies.geometry.layout.tree
    if not model.platform_determines_joints:
        return bodies.actuated
    return np.arange(tree.n_v)[tree.floating]
