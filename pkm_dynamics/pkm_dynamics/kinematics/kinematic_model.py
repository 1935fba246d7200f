"""`KinematicModel`: positions, velocities and accelerations of a closed chain, in batches."""

from __future__ import annotations

from dataclasses import astuple
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description, EstimationError, KinematicsError, TrajectoryError
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.assembly import Assembly
from pkm_description.description import frozen
from pkm_description.spins.round_bodies import averaging
from pkm_description.tree_geometry import TreeLayout
from pkm_dynamics.array_types import Booleans, Floats
from pkm_dynamics.codegen.program_set import ProgramSet
from pkm_dynamics.drive_forces import DriveForces
from pkm_dynamics.drive_states import DriveStates
from pkm_dynamics.kernels import closure, joint_rates
from pkm_dynamics.kinematics.body_motion import BodyMotion, build_body_motion
from pkm_dynamics.kinematics.positions import STATE_TOLERANCE, Initial, Positions
from pkm_dynamics.kinematics.restricted_poses import Configurations
from pkm_dynamics.layout import Code
from pkm_dynamics.mechanism import build_mechanism, layout_of
from pkm_dynamics.motion import ActuatorStates, JointStates, PlatformMotion, rotations, samples
from pkm_dynamics.parameters.parameter_table import (
    INERTIAL_NAMES,
    checked_parameters,
    load_table,
    rubbing_places,
    zero_mask,
)


class KinematicModel:
    """Kinematics of a closed chain: the part of `ClosedChainModel` that knows no forces.

    Its attributes are described there.
    """

    def __init__(self, description: Description) -> None:
        if not description.followers:
            refuse_redundant_actuation(description, 'a ClosedChainModel by itself')
        self.description = description
        self._assembly = Assembly(description)
        self.mechanism, table = build_mechanism(self._assembly)
        self._programs = ProgramSet(self.mechanism)
        self._layout = layout_of(self.mechanism)
        home = self._assembly.home()
        self.actuated_joints = list(description.actuated_joints)
        self.joint_names = list(self._assembly.tree.joint_names)
        self.drive_forces = drives = DriveForces.of(description)
        self.loaded_places = [
            place for place in rubbing_places(self._assembly) if place.friction.load is not None
        ]
        loads = load_table(self.loaded_places)
        self.parameter_names = table.names + drives.names + loads.names
        self.drive_states = DriveStates.of(description, table.names)
        self.parameter_units = table.units + drives.units + loads.units
        self.parameter_kinds = table.kinds + ['drive'] * len(drives.names) + loads.kinds
        self.nominal_parameters = frozen([*table.nominal, *drives.values, *loads.nominal])
        self.home_joints = frozen(home.joints)
        self.home_position = frozen(description.home.position)
        self.home_rotation = frozen(description.home.rotation)
        self.home_actuators = frozen(home.joints[self.mechanism.actuated_scalar])
        limits = [description.joint(name).limit for name in self.actuated_joints]
        ends = np.array([astuple(limit) for limit in limits]).reshape(-1, 4).T
        self.lower, self.upper, self.velocity_limit, self.force_limit = map(frozen, ends)
        self.force_constants = frozen([a.force_constant for a in description.actuators])
        first = {name: index for index, name in enumerate(table.names)}
        #: Columns and averages (10, 10) of the bodies that spin idly.
        self.averages = [
            (slice(start, start + len(INERTIAL_NAMES)), averaging(spin.point, spin.axis))
            for spin in description.idle_spins
            if (start := first.get(f'{spin.body}.{INERTIAL_NAMES[0]}')) is not None
        ]
        self._positions = Positions(self._assembly, self.mechanism, self._programs)
        _ = self.zero_parameter_mask  # refuses patterns that match nothing

    def __reduce__(self) -> tuple[type[KinematicModel], tuple[Any, ...]]:
        return type(self), (self.description,)  # compiled code stays in its process

    @property
    def n_a(self) -> int:
        """Number of actuated joints."""
        return len(self.actuated_joints)

    @property
    def home_configuration(self) -> Configurations:
        """The one configuration at home."""
        return self._positions.home_starts

    @property
    def drive_columns(self) -> slice:
        """Columns of the forces of drives by position among the standard parameters."""
        first = self.mechanism.n_parameters
        return slice(first, first + len(self.drive_forces.names))

    @property
    def free_joints(self) -> list[str]:
        """Actuated joints without a drive, at the end of `actuated_joints`: force zero."""
        return self.description.free_joints

    @property
    def n_p(self) -> int:
        """Number of standard parameters."""
        return len(self.parameter_names)

    @property
    def length_scale(self) -> float:
        """Largest distance [m] of a body's origin from the base's at home."""
        return float(self.mechanism.length_scale)

    @property
    def platform_determines_joints(self) -> bool:
        """Whether the platform has six degrees of freedom and floats."""
        return bool(self.mechanism.independent_is_platform)

    def counting_parameters(self, parameters: ArrayLike | None) -> Floats:
        """Standard parameters (n_p,) as forces feel them, the description's when absent.

        Bodies that spin idly count with their average over all angles of the spin, without inertia
        about its axis. Raises TrajectoryError where the shape is wrong or one is not finite.
        """
        values = checked_parameters(parameters, self.nominal_parameters)
        for columns, average in self.averages:
            values[columns] = average @ values[columns]
        return values

    def count_averages(self, columns: Floats) -> None:
        """Let columns (..., n_p) of a regressor be those of `counting_parameters`, in place."""
        for own, average in self.averages:
            columns[..., own] = columns[..., own] @ average

    def parameter_mask(self, kind: str) -> Booleans:
        """Which parameters (n_p,) are of a kind: rigid_body, friction, rotor or drive."""
        kinds = ('rigid_body', 'friction', 'rotor', 'drive')
        if kind not in kinds:
            raise EstimationError(f"unknown parameter kind '{kind}'; kinds are {', '.join(kinds)}")
        return np.array([item == kind for item in self.parameter_kinds], dtype=bool)

    @cached_property
    def zero_parameter_mask(self) -> Booleans:
        """Which parameters (n_p,) the description declares zero by the parts' symmetry."""
        return zero_mask(
            self.description.zero_parameters, self.parameter_names, self.nominal_parameters
        )

    # -- kinematics ---------------------------------------------------------------

    def inverse_kinematics(self, position: ArrayLike, rotation: ArrayLike) -> Floats:
        """Actuator positions (N, n_a) [m, rad] of platform poses (N, 3) [m], (N, 3, 3).

        Consecutive samples are taken as neighbours: each starts the next one's search.
        Raises ConvergenceError with the samples that cannot be reached.
        """
        p, r = _poses(position, rotation)
        return self._actuated(self._positions.joints_of_poses(p, r, None))

    def forward_kinematics(self, q: ArrayLike, initial: Initial = None) -> tuple[Floats, Floats]:
        """Platform position (N, 3) [m] and rotation (N, 3, 3) of actuator positions (N, n_a).

        The search starts at `initial` (a platform pose (position, rotation), all joint
        positions (n_j,), or the last sample of a motion), at home when absent, and each
        sample starts the next; one that cannot be reached from there is tried from the
        start. `initial` may also hold a start for each of N > 1 samples: poses (N, 3),
        (N, 3, 3) or joint positions (N, n_j). A solution is always the one that is
        connected with its start: the loops stay closed and no singularity is met while the
        actuators go there straight.
        Raises ConvergenceError with the samples for which there is none.
        """
        _, position, rotation = self._positions.of_actuators(self._check_actuators(q, 'q'), initial)
        return position, rotation

    def motion_from_actuators(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, initial: Initial = None
    ) -> PlatformMotion:
        """Motion of platform and joints from actuator motions (N, n_a) each."""
        q = self._check_actuators(q, 'q')
        qd = self._check_actuators(qd, 'qd', len(q))
        qdd = self._check_actuators(qdd, 'qdd', len(q))
        joints, position, rotation = self._positions.of_actuators(q, initial)
        velocity, acceleration, twist, twist_dot = self._joint_motion(
            closure.BY_ACTUATORS, joints, position, rotation, qd, qdd
        )
        return PlatformMotion(position, rotation, twist, twist_dot, joints, velocity, acceleration)

    def configurations_of_poses(
        self, position: ArrayLike, rotation: ArrayLike, nearest: str | None = None
    ) -> tuple[Configurations, Booleans]:
        """Configurations at poses (N, 3), (N, 3, 3), each searched from home, and which close.

        With `nearest`, a platform with fewer than six degrees of freedom goes to the
        nearest pose that it can take (`pose`), or to the nearest position with whatever
        rotation it has there (`position`). The rows that do not close mean nothing.
        """
        if nearest not in (None, 'pose', 'position'):
            raise KinematicsError(f"nearest must be None, 'pose' or 'position', not {nearest!r}")
        p, r = _poses(position, rotation)
        return self._positions.at_poses(p, r, nearest)

    def configurations_of_actuators(self, q: ArrayLike) -> tuple[Configurations, Booleans]:
        """Configurations at actuator positions (N, n_a), each from home, and which close."""
        q = self._check_actuators(q, 'q')
        starts = (np.repeat(array, len(q), axis=0) for array in self.home_configuration)
        return self._positions.follow(Configurations(*starts), q)

    def joint_states(self, motion: PlatformMotion) -> JointStates:
        """Positions, velocities and accelerations (N, n_j) of all scalar joints."""
        if motion.joint_velocities is not None and motion.joint_accelerations is not None:
            assert motion.joint_positions is not None
            joints = self._positions.check_guess(motion.joint_positions).copy()
            pose = motion.position.copy(), motion.rotation.copy()
            self._positions.check_joints(joints, *pose)
            return JointStates(joints, motion.joint_velocities, motion.joint_accelerations)
        state = self._state(motion)
        velocity, acceleration, _, _ = self._joint_motion(*state)
        return JointStates(state[1], velocity, acceleration)

    def actuator_states(self, motion: PlatformMotion) -> ActuatorStates:
        """Positions, velocities and accelerations (N, n_a) of the actuated joints."""
        return ActuatorStates(*(self._actuated(array) for array in self.joint_states(motion)))

    def with_joint_states(self, motion: PlatformMotion) -> PlatformMotion:
        """Return the motion with its joint states filled in, so that they are found only once."""
        moving = (motion.position, motion.rotation, motion.twist, motion.acceleration)
        return PlatformMotion(*moving, *self.joint_states(motion), motion.drive_states)

    def jacobian(
        self, position: ArrayLike, rotation: ArrayLike, joints: ArrayLike | None = None
    ) -> Floats:
        """Actuator rates from the platform's twist (N, n_a, 6), for six degrees of freedom.

        `joints` (N, n_j) are joint positions nearby, which save time.
        """
        if not self.platform_determines_joints:
            raise KinematicsError(
                f"robot '{self.description.name}' has no platform that floats with six degrees of "
                'freedom: use platform_jacobian'
            )
        p, r = _poses(position, rotation)
        guess = None if joints is None else np.asarray(joints, dtype=float)
        found = self._positions.joints_of_poses(p, r, guess)
        return joint_rates.actuator_jacobians(
            self._layout, self._programs.code('systems'), found, p.copy(), r.copy()
        )

    def platform_jacobian(self, q: ArrayLike, initial: Initial = None) -> Floats:
        """Platform twist [v; omega] from the actuators' rates (N, 6, n_a).

        `initial` says where the search for the configurations starts, as in
        `forward_kinematics`.
        """
        joints, p, r = self._positions.of_actuators(self._check_actuators(q, 'q'), initial)
        return self._positions.platform_jacobians(joints, p, r)

    def platform_jacobian_at(
        self, joints: ArrayLike, position: ArrayLike, rotation: ArrayLike
    ) -> Floats:
        """Platform twist from the actuators' rates (N, 6, n_a) at closed configurations.

        All joint positions (N, n_j) and the poses of the platform that belong to them, as
        a motion holds them; nothing is solved.
        """
        j = self._positions.check_guess(np.array(joints, dtype=float))
        p = samples(position, 'position', (3,), len(j))
        r = rotations(rotation, 'rotation', len(j))
        return self._positions.platform_jacobians(j, p.copy(), r.copy())

    def joint_jacobian(self, motion: PlatformMotion) -> Floats:
        """Rates of all scalar joints from those of the actuators (N, n_j, n_a)."""
        _, joints, p, r, _, _ = self._state(motion)
        still, columns = np.zeros((len(joints), self.n_a)), []
        for k in range(self.n_a):
            unit = still.copy()
            unit[:, k] = 1.0
            columns.append(self._joint_motion(closure.BY_ACTUATORS, joints, p, r, unit, still)[0])
        return np.stack(columns, axis=2)

    def body_motion(self, motion: PlatformMotion) -> BodyMotion:
        """Motion of every body and its Jacobian from the actuators' rates."""
        return build_body_motion(
            self.tree_layout, self._assembly.actuated_coordinates, motion, self.joint_states(motion)
        )

    @property
    def tree_layout(self) -> TreeLayout:
        """The spanning tree and its closing rows as arrays."""
        return self._positions.tree_layout

    # -- internals ----------------------------------------------------------------

    def _joint_motion(self, mode: int, *state: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Rates of all joints (N, n_j) and of the platform (N, 6), each with its derivative."""
        code = self._motion_code(mode)
        found: tuple[Floats, Floats, Floats, Floats] = joint_rates.joint_motion(
            self._layout, code, mode, *state
        )
        return found

    def _motion_code(self, mode: int, *further: str) -> Code:
        if not self._programs.inline:
            return self._programs.code('systems', 'bias', 'platform', *further)
        given = mode == closure.BY_PLATFORM or not self.mechanism.independent_is_platform
        return self._programs.code('kinematics' if given else 'actuated', *further)

    def _actuated(self, joints: Floats) -> Floats:
        return joints[:, self.mechanism.actuated_scalar]

    def _check_actuators(self, values: ArrayLike, name: str, count: int | None = None) -> Floats:
        array = np.array(values, dtype=np.float64, order='C')
        if array.ndim != 2 or array.shape[1] != self.n_a:
            raise TrajectoryError(
                f'{name} must have the shape (N, {self.n_a}) for the joints '
                f'{", ".join(self.actuated_joints)}, got {array.shape}'
            )
        if count is not None and len(array) != count:
            raise TrajectoryError(f'{name} has {len(array)} samples, q has {count}')
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise TrajectoryError(
                f"{name} of joint '{self.actuated_joints[bad[0][1]]}' is not finite at sample "
                f'{bad[0][0]}'
            )
        return array

    def _state(self, motion: PlatformMotion) -> tuple[int, Floats, Floats, Floats, Floats, Floats]:
        """Joint positions and independent rates that the kernels take."""
        p, r = motion.position.copy(), motion.rotation.copy()
        if self.platform_determines_joints:
            joints = self._positions.joints_of_poses(p, r, motion.joint_positions)
            given = motion.twist.copy(), motion.acceleration.copy()
            return closure.BY_PLATFORM, joints, p, r, *given
        if motion.joint_velocities is not None and motion.joint_accelerations is not None:
            assert motion.joint_positions is not None
            joints = self._positions.check_guess(motion.joint_positions).copy()
            rates = np.ascontiguousarray(self._actuated(motion.joint_velocities))
            rates_dot = np.ascontiguousarray(self._actuated(motion.joint_accelerations))
            self._positions.check_joints(joints, p, r, determinants=self._programs.inline)
            return closure.BY_ACTUATORS, joints, p, r, rates, rates_dot
        # Fewer than six degrees of freedom, and only the platform is known.
        joints = self._positions.joints_of_poses(p, r, motion.joint_positions)
        jacobian = self._positions.platform_jacobians(joints, p, r)
        rates = actuator_rates_of(jacobian, motion.twist, 'twist')
        zero = np.zeros_like(rates)
        _, _, _, bias = self._joint_motion(closure.BY_ACTUATORS, joints, p, r, rates, zero)
        rates_dot = actuator_rates_of(jacobian, motion.acceleration - bias, 'acceleration')
        return closure.BY_ACTUATORS, joints, p, r, rates, rates_dot


def _poses(position: ArrayLike, rotation: ArrayLike) -> tuple[Floats, Floats]:
    """Copy and check platform poses (N, 3), (N, 3, 3)."""
    p = samples(position, 'position', (3,))
    return p, rotations(rotation, 'rotation', len(p))


def actuator_rates_of(jacobian: Floats, target: Floats, what: str) -> Floats:
    """Solve jacobian (N, 6, n_a) x = target (N, 6), refusing what the mechanism cannot do."""
    solution = np.einsum('nij,nj->ni', np.linalg.pinv(jacobian), target)
    missed = np.abs(np.einsum('nij,nj->ni', jacobian, solution) - target)
    size = np.max(np.abs(target), initial=1.0)
    worst = int(np.argmax(missed.max(axis=1))) if len(missed) else 0
    if len(missed) and missed[worst].max() > STATE_TOLERANCE * size:
        raise KinematicsError(
            f'sample {worst}: the mechanism cannot follow that platform {what} (it misses it by '
            f'{missed[worst].max():.2e}); give actuator coordinates with motion_from_actuators',
            np.flatnonzero(missed.max(axis=1) > STATE_TOLERANCE * size).tolist(),
        )
    return solution
