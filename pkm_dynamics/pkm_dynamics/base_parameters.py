"""Base parameters: the combinations of standard parameters that forces can show.

The rank of the stacked regressor over random motions, and the combinations, come from
a column-pivoted QR [Gautier 1991]: independent columns stand for themselves plus the
standard parameters that the forces cannot tell from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pkm_description import ConvergenceError, EstimationError
from scipy.linalg import qr, solve_triangular

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.motion import PlatformMotion

Floats = NDArray[np.float64]

RANK_TOLERANCE = 1e-8
RANK_GAP = 10.0
_SAMPLES = 300
_STROKE_FRACTION = 0.25


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
    names, units, kinds, expand, average = _groups(model, shared)
    keep = np.ones(len(names), dtype=bool)
    if reduced:
        zero = model.zero_parameter_mask
        members = expand != 0
        keep = ~np.array([bool(np.all(zero[members[:, g]])) for g in range(len(names))])
    motion = random_motion(model, _SAMPLES, seed=1)
    stacked = model.regressor(motion).reshape(-1, model.n_p) @ expand
    chosen, combinations, gap = _select(stacked, keep, _priorities(names, kinds))
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


def _groups(
    model: ClosedChainModel, shared: bool
) -> tuple[list[str], list[str], list[str], Floats, Floats]:
    """Group parameters: names, units, kinds, p = expand @ groups, groups = average @ p."""
    owner_group: dict[str, str] = {}
    if shared:
        for group in model.description.same_design:
            label = group_name(group)
            owner_group.update(dict.fromkeys(group, label))
    index: dict[str, int] = {}
    units, kinds = [], []
    columns = np.empty(model.n_p, dtype=int)
    for k, name in enumerate(model.parameter_names):
        owner, _, field = name.rpartition('.')
        label = f'{owner_group.get(owner, owner)}.{field}'
        if label not in index:
            index[label] = len(index)
            units.append(model.parameter_units[k])
            kinds.append(model.parameter_kinds[k])
        columns[k] = index[label]
    expand = np.zeros((model.n_p, len(index)))
    expand[np.arange(model.n_p), columns] = 1.0
    return list(index), units, kinds, expand, (expand / expand.sum(axis=0)).T


def group_name(members: tuple[str, ...]) -> str:
    """Name what members of one design share: leg1_slider, leg2_slider -> leg_slider."""
    stripped = {re.sub(r'\d+', '', name) for name in members}
    if len(members) > 1 and len(stripped) == 1:
        return re.sub(r'_+', '_', stripped.pop()).strip('_')
    return members[0]


def _priorities(names: list[str], kinds: list[str]) -> list[int]:
    """Rank of each group in the choice of representatives: smaller is kept first.

    Friction and rotor first (they stand for themselves), then the inertia of bodies,
    first moments, masses; platform before the others.
    """
    order = {'m': 3, 'mx': 2, 'my': 2, 'mz': 2}
    result = []
    for name, kind in zip(names, kinds, strict=True):
        owner, _, field = name.rpartition('.')
        rank = 0 if kind != 'rigid_body' else 1 + 10 * (owner != 'platform') + order.get(field, 1)
        result.append(rank)
    return result


def _select(
    stacked: Floats, keep: NDArray[np.bool_], priorities: list[int]
) -> tuple[list[int], Floats, float]:
    """Choose independent columns; return them, their combinations (r, n) and the rank gap."""
    scale = np.linalg.norm(stacked, axis=0)
    threshold = RANK_TOLERANCE * float(scale.max(initial=0.0))
    candidates = np.flatnonzero(keep & (scale > threshold))
    scaled = stacked[:, candidates] / scale[candidates]
    singular = np.linalg.svd(scaled, compute_uv=False)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0
    below = singular[rank] if rank < len(singular) else 0.0
    gap = float(singular[rank - 1] / max(below, 1e-300)) if rank else np.inf
    if rank and gap < RANK_GAP:
        raise EstimationError(
            f'the rank of the regressor is not clear: singular values {singular[rank - 1]:.2e} and '
            f'{below:.2e} around {rank}; parameters of very different size or a near-singular '
            'home pose'
        )
    chosen: list[int] = []
    basis = np.zeros((len(scaled), 0))
    remaining = scaled.copy()
    for level in sorted({priorities[g] for g in candidates}):
        members = [i for i, g in enumerate(candidates) if priorities[g] == level]
        block = remaining[:, members]
        q, triangle, order = qr(block, mode='economic', pivoting=True)
        independent = int(np.sum(np.abs(np.diag(triangle)) > 1e-6))
        chosen += [members[i] for i in order[:independent]]
        basis = np.hstack([basis, q[:, :independent]])
        remaining = remaining - basis @ (basis.T @ remaining)
    if len(chosen) != rank:
        raise EstimationError(
            f'the rank of the regressor is not clear: {rank} by singular values, {len(chosen)} by '
            'pivoting'
        )
    chosen.sort(key=lambda i: candidates[i])
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


def random_motion(model: ClosedChainModel, count: int, seed: int) -> PlatformMotion:
    """Random motions around home, `count` samples, for ranks and tests.

    Actuators are drawn within a quarter of their stroke about home (0.5 rad or a tenth
    of the mechanism's size where there is none); samples that do not assemble are drawn
    again.
    """
    rng = np.random.default_rng(seed)
    width = model.upper - model.lower
    open_width = np.array(
        [
            0.2 * float(model._mechanism.length_scale)
            if model.description.joint(name).type == 'prismatic'
            else 1.0
            for name in model.actuated_joints
        ]
    )
    half = _STROKE_FRACTION * np.where(np.isfinite(width), np.minimum(width, 2.0 * open_width), open_width)
    speed = 4.0 * half
    q = np.empty((0, model.n_a))
    for _ in range(20):
        drawn = model.home_actuators + half * rng.uniform(-1, 1, (count, model.n_a))
        try:
            model.forward_kinematics(drawn)
        except ConvergenceError as error:
            drawn = np.delete(drawn, error.samples, axis=0)
            half = 0.8 * half
        q = np.vstack([q, drawn])[:count]
        if len(q) == count:
            break
    else:
        raise ConvergenceError(
            f"robot '{model.description.name}': too few random configurations assemble"
        )
    # Ordered along the widest direction, so that neighbours are near.
    qd = speed * rng.uniform(-1, 1, q.shape)
    qdd = 4.0 * speed * rng.uniform(-1, 1, q.shape)
    return model.motion_from_actuators(q, qd, qdd)
