"""Where each standard parameter acts: bodies, joints, closing constraints, rotors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pkm_description.tree_geometry import TreeGeometry, cross
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.friction_laws import smoothed_sign
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.kinematics.kinematic_model import KinematicModel
from pkm_dynamics.parameters import parameter_table as table


class FrictionTerm(NamedTuple):
    """One friction parameter of a joint of the tree or of a closing constraint.

    `coordinate` is -1 for a constraint, whose first closing `row` is -1 for a joint.
    Both are -1 for a motor, whose `shaft` (n_v,) gives its rate by those of the tree.
    `axis` (3,) is that of a revolute or prismatic constraint in its parent link, zero
    where the rotation is free.
    """

    kind: int
    column: int
    coordinate: int
    row: int
    axis: Floats
    slides: bool
    shaft: Floats


@dataclass(frozen=True)
class ParameterTerms:
    """Columns of the regressors and what they belong to."""

    bodies: Integers  # (k,) bodies with inertial parameters
    columns: Integers  # (k, 10) their parameters m, mx, ..., Izz
    friction: tuple[FrictionTerm, ...]
    rotors: Floats  # (n_rotors, n_v) their rates by those of the tree
    rotor_columns: Integers  # (n_rotors,)
    transition_velocity: float

    @classmethod
    def of(cls, model: KinematicModel) -> ParameterTerms:
        """Terms of a model: those that its compiled code has."""
        m = model.mechanism
        columns = (m.friction_target, m.friction_where, m.friction_kind, m.friction_parameter)
        friction = [
            _friction_term(model, kind, column, target, where)
            for target, where, kind, column in np.transpose(columns).tolist()
        ]
        bodies = m.inertial_body
        return cls(
            bodies,
            np.arange(10 * len(bodies)).reshape(-1, 10),  # the first parameters, body by body
            tuple(friction),
            m.shafts[m.rotor_shaft],
            m.rotor_parameter,
            float(m.transition_velocity),
        )

    def of_loads(self, model: KinematicModel) -> ParameterTerms:
        """Return the same bodies with the load factors for friction, Coulomb friction of 1 N."""
        loaded = model.loaded_places
        friction = [
            _friction_term(model, table.COULOMB, column, place.target, place.where)
            for column, place in enumerate(loaded, start=model.n_p - len(loaded))
        ]
        return replace(self, friction=tuple(friction))

    @property
    def friction_columns(self) -> Integers:
        """Columns (n_f,) of the friction terms."""
        return np.array([term.column for term in self.friction], dtype=np.int64)

    def friction_moments(self, motion: BodyMotion, term: FrictionTerm) -> Floats:
        """Wrench (N, 6) about the base's origin that overcomes a constraint's friction.

        Per unit of the parameter; it acts from the parent on the child.
        """
        tree = motion.geometry.layout.tree
        parent, child = tree.row_parent[term.row], tree.row_child[term.row]
        spatial = np.concatenate([motion.spatial_twist, np.zeros((len(motion), 1, 6))], axis=1)
        twist = spatial[:, child] - spatial[:, parent]
        point = motion.geometry.row_arm[:, term.row]
        if not term.axis.any():
            spin = twist[:, 3:]
            size = np.linalg.norm(spin, axis=1, keepdims=True)
            if term.kind != table.VISCOUS:
                spin = spin / np.maximum(size, max(self.transition_velocity, 1e-12))
            return np.concatenate([np.zeros_like(spin), spin], axis=1)
        axis = constraint_axis(motion.geometry, term)
        moving = twist[:, :3] + cross(twist[:, 3:], point) if term.slides else twist[:, 3:]
        size = self.factor(term.kind, np.sum(axis * moving, axis=1))[:, None]
        if term.slides:
            return np.concatenate([size * axis, size * cross(point, axis)], axis=1)
        return np.concatenate([np.zeros_like(axis), size * axis], axis=1)

    def friction_forces(self, motion: BodyMotion) -> Floats:
        """Generalised forces (N, n_f, n_v) of the tree that overcome a unit of each term."""
        geometry = motion.geometry
        out = np.zeros((len(motion), len(self.friction), geometry.layout.tree.n_v))
        coordinates = np.array([term.coordinate for term in self.friction], dtype=np.int64)
        for kind in (table.COULOMB, table.VISCOUS, table.COULOMB_POSITIVE, table.COULOMB_NEGATIVE):
            here = np.array(
                [t.kind == kind and t.coordinate >= 0 for t in self.friction], dtype=bool
            )
            if here.any():
                rates = motion.rates[:, coordinates[here]]
                out[:, here, coordinates[here]] = self.factor(kind, rates)
        for index, term in enumerate(self.friction):
            if term.row >= 0:
                wrench = self.friction_moments(motion, term)
                power = np.einsum('nki,ni->nk', geometry.screws, wrench)
                out[:, index] = geometry.layout.row_sign[term.row] * power
            elif term.coordinate < 0:
                size = table.shaft_size(term.shaft) if term.kind != table.VISCOUS else 1.0
                rate = motion.rates @ term.shaft / size
                out[:, index] = self.factor(term.kind, rate)[:, None] * term.shaft
        return out

    def factor(self, kind: int, rate: Floats) -> Floats:
        """Multiplier of a friction parameter at rates (N, ...): saturated sign, or the rate."""
        if kind == table.VISCOUS:
            return rate
        sign = smoothed_sign(rate, self.transition_velocity)
        if kind == table.COULOMB_POSITIVE:
            return np.maximum(sign, 0.0)
        return np.minimum(sign, 0.0) if kind == table.COULOMB_NEGATIVE else sign


def constraint_axis(geometry: TreeGeometry, term: FrictionTerm) -> Floats:
    """Axis (N, 3) of a constraint in base axes, zero where it has no single one."""
    parent = int(geometry.layout.tree.row_parent[term.row])
    if parent < 0:
        return np.broadcast_to(term.axis, (len(geometry.position), 3))
    return np.asarray(geometry.rotation[:, parent] @ term.axis)


def _friction_term(
    model: KinematicModel, kind: int, column: int, target: int, where: int
) -> FrictionTerm:
    m, axis = model.mechanism, np.zeros(3)
    if where in (table.ON_AXIS_ROTATION, table.ON_AXIS_SLIDE):
        constraint = model.description.constraints[m.tree.row_constraint[target]]
        axis = constraint.parent_origin.rotation @ constraint.parent_axis
    coordinate = target if where == table.ON_COORDINATE else -1
    row = target if where not in (table.ON_COORDINATE, table.ON_SHAFT) else -1
    shaft = m.shafts[target] if where == table.ON_SHAFT else np.zeros(m.tree.n_v)
    slides = where == table.ON_AXIS_SLIDE
    return FrictionTerm(kind, column, coordinate, row, axis, slides, shaft)
