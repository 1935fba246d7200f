"""Checks of the sidecar's sections that only later stages use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pkm_description.description import Description
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, number
from pkm_description.simulation_section import read_simulation

WORKSPACE_KEYS = ('position_lower', 'position_upper', 'tilt', 'aperture')
CIRCLE_KEYS = ('diameter', 'speed', 'tilt', 'tilt_axis')


def check_sections(description: Description) -> None:
    """Check `workspace`, `benchmark_circle` and `simulation`; raises DescriptionError."""
    _check_workspace(description.sidecar.get('workspace', {}), description)
    _check_circle(description.sidecar.get('benchmark_circle', {}))
    read_simulation(description)


def _check_workspace(value: Any, description: Description) -> None:
    table = known_keys(value, 'workspace', WORKSPACE_KEYS)
    lower = _bounds(table, 'position_lower', -np.inf)
    upper = _bounds(table, 'position_upper', np.inf)
    for axis, low, high in zip('xyz', lower, upper, strict=True):
        if not low <= high:
            raise DescriptionError(
                f'workspace: position_lower {low:g} is above position_upper {high:g} along {axis}'
            )
    if 'tilt' in table and not 0.0 < number(table['tilt'], 'workspace.tilt') <= np.pi:
        raise DescriptionError(
            f'workspace.tilt must be an angle between 0 and pi [rad], not {table["tilt"]:g}'
        )
    _check_aperture(table.get('aperture', {}), description)
    home = description.home.position
    for axis, low, value, high in zip('xyz', lower, home, upper, strict=True):
        if not low - 1e-9 <= value <= high + 1e-9:
            raise DescriptionError(
                f'workspace: home has {axis} = {value:.6g} m, outside {low:g} to {high:g} m'
            )


def _check_aperture(value: Any, description: Description) -> None:
    """One angle [rad] for all spherical and universal constraints, or one by name."""
    joints = [c.name for c in description.constraints if c.type in ('spherical', 'universal')]
    angles = value if isinstance(value, Mapping) else {'all joints': value}
    for name, angle in angles.items():
        if isinstance(value, Mapping) and name not in joints:
            raise DescriptionError(
                f"workspace.aperture names '{name}', which is no spherical or universal "
                f'constraint; they are {", ".join(joints) or "none"}'
            )
        if not 0.0 < number(angle, f'workspace.aperture of {name}') <= np.pi:
            raise DescriptionError(
                f'workspace.aperture of {name} must be an angle between 0 and pi [rad], '
                f'not {angle:g}'
            )


def _bounds(table: Mapping[str, Any], key: str, default: float) -> np.ndarray:
    """Three numbers, of which some may be infinite."""
    try:
        values = np.array(table.get(key, [default] * 3), dtype=float)
    except (TypeError, ValueError):
        values = np.array([])
    if values.shape != (3,) or np.any(np.isnan(values)):
        raise DescriptionError(f'workspace.{key} must be 3 numbers [m], not {table[key]!r}')
    return values


def _check_circle(value: Any) -> None:
    table = known_keys(value, 'benchmark_circle', CIRCLE_KEYS)
    for key in ('diameter', 'speed', 'tilt'):
        if key in table:
            size = number(table[key], f'benchmark_circle.{key}')
            if key == 'diameter' and size <= 0.0 or key == 'speed' and size == 0.0:
                raise DescriptionError(f'benchmark_circle.{key} must be positive, not {size:g}')
    if table.get('tilt_axis', 'x') not in ('x', 'y'):
        raise DescriptionError(
            f'benchmark_circle.tilt_axis must be x or y, not {table["tilt_axis"]!r}'
        )
