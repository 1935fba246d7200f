"""Changes of the standard parameters that no force shows, and the rank that is left.

Three sources, each for what the one before it leaves over: mass moved across joints
(exact, see `transfers`), parameters of one body that its restricted motion hides (small,
well-conditioned problems), and the null space of the stacked regressor for what belongs
to special geometry (parallelograms, axes that turn together). The singular values of the
regressor over random motions say how many there are in all; what they do not confirm is
an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description import ConvergenceError, EstimationError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.groups import build_parameter_space
from pkm_dynamics.parameters.representatives import choose_places, length_power
from pkm_dynamics.parameters.transfers import transfers
from pkm_dynamics.random_motion import characteristic_length, random_motion

NO_INFLUENCE = 1e-9  # of the largest column: a parameter without influence
FLOOR = 1e-9  # of the largest singular value: dropped ones lie below this
BODY_FLOOR = 1e-9
CLEAR_GAP = 1e7
CONFIRMED = 1e-7  # of the forces of its terms: what a null direction may leave
SAME = 1e-8  # sine between a direction and a space that counts as inside it
_SCALES = (1.0, 2.0, 4.0, 8.0)  # of the random motions, widened until the rank is clear
_LEAST_SAMPLES = 60
_EQUATIONS = 3  # a parameter
_CONFIRMING_SAMPLES = 21
_SMALLEST_SHARE = 1e-2


@dataclass(frozen=True)
class Rank:
    """Rank of a regressor from its singular values."""

    value: int
    # (n,) of the regressor with columns of unit length, relative to the largest
    singular_values: Floats

    @property
    def kept(self) -> float:
        """Smallest singular value that counts."""
        return float(self.singular_values[self.value - 1]) if self.value else np.inf

    @property
    def dropped(self) -> float:
        """Largest singular value that does not count (rounding where there is none)."""
        rest = self.singular_values[self.value :]
        return max(float(rest[0]), 1e-16) if len(rest) else 1e-16

    @property
    def gap(self) -> float:
        """Ratio of `kept` to `dropped`."""
        return self.kept / self.dropped


@dataclass(frozen=True)
class NullSpace:
    """Directions of the standard parameters without influence on any force."""

    directions: Floats  # (k, n_p) orthonormal in parameters that are divided by `sizes`
    # (n_p,) 1, a length or its square: what makes masses, moments and inertias comparable
    sizes: Floats
    # (n_p, n_p) triangular factor of the stacked regressor: the same singular values
    factor: Floats
    # order of the links in which others are folded into them, least first
    places: Mapping[str, int]

    def within(self, expand: Floats, sizes: Floats) -> Floats:
        """Null directions (k, n_g) of parameters g with p = expand @ g, divided by `sizes`."""
        scaled = expand * sizes / self.sizes[:, None]
        outside = scaled - self.directions.T @ (self.directions @ scaled)
        # Columns of one length: every parameter counts alike.
        length = np.maximum(np.linalg.norm(scaled, axis=0), 1e-300)
        singular, right = np.linalg.svd(outside / length)[1:]
        singular = np.pad(singular, (0, expand.shape[1] - len(singular)))
        null = right[singular < SAME] / length
        return np.asarray(np.linalg.qr(null.T)[0].T)

    def rank(self, expand: Floats) -> Rank:
        """Rank of the regressor in the parameters g with p = expand @ g."""
        return numerical_rank(self.factor @ expand)


def numerical_rank(stacked: Floats) -> Rank:
    """Rank where the singular values of the columns, at unit length, fall most."""
    scale = column_scale(stacked)
    if stacked.size == 0 or scale.max() == 0.0:
        return Rank(0, np.zeros(stacked.shape[1]))
    singular = np.linalg.svd(stacked / scale, compute_uv=False)
    singular = np.pad(singular, (0, stacked.shape[1] - len(singular))) / singular[0]
    following = np.append(singular[1:], 0.0)
    falls = np.where(following < FLOOR, singular / np.maximum(following, 1e-16), 0.0)
    return Rank(int(np.argmax(falls)) + 1, singular)


def column_scale(stacked: Floats) -> Floats:
    """Lengths of the columns (n,); those without influence count as long as the longest."""
    scale = np.linalg.norm(stacked, axis=0)
    longest = scale.max(initial=0.0)
    return np.where(scale > NO_INFLUENCE * longest, scale, longest)


def build_null_space(model: DynamicModel, seed: int = 1) -> NullSpace:
    """Find every change of the standard parameters of a model that no force shows.

    Motions are widened, beyond the joints' limits too, until the singular values are
    clear and a still wider motion confirms the null space. Raises EstimationError where the
    singular values do not tell the rank: the mechanism moves too little for some of its
    parameters to show.
    """
    best: Rank | None = None
    for scale in _SCALES:
        try:
            factor = _factor(model, seed, scale)
        except ConvergenceError:
            if best is None:
                raise
            break
        rank = numerical_rank(factor)
        if best is None or rank.gap > best.gap:
            best = rank
        if rank.value == 0 or rank.gap >= CLEAR_GAP:
            found = _null_space(model, factor, rank)
            if found is not None and _is_confirmed(model, found, seed + 1, 2.0 * scale):
                return found
    assert best is not None
    raise EstimationError(
        f"robot '{model.description.name}': the rank of the regressor is not clear: around "
        f'{best.value} of {model.n_p} the singular values fall from {best.kept:.2g} to '
        f'{best.dropped:.2g} of the largest; the mechanism moves too little for some of its '
        'parameters to show'
    )


def _null_space(model: DynamicModel, factor: Floats, rank: Rank) -> NullSpace | None:
    """Null space for one factor; None where more is known to be null than the rank leaves."""
    scale = column_scale(factor)
    sizes = parameter_sizes(model)
    found = [transfers(model.description, model.parameter_names)]
    found += [_hidden(factor, scale, columns) for columns in _owners(model)]
    # Each is confirmed by the motions: a joint that this file does not know can take none.
    candidates = np.vstack(found)
    residual = np.linalg.norm(factor @ candidates.T, axis=0)
    length = np.linalg.norm(candidates * scale, axis=1)
    confirmed = candidates[residual < SAME * np.maximum(length, 1e-300)]
    directions = _row_space(confirmed / sizes)
    missing = model.n_p - rank.value - len(directions)
    if missing < 0:
        return None
    if missing:
        directions = _completed(directions, factor, scale, sizes, missing)
    places = choose_places(model, build_parameter_space(model, shared=False), directions)
    return NullSpace(directions, sizes, factor, places)


def _is_confirmed(model: DynamicModel, null: NullSpace, seed: int, scale: float) -> bool:
    """Whether wider motions leave the null space without influence."""
    try:
        motion = random_motion(model, _CONFIRMING_SAMPLES, seed, scale, within_limits=False)
    except ConvergenceError:
        return True
    regressor = model.regressor(motion)
    directions = null.directions * null.sizes
    columns = np.linalg.norm(regressor, axis=1)
    size = np.linalg.norm(columns[:, None, :] * directions, axis=2)
    # Of all parameters: where a direction has no terms at all, its own are rounding.
    floor = _SMALLEST_SHARE * (columns * null.sizes).max(axis=1, initial=0.0, keepdims=True)
    residual = np.linalg.norm(regressor @ directions.T, axis=1)
    # The median, as forces and rounding have no bounds where a motion passes a singularity.
    share = np.median(residual / np.maximum(np.maximum(size, floor), 1e-300), axis=0)
    return bool(np.all(share < CONFIRMED))


def parameter_sizes(model: DynamicModel) -> Floats:
    """Length of the robot to the power that the parameter's unit has (n_p,)."""
    length = characteristic_length(model)
    kinds = zip(model.parameter_units, model.parameter_kinds, strict=True)
    powers = [length_power(unit) if kind == 'rigid_body' else 0 for unit, kind in kinds]
    return np.array([length**power for power in powers])


def _factor(model: DynamicModel, seed: int, scale: float) -> Floats:
    """Triangular factor (n_p, n_p) of the regressor over random motions."""
    count = max(_LEAST_SAMPLES, -(-_EQUATIONS * model.n_p // model.n_a))
    motion = random_motion(model, count, seed, scale, within_limits=False)
    stacked = model.regressor(motion).reshape(-1, model.n_p)
    return np.asarray(np.linalg.qr(stacked, mode='r'))


def _owners(model: DynamicModel) -> list[list[int]]:
    """Columns of each link's, joint's and drive's parameters."""
    columns: dict[tuple[str, str], list[int]] = {}
    for index, name in enumerate(model.parameter_names):
        key = model.parameter_kinds[index], name.rpartition('.')[0]
        columns.setdefault(key, []).append(index)
    return list(columns.values())


def _hidden(factor: Floats, scale: Floats, columns: list[int]) -> Floats:
    """Null directions (k, n_p) within the parameters of one body or joint."""
    singular, right = np.linalg.svd(factor[:, columns] / scale[columns], full_matrices=False)[1:]
    null = right[singular < BODY_FLOOR * max(singular.max(), 1e-300)] / scale[columns]
    result = np.zeros((len(null), len(scale)))
    result[:, columns] = _clean(null)
    return result


def _clean(rows: Floats) -> Floats:
    """Reduced echelon form with full pivoting: zeros become exact ones."""
    rows = rows / np.maximum(np.abs(rows).max(axis=1, initial=1e-300, keepdims=True), 1e-300)
    for r in range(len(rows)):
        i, j = divmod(int(np.argmax(np.abs(rows[r:]))), rows.shape[1])
        rows[[r, r + i]] = rows[[r + i, r]]
        rows[r] /= rows[r, j]
        others = np.arange(len(rows)) != r
        rows[others] -= np.outer(rows[others, j], rows[r])
    rows[np.abs(rows) < 1e-10] = 0.0
    return rows


def _row_space(rows: Floats) -> Floats:
    """Orthonormal basis (k, n) of the rows (m, n)."""
    if len(rows) == 0:
        return rows
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    singular, right = np.linalg.svd(rows, full_matrices=False)[1:]
    return np.asarray(right[singular > SAME * singular[0]])


def _completed(
    directions: Floats, factor: Floats, scale: Floats, sizes: Floats, missing: int
) -> Floats:
    """Add the null directions that only the regressor knows."""
    known = np.linalg.qr((directions * sizes * scale).T, mode='complete')[0]
    rest = known[:, len(directions) :]
    right = np.linalg.svd((factor / scale) @ rest)[2]
    more = (rest @ right[len(right) - missing :].T).T / scale / sizes
    return _row_space(np.vstack([directions, more]))
