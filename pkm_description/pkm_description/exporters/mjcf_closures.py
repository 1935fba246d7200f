"""Closing constraints as MJCF equalities between sites; sites, geoms and inertias of bodies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from lxml import etree
from transforms3d.quaternions import mat2quat

from pkm_description.description import Array, Constraint, Inertial, Pose
from pkm_description.errors import ExportError
from pkm_description.exporters.exported import number, numbers, symmetric
from pkm_description.exporters.inertias import TINY_INERTIA, TINY_MASS
from pkm_description.exporters.shapes import Shape

#: Distance of the two points that close a revolute joint [m].
REVOLUTE_LEVER = 0.1
IMPEDANCE = '.9999 .9999 .001'


class MjcfClosure:
    """One closing constraint: its sites, its auxiliary body if any, its equalities.

    A universal or prismatic closure has an auxiliary body on the constraint's parent
    link, which moves about or along the parent's axis and is closed to the child link
    as a revolute or a fixed closure. `parent` and `child` are the constraint's frames on its
    two links, in the base frame, at home; the closure's time constant is two time steps [s].
    """

    def __init__(self, constraint: Constraint, parent: Pose, child: Pose, timestep: float) -> None:
        self.constraint = constraint
        self.solref = numbers([2.0 * timestep, 1.0])
        self.axes = constraint.held_axes
        axis = parent.rotation @ self.axes[0]
        self.shift = float(axis @ (child.position - parent.position))
        self.pin = parent.rotation.T @ child.rotation @ self.axes[1]
        if constraint.holds == 'universal' and abs(self.pin @ self.axes[0]) > 1e-6:
            raise ExportError(
                f"constraint '{constraint.name}': the axes of a universal joint must be "
                'perpendicular at home'
            )

    @property
    def auxiliary(self) -> str | None:
        """Name of the auxiliary body and its joint."""
        has_body = self.constraint.holds in ('universal', 'prismatic')
        return f'{self.constraint.name}_auxiliary' if has_body else None

    def add_auxiliary(
        self, body: etree._Element, share: Inertial | None, friction: bool
    ) -> etree._Element:
        """Add the auxiliary body below the element of the parent link.

        `share` is the part of the child link's inertia that a prismatic closure's body
        carries; without it the weld between a heavy and a massless body would be soft.
        With `friction`, that of a prismatic closure acts in the auxiliary joint.
        """
        constraint = self.constraint
        origin, kind = constraint.parent_origin, 'hinge'
        if constraint.type == 'prismatic':
            along = origin.rotation @ constraint.parent_axis * self.shift
            origin, kind = Pose(origin.position + along, origin.rotation), 'slide'
        name = str(self.auxiliary)
        child = etree.SubElement(body, 'body', name=name, **pose_attributes(origin))
        axis = numbers(self.axes[0])
        joint = etree.SubElement(child, 'joint', name=name, type=kind, axis=axis)
        carried = None
        if constraint.type == 'prismatic':
            if share is not None:
                carried = share.seen_from(constraint.child_origin)
            if friction and constraint.friction is not None:
                coulomb, viscous = symmetric(constraint.friction)
                joint.set('damping', number(viscous))
                joint.set('frictionloss', number(coulomb))
        add_inertial(child, constraint.child, carried)
        return child

    def close(self, equality: etree._Element, bodies: Mapping[str, etree._Element]) -> None:
        """Add the sites and the equalities; `bodies` are the elements by name."""
        constraint = self.constraint
        parent, child = bodies[constraint.parent], bodies[constraint.child]
        at_parent, at_child = constraint.parent_origin, constraint.child_origin
        if self.auxiliary is not None:
            parent, at_parent = bodies[self.auxiliary], Pose()
        axes = list(self.axes)
        name = constraint.name
        if constraint.type in ('fixed', 'prismatic'):
            self._equality(equality, 'weld', name, (parent, at_parent), (child, at_child))
        elif constraint.type in ('spherical', 'revolute', 'universal'):
            self._equality(equality, 'connect', name, (parent, at_parent), (child, at_child))
        else:
            raise ExportError(
                f"constraint '{name}': MJCF cannot hold a closure of type '{constraint.type}'; "
                'fixed, spherical, revolute, universal and prismatic are supported'
            )
        if constraint.holds == 'universal':
            axes[0] = self.pin
        if constraint.holds in ('revolute', 'universal'):
            first = (parent, _along(at_parent, axes[0]))
            second = (child, _along(at_child, axes[1]))
            self._equality(equality, 'connect', f'{name}_axis', first, second)

    def _equality(
        self,
        equality: etree._Element,
        kind: str,
        name: str,
        parent: tuple[etree._Element, Pose],
        child: tuple[etree._Element, Pose],
    ) -> None:
        sites = {
            'site1': add_site(parent[0], f'{name}_parent', parent[1]),
            'site2': add_site(child[0], f'{name}_child', child[1]),
        }
        stiffness = {'solref': self.solref, 'solimp': IMPEDANCE}
        etree.SubElement(equality, kind, name=name, **sites, **stiffness)


def _along(origin: Pose, axis: Array) -> Pose:
    """Return the frame moved by the lever along an axis given in its own directions."""
    offset = np.asarray(REVOLUTE_LEVER * (origin.rotation @ axis))
    return Pose(origin.position + offset, origin.rotation)


def pose_attributes(pose: Pose) -> dict[str, str]:
    """Return `pos` and `quat` (w, x, y, z) of a pose."""
    return {'pos': numbers(pose.position), 'quat': numbers(mat2quat(pose.rotation))}


def add_site(body: etree._Element, name: str, pose: Pose) -> str:
    """Add a site to a body and return its name."""
    etree.SubElement(body, 'site', name=name, size='0.005', **pose_attributes(pose))
    return name


def add_geometry(body: etree._Element, name: str, shape: Shape) -> None:
    """Add a shape as a geom without mass or contact; meshes are left out."""
    if shape.geometry == 'mesh':
        return
    half = [0.5 * edge for edge in shape.size]
    size = {'box': half, 'sphere': shape.size, 'cylinder': (shape.size[0], half[-1])}
    group = '1' if shape.kind == 'visual' else '3'
    attributes = {'type': shape.geometry, 'size': numbers(size[shape.geometry]), 'group': group}
    attributes |= {'mass': '0', 'contype': '0', 'conaffinity': '0'}
    geom = etree.SubElement(body, 'geom', name=name, **attributes, **pose_attributes(shape.pose))
    if shape.colour:
        geom.set('rgba', numbers(shape.colour))


def add_inertial(body: etree._Element, link: str, inertial: Inertial | None) -> None:
    """Add the inertia of a moving body, or the stand-in where there is none.

    Raises ExportError if no rigid body has this inertia.
    """
    mass, com, inertia = _solid(link, inertial)
    given = {'pos': numbers(com), 'mass': number(mass)}
    moments = np.diag(inertia)
    if np.any(inertia != np.diag(moments)):
        # MuJoCo 3.3 finds the axes of a full inertia to eight digits only
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        given['quat'] = numbers(mat2quat(axes))
    etree.SubElement(body, 'inertial', **given, diaginertia=numbers(moments))


def is_thin(inertial: Inertial) -> bool:
    """Whether a principal inertia is below that of a stand-in, so that it is raised."""
    return bool(np.linalg.eigvalsh(inertial.inertia)[0] < (1.0 - 1e-9) * TINY_INERTIA)


def _solid(link: str, inertial: Inertial | None) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia that MuJoCo accepts for a moving body."""
    if inertial is None:
        return TINY_MASS, np.zeros(3), TINY_INERTIA * np.eye(3)
    inertia = np.asarray(inertial.inertia, dtype=float)
    smallest, middle, largest = np.linalg.eigvalsh(inertia)
    if smallest < 0.0 or largest > (smallest + middle) * (1.0 + 1e-9):
        raise ExportError(
            f"link '{link}': no rigid body has the principal inertias {smallest:.6g}, "
            f'{middle:.6g}, {largest:.6g} kg m^2 (none may exceed the sum of the others), '
            'and MuJoCo refuses them'
        )
    if is_thin(inertial):
        inertia = inertia + TINY_INERTIA * np.eye(3)
    return max(inertial.mass, TINY_MASS), np.asarray(inertial.com, dtype=float), inertia
