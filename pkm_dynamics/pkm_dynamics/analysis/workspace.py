"""The workspace of a robot: its volume, its largest box, maps of slices through it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from pkm_description.errors import KinematicsError
from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics.analysis.reachability import (
    CRITERIA,
    SINGULARITY_LIMIT,
    Reachability,
    reachable,
    reachable_actuators,
)
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.model import ClosedChainModel

COORDINATES = ('platform', 'actuators')
PLANAR = (0, 1, 5)  # of a twist [v; omega]: what a platform does that moves in x, y and yaw alone
_PLANE = 1e-9  # share of such a platform's twist out of the plane that is rounding
_BLOCK = 4096  # samples judged at once
_REACH = 0.6  # of the mechanism's size: half the side of a region that nobody declared


@dataclass(frozen=True)
class Workspace:
    """Random samples of a region and which of them the robot can reach."""

    # `platform`: positions in a box with rotations about home; `actuators`: positions within the
    # strokes, where the platform has fewer than six degrees of freedom
    coordinates: str
    lower: Floats  # (k,) the region that was sampled: x, y, z [m] or the actuators [m, rad]
    upper: Floats  # (k,)
    tilt: float  # largest angle [rad] between sampled rotations and home's
    share: float  # reachable samples among all, and its standard deviation
    share_deviation: float
    # `platform`: of the reachable positions [m^3], counted with the sampled rotations; of planar
    # platforms, of x, y and yaw [m^2 rad]; else nan
    volume: float
    volume_deviation: float
    reached_lower: Floats  # (3,) [m] box around the platform positions of the reachable samples
    reached_upper: Floats  # (3,) [m]
    # [rad] of planar platforms about z, of the reachable samples, counted from home's; else None
    reached_yaw: tuple[float, float] | None
    samples: Reachability  # verdicts; `samples.counts` tells how many fail by which criterion
    seed: int


@dataclass(frozen=True)
class Slice:
    """Verdicts on a grid of positions in a plane, all with one rotation."""

    axes: tuple[str, str]  # axes that span the plane: columns and rows of `verdict`
    fixed: str  # axis across the plane and where it is cut [m]
    height: float  # [m]
    columns: Floats  # (n,) [m]
    rows: Floats  # (m,) [m]
    # (m, n) 0 where reachable, else 1 + the index in `CRITERIA` of what fails first
    verdict: Integers


def workspace(
    model: ClosedChainModel,
    count: int = 2000,
    seed: int = 0,
    tilt: float | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    coordinates: str | None = None,
    singularity_limit: float = SINGULARITY_LIMIT,
) -> Workspace:
    """Estimate the reachable share of a region by random sampling.

    The `coordinates` are `platform` (where it has six degrees of freedom) or `actuators`; the
    region from `lower` to `upper` is by default what the YAML declares, else around home
    (platform) or the strokes (actuators). In platform coordinates rotations are sampled up to
    `tilt` [rad] from home's; what the YAML declares when absent, else 0. Raises KinematicsError
    where the coordinates are unknown, or the region is empty or has no finite ends.
    """
    chosen = coordinates or ('platform' if model.platform_determines_joints else 'actuators')
    if chosen not in COORDINATES:
        raise KinematicsError(f"unknown coordinates '{chosen}'; they are {', '.join(COORDINATES)}")
    low, high = region(model, chosen, lower, upper)
    rng = np.random.default_rng(seed)
    points = rng.uniform(low, high, (int(count), len(low)))
    angle = 0.0
    if chosen == 'platform':
        declared = read_workspace(model.description).tilt
        angle = float((declared if np.isfinite(declared) else 0.0) if tilt is None else tilt)
        rotation = random_rotations(model, len(points), angle, rng)
        parts = [
            reachable(model, points[some], rotation[some], singularity_limit)
            for some in _blocks(len(points))
        ]
    else:
        parts = [
            reachable_actuators(model, points[some], singularity_limit)
            for some in _blocks(len(points))
        ]
    samples = _joined(parts)
    share = float(np.mean(samples.reachable)) if len(points) else 0.0
    deviation = float(np.sqrt(share * (1.0 - share) / max(len(points), 1)))
    size = float(np.prod(high - low))
    volumes, yaw = (float('nan'),) * 2, None
    if chosen == 'platform':
        volumes = share * size, deviation * size
    elif is_planar(model):
        # by the determinant of the platform's coordinates by the actuators': one assembly holds
        # each of its poses at one position of the actuators
        each = np.zeros(len(points))
        index = np.flatnonzero(samples.reachable)
        at = samples.joints[index], samples.position[index], samples.rotation[index]
        each[index] = np.abs(np.linalg.det(model.platform_jacobian_at(*at)[:, list(PLANAR)]))
        volumes = size * float(each.mean()), size * float(each.std() / np.sqrt(max(len(each), 1)))
        turned = yaw_of(model, samples.rotation[index])
        yaw = float(np.min(turned, initial=np.inf)), float(np.max(turned, initial=-np.inf))
    reached = samples.position[samples.reachable]
    if not len(reached):
        reached = np.full((1, 3), np.nan)
    box = np.min(reached, axis=0), np.max(reached, axis=0)
    return Workspace(chosen, low, high, angle, share, deviation, *volumes, *box, yaw, samples, seed)


def is_planar(model: ClosedChainModel) -> bool:
    """Whether the platform moves in x, y and about z and in nothing else, at home and beside it."""
    if model.platform_determines_joints or model.n_a != len(PLANAR):
        return False
    slides = [model.description.joint(name).type == 'prismatic' for name in model.actuated_joints]
    steps = 0.05 * np.array([[0.0] * 3, *np.eye(3), *-np.eye(3)])  # [rad, length scale]
    steps = steps * np.where(slides, model.length_scale, 1.0)
    found, closed = model.configurations_of_actuators(model.home_actuators + steps)
    jacobian = model.platform_jacobian_at(*found.take(np.flatnonzero(closed)))
    jacobian[:, :3] /= model.length_scale
    out = np.delete(jacobian, PLANAR, axis=1)
    if np.abs(out).max() > _PLANE * np.abs(jacobian).max():
        return False
    return bool(np.linalg.matrix_rank(jacobian[0, list(PLANAR)], tol=1e-6) == len(PLANAR))


def yaw_of(model: ClosedChainModel, rotation: Floats) -> Floats:
    """Angles (N,) [rad] about z of rotations (N, 3, 3) of a planar platform, from home's."""
    turn = rotation @ np.asarray(model.home_rotation).T
    return np.arctan2(turn[:, 1, 0], turn[:, 0, 0])


def _blocks(count: int) -> list[slice]:
    return [slice(first, first + _BLOCK) for first in range(0, count, _BLOCK)]


def region(
    model: ClosedChainModel,
    coordinates: str,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Ends of the region to look at: given ones, declared ones, a box about home."""
    if coordinates == 'platform':
        declared = read_workspace(model.description)
        reach = _REACH * model.length_scale
        ends = [
            np.where(np.isfinite(end), end, model.home_position + way)
            for end, way in ((declared.lower, -reach), (declared.upper, reach))
        ]
        names = ['x', 'y', 'z']
    else:
        ends = [np.array(model.lower), np.array(model.upper)]
        names = model.actuated_joints
    for k, given in enumerate((lower, upper)):
        if given is not None:
            ends[k] = np.array(given, dtype=float)
            if ends[k].shape != (len(names),):
                raise KinematicsError(
                    f'the region needs {len(names)} numbers ({", ".join(names)}), got the shape '
                    f'{ends[k].shape}'
                )
    for name, low, high in zip(names, *ends, strict=True):
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise KinematicsError(
                f"the region of '{name}' from {low:g} to {high:g} is empty or has no finite ends"
            )
    return ends[0], ends[1]


def random_rotations(
    model: ClosedChainModel, count: int, tilt: float, rng: np.random.Generator
) -> Floats:
    """Rotations (count, 3, 3) up to `tilt` [rad] from home's, evenly over their vectors' ball."""
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    angle = tilt * rng.uniform(0.0, 1.0, (count, 1)) ** (1.0 / 3.0)
    return np.asarray(Rotation.from_rotvec(angle * direction).as_matrix() @ model.home_rotation)


def workspace_slice(
    model: ClosedChainModel,
    axis: str = 'z',
    height: float | None = None,
    points: int = 41,
    rotation: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    singularity_limit: float = SINGULARITY_LIMIT,
) -> Slice:
    """Judge a grid of positions across `axis` at `height` [m], by default through home.

    Where the platform has fewer than six degrees of freedom, the nearest pose that it can
    take counts if its position is right: its rotation is then what the mechanism makes it.
    """
    if axis not in ('x', 'y', 'z'):
        raise KinematicsError(f"unknown axis '{axis}'; axes are x, y, z")
    low, high = region(model, 'platform', lower, upper)
    across = 'xyz'.index(axis)
    first, second = (k for k in range(3) if k != across)
    cut = float(model.home_position[across] if height is None else height)
    columns = np.linspace(low[first], high[first], points)
    rows = np.linspace(low[second], high[second], points)
    grid = np.empty((points, points, 3))
    grid[..., first], grid[..., second], grid[..., across] = columns[None], rows[:, None], cut
    verdicts = _verdicts(model, grid.reshape(-1, 3), rotation, singularity_limit)
    return Slice(
        ('xyz'[first], 'xyz'[second]), axis, cut, columns, rows, verdicts.reshape(points, points)
    )


def largest_box(
    model: ClosedChainModel,
    points: int = 15,
    rotation: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    singularity_limit: float = SINGULARITY_LIMIT,
) -> tuple[Floats, Floats]:
    """Ends (3,), (3,) [m] of a large box about home, all of whose grid points are reachable.

    The box grows from home on a grid of `points` a side, one layer at a time on the side
    that adds most volume, until every side meets a point that cannot be reached: a local
    maximum, and exact only to the grid. Empty (nan) where the point next to home fails.
    """
    ticks, verdict = workspace_grid(model, points, rotation, lower, upper, singularity_limit)
    good = verdict == 0
    start = [int(np.argmin(np.abs(t - h))) for t, h in zip(ticks, model.home_position, strict=True)]
    if not good[tuple(start)]:
        return np.full(3, np.nan), np.full(3, np.nan)
    ends = np.array([start, start])  # first and last layer (2, 3)
    while True:
        best, gain = None, 0
        for side, (way, step) in product(range(3), ((0, -1), (1, 1))):
            layer = ends[way, side] + step
            if not 0 <= layer < len(ticks[side]):
                continue
            index = [slice(first, last + 1) for first, last in ends.T]
            index[side] = slice(layer, layer + 1)
            cells = good[tuple(index)]
            if np.all(cells) and cells.size > gain:
                best, gain = (way, side, step), int(cells.size)
        if best is None:
            break
        ends[best[:2]] += best[2]
    low, high = (np.array([t[k] for t, k in zip(ticks, end, strict=True)]) for end in ends)
    return low, high


def workspace_grid(
    model: ClosedChainModel,
    points: int = 15,
    rotation: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    singularity_limit: float = SINGULARITY_LIMIT,
) -> tuple[list[Floats], Integers]:
    """Judge a grid of positions, `points` a side, all with one rotation, that of home by default.

    Returns the positions along x, y and z [m] and the verdicts (nx, ny, nz), as of `Slice`.
    """
    low, high = region(model, 'platform', lower, upper)
    ticks = [np.linspace(a, b, points if b > a else 1) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*ticks, indexing='ij'), axis=-1)
    flat = _verdicts(model, grid.reshape(-1, 3), rotation, singularity_limit)
    return ticks, flat.reshape(grid.shape[:3])


def _verdicts(
    model: ClosedChainModel, points: Floats, rotation: ArrayLike | None, limit: float
) -> Integers:
    """0 where reachable, else 1 + the index of the first criterion that fails."""
    turn = model.home_rotation if rotation is None else np.asarray(rotation, dtype=float)
    turns = np.repeat(turn[None], len(points), axis=0)
    nearest = None if model.platform_determines_joints else 'position'
    parts = []
    for some in _blocks(len(points)):
        found = reachable(model, points[some], turns[some], limit, nearest)
        names = found.first_failure
        if nearest:
            away = np.abs(found.position - points[some]).max(axis=1)
            names = np.where(away < 1e-6, names, 'assembly')
        parts.append(np.array([CRITERIA.index(name) + 1 if name else 0 for name in names]))
    return np.concatenate(parts).astype(np.int64)


def _joined(parts: list[Reachability]) -> Reachability:
    def together(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], dict):
            return {key: np.concatenate([value[key] for value in values]) for key in CRITERIA}
        return np.concatenate(values)

    return Reachability(*(together(field.name) for field in fields(Reachability)))
