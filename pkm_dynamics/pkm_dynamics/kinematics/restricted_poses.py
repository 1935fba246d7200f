"""Joints from platform poses where the platform cannot take every pose, in batches.

Gauss-Newton over all samples at once: the actuators answer the pose error through the
platform's Jacobian (in the sense of least squares), and forward kinematics closes the
loops from where each sample stands, so that every sample stays on its branch. Steps are
controlled like those of the closing kernel: a step after which the next one turns too
much from a straight path is taken back and shortened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.array_types import Booleans, Floats, Integers
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_vectors
from pkm_dynamics.layout import (
    LARGEST_STEP,
    LARGEST_TURN,
    SMALLEST_STEP,
    STEP_TOLERANCE,
    TURN_TOLERANCE,
)

POSE_TOLERANCE = 1e-6  # [m, rad] by which the platform may miss a pose that it is said to take
_MAX_ITERATIONS = 200
# Weights of a pose error whose rotation hardly counts: it only decides where positions agree.
_FREE_ROTATION = np.array([1.0] * 3 + [1e-4] * 3)
_SEEDS_TRIED = 3
_LEAST_GAIN = 1e-5  # of a step towards the nearest pose, as a fraction of the distance
# [rad, length scales] that are left of a way: no joint has so much, the way ends at a singularity
_ENDLESS = 2 * np.pi
_NEIGHBOUR = 0.2  # pose change [length scale, rad] up to which samples are of one motion


class Configurations(NamedTuple):
    """Joints (N, n_j) and platform poses (N, 3), (N, 3, 3) of closed configurations."""

    joints: Floats
    position: Floats
    rotation: Floats

    def take(self, index: NDArray) -> Configurations:
        """Return the configurations of some samples."""
        return Configurations(*(array[index] for array in self))

    def put(self, index: NDArray, other: Configurations) -> None:
        """Replace the configurations of some samples."""
        for mine, new in zip(self, other, strict=True):
            mine[index] = new


class PoseSolver:
    """Solves batches of poses of one mechanism.

    `follow` leads configurations to actuator positions (N, n_a): the closed configurations
    there and a mask (N,) of those that were reached. `jacobians` gives the platform's twists by
    actuator rates (N, 6, n_a). Positions are divided by `length_scale` [m] where they are
    weighed against angles. `seeds` gives configurations all over the workspace to start from
    where home is too far; it is asked once, when they are needed.
    """

    def __init__(
        self,
        follow: Callable[[Configurations, Floats], tuple[Configurations, Booleans]],
        jacobians: Callable[[Configurations], Floats],
        actuated: Integers,
        revolute: Booleans,
        length_scale: float,
        seeds: Callable[[], Configurations],
    ) -> None:
        self._follow = follow
        self._jacobians = jacobians
        self._actuated = actuated
        self.revolute = revolute[actuated]
        self._seeds = cache(seeds)
        self._weight = np.array([1.0 / length_scale] * 3 + [1.0] * 3)
        self._actuator_weight = np.where(self.revolute, 1.0, 1.0 / length_scale)

    def solve(
        self, position: Floats, rotation: Floats, start: Configurations, nearest: str | None = None
    ) -> tuple[Configurations, Floats]:
        """Every pose from its own start: configurations and by how much they miss it (N,) [m, rad].

        With `nearest`, steps need only bring the platform closer, so that the search ends
        at the closest pose that the platform can take from there (`pose`) or, for
        `position`, at the closest position with whatever rotation goes with it. Without,
        a pose that it cannot take ends the search anywhere. Loops that do not close at
        the start miss by inf.
        """
        weight = self._weight * (_FREE_ROTATION if nearest == 'position' else 1.0)
        found, closed = self._follow(start, start.joints[:, self._actuated])
        step, miss = np.zeros((len(position), len(self._actuated))), np.full(len(position), np.inf)
        active = np.flatnonzero(closed)
        step[active], miss[active] = self._steps(
            position[active], rotation[active], found.take(active), weight
        )
        stride = np.full(len(position), LARGEST_STEP)
        cost = self._cost(position, rotation, found, weight)
        longest = np.inf if nearest else np.maximum(_ENDLESS, 2 * self._size(step))
        for _ in range(_MAX_ITERATIONS):
            size = self._size(step)
            on_the_way = (size > STEP_TOLERANCE) & (size < longest) & (stride > SMALLEST_STEP)
            active = active[on_the_way[active]]
            if len(active) == 0:
                break
            scale = np.minimum(1.0, stride[active] / size[active])[:, None]
            here = found.take(active)
            target = here.joints[:, self._actuated] + scale * step[active]
            trial, closed = self._follow(here, target)
            moved, trial, scale = active[closed], trial.take(closed), scale[closed]
            new_step, new_miss = self._steps(position[moved], rotation[moved], trial, weight)
            turn = self._size(new_step - (1.0 - scale) * step[moved])
            stuck = np.zeros(len(moved), dtype=bool)
            room = 0.7 * LARGEST_TURN * size[moved] / np.maximum(turn, 1e-300)
            good = (turn <= LARGEST_TURN * size[moved]) | (turn <= TURN_TOLERANCE)
            if nearest is not None:
                new_cost = self._cost(position[moved], rotation[moved], trial, weight)
                good, room = new_cost < cost[moved], np.ones(len(moved))
                stuck = good & (new_cost > (1.0 - _LEAST_GAIN) * cost[moved])
                cost[moved[good]] = new_cost[good]
            stride[active[~closed]] *= 0.25
            stride[moved] = np.where(
                good,
                np.minimum(stride[moved] * np.clip(room, 0.5, 3.0), LARGEST_STEP),
                scale[:, 0] * size[moved] * np.clip(room, 0.25, 0.5),
            )
            stride[moved[stuck]] = 0.0
            kept = moved[good]
            found.put(kept, trial.take(good))
            step[kept], miss[kept] = new_step[good], new_miss[good]
        return found, miss

    def _steps(
        self, position: Floats, rotation: Floats, found: Configurations, weight: Floats
    ) -> tuple[Floats, Floats]:
        """Gauss-Newton steps (N, n_a) of the actuators and by how much the poses miss (N,)."""
        error = self._error(position, rotation, found)
        jacobian = weight[:, None] * self._jacobians(found) / self._actuator_weight
        inverse = np.linalg.pinv(jacobian, rcond=1e-9)
        step = np.einsum('nij,nj->ni', inverse, weight * error) / self._actuator_weight
        return step, np.abs(error).max(axis=1, initial=0.0)

    def _error(self, position: Floats, rotation: Floats, found: Configurations) -> Floats:
        turn = rotation @ found.rotation.transpose(0, 2, 1)
        return np.concatenate([position - found.position, rotation_vectors(turn)], axis=1)

    def _cost(
        self, position: Floats, rotation: Floats, found: Configurations, weight: Floats
    ) -> Floats:
        return np.linalg.norm(weight * self._error(position, rotation, found), axis=1)

    def _size(self, step: Floats) -> Floats:
        return np.abs(step * self._actuator_weight).max(axis=1, initial=0.0)

    def solve_each(
        self, position: Floats, rotation: Floats, home: Configurations, nearest: str | None = None
    ) -> tuple[Configurations, Floats]:
        """Every pose from home; those that fail from the nearest of known configurations.

        What fails then is tried from solved poses beside it in the batch.
        """
        n = len(position)
        everyone = Configurations(*(np.repeat(array, n, axis=0) for array in home))
        found, miss = self.solve(position, rotation, everyone, nearest)
        if nearest is not None:
            return found, miss
        failed = np.flatnonzero(miss > POSE_TOLERANCE)
        order = self._nearest_seeds(position[failed], rotation[failed])
        for rank in range(order.shape[1]):
            start = self._seeds().take(order[:, rank])
            again, missed = self.solve(position[failed], rotation[failed], start)
            found.put(failed, again)
            miss[failed] = missed
            left = missed > POSE_TOLERANCE
            failed, order = failed[left], order[left]
            if len(failed) == 0:
                break
        self._fill_gaps(position, rotation, found, miss)
        return found, miss

    def _nearest_seeds(self, position: Floats, rotation: Floats) -> Integers:
        """Numbers (N, at most `_SEEDS_TRIED`) of the seeds of each pose, the nearest first."""
        if len(position) == 0:
            return np.empty((0, 0), dtype=np.intp)
        known = self._seeds()
        apart = (position[:, None] - known.position) * self._weight[:3]
        cosine = 0.5 * (np.einsum('nij,sij->ns', rotation, known.rotation) - 1.0)
        turn = np.arccos(np.clip(cosine, -1.0, 1.0))
        distance = np.sum(apart**2, axis=2) + turn**2
        return np.argsort(distance, axis=1)[:, :_SEEDS_TRIED]

    def solve_sequence(
        self, position: Floats, rotation: Floats, home: Configurations
    ) -> tuple[Configurations, Floats]:
        """Poses whose neighbours in the batch are neighbours in space.

        The batch is solved from home at once; then each sample is solved again from its
        predecessor, also at once. Where both agree, the result is that of walking through
        the samples one by one, without the walk; where they do not, the walk is done.
        """
        found, miss = self.solve_each(position, rotation, home)
        good = miss <= POSE_TOLERANCE
        near = self._near(position, rotation) & good[:-1]
        follower = 1 + np.flatnonzero(near)
        if len(follower) == 0:
            return found, miss
        again, missed = self.solve(position[follower], rotation[follower], found.take(follower - 1))
        agree = missed <= POSE_TOLERANCE
        other = np.abs(again.joints - found.joints[follower]).max(axis=1) > 1e-6
        for k in follower[agree & other]:
            self._walk(int(k), position, rotation, found, miss)
        return found, miss

    def _walk(
        self, first: int, position: Floats, rotation: Floats, found: Configurations, miss: Floats
    ) -> None:
        """Solve sample after sample from `first` on until the results agree with those known."""
        near = self._near(position, rotation)
        for k in range(first, len(position)):
            if not near[k - 1] or miss[k - 1] > POSE_TOLERANCE:
                return
            one, missed = self.solve(
                position[k : k + 1], rotation[k : k + 1], found.take(np.array([k - 1]))
            )
            same = np.abs(one.joints[0] - found.joints[k]).max() <= 1e-6
            if missed[0] > POSE_TOLERANCE or same:
                return
            found.put(np.array([k]), one)
            miss[k] = missed[0]

    def _fill_gaps(
        self, position: Floats, rotation: Floats, found: Configurations, miss: Floats
    ) -> None:
        """Try failed samples again from the nearest solved ones of the batch, in place.

        Each solved one that comes nearer is tried once.
        """
        tried = np.full(len(miss), -1)
        for _ in range(len(miss)):
            good = np.flatnonzero(miss <= POSE_TOLERANCE)
            failed = np.flatnonzero(miss > POSE_TOLERANCE)
            if len(good) == 0 or len(failed) == 0:
                return
            after = np.clip(np.searchsorted(good, failed), 0, len(good) - 1)
            ahead = np.maximum(after - 1, 0)
            nearer = np.abs(good[after] - failed) < np.abs(good[ahead] - failed)
            source = good[np.where(nearer, after, ahead)]
            new = source != tried[failed]
            failed, source = failed[new], source[new]
            tried[failed] = source
            again, missed = self.solve(position[failed], rotation[failed], found.take(source))
            solved = missed <= POSE_TOLERANCE
            if not np.any(solved):
                return
            found.put(failed[solved], again.take(solved))
            miss[failed[solved]] = missed[solved]

    def _near(self, position: Floats, rotation: Floats) -> Booleans:
        """Whether each sample (N - 1,) is close to its successor."""
        turn = rotation_vectors(rotation[1:] @ rotation[:-1].transpose(0, 2, 1))
        change = np.concatenate([np.diff(position, axis=0), turn], axis=1) * self._weight
        return np.abs(change).max(axis=1, initial=0.0) < _NEIGHBOUR
