"""Where each standard parameter acts: bodies, joints, closing constraints, rotors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pkm_description.errors import DescriptionError
from pkm_description.tree_geometry import cross
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.kinematics.body_motion import BodyMotion

INERTIAL = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
FRICTION = ('coulomb', 'viscous', 'coulomb_positive', 'coulomb_negative')


class FrictionTerm(NamedTuple):
    """One friction parameter of a joint of the tree or of a closing constraint.

    `coordinate` is -1 for a constraint, whose first closing `row` is -1 for a joint.
    `axis` (3,) is that of a revolute or prismatic constraint in its parent link, zero
    where the rotation is free.
    """

    owner: str
    kind: str
    column: int
    coordinate: int
    row: int
    axis: Floats
    slides: bool


@dataclass(frozen=True)
class ParameterTerms:
    """Columns of the regressors and what they belong to.

    Attributes
    ----------
    bodies : (k,)
        Bodies with inertial parameters.
    columns : (k, 10)
        Their parameters m, mx, ..., Izz.
    friction : tuple of FrictionTerm
    rotor_coordinates, rotor_columns : (n_rotors,)
    """

    bodies: Integers
    columns: Integers
    friction: tuple[FrictionTerm, ...]
    rotor_coordinates: Integers
    rotor_columns: Integers
    transition_velocity: float

    @classmethod
    def of(cls, model: DynamicModel) -> ParameterTerms:
        """Find the parameters of a model by their names.

        Raises DescriptionError where the model has a parameter of another kind.
        """
        column = {name: k for k, name in enumerate(model.parameter_names)}
        tree, description = model.tree_layout.tree, model.description
        bodies = [b for b, name in enumerate(tree.body_names) if f'{name}.m' in column]
        columns = [[column[f'{tree.body_names[b]}.{item}'] for item in INERTIAL] for b in bodies]
        friction = []
        for name in tree.joint_names:
            coordinate = tree.coordinate_of(name)
            for kind in FRICTION:
                if f'{name}.{kind}' in column:
                    index = column[f'{name}.{kind}']
                    friction.append(
                        FrictionTerm(name, kind, index, coordinate, -1, np.zeros(3), False)
                    )
        for number, constraint in enumerate(description.constraints):
            axis = constraint.parent_origin.rotation @ constraint.parent_axis
            has_axis = constraint.type in ('revolute', 'prismatic')
            for kind in FRICTION:
                if f'{constraint.name}.{kind}' in column:
                    row = int(np.flatnonzero(tree.row_constraint == number)[0])
                    friction.append(
                        FrictionTerm(
                            constraint.name,
                            kind,
                            column[f'{constraint.name}.{kind}'],
                            -1,
                            row,
                            axis if has_axis else np.zeros(3),
                            constraint.type == 'prismatic',
                        )
                    )
        rotors = [n for n in tree.joint_names if f'{n}.rotor' in column]
        known = {index for row in columns for index in row}
        known |= {term.column for term in friction} | {column[f'{n}.rotor'] for n in rotors}
        unknown = [name for name, index in column.items() if index not in known]
        if unknown:
            raise DescriptionError(f"nothing is known of what parameter '{unknown[0]}' does")
        return cls(
            np.array(bodies, dtype=np.int64),
            np.array(columns, dtype=np.int64).reshape(-1, 10),
            tuple(friction),
            np.array([tree.coordinate_of(n) for n in rotors], dtype=np.int64),
            np.array([column[f'{n}.rotor'] for n in rotors], dtype=np.int64),
            float(description.transition_velocity),
        )

    @property
    def friction_columns(self) -> Integers:
        """Columns (n_f,) of the friction terms."""
        return np.array([term.column for term in self.friction], dtype=np.int64)

    def friction_moments(self, motion: BodyMotion, term: FrictionTerm) -> Floats:
        """Wrench (N, 6) about the base's origin that overcomes a constraint's friction.

        Per unit of the parameter; it acts from the parent on the child.
        """
        tree = motion.geometry.layout.tree
        parent, child = int(tree.row_parent[term.row]), int(tree.row_child[term.row])
        spatial = np.concatenate([motion.spatial_twist, np.zeros((len(motion), 1, 6))], axis=1)
        twist = spatial[:, child] - spatial[:, parent]
        point = motion.geometry.row_arm[:, term.row]
        if not term.axis.any():
            spin = twist[:, 3:]
            size = np.linalg.norm(spin, axis=1, keepdims=True)
            if term.kind != 'viscous':
                spin = spin / np.maximum(size, max(self.transition_velocity, 1e-12))
            return np.concatenate([np.zeros_like(spin), spin], axis=1)
        turn = motion.rotation[:, parent] if parent >= 0 else np.broadcast_to(np.eye(3), (1, 3, 3))
        axis = np.broadcast_to(turn @ term.axis, (len(motion), 3))
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
        for kind in FRICTION:
            here = np.array([t.kind == kind and t.row < 0 for t in self.friction], dtype=bool)
            if here.any():
                rates = motion.rates[:, coordinates[here]]
                out[:, here, coordinates[here]] = self.factor(kind, rates)
        for index, term in enumerate(self.friction):
            if term.row >= 0:
                wrench = self.friction_moments(motion, term)
                power = np.einsum('nki,ni->nk', geometry.screws, wrench)
                out[:, index] = geometry.layout.row_sign[term.row] * power
        return out

    def factor(self, kind: str, rate: Floats) -> Floats:
        """Multiplier of a friction parameter at rates (N, ...): saturated sign, or the rate."""
        if kind == 'viscous':
            return rate
        v0 = self.transition_velocity
        sign = np.clip(rate / v0, -1.0, 1.0) if v0 > 0.0 else np.sign(rate)
        if kind == 'coulomb_positive':
            return np.maximum(sign, 0.0)
        return np.minimum(sign, 0.0) if kind == 'coulomb_negative' else sign
