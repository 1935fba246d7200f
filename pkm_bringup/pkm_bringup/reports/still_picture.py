"""A picture of a robot for paper: its bodies as a projection, shaded, with its forces."""

from __future__ import annotations

import numpy as np

from pkm_bringup.reports.svg import drawn
from pkm_bringup.scene.drawn_links import JOINTS
from pkm_bringup.scene.meshes import coarse
from pkm_bringup.scene.scene import ARROW, Scene
from pkm_bringup.scene.still import TRIANGLES, eye_axes, lit, usual_view
from pkm_dynamics.array_types import Floats

FORCE, PATH = (0.0, 0.5, 0.3), (0.25, 0.3, 0.38)
SIDE = 4.6  # [in]


def still_picture(scene: Scene) -> str:
    """Return the robot where its motion begins as SVG, hidden surfaces covered by nearer ones."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patheffects import withStroke

    corners, colours = [], []
    for part in scene.bodies.parts:
        if part.layer == JOINTS and not scene.bodies.is_skeleton:
            continue
        mesh = coarse(part.mesh, TRIANGLES)
        moved = mesh.moved(scene.position[0, part.body], scene.rotation[0, part.body])
        corners.append(moved.corners)
        colours.append(np.tile(part.colour, (len(moved.triangles), 1)))
    every = np.concatenate(corners)
    eye = eye_axes(usual_view(every))
    right, up, back = eye
    faces, paint = lit(every, np.concatenate(colours), eye)
    order = np.argsort((faces @ back).mean(axis=1))
    flat = np.stack([faces @ right, faces @ up], axis=-1)[order]
    with drawn(f'{scene.title}: the robot where its motion begins', SIDE, SIDE) as (figure, svg):
        axis = figure.subplots()
        axis.set_axis_off()
        bodies = PolyCollection(list(flat), rasterized=True, linewidths=0.3)
        bodies.set_facecolor(paint[order])
        bodies.set_edgecolor(paint[order])
        axis.add_collection(bodies)
        axis.plot(scene.path @ right, scene.path @ up, color=PATH, lw=0.9)
        for tail, tip in _arrows(scene):
            ends = [(float(p @ right), float(p @ up)) for p in (tip, tail)]
            look = {'arrowstyle': '-|>', 'color': FORCE, 'lw': 2.2, 'mutation_scale': 13}
            arrow = axis.annotate('', *ends, arrowprops=look).arrow_patch
            arrow.set_path_effects([withStroke(linewidth=4.5, foreground='white')])
        axis.set_aspect('equal')
        axis.autoscale_view()
    return svg[0]


def _arrows(scene: Scene) -> list[tuple[Floats, Floats]]:
    """Return tails and tips (3,) [m]; forces and moments by their largest, these with two heads."""
    arrows, sizes = scene.arrows, np.linalg.norm(scene.arrows.vector[0], axis=1)
    found = []
    for k, is_moment in enumerate(arrows.moment):
        alike = [size for size, each in zip(sizes, arrows.moment, strict=True) if each == is_moment]
        if sizes[k] > 0.0:
            tail = arrows.tail[0, k]
            tip = arrows.vector[0, k] * (ARROW * scene.bodies.size / max(alike))
            found += [(tail, tail + share * tip) for share in ((1.0, 0.8) if is_moment else (1.0,))]
    return found
