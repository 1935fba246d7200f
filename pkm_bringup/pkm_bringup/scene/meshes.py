"""Triangles of simple bodies, and of surfaces around cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_dynamics.array_types import Booleans, Floats, Integers

SIDES = 24  # of a cylinder: more is not seen on a screen
RINGS = 8  # of a sphere, between its poles


@dataclass(frozen=True)
class Mesh:
    """A surface: `vertices` (n, 3) [m] and `triangles` (m, 3), counterclockwise from outside.

    Without triangles it is a cloud of points.
    """

    vertices: Floats
    triangles: Integers

    def moved(self, position: ArrayLike, rotation: ArrayLike) -> Mesh:
        """Return the mesh in the parent frame of a frame at (3,) [m] with a rotation (3, 3)."""
        turned = self.vertices @ np.asarray(rotation, dtype=float).T
        return Mesh(turned + np.asarray(position, dtype=float), self.triangles)

    @property
    def corners(self) -> Floats:
        """Corners (m, 3, 3) [m] of the triangles."""
        return self.vertices[self.triangles]


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(triangles))


def box(size: Sequence[float]) -> Mesh:
    """Return a box about the origin with edges of some lengths (3,) [m]."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    triangles = [part for a, b, c, d in quads for part in ((a, b, c), (a, c, d))]
    return Mesh(corners * np.asarray(size, dtype=float), np.array(triangles))


def cylinder(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """Return a cylinder about the origin, along z."""
    turn = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    rim = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(sides)], axis=1)
    return _prism(rim, np.zeros(3), np.array([0.0, 0.0, 0.5 * length]))


def sphere(radius: float, sides: int = SIDES) -> Mesh:
    """Return a sphere about the origin."""
    turn = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    tilt = np.linspace(-0.5 * np.pi, 0.5 * np.pi, RINGS + 2)[1:-1]
    rings = [
        np.stack([np.cos(t) * np.cos(turn), np.cos(t) * np.sin(turn), np.full(sides, np.sin(t))], 1)
        for t in tilt
    ]
    vertices = radius * np.concatenate([*rings, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    here = np.arange(sides)
    after = (here + 1) % sides
    low, high = RINGS * sides, RINGS * sides + 1
    top = (RINGS - 1) * sides
    parts = [
        np.stack([np.full(sides, low), after, here], axis=1),
        np.stack([np.full(sides, high), top + here, top + after], axis=1),
    ]
    for first in range(0, top, sides):
        a, b, c, d = first + here, first + after, first + sides + after, first + sides + here
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return Mesh(vertices, np.concatenate(parts))


def along(axis: ArrayLike) -> Floats:
    """Return a rotation (3, 3) that turns z into an axis (3,)."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def rod(begin: ArrayLike, end: ArrayLike, radius: float) -> Mesh:
    """Return a cylinder from one point (3,) to another one [m]."""
    a, b = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
    return cylinder(radius, float(np.linalg.norm(b - a))).moved(0.5 * (a + b), along(b - a))


def plate(points: Floats, thickness: float) -> Mesh:
    """Return a plate with corners near points (n, 3) [m], in the order of their angles.

    The points need not lie in one plane; each edge of the plate goes through them.
    """
    centre = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=True)
    first, second, normal = axes
    angle = np.arctan2((points - centre) @ second, (points - centre) @ first)
    normal = normal if np.cross(first, second) @ normal > 0.0 else -normal
    return _prism(points[np.argsort(angle)], centre, 0.5 * thickness * normal)


def _prism(rim: Floats, centre: Floats, shift: Floats) -> Mesh:
    """Return what lies between a rim (n, 3) moved back and forth by `shift` (3,) [m].

    The rim goes round `centre` (3,) counterclockwise, as seen against the shift.
    """
    n = len(rim)
    vertices = np.concatenate([rim - shift, rim + shift, [centre - shift, centre + shift]])
    here, low, high = np.arange(n), 2 * n, 2 * n + 1
    after = (here + 1) % n
    parts = [
        np.stack([here, after, after + n], axis=1),
        np.stack([here, after + n, here + n], axis=1),
        np.stack([np.full(n, low), after, here], axis=1),
        np.stack([np.full(n, high), here + n, after + n], axis=1),
    ]
    return Mesh(vertices, np.concatenate(parts))


def cell_surface(cells: Booleans, ticks: Sequence[Floats], rounds: int = 3) -> Mesh:
    """Return the surface around cells (nx, ny, nz) of a grid, smoothed.

    Cells are centred at the `ticks` of each axis [m], evenly spaced. Each of the `rounds` moves
    every corner to the mean of its neighbours.
    """
    filled = np.pad(np.asarray(cells, dtype=bool), 1)
    quads = []
    for axis in range(3):
        second, third = (axis + 1) % 3, (axis + 2) % 3
        step = np.diff(filled.astype(np.int8), axis=axis)
        for way in (1, -1):  # into the body, and out of it
            corner = np.argwhere(step == way)
            corner[:, axis] += 1
            u, v = np.eye(3, dtype=int)[second], np.eye(3, dtype=int)[third]
            around = (0 * u, u, u + v, v) if way == -1 else (0 * u, v, u + v, u)
            quads.append(np.stack([corner + shift for shift in around], axis=1))
    faces = np.concatenate(quads)
    if not len(faces):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))
    corners, index = np.unique(faces.reshape(-1, 3), axis=0, return_inverse=True)
    index = index.reshape(-1, 4)
    vertices = corners.astype(float)
    edges = np.concatenate([index[:, [k, (k + 1) % 4]] for k in range(4)])
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    count = np.bincount(edges[:, 0], minlength=len(vertices))[:, None]
    for _ in range(rounds):
        total = np.zeros_like(vertices)
        np.add.at(total, edges[:, 0], vertices[edges[:, 1]])
        vertices = total / count
    steps = np.array([tick[1] - tick[0] if len(tick) > 1 else 0.0 for tick in ticks])
    starts = np.array([tick[0] for tick in ticks])
    # the padding shifts cells by one, and corners lie half a cell before centres
    vertices = starts + (vertices - 1.5) * steps
    return Mesh(vertices, np.concatenate([index[:, [0, 1, 2]], index[:, [0, 2, 3]]]))


def coarse(mesh: Mesh, most: int) -> Mesh:
    """Return a mesh with at most so many triangles: corners in one cell of a grid become one."""
    cells = 256
    found = mesh
    while len(found.triangles) > most and cells > 2:
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        size = max(float((high - low).max()), 1e-12) / cells
        keys = np.floor((mesh.vertices - low) / size).astype(np.int64)
        _, first, index = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        triangles = index.reshape(-1)[mesh.triangles]
        a, b, c = triangles.T
        found = Mesh(mesh.vertices[first], triangles[(a != b) & (b != c) & (c != a)])
        cells = int(cells / 1.4)
    return found
