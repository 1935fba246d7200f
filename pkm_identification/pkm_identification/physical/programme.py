"""Least squares over the standard parameters that real bodies and real friction can have.

A convex problem (semidefinite programme): the bodies' pseudo-inertias are positive definite
with a margin, friction and rotor coefficients are not negative, and what else is asked for
holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.physical.bodies import LEAST_EIGENVALUE, PhysicalBodies
from pkm_identification.physical.cone_program import (
    ConeRows,
    ConeSolution,
    at_least,
    coefficient_rows,
    definite,
    equal,
    import_clarabel,
    least_squares,
    matrix_of,
)
from pkm_identification.physical.nearest import ACTIVE_LIMIT, CLOSENESS

SHARE = 1e-4  # of what the constraint is worth that costs most: of less, one is not named
LEAST_NOMINAL = 1e-9  # least eigenvalue of a nominal body that has a logarithm
LOOSE = 1e-3  # standard deviations that a change of a parameter by its size is worth
WORTHLESS = 1e-3  # squared standard deviations that being near the nominal bodies may cost
LIGHTER = 3  # times that its weight may fall
TIGHTER = 10.0  # times the margin, where rounding has taken the first one


@dataclass(frozen=True)
class Limits:
    """What is asked of the bodies besides being possible."""

    # Least eigenvalue of each body's pseudo-inertia, in units in which the nominal body has mass
    # one and second moments about its frame that add to one
    margin: float = LEAST_EIGENVALUE
    # Sums with a lowest and a highest value: name -> (row (n_g,), low, high) over the free standard
    # parameters; equal ones fix the sum
    bounds: Mapping[str, tuple[Array, float, float]] = field(default_factory=dict)
    # Relative standard deviation of the bodies about the nominal ones, see `PhysicalProgram`
    spread: float | None = None


@dataclass(frozen=True)
class Solution:
    """Where the least squares is smallest."""

    x: Array  # (n_g,), free standard parameters; physical
    extra: Array  # (k,), the other unknowns
    active: tuple[str, ...]  # constraints that the data push against
    cost: float  # what was minimised, with the priors


class PhysicalProgram:
    """Minimise |A x + E e - t|^2 over physical x (n_g,) and bounded e (k,).

    Of bodies that the data do not tell apart it takes those nearest to the nominal ones: a
    small weight on squares of the parameters in units of their size, in the directions that
    the data leave open by a thousand sizes or more, and in no other. Where what the data
    do show needs bodies far from the nominal ones, the weight falls until it costs less
    than a thousandth of a squared standard deviation.

    With a `spread` s, (2 / s^2) sum_b D(S_b) is added, where D(S) = trace(S0^-1 S) -
    ln det(S0^-1 S) - 4 is the divergence of a pseudo-inertia from the nominal S0. Near S0 it
    is half the squared relative change, so that s is a standard deviation [Lee, Wensing,
    Park 2020].

    `design` is A (m, n_g), `coupled` are rows (n_g + k,) over [x; e] that must not be negative,
    by name. EstimationError where the nominal bodies are no such prior, or the solver is missing.
    """

    def __init__(
        self,
        bodies: PhysicalBodies,
        design: Array,
        limits: Limits | None = None,
        coupled: Mapping[str, Array] | None = None,
    ) -> None:
        self._bodies, self._limits = bodies, limits or Limits()
        self._design = design * bodies.sizes
        self._loose = _loose_directions(self._design)
        self._weight = CLOSENESS
        self._further = dict(_bounded(bodies, self._limits))
        for name, row in (coupled or {}).items():
            scale = np.concatenate([bodies.sizes, np.ones(len(row) - len(bodies.sizes))])
            self._further[name] = at_least((row * scale)[None], np.zeros(1))
        spread = self._limits.spread
        self._prior: list[Array] = []
        self._prior_weight = 0.0
        if spread is not None:
            _require_inside(bodies)
            self._prior, self._prior_weight = bodies.relative_forms(bodies.nominal), 2 / spread**2

    def solve(
        self,
        target: Array,
        near: Array | None = None,
        extra_design: Array | None = None,
        extra_range: tuple[Array, Array] | None = None,
    ) -> Solution:
        """Solve for a right-hand side t (m,), with E (m, k) and the lowest and highest e (k,) each.

        `near` (n_g,) is any x near the solution, physical or not: steps from it are what is solved
        for, so that rounding counts in units of the step. EstimationError where nothing satisfies
        all that is asked for, or the solver fails.
        """
        bodies = self._bodies
        size, count = len(bodies.names), 0 if extra_design is None else extra_design.shape[1]
        center = np.zeros(size) if near is None else near / bodies.sizes
        design, ends = self._design, []
        if extra_design is not None and extra_range is not None:
            design = np.concatenate([design, extra_design], axis=1)
            chosen = np.eye(size + count)[size:]
            ends = [at_least(chosen, extra_range[0]), at_least(-chosen, -extra_range[1])]
        target = target - self._design @ center
        for margin in (self._limits.margin, TIGHTER * self._limits.margin):
            named = self._conditions(margin)
            found = self._solve_near(center, design, target, [*named.values(), *ends])
            status = 'infeasible' if found.is_impossible else found.status
            if found.is_impossible:
                break
            if not found.is_solved:
                raise EstimationError(f'no physical parameters found: solver says {found.status}')
            change = found.y[:size]
            x = bodies.sizes * (center + change)
            x[bodies.coefficients] = np.maximum(x[bodies.coefficients], 0.0)
            if bodies.contains(x, massless=True):
                duals = dict(zip(named, found.duals, strict=False))
                active = self._active(x, change, duals)
                return Solution(x, found.y[size : size + count], active, found.value)
        asked = f' of {", ".join(self._limits.bounds)}' if self._limits.bounds else ''
        raise EstimationError(
            f'no physical bodies satisfy what is asked for{asked} (solver: {status})'
        )

    def _conditions(self, margin: float) -> dict[str, ConeRows]:
        """Conditions on [x / sizes; e] by body, `''` for the coefficients, by name."""
        bodies = self._bodies
        found = {name: definite(bodies.forms(name), margin) for name in bodies.blocks}
        if len(bodies.coefficients):
            found[''] = coefficient_rows(bodies)
        return found | self._further

    def _solve_near(
        self, center: Array, design: Array, target: Array, rows: list[ConeRows]
    ) -> ConeSolution:
        """Solve, with a weight towards the nominal bodies that hardly counts."""
        bodies, count = self._bodies, design.shape[1]
        linear, prior_rows = self._divergence(count)
        rows = [each.widened(len(linear)).about(center) for each in (*rows, *prior_rows)]
        loose = np.pad(self._loose, ((0, 0), (0, len(linear) - len(center))))
        design = np.pad(design, ((0, 0), (0, len(linear) - count)))
        away = self._loose @ (center - bodies.nominal / bodies.sizes)
        for _ in range(LIGHTER):
            root = np.sqrt(self._weight)
            stacked = np.concatenate([design, root * loose])
            aim = np.concatenate([target, -root * away])
            found = least_squares(stacked, aim, rows, linear)
            if not found.is_solved:
                return found
            price = root**2 * float(np.sum((away + self._loose @ found.y[: len(center)]) ** 2))
            if price < WORTHLESS:
                break
            self._weight *= 0.1 * WORTHLESS / price
        constant = sum(np.einsum('iik->k', form) @ center - len(form) for form in self._prior)
        return found._replace(value=found.value + self._prior_weight * float(constant))

    def _divergence(self, count: int) -> tuple[Array, list[ConeRows]]:
        """Cost (n,) and rows of the divergences, whose unknowns follow the first `count`.

        ln det S is the largest sum of t_i with t_i <= ln Z_ii and [[S, Z], [Z^T, diag(Z)]] positive
        semidefinite, Z lower triangular.
        """
        sizes = [len(form) for form in self._prior]
        total = count + sum(size + size * (size + 1) // 2 for size in sizes)
        linear, rows = np.zeros(total), []
        for size, form in zip(sizes, self._prior, strict=True):
            row, column = np.tril_indices(size)
            logarithms = count + np.arange(size)
            entries = count + size + np.arange(len(row))
            whole = np.zeros((2 * size, 2 * size, total))
            whole[:size, :size, : form.shape[2]] = form
            whole[row, size + column, entries] = whole[size + column, row, entries] = 1.0
            diagonal = entries[row == column]
            whole[size + np.arange(size), size + np.arange(size), diagonal] = 1.0
            rows.append(definite(whole, 0.0))
            for logarithm, value in zip(logarithms, diagonal, strict=True):
                each = np.zeros((3, total))
                each[0, logarithm] = each[2, value] = -1.0
                cone = import_clarabel().ExponentialConeT()
                rows.append(ConeRows(each, np.array([0.0, 1.0, 0.0]), cone))
            linear[: form.shape[2]] += self._prior_weight * np.einsum('iik->k', form)
            linear[logarithms] = -self._prior_weight
            count += size + len(row)
        return linear, rows

    def _active(self, x: Array, change: Array, duals: Mapping[str, Array]) -> tuple[str, ...]:
        """Names of the constraints that are worth something to the data.

        A multiplier times the distance that the constraint may give way: the size of the
        body, or how far the solution has been moved.
        """
        bodies = self._bodies
        moved = 1 + float(np.abs(change).max())
        worth: dict[str, float] = {}
        for name, dual in duals.items():
            if name == '':
                for i, value in zip(bodies.coefficients, dual, strict=True):
                    worth[f'{bodies.names[i]} >= 0'] = value * (1 + abs(change[i]))
            elif name in bodies.blocks:
                size = np.linalg.eigvalsh(bodies.scaled_pseudo_inertia(name, x))[-1]
                text = f'{name}: pseudo-inertia positive definite'
                worth[text] = float(np.linalg.eigvalsh(matrix_of(dual))[-1] * size)
            else:
                worth[name] = float(np.abs(dual).max() * moved)
        least = max(ACTIVE_LIMIT, SHARE * max(worth.values(), default=0.0))
        return tuple(name for name, value in worth.items() if value > least)


def _loose_directions(design: Array) -> Array:
    """Orthonormal rows (l, n) of the directions that a whitened design hardly shows."""
    _, singular, right = np.linalg.svd(design)
    shown = np.zeros(len(right))
    shown[: len(singular)] = singular
    return np.asarray(right[shown < LOOSE])


def _bounded(bodies: PhysicalBodies, limits: Limits) -> dict[str, ConeRows]:
    """Conditions on the sums that have bounds."""
    found = {}
    for name, (row, low, high) in limits.bounds.items():
        length = float(np.linalg.norm(row * bodies.sizes))
        scaled = (row * bodies.sizes / length)[None]
        if low == high:
            found[f'{name} = {low:g}'] = equal(scaled, np.array([low / length]))
            continue
        if np.isfinite(low):
            found[f'{name} >= {low:g}'] = at_least(scaled, np.array([low / length]))
        if np.isfinite(high):
            found[f'{name} <= {high:g}'] = at_least(-scaled, np.array([-high / length]))
    return found


def _require_inside(bodies: PhysicalBodies) -> None:
    """Raise `EstimationError` where a nominal body has no logarithm."""
    for name in bodies.massive:
        if bodies.smallest_eigenvalue(name, bodies.nominal) <= LEAST_NOMINAL:
            raise EstimationError(
                f"the nominal body '{name}' is a limit of what can exist (its pseudo-inertia is "
                'singular): no spread about it can be given'
            )
