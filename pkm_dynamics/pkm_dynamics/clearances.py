"""Distances between bodies, each a few capsules.

The capsules are the `<collision>` cylinders (with round ends) and spheres of the URDF.
Bodies that a joint or a closure connects touch by design and are left out; links without
a shape (a cardan ring) count as part of the joint that they stand in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pkm_description.description import Description
from pkm_description.exporters.shapes import read_shapes
from pkm_dynamics.tree_geometry import TreeLayout, body_poses

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel

Array = NDArray[np.float64]
TINY = 1e-18  # [m^2] below which a capsule is a sphere
LONGEST = 512  # samples at once: pairs of capsules are many


class BodyDistances:
    """Clearances of one robot.

    Attributes
    ----------
    pairs : list of str
        '<link>-<link>' of the bodies whose clearance counts; empty where the URDF gives
        no collision cylinders or spheres.
    """

    def __init__(self, model: ClosedChainModel) -> None:
        self._layout: TreeLayout = model.tree_layout
        tree = self._layout.tree
        index = {name: i for i, name in enumerate(tree.body_names)}  # the base comes last
        links, ends, radii = _capsules(model.description)
        body = np.array([index.get(link, tree.n_b) for link in links], dtype=int)
        first, second = _separate(model.description, links)
        self._body, self._first, self._second = body, first, second
        self._ends, self._radii = ends, radii
        names = [f'{links[i]}-{links[j]}' for i, j in zip(first, second, strict=True)]
        self.pairs = list(dict.fromkeys(names))
        self._column = np.array([self.pairs.index(name) for name in names], dtype=int)

    def clearances(self, joints: Array, position: Array, rotation: Array) -> Array:
        """Return the distance (N, pairs) [m] between the surfaces; negative inside.

        Parameters
        ----------
        joints : (N, n_j)
            Positions of all scalar joints.
        position : (N, 3), rotation : (N, 3, 3)
            Of the platform.
        """
        out = np.empty((len(joints), len(self.pairs)))
        for start in range(0, len(joints), LONGEST):
            part = slice(start, start + LONGEST)
            out[part] = self._clearances(joints[part], position[part], rotation[part])
        return out

    def _poses(self, joints: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
        places, turns = body_poses(self._layout, joints, position, rotation)
        n = len(places)
        still = np.broadcast_to(np.eye(3), (n, 1, 3, 3))
        return (
            np.concatenate([places, np.zeros((n, 1, 3))], axis=1),
            np.concatenate([turns, still], axis=1),
        )

    def _clearances(self, joints: Array, position: Array, rotation: Array) -> Array:
        places, turns = self._poses(joints, position, rotation)
        turned = np.einsum('ncij,cej->ncei', turns[:, self._body], self._ends)
        ends = places[:, self._body, None] + turned
        gap = segment_distances(
            ends[:, self._first, 0], ends[:, self._first, 1],
            ends[:, self._second, 0], ends[:, self._second, 1],
        )  # fmt: skip
        gap = gap - self._radii[self._first] - self._radii[self._second]
        out = np.full((len(joints), len(self.pairs)), np.inf)
        for k, column in enumerate(self._column):
            np.minimum(out[:, column], gap[:, k], out=out[:, column])
        return out


def segment_distances(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distances (...) of the segments a-b and c-d (..., 3 each)."""
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    determinant = uu * vv - uv * uv
    s = np.where(
        determinant > TINY, (uv * vw - vv * uw) / np.where(determinant > TINY, determinant, 1.0), 0
    )
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, TINY), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, TINY), 0.0, 1.0)
    gap = w + s[..., None] * u - t[..., None] * v
    return np.asarray(np.sqrt(_dot(gap, gap)))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum('...i,...i->...', a, b))


def _capsules(description: Description) -> tuple[list[str], Array, Array]:
    """Links, ends (n, 2, 3) of the axes in the links' frames, and radii (n,)."""
    links, ends, radii = [], [], []
    for shape in read_shapes(description):
        if shape.kind != 'collision' or shape.geometry not in ('cylinder', 'sphere'):
            continue
        length = shape.size[1] if shape.geometry == 'cylinder' else 0.0
        along = shape.pose.rotation[:, 2] * 0.5 * length
        links.append(shape.link)
        ends.append([shape.pose.position - along, shape.pose.position + along])
        radii.append(shape.size[0])
    return links, np.array(ends, dtype=float).reshape(-1, 2, 3), np.array(radii, dtype=float)


def _separate(description: Description, links: list[str]) -> tuple[NDArray[np.intp], ...]:
    """Pairs of capsules (indices) whose links no joint or closure connects."""
    shaped = set(links)
    joined: dict[str, set[str]] = {}
    touching = [(j.parent, j.child) for j in description.joints if j.type != 'floating']
    touching += [(c.parent, c.child) for c in description.constraints]
    for parent, child in touching:
        joined.setdefault(parent, set()).add(child)
        joined.setdefault(child, set()).add(parent)
    near: dict[str, set[str]] = {}
    for link in shaped:
        seen, open_ends = {link}, [link]
        while open_ends:
            for other in joined.get(open_ends.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    if other not in shaped and other != description.base_link:
                        open_ends.append(other)
        near[link] = seen
    pairs = [
        (i, j)
        for i in range(len(links))
        for j in range(i + 1, len(links))
        if links[j] not in near[links[i]]
    ]
    chosen = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return chosen[:, 0], chosen[:, 1]
