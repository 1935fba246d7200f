"""Wrenches that bodies and joints need for a motion, about the base's origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkm_description.kinematic_tree import BASE
from pkm_dynamics.equations.body_regressors import local, wrench_regressor
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.kinematics.tree_geometry import cross
from pkm_dynamics.parameters.parameter_terms import ParameterTerms

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel

Floats = NDArray[np.float64]


class JointLoads:
    """What the bodies and joints need for their motion.

    `single` (N, n_b, 6): wrenches on the bodies; `needed`: on all that hangs on each
    body, friction of the cut joints included; `tau` (N, n_v): generalised forces;
    `cut_friction` (N, n_c, 6): wrenches that overcome the friction of each constraint.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        motion: BodyMotion,
        values: Floats,
        wrench: PlatformWrench | None,
    ) -> None:
        terms = ParameterTerms.of(model)
        tree, n = motion.geometry.layout.tree, len(motion)
        self.single = needed_wrenches(model, motion, terms, values)
        if wrench is not None:
            platform = tree.platform_body
            load = wrench.at_origin(motion.rotation[:, platform])
            self.single[:, platform] -= about_base(load, motion.position[:, platform])
        self.cut_friction = np.zeros((n, len(model.description.constraints), 6))
        at_joints = np.zeros((n, tree.n_v))
        for term in terms.friction:
            value = values[term.column]
            if term.row < 0:
                rate = motion.rates[:, term.coordinate]
                at_joints[:, term.coordinate] += value * terms.factor(term.kind, rate)
            else:
                own = tree.row_constraint[term.row]
                self.cut_friction[:, own] += value * terms.friction_moments(motion, term)
        rotors = terms.rotor_coordinates
        at_joints[:, rotors] += values[terms.rotor_columns] * motion.rates_dot[:, rotors]
        total = self.single.copy()
        for own, constraint in enumerate(model.description.constraints):
            for link, sign in ((constraint.child, 1.0), (constraint.parent, -1.0)):
                if link in motion.names:
                    total[:, motion.names.index(link)] += sign * self.cut_friction[:, own]
        self.needed = subtree_sums(motion, total)
        carried = self.needed[:, motion.geometry.layout.body]
        self.tau = np.einsum('nki,nki->nk', motion.geometry.screws, carried) + at_joints


def needed_wrenches(
    model: ClosedChainModel, motion: BodyMotion, terms: ParameterTerms, values: Floats
) -> Floats:
    """Wrenches (N, n_b, 6) that move the bodies against gravity, about the base's origin."""
    acceleration = motion.acceleration.copy()
    acceleration[..., :3] -= model.description.gravity
    unit = wrench_regressor(
        local(motion, terms.bodies, motion.twist), local(motion, terms.bodies, acceleration)
    )
    own = np.einsum('nkip,kp->nki', unit, values[terms.columns])
    turn = motion.rotation[:, terms.bodies]
    n, k = own.shape[:2]
    base = (turn[:, :, None] @ own.reshape(n, k, 2, 3, 1)).reshape(n, k, 6)
    out = np.zeros((n, len(motion.names), 6))
    out[:, terms.bodies] = about_base(base, motion.position[:, terms.bodies])
    return out


def about_base(wrench: Floats, point: Floats) -> Floats:
    """Wrenches (..., 6) about the base's origin of those about `point` (..., 3)."""
    moment = wrench[..., 3:] + cross(point, wrench[..., :3])
    return np.concatenate([wrench[..., :3], moment], axis=-1)


def subtree_sums(motion: BodyMotion, wrench: Floats) -> Floats:
    """Sum (N, n_b, 6) of the wrenches of each body and of all that hang on it."""
    total = wrench.copy()
    parent = motion.geometry.layout.tree.parent
    for body in range(len(parent) - 1, -1, -1):
        if parent[body] != BASE:
            total[:, parent[body]] += total[:, body]
    return total
