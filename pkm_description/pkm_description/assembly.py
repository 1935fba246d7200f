"""Closing the loops of one configuration: residuals, Jacobian, Levenberg-Marquardt.

One configuration at a time: for loading and checking descriptions and for completing joint
states. Batches are the business of `pkm_dynamics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.description import Constraint, Description, Pose
from pkm_description.errors import ConvergenceError, DescriptionError
from pkm_description.kinematic_tree import DIRECTION_ROW, POINT_ROW, KinematicTree
from pkm_description.rotation_formats import rotation_from_vector, rotation_vector
from pkm_description.tree_geometry import Floats, TreeGeometry, TreeLayout

CLOSURE_TOLERANCE = 1e-6
RANK_TOLERANCE = 1e-7
_MAX_STEP = 0.4
_MAX_ITERATIONS = 100
_SLOW, _SLOW_STEPS = 0.98, 5


@dataclass(frozen=True)
class Configuration:
    """Scalar joint positions (n_j,) [m, rad] and the pose of a floating platform."""

    joints: Floats
    platform: Pose


@dataclass(frozen=True)
class ClosedConfiguration:
    """A configuration, how far its loops gape (n_r,) [m, 1] and the search's effort."""

    configuration: Configuration
    residual: Floats
    iterations: int

    @property
    def gap(self) -> float:
        """Largest residual of any closing row [m, 1]."""
        return float(np.max(np.abs(self.residual), initial=0.0))

    @property
    def closed(self) -> bool:
        """Whether every loop is closed to `CLOSURE_TOLERANCE`."""
        return self.gap < CLOSURE_TOLERANCE


class Assembly:
    """Closure of one configuration of a described mechanism."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.tree = KinematicTree.from_description(description)
        #: Actuated joints whose positions determine the configuration.
        self.actuated_joints = description.coordinate_joints
        #: Velocity coordinates (n_a,) of these.
        self.actuated_coordinates = np.array(
            [self.tree.coordinate_of(name) for name in self.actuated_joints], dtype=int
        )
        self.layout = TreeLayout.build(self.tree)

    def home(self) -> Configuration:
        """Return the home configuration that the loader found."""
        joints = np.array([self.description.home_joints[n] for n in self.tree.joint_names])
        return Configuration(joints, self.description.home)

    def geometry(self, configuration: Configuration) -> TreeGeometry:
        """Place all bodies: one sample of a batch."""
        platform = configuration.platform
        pose = platform.position[None], platform.rotation[None]
        return TreeGeometry.build(self.layout, configuration.joints[None], *pose)

    def body_poses(self, configuration: Configuration) -> tuple[Floats, Floats]:
        """Positions (n_b, 3) [m] and rotations (n_b, 3, 3) of all bodies in the base frame."""
        geometry = self.geometry(configuration)
        return geometry.position[0], geometry.rotation[0]

    def platform_pose(self, configuration: Configuration) -> Pose:
        """Pose of the platform link in the base frame."""
        position, rotation = self.body_poses(configuration)
        return Pose(position[self.tree.platform_body], rotation[self.tree.platform_body])

    def closure(self, configuration: Configuration) -> tuple[Floats, Floats]:
        """Residual (n_r,) [m, 1] of the closing rows and their Jacobian (n_r, n_v)."""
        geometry = self.geometry(configuration)
        return geometry.residual()[0], geometry.row_jacobian[0]

    def moved(self, configuration: Configuration, change: Floats) -> Configuration:
        """Configuration after a change (n_v,) of the velocity coordinates."""
        platform = configuration.platform
        if self.tree.floating_body >= 0:
            shift, turn = np.split(change[self.tree.floating], 2)
            rotation = rotation_from_vector(turn) @ platform.rotation
            platform = Pose(platform.position + shift, rotation)
        return Configuration(configuration.joints + change[self.layout.scalar], platform)

    @cached_property
    def limits(self) -> Floats:
        """Lower and upper limits (2, n_j) of the scalar joints [m, rad]."""
        limits = [self.description.joint(name).limit for name in self.tree.joint_names]
        return np.array([(limit.lower, limit.upper) for limit in limits]).reshape(-1, 2).T

    def pose_rows(self, configuration: Configuration, target: Pose) -> tuple[Floats, Floats]:
        """Pose of the platform less `target` (6,) [m, rad] and its Jacobian (6, n_v)."""
        return self._pose_rows(self.geometry(configuration), target)

    def _pose_rows(self, geometry: TreeGeometry, target: Pose) -> tuple[Floats, Floats]:
        position, rotation, screws = geometry.position[0], geometry.rotation[0], geometry.screws[0]
        body = self.tree.platform_body
        error = np.concatenate(
            [position[body] - target.position, rotation_vector(rotation[body] @ target.rotation.T)]
        )
        moving = self.tree.ancestors[body]
        jacobian = np.zeros((6, self.tree.n_v))
        angular = screws[moving, 3:]
        jacobian[:3, moving] = (screws[moving, :3] + np.cross(angular, position[body])).T
        jacobian[3:, moving] = angular.T
        return error, jacobian

    def _rows(
        self, configuration: Configuration, target: Pose | None, unwound: bool
    ) -> tuple[Floats, Floats]:
        geometry = self.geometry(configuration)
        residual, jacobian = geometry.residual()[0], geometry.row_jacobian[0]
        if unwound:
            self._unwind(geometry, residual, jacobian)
        if target is None:
            return residual, jacobian
        error, rows = self._pose_rows(geometry, target)
        return np.concatenate([residual, error]), np.vstack([jacobian, rows])

    def _unwind(self, geometry: TreeGeometry, residual: Floats, jacobian: Floats) -> None:
        """Put angles in place of the direction rows, which vanish for turned frames too."""
        for constraint, rows, r_p, r_c in self.aligned_frames(geometry.rotation[0]):
            if constraint.type == 'revolute':
                cosine = float((r_p @ constraint.parent_axis) @ (r_c @ constraint.child_axis))
                angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
                if angle > 1e-3:
                    residual[rows] *= angle / max(np.sin(angle), 1e-3)
                continue
            residual[rows] = r_p.T @ rotation_vector(r_c @ r_p.T)
            wrench = np.hstack([np.zeros((3, 3)), r_p.T])
            jacobian[rows] = self.layout.row_sign[rows] * (wrench @ geometry.screws[0].T)

    def aligned_frames(
        self, rotation: Floats
    ) -> Iterator[tuple[Constraint, NDArray[np.int64], Floats, Floats]]:
        """Constraints that align frames: direction rows, the frames on parent and child (3, 3).

        `rotation` (n_b, 3, 3) are those of the bodies.
        """
        tree = self.tree
        turn = np.concatenate([rotation, np.eye(3)[None]])
        for index, constraint in enumerate(self.description.constraints):
            rows = np.flatnonzero((tree.row_constraint == index) & (tree.row_kind == DIRECTION_ROW))
            if len(rows) and constraint.holds != 'universal':
                parent = turn[tree.row_parent[rows[0]]] @ constraint.parent_origin.rotation
                child = turn[tree.row_child[rows[0]]] @ constraint.child_origin.rotation
                yield constraint, rows, parent, child

    def close(
        self,
        start: Configuration,
        free: NDArray[np.bool_] | None = None,
        target: Pose | None = None,
        unwound: bool = False,
    ) -> ClosedConfiguration:
        """Close the loops by Levenberg-Marquardt over the `free` (n_v,) coordinates.

        With a `target`, the platform is drawn there as well, as far as the loops let it
        (in the sense of least squares); the residual is that of the loops alone. From
        far away `unwound` angles find frames that are aligned, not turned against each other.
        """
        free = np.ones(self.tree.n_v, dtype=bool) if free is None else free
        configuration = start
        residual, jacobian = self._rows(configuration, target, unwound)
        cost = residual @ residual
        damping = 1e-6
        iteration = slow = 0
        while iteration < _MAX_ITERATIONS and cost > 1e-30:
            iteration += 1
            j = jacobian[:, free]
            change = np.zeros(self.tree.n_v)
            normal = j.T @ j + damping * np.eye(j.shape[1])
            change[free] = -np.linalg.solve(normal, j.T @ residual)
            longest = np.max(np.abs(change), initial=0.0)
            change *= min(1.0, _MAX_STEP / max(longest, 1e-300))
            trial = self.moved(configuration, change)
            trial_residual, trial_jacobian = self._rows(trial, target, unwound)
            trial_cost = trial_residual @ trial_residual
            if trial_cost < cost:
                slow = slow + 1 if trial_cost > _SLOW * cost else 0
                configuration, residual, jacobian = trial, trial_residual, trial_jacobian
                cost, damping = trial_cost, max(damping / 10, 1e-14)
                if slow > _SLOW_STEPS and target is None:
                    break  # a local minimum that does not close
            else:
                damping *= 10
                if damping > 1e6:
                    break
        return ClosedConfiguration(configuration, residual[: len(self.tree.row_kind)], iteration)

    def mobility(self, configuration: Configuration) -> int:
        """Degrees of freedom (numerical rank) at a closed configuration."""
        _, jacobian = self.scaled_closure(configuration)
        return self.tree.n_v - numerical_rank(jacobian)

    def scaled_closure(self, configuration: Configuration) -> tuple[Floats, Floats]:
        """`closure` with lengths in units of the mechanism's size, for ranks."""
        residual, jacobian = self.closure(configuration)
        rows = np.where(self.tree.row_kind == POINT_ROW, 1.0 / self.size, 1.0)
        columns = np.where(self.tree.lengths, self.size, 1.0)
        return rows * residual, rows[:, None] * jacobian * columns

    @cached_property
    def size(self) -> float:
        """Typical length [m]: the largest offset of a joint or a closing point in its link."""
        tree = self.tree
        points = np.vstack([tree.origin_position, tree.row_parent_point, tree.row_child_point])
        largest = float(np.max(np.linalg.norm(points, axis=1), initial=0.0))
        return largest if largest > 0.0 else 1.0

    def solve(
        self, actuated: Mapping[str, float] | ArrayLike, initial: Configuration | None = None
    ) -> Configuration:
        """All joints and the platform's pose from the actuated positions (n_a,) [m, rad].

        Starts at `initial` (home when absent) and moves the actuators there in steps
        that are halved until the loops stay closed. Raises ConvergenceError.
        """
        names = self.actuated_joints
        if isinstance(actuated, Mapping):
            missing = [name for name in names if name not in actuated]
            if missing:
                raise DescriptionError(f"no position for actuated joint '{missing[0]}'")
            actuated = [actuated[name] for name in names]
        target = np.asarray(actuated, dtype=float)
        if target.shape != (len(names),) or not np.all(np.isfinite(target)):
            raise ConvergenceError(
                f'actuated positions need {len(names)} finite numbers ({", ".join(names)}), '
                f'got {target.tolist()}'
            )
        configuration = self.home() if initial is None else initial
        indices = [self.tree.joint_names.index(name) for name in names]
        free = np.ones(self.tree.n_v, dtype=bool)
        free[self.actuated_coordinates] = False
        start = configuration.joints[indices]
        done, step = 0.0, 1.0
        while done < 1.0:
            fraction = min(1.0, done + step)
            joints = configuration.joints.copy()
            joints[indices] = start + fraction * (target - start)
            result = self.close(Configuration(joints, configuration.platform), free)
            moved = np.max(np.abs(result.configuration.joints - joints), initial=0.0)
            if result.closed and moved < 0.5:
                configuration, done, step = result.configuration, fraction, 2 * step
            elif step > 1e-4:
                step /= 4
            else:
                raise ConvergenceError(
                    f"robot '{self.description.name}' does not assemble at actuated positions "
                    f'{np.round(target, 6).tolist()}: loops gape by {result.gap:.2e} m',
                    [0],
                )
        return configuration


def numerical_rank(matrix: Floats) -> int:
    """Rank to `RANK_TOLERANCE` of the largest singular value."""
    if matrix.size == 0:
        return 0
    singular = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(singular > RANK_TOLERANCE * max(singular[0], 1e-300)))
