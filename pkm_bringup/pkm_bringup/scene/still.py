"""A picture of a robot that stands still, without a browser: each pixel shows the nearest face."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from pkm_bringup.outputs import write_output
from pkm_bringup.scene.drawn_links import build_bodies
from pkm_bringup.scene.meshes import coarse
from pkm_description.tree_geometry import TreeGeometry, with_base
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

PIXELS = np.array([960, 800])
SAMPLING = 3  # rays a pixel, in either direction
MARGIN = 0.05  # of the picture, on each side
COLOURS = 96  # of a palette: the file is small, and no step is seen
TRIANGLES = 3000  # of one part: meshes of CAD are made coarser, which is not seen at this size
SUN = np.array([0.25, -0.45, 0.85]) / np.linalg.norm([0.25, -0.45, 0.85])
#: Azimuth and elevation of the eye [deg]; flat robots are looked at from higher up.
VIEW, FLAT_VIEW = (-62.0, 20.0), (-75.0, 48.0)
FLAT = 0.3  # height by width below which a robot is flat


def write_picture(model: ClosedChainModel, path: Path) -> None:
    """Write a picture of a robot at home, `.png`, as `pkm view` draws it; raises OutputError."""
    image = picture(model)
    write_output(path, lambda place: image.save(place, optimize=True))


def picture(model: ClosedChainModel, pixels: Floats = PIXELS) -> Image.Image:
    """Draw a robot at home: what its URDF shows of it, else a skeleton of its joints."""
    geometry = TreeGeometry.build(model.tree_layout, *model.home_configuration)
    places, turns = with_base(geometry.position, geometry.rotation)
    faces, colours = [], []
    for part in build_bodies(model).parts:
        body = part.body - 1  # the base is first there and last here
        moved = coarse(part.mesh, TRIANGLES).moved(places[0, body], turns[0, body])
        faces.append(moved.corners)
        colours.append(np.tile(part.colour, (len(moved.triangles), 1)))
    return shaded(np.concatenate(faces), np.concatenate(colours), None, pixels)


def shaded(
    faces: Floats, colours: Floats, view: tuple[float, float] | None, pixels: Floats
) -> Image.Image:
    """Picture of faces (n, 3, 3) [m] of colours (n, 3), seen from `view` [deg], else as usual."""
    eye = eye_axes(usual_view(faces) if view is None else view)
    front, colours = lit(faces, colours, eye)
    return render(front @ eye.T, colours, pixels)


def usual_view(faces: Floats) -> tuple[float, float]:
    """Azimuth and elevation [deg] of the eye for faces (n, 3, 3) [m]."""
    width, depth, height = np.ptp(faces.reshape(-1, 3), axis=0)
    return FLAT_VIEW if height < FLAT * max(width, depth) else VIEW


def lit(faces: Floats, colours: Floats, eye: Floats) -> tuple[Floats, Floats]:
    """Return those of the faces (n, 3, 3) that look to the eye, and their colours in the sun."""
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    bright = 0.55 + 0.4 * np.clip(normal @ SUN, 0.0, 1.0) + 0.1 * np.clip(normal @ eye[2], 0, 1)
    front = normal @ eye[2] > 0.0
    return faces[front], np.clip(colours * bright[:, None], 0.0, 1.0)[front]


def eye_axes(view: tuple[float, float]) -> Floats:
    """Rows: right, up and towards the eye, in base axes."""
    azimuth, elevation = np.radians(view)
    towards = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def render(faces: Floats, colours: Floats, pixels: Floats) -> Image.Image:
    """Paint what is nearest of the faces (n, 3, 3), seen along z, so that they fill the picture."""
    low, high = faces[..., :2].min(axis=(0, 1)), faces[..., :2].max(axis=(0, 1))
    scale = np.min(pixels * (1.0 - 2.0 * MARGIN) / (high - low)) * SAMPLING
    width, height = pixels * SAMPLING
    corners = faces.copy()
    corners[..., :2] = (corners[..., :2] - 0.5 * (low + high)) * scale + 0.5 * pixels * SAMPLING
    depth = np.full((height, width), -np.inf)
    picture = np.ones((height, width, 3))
    for triangle, colour in zip(corners, colours, strict=True):
        paint(triangle, colour, depth, picture)
    picture = outlined(picture, depth, 0.01 * np.ptp(faces[..., 2]))
    small = picture[::-1].reshape(pixels[1], SAMPLING, pixels[0], SAMPLING, 3).mean(axis=(1, 3))
    image = Image.fromarray((255.0 * small + 0.5).astype(np.uint8))
    return image.quantize(COLOURS, dither=Image.Dither.NONE)


def paint(triangle: Floats, colour: Floats, depth: Floats, picture: Floats) -> None:
    """Paint a triangle (3, 3) where it is nearer than what is there."""
    (ax, ay, _), (bx, by, _), (cx, cy, _) = triangle
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    if abs(area) < 1e-9:
        return
    x0, y0 = np.maximum(np.floor(triangle[:, :2].min(axis=0)).astype(int), 0)
    x1, y1 = np.ceil(triangle[:, :2].max(axis=0)).astype(int) + 1
    x, y = np.meshgrid(np.arange(x0, x1) + 0.5, np.arange(y0, y1) + 0.5)
    first = ((bx - x) * (cy - y) - (cx - x) * (by - y)) / area
    second = ((cx - x) * (ay - y) - (ax - x) * (cy - y)) / area
    third = 1.0 - first - second
    there = depth[y0:y1, x0:x1]
    inside = (first >= 0) & (second >= 0) & (third >= 0)
    inside, first, second, third = (
        part[: there.shape[0], : there.shape[1]] for part in (inside, first, second, third)
    )
    near = first * triangle[0, 2] + second * triangle[1, 2] + third * triangle[2, 2]
    visible = inside & (near > there)
    there[visible] = near[visible]
    picture[y0:y1, x0:x1][visible] = colour


def outlined(picture: Floats, depth: Floats, step: float) -> Floats:
    """Darken the nearer side of steps in depth."""
    far = np.where(np.isfinite(depth), depth, depth[np.isfinite(depth)].min() - 10.0 * step)
    edge = np.zeros(depth.shape, dtype=bool)
    for axis in (0, 1):
        for turn in (1, -1):
            edge |= far - np.roll(far, turn, axis=axis) > step
    return np.where(edge[..., None], 0.45 * picture, picture)
