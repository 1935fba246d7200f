"""Apertures of spherical and universal joints: how far they bend from home.

Each constraint has a pin, a direction that both of its bodies hold and that coincides at
home: the `parent_axis` of a spherical joint (along the strut, as a rule), the normal of
the cross of a universal one. The aperture is the angle between the two pins; turning
about the pin (spin) does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.sidecar_sections import read_workspace
from pkm_description.tree_geometry import body_poses, with_base
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.model import ClosedChainModel


@dataclass(frozen=True)
class Apertures:
    """Angles (N, n) [rad] of n joints, and their limits (n,), infinite where none is declared."""

    names: tuple[str, ...]
    angles: Floats
    limits: Floats


def apertures_of_joints(
    model: ClosedChainModel, joints: Floats, position: Floats, rotation: Floats
) -> Apertures:
    """Apertures of closed configurations: joints (N, n_j), platform (N, 3), (N, 3, 3)."""
    names, parents, children, pins = _pins(model)
    home = _rotations(model, *model.home_configuration)
    here = _rotations(model, joints, position, rotation)
    held = np.einsum('nkij,kj->nki', here[:, parents], pins)
    # The child holds what the parent's pin is at home.
    in_child = np.einsum('kji,kjl,kl->ki', home[0, children], home[0, parents], pins)
    other = np.einsum('nkij,kj->nki', here[:, children], in_child)
    sine = np.linalg.norm(np.cross(held, other), axis=2)
    angles = np.arctan2(sine, np.einsum('nki,nki->nk', held, other))
    declared = read_workspace(model.description).apertures
    return Apertures(tuple(names), angles, np.array([declared[name] for name in names]))


def _pins(model: ClosedChainModel) -> tuple[list[str], Integers, Integers, Floats]:
    """Names, bodies (the base last) and pins (n, 3) in the parents' frames."""
    description, tree = model.description, model.tree_layout.tree
    body = {name: index for index, name in enumerate(tree.body_names)}
    base = tree.n_b
    home = _rotations(model, *model.home_configuration)[0]
    names, parents, children, pins = [], [], [], []
    for constraint in description.constraints:
        if constraint.type not in ('spherical', 'universal'):
            continue
        parent = body.get(constraint.parent, base)
        child = body.get(constraint.child, base)
        pin = constraint.parent_origin.rotation @ constraint.parent_axis
        if constraint.type == 'universal':
            other = constraint.child_origin.rotation @ constraint.child_axis
            pin = np.cross(pin, home[parent].T @ home[child] @ other)
            pin = pin / np.linalg.norm(pin)
        names.append(constraint.name)
        parents.append(parent)
        children.append(child)
        pins.append(pin)
    first, second = (np.array(ends, dtype=np.int64) for ends in (parents, children))
    return names, first, second, np.array(pins, dtype=float).reshape(-1, 3)


def _rotations(
    model: ClosedChainModel, joints: Floats, position: Floats, rotation: Floats
) -> Floats:
    """Rotations (N, n_b + 1, 3, 3) of all bodies, the base last."""
    return with_base(*body_poses(model.tree_layout, joints, position, rotation))[1]
