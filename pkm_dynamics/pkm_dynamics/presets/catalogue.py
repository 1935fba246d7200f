"""Presets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pkm_description.errors import TrajectoryError
from pkm_dynamics.model import ClosedChainModel, require_drives
from pkm_dynamics.presets.free_fall import free_fall
from pkm_dynamics.presets.sines import DIRECTIONS, circle, coordinates_of, sine, translations
from pkm_dynamics.presets.strokes import friction_sweep, point_to_point
from pkm_dynamics.trajectories import Trajectory

PRESET_OPTIONS: Mapping[str, tuple[str, ...]] = {
    'sine': ('amplitude', 'frequency'),
    'circle': ('diameter',),
    'free_fall': (),
    'point_to_point': ('reach', 'move_time', 'dwell'),
    'friction_sweep': ('speeds', 'reach'),
}


def preset_names(model: ClosedChainModel) -> dict[str, str]:
    """Return the presets of a robot and what each of them is.

    Raises UnderactuatedError where a degree of freedom of the robot has no drive.
    """
    require_drives(model, 'a preset motion')
    coordinates, names = coordinates_of(model)
    moved = DIRECTIONS if coordinates == 'platform' else translations(model)
    result = {f'sine_{name}': f'sine of {name} about home' for name in names}
    if coordinates == 'actuators':
        text = 'sine of the platform along {} about home, by the actuators'
        result = {f'sine_{name}': text.format(name) for name in moved} | result
    if {'x', 'y'} <= set(moved):
        result['sine_xy'] = 'equal sines of x and y about home'
    if len(names) > 1:
        result['sine_all'] = 'equal sines of all coordinates about home, in phase'
    if {'x', 'y'} <= set(moved):
        result['circle'] = 'the platform on a circle, at constant speed and orientation'
        result['mirrored_circle'] = "its mirror image in the base's x-z plane"
    result['free_fall'] = 'a fall from home without drive forces, caught in time'
    result['point_to_point'] = 'quintic steps of each coordinate, with rest between them'
    result['friction_sweep'] = 'slow strokes of each actuator at constant velocities, both ways'
    return result


def preset(model: ClosedChainModel, name: str, **options: Any) -> Trajectory:
    """Return a motion of the papers, fitted into the limits of a robot.

    Parameters
    ----------
    model : ClosedChainModel
    name : str
        See `preset_names`: `sine_x`, `sine_z`, `sine_xy` [O Table 4.3] and further
        sines, `circle`, `mirrored_circle` [A, H], `free_fall` [O 4.3], `point_to_point`,
        `friction_sweep`. Sines and steps are of the platform's pose where it has six
        degrees of freedom; elsewhere of the actuators, sines also of the directions in
        which the platform can move without turning.
    **options
        As of `sine`, `circle`, `free_fall`, `point_to_point`, `friction_sweep`. A size
        that is given is taken as it is; without one the motion is made to fit, with
        25 % of forces, 5 % of velocities and 4 % of ranges left free.

    Returns
    -------
    Trajectory
        Belongs to the robot; `save` writes it.

    Raises
    ------
    TrajectoryError
        The name or an option is unknown.
    FeasibilityError, KinematicsError
        The robot cannot do it.
    UnderactuatedError
        A degree of freedom of the robot has no drive.
    """
    valid = preset_names(model)
    if name not in valid:
        raise TrajectoryError(
            f"preset '{name}' is unknown for robot '{model.description.name}'; valid are "
            f'{", ".join(valid)}'
        )
    kind = 'sine' if name.startswith('sine_') else name.removeprefix('mirrored_')
    known = PRESET_OPTIONS[kind]
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            listed = ', '.join(known) or 'none'
            raise TrajectoryError(f"option '{key}' is unknown for '{name}'; valid are {listed}")
    for key, value in given.items():
        _check_number(key, value)
    if kind == 'circle':
        return circle(model, name == 'mirrored_circle', **given)
    if kind == 'sine':
        return sine(model, _axes(model, name.removeprefix('sine_')), **given)
    makers: dict[str, Callable[..., Trajectory]] = {
        'free_fall': free_fall,
        'point_to_point': point_to_point,
        'friction_sweep': friction_sweep,
    }
    return makers[name](model, **given)


def _axes(model: ClosedChainModel, text: str) -> tuple[str, ...]:
    _, names = coordinates_of(model)
    if text == 'all':
        return names
    return ('x', 'y') if text == 'xy' and text not in names else (text,)


def _check_number(name: str, value: Any) -> None:
    for number in value if isinstance(value, list | tuple) else [value]:
        ok = isinstance(number, int | float) and not isinstance(number, bool)
        least = 0.0 if name != 'dwell' else -1e-300
        if not ok or not least < float(number) < float('inf'):
            raise TrajectoryError(f'{name}: must be a positive finite number, got {number!r}')
    if name == 'reach' and not 0.0 < value <= 1.0:
        raise TrajectoryError(f'reach: must lie in (0, 1], got {value!r}')
    if name == 'dwell' and value < 1e-3:
        raise TrajectoryError(f'dwell: at least 0.001 s, got {value!r}')
