"""Friction that grows with the load of its joint [Rosyid and El-Khasawneh 2020].

A joint of load factor mu needs the force or moment mu N s(v) against friction, with s the
smoothed sign that Coulomb friction has, and N the magnitude of the force that the joint
transmits across its axis: the transverse force of a prismatic joint, the radial force of a
revolute one, all of the force where the joint has no single axis (spherical, universal
constraints). Moments do not count. mu is a number for a prismatic joint; for the others it is
a length [m], the coefficient of friction times the radius of the bearing.

The reactions follow from the bodies' balance: cut at the closing rows A, with g the forces of
the tree that bodies need and f those that friction needs, the multipliers l of the rows are

    A^T l = g + f      at all coordinates without a drive

and what a joint of the tree transmits is what all bodies behind it need, less what the
closings bring. Friction in passive joints is part of f, so N depends on itself: solved by
fixed-point iteration, which converges where friction is no longer a lock.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkm_description.errors import DescriptionError, KinematicsError, listed
from pkm_description.kinematic_tree import POINT_ROW, PRISMATIC
from pkm_description.tree_geometry import TreeGeometry, cross
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.equations.body_regressors import body_wrenches, inertia_matrices
from pkm_dynamics.kernels.loads import load_forces, make_load_work
from pkm_dynamics.kinematics.body_motion import BodyMotion, build_body_motion
from pkm_dynamics.kinematics.kinematic_model import KinematicModel
from pkm_dynamics.layout import (
    LOAD_ENDLESS,
    LOAD_ITERATIONS,
    LOAD_ROUNDED,
    LOAD_TOLERANCE,
    LoadLayout,
)
from pkm_dynamics.motion import JointStates, PlatformMotion
from pkm_dynamics.parameters.parameter_terms import FrictionTerm, ParameterTerms, constraint_axis

UNDETERMINED = 1e-6  # reaction [N] of a unit internal stress: rounding lies far below


class LoadFriction:
    """Load friction of a model: loads N of its joints, and forces per load factor.

    Raises DescriptionError where rigid bodies do not determine the load of a joint.
    """

    def __init__(self, model: KinematicModel) -> None:
        self.model = model
        own = ParameterTerms.of(model)
        self._own, self.terms = own, own.of_loads(model)
        self.columns_of = slice(model.n_p - len(self.terms.friction), model.n_p)
        layout = model.tree_layout
        tree = layout.tree
        self._rows = model.mechanism.component_rows
        self._passive: Integers = np.setdiff1d(np.arange(tree.n_v), model.mechanism.actuated)
        self._bodies_of = np.zeros((len(self.terms.friction), tree.n_b))
        self._rows_of = np.zeros((len(self.terms.friction), len(tree.row_kind)))
        for index, term in enumerate(self.terms.friction):
            if term.row >= 0:
                self._rows_of[index] = tree.row_constraint == tree.row_constraint[term.row]
            else:
                self._bodies_of[index] = layout.moved[:, term.coordinate]
                self._rows_of[index] = -layout.row_sign[:, term.coordinate]
        self._refuse_undetermined()
        self._layout = self._compiled_layout()

    def __len__(self) -> int:
        """Return the number of load factors."""
        return len(self.terms.friction)

    def forces(
        self, motion: PlatformMotion, states: JointStates, parameters: Floats, factors: Floats
    ) -> Floats:
        """Actuator forces (N, n_a) with factors (n_l,), by compiled loops; see `loads`."""
        positions, velocities, accelerations = map(np.ascontiguousarray, states)
        pose = np.ascontiguousarray(motion.position), np.ascontiguousarray(motion.rotation)
        twist, twist_dot = map(np.ascontiguousarray, (motion.twist, motion.acceleration))
        moving = (positions, *pose, velocities, twist, accelerations, twist_dot)
        work, layout = make_load_work(self._layout), self._layout
        forces = load_forces(layout, work, moving, parameters, factors)
        if not np.isfinite(forces.sum()):  # the columns say what is wrong
            tree, actuated = self.model.tree_layout, self.model.mechanism.actuated
            bodies = build_body_motion(tree, actuated, motion, states)
            forces = self.columns(bodies, parameters) @ factors
        return np.asarray(forces)

    def columns(self, motion: BodyMotion, parameters: Floats) -> Floats:
        """Actuator forces (N, n_a, n_l) per load factor; see `loads`."""
        forces = self.tree_forces(motion, parameters)
        return np.asarray(np.einsum('nlv,nva->nal', forces, motion.transfer))

    def tree_forces(self, motion: BodyMotion, parameters: Floats) -> Floats:
        """Generalised forces (N, n_l, n_v) of the tree that overcome a unit of each factor."""
        return self.loads(motion, parameters)[:, :, None] * self.terms.friction_forces(motion)

    def loads(self, motion: BodyMotion, parameters: Floats, pushed: Floats | None = None) -> Floats:
        """Magnitudes N (N, n_l) [N] of the forces across the joints' axes.

        Of standard parameters (n_p,), and under a wrench (N, 6) on the platform about its
        origin in base axes. Raises KinematicsError where the drives do not determine the
        mechanism, or friction locks a joint.
        """
        start, change = self._reactions(motion, parameters, pushed)
        factors = parameters[self.columns_of]
        plain = np.linalg.norm(start, axis=2)
        if not change.any():
            return np.asarray(plain)

        def rubbed(loads: Floats) -> Floats:
            forces = start + np.einsum('nlkm,nm->nlk', change, factors * loads)
            return np.asarray(np.linalg.norm(forces, axis=2))

        return self.settled(rubbed, plain)

    def settled(self, function: Callable[[Floats], Floats], start: Floats) -> Floats:
        """Loads x (N, n_l) with x = function(x), where friction changes what it depends on.

        Raises KinematicsError where there are none: friction locks a joint.
        """
        loads, off = start, np.full(len(start), np.inf)
        for _ in range(LOAD_ITERATIONS):
            before, loads = loads, function(loads)
            further, off = off, np.abs(loads - before).max(axis=1, initial=0.0)
            size = np.abs(loads).max(axis=1, initial=0.0)
            if not np.all(size < LOAD_ENDLESS):
                break
            rounding = (off >= further) & (off <= LOAD_ROUNDED * size)
            if np.all(rounding | (off <= LOAD_TOLERANCE * size)):
                return loads
        sample = int(np.argmax(off))
        raise KinematicsError(
            f'sample {sample}: friction that grows with the load of '
            f'{listed(place.name for place in self.model.loaded_places)} locks the mechanism: '
            'load and friction raise each other without end',
            [sample],
        )

    def _reactions(
        self, motion: BodyMotion, parameters: Floats, pushed: Floats | None
    ) -> tuple[Floats, Floats]:
        """Forces (N, n_l, 3) across the axes without load friction; their change with each.

        The change (N, n_l, 3, n_l) is per force of load friction.
        """
        geometry, terms = motion.geometry, self.terms
        needed = self._needed(motion, parameters, pushed)
        own, held = self._own_friction(motion, parameters)
        behind = np.einsum('bv,nbk->nvk', geometry.layout.moved, needed)
        given = np.einsum('nvk,nvk->nv', geometry.screws, behind) + own
        unit = terms.friction_forces(motion)
        right = np.concatenate([given[:, None], unit], axis=1)[:, :, self._passive]
        multipliers = self._multipliers(geometry, np.swapaxes(right, 1, 2))
        rows = geometry.row_wrench[..., :3]
        forces = np.einsum('lr,nrk,nrx->nlkx', self._rows_of, rows, multipliers)
        forces[..., 0] += self._bodies_of @ needed[..., :3] + held
        for index, term in enumerate(terms.friction):
            if term.slides:
                pull = terms.friction_moments(motion, term)[:, :3]
                forces[..., 1 + index] += self._beyond(term, pull)
        across = self._across(geometry, forces)
        return across[..., 0], across[..., 1:]

    def _needed(self, motion: BodyMotion, parameters: Floats, pushed: Floats | None) -> Floats:
        """Wrenches (N, n_b, 6) that the bodies need, about the base's origin in base axes."""
        bodies = self._own.bodies
        inertia = inertia_matrices(parameters[self._own.columns])
        gravity = np.asarray(self.model.description.gravity)
        local = body_wrenches(motion, bodies, inertia, gravity)
        turn = motion.rotation[:, bodies]
        wrench = np.zeros((len(motion), self.model.tree_layout.tree.n_b, 6))
        for part in (slice(0, 3), slice(3, 6)):
            wrench[:, bodies, part] = np.einsum('nbij,nbj->nbi', turn, local[..., part])
        if pushed is not None:
            wrench[:, self.model.tree_layout.tree.platform_body] -= pushed
        wrench[..., 3:] += cross(motion.position, wrench[..., :3])
        return wrench

    def _own_friction(self, motion: BodyMotion, parameters: Floats) -> tuple[Floats, Floats]:
        """What Coulomb and viscous friction needs: of the tree (N, n_v), in the joints (N, n_l, 3).

        The latter is the pull of sliding constraints.
        """
        terms = self._own
        values = parameters[terms.friction_columns]
        held = np.zeros((len(motion), len(self), 3))
        for value, term in zip(values, terms.friction, strict=True):
            if term.slides:
                held += self._beyond(term, value * terms.friction_moments(motion, term)[:, :3])
        return np.einsum('nfv,f->nv', terms.friction_forces(motion), values), held

    def _beyond(self, term: FrictionTerm, pull: Floats) -> Floats:
        """Forces (N, n_l, 3) in the joints of the tree that a pull (N, 3) in a constraint makes."""
        signs = self.model.tree_layout.row_sign[term.row]
        sign = np.array([signs[t.coordinate] if t.row < 0 else 0.0 for t in self.terms.friction])
        return np.asarray(sign[:, None] * pull[:, None])

    def _multipliers(self, geometry: TreeGeometry, right: Floats) -> Floats:
        """Multipliers (N, n_r, k) of forces (N, passive coordinates, k); zero of redundant rows."""
        out = np.zeros((len(right), geometry.row_jacobian.shape[1], right.shape[2]))
        matrix = geometry.row_jacobian[:, self._rows][:, :, self._passive]
        try:
            out[:, self._rows] = np.linalg.solve(np.swapaxes(matrix, 1, 2), right)
        except np.linalg.LinAlgError as error:
            raise KinematicsError(
                'the mechanism is singular at one of the samples: the drives do not determine '
                'the reactions of the joints'
            ) from error
        return out

    def _across(self, geometry: TreeGeometry, forces: Floats) -> Floats:
        """Take from forces (N, n_l, 3, k) what points along the joints' axes."""
        axes = np.zeros(forces.shape[:3])
        for index, term in enumerate(self.terms.friction):
            if term.row >= 0:
                axes[:, index] = constraint_axis(geometry, term)
                continue
            body = geometry.layout.body[term.coordinate]
            slides = geometry.layout.tree.joint_kind[body] == PRISMATIC
            part = slice(0, 3) if slides else slice(3, 6)
            axes[:, index] = geometry.screws[:, term.coordinate, part]
        along = np.einsum('nlk,nlkx->nlx', axes, forces)
        return np.asarray(forces - axes[..., None] * along[:, :, None])

    def _compiled_layout(self) -> LoadLayout:
        """Arrays of the tree and the friction terms, as the compiled loops take them."""
        model, layout = self.model, self.model.tree_layout
        tree, terms = layout.tree, (*self._own.friction, *self.terms.friction)
        is_point = tree.row_kind == POINT_ROW
        held = np.where(is_point[:, None], tree.row_child_point, tree.row_child_direction)
        shafts = np.array([term.shaft for term in terms]).reshape(-1, tree.n_v)
        axes = np.array([term.axis for term in terms]).reshape(-1, 3)
        numbers = np.array([term[:4] for term in terms], dtype=np.int64).reshape(-1, 4).T
        kind, column, coordinate, row = map(np.ascontiguousarray, numbers)
        return LoadLayout(
            parent=tree.parent,
            joint_kind=tree.joint_kind,
            coordinate=tree.coordinate,
            scalar_index=tree.scalar_index,
            origin_position=tree.origin_position,
            origin_rotation=tree.origin_rotation,
            axis=tree.axis,
            body=layout.body,
            row_parent=tree.row_parent,
            row_child=tree.row_child,
            row_constraint=tree.row_constraint,
            row_is_point=np.asarray(is_point),
            row_parent_direction=tree.row_parent_direction,
            row_held=held,
            row_sign=layout.row_sign,
            rows=self._rows,
            passive=self._passive,
            actuated=model.mechanism.actuated,
            inertial_body=self._own.bodies,
            gravity=np.array(model.description.gravity, dtype=float),
            transition_velocity=self._own.transition_velocity,
            own_terms=len(self._own.friction),
            term_kind=kind,
            term_parameter=column,
            term_coordinate=coordinate,
            term_row=row,
            term_axis=axes,
            term_has_axis=np.asarray(axes.any(axis=1)),
            term_slides=np.array([term.slides for term in terms], dtype=bool),
            term_shaft=shafts,
            term_shaft_size=np.maximum(np.abs(shafts).max(axis=1, initial=0.0), 1e-300),
        )

    def _refuse_undetermined(self) -> None:
        """Refuse joints whose load an internal stress of redundant closings changes at home."""
        model = self.model
        count = self._rows_of.shape[1] - len(self._rows)
        if not count or not len(self):
            return
        poses = (model.home_joints, model.home_position, model.home_rotation)
        geometry = TreeGeometry.build(model.tree_layout, *(pose[None] for pose in poses))
        stresses = np.linalg.svd(geometry.row_jacobian[0])[0][:, -count:]
        rows = geometry.row_wrench[..., :3]
        forces = np.einsum('lr,nrk,rx->nlkx', self._rows_of, rows, stresses)
        felt = np.linalg.norm(self._across(geometry, forces)[0], axis=(1, 2))
        names = [place.name for place in model.loaded_places]
        wrong = [name for name, size in zip(names, felt, strict=True) if size > UNDETERMINED]
        if wrong:
            raise DescriptionError(
                f"robot '{model.description.name}': rigid bodies do not determine the load of "
                f'joint {listed(wrong)}: its loops hold each other (redundant closing rows), so '
                'its friction cannot grow with it'
            )
