"""Numbers, poses and sites as MJCF attributes."""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from transforms3d.quaternions import mat2quat

from pkm_description.description import Inertial, Pose
from pkm_description.errors import ExportError
from pkm_description.exporters.exported import number, numbers
from pkm_description.exporters.shapes import Shape
from pkm_description.exporters.stand_ins import TINY_INERTIA, TINY_MASS

Array = NDArray[np.float64]


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

    Raises
    ------
    ExportError
        If no rigid body has this inertia.
    """
    mass, com, inertia = _solid(link, inertial)
    xx, yy, zz = np.diag(inertia)
    etree.SubElement(
        body,
        'inertial',
        pos=numbers(com),
        mass=number(mass),
        fullinertia=numbers([xx, yy, zz, inertia[0, 1], inertia[0, 2], inertia[1, 2]]),
    )


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
    if smallest < TINY_INERTIA:
        inertia = inertia + TINY_INERTIA * np.eye(3)
    return max(inertial.mass, TINY_MASS), np.asarray(inertial.com, dtype=float), inertia
