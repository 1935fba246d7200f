"""Normal equations of a model and of terms that it may lack, part by part of the data.

What a term brings in parts that the parameters were not estimated from follows from them by
elimination: no fit is repeated for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from pkm_identification.arrays import Array, Indices
from pkm_identification.model_selection.candidate_terms import Candidate, Columns, TimeRows
from pkm_identification.regression.held_out import LEAST_RESIDUAL, SINGULAR, Parts, solved
from pkm_identification.regression.numerics import inverse_square
from pkm_identification.regression.residual_noise import correlation_time

PASSES = 3  # of the axes' weights from residuals: they hardly change after the second
# Of a column's squared length: with less outside the span of the model's columns it is one of
# theirs (a rotor of the first drive of an arm), and its value would be noise
DISTINCT = 1e-4
LEAST_FREEDOM = 10.0  # of an F test: with fewer its variance is hardly known


class Trial(NamedTuple):
    """What a candidate brings."""

    candidate: int
    # (k,) of the squared held-out residuals of each part, each axis relative to its own variance
    falls: Array
    values: Array  # (w,) of its parameters, from all data
    free_values: Array  # (f,) of the free parameters beside it; of those that it replaces zero
    taken: float  # of the squared residuals of all data that it takes

    @property
    def fall(self) -> float:
        """Fall of the squared held-out residuals of all parts."""
        return float(self.falls.sum())

    @property
    def deviation(self) -> float:
        """Standard deviation of `fall`, from its spread over the parts."""
        return spread_of_sum(self.falls)


def spread_of_sum(parts: Array) -> float:
    """Return the standard deviation of a sum from the spread of its parts (k,)."""
    return float(np.sqrt(len(parts)) * parts.std(ddof=1)) if len(parts) > 1 else np.inf


@dataclass(frozen=True)
class Equations:
    """Normal equations of the model's parameters, then of those of all candidates."""

    rows: TimeRows
    columns: Columns
    candidates: tuple[Candidate, ...]
    parts: Parts  # with f + s columns an axis
    active: tuple[int, ...] = ()  # candidates that the model has

    @classmethod
    def of(cls, rows: TimeRows, columns: Columns, candidates: Sequence[Candidate]) -> Equations:
        """Sum the rows part by part."""
        axes = rows.forces.shape[1]
        count = int(rows.parts.max()) + 1
        size = rows.regressor.shape[2] + columns.values.shape[2]
        square, mixed = np.zeros((count, axes, size, size)), np.zeros((count, axes, size))
        power, total = np.zeros((count, axes)), np.zeros((count, axes))
        for k in range(count):
            here = rows.parts == k
            for axis in range(axes):
                own = (rows.regressor[here, axis], columns.values[here, axis])
                design = np.concatenate(own, axis=1)
                forces = rows.forces[here, axis]
                square[k, axis], mixed[k, axis] = design.T @ design, design.T @ forces
                power[k, axis], total[k, axis] = forces @ forces, forces.sum()
        number = np.bincount(rows.parts, minlength=count).astype(float)
        return cls(rows, columns, tuple(candidates), Parts(square, mixed, power, total, number))

    def with_active(self, *candidates: int) -> Equations:
        """Return the equations of a model that has these candidates too."""
        return replace(self, active=(*self.active, *candidates))

    @property
    def free(self) -> int:
        """Parameters f of the model without candidates."""
        return int(self.rows.regressor.shape[2])

    def _parameters(self, candidate: int) -> Indices:
        """Where the parameters of a candidate stand among all."""
        first = self.free + self.columns.firsts[candidate]
        return np.arange(first, first + self.candidates[candidate].width)

    @cached_property
    def _model(self) -> Indices:
        """Where the parameters of the model stand among all."""
        gone = [index for each in self.active for index in self.candidates[each].replaces]
        kept = np.setdiff1d(np.arange(self.free), np.array(gone, dtype=np.int64))
        return np.concatenate([kept, *map(self._parameters, self.active)])

    def _weighted(self, weights: Array, wanted: Indices | None = None) -> tuple[Array, Array]:
        """Squares (k, P, P) and products with the forces (k, P), all axes with their weights.

        Of the `wanted` parameters in their order, by default of all.
        """
        every = np.arange(self.free + self.columns.count)
        wanted = every if wanted is None else wanted
        count, size = len(self.parts.count), len(wanted)
        place = np.full(len(every), -1)
        place[wanted] = np.arange(size)
        square, mixed = np.zeros((count, size, size)), np.zeros((count, size))
        for axis, weight in enumerate(weights):
            used, own = self._of_axis(axis)
            kept = place[used] >= 0
            used, own = place[used[kept]], own[kept]
            here = slice(None), used[:, None], used
            square[here] += weight * self.parts.square[:, axis, own[:, None], own]
            mixed[:, used] += weight * self.parts.mixed[:, axis, own]
        return square, mixed

    def _of_axis(self, axis: int) -> tuple[Indices, Indices]:
        """Parameters that have a column in the rows of an axis, and which column."""
        slots = self.columns.parameters[axis]
        there = np.flatnonzero(slots >= 0)
        model = np.arange(self.free)
        return (
            np.concatenate([model, self.free + slots[there]]),
            np.concatenate([model, self.free + there]),
        )

    def _axis_errors(self, values: Array) -> Array:
        """Squared residuals (k, n_a) with values (k, P) for each part."""
        found = np.zeros_like(self.parts.power)
        for axis in range(found.shape[1]):
            used, own = self._of_axis(axis)
            kept = (values[:, used] != 0).any(axis=0)
            used, own = used[kept], own[kept]
            each = values[:, used]
            bent = np.einsum('kij,kj->ki', self.parts.square[:, axis, own[:, None], own], each)
            bent -= 2 * self.parts.mixed[:, axis, own]
            found[:, axis] = self.parts.power[:, axis] + np.einsum('ki,ki->k', bent, each)
        return np.maximum(found, 0.0)

    def _spread(self, values: Array) -> Array:
        """Values (p,) of the model's parameters among zeros for all (P,)."""
        whole = np.zeros((*values.shape[:-1], self.free + self.columns.count))
        whole[..., self._model] = values
        return whole

    @cached_property
    def weights(self) -> Array:
        """Inverse residual variances (n_a,) of the model."""
        total = self.parts.count.sum()
        residual = size = self.parts.size
        model = self._model
        for _ in range(PASSES):
            weights = total / residual
            square, mixed = (each.sum(axis=0) for each in self._weighted(weights, model))
            values = self._spread(solved(square, mixed))
            each = np.broadcast_to(values, (len(self.parts.count), len(values)))
            residual = np.maximum(self._axis_errors(each).sum(axis=0), LEAST_RESIDUAL * size)
        return np.asarray(total / residual)

    @cached_property
    def values(self) -> Array:
        """Estimate (p,) of the model's parameters."""
        weighted = self._weighted(self.weights, self._model)
        return solved(*(each.sum(axis=0) for each in weighted))

    @property
    def free_values(self) -> Array:
        """Estimate (f,) of the free parameters; zero where a candidate replaces one."""
        return np.asarray(self._spread(self.values)[: self.free])

    @cached_property
    def held_out(self) -> Array:
        """Squared residuals (k, n_a) of each part with the estimate from all others."""
        square, mixed = self._weighted(self.weights, self._model)
        rest = square.sum(axis=0) - square, mixed.sum(axis=0) - mixed
        return self._axis_errors(self._spread(solved(*rest)))

    def residuals(self) -> Array:
        """Residuals (m, n_a) of the estimate from all data, in time."""
        whole = self._spread(self.values)
        left = self.rows.residuals(whole[: self.free])
        own = whole[self.free :]
        taken = np.where(self.columns.parameters >= 0, own[self.columns.parameters], 0.0)
        return np.asarray(left - np.einsum('mas,as->ma', self.columns.values, taken))

    def relative_error(self, axes: Sequence[int]) -> float:
        """Held-out error of some axes over their forces about the mean."""
        chosen = list(axes)
        spread = np.maximum(self.parts.spread[chosen], 1e-300)
        return float(np.sqrt(np.mean(self.held_out.sum(axis=0)[chosen] / spread)))

    def trials(self, tried: Sequence[int]) -> list[Trial]:
        """What each of some candidates brings to the model; those that it spans are left out."""
        instead = [each for each in tried if self.candidates[each].replaces]
        beside = [each for each in tried if not self.candidates[each].replaces]
        return [*self._beside(beside), *map(self._instead, instead)]

    def _instead(self, candidate: int) -> Trial:
        """What a candidate brings that replaces parameters of the model."""
        after = self.with_active(candidate)
        width = self.candidates[candidate].width
        taken = self._squares - after._squares
        return Trial(
            candidate,
            (self.held_out - after.held_out) @ self.weights,
            after.values[-width:],
            after.free_values,
            float(taken @ self.weights),
        )

    @property
    def _squares(self) -> Array:
        """Squared residuals (n_a,) of the estimate from all data."""
        whole = self._spread(self.values)
        each = np.broadcast_to(whole, (len(self.parts.count), len(whole)))
        return np.asarray(self._axis_errors(each).sum(axis=0))

    def _beside(self, tried: Sequence[int]) -> list[Trial]:
        """What candidates bring that replace nothing, by elimination."""
        if not tried:
            return []
        model = self._model
        others = np.concatenate([self._parameters(each) for each in tried])
        place = dict(zip(others.tolist(), range(len(others)), strict=True))
        groups = {each: np.array([place[i] for i in self._parameters(each)]) for each in tried}
        square, mixed = self._weighted(self.weights, np.concatenate([model, others]))
        total, product = square.sum(axis=0), mixed.sum(axis=0)
        whole = Eliminated.of(total, product, len(model))
        rest = Eliminated.of(total - square, product - mixed, len(model))  # without each part
        slope = np.einsum('kji,kj->ki', rest.directions, mixed - _times(square, rest.start))
        bent = square @ rest.directions
        found = []
        for each, group in groups.items():
            if not whole.is_distinct(group):
                continue
            change = rest.step(group)
            moved = _times(rest.directions[..., group], change)
            curved = np.sum(moved * _times(bent[..., group], change), axis=1)
            falls = 2 * np.sum(slope[:, group] * change, axis=1) - curved
            step = whole.step(group)
            values = whole.start + whole.directions[:, group] @ step
            taken = float(step @ whole.gradient[group])
            free = self._spread(values[: len(model)])[: self.free]
            found.append(Trial(each, falls, step, free, taken))
        return found

    def beside_model(self, candidate: int) -> tuple[Array, Array, int]:
        """Weighted squares (k, p + w, p + w) and products with the forces (k, p + w), and p.

        Of the parameters of the model, then of those of a candidate.
        """
        model = self._model
        wanted = np.concatenate([model, self._parameters(candidate)])
        return *self._weighted(self.weights, wanted), len(model)

    def f_test(self, trial: Trial) -> tuple[float, float]:
        """F of a candidate and its chance, with as many rows as the colour leaves independent.

        Residuals beside the candidate follow each other over some rows: their correlation time
        divides the number of rows.
        """
        candidate = self.candidates[trial.candidate]
        after = self.with_active(trial.candidate)
        left = after.residuals()
        scaled = left * np.sqrt(self.weights)
        axes = list(candidate.axes)
        time = correlation_time([piece[:, axes] for piece in self.rows.pieces(scaled)])
        freedom = scaled.size / time - len(after._model)
        if freedom < LEAST_FREEDOM:
            return 0.0, 1.0
        variance = float(np.sum(scaled[:, axes] ** 2)) / scaled[:, axes].size
        variance *= scaled.size / max(scaled.size - len(after._model), 1.0)
        width = candidate.width
        ratio = trial.taken / width / max(variance * time, 1e-300)
        return ratio, float(fdtrc(width, freedom, max(ratio, 0.0)))


@dataclass(frozen=True)
class Eliminated:
    """Normal equations of candidates, the model's parameters eliminated; of one or more parts."""

    start: Array  # (..., p + c) estimate of the model alone, candidates at zero
    directions: Array  # (..., p + c, c), change of all values with one candidate parameter
    square: Array  # (..., c, c)
    gradient: Array  # (..., c)
    lengths: Array  # (..., c) squared lengths of the columns before the elimination

    @classmethod
    def of(cls, square: Array, mixed: Array, size: int) -> Eliminated:
        """Eliminate the first `size` parameters."""
        model, own = square[..., :size, :size], square[..., size:, size:]
        cross = square[..., :size, size:]
        inverse = inverse_square(model, SINGULAR)
        start, change = np.zeros_like(mixed), np.zeros_like(square[..., size:])
        start[..., :size] = _times(inverse, mixed[..., :size])
        change[..., :size, :] = -inverse @ cross
        change[..., size:, :] = np.eye(own.shape[-1])
        across = np.swapaxes(cross, -2, -1)
        return cls(
            start,
            change,
            own + across @ change[..., :size, :],
            mixed[..., size:] - _times(across, start[..., :size]),
            np.diagonal(own, axis1=-2, axis2=-1),
        )

    def step(self, group: Indices) -> Array:
        """Values (..., w) of some candidate parameters beside the model."""
        gradient = self.gradient[..., group]
        if len(group) == 1:  # most are: without the eigenvalues of the general case
            square = self.square[..., group, group]
            return np.where(square > 0, gradient / np.where(square > 0, square, 1), 0)
        return solved(self.square[..., group[:, None], group], gradient)

    def is_distinct(self, group: Indices) -> bool:
        """Whether no column is one of the model's."""
        left = np.diag(self.square)[group]
        return bool((left > DISTINCT * self.lengths[group]).all() and (left > 0).all())


def _times(matrix: Array, vector: Array) -> Array:
    """Product (..., n) of matrices (..., n, m) and vectors (..., m)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])
