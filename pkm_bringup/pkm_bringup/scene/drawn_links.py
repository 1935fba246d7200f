"""What the links of a robot look like: the shapes of its URDF, else a skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_bringup.scene.mesh_files import MeshError, read_mesh
from pkm_bringup.scene.meshes import Mesh, box, cylinder, sphere
from pkm_bringup.scene.skeleton import Skeleton
from pkm_description import Description
from pkm_description.exporters.shapes import Shape, read_shapes
from pkm_description.tree_geometry import TreeGeometry, with_base
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

Colour = tuple[float, float, float]  # red, green, blue, 0..1

BODIES, JOINTS = LAYERS = ('bodies', 'joints')
BASE, DRIVEN, PLATFORM, LINK = (
    (0.62, 0.64, 0.67),
    (0.36, 0.53, 0.75),
    (0.9, 0.58, 0.25),
    (0.76, 0.79, 0.82),
)
COVERED = 1e-2  # of a marker's size: markers that differ less hide one another
CLOSURE, DRIVE, PIN = (0.8, 0.2, 0.2), (0.2, 0.35, 0.6), (0.5, 0.5, 0.52)


@dataclass(frozen=True)
class Part:
    """A mesh of one colour that moves with a body, in the body's frame."""

    body: int
    mesh: Mesh
    colour: Colour
    layer: str = BODIES


@dataclass(frozen=True)
class Bodies:
    """The links of a robot, the base first, and all that is drawn of them.

    `notes` say what could not be drawn.
    """

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    size: float  # [m] diagonal of the robot
    is_skeleton: bool  # no link has a shape
    notes: tuple[str, ...] = ()


def build_bodies(model: ClosedChainModel) -> Bodies:
    """Return the links of a robot.

    A link without visuals, or whose meshes cannot be read, is drawn from the kinematics.
    """
    robot, skeleton = model.description, Skeleton(model)
    names = (robot.base_link, *model.tree_layout.tree.body_names)
    parts: list[Part] = []
    notes: list[str] = []
    for shape in read_shapes(robot):
        if shape.kind != 'visual' or shape.link not in names:
            continue
        try:
            red, green, blue = shape.colour[:3] or _usual_colour(robot, shape.link)
            mesh = _mesh_of(shape, robot)
        except MeshError as error:
            notes.append(f"link '{shape.link}': {error}")
        else:
            parts.append(Part(names.index(shape.link), mesh, (red, green, blue)))
    shown = {part.body for part in parts}
    for body, name in enumerate(names):
        drawn = None if body in shown else skeleton.link(name, bool(shown))
        if drawn is not None:
            parts.append(Part(body, drawn, _usual_colour(robot, name)))
    parts += _each_once(_markers(robot, names, skeleton), model)
    return Bodies(names, tuple(parts), skeleton.size, not shown, tuple(notes))


def _markers(robot: Description, names: tuple[str, ...], skeleton: Skeleton) -> list[Part]:
    """Markers of the joints, and of the constraints in red."""
    driven = set(robot.driven_joints)
    found = [
        (joint.child, skeleton.joint(joint), DRIVE if joint.name in driven else PIN)
        for joint in sorted(robot.joints, key=lambda joint: joint.name not in driven)
    ]
    found += [(each.parent, skeleton.closure(each), CLOSURE) for each in robot.constraints]
    return [
        Part(names.index(link), mesh, colour, JOINTS)
        for link, mesh, colour in found
        if mesh is not None
    ]


def _each_once(markers: list[Part], model: ClosedChainModel) -> list[Part]:
    """Leave out markers that another one covers at home: of spherical chains all axes meet."""
    geometry = TreeGeometry.build(model.tree_layout, *model.home_configuration)
    places, turns = (each[0] for each in with_base(geometry.position, geometry.rotation))
    found: list[Part] = []
    shapes: list[Floats] = []
    for marker in markers:
        body = marker.body - 1  # the base is first here and last there
        corners = marker.mesh.moved(places[body], turns[body]).vertices
        # centre and spread: pins along one axis have the same, whatever they are turned by
        spread = np.cov(corners.T).ravel() / np.ptp(corners)
        shape = np.concatenate([corners.mean(axis=0), spread])
        if all(np.abs(shape - other).max() > COVERED * np.ptp(corners) for other in shapes):
            found.append(marker)
            shapes.append(shape)
    return found


def _usual_colour(robot: Description, link: str) -> Colour:
    """Colour of a link that has none: base, platform, what a drive moves, other bodies."""
    if link == robot.base_link:
        return BASE
    if link == robot.platform:
        return PLATFORM
    driven = set(robot.driven_joints)
    return DRIVEN if any(j.child == link and j.name in driven for j in robot.joints) else LINK


def _mesh_of(shape: Shape, robot: Description) -> Mesh:
    """Mesh of a shape in its link's frame."""
    if shape.geometry == 'mesh':
        raw = read_mesh(shape.file, robot)
        mesh = Mesh(raw.vertices * np.asarray(shape.size), raw.triangles)
        if np.prod(shape.size) < 0.0:  # mirrored
            mesh = Mesh(mesh.vertices, mesh.triangles[:, ::-1])
    else:
        makers = {'box': box, 'cylinder': lambda s: cylinder(*s), 'sphere': lambda s: sphere(*s)}
        mesh = makers[shape.geometry](shape.size)
    return mesh.moved(shape.pose.position, shape.pose.rotation)
