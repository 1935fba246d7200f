"""Where the platform is measured to be, and where it would come to rest: workspace, singularities.

A motion is checked as a whole before it begins. On its path it needs no second check; a robot
that was pushed off it, or does not follow, is looked at by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_control.control_types import ControllerOptions
from pkm_control.safeguards.allowed_errors import error_bounds
from pkm_control.stops import StopEvent
from pkm_control.supervision import Finding
from pkm_description.errors import PkmError
from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.singularities import SINGULAR, has_singularities, jacobian_condition
from pkm_dynamics.array_types import Floats

# Of the largest position error: the robot counts as on its path nearer than this.
ON_PATH = 0.2
# The same for speeds, of the limits of the joints.
SAME_SPEED = 0.2
EVERY = 0.5  # of the reaction time: how often a robot off its path is looked at
# Conditioning at which the robot slows down, over that at which it stops: MoveIt Servo's 17 / 30.
SLOW = 17.0 / 30.0
LEAVING = 2.0  # a robot that moves away may be this much worse conditioned before it is stopped
SLOWEST = 0.1  # rate of the motion just before the stop
RATE_STEP = 0.1  # of the rates: every change of the clock takes a while
AXES = (('x', 'm'), ('y', 'm'), ('z', 'm'), ('tilt', 'rad'))


class Sight(NamedTuple):
    """What was seen: why to stop, and the rate in [0, 1] at which the motion may go on."""

    stop: Finding | None = None
    rate: float = 1.0


def condition_limits(model: ClosedChainModel) -> tuple[float, float]:
    """Condition numbers from which the robot slows down and stops, infinite for open chains.

    Forces grow with the conditioning: it stops where the drives would need all of their force for
    the weight that takes a share of it at home. At most what the check of a motion allows.
    """
    if not has_singularities(model):
        return np.inf, np.inf
    q = np.asarray(model.home_actuators)[None]
    rest = model.motion_from_actuators(q, np.zeros_like(q), np.zeros_like(q))
    share = np.abs(model.inverse_dynamics(rest)) / np.asarray(model.force_limit)
    condition = jacobian_condition(model, rest)
    assert condition is not None  # loops are closed
    stop = min(float(condition[0]) / max(float(share.max()), 1.0 / SINGULAR), SINGULAR)
    return SLOW * stop, stop


class PoseWatch:
    """Workspace and conditioning of a robot that is not on its path."""

    def __init__(
        self,
        model: ClosedChainModel,
        options: ControllerOptions,
        deceleration: Floats,  # (n_a,) [m/s^2, rad/s^2] of full braking
    ) -> None:
        self._model, self._deceleration = model, deceleration
        self.change(options)
        workspace = read_workspace(model.description)
        self._lower, self._upper, self._tilt = workspace.lower, workspace.upper, workspace.tilt
        self._slow, self._stop = condition_limits(model)
        self._near = SAME_SPEED * np.asarray(model.velocity_limit, dtype=float)
        self.begin()

    def change(self, options: ControllerOptions) -> None:
        """Take other bounds."""
        self._options = options
        self._far = error_bounds(self._model, options).largest

    def begin(self) -> None:
        """Look anew: at the beginning of a motion."""
        self._waited = np.inf  # [s] since the last look
        self._seen = Sight()
        # Reciprocal condition numbers at the last look: of the robot and of its path.
        self._before: tuple[float, float] | None = None

    def look(
        self,
        interval: float,
        desired: PlatformMotion | None,
        measured: Floats,
        velocity: Floats,
        error: Floats,
        slip: Floats,
    ) -> Sight:
        """Return what is seen, `interval` [s] after the last cycle.

        Arrays (n_a,) [m, rad, and a second]: measured positions and velocities, and by how much
        the desired ones are larger. On the path that costs two comparisons.
        """
        off = np.abs(error)
        speed_is_wrong = np.abs(slip) > np.maximum(SAME_SPEED * np.abs(velocity), self._near)
        if desired is None or not (speed_is_wrong.any() or (off > ON_PATH * self._far).any()):
            self.begin()
            return self._seen
        self._waited += interval
        if self._waited >= EVERY * self._options.reaction_time:
            far = bool((off > self._far).any())
            self._seen = self._look(desired, measured, velocity, far)
            self._waited = 0.0
        return self._seen

    def _look(
        self, desired: PlatformMotion, measured: Floats, velocity: Floats, far: bool = True
    ) -> Sight:
        q, qd = measured[None], velocity[None]
        try:
            here = self._model.motion_from_actuators(q, qd, np.zeros_like(qd), initial=desired)
            condition = jacobian_condition(self._model, here)
        except PkmError as failure:
            message = f'the platform has no pose at the measured positions: {failure}'
            return Sight(Finding(StopEvent.SINGULARITY_AHEAD, message))
        duration = float((np.abs(velocity) / self._deceleration).max())
        braking = self._options.reaction_time + 0.5 * duration  # [s] at the present speed
        ahead = braking if far else None
        if (stop := self._workspace(here, desired, ahead)) is not None:
            return Sight(stop)
        if condition is None or not np.isfinite(self._stop):
            return Sight()
        path = jacobian_condition(self._model, desired)
        assert path is not None  # loops are closed
        # They fall to zero about evenly towards a singularity.
        return self._conditioning(1.0 / float(condition[0]), 1.0 / float(path[0]), braking)

    def _workspace(
        self, here: PlatformMotion, desired: PlatformMotion, braking: float | None
    ) -> Finding | None:
        """Return why to stop for the workspace; what the path has beyond it is allowed.

        Without a time of `braking` [s] it is not looked ahead: who follows with an error within its
        bound brakes where the path does, if a little later.
        """
        looks = [(StopEvent.WORKSPACE_LEFT, 0.0, 'is')]
        if braking is not None:
            words = 'comes to rest after full braking'
            looks.append((StopEvent.WORKSPACE_AHEAD, braking, words))
        for event, time, words in looks:
            out, path = self._outside(here, time), self._outside(desired, time)
            beyond = out - np.maximum(path, 0.0) > self._options.stroke_tolerance
            if beyond.any():
                axis = int(np.argmax(beyond))
                name, unit = AXES[axis]
                what = f'{name}: the platform {words} {out[axis]:.4g} {unit}'
                return Finding(event, f'{what} outside of its workspace')
        return None

    def _outside(self, motion: PlatformMotion, braking: float) -> Floats:
        """How far position (3) [m] and tilt [rad] lie outside when the platform rests."""
        position = motion.position[0] + braking * motion.twist[0, :3]
        axis = motion.rotation[0, :, 2] + braking * np.cross(
            motion.twist[0, 3:], motion.rotation[0, :, 2]
        )
        tilt = float(np.arctan2(np.hypot(axis[0], axis[1]), axis[2]))
        out = np.maximum(self._lower - position, position - self._upper)
        return np.append(out, tilt - self._tilt)

    def _conditioning(self, now: float, path: float, braking: float) -> Sight:
        """Judge reciprocal condition numbers of the robot and its path, now and when it has braked.

        Where the path itself comes near a singularity it was checked and turns away in time, and
        so does who follows it: only by how much the robot approaches faster is looked ahead.
        """
        before, self._before = self._before, (now, path)
        rate, along = 0.0, 0.0
        if before is not None:
            rate, along = (now - before[0]) / self._waited, (path - before[1]) / self._waited
        least, enough = 1.0 / self._stop, 1.0 / self._slow
        ahead = now + min(rate - min(along, 0.0), 0.0) * braking
        if ahead < (least if rate <= 0.0 else least / LEAVING):
            what = f'condition number {1.0 / now:.3g} (its path: {1.0 / path:.3g})'
            when = 'after full braking' if now >= least else 'here'
            message = f'{what}: {self._stop:.3g} is exceeded {when}'
            return Sight(Finding(StopEvent.SINGULARITY_AHEAD, message))
        if rate > 0.0 or ahead >= enough:
            return Sight()
        share = (ahead - least) / (enough - least)
        return Sight(rate=max(RATE_STEP * np.floor(share / RATE_STEP), SLOWEST))
