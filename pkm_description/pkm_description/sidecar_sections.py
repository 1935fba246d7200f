"""Sections of the sidecar that only later stages use: workspace, benchmark circle, simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description.actuation.hydraulic_drives import read_hydraulics
from pkm_description.actuation.redundant_drives import drive_description
from pkm_description.description import Array, Description
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, number, per_drive

SIMULATION_KEYS = ('force_noise', 'position_noise', 'position_resolution', 'cogging', 'stribeck')
WORKSPACE_KEYS = ('position_lower', 'position_upper', 'tilt', 'aperture')
CIRCLE_KEYS = ('diameter', 'speed', 'tilt', 'tilt_axis')


def check_sections(description: Description) -> None:
    """Check these sections and that of hydraulic drives; raises DescriptionError."""
    workspace = read_workspace(description)
    ends = zip('xyz', workspace.lower, description.home.position, workspace.upper, strict=True)
    for axis, low, value, high in ends:
        if not low - 1e-9 <= value <= high + 1e-9:
            raise DescriptionError(
                f'workspace: home has {axis} = {value:.6g} m, outside {low:g} to {high:g} m'
            )
    _check_circle(description.sidecar.get('benchmark_circle', {}))
    read_simulation(description)
    read_hydraulics(description)


@dataclass(frozen=True)
class WorkspaceSection:
    """Limits of the platform's pose and of the joints' bending, infinite where none are given."""

    lower: Array  # (3,) [m]
    upper: Array  # (3,) [m]
    tilt: float  # [rad]
    apertures: Mapping[str, float]  # [rad] of all spherical and universal constraints


def read_workspace(description: Description) -> WorkspaceSection:
    """Read and check the section; raises DescriptionError naming the key."""
    table = known_keys(description.sidecar.get('workspace') or {}, 'workspace', WORKSPACE_KEYS)
    lower = _bounds(table, 'position_lower', -np.inf)
    upper = _bounds(table, 'position_upper', np.inf)
    for axis, low, high in zip('xyz', lower, upper, strict=True):
        if not low <= high:
            raise DescriptionError(
                f'workspace: position_lower {low:g} is above position_upper {high:g} along {axis}'
            )
    tilt = np.inf
    if 'tilt' in table:
        tilt = number(table['tilt'], 'workspace.tilt')
        if not 0.0 < tilt <= np.pi:
            raise DescriptionError(
                f'workspace.tilt must be an angle between 0 and pi [rad], not {tilt:g}'
            )
    return WorkspaceSection(lower, upper, tilt, _apertures(table.get('aperture', {}), description))


def _apertures(value: Any, description: Description) -> dict[str, float]:
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
    everywhere: Any = angles.get('all joints', np.inf)
    return {name: float(angles.get(name, everywhere)) for name in joints}


def _bounds(table: Mapping[str, Any], key: str, default: float) -> np.ndarray:
    """Three numbers, of which some may be infinite."""
    try:
        values = np.array(table.get(key, [default] * 3), dtype=float)
    except (TypeError, ValueError, OverflowError):
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


@dataclass(frozen=True)
class SimulationSection:
    """Arrays over the actuated joints (n_a,); free joints have no cogging."""

    force_covariance: Array  # (n_a, n_a) of the measured forces of one sample [N^2]
    position_covariance: Array  # (n_a, n_a) of the measured positions of one sample [m^2, rad^2]
    position_resolution: float  # step of the position sensors [m, rad]
    cogging_amplitude: Array  # [N, N m]
    cogging_period: Array  # [m, rad]
    cogging_phase: Array  # [rad]
    # by joint: `static` [N, N m], `velocity` [m/s, rad/s], perhaps `exponent`
    stribeck: Mapping[str, Mapping[str, float]]


def read_simulation(description: Description) -> SimulationSection:
    """Read and check the section, of all drives; raises DescriptionError naming the key."""
    description = drive_description(description)
    section = known_keys(description.simulation, 'simulation', SIMULATION_KEYS)
    count = len(description.actuated_joints)
    cogging = known_keys(
        section.get('cogging', {}), 'simulation.cogging', ('amplitude', 'period', 'phase')
    )
    where = 'simulation.cogging'
    amplitude = per_drive(description, cogging.get('amplitude', {}), f'{where}.amplitude', 0.0)
    period = per_drive(description, cogging.get('period', 1.0), f'{where}.period', 1.0)
    phase = per_drive(description, cogging.get('phase', {}), f'{where}.phase', 0.0)
    if np.any(period <= 0.0):
        raise DescriptionError(f'simulation.cogging.period must be positive, not {period.min():g}')
    where = 'simulation.position_resolution'
    resolution = number(section.get('position_resolution', 0.0), where)
    if resolution < 0.0:
        raise DescriptionError(f'{where} must not be negative, not {resolution:g}')
    return SimulationSection(
        force_covariance=_covariance(section, 'force_noise', count),
        position_covariance=_covariance(section, 'position_noise', count),
        position_resolution=resolution,
        cogging_amplitude=amplitude,
        cogging_period=period,
        cogging_phase=phase,
        stribeck=_stribeck(section, description.scalar_joints),
    )


def _stribeck(section: Mapping[str, Any], joints: list[str]) -> dict[str, dict[str, float]]:
    result = {}
    table = known_keys(section.get('stribeck', {}), 'simulation.stribeck', joints)
    for joint, entry in table.items():
        where = f'simulation.stribeck.{joint}'
        values = known_keys(entry, where, ('static', 'velocity', 'exponent'))
        for key in ('static', 'velocity'):
            if key not in values:
                raise DescriptionError(f"{where} has no '{key}'")
        numbers = {key: number(value, f'{where}.{key}') for key, value in values.items()}
        for key, value in numbers.items():
            if value <= 0.0:
                raise DescriptionError(f'{where}.{key} must be positive, not {value:g}')
        result[joint] = numbers
    return result


def _covariance(section: Mapping[str, Any], key: str, count: int) -> Array:
    if key not in section:
        return np.zeros((count, count))
    entry = known_keys(section[key], f'simulation.{key}', ('standard_deviation', 'correlation'))
    if 'standard_deviation' not in entry:
        raise DescriptionError(f"simulation.{key} has no 'standard_deviation'")
    where = f'simulation.{key}.standard_deviation'
    deviation = _array(entry['standard_deviation'], where)
    if deviation.shape not in ((), (count,)) or np.any(deviation < 0.0):
        raise DescriptionError(f'{where} must be one or {count} non-negative numbers')
    deviation = np.broadcast_to(deviation, (count,))
    where = f'simulation.{key}.correlation'
    correlation = _array(entry.get('correlation', np.eye(count)), where)
    if correlation.shape != (count, count):
        raise DescriptionError(
            f'{where} must be a {count} x {count} matrix, not of the shape {correlation.shape}'
        )
    if not np.allclose(correlation, correlation.T) or not np.allclose(np.diag(correlation), 1.0):
        raise DescriptionError(f'{where} must be symmetric with a diagonal of ones')
    if np.linalg.eigvalsh(correlation)[0] <= 0.0:
        raise DescriptionError(f'{where} must be positive definite')
    return np.asarray(correlation * np.outer(deviation, deviation), dtype=float)


def _array(value: Any, where: str) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DescriptionError(f'{where} must be numeric, not {value!r}') from None
    if not np.all(np.isfinite(array)):
        raise DescriptionError(f'{where} must be finite, not {value!r}')
    return array
