"""Contribution of each group of terms to the forces of the drives [O 2.4].

Sines of [O Table 2.2] of UF-PKM, Hexel and Ford; the parts of the forces add up to the whole.
Then the sensitivity to the centre of mass of the platform [O Tables 2.3, 2.4].
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from pkm_bringup.arguments import WORKERS
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study
from pkm_bringup.studies.runs.plants import model_of, rms
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.analysis.contributions import contributions
from pkm_dynamics.presets.fitting import home_coordinates
from pkm_dynamics.presets.sines import SINE_AMPLITUDE, SINE_ANGLE
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.arrays import Array

# Platform over sliders, mp / (6 me) [O 2.4.1.4]
RATIOS = {'uf_pkm': 0.45, 'hexel': 3.34, 'ford': 22.9}
DIRECTIONS = {'x': ('x',), 'z': ('z',), 'rotation': ('roll', 'pitch')}
OFFSET = 0.5 * SINE_AMPLITUDE  # [m] of some motions, along x = y [O Table 2.2]
SPEEDS = {'low': np.pi, 'medium': 2 * np.pi, 'high': 4 * np.pi}  # [rad/s]
# [O 2.4.1.2] moves the larger machines through their workspaces: x = y up to 0.3 and 0.6 m where
# the UF-PKM has 0.04 m; angles [rad] and, at high speed, the feed [m/s] of each
WORKSPACES = {
    'hexel': (0.3 / 0.04, np.radians(15.0), 0.3),
    'ford': (0.6 / 0.04, np.radians(10.0), 1.0),
}
TABLE, WORKSPACE = 'table', 'workspace'
SAMPLES = 400  # of a period: peaks of a sine to 1e-4
INERTIA = ('platform_inertia', 'strut_inertia')
GRAVITY = ('platform_gravity', 'strut_gravity')
GROUPS = (*INERTIA, 'velocity', *GRAVITY, 'friction')
SMALL = 0.05  # of the mean force: what [O] calls very small, here as a number
CHANGE = 0.01  # of the way along x, by which the centre of mass moves [O 2.4.2.3]


def sine(model: ClosedChainModel, direction: str, offset: float, speed: float) -> FourierTrajectory:
    """Return a sine of [O Table 2.2] about home, moved by `offset` [m], at `speed` [rad/s]."""
    return sized_sine(model, direction, offset, speed, SINE_AMPLITUDE, SINE_ANGLE)


def sized_sine(
    model: ClosedChainModel,
    direction: str,
    offset: float,
    speed: float,
    amplitude: float,
    angle: float,
) -> FourierTrajectory:
    """Return the same with another amplitude [m] and angle [rad]."""
    middle = np.array(home_coordinates(model, 'platform'), dtype=float)
    middle[:2] += offset / np.sqrt(2.0)
    names = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']
    sizes = np.zeros((6, 1))
    for axis in DIRECTIONS[direction]:
        sizes[names.index(axis)] = angle if direction == 'rotation' else amplitude
    series = (2 * np.pi / speed, middle, sizes, np.zeros_like(sizes))
    return FourierTrajectory(*series, 'platform', names, model.description.name)


def one_period(model: ClosedChainModel, trajectory: FourierTrajectory) -> PlatformMotion:
    """Motion of one period."""
    return trajectory.motion(trajectory.period * np.arange(SAMPLES) / SAMPLES, model)


def force_parts(
    model: ClosedChainModel, motion: PlatformMotion, parameters: Array
) -> dict[str, Array]:
    """Forces (N, n_a) [N] of each group; they add up to the inverse dynamics.

    `velocity` are the Coriolis and the centripetal terms of [O Table 2.1] together.
    """
    found = contributions(model, motion, parameters).forces
    parts = {name: found[name] for name in GROUPS if name in found}
    return parts | {'velocity': found['coriolis'] + found['centripetal']}


def shares(parts: Mapping[str, Array]) -> dict[str, Any]:
    """Return `force` [N], the mean norm of the forces without friction, and shares [1] of it.

    By group `mean` and `swing`, the mean and the range of its norm over the mean norm of the
    forces [O 2.76-2.88]; `rms` and `peak`, its own over those of the forces. All without
    friction, which [O] leaves out there; its own shares are of the same forces.
    """
    rigid = np.sum([part for name, part in parts.items() if name != 'friction'], axis=0)
    named = {
        **parts,
        'inertia': parts[INERTIA[0]] + parts[INERTIA[1]],
        'gravity': parts[GRAVITY[0]] + parts[GRAVITY[1]],
        'forces': rigid,
    }
    force = np.linalg.norm(rigid, axis=1).mean()
    found = {}
    for name, part in named.items():
        norm = np.linalg.norm(part, axis=1)
        found[name] = {
            'mean': norm.mean() / force,
            'swing': np.ptp(norm) / force,
            'rms': rms(part) / rms(rigid),
            'peak': np.abs(part).max() / np.abs(rigid).max(),
        }
    return {'force': force, 'groups': found}


def with_ratio(model: ClosedChainModel, ratio: float) -> Array:
    """Nominal parameters (n_p,) with a platform so heavy that mp / (6 me) is `ratio`."""
    names, values = list(model.parameter_names), np.array(model.nominal_parameters)
    platform = np.array([name.startswith('platform.') for name in names])
    values[platform] *= ratio / mass_ratio(model)
    return values


def mass_ratio(model: ClosedChainModel) -> float:
    """Mass of the platform over that of all sliders, mp / (6 me)."""
    masses = dict(zip(model.parameter_names, model.nominal_parameters, strict=True))
    sliders = sum(mass for name, mass in masses.items() if name.endswith('_slider.m'))
    return float(masses['platform.m'] / sliders)


def one_case(robot: str, size: str, direction: str, beside: bool, speed: str) -> dict[str, Any]:
    """Shares of a motion: as built (`own`), and with the platform as heavy as each `RATIOS`."""
    model = model_of(robot)
    rate, amplitude, angle = SPEEDS[speed], SINE_AMPLITUDE, SINE_ANGLE
    offset = OFFSET if beside else 0.0
    if size == WORKSPACE:
        factor, angle, feed = WORKSPACES[robot]
        amplitude, offset = factor * SINE_AMPLITUDE, factor * offset
        rate = rate / SPEEDS['high'] * feed / amplitude
    motion = one_period(model, sized_sine(model, direction, offset, rate, amplitude, angle))
    own = shares(force_parts(model, motion, np.asarray(model.nominal_parameters)))
    loaded = {
        name: shares(force_parts(model, motion, with_ratio(model, ratio)))
        for name, ratio in RATIOS.items()
    }
    return {**own, 'rate': rate, 'offset': offset, 'with_ratio_of': loaded}


def sensitivity(robot: str, direction: str) -> dict[str, Any]:
    """Relative change of forces by a centre of mass of the platform `CHANGE` of the way off.

    By the directions of the offset, x1y0z0 for x alone, in the platform's frame, which lies
    as the base's at home: `rms` (n_a,) of the change over that of the force of each drive, and
    `largest` (n_a,) of |change / force| at one instant, which grows where a force goes through
    zero. Without friction [O 2.89].
    """
    model = model_of(robot)
    motion = one_period(model, sine(model, direction, 0.0, SPEEDS['low']))
    bodies = model.parameter_mask('rigid_body')
    regressor = model.regressor(motion)[..., bodies]
    nominal = np.asarray(model.nominal_parameters)[bodies]
    names = [name for name, body in zip(model.parameter_names, bodies, strict=True) if body]
    forces, found = regressor @ nominal, {}
    for which in product((0, 1), repeat=3):
        offset = CHANGE * SINE_AMPLITUDE * np.array(which, dtype=float)
        change = regressor @ moved_centre(names, nominal, offset)
        found['x{}y{}z{}'.format(*which)] = {
            'rms': np.sqrt(np.mean(change**2, axis=0) / np.mean(forces**2, axis=0)),
            'largest': np.abs(change / forces).max(axis=0),
        }
    return found


def moved_centre(names: Sequence[str], values: Array, offset: Array) -> Array:
    """Change of parameters (n,) where the platform's centre of mass moves by (3,) [m].

    The inertia about the centre of mass stays; that about the origin follows.
    """
    index = {term: names.index(f'platform.{term}') for term in ('m', 'mx', 'my', 'mz')}
    mass, first = values[index['m']], values[[index['mx'], index['my'], index['mz']]]
    change = np.zeros(len(values))
    change[[index['mx'], index['my'], index['mz']]] = mass * offset

    def parallel(centre: Array) -> Array:
        return np.asarray(mass * (np.eye(3) * (centre @ centre) - np.outer(centre, centre)))

    added = parallel(first / mass + offset) - parallel(first / mass)
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        change[names.index(f'platform.I{"xyz"[i]}{"xyz"[j]}')] = added[i, j]
    return change


def claims(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Judge what [O 2.4.1.5] concludes; `figures` are what each is judged by."""

    def chosen(key: str, figure: str = 'mean', **where: Any) -> Array:
        mine = [row for row in rows if all(row[name] == is_ for name, is_ in where.items())]
        return np.array([row['groups'][key][figure] for row in mine])

    def by_robot(figure: Callable[[str], float]) -> dict[str, float]:
        return {robot: float(figure(robot)) for robot in RATIOS}

    def horizontal(robot: str) -> float:
        x, z = (chosen('inertia', robot=robot, size=TABLE, direction=each) for each in 'xz')
        return float(min(x / z))

    def upright(robot: str) -> float:
        where = {'robot': robot, 'direction': 'z'}
        return float(min(chosen('gravity', **where) / chosen('inertia', **where)))

    def swing(robot: str) -> float:
        where = {'robot': robot, 'size': TABLE, 'speed': 'high'}
        return float(min(chosen('inertia', 'swing', **where) / chosen('gravity', 'swing', **where)))

    def platform(robot: str) -> float:
        over = chosen(INERTIA[0], robot=robot) / chosen(INERTIA[1], robot=robot)
        return float(np.median(over))

    velocity = by_robot(lambda robot: max(chosen('velocity', robot=robot)))
    slow = by_robot(lambda robot: min(chosen('gravity', robot=robot, speed='low')))
    vertical, along, swings = by_robot(upright), by_robot(horizontal), by_robot(swing)
    over_struts = by_robot(platform)
    where = {'robot': 'hexel', 'size': WORKSPACE, 'beside': True}
    aside = {
        f'{direction}, {name}': float(
            limit(chosen('forces', 'swing', direction=direction, **where))
        )
        for direction, (name, limit) in product(DIRECTIONS, {'least': min, 'most': max}.items())
    }
    masses, geometry = _spreads(rows)
    growing = list(over_struts.values())
    return [
        _claim('velocity terms are very small', velocity, max(velocity.values()) < SMALL),
        _claim('gravity dominates slow motions', slow, min(slow.values()) > 0.5),
        _claim('gravity dominates motions of z', vertical, min(vertical.values()) > 1.0),
        _claim(
            'inertia varies more than gravity at high speed', swings, min(swings.values()) > 1.0
        ),
        _claim('x shows more inertia than z', along, min(along.values()) > 1.0),
        _claim(
            "the platform's inertia over the struts' grows with mp/(6 me)",
            over_struts,
            growing == sorted(growing),
        ),
        _claim(
            'masses matter more than geometry',
            {'over_masses': masses, 'over_geometry': geometry},
            masses > geometry,
        ),
        _claim(
            'forces of the Hexel vary by 20 to 58 % beside its axis',
            aside,
            all(0.2 <= share <= 0.58 for share in aside.values()),
        ),
    ]


def _claim(claim: str, figures: Mapping[str, float], holds: bool) -> dict[str, Any]:
    return {'claim': claim, 'figures': dict(figures), 'holds': bool(holds)}


def _spreads(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Range of the platform's share of the inertia, over ratios and over robots, mean."""
    table = [row for row in rows if row['size'] == TABLE]
    cells: dict[tuple[Any, ...], Array] = {}
    for row in table:
        key = (row['direction'], row['beside'], row['speed'])
        grid = cells.setdefault(key, np.zeros((len(RATIOS), len(RATIOS))))
        for k, loaded in enumerate(row['with_ratio_of'].values()):
            platform, struts = (loaded['groups'][name]['mean'] for name in INERTIA)
            grid[list(RATIOS).index(row['robot']), k] = platform / (platform + struts)
    grids = np.array(list(cells.values()))
    return float(np.ptp(grids, axis=2).mean()), float(np.ptp(grids, axis=1).mean())


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Split the forces of all motions, and move the centre of mass."""
    sizes = [(robot, TABLE) for robot in RATIOS] + [(robot, WORKSPACE) for robot in WORKSPACES]
    cases: list[dict[str, Any]] = [
        {'robot': robot, 'size': size, 'direction': direction, 'beside': beside, 'speed': speed}
        for robot, size in sizes
        for direction, beside, speed in product(DIRECTIONS, (False, True), SPEEDS)
    ]
    found = runner.map(one_case, cases, 'motion', 'motion')
    rows = [{**case, **each} for case, each in zip(cases, found, strict=True)]
    moved: list[dict[str, Any]] = [
        {'robot': robot, 'direction': direction}
        for robot, direction in product(RATIOS, ('x', 'rotation'))
    ]
    centres = runner.map(sensitivity, moved, 'centre of mass', 'centre')
    return {
        'mass_ratios': {robot: mass_ratio(model_of(robot)) for robot in RATIOS},
        'motions': rows,
        'claims': claims(rows),
        'centre_of_mass': [
            {**case, 'changed': each} for case, each in zip(moved, centres, strict=True)
        ],
    }


STUDY = Study(
    'contributions',
    'what inertia, gravity, velocity and friction contribute to the forces [O 2.4]',
    'Sines of [O Table 2.2] of UF-PKM, Hexel and Ford, at three speeds, at and beside home, the '
    'larger machines also through their workspaces. The forces are split so that the parts add up; '
    'the claims of [O] are judged, and the sensitivity to the centre of mass is told [O 2.4.2].',
    (WORKERS,),
    run,
)
