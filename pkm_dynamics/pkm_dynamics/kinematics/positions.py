"""Closed configurations of platform poses and of actuator positions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import ConvergenceError, KinematicsError, TrajectoryError
from pkm_description.assembly import Assembly
from pkm_description.tree_geometry import TreeLayout
from pkm_dynamics.array_types import Booleans, Floats, Integers
from pkm_dynamics.codegen.program_set import ProgramSet
from pkm_dynamics.kernels import closure, joint_rates
from pkm_dynamics.kinematics.platform_placement import place_platform
from pkm_dynamics.kinematics.restricted_poses import POSE_TOLERANCE, Configurations, PoseSolver
from pkm_dynamics.mechanism import Mechanism, layout_of
from pkm_dynamics.motion import PlatformMotion, rotations, samples

# Where a search starts: a platform pose, joint positions (n_j,), a motion's last sample, home;
# or a start for each sample: poses (N, 3), (N, 3, 3) or joint positions (N, n_j).
Initial = tuple[ArrayLike, ArrayLike] | PlatformMotion | ArrayLike | None

_REASONS = {
    closure.NOT_CONVERGED: 'the loops do not close',
    closure.SINGULAR: 'the way there ends at a singularity',
    closure.WRONG_BRANCH: 'only another assembly than that of home closes there, beyond a '
    'singularity',
}
# [m, 1] by which given joints may leave the loops open: room for rounded input.
STATE_TOLERANCE = 1e-6
_START_TOLERANCE = 0.02  # of a start's loops, relative to the size of the mechanism
_SEEDS = 200  # random configurations over the strokes: enough for one near each pose


class Positions:
    """Solves the loops of one mechanism for positions, from given starts or from home.

    `home_starts` is the one configuration at home, `pose_solver` for platforms with fewer than
    six degrees of freedom.
    """

    def __init__(self, assembly: Assembly, mechanism: Mechanism, programs: ProgramSet) -> None:
        description = assembly.description
        self.tree_layout = TreeLayout.build(assembly.tree)
        self._robot = description.name
        self._mechanism, self._programs = mechanism, programs
        self._layout = layout_of(mechanism)
        self._joint_names = list(assembly.tree.joint_names)
        self._n_a = len(description.actuated_joints)
        self._hanging = ('pose',) if mechanism.tree.floating_body < 0 else ()  # further functions
        at_home = (assembly.home().joints, description.home.position, description.home.rotation)
        self._home = tuple(map(np.array, at_home))
        self.home_starts = Configurations(*(array[None].copy() for array in self._home))
        joints = [description.joint(name) for name in self._joint_names]
        self.pose_solver = PoseSolver(
            self.follow,
            lambda at: self.platform_jacobians(*at),
            mechanism.actuated_scalar,
            np.array([joint.type != 'prismatic' for joint in joints], dtype=bool),
            mechanism.length_scale,
            self._seeds,
        )
        limits = [description.joint(name).limit for name in description.actuated_joints]
        self._lower = np.array([limit.lower for limit in limits])
        self._upper = np.array([limit.upper for limit in limits])

    def joints_of_poses(self, p: Floats, r: Floats, guess: Floats | None) -> Floats:
        """All joint positions (N, n_j) of platform poses."""
        if not self._mechanism.independent_is_platform:
            return self._joints_of_restricted_poses(p, r, guess)
        joints, residual, status = self.close_poses(p, r, guess)
        self._raise_failures(status, residual, 'platform pose')
        return joints

    def close_poses(
        self, p: Floats, r: Floats, guess: Floats | None
    ) -> tuple[Floats, Floats, Integers]:
        """Joints (N, n_j), gaps and statuses (N,) at poses of a platform that has them all."""
        per_sample = guess is not None
        start = self.home_starts
        if guess is not None:
            start = Configurations(self.check_guess(guess).copy(), p.copy(), r.copy())
        if self._programs.inline:
            code = self._programs.code('newton', 'branch', 'systems')
            pose = p.copy(), r.copy()
            joints, residual, status = closure.close_poses(
                self._layout, code, *pose, start.joints, per_sample, self._home
            )
            return joints, residual, status
        target = p.copy(), r.copy(), np.zeros((0, self._n_a))
        joints, _, _, residual, status = self._close(
            closure.BY_PLATFORM, target, start, per_sample, True, self._home
        )
        return joints, residual, status

    def _close(
        self, mode: int, target: tuple[Floats, ...], start: Configurations, *further: Any
    ) -> tuple[Floats, Floats, Floats, Floats, Integers]:
        """Call `closure.solve_positions` with its further arguments."""
        inside = ('approach',) if self._programs.inline else ()
        code = self._programs.code('systems', *self._hanging, *inside)
        found: tuple[Floats, Floats, Floats, Floats, Integers] = closure.solve_positions(
            self._layout, code, mode, target, tuple(start), *further
        )
        return found

    def _joints_of_restricted_poses(self, p: Floats, r: Floats, guess: Floats | None) -> Floats:
        """Joint positions where the platform cannot take every pose."""
        self.check_pose_tells_joints()
        solver = self.pose_solver
        start = 'home' if guess is None else 'the joint positions given'
        if guess is None:
            found, miss = solver.solve_sequence(p, r, self.home_starts)
        else:
            found, miss = solver.solve(p, r, self._starts_at_joints(self.check_guess(guess)))
        failed = np.flatnonzero(~(miss <= POSE_TOLERANCE))
        if len(failed):
            raise ConvergenceError(
                f"robot '{self._robot}' cannot take the platform pose of "
                f'{_listed(failed, len(p))} from {start}; sample {failed[0]}: it misses it by '
                f'{miss[failed[0]]:.2e}; it has {self._n_a} degrees of freedom: give actuator '
                'coordinates with motion_from_actuators',
                failed.tolist(),
            )
        return found.joints

    def check_pose_tells_joints(self) -> None:
        """Refuse a platform whose pose does not tell the joints."""
        if not self._pose_tells_joints:
            raise KinematicsError(
                f"robot '{self._robot}' has {self._n_a} degrees of freedom: its platform "
                'alone does not tell its joints; use motion_from_actuators'
            )

    @cached_property
    def _pose_tells_joints(self) -> bool:
        """Whether the platform moves with every actuator at home."""
        jacobian = self.platform_jacobians(*self.home_starts)[0]
        return int(np.linalg.matrix_rank(jacobian, tol=1e-9)) == self._n_a

    def at_poses(
        self, p: Floats, r: Floats, nearest: str | None
    ) -> tuple[Configurations, Booleans]:
        """Configurations at poses, each from home, and which close.

        `nearest`: see `ClosedChainModel.configurations_of_poses`.
        """
        if self._mechanism.independent_is_platform:
            guess = np.repeat(self.home_starts.joints, len(p), axis=0)
            joints, _, status = self.close_poses(p, r, guess)
            return Configurations(joints, p.copy(), r.copy()), status == closure.CONVERGED
        self.check_pose_tells_joints()
        found, miss = self.pose_solver.solve_each(p, r, self.home_starts, nearest)
        return found, (miss < np.inf if nearest else miss <= POSE_TOLERANCE)

    def of_actuators(self, q: Floats, initial: Initial) -> tuple[Floats, Floats, Floats]:
        """All joints (N, n_j), platform positions and rotations from actuator positions."""
        start = self._initial(initial, len(q))
        one = len(start.joints) == 1
        joints, p, r, residual, status = self._solve(start, q, one, start.take(np.array([0])))
        self._raise_failures(status, residual, 'actuator position')
        return joints, p, r

    def follow(self, start: Configurations, q: Floats) -> tuple[Configurations, Booleans]:
        """Configurations at actuator positions (N, n_a), each from its own start."""
        joints, p, r, _, status = self._solve(start, q, False, self.home_starts)
        return Configurations(joints, p, r), status == closure.CONVERGED

    def _solve(
        self, start: Configurations, q: Floats, in_sequence: bool, home: Configurations
    ) -> tuple[Floats, Floats, Floats, Floats, Integers]:
        """Configurations, gaps and statuses at actuator positions (N, n_a).

        One start leads to the first sample and each sample to the next, from `home` where
        that fails; or each sample has a start of its own, and no other try.
        """
        target, first = (
            (np.zeros((0, 3)), np.zeros((0, 3, 3)), q),
            tuple(array[0] for array in home),
        )
        return self._close(closure.BY_ACTUATORS, target, start, not in_sequence, in_sequence, first)

    def _seeds(self) -> Configurations:
        """Configurations at random actuator positions within the limits, and home."""
        home = self._home[0][self._mechanism.actuated_scalar]
        reach = np.where(self.pose_solver.revolute, np.pi, 0.5 * self._mechanism.length_scale)
        lower = np.where(np.isfinite(self._lower), self._lower, home - reach)
        upper = np.where(np.isfinite(self._upper), self._upper, home + reach)
        q = np.random.default_rng(0).uniform(lower, upper, (_SEEDS, self._n_a))
        q[0] = home
        starts = (np.repeat(array, len(q), axis=0) for array in self.home_starts)
        found, closed = self.follow(Configurations(*starts), q)
        return found.take(np.flatnonzero(closed))

    def platform_jacobians(self, joints: Floats, p: Floats, r: Floats) -> Floats:
        """Twists of the platform from the actuators' rates (N, 6, n_a)."""
        code = self._programs.code('systems', 'twist')
        return joint_rates.platform_jacobians(self._layout, code, joints, p, r)

    def _initial(self, initial: Initial, count: int) -> Configurations:
        """One configuration to start from, or one for each of `count` samples."""
        if initial is None:
            return self.home_starts
        if isinstance(initial, PlatformMotion):
            if initial.joint_positions is not None:
                return Configurations(
                    initial.joint_positions[-1:].copy(),
                    initial.position[-1:].copy(),
                    initial.rotation[-1:].copy(),
                )
            initial = (initial.position[-1:], initial.rotation[-1:])
        if isinstance(initial, tuple) and len(initial) == 2:
            p = samples(np.reshape(np.asarray(initial[0], dtype=float), (-1, 3)), 'initial', (3,))
            r = np.reshape(np.asarray(initial[1], dtype=float), (-1, 3, 3))
            r = rotations(r, 'rotation of initial', len(p))
            self._check_starts(len(p), count)
            joints = self.joints_of_poses(p, r, None)
            return Configurations(joints, p.copy(), r.copy())
        joints = np.array(initial, dtype=float, ndmin=2)
        if joints.shape[1:] != (len(self._joint_names),) or not np.all(np.isfinite(joints)):
            raise TrajectoryError(
                f'initial must be a pose (position, rotation) or {len(self._joint_names)} finite '
                f'joint positions, got the shape {np.shape(initial)}'
            )
        self._check_starts(len(joints), count)
        return self._starts_at_joints(joints)

    def _check_starts(self, starts: int, count: int) -> None:
        if starts not in (1, count):
            raise TrajectoryError(
                f'initial has {starts} samples where there are {count}: give one start, or one '
                'for each sample'
            )

    def _starts_at_joints(self, joints: Floats) -> Configurations:
        """Configurations of joint positions (N, n_j), with the platform where they put it."""
        n = len(joints)
        if self._mechanism.tree.floating_body < 0:
            _, p, r = self.home_starts
            return Configurations(joints.copy(), np.repeat(p, n, axis=0), np.repeat(r, n, axis=0))
        p, r, gap = place_platform(self.tree_layout, joints, *self._home[1:])
        worst = int(np.argmax(gap)) if n else 0
        if n and gap[worst] > _START_TOLERANCE * self._mechanism.length_scale:
            raise KinematicsError(
                f'sample {worst}: the loops stay open by {gap[worst]:.2e} m at the joint positions '
                'to start from'
            )
        return Configurations(joints.copy(), p, r)

    def check_guess(self, joints: Floats) -> Floats:
        """Refuse joint positions of another mechanism; return them."""
        if joints.shape[1] != len(self._joint_names):
            raise TrajectoryError(
                f'joint_positions must have {len(self._joint_names)} columns, got {joints.shape[1]}'
            )
        return joints

    def check_joints(
        self, joints: Floats, p: Floats, r: Floats, determinants: bool = False
    ) -> None:
        """Refuse joints that leave the loops open or put the platform elsewhere.

        With `determinants`, also those at which the mechanism is singular.
        """
        code = self._programs.code('systems', *self._hanging)
        gaps, away, singular = closure.check_configurations(
            self._layout, code, joints, p, r, determinants
        )
        for miss, what in ((gaps, 'leave the loops open'), (away, 'put the platform elsewhere')):
            worst = int(np.argmax(miss)) if len(miss) else 0
            tolerance = STATE_TOLERANCE * (1.0 + self._mechanism.length_scale)
            if len(miss) and miss[worst] > tolerance:
                raise KinematicsError(
                    f'sample {worst}: the joint positions of the motion {what} by '
                    f'{miss[worst]:.2e} m',
                    np.flatnonzero(miss > tolerance).tolist(),
                )
        self.refuse_singular(singular)

    def refuse_singular(self, singular: Booleans) -> None:
        """Refuse samples (N,) where the mechanism is singular."""
        if singular.any():
            raise KinematicsError(
                f"robot '{self._robot}' is singular at the joint positions of sample "
                f'{int(np.argmax(singular))}: its actuators do not determine its motion there',
                np.flatnonzero(singular).tolist(),
            )

    def _raise_failures(self, status: Integers, residual: Floats, what: str) -> None:
        failed = np.flatnonzero(status)
        if len(failed) == 0:
            return
        first = int(failed[0])
        raise ConvergenceError(
            f"robot '{self._robot}' cannot take the {what} of "
            f'{_listed(failed, len(status))}; sample {first}: {_REASONS[int(status[first])]} '
            f'(gap {residual[first]:.2e} m)',
            failed.tolist(),
        )


def _listed(failed: Integers, count: int) -> str:
    shown = ', '.join(map(str, failed[:8].tolist())) + (', ...' if len(failed) > 8 else '')
    return f'{len(failed)} of {count} samples ({shown})'
