"""Base parameters: the combinations of standard parameters that forces can show.

The rank is that of the stacked regressor over random motions. Columns are then taken in a
fixed order of preference; each one that is independent of those before it stands for a
base parameter, and the others are written as combinations of them [Gautier 1991].
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.transform import Rotation

from pkm_description import ConvergenceError, EstimationError

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.motion import PlatformMotion

Floats = NDArray[np.float64]

COLUMN_TOLERANCE = 1e-9  # of the largest column: what counts as no influence at all
NOISE_TOLERANCE = 1e-6  # of the largest singular value: a null space lies below this
CLEAR_GAP = 1e4
LEAST_GAP = 1e2
_SCALES = (1.0, 2.0, 3.0)  # of the random motions, widened until the rank is clear
_SAMPLES = 300
_STROKE_FRACTION = 0.25
_POSE_FRACTION = 0.12
_POSE_ANGLE = 0.35


@dataclass(frozen=True)
class BaseParameters:
    """Identifiable combinations beta = matrix @ p.

    Attributes
    ----------
    names : list of str
        The standard parameter (or shared group) that stands first in each combination.
    expressions : list of str
        Each combination as text.
    units : list of str
    matrix : (rank, n_p)
        beta from the standard parameters.
    columns : (n_p, rank)
        regressor(motion) = model.regressor(motion) @ columns.
    is_rigid_body : (rank,) bool
        False for friction and rotor parameters.
    gap : float
        Ratio of the smallest kept to the largest dropped singular value.
    """

    names: list[str]
    expressions: list[str]
    units: list[str]
    matrix: Floats
    columns: Floats
    is_rigid_body: NDArray[np.bool_]
    gap: float
    model: ClosedChainModel

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.names)

    def regressor(self, motion: PlatformMotion) -> Floats:
        """Force per base parameter (N, n_a, rank)."""
        return self.model.regressor(motion) @ self.columns


def build_base_parameters(model: ClosedChainModel, shared: bool, reduced: bool) -> BaseParameters:
    """Derive the base parameters of a model numerically."""
    names, expand = parameter_groups(model, shared)
    average = (expand / expand.sum(axis=0)).T
    first = np.argmax(expand, axis=0)
    units = [model.parameter_units[k] for k in first]
    kinds = [model.parameter_kinds[k] for k in first]
    keep = np.ones(len(names), dtype=bool)
    if reduced:
        zero = model.zero_parameter_mask
        members = expand != 0
        keep = ~np.array([bool(np.all(zero[column])) for column in members.T])
    stacked = np.zeros((0, len(names)))
    best: tuple[float, Floats] | None = None
    for scale in _SCALES:
        motion = random_motion(model, _SAMPLES, seed=1, scale=scale)
        stacked = model.regressor(motion).reshape(-1, model.n_p) @ expand
        gap = _rank(_scaled(stacked, keep)[0])[1]
        if best is None or gap > best[0]:
            best = (gap, stacked)
        if gap >= CLEAR_GAP:
            break
    assert best is not None
    order = _priorities(names, kinds, average @ model.nominal_parameters)
    chosen, combinations, gap = _select(best[1], keep, order)
    matrix = np.zeros((len(chosen), len(names)))
    matrix[np.arange(len(chosen)), chosen] = 1.0
    matrix += combinations
    selection = np.zeros((len(names), len(chosen)))
    selection[chosen, np.arange(len(chosen))] = 1.0
    return BaseParameters(
        names=[names[g] for g in chosen],
        expressions=[_expression(row, names, g) for row, g in zip(matrix, chosen, strict=True)],
        units=[units[g] for g in chosen],
        matrix=matrix @ average,
        columns=expand @ selection,
        is_rigid_body=np.array([kinds[g] == 'rigid_body' for g in chosen], dtype=bool),
        gap=gap,
        model=model,
    )


def parameter_groups(model: ClosedChainModel, shared: bool) -> tuple[list[str], Floats]:
    """Return what parameters share: labels of the groups and p = expand @ groups (n_p, n_g).

    With `shared`, parameters of links or joints of one design are one group; a link and
    a joint of one name share with their own kind only.
    """
    owner: dict[tuple[bool, str], tuple[str, ...]] = {}
    links = {link.name for link in model.description.links}
    if shared:
        for group in model.description.same_design:
            of_links = all(name in links for name in group)
            owner.update(dict.fromkeys([(of_links, name) for name in group], group))
    index: dict[tuple[bool, tuple[str, ...], str], int] = {}
    columns = []
    for name, kind in zip(model.parameter_names, model.parameter_kinds, strict=True):
        owner_name, _, field = name.rpartition('.')
        of_link = kind == 'rigid_body'
        key = (of_link, owner.get((of_link, owner_name), (owner_name,)), field)
        columns.append(index.setdefault(key, len(index)))
    expand = np.zeros((model.n_p, len(index)))
    expand[np.arange(model.n_p), columns] = 1.0
    short = [f'{group_name(members)}.{field}' for _, members, field in index]
    plain = [f'{members[0]}.{field}' for _, members, field in index]
    # The common part of the names is used where it says which group is meant.
    labels = [a if short.count(a) == 1 else b for a, b in zip(short, plain, strict=True)]
    return labels, expand


def group_name(members: tuple[str, ...]) -> str:
    """Name what members of one design share: leg1_slider, leg2_slider -> leg_slider."""
    stripped = {re.sub(r'\d+', '', name) for name in members}
    if len(members) > 1 and len(stripped) == 1:
        return re.sub(r'_+', '_', stripped.pop()).strip('_')
    return members[0]


def _priorities(names: list[str], kinds: list[str], nominal: Floats) -> list[tuple]:
    """Order in which groups become representatives, the same in every run.

    Friction and rotors first (they stand for themselves), then the platform's
    parameters, then the others; inertias before first moments before masses, so that
    masses are what is folded in; larger nominal values first.
    """
    order = {'m': 3, 'mx': 2, 'my': 2, 'mz': 2}
    result = []
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        owner, _, field = name.rpartition('.')
        level = 0 if kind != 'rigid_body' else 1 + 10 * (owner != 'platform') + order.get(field, 1)
        result.append((level, -float(f'{abs(nominal[index]):.4g}'), index))
    return result


def _scaled(
    stacked: Floats, keep: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Triangular factor of the unit columns that matter, which they are, and all norms."""
    scale = np.linalg.norm(stacked, axis=0)
    candidates = np.flatnonzero(keep & (scale > COLUMN_TOLERANCE * scale.max(initial=0.0)))
    # The factor has the same Gram matrix as the columns and far fewer rows.
    factor = np.linalg.qr(stacked[:, candidates] / scale[candidates], mode='r')
    return np.asarray(factor, dtype=float), candidates, scale


def _rank(scaled: Floats) -> tuple[int, float, float]:
    """Rank where the singular values fall most, by which factor, and the threshold between."""
    if scaled.size == 0:
        return 0, np.inf, 0.0
    singular = np.linalg.svd(scaled, compute_uv=False)
    padded = np.append(singular, 1e-16 * singular[0])
    below = np.maximum(padded[1:], 1e-16 * singular[0])
    falls = np.where(below < NOISE_TOLERANCE * singular[0], padded[:-1] / below, 0.0)
    rank = int(np.argmax(falls)) + 1
    return rank, float(falls[rank - 1]), float(np.sqrt(padded[rank - 1] * below[rank - 1]))


def _select(
    stacked: Floats, keep: NDArray[np.bool_], priorities: list[tuple]
) -> tuple[list[int], Floats, float]:
    """Choose independent columns; return them, their combinations (r, n) and the rank gap."""
    scaled, candidates, scale = _scaled(stacked, keep)
    rank, gap, threshold = _rank(scaled)
    if rank and gap < LEAST_GAP:
        raise EstimationError(
            f'the rank of the regressor is not clear: the singular values fall by no more than a '
            f'factor {gap:.3g} (around {rank}); the mechanism moves too little for some of its '
            'parameters to show'
        )
    chosen: list[int] = []
    basis = np.zeros((len(scaled), rank))
    for i in sorted(range(len(candidates)), key=lambda i: priorities[candidates[i]]):
        column = scaled[:, i]
        for _ in range(2):  # twice is enough to stay orthogonal
            column = column - basis @ (basis.T @ column)
        length = float(np.linalg.norm(column))
        if length > threshold and len(chosen) < rank:
            basis[:, len(chosen)] = column / length
            chosen.append(i)
    if len(chosen) != rank:
        raise EstimationError(
            f'the rank of the regressor is not clear: {rank} by singular values, {len(chosen)} by '
            'elimination'
        )
    chosen.sort()
    others = [i for i in range(len(candidates)) if i not in set(chosen)]
    combinations = np.zeros((rank, len(scale)))
    if others and rank:
        q, triangle = np.linalg.qr(scaled[:, chosen])
        weights = solve_triangular(triangle, q.T @ scaled[:, others])
        physical = weights * scale[candidates[others]] / scale[candidates[chosen]][:, None]
        physical[np.abs(weights) < 1e-8] = 0.0
        combinations[:, candidates[others]] = physical
    return [int(candidates[i]) for i in chosen], combinations, gap


def _expression(row: Floats, names: list[str], first: int) -> str:
    terms = [names[first]]
    for index in np.flatnonzero(row):
        if index != first:
            value = abs(row[index])
            factor = '' if abs(value - 1.0) < 1e-7 else f'{value:.6g}*'
            terms.append(f'{"-" if row[index] < 0 else "+"} {factor}{names[index]}')
    return ' '.join(terms)


def random_motion(
    model: ClosedChainModel, count: int, seed: int, scale: float = 1.0
) -> PlatformMotion:
    """Random motions around home, `count` samples inside the stroke, for ranks and tests.

    Platform poses where the platform has six degrees of freedom, actuator positions
    elsewhere, wider with `scale`; samples that do not assemble or leave the stroke are
    drawn again from a smaller range.
    """
    rng = np.random.default_rng(seed)
    drawn: list[PlatformMotion] = []
    left = count
    for _ in range(40):
        draw = _random_poses if model.platform_determines_joints else _random_actuators
        motion = draw(model, max(left, 20), scale, rng)
        if len(motion) == 0:
            scale *= 0.7
            continue
        drawn.append(motion[:left])
        left -= len(drawn[-1])
        if left == 0:
            return _concatenate(drawn)
        scale *= 0.9
    raise ConvergenceError(
        f"robot '{model.description.name}': too few random configurations assemble around home"
    )


def _random_poses(
    model: ClosedChainModel, count: int, scale: float, rng: np.random.Generator
) -> PlatformMotion:
    from pkm_dynamics.motion import PlatformMotion

    reach = scale * _POSE_FRACTION * model.length_scale
    position = model.home_position + reach * rng.uniform(-1, 1, (count, 3))
    turn = Rotation.from_rotvec(scale * _POSE_ANGLE * rng.uniform(-1, 1, (count, 3)))
    rotation = turn.as_matrix() @ model.home_rotation
    rates = np.array([4.0 * reach] * 3 + [4.0 * scale * _POSE_ANGLE] * 3)
    motion = PlatformMotion(
        position,
        rotation,
        rates * rng.uniform(-1, 1, (count, 6)),
        4.0 * rates * rng.uniform(-1, 1, (count, 6)),
    )
    try:
        q = model.inverse_kinematics(position, rotation)
    except ConvergenceError as error:
        motion = motion[np.setdiff1d(np.arange(count), error.samples)]
        if len(motion) == 0:
            return motion
        q = model.inverse_kinematics(motion.position, motion.rotation)
    inside = np.all((q >= model.lower) & (q <= model.upper), axis=1)
    motion = motion[inside]
    return model.with_joint_states(motion) if len(motion) else motion


def _random_actuators(
    model: ClosedChainModel, count: int, scale: float, rng: np.random.Generator
) -> PlatformMotion:
    half = np.empty(model.n_a)
    for k, name in enumerate(model.actuated_joints):
        prismatic = model.description.joint(name).type == 'prismatic'
        half[k] = _POSE_FRACTION * model.length_scale if prismatic else _POSE_ANGLE
        half[k] = scale * min(half[k], _STROKE_FRACTION * (model.upper[k] - model.lower[k]))
    q = model.home_actuators + half * rng.uniform(-1, 1, (count, model.n_a))
    q = np.clip(q, model.lower, model.upper)
    try:
        model.forward_kinematics(q)
    except ConvergenceError as error:
        q = np.delete(q, error.samples, axis=0)
    qd = 4.0 * half * rng.uniform(-1, 1, q.shape)
    qdd = 16.0 * half * rng.uniform(-1, 1, q.shape)
    return model.motion_from_actuators(q, qd, qdd)


def _concatenate(motions: list[PlatformMotion]) -> PlatformMotion:
    from pkm_dynamics.motion import PlatformMotion

    return PlatformMotion(
        *(np.concatenate([getattr(m, name) for m in motions]) for name in PlatformMotion.FIELDS)
    )
