"""Find the idle spins of a closed chain and stop them by a gauge.

With platform and drives held, the closing rows J leave null motions. One of them is an idle
spin where every body with a mass in it turns about an axis that is fixed in the body, goes
through its centre of mass and is an axis of symmetry of its inertia: then no force depends on
the angle, and none is needed to keep the spin at rest. It takes no measurement and no drive.
One row more stops it: in a ball joint of the loop a direction of one link stays perpendicular
to one of the other, as in a universal joint. Where no ball joint closes the loop, a joint of the
tree that turns with the spin is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pkm_description.assembly import RANK_TOLERANCE, Assembly, Configuration
from pkm_description.description import (
    Constraint,
    Description,
    IdleSpin,
    Joint,
    Limit,
    Pose,
    frozen,
)
from pkm_description.errors import DescriptionError
from pkm_description.kinematic_tree import BASE
from pkm_description.mobility import locked_jacobian
from pkm_description.spins.round_bodies import SYMMETRY, asymmetry, off_axis
from pkm_description.tree_geometry import Floats, TreeGeometry, axis_rotations

_MOVES = 1e-6  # of the largest rate: below, a coordinate or a body does not take part
_FIXED_AXIS = 1e-6  # [rad, and of the mechanism's size] by which an axis may wander in its body
_LEAST_TURN = 0.1  # of a spin's rate that a joint must have everywhere to stop it when it is fixed
# Actuators are moved by these from home to tell idle spins from coincidences [rad, of the size].
_STEPS = (0.1, -0.1, 0.4, -0.4)
# Directions of a link among which the one of the gauge is chosen: faces, edges and corners of a
# cube: whatever the spin axis, one of them is perpendicular to it or nearly so.
_CUBE = np.array(
    [
        *((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1)),
        *((0, 1, 1), (0, 1, -1), (1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1)),
    ],
    dtype=float,
)
_DIRECTIONS = _CUBE / np.linalg.norm(_CUBE, axis=1, keepdims=True)


@dataclass(frozen=True)
class _Sample:
    """A closed configuration; rates (n_v,) and twists (n_b + 1, 6), base last, of a null motion."""

    geometry: TreeGeometry
    rates: Floats
    twists: Floats

    def turn(self, body: int) -> Floats:
        return np.eye(3) if body == BASE else np.asarray(self.geometry.rotation[0, body])

    def axis(self, body: int) -> tuple[Floats, Floats]:
        """Point (3,) [m] and unit direction (3,) of a body's rotation, in its own frame."""
        linear, angular = np.split(self.twists[body], 2)
        size = float(np.linalg.norm(angular))
        point = np.cross(angular, linear) / size**2 - self.geometry.position[0, body]
        direction = self.turn(body).T @ angular / size
        point = self.turn(body).T @ point
        return _exact(point - direction * (direction @ point)), _exact(direction)

    def pitch(self, body: int) -> float:
        """Way along the axis by rotation [m/rad]."""
        linear, angular = np.split(self.twists[body], 2)
        return float(linear @ angular / (angular @ angular))


def without_idle_spins(
    description: Description, home: Configuration
) -> tuple[Description, Configuration]:
    """Return the description with a gauge for every idle spin, and its home.

    Raises DescriptionError where a body spins like that which is not round.
    """
    assembly = Assembly(description)
    configurations = list(_configurations(assembly, home))
    rows = [_held_rows(assembly, each) for each in configurations]
    found: list[IdleSpin] = []
    gauged: dict[str, Constraint] = {}
    locked: dict[str, Joint] = {}
    for coordinates in _null_groups(rows):
        samples = _samples(assembly, configurations, rows, coordinates)
        spins = _spins(assembly, samples) if samples else []
        if not (spins and assembly.layout.row_sign[:, coordinates].any()):
            continue  # what hangs on one joint alone may have been forgotten
        constraint = _with_gauge(assembly, samples, gauged)
        joint = None if constraint else _lockable(assembly, samples, home)
        if constraint is not None:
            gauged[constraint.name] = constraint
        elif joint is not None:
            locked[joint.name] = joint
        if (stopped := constraint or joint) is not None:
            for spin in spins:
                _check_round(assembly, spin)
            found += [replace(spin, stopped_by=stopped.name) for spin in spins]
    if not found:
        return description, home
    kept = [name not in locked for name in assembly.tree.joint_names]
    changed = replace(
        description,
        constraints=tuple(gauged.get(item.name, item) for item in description.constraints),
        joints=tuple(locked.get(item.name, item) for item in description.joints),
        idle_spins=tuple(found),
    )
    return changed, Configuration(home.joints[kept], home.platform)


def _lockable(assembly: Assembly, samples: list[_Sample], home: Configuration) -> Joint | None:
    """Return the revolute joint that turns most with a spin all over the samples, fixed at home.

    For loops without a ball joint that closes them; None where each joint may stand still.
    """
    best, most = None, _LEAST_TURN
    description, tree = assembly.description, assembly.tree
    for name in tree.joint_names:
        joint = description.joint(name)
        coordinate = tree.coordinate_of(name)
        if joint.type == 'prismatic' or name in description.actuated_joints:
            continue
        shares = [
            abs(float(each.rates[coordinate]))
            / float(np.max(np.linalg.norm(each.twists[:, 3:], axis=1)))
            for each in samples
        ]
        if round(min(shares), 6) > most:
            most = round(min(shares), 6)
            angle = home.joints[tree.joint_names.index(name)]
            turned = joint.origin @ Pose(
                frozen(np.zeros(3)), frozen(axis_rotations(joint.axis, np.array(angle)))
            )
            best = replace(joint, type='fixed', origin=turned, limit=Limit(), friction=None)
    return best


def _exact(vector: Floats) -> Floats:
    """Return a vector [m, 1] without the rounding errors that zeros and ones have got."""
    return np.asarray(np.round(vector, 12) + 0.0)


def _held_rows(assembly: Assembly, configuration: Configuration) -> Floats:
    """Scaled closing rows with drives and platform held (n, n_v)."""
    _, pose = assembly.pose_rows(configuration, assembly.platform_pose(configuration))
    columns = np.where(assembly.tree.lengths, assembly.size, 1.0)
    pose = pose * columns
    pose[:3] /= assembly.size
    return np.vstack([locked_jacobian(assembly, configuration), pose])


def _null_space(rows: Floats, chosen: NDArray[np.int64] | None = None) -> Floats:
    """Orthonormal null vectors (n, k) of rows (m, n), or of their chosen columns alone."""
    singular, right = np.linalg.svd(rows if chosen is None else rows[:, chosen])[1:]
    rank = int(np.sum(singular > RANK_TOLERANCE * np.linalg.norm(rows, 2)))
    return np.asarray(right[rank:].T)


def _null_groups(rows: list[Floats]) -> list[NDArray[np.int64]]:
    """Coordinates of each null motion that shares none with the others in any configuration."""
    coupled = np.zeros((rows[0].shape[1],) * 2, dtype=bool)
    for each in rows:
        null = _null_space(each)
        coupled |= np.abs(null @ null.T) > _MOVES
    groups, left = [], set(np.flatnonzero(coupled.any(axis=1)).tolist())
    while left:
        group, fresh = set[int](), {min(left)}
        while fresh:
            group |= fresh
            fresh = set(np.flatnonzero(coupled[sorted(fresh)].any(axis=0)).tolist()) - group
        left -= group
        groups.append(np.array(sorted(group)))
    return groups


def _samples(
    assembly: Assembly,
    configurations: list[Configuration],
    rows: list[Floats],
    coordinates: NDArray[np.int64],
) -> list[_Sample]:
    """Sample the group's one null motion at all configurations; empty where it has not one."""
    columns = np.where(assembly.tree.lengths, assembly.size, 1.0)
    samples = []
    for configuration, held in zip(configurations, rows, strict=True):
        null = _null_space(held, coordinates)
        if null.shape[1] != 1:
            return []
        rates = np.zeros(assembly.tree.n_v)
        rates[coordinates] = null[:, 0] * columns[coordinates]
        geometry = assembly.geometry(configuration)
        twists = np.vstack([geometry.twists(rates[None])[0], np.zeros((1, 6))])
        samples.append(_Sample(geometry, rates, twists))
    return samples


def _configurations(assembly: Assembly, home: Configuration) -> Iterator[Configuration]:
    """Home, and where each actuator alone is moved from there as far as the loops close."""
    yield home
    free = np.ones(assembly.tree.n_v, dtype=bool)
    free[assembly.actuated_coordinates] = False
    for name, coordinate in zip(
        assembly.actuated_joints, assembly.actuated_coordinates, strict=True
    ):
        scale = assembly.size if assembly.tree.lengths[coordinate] else 1.0
        limit = assembly.description.joint(name).limit
        for step in _STEPS:
            change = np.zeros(assembly.tree.n_v)
            change[coordinate] = step * scale
            position = home.joints[assembly.tree.joint_names.index(name)] + step * scale
            if limit.lower <= position <= limit.upper:
                result = assembly.close(assembly.moved(home, change), free)
                if result.closed:
                    yield result.configuration


def _spins(assembly: Assembly, samples: list[_Sample]) -> list[IdleSpin]:
    """Bodies that a null motion spins, each about an axis fixed in it; empty where it does more."""
    found = []
    speed = [float(np.max(np.linalg.norm(each.twists[:, 3:], axis=1))) for each in samples]
    if speed[0] <= _MOVES * float(np.max(np.abs(samples[0].twists)) / assembly.size):
        return []
    for body, name in enumerate(assembly.tree.body_names):
        moved = samples[0].twists[body]
        if _is_massless(assembly.description, name) or np.abs(moved).max() < _MOVES * speed[0]:
            continue
        turning = [float(np.linalg.norm(each.twists[body, 3:])) for each in samples]
        if any(own < _MOVES * whole for own, whole in zip(turning, speed, strict=True)):
            return []
        if any(abs(each.pitch(body)) > _FIXED_AXIS * assembly.size for each in samples):
            return []
        point, direction = samples[0].axis(body)
        for each in samples[1:]:
            other, turned = each.axis(body)
            if np.linalg.norm(np.cross(direction, turned)) > _FIXED_AXIS:
                return []
            if np.linalg.norm(other - point) > _FIXED_AXIS * assembly.size:
                return []
        found.append(IdleSpin(name, frozen(point), frozen(direction), ''))
    if found:
        return found
    sizes = np.linalg.norm(samples[0].twists[:-1], axis=1)
    first = assembly.tree.body_names[int(np.argmax(sizes > _MOVES * sizes.max()))]
    return [IdleSpin(first, frozen(np.zeros(3)), frozen(np.zeros(3)), '')]


def _is_massless(description: Description, link: str) -> bool:
    inertial = description.link(link).inertial
    return inertial is None or inertial.mass == 0.0


def _check_round(assembly: Assembly, spin: IdleSpin) -> None:
    inertial = assembly.description.link(spin.body).inertial
    if inertial is None or inertial.mass == 0.0:
        return
    offset, oval = off_axis(inertial, spin.point, spin.axis), asymmetry(inertial, spin.axis)
    if offset > SYMMETRY or oval > SYMMETRY:
        raise DescriptionError(
            f"robot '{assembly.description.name}': link '{spin.body}' may spin about the axis "
            'through its joints, which neither platform nor drives notice, but it is not round '
            f'about it: its centre of mass lies {offset:.1%} of its radius of gyration off the '
            f'axis, its inertia is {oval:.1%} from round ({SYMMETRY:.0%} are allowed). It would '
            'swing like a pendulum: make it round, give one of its ends a universal joint, or '
            'measure the spin and name it in `free_joints`'
        )


def _with_gauge(
    assembly: Assembly, samples: list[_Sample], taken: dict[str, Constraint]
) -> Constraint | None:
    """Ball joint that stops a spin best all over the samples, with its gauge; None: there is none.

    Only ball joints that close a loop are looked at.
    """
    bodies = {name: body for body, name in enumerate(assembly.tree.body_names)}
    best, margin = None, 0.0
    for item in assembly.description.constraints:
        if item.type != 'spherical' or item.name in taken:
            continue
        ends = bodies.get(item.parent, BASE), bodies.get(item.child, BASE)
        for swapped in (False, True):
            found = _gauge_directions(samples, *(ends[::-1] if swapped else ends))
            # the same to six digits is the same: the choice shall not hang on rounding
            if found is None or round(found[2], 6) <= margin:
                continue
            held, spun, sine = found
            margin = round(sine, 6)
            on_parent, on_child = (spun, held) if swapped else (held, spun)
            axes = (
                frozen(item.parent_origin.rotation.T @ on_parent),
                frozen(item.child_origin.rotation.T @ on_child),
            )
            best = replace(item, gauge=axes)
    return best


def _gauge_directions(
    samples: list[_Sample], held: int, spun: int
) -> tuple[Floats, Floats, float] | None:
    """Directions (3,) of a held and a spun body that a gauge keeps perpendicular, and its margin.

    The margin is the least sine between the held direction and the axis of the spin. None where
    the joint does not turn, or its axis is not fixed in the spun body.
    """
    in_held, in_spun = [], []
    for each in samples:
        spin = each.twists[spun, 3:] - each.twists[held, 3:]
        size = float(np.linalg.norm(spin))
        if size < _MOVES * float(np.max(np.linalg.norm(each.twists[:, 3:], axis=1))):
            return None
        in_held.append(each.turn(held).T @ spin / size)
        in_spun.append(each.turn(spun).T @ spin / size)
    if any(np.linalg.norm(np.cross(in_spun[0], other)) > _FIXED_AXIS for other in in_spun):
        return None
    sines = np.linalg.norm(np.cross(_DIRECTIONS[:, None], np.array(in_held)), axis=2).min(axis=1)
    chosen = int(np.argmax(np.round(sines, 6)))
    direction = _DIRECTIONS[chosen]
    seen = samples[0].turn(spun).T @ samples[0].turn(held) @ direction
    across = np.cross(in_spun[0], seen)
    return direction, _exact(across / np.linalg.norm(across)), float(sines[chosen])
