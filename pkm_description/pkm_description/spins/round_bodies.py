"""What counts of a body that spins idly about an axis: its average over all angles of the spin."""

from __future__ import annotations

import numpy as np

from pkm_description.description import Array, Inertial, frozen

# A body is round where its centre of mass lies off the axis by less than this part of its radius
# of gyration, and its two moments across the axis differ by less than this part: a rod of CAD
# with bolts and ball studs is, and the forces that are left out are smaller than this part of
# the body's own.
SYMMETRY = 0.05


def off_axis(inertial: Inertial, point: Array, direction: Array) -> float:
    """Distance of the centre of mass from an axis, by the radius of gyration."""
    radius = np.sqrt(0.5 * np.trace(inertial.inertia) / inertial.mass)
    distance = float(np.linalg.norm(np.cross(direction, inertial.com - point)))
    return distance / max(float(radius), distance, 1e-300)


def asymmetry(inertial: Inertial, direction: Array) -> float:
    """What of the inertia (about the centre of mass) is not round about a direction, by its mean.

    Difference of the moments across the direction and products of inertia with it.
    """
    across = inertial.inertia - averaged_inertia(inertial.inertia, direction)
    along = float(direction @ inertial.inertia @ direction)
    across = across - along * np.outer(direction, direction)
    mean = 0.5 * (np.trace(inertial.inertia) - along)
    return float(np.linalg.norm(across, 2)) / mean if mean > 0.0 else 0.0


def averaged_inertia(inertia: Array, direction: Array) -> Array:
    """Inertia (3, 3) averaged over all angles about a direction, without that about it."""
    across = np.eye(3) - np.outer(direction, direction)
    return np.asarray(0.5 * np.trace(inertia @ across) * across)


def averaged_body(inertial: Inertial, point: Array, direction: Array) -> Inertial:
    """Return what counts of a body that spins idly: thin, without inertia about the axis."""
    found = averaging(point, direction) @ inertial.standard_parameters()
    mass, com = float(found[0]), found[1:4] / found[0]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = found[4:]
    inertia = inertia + np.triu(inertia, 1).T - mass * _steiner(com, com)
    return Inertial(mass, frozen(com), frozen(averaged_inertia(inertia, direction)))


def averaging(point: Array, direction: Array) -> Array:
    """Matrix (10, 10) that averages standard parameters of a body over its idle spin.

    The axis goes through `point` (3,) [m] in the `direction` (3,), in the link's frame. A spin
    that nothing drives stays at rest about its axis, so the moment of inertia about it counts
    for nothing.
    """
    return _matrix(point, direction, 0.0)


def rounding(point: Array, direction: Array) -> Array:
    """Matrix (10, 10) of the same average with the moment of inertia about the axis."""
    return _matrix(point, direction, 1.0)


def _matrix(point: Array, direction: Array, about_axis: float) -> Array:
    return np.array([_averaged(each, point, direction, about_axis) for each in np.eye(10)]).T


def _averaged(parameters: Array, point: Array, direction: Array, about_axis: float) -> Array:
    mass, first = parameters[0], parameters[1:4]
    about_origin = np.zeros((3, 3))
    about_origin[np.triu_indices(3)] = parameters[4:]
    about_origin = about_origin + np.triu(about_origin, 1).T
    # to the point on the axis: first moment h' = h - m r, I = I_r + m [r] + [h' r]
    moved = first - mass * point
    about_point = about_origin - mass * _steiner(point, point) - 2.0 * _steiner(moved, point)
    moved = direction * (direction @ moved)
    along = about_axis * (direction @ about_point @ direction)
    inertia = averaged_inertia(about_point, direction) + along * np.outer(direction, direction)
    inertia = inertia + mass * _steiner(point, point) + 2.0 * _steiner(moved, point)
    return np.array([mass, *(moved + mass * point), *inertia[np.triu_indices(3)]])


def _steiner(a: Array, b: Array) -> Array:
    """Symmetric part of (a . b) 1 - a b^T."""
    return np.asarray(float(a @ b) * np.eye(3) - 0.5 * (np.outer(a, b) + np.outer(b, a)))
