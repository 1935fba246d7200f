"""Scenes of a robot as its states come in."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from pkm_bringup.scene.scene import Scene, build_scene
from pkm_description.errors import KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

TRAIL = 300  # states of the path behind the platform: 10 s of a view


class DriveState(NamedTuple):
    """What the drives of a robot measured last, each (n_a,); nan where they did not."""

    positions: Floats  # [m, rad]
    velocities: Floats  # [m/s, rad/s]
    forces: Floats  # [N, N m]


class LiveScenes:
    """Scenes of single instants, each solved from the one before; `first` is at home."""

    def __init__(self, model: ClosedChainModel, first: Scene) -> None:
        self._model, self._bodies, self._workspace = model, first.bodies, first.workspace
        self._title = model.description.name
        self._start: Floats | None = None
        self._trail: deque[Floats] = deque(maxlen=TRAIL)

    @property
    def trail(self) -> Floats:
        """Positions (N, 3) [m] of the platform until now."""
        return np.array(self._trail).reshape(-1, 3)

    def of(self, state: DriveState) -> Scene:
        """Return the scene of a state, without forces where they are not all measured.

        KinematicsError where a position is not finite or the loops do not close; the next state is
        tried from home then.
        """
        model, start = self._model, self._start
        self._start = None
        bad = np.flatnonzero(~np.isfinite(state.positions))
        if len(bad):
            raise KinematicsError(f"no position of joint '{model.actuated_joints[bad[0]]}'")
        rates = np.nan_to_num(state.velocities)[None]
        q, still = state.positions[None], np.zeros((1, model.n_a))
        motion = model.motion_from_actuators(q, rates, still, start)
        measured = bool(np.isfinite(state.forces).all())
        forces = state.forces[None] if measured else still
        notes = [] if measured else ['no forces are measured']
        scene = build_scene(
            model,
            motion,
            [0.0],
            forces,
            bodies=self._bodies,
            title=self._title,
            notes=notes,
            workspace=self._workspace,
        )
        self._start = motion.joint_positions
        self._trail.append(scene.path[0])
        return scene
