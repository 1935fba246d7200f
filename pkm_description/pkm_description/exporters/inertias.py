"""Inertias that are moved, divided and taken from one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.description import Inertial, Pose, frozen

Array = NDArray[np.float64]


def compose(first: Pose, second: Pose) -> Pose:
    """Return the pose `second`, given in the frame `first`, where `first` is given."""
    return Pose(first.position + first.rotation @ second.position, first.rotation @ second.rotation)


def seen_from(frame: Pose, inertial: Inertial) -> Inertial:
    """Return an inertia in the axes and about the origin of a frame of its link."""
    turn = frame.rotation.T
    com = turn @ (inertial.com - frame.position)
    return Inertial(inertial.mass, frozen(com), frozen(turn @ inertial.inertia @ turn.T))


def scaled(inertial: Inertial, factor: float) -> Inertial:
    """Return the inertia of a body of the same shape and `factor` times the density."""
    return Inertial(factor * inertial.mass, inertial.com, frozen(factor * inertial.inertia))


def without(inertial: Inertial, part: Inertial) -> Inertial | None:
    """Return what is left of a body when a part of it is taken away, in the same axes.

    None where no rigid body is left.
    """
    mass = inertial.mass - part.mass
    if not mass > 0:
        return None
    com = (inertial.mass * inertial.com - part.mass * part.com) / mass
    moments = inertial.inertia + inertial.mass * _point(inertial.com - com)
    moments = moments - part.inertia - part.mass * _point(part.com - com)
    smallest, middle, largest = np.linalg.eigvalsh(moments)
    if smallest <= 0 or largest > (smallest + middle) * (1 + 1e-9):
        return None
    return Inertial(mass, frozen(com), frozen(moments))


def _point(arm: Array) -> Array:
    """Return the inertia (3, 3) of a unit mass at a distance `arm`."""
    return np.asarray(np.dot(arm, arm) * np.eye(3) - np.outer(arm, arm))
