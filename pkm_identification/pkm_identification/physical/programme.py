"""Least squares over the standard parameters that real bodies and real friction can have.

A convex problem (semidefinite programme): the bodies' pseudo-inertias are positive definite
with a margin, friction and rotor coefficients are not negative, and what else is asked for
holds. It is compiled once and solved for as many right-hand sides as wanted; Clarabel, an
interior-point method with the semidefinite and the exponential cone, solves it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.physical.bodies import MARGIN, PhysicalBodies
from pkm_identification.physical.nearest import CLOSENESS

ACTIVE_CONSTRAINT = (
    1e-3  # squared standard deviations that a constraint is worth, or it is not named
)
SHARE = 1e-4  # of what the one is worth that costs most
LEAST_NOMINAL = 1e-9  # least eigenvalue of a nominal body that has a logarithm
LOOSE = 1e-3  # standard deviations that a change of a parameter by its size is worth
WORTHLESS = 1e-3  # squared standard deviations that being near the nominal bodies may cost
LIGHTER = 3  # times that its weight may fall
TIGHTER = 10.0  # times the margin, where rounding has taken the first one


@dataclass(frozen=True)
class Limits:
    """What is asked of the bodies besides being possible.

    Attributes
    ----------
    margin : float
        Least eigenvalue of each body's pseudo-inertia, in units in which the nominal body
        has mass one and second moments about its frame that add to one.
    bounds : dict
        Sums with a lowest and a highest value: name -> (row (n_g,), low, high) over the free
        standard parameters; equal ones fix the sum.
    spread : float or None
        Relative standard deviation of the bodies about the nominal ones, see
        `PhysicalProgram`; None for no such prior.
    """

    margin: float = MARGIN
    bounds: Mapping[str, tuple[Array, float, float]] = field(default_factory=dict)
    spread: float | None = None


@dataclass(frozen=True)
class Solution:
    """Where the least squares is smallest.

    Attributes
    ----------
    x : (n_g,)
        Free standard parameters; physical.
    extra : (k,)
        The other unknowns.
    active : tuple of str
        Constraints that the data push against.
    cost : float
        What was minimised, with the priors.
    """

    x: Array
    extra: Array
    active: tuple[str, ...]
    cost: float


class PhysicalProgram:
    """Minimise |A x + E e - t|^2 over physical x and bounded e.

    Of bodies that the data do not tell apart it takes those nearest to the nominal ones: a
    small weight on squares of the parameters in units of their size, in the directions that
    the data leave open by a thousand sizes or more, and in no other. Where what the data
    do show needs bodies far from the nominal ones, the weight falls until it costs less
    than a thousandth of a squared standard deviation.

    With a `spread` s, (2 / s^2) sum_b D(S_b) is added, where D(S) = trace(S0^-1 S) -
    ln det(S0^-1 S) - 4 is the divergence of a pseudo-inertia from the nominal S0. Near S0 it
    is half the squared relative change, so that s is a standard deviation [Lee, Wensing,
    Park 2020].

    Parameters
    ----------
    bodies
        The physical set.
    design : (m, n_g)
        A.
    extra
        Number k of unknowns e.
    limits
        Besides being physical.
    coupled
        Rows (n_g + k,) over [x; e] that must not be negative, by name.

    Raises
    ------
    EstimationError
        The nominal bodies are no such prior, or the solver is missing.
    """

    def __init__(
        self,
        bodies: PhysicalBodies,
        design: Array,
        extra: int = 0,
        limits: Limits | None = None,
        coupled: Mapping[str, Array] | None = None,
    ) -> None:
        limits = limits or Limits()
        cp = _import_cvxpy()
        rows, size = design.shape
        self._bodies, self._limits, self._cp = bodies, limits, cp
        self._design = design * bodies.sizes
        self._change = cp.Variable(size)
        self._center = cp.Parameter(size)
        self._target = cp.Parameter(rows)
        self._margin = cp.Parameter(nonneg=True)
        y = self._center + self._change
        residual = self._design @ self._change - self._target
        self._constraints = _definite(cp, y, bodies, self._margin)
        self._constraints |= _bounded(cp, y, bodies, limits)
        others = []
        if extra:
            self._extra = cp.Variable(extra)
            self._extra_design = cp.Parameter((rows, extra))
            self._low, self._high = cp.Parameter(extra), cp.Parameter(extra)
            residual = residual + self._extra_design @ self._extra
            others = [self._extra >= self._low, self._extra <= self._high]
            for name, row in (coupled or {}).items():
                own = row[:size] * bodies.sizes
                self._constraints[name] = own @ y + row[size:] @ self._extra >= 0
        cost = cp.sum_squares(residual)
        self._loose = loose_directions(self._design)
        self._weight = CLOSENESS
        self._root_weight = cp.Parameter(nonneg=True)
        self._away = cp.Parameter(len(self._loose)) if len(self._loose) else None
        if self._away is not None:
            cost = cost + cp.sum_squares(
                self._root_weight * (self._loose @ self._change) + self._away
            )
        if limits.spread is not None:
            cost = cost + 2 / limits.spread**2 * _divergence(cp, y, bodies)
        self._problem = cp.Problem(cp.Minimize(cost), [*self._constraints.values(), *others])

    def solve(
        self,
        target: Array,
        near: Array | None = None,
        extra_design: Array | None = None,
        extra_range: tuple[Array, Array] | None = None,
    ) -> Solution:
        """Solve for a right-hand side.

        Parameters
        ----------
        target : (m,)
            t.
        near : (n_g,), optional
            Any x near the solution, physical or not: steps from it are what is solved for,
            so that rounding counts in units of the step.
        extra_design : (m, k)
            E.
        extra_range : (k,), (k,)
            Lowest and highest e.

        Raises
        ------
        EstimationError
            Nothing satisfies all that is asked for, or the solver fails.
        """
        bodies = self._bodies
        center = np.zeros(len(bodies.names)) if near is None else near / bodies.sizes
        self._center.value = center
        self._target.value = target - self._design @ center
        if extra_design is not None and extra_range is not None:
            self._extra_design.value = extra_design
            self._low.value, self._high.value = extra_range
        for margin in (self._limits.margin, TIGHTER * self._limits.margin):
            self._margin.value = margin
            if not self._solve_near(center):
                break
            x = bodies.sizes * (center + np.asarray(self._change.value))
            x[bodies.coefficients] = np.maximum(x[bodies.coefficients], 0.0)
            if is_physical(bodies, x):
                extra = np.zeros(0) if extra_design is None else np.asarray(self._extra.value)
                return Solution(x, extra, self._active(x), float(self._problem.value))
        asked = ', '.join(self._limits.bounds)
        raise EstimationError(
            'no physical bodies satisfy what is asked for'
            + (f' of {asked}' if asked else '')
            + f' (solver: {self._problem.status})'
        )

    def _solve_near(self, center: Array) -> bool:
        """Solve, with a weight towards the nominal bodies that hardly counts."""
        away = np.zeros(0)
        for _ in range(LIGHTER):
            weight = self._weight
            self._root_weight.value = np.sqrt(weight)
            if self._away is not None:
                away = self._loose @ (center - self._bodies.nominal / self._bodies.sizes)
                self._away.value = np.sqrt(weight) * away
            if not _solve(self._cp, self._problem):
                return False
            if self._away is None:
                return True
            price = weight * float(np.sum((away + self._loose @ self._change.value) ** 2))
            if price < WORTHLESS:
                return True
            self._weight *= 0.1 * WORTHLESS / price
        return True

    def _active(self, x: Array) -> tuple[str, ...]:
        """Names of the constraints that are worth something to the data.

        A multiplier times the distance that the constraint may give way: the size of the
        body, or how far the solution has been moved.
        """
        bodies = self._bodies
        moved = 1 + float(np.abs(self._change.value).max())
        worth: dict[str, float] = {}
        for name, constraint in self._constraints.items():
            dual = np.atleast_1d(np.asarray(constraint.dual_value, dtype=float))
            if name == '':
                for i, value in zip(bodies.coefficients, dual, strict=True):
                    worth[f'{bodies.names[i]} >= 0'] = value * (1 + abs(self._change.value[i]))
            elif name in bodies.blocks:
                size = np.linalg.eigvalsh(bodies.scaled_pseudo_inertia(name, x))[-1]
                text = f'{name}: pseudo-inertia positive definite'
                worth[text] = float(np.linalg.eigvalsh(dual)[-1] * size)
            else:
                worth[name] = float(np.abs(dual).max() * moved)
        least = max(ACTIVE_CONSTRAINT, SHARE * max(worth.values(), default=0.0))
        return tuple(name for name, value in worth.items() if value > least)


def loose_directions(design: Array) -> Array:
    """Orthonormal rows (l, n) of the directions that a whitened design hardly shows."""
    _, singular, right = np.linalg.svd(design)
    shown = np.zeros(len(right))
    shown[: len(singular)] = singular
    return np.asarray(right[shown < LOOSE])


def is_physical(bodies: PhysicalBodies, x: Array) -> bool:
    """Whether all pseudo-inertias are positive definite and no coefficient is negative.

    Bodies without mass in the nominal set count too.
    """
    definite = all(bodies.smallest_eigenvalue(name, x) > 0 for name in bodies.blocks)
    return bool(definite and (x[bodies.coefficients] >= 0).all())


def _bounded(cp: Any, y: Any, bodies: PhysicalBodies, limits: Limits) -> dict[str, Any]:
    """Conditions on the sums that have bounds."""
    found = {}
    for name, (row, low, high) in limits.bounds.items():
        scaled = row * bodies.sizes
        length = float(np.linalg.norm(scaled))
        value = (scaled / length) @ y
        if low == high:
            found[f'{name} = {low:g}'] = value == low / length
            continue
        if np.isfinite(low):
            found[f'{name} >= {low:g}'] = value >= low / length
        if np.isfinite(high):
            found[f'{name} <= {high:g}'] = value <= high / length
    return found


def _divergence(cp: Any, y: Any, bodies: PhysicalBodies) -> Any:
    """Sum of the divergences of the pseudo-inertias from the nominal ones."""
    total = 0.0
    for name, (_, has_mass) in bodies.scales.items():
        if not has_mass:
            continue
        nominal = bodies.scaled_pseudo_inertia(name, bodies.nominal)
        if np.linalg.eigvalsh(nominal)[0] <= LEAST_NOMINAL:
            raise EstimationError(
                f"the nominal body '{name}' is a limit of what can exist (its pseudo-inertia is "
                'singular): no spread about it can be given'
            )
        root = np.linalg.inv(np.linalg.cholesky(nominal))
        relative = root @ _scaled_inertia(cp, y, bodies, name) @ root.T
        total = total + cp.trace(relative) - cp.log_det((relative + relative.T) / 2)
        total = total - len(nominal)
    return total


def _scaled_inertia(cp: Any, y: Any, bodies: PhysicalBodies, body: str) -> Any:
    """Scaled pseudo-inertia (k, k) of a body on its face, for an expression y = x / sizes."""
    forms = bodies.forms(body)
    width = len(forms)
    moving = np.flatnonzero(np.any(forms != 0.0, axis=(0, 1)))
    flat = forms[:, :, moving].reshape(width**2, -1)  # symmetric: the order does not matter
    return cp.reshape(flat @ y[moving], (width, width), order='F')


def _definite(cp: Any, y: Any, bodies: PhysicalBodies, margin: Any) -> dict[str, Any]:
    """Conditions on y = x / sizes by body, and `''` for the coefficients."""
    found = {
        name: _scaled_inertia(cp, y, bodies, name) >> margin * np.eye(face.shape[1])
        for name, face in bodies.faces.items()
    }
    if len(bodies.coefficients):
        found[''] = y[bodies.coefficients] >= 0
    return found


def _import_cvxpy() -> Any:
    """Return cvxpy, with Clarabel installed; EstimationError where either is missing."""
    try:
        import clarabel  # noqa: F401
        import cvxpy  # takes a second, which other estimators do without
    except ImportError as error:
        raise EstimationError(
            f'physical parameters are estimated by cvxpy and clarabel: {error}'
        ) from error
    return cvxpy


def _solve(cp: Any, problem: Any) -> bool:
    """Solve by Clarabel; whether there is a solution. EstimationError where it breaks down."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings('ignore', message='Solution may be inaccurate')
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise EstimationError(f'no physical parameters found: {error}') from error
    return problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
