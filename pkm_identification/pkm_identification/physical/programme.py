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
from pkm_identification.physical.barrier import Block
from pkm_identification.physical.bodies import LEAST_EIGENVALUE, PhysicalBodies
from pkm_identification.physical.cone_least_squares import Found, Solver, least_squares
from pkm_identification.physical.cone_program import (
    ConeRows,
    at_least,
    coefficient_rows,
    definite,
    equal,
    flat_rows,
    matrix_of,
)
from pkm_identification.physical.nearest import ACTIVE_LIMIT, CLOSENESS

SHARE = 1e-4  # of what the constraint is worth that costs most: of less, one is not named
LEAST_NOMINAL = 1e-9  # least eigenvalue of a nominal body that has a logarithm
LOOSE = 1e-3  # standard deviations that a change of a parameter by its size is worth
WORTHLESS = 1e-3  # squared standard deviations that being near the nominal bodies may cost
LIGHTER = 3  # times that its weight may fall
HEAVIER = 2  # times that it may rise
STEP = 1e3  # by which it rises
ABSURD = 1e6  # sizes of the parameters: bodies that no data can ask for, and rounding takes over
DISTANT = 1e3  # sizes of the parameters, beyond which a step from the nominal bodies is no longer
SINGLE = 1e-12  # of a value: a range that is no wider holds it alone
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
    solver: Solver = Solver.INTERIOR_POINT
    accuracy: float = 0.0  # the best is at most so many standard deviations away
    is_accurate: bool = True  # whether that is near enough
    pull: float = 0.0  # standard deviations that being near the nominal bodies costs


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
        self._prior: list[tuple[Array, float]] = []  # forms and weights of the divergences
        if spread is not None:
            _require_inside(bodies)
            forms = bodies.relative_forms(bodies.nominal)
            self._prior = [(form, 2 / spread**2) for form in forms]

    def solve(
        self,
        target: Array,
        near: Array | None = None,
        extra_design: Array | None = None,
        extra_range: tuple[Array, Array] | None = None,
    ) -> Solution:
        """Solve for a right-hand side t (m,), with E (m, k) and the lowest and highest e (k,) each.

        `near` (n_g,) is any x near the solution, physical or not: steps from it are what is solved
        for, so that rounding counts in units of the step; else from the nominal bodies.
        EstimationError where nothing satisfies all that is asked for.
        """
        bodies = self._bodies
        size, count = len(bodies.names), 0 if extra_design is None else extra_design.shape[1]
        nominal = bodies.nominal / bodies.sizes
        center = nominal if near is None else near / bodies.sizes
        if float(np.abs(center - nominal).max()) > DISTANT:
            center = nominal
        design, ends = self._design, []
        if extra_design is not None and extra_range is not None:
            design = np.concatenate([design, extra_design], axis=1)
            ends = _ends(np.eye(size + count)[size:], *extra_range)
        target = target - self._design @ center
        for margin in (self._limits.margin, TIGHTER * self._limits.margin):
            named = self._conditions(margin)
            rows = [*named.values(), *ends, *flat_rows(bodies)]
            found, pull = self._solve_near(center, design, target, rows)
            if found.solver is None:
                break
            change = found.y[:size]
            x = bodies.sizes * (center + change)
            x[bodies.coefficients] = np.maximum(x[bodies.coefficients], 0.0)
            if bodies.contains(x, massless=True):
                duals = dict(zip(named, found.duals, strict=False))
                return Solution(
                    x=x,
                    extra=found.y[size : size + count],
                    active=self._active(x, change, duals),
                    cost=found.value,
                    solver=found.solver,
                    accuracy=found.accuracy,
                    is_accurate=found.is_accurate,
                    pull=pull,
                )
        if found.solver is None and not found.is_proved:
            raise EstimationError(
                'no physical bodies were found that satisfy all that is asked for, and no proof '
                'that there are none: the solvers have failed; ask for less, or scale the data'
            )
        raise EstimationError(f'no physical bodies satisfy {self._contradiction(named, found)}')

    def _contradiction(self, named: Mapping[str, ConeRows], found: Found) -> str:
        """Name what is asked for and cannot be, by its weight in the contradiction."""
        weights = {
            name: float(np.abs(dual).max(initial=0.0))
            for name, dual in zip(named, found.duals, strict=False)
            if name in self._further
        }
        least = SHARE * max(weights.values(), default=0.0)
        asked = [name for name, weight in weights.items() if weight > least]
        return f'what is asked for: {", ".join(asked)}' if asked else 'the margin'

    def _conditions(self, margin: float) -> dict[str, ConeRows]:
        """Conditions on [x / sizes; e] by body, `''` for the coefficients, by name."""
        bodies = self._bodies
        found = {name: definite(bodies.forms(name), margin) for name in bodies.blocks}
        if len(bodies.coefficients):
            found[''] = coefficient_rows(bodies)
        return found | self._further

    def _solve_near(
        self, center: Array, design: Array, target: Array, rows: list[ConeRows]
    ) -> tuple[Found, float]:
        """Solve, with a weight towards the nominal bodies that hardly counts, and what it costs."""
        bodies, count = self._bodies, design.shape[1]
        size = len(center)
        rows = [each.widened(count).about(center) for each in rows]
        prior = [
            Block(np.pad(form, ((0, 0), (0, 0), (0, count - size))), form @ center, weight)
            for form, weight in self._prior
        ]
        loose = np.pad(self._loose, ((0, 0), (0, count - size)))
        inside = np.pad(bodies.nominal / bodies.sizes - center, (0, count - size))
        away = -self._loose @ inside[:size]
        best, pull = self._weighted(self._weight, loose, away, design, target, rows, inside, prior)
        for _ in range(HEAVIER):  # where what the data leave open is too much for the solvers
            if best.is_accurate or best.solver is None:
                break
            self._weight *= STEP
            heavy = self._weighted(self._weight, loose, away, design, target, rows, inside, prior)
            best, pull = heavy if heavy[0].is_accurate else (best, pull)
        for _ in range(LIGHTER):
            if pull**2 < WORTHLESS or not best.is_accurate:
                break
            weight = self._weight * 0.1 * WORTHLESS / pull**2
            found = self._weighted(weight, loose, away, design, target, rows, inside, prior)
            if not found[0].is_accurate or float(np.abs(found[0].y[:size]).max()) > ABSURD:
                break
            self._weight = weight
            best, pull = found
        return best, pull

    def _weighted(
        self,
        weight: float,
        loose: Array,
        away: Array,
        design: Array,
        target: Array,
        rows: list[ConeRows],
        inside: Array,
        prior: list[Block],
    ) -> tuple[Found, float]:
        """Solve with a weight towards the nominal bodies, which costs the square of the second."""
        root = np.sqrt(weight)
        stacked = np.concatenate([design, root * loose])
        aim = np.concatenate([target, -root * away])
        found = least_squares(stacked, aim, rows, inside, prior)
        return found, float(root * np.linalg.norm(away + loose @ found.y))

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


def _ends(chosen: Array, low: Array, high: Array) -> list[ConeRows]:
    """Conditions that the chosen unknowns lie in ranges, which may hold a single value."""
    wide = high - low > SINGLE * np.maximum(np.abs(low), np.abs(high))
    found = []
    if wide.any():
        found += [at_least(chosen[wide], low[wide]), at_least(-chosen[wide], -high[wide])]
    if not wide.all():
        found.append(equal(chosen[~wide], (low + high)[~wide] / 2))
    return found


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
