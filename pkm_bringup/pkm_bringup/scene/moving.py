"""Scenes of a robot at home, along a trajectory and along what was recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pkm_bringup.scene.drawn_links import Bodies
from pkm_bringup.scene.meshes import Mesh
from pkm_bringup.scene.scene import Scene, build_scene
from pkm_description.errors import DatasetError, KinematicsError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Booleans, Floats, Integers
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.datasets import Recording

FRAMES = 600  # of a scene at most, unless more are asked for: 200 kB of a hexapod
FEWEST = 240  # of a motion, however short: it is looked at in slow motion, too
RATE = 60.0  # [Hz] of the frames where that makes neither fewer nor more
LATE = 1.5  # sampling intervals to the nearest sample: in the middle of a longer pause
NAMED = 4  # stretches without data that are named

Forces = Callable[[PlatformMotion], Floats]  # (N, n_a) [N, N m] of a motion


def instants(duration: float, most: int = FRAMES) -> Floats:
    """Return evenly spaced times (N,) [s] at which a motion is shown, both ends included."""
    count = np.clip(np.ceil(RATE * duration), min(FEWEST, most), most)
    return np.linspace(0.0, duration, max(int(count), 2))


def scene_at_home(
    model: ClosedChainModel,
    forces: Forces | None = None,
    *,
    bodies: Bodies | None = None,
    workspace: Mesh | None = None,
) -> Scene:
    """Return a robot at rest at home, with the forces that hold it."""
    title = f'{model.description.name} at home'
    q = model.home_actuators
    return scene_at(model, q, forces, bodies=bodies, title=title, workspace=workspace)


def scene_at(
    model: ClosedChainModel,
    positions: ArrayLike,
    forces: Forces | None = None,
    *,
    bodies: Bodies | None = None,
    title: str = '',
    workspace: Mesh | None = None,
) -> Scene:
    """Return a robot at rest at actuator positions (n_a,) [m, rad], with the forces that hold it.

    KinematicsError where the loops do not close.
    """
    still = np.zeros((1, model.n_a))
    motion = model.motion_from_actuators(np.asarray(positions)[None], still, still)
    held = None if forces is None else forces(motion)
    return build_scene(model, motion, [0.0], held, bodies=bodies, title=title, workspace=workspace)


def scene_of_trajectory(
    model: ClosedChainModel,
    trajectory: Trajectory,
    title: str = '',
    forces: Forces | None = None,
    most: int = FRAMES,
    *,
    bodies: Bodies | None = None,
    workspace: Mesh | None = None,
) -> Scene:
    """Return a robot along one period at full speed, or along a motion that ends at rest.

    `forces` of the drives are those of the description without it. KinematicsError where the
    robot cannot follow.
    """
    time = instants(trajectory.duration, most)
    motion = trajectory.motion(time, model)
    given = None if forces is None else forces(motion)
    return build_scene(model, motion, time, given, bodies=bodies, title=title, workspace=workspace)


def scene_of_recording(
    model: ClosedChainModel,
    recording: Recording,
    most: int = FRAMES,
    *,
    bodies: Bodies | None = None,
    workspace: Mesh | None = None,
) -> Scene:
    """Return a robot where its measured actuator positions say that it was.

    `recording` is that of `for_model`. The loops are closed from sample to sample, so that passive
    joints stay on their branch; forces are the measured ones, zero where they may not be used.
    Where nothing usable was measured, or the loops do not close, the last known pose stands; the
    notes name these times [s of the recording]. DatasetError where nothing can be shown.
    """
    time = recording.time
    shown = time[0] + instants(float(time[-1] - time[0]), most)
    after = np.clip(np.searchsorted(time, shown), 1, len(time) - 1)
    rows = np.where(shown - time[after - 1] < time[after] - shown, after - 1, after)
    gap = np.abs(shown - time[rows]) > LATE * recording.interval
    positions, velocities = recording.positions, _velocities(recording, rows)
    valid = recording.position_valid
    lost = np.zeros(gap.shape, bool) if valid is None else ~valid[rows].all(axis=1)
    notes = _stretches(shown, gap, 'no samples')
    if valid is not None:
        for column, name in enumerate(recording.joint_names):
            notes += _stretches(shown, ~valid[rows, column] & ~gap, f"no position of '{name}'")
    known = np.flatnonzero(~gap & ~lost)
    motion, closed = _followed(model, positions[rows[known]], velocities[known])
    if motion is None:
        what = 'the loops close nowhere' if len(known) else 'no sample has all positions'
        raise DatasetError(f'{recording.name}: {what}')
    open_loops = np.zeros(gap.shape, bool)
    open_loops[known[~closed]] = True
    notes += _stretches(shown, open_loops, 'the loops do not close')
    known = known[closed]
    forces, unusable = _forces(recording, rows[known])
    if unusable:
        notes.append(f'{unusable} of {len(known)} frames have forces that may not be used')
    step = float(shown[1] - shown[0])
    notes.append(f'{len(shown)} of {len(time)} samples are shown, one each {1e3 * step:.3g} ms')
    scene = build_scene(
        model,
        motion,
        shown[known],
        forces,
        bodies=bodies,
        title=f'{model.description.name}: {recording.name}',
        notes=notes,
        workspace=workspace,
    )
    return scene.held(known, shown)


def _velocities(recording: Recording, rows: Integers) -> Floats:
    """Velocities (M, n_a) at some rows, of the neighbours of each sample."""
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(recording) - 1)
    step = np.maximum(recording.time[after] - recording.time[before], 1e-9)
    change = recording.positions[after] - recording.positions[before]
    return np.asarray(change / step[:, None])


def _forces(recording: Recording, rows: Integers) -> tuple[Floats, int]:
    """Measured forces (M, n_a), zero where they are unusable, and in how many rows they are."""
    efforts, valid = recording.efforts, recording.effort_valid
    assert efforts is not None  # of every recording of a model
    good = np.isfinite(efforts[rows])
    if valid is not None:
        good &= valid[rows]
    return np.where(good, efforts[rows], 0.0), int(np.count_nonzero(~good.all(axis=1)))


def _followed(
    model: ClosedChainModel, positions: Floats, velocities: Floats
) -> tuple[PlatformMotion | None, Booleans]:
    """Motion through actuator positions (M, n_a) and where the loops close; None: nowhere."""
    closed = np.ones(len(positions), dtype=bool)
    while closed.any():
        rows = np.flatnonzero(closed)
        try:
            still = np.zeros((len(rows), model.n_a))
            return model.motion_from_actuators(positions[rows], velocities[rows], still), closed
        except KinematicsError as error:
            if not len(error.samples):
                raise
            closed[rows[error.samples]] = False
    return None, closed


def _stretches(time: Floats, missing: Booleans, what: str) -> list[str]:
    """Return a note about when something is missing; none where it never is."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(int)))
    pairs = edges.reshape(-1, 2)
    if not len(pairs):
        return []
    begin = float(time[0])
    times = [
        (time[first] - begin, time[last - 1] - begin) for first, last in pairs[:NAMED].tolist()
    ]
    texts = [f'{a:.4g} s' if a == b else f'{a:.4g} to {b:.4g} s' for a, b in times]
    more = f' and {len(pairs) - NAMED} more times' if len(pairs) > NAMED else ''
    return [f'{what} at {", ".join(texts)}{more}']
