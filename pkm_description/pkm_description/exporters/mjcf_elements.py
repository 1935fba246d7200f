"""Numbers, poses and sites as MJCF attributes."""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike, NDArray
from transforms3d.quaternions import mat2quat

from pkm_description.description import Pose

Array = NDArray[np.float64]

#: Stand-in inertia of a moving body without inertia of its own [kg, kg m^2].
TINY_MASS = 1e-6
TINY_INERTIA = 1e-8


def number(value: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(float(value))


def numbers(values: ArrayLike) -> str:
    """Return a blank-separated list of numbers."""
    return ' '.join(number(value) for value in np.asarray(values, dtype=float).ravel())


def pose_attributes(pose: Pose) -> dict[str, str]:
    """Return `pos` and `quat` (w, x, y, z) of a pose."""
    return {'pos': numbers(pose.position), 'quat': numbers(mat2quat(pose.rotation))}


def add_site(body: etree._Element, name: str, pose: Pose) -> str:
    """Add a site to a body and return its name."""
    etree.SubElement(body, 'site', name=name, size='0.005', **pose_attributes(pose))
    return name
