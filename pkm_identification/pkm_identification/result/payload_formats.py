"""Identified payloads as the drivers of robots take them.

UR: `set_target_payload(m, cog, inertia)` of URScript, inertia [Ixx, Iyy, Izz, Ixy, Ixz, Iyz] about
the centre of mass, axes of the tool flange. Franka: `setLoad(load_mass, F_x_Cload, load_inertia)`
of libfranka, inertia (9) by columns, about the centre of mass, axes of the flange. KUKA: load data
M [kg], CM X, Y, Z [mm] and A, B, C [deg] of the principal axes (about Z, then the new Y, then the
new X), J X, Y, Z [kg m^2] about these. Here the link that the payload is fixed to is the flange.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import yaml
from transforms3d.euler import mat2euler

from pkm_description.checks import inertial_problem
from pkm_description.description import Inertial, frozen
from pkm_description.errors import EstimationError
from pkm_description.payload import PARTS
from pkm_identification.arrays import Array
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.result.fields import plain

DIGITS = 9  # significant: far below any uncertainty, without tails of rounding


class PayloadText(NamedTuple):
    """A YAML with payloads in the conventions of drivers, and what it lacks."""

    text: str
    losses: tuple[str, ...]


def payload_text(payloads: Sequence[PayloadEstimate], source: str) -> PayloadText:
    """Write payloads, one entry each, with standard deviations.

    An inertia that the data do not determine, or that no body can have, is left out and named.
    Raises EstimationError where there is no payload, or a mass or a centre is of no use.
    """
    if not payloads:
        raise EstimationError(
            'the model has no payload: identify with data of the robot without and with it '
            '(`pkm identify --payload`)'
        )
    found = [_entry(each) for each in payloads]
    content = {each.name: entry for each, (entry, _) in zip(payloads, found, strict=True)}
    head = f'# {source}\n# SI units but for KUKA (mm, deg); axes and origin of the link `frame`.\n'
    text = yaml.safe_dump(plain(content), sort_keys=False, width=100, default_flow_style=None)
    return PayloadText(head + text, tuple(loss for _, loss in found if loss))


def _entry(payload: PayloadEstimate) -> tuple[dict[str, Any], str]:
    deviation = payload.standard_deviation
    where = f"payload '{payload.name}'"
    for name, part in PARTS[:2]:
        if not np.isfinite(deviation[part]).all():
            raise EstimationError(f'{where}: the data do not determine its {name}')
    if not payload.mass > 0.0:
        raise EstimationError(f'{where}: no body has a mass of {payload.mass:g} kg')
    inertia, loss = np.asarray(payload.inertia), ''
    body = Inertial(payload.mass, frozen(payload.centre), frozen(inertia))
    if not np.isfinite(deviation[4:]).all():
        loss = 'the data do not determine its inertia'
    elif problem := inertial_problem(body):
        loss = f"its inertia is no body's ({problem})"
    if loss:
        inertia, loss = np.zeros((3, 3)), f'{where}: {loss}: zero is written'
    moments, axes = principal_axes(inertia)
    mass, centre = _rounded(payload.mass), _rounded(payload.centre)
    angles = dict(zip('ABC', _rounded(np.degrees(mat2euler(axes, 'rzyx'))), strict=True))
    entry = {
        'frame': payload.link,
        'standard_deviation': {
            'mass': _rounded(deviation[0]),
            'centre': _rounded(deviation[1:4]),
            **({} if loss else {'inertia': _rounded(deviation[4:])}),
        },
        'ur': {
            'm': mass,
            'cog': centre,
            'inertia': _rounded([*np.diag(inertia), *inertia[np.triu_indices(3, 1)]]),
        },
        'franka': {
            'load_mass': mass,
            'F_x_Cload': centre,
            'load_inertia': _rounded(inertia.ravel(order='F')),
        },
        'kuka': {
            'M': mass,
            'CM': {**dict(zip('XYZ', _rounded(1e3 * payload.centre), strict=True)), **angles},
            'J': dict(zip('XYZ', _rounded(moments), strict=True)),
        },
    }
    return entry, loss


def principal_axes(inertia: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and right-handed axes (3, 3) in columns, the least turned ones."""
    moments, axes = np.linalg.eigh(inertia)
    order = max(permutations(range(3)), key=lambda p: float(np.abs(np.diag(axes[:, p])).sum()))
    moments, axes = moments[list(order)], axes[:, list(order)]
    axes = axes * np.where(np.diag(axes) < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[:, int(np.argmin(np.abs(np.diag(axes))))] *= -1.0
    return moments, axes


def _rounded(values: Any) -> Any:
    found = [float(f'{value:.{DIGITS}g}') for value in np.ravel(values)]
    return found[0] if np.ndim(values) == 0 else found
