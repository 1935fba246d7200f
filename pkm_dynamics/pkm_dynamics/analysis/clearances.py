"""Distances between bodies, each a few capsules.

The capsules are the `<collision>` cylinders (with round ends) and spheres of the URDF.
Bodies that a joint or a closure connects touch by design: their capsules count as far as
they stand apart at home by more than the radius of the thinner one (a strut against the
other side of the platform, but not against the corner that it ends in). Links without a
shape (a cardan ring) count as part of the joint that they stand in.
"""

from __future__ import annotations

import numpy as np

from pkm_description.description import Description
from pkm_description.exporters.shapes import read_shapes
from pkm_description.tree_geometry import TreeLayout, body_poses
from pkm_dynamics.array_types import Booleans, Floats, Integers
from pkm_dynamics.kernels.distances import capsule_gaps
from pkm_dynamics.model import ClosedChainModel

BASE = -1  # a body that stands still


class BodyDistances:
    """Clearances of one robot.

    `pairs` are '<link>-<link>' of the bodies whose clearance counts; empty where the URDF gives
    no collision cylinders or spheres.
    """

    def __init__(self, model: ClosedChainModel) -> None:
        self._layout: TreeLayout = model.tree_layout
        index = {name: i for i, name in enumerate(self._layout.tree.body_names)}
        links, self._ends, self._radii = _capsules(model.description)
        self._body = np.array([index.get(link, BASE) for link in links], dtype=np.int64)
        first, second, joined = _pairs(model.description, links)
        if len(joined):
            home = model.home_configuration
            gaps = self._gaps(*home, first, second, np.arange(len(joined)))[0]
            thinner = np.minimum(self._radii[first], self._radii[second])
            counts = ~joined | (gaps > thinner)
            first, second = first[counts], second[counts]
        self._first, self._second = first, second
        names = [f'{links[i]}-{links[j]}' for i, j in zip(first, second, strict=True)]
        self.pairs = list(dict.fromkeys(names))
        column = {name: k for k, name in enumerate(self.pairs)}
        self._column = np.array([column[name] for name in names], dtype=np.int64)

    def clearances(self, joints: Floats, position: Floats, rotation: Floats) -> Floats:
        """Return the distance (N, pairs) [m] between the surfaces; negative inside.

        At positions (N, n_j) of all scalar joints and poses (N, 3), (N, 3, 3) of the platform.
        """
        return self._gaps(joints, position, rotation, self._first, self._second, self._column)

    def _gaps(self, joints: Floats, position: Floats, rotation: Floats, *pairs: Integers) -> Floats:
        """Gaps at a configuration; of each pair two capsules and a column of the result."""
        out = np.full((len(joints), 1 + int(pairs[-1].max(initial=-1))), np.inf)
        if out.size:
            places, turns = body_poses(self._layout, joints, position, rotation)
            capsule_gaps(places, turns, self._body, self._ends, self._radii, *pairs, out)
        return out


def _capsules(description: Description) -> tuple[list[str], Floats, Floats]:
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


def _pairs(description: Description, links: list[str]) -> tuple[Integers, Integers, Booleans]:
    """Pairs of capsules (indices) on different links, and whether a joint connects these."""
    near = _neighbours(description, set(links))
    pairs = [
        (i, j, links[j] in near[links[i]])
        for i in range(len(links))
        for j in range(i + 1, len(links))
        if links[i] != links[j]
    ]
    chosen = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    return chosen[:, 0].copy(), chosen[:, 1].copy(), chosen[:, 2] == 1


def _neighbours(description: Description, shaped: set[str]) -> dict[str, set[str]]:
    """Links that joints and closures connect to each, also by way of links without shape."""
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
    return near
