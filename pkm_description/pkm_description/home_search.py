"""The search for a closed configuration at home: starts, restarts, what counts as good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.assembly import CLOSURE_TOLERANCE, Assembly, ClosedConfiguration, Configuration
from pkm_description.kinematic_tree import DIRECTION_ROW
from pkm_description.tree_geometry import Floats

Mask = NDArray[np.bool_]

HOME_TOLERANCE = 1e-6  # [m, rad] between a declared home and the closed one
AT_LIMIT = 1e-9  # [m, rad] beyond a limit: a search that ends at the limit misses it by rounding
_STARTS = 60
_FEW_STARTS = 20  # where the loops close and only limits or the pose are missed
_ITERATIONS = 1000  # over all starts
_REPEATS = 6  # starts that end at the smallest gap seen: it does not close


@dataclass(frozen=True)
class Requirements:
    """What home must be: at the declared pose, or with joints where `guess` has them."""

    home_given: bool
    guess: Mapping[str, float]


class HomeSearch:
    """Closes one mechanism from the middle of its limits and from random starts.

    Where the platform is held, the legs are independent: those that are good keep their
    joints, only the others start again.
    """

    def __init__(self, assembly: Assembly, requirements: Requirements) -> None:
        self.assembly = assembly
        self.requirements = requirements
        tree, home_given = assembly.tree, requirements.home_given
        self._lower, self._upper = assembly.limits
        self._coordinates = assembly.layout.scalar
        self._free = np.ones(tree.n_v, dtype=bool)
        if home_given and tree.floating_body >= 0:
            self._free[tree.floating] = False
        elif not home_given:
            actuated = set(assembly.actuated_joints)
            held = [name in requirements.guess and name in actuated for name in tree.joint_names]
            self._free[self._coordinates[held]] = False
        self._groups = self._independent_groups()

    def run(self) -> ClosedConfiguration:
        """Return the best configuration found; whether it is good is for the checks to say."""
        best = self._search()
        held = not self.requirements.home_given and not np.all(self._free)
        if held and any(self.shortfall(best)):
            self._free[:] = True  # the declared actuators are first guesses only
            self._groups = self._independent_groups()
            best = self._search()
        return best

    def _search(self) -> ClosedConfiguration:
        tree, description = self.assembly.tree, self.assembly.description
        lower, upper = self._ranges()
        joints = 0.5 * (lower + upper)
        for index, name in enumerate(tree.joint_names):
            joints[index] = float(self.requirements.guess.get(name, joints[index]))
        rng = np.random.default_rng(0)
        best: ClosedConfiguration | None = None
        missed: list[float] = []
        self._iterations = 0
        for attempt in range(_STARTS):
            result = self._close(Configuration(joints.copy(), description.home))
            if best is None or self.shortfall(result) < self.shortfall(best):
                best = result
            if not any(self.shortfall(best)):
                break
            # The same smallest shortfall again and again: there is nothing better.
            missed.append(self._missed(result))
            repeats = int(np.sum(np.array(missed) < 1.001 * min(missed) + 1e-9))
            hopeless = repeats >= _REPEATS or self._iterations > _ITERATIONS
            if (best.closed and attempt >= _FEW_STARTS) or hopeless:
                break
            joints = self._next_start(result, rng.uniform(lower, upper))
        assert best is not None
        return best

    def _missed(self, result: ClosedConfiguration) -> float:
        """By how much [m, 1, rad] one start missed closure, the declared pose or a limit."""
        pose = 0.0
        if self.requirements.home_given:
            home = self.assembly.description.home
            pose = float(np.max(np.abs(self.assembly.pose_rows(result.configuration, home)[0])))
        return result.gap + pose + float(np.sum(self._beyond(result.configuration)))

    def _beyond(self, configuration: Configuration) -> Floats:
        """How far [m, rad] each joint (n_j,) is outside its limits."""
        joints = configuration.joints
        beyond = np.maximum(self._lower - joints, joints - self._upper)
        return np.maximum(beyond - AT_LIMIT, 0.0)

    def _next_start(self, result: ClosedConfiguration, drawn: Floats) -> Floats:
        """Keep the joints of good groups and those that are held, and draw the others."""
        kept, beyond = ~self._free, self._beyond(result.configuration)
        for rows, coordinates in self._groups:
            residual = np.abs(result.residual[rows])
            inside = not np.any(beyond[coordinates[self._coordinates]])
            if len(self._groups) > 1 and inside and np.max(residual) < CLOSURE_TOLERANCE:
                kept |= coordinates
        return np.where(kept[self._coordinates], result.configuration.joints, drawn)

    def _close(self, start: Configuration) -> ClosedConfiguration:
        """Close from one start: the platform at home where it is declared and can be there."""
        assembly, home = self.assembly, self.assembly.description.home
        near = assembly.close(start, self._free, unwound=True)
        result = assembly.close(near.configuration, self._free)
        self._iterations += near.iterations + result.iterations
        if not self.requirements.home_given:
            return result
        if assembly.tree.floating_body >= 0:
            # With all six degrees of freedom the platform is exactly where it was declared.
            if result.closed or len(assembly.actuated_coordinates) >= 6:
                return result
            start = result.configuration
        near = assembly.close(start, target=home)
        result = assembly.close(near.configuration)
        self._iterations += near.iterations + result.iterations
        return result

    def _ranges(self) -> tuple[Floats, Floats]:
        """Finite ranges (n_j,) to draw joints from: the limits, half a turn or 1 m where open."""
        lengths = self.assembly.tree.lengths[self._coordinates]
        reach = np.where(lengths, max(1.0, self.assembly.size), np.pi)
        below = np.where(np.isfinite(self._upper), self._upper - 2 * reach, -reach)
        lower = np.where(np.isfinite(self._lower), self._lower, below)
        return lower, np.where(np.isfinite(self._upper), self._upper, lower + 2 * reach)

    def _independent_groups(self) -> list[tuple[Mask, Mask]]:
        """Rows (n_r,) and free coordinates (n_v,) of the groups that share no row."""
        tree = self.assembly.tree
        moves = np.vstack([tree.ancestors, np.zeros(tree.n_v, dtype=bool)])
        touches = (moves[tree.row_parent] != moves[tree.row_child]) & self._free
        groups = []
        left = np.any(touches, axis=1)
        while np.any(left):
            rows = np.zeros(len(left), dtype=bool)
            rows[int(np.flatnonzero(left)[0])] = True
            while True:
                coordinates = np.any(touches[rows], axis=0)
                grown = np.any(touches[:, coordinates], axis=1)
                if np.array_equal(grown, rows):
                    break
                rows = grown
            groups.append((rows, coordinates))
            left &= ~rows
        return groups

    # -- what counts as good ------------------------------------------------------

    def shortfall(self, result: ClosedConfiguration) -> tuple[bool, bool, bool, float]:
        """How a configuration falls short, worst first; all false where it is good."""
        configuration = result.configuration
        away = False
        if self.requirements.home_given:
            home = self.assembly.description.home
            error, _ = self.assembly.pose_rows(configuration, home)
            away = bool(np.max(np.abs(error)) > HOME_TOLERANCE)
        flipped = self.flipped_constraint(configuration) is not None
        open_by = 0.0 if result.closed else result.gap
        beyond = float(np.sum(self._beyond(configuration)))
        return not result.closed, flipped, away, open_by + beyond

    def outside_joint(self, configuration: Configuration) -> str | None:
        """Say which joint is outside its limits, if any is."""
        outside = np.flatnonzero(self._beyond(configuration))
        if not len(outside):
            return None
        k = int(outside[0])
        return (
            f"joint '{self.assembly.tree.joint_names[k]}' at {configuration.joints[k]:.6g} (limits "
            f'{self._lower[k]:g} to {self._upper[k]:g})'
        )

    def flipped_constraint(self, configuration: Configuration) -> str | None:
        """Name a constraint whose rows hold with its frames turned against each other."""
        if not np.any(self.assembly.tree.row_kind == DIRECTION_ROW):
            return None
        _, rotation = self.assembly.body_poses(configuration)
        for constraint, _, r_p, r_c in self.assembly.aligned_frames(rotation):
            if constraint.type == 'revolute':
                flipped = (r_p @ constraint.parent_axis) @ (r_c @ constraint.child_axis) < 0
            else:
                flipped = np.trace(r_p.T @ r_c) < 2.0
            if flipped:
                return constraint.name
        return None
