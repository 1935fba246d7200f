"""Equations of motion in all coordinates of the spanning tree, for integration in time.

With the closing rows A v = 0, a basis Z of their null space and the tree's inertia H,

    dv = Z a - A^+ dA v,   (Z^T H Z) a = Z^T (forces - velocity products - gravity - friction)

so that no actuator has to be a good coordinate: a mechanism may fall through positions
where its drives are singular. Positions and velocities that have drifted off the loops
are projected back by the smallest change of the coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from pkm_description.errors import KinematicsError, SimulationError, TrajectoryError
from pkm_description.tree_geometry import TreeGeometry, cross
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.body_regressors import body_wrenches, inertia_matrices, local_columns
from pkm_dynamics.equations.forward_dynamics import body_mass_matrix, solve_mass
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.kinematics.body_motion import BodyMotion, build_body_motion
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import JointStates, PlatformMotion
from pkm_dynamics.parameters.parameter_terms import ParameterTerms

Forces = Callable[[float, Floats, Floats], ArrayLike] | ArrayLike | None
Wrenches = Callable[[float, PlatformMotion], PlatformWrench] | PlatformWrench | None

LEAST_SINGULAR = 1e-9  # of the closing rows, by the largest: below, the loops are singular
_CLOSED = 1e-13  # by the mechanism's size: what rounding leaves of a projection


class Coordinates(NamedTuple):
    """Joints (n_j,), platform position (3,) and quaternion (4,), rates (n_v,), work, heat."""

    joints: Floats
    position: Floats
    quaternion: Floats
    rates: Floats
    work: float
    heat: float


class EquationsOfMotion:
    """Rates of a state vector that holds `Coordinates`; arguments as of `integrate_motion`."""

    def __init__(
        self,
        model: ClosedChainModel,
        forces: Forces,
        wrench: Wrenches,
        parameters: ArrayLike | None,
    ) -> None:
        self.model = model
        self.values = model.counting_parameters(parameters)
        self.terms = ParameterTerms.of(model)
        self.wrench = wrench
        self.count = 0
        self._inertia = inertia_matrices(self.values[self.terms.columns])
        self._layout = model.tree_layout
        tree = self._layout.tree
        self._actuated = model.mechanism.actuated
        self._scalar = model.mechanism.actuated_scalar
        self._rank = tree.n_v - model.n_a
        forces = np.zeros(model.n_a) if forces is None else forces
        self._given: Any = forces if callable(forces) else self._checked(forces)

    def start(self, q: ArrayLike | None, qd: ArrayLike | None) -> Floats:
        """State vector of actuator positions and velocities (n_a,); home, standstill if None."""
        model = self.model
        parts = []
        for name, values, default in (
            ('q', q, model.home_actuators),
            ('qd', qd, np.zeros(model.n_a)),
        ):
            array = np.asarray(default if values is None else values, dtype=float)
            if array.shape != (model.n_a,):
                raise TrajectoryError(
                    f'{name} must have the shape ({model.n_a},) for the joints '
                    f'{", ".join(model.actuated_joints)}, got {array.shape}'
                )
            parts.append(array[None])
        motion = model.motion_from_actuators(parts[0], parts[1], np.zeros((1, model.n_a)))
        states = model.joint_states(motion)
        tree = self._layout.tree
        rates = np.zeros(tree.n_v)
        rates[self._layout.scalar] = states.velocities[0]
        if tree.floating_body >= 0:
            rates[tree.floating] = motion.twist[0]
        quaternion = Rotation.from_matrix(motion.rotation[0]).as_quat()
        state = Coordinates(states.positions[0], motion.position[0], quaternion, rates, 0.0, 0.0)
        return self.projected(self.packed(state))

    def unpacked(self, vector: Floats) -> Coordinates:
        """Parts of a state vector."""
        ends = len(self._layout.scalar) + np.array([0, 3, 7])
        joints, position, quaternion, rates, rest = np.split(vector, [*ends, len(vector) - 2])
        return Coordinates(joints, position, quaternion, rates, float(rest[0]), float(rest[1]))

    def packed(self, state: Coordinates) -> Floats:
        """State vector of its parts."""
        return np.concatenate([*state[:4], [state.work, state.heat]])

    def __call__(self, t: float, vector: Floats) -> Floats:
        """Rates of a state vector."""
        self.count += 1
        state = self.unpacked(vector)
        _, rates_dot, power, heat = self.accelerations(t, state)
        spin = np.zeros(4)
        tree = self._layout.tree
        linear = np.zeros(3)
        if tree.floating_body >= 0:
            linear, omega = np.split(state.rates[tree.floating], 2)
            x, w = state.quaternion[:3], state.quaternion[3]
            spin[:3], spin[3] = 0.5 * (w * omega + cross(omega, x)), -0.5 * (omega @ x)
        return np.concatenate(
            [state.rates[self._layout.scalar], linear, spin, rates_dot, [power, heat]]
        )

    def accelerations(
        self, t: float, state: Coordinates
    ) -> tuple[BodyMotion, Floats, float, float]:
        """Bodies' velocities, accelerations (n_v,), power of the forces [W] and heat [W]."""
        geometry = self._geometry(state)
        basis, inverse = self._split(geometry.row_jacobian[0])
        bodies = self._bodies(geometry, state, basis[None])
        change = geometry.row_jacobian_rate(bodies.spatial_twist, bodies.screw_rates)
        bias = -inverse @ (change[0] @ state.rates)
        moving = bodies.accelerated(bias[None])
        q, qd = state.joints[self._scalar], state.rates[self._actuated]
        given = self.forces(t, q, qd)
        friction = self.values[self.terms.friction_columns] @ self.terms.friction_forces(bodies)[0]
        held = self._held(q[None])[0]
        load = basis[self._actuated].T @ (given - held) - basis.T @ friction - self._load(moving)
        power = float(given @ qd)
        pushed = np.zeros((1, 6))
        wrench = self.wrench
        if callable(wrench):
            wrench = wrench(t, bodies.platform_motion())
        if wrench is not None:
            platform = self._layout.tree.platform_body
            pushed = wrench.at_origin(bodies.rotation[:, platform])
            load = load + bodies.jacobian[0, platform].T @ pushed[0]
            power += float(bodies.twist[0, platform] @ pushed[0])
        mass = body_mass_matrix(bodies, self.terms, self.values, self._inertia)
        rates_dot, further = self._slowed(bodies, bias, basis, mass, load, pushed)
        friction = friction + further
        return bodies, rates_dot, power, float(friction @ state.rates)

    def _slowed(
        self,
        bodies: BodyMotion,
        bias: Floats,
        basis: Floats,
        mass: Floats,
        load: Floats,
        pushed: Floats,
    ) -> tuple[Floats, Floats]:
        """Accelerations (n_v,) under a load, and the forces (n_v,) that load friction needs."""
        rubbing = self.model.load_friction
        unit = rubbing.terms.friction_forces(bodies)[0]
        unit *= self.values[rubbing.columns_of][:, None]

        def moved(loads: Floats) -> Floats:
            left = load - basis.T @ (loads[0] @ unit)
            return np.asarray(bias + basis @ solve_mass(mass, left[None])[0])

        def loads_at(rates_dot: Floats) -> Floats:
            motion = bodies.accelerated(rates_dot[None])
            return rubbing.loads(motion, self.model.load_parameters, pushed)

        loads = np.zeros((1, len(rubbing)))
        if unit.any():
            loads = rubbing.settled(lambda loads: loads_at(moved(loads)), loads_at(moved(loads)))
        return moved(loads), np.asarray(loads[0] @ unit)

    def gap(self, vector: Floats) -> float:
        """Largest gap of the loops, in position and in velocity [m, 1; m/s, 1/s]."""
        state = self.unpacked(vector)
        geometry = self._geometry(state)
        speed = geometry.row_jacobian[0] @ state.rates
        opened = np.abs(geometry.residual()).max(initial=0.0)
        return float(max(opened, np.abs(speed).max(initial=0.0)))

    def projected(self, vector: Floats) -> Floats:
        """State vector whose loops are closed, in position and velocity."""
        state = self.unpacked(vector)
        for _ in range(20):
            geometry = self._geometry(state)
            _, inverse = self._split(geometry.row_jacobian[0])
            residual = geometry.residual()[0]
            if np.abs(residual).max(initial=0.0) < _CLOSED * (1.0 + self.model.length_scale):
                break
            state = self._moved(state, -inverse @ residual)
        rates = state.rates - inverse @ (geometry.row_jacobian[0] @ state.rates)
        return self.packed(state._replace(rates=rates))

    def forces(self, t: float, q: Floats, qd: Floats) -> Floats:
        """Actuator forces (n_a,) at a time and state."""
        if callable(self._given):
            return self._checked(self._given(t, q.copy(), qd.copy()))
        return np.asarray(self._given)

    def _held(self, q: Floats) -> Floats:
        """Forces (N, n_a) that the drives need at positions (N, n_a)."""
        model = self.model
        return model.drive_forces.forces(q, self.values[model.drive_columns])

    def _geometry(self, state: Coordinates) -> TreeGeometry:
        turn = Rotation.from_quat(state.quaternion).as_matrix()
        return TreeGeometry.build(
            self._layout, state.joints[None], state.position[None], turn[None]
        )

    def _split(self, jacobian: Floats) -> tuple[Floats, Floats]:
        """Null space (n_v, n_a) and pseudo-inverse (n_v, n_r) of the closing rows."""
        rank = self._rank
        if rank == 0:
            return np.eye(jacobian.shape[1]), np.zeros(jacobian.shape[::-1])
        if not np.all(np.isfinite(jacobian)):
            raise KinematicsError('the state is not finite')
        left, singular, right = np.linalg.svd(jacobian)
        if singular[rank - 1] < LEAST_SINGULAR * singular[0]:
            raise KinematicsError(
                'the loops are singular: the mechanism has more freedom there than drives and '
                'free joints'
            )
        inverse = (right[:rank].T / singular[:rank]) @ left[:, :rank].T
        return np.asarray(right[rank:].T), np.asarray(inverse)

    def _bodies(self, geometry: TreeGeometry, state: Coordinates, basis: Floats) -> BodyMotion:
        """Motion of the bodies at zero accelerations."""
        rates, twist = state.rates[None], np.zeros((1, 6))
        if self._layout.tree.floating_body >= 0:
            twist = rates[:, self._layout.tree.floating]
        turn = Rotation.from_quat(state.quaternion).as_matrix()[None]
        floating = PlatformMotion(state.position[None], turn, twist, np.zeros((1, 6)))
        velocities = rates[:, self._layout.scalar]
        states = JointStates(state.joints[None], velocities, np.zeros_like(velocities))
        return build_body_motion(
            self._layout, self._actuated, floating, states, transfer=basis, geometry=geometry
        )

    def _load(self, motion: BodyMotion) -> Floats:
        """Forces (n_a,) along the basis that bodies and rotors need for a motion."""
        terms, values = self.terms, self.values
        gravity = np.asarray(self.model.description.gravity)
        wrench = body_wrenches(motion, terms.bodies, self._inertia, gravity)
        jacobian = local_columns(motion, terms.bodies, motion.jacobian)
        load = np.einsum('nkia,nki->a', jacobian, wrench)
        inertia = values[terms.rotor_columns] * (terms.rotors @ motion.rates_dot[0])
        return np.asarray(load + (terms.rotors @ motion.transfer[0]).T @ inertia)

    def _moved(self, state: Coordinates, change: Floats) -> Coordinates:
        """Apply a small change (n_v,) of the coordinates."""
        tree = self._layout.tree
        moved = state._replace(joints=state.joints + change[self._layout.scalar])
        if tree.floating_body >= 0:
            shift, turn = np.split(change[tree.floating], 2)
            quaternion = Rotation.from_rotvec(turn) * Rotation.from_quat(state.quaternion)
            moved = moved._replace(position=state.position + shift, quaternion=quaternion.as_quat())
        return moved

    def _checked(self, forces: ArrayLike) -> Floats:
        values = np.array(forces, dtype=float)
        if values.shape != (self.model.n_a,):
            raise TrajectoryError(
                f'forces must have the shape ({self.model.n_a},) for the joints '
                f'{", ".join(self.model.actuated_joints)}, got {values.shape}'
            )
        if not np.all(np.isfinite(values)):
            bad = self.model.actuated_joints[int(np.argmin(np.isfinite(values)))]
            raise SimulationError(f"the force of joint '{bad}' is not finite")
        return values
