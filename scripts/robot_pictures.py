#!/usr/bin/env python3
"""Draw every robot and example at home, from the shapes of its URDF: doc/<robot>.png.

    python scripts/robot_pictures.py [ROBOT ...] [--output FOLDER]

Orthographic, all robots in one style, colours as in the URDF: base grey, what a drive moves blue,
other bodies light, the link `platform` orange. Closing constraints are red; the axes of base_link
stand at its origin (x red, y green, z blue).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import pkm_description
from pkm_bringup.scene import meshes, still
from pkm_description.assembly import Assembly
from pkm_description.exporters.shapes import Shape, read_shapes

FOLDER = Path(__file__).resolve().parents[1] / 'pkm_description' / 'doc'
PIXELS = np.array([480, 400])
SIDES = 40
RED, LIGHT = (0.85, 0.1, 0.1), (0.76, 0.79, 0.82)
AXES = ((0.8, 0.25, 0.25), (0.25, 0.6, 0.25), (0.3, 0.35, 0.85))
#: Azimuth and elevation of the eye [deg].
VIEWS = {
    'five_bar': (-75.0, 48.0),
    'four_bar': (-72.0, 14.0),
    'cart_pendulum': (-68.0, 14.0),
    'serial_arm': (-58.0, 16.0),
    'h4': (-48.0, 30.0),
    'hexel': (-62.0, 26.0),
    'uf_pkm': (-62.0, 26.0),
    'planar_rrr': (-75.0, 48.0),
    'planar_4rrr': (-75.0, 48.0),
}


@dataclass
class Picture:
    """Triangles (n, 3, 3) [m] in the base frame and their colours (n, 3)."""

    faces: np.ndarray
    colours: np.ndarray


def faces_of(shape: Shape) -> np.ndarray:
    """Triangles (n, 3, 3) of a shape in its link's frame."""
    makers = {
        'cylinder': lambda size: meshes.cylinder(*size, SIDES),
        'sphere': lambda size: meshes.sphere(*size),
        'box': meshes.box,
    }
    return (
        makers[shape.geometry](shape.size).moved(shape.pose.position, shape.pose.rotation).corners
    )


def picture_of(name: str) -> Picture:
    """Mesh of a robot at home, of its closing constraints and of the base's axes."""
    robot = pkm_description.load(name)
    assembly = Assembly(robot)
    position, rotation = assembly.body_poses(assembly.home())
    poses = {robot.base_link: (np.zeros(3), np.eye(3))}
    poses |= {body: (position[k], rotation[k]) for k, body in enumerate(assembly.tree.body_names)}
    faces, colours = [], []
    for shape in read_shapes(robot):
        if shape.kind != 'visual' or shape.geometry == 'mesh':
            continue
        place, turn = poses[shape.link]
        part = faces_of(shape) @ turn.T + place
        faces.append(part)
        colours.append(np.tile((shape.colour or LIGHT)[:3], (len(part), 1)))
    mesh = Picture(np.concatenate(faces), np.concatenate(colours))
    size = np.linalg.norm(np.ptp(mesh.faces.reshape(-1, 3), axis=0))
    for constraint in robot.constraints:
        place, turn = poses[constraint.parent]
        place = place + turn @ constraint.parent_origin.position
        turn = turn @ constraint.parent_origin.rotation @ meshes.along(constraint.parent_axis)
        mark = meshes.sphere((0.016 if len(robot.constraints) < 7 else 0.011) * size).corners
        if constraint.type == 'revolute':
            mark = meshes.cylinder(0.012 * size, 0.16 * size, SIDES).corners
        mesh = added(mesh, mark @ turn.T + place, RED)
    for axis, colour in zip(np.eye(3), AXES, strict=True):
        needle = meshes.cylinder(0.004 * size, 0.1 * size, SIDES).corners + [0.0, 0.0, 0.05 * size]
        mesh = added(mesh, needle @ meshes.along(axis).T, colour)
    return mesh


def added(mesh: Picture, faces: np.ndarray, colour: tuple[float, ...]) -> Picture:
    """Return the mesh with further faces of one colour."""
    return Picture(
        np.concatenate([mesh.faces, faces]),
        np.concatenate([mesh.colours, np.tile(colour, (len(faces), 1))]),
    )


def draw(name: str) -> Image.Image:
    """Picture of a robot."""
    mesh = picture_of(name)
    return still.shaded(mesh.faces, mesh.colours, VIEWS.get(name, still.VIEW), PIXELS)


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        'robots',
        nargs='*',
        default=[*pkm_description.library(), *pkm_description.examples()],
        metavar='ROBOT',
        help='names of robots and examples; default: all',
    )
    parser.add_argument('--output', type=Path, default=FOLDER, help='folder of the pictures')
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.robots:
        path = options.output / f'{name}.png'
        draw(name).save(path, optimize=True)
        print(f'{path}: {path.stat().st_size / 1000:.0f} kB')


if __name__ == '__main__':
    main()
