"""Standard parameters that real bodies can have, nearest to an estimate.

A body is physical where its pseudo-inertia [[tr(I)/2 1 - I, mc], [mc^T, m]] is positive
definite: it implies m > 0, a positive definite inertia about the centre of mass and the
triangle inequality. Friction and rotor coefficients must not be negative.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from pkm_description.errors import EstimationError
from pkm_dynamics.base_parameters import parameter_groups
from pkm_dynamics.pseudo_inertia import pseudo_inertia, pseudo_inertia_basis

Array = NDArray[np.float64]

FIELDS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
CLOSENESS = 1e-6  # weight of the distance from the nominal bodies
MARGIN = 1e-6  # least eigenvalue of the scaled pseudo-inertia of a body with mass
DISTANCE_TOLERANCE = 1e-4  # squared distance, in standard deviations, that counts as none
RESOLUTION = 1e-6  # relative accuracy of a parameter that is known without noise
SMALLEST_SPREAD = 1e-12  # relative variance below which a direction counts as this well known
ACTIVE = 1e-3


@dataclass(frozen=True)
class Feasible:
    """The nearest physical set of standard parameters.

    Attributes
    ----------
    standard_parameters
        (n_p,) in the order of `model.parameter_names`; physical.
    distance
        Mahalanobis distance of its base parameters from the estimate.
    p_value
        Probability of at least that distance if the true robot is physical (chi-squared
        with the number of parameters: an upper bound); small means a contradiction.
    is_physical
        Whether the estimate itself has a physical completion.
    violations
        Bodies and coefficients that keep the estimate from being physical.
    """

    standard_parameters: Array
    distance: float
    p_value: float
    is_physical: bool
    violations: tuple[str, ...]


def smallest_eigenvalues(model: Any, standard_parameters: Array) -> dict[str, float]:
    """Return the smallest eigenvalue of each body's pseudo-inertia, by link name."""
    bodies = body_indices(model.parameter_names)
    return {
        name: float(np.linalg.eigvalsh(pseudo_inertia(standard_parameters[index]))[0])
        for name, index in bodies.items()
    }


def body_indices(parameter_names: list[str]) -> dict[str, NDArray[np.int64]]:
    """Return the ten parameter indices of each body that has all of them."""
    where = {name: i for i, name in enumerate(parameter_names)}
    owners = [name.rpartition('.')[0] for name in parameter_names if name.endswith('.Ixx')]
    return {
        owner: np.array([where[f'{owner}.{field}'] for field in FIELDS])
        for owner in owners
        if all(f'{owner}.{field}' in where for field in FIELDS)
    }


def nearest_feasible(
    values: Array, covariance: Array, base: Any, model: Any, *, shared: bool, reduced: bool
) -> Feasible:
    """Find the physical standard parameters nearest to an estimate of the base parameters.

    The squared Mahalanobis distance of the base parameters is minimised. Among equally
    good bodies a small weight picks those nearest to the nominal ones; it moves the base
    parameters by less than a hundredth of a standard deviation.

    Parameters
    ----------
    values, covariance
        Estimate (r,) and its covariance (r, r); infinite variances do not count.
    base, model
        Base parameters and mechanism.
    shared, reduced
        As in the base parameters.

    Raises
    ------
    EstimationError
        The solver is missing or finds no solution.
    """
    problem = _Bodies(model, shared=shared, reduced=reduced)
    root, target = _whitening(values, covariance, base, model)
    matrix = np.asarray(base.matrix) @ problem.expand
    x, duals = problem.solve(root @ matrix, target)
    distance = float(np.sum((root @ matrix @ x - target) ** 2))
    is_physical = distance <= DISTANCE_TOLERANCE
    if is_physical:
        x = problem.completed(x, matrix, values)
    violations: tuple[str, ...] = ()
    if not is_physical:
        estimate = np.asarray(base.matrix), np.asarray(values)
        violations = problem.violations(duals, *estimate, list(base.names))
    return Feasible(
        standard_parameters=problem.expand @ x,
        distance=float(np.sqrt(distance)),
        p_value=float(chi2.sf(distance, len(values))),
        is_physical=is_physical,
        violations=violations,
    )


def _whitening(values: Array, covariance: Array, base: Any, model: Any) -> tuple[Array, Array]:
    """Return R and R p with |R (p - p')| the Mahalanobis distance of determined parameters."""
    known = np.isfinite(np.diag(covariance))
    nominal = np.abs(np.asarray(base.matrix)) @ np.abs(model.nominal_parameters)
    size = RESOLUTION * np.maximum(np.maximum(np.abs(values), nominal), RESOLUTION)
    block = covariance[np.ix_(known, known)] + np.diag(size[known] ** 2)
    deviation = np.sqrt(np.diag(block))
    correlation = block / np.outer(deviation, deviation)
    spread, axes = np.linalg.eigh(correlation)
    root = (axes / np.sqrt(np.maximum(spread, SMALLEST_SPREAD))).T / deviation
    full = np.zeros((int(known.sum()), len(values)))
    full[:, known] = root
    return full, full @ values


class _Bodies:
    """The convex set of physical parameters, in one variable a shared design."""

    def __init__(self, model: Any, *, shared: bool, reduced: bool) -> None:
        names = list(model.parameter_names)
        self.names, self.expand = parameter_groups(model, shared)
        average = (self.expand / self.expand.sum(axis=0)).T
        self.nominal = average @ model.nominal_parameters
        self.fixed = np.zeros(len(self.names), dtype=bool)
        if reduced and hasattr(model, 'zero_parameter_mask'):
            zero = np.asarray(model.zero_parameter_mask)
            self.fixed = ~((self.expand != 0) & ~zero[:, None]).any(axis=0)
        rigid = np.asarray(model.parameter_mask('rigid_body'))
        self.coefficients = np.flatnonzero(~(rigid @ (self.expand != 0)).astype(bool))
        self.bodies = body_indices(self.names)
        self.scales = {name: self._scale(index) for name, index in self.bodies.items()}
        self.sizes = self._sizes()
        assert len(names) == len(self.expand)

    def _scale(self, index: NDArray[np.int64]) -> tuple[Array, bool]:
        """Scaling (4, 4) that makes a nominal body of the order of one; whether it has mass."""
        p = self.nominal[index]
        masses = self.nominal[[i[0] for i in self.bodies.values()]]
        typical = float(np.median(masses[masses > 0])) if (masses > 0).any() else 1.0
        mass = p[0] if p[0] > 0 else typical
        spread = max(float(np.trace(pseudo_inertia(p)[:3, :3])), 0.0) / mass
        length = np.sqrt(spread) if spread > 0 else 0.1
        return np.diag([1 / length] * 3 + [1.0]) / np.sqrt(mass), bool(p[0] > 0)

    def _sizes(self) -> Array:
        """Size of each parameter, for distances from the nominal set."""
        sizes = np.maximum(np.abs(self.nominal), 1e-3)
        for name, index in self.bodies.items():
            scale = 1 / np.diag(self.scales[name][0])
            length = scale[0] / scale[3]
            mass = scale[3] ** 2
            sizes[index] = mass * np.array([1] + [length] * 3 + [length**2] * 6)
        return sizes

    def _constraints(self, x: Any, margin: float) -> tuple[dict[str, Any], list[Any]]:
        basis = pseudo_inertia_basis()
        matrices = {}
        for name, index in self.bodies.items():
            scale, has_mass = self.scales[name]
            scaled = np.einsum('ai,ijk,jb->abk', scale, basis, scale)
            body = sum(scaled[:, :, k] * x[int(i)] for k, i in enumerate(index))
            matrices[name] = body >> (margin * np.eye(4) if has_mass else 0)
        others: list[Any] = []
        if len(self.coefficients):
            others.append(x[self.coefficients] >= 0)
        if self.fixed.any():
            others.append(x[np.flatnonzero(self.fixed)] == 0)
        return matrices, others

    def solve(self, matrix: Array, target: Array) -> tuple[Array, Mapping[str, float]]:
        """Minimise |matrix x - target|^2 over physical x; return x and the bodies' duals."""
        cp = _cvxpy()
        y = cp.Variable(len(self.names))
        bodies, others = self._constraints(cp.multiply(self.sizes, y), MARGIN)
        distance = cp.sum_squares((matrix * self.sizes) @ y - target)
        closeness = cp.sum_squares(y - self.nominal / self.sizes)
        objective = cp.Minimize(distance + CLOSENESS * closeness)
        _solve(cp, cp.Problem(objective, [*bodies.values(), *others]))
        duals = {
            name: float(np.abs(np.asarray(constraint.dual_value)).max())
            for name, constraint in bodies.items()
        }
        x = self.sizes * np.asarray(y.value)
        x[self.coefficients] = np.maximum(x[self.coefficients], 0.0)
        x[self.fixed] = 0.0
        return x, duals

    def completed(self, x: Array, matrix: Array, values: Array) -> Array:
        """Give x exactly the estimated base parameters, where it stays physical by that."""
        free = np.where(self.fixed, 0.0, self.sizes)
        step = np.linalg.lstsq(matrix * free, values - matrix @ x, rcond=None)[0]
        moved = x + free * step
        inside = all(
            np.linalg.eigvalsh(pseudo_inertia(moved[index]))[0] > 0 or not self.scales[name][1]
            for name, index in self.bodies.items()
        )
        return moved if inside and (moved[self.coefficients] >= 0).all() else x

    def violations(
        self, duals: Mapping[str, float], matrix: Array, values: Array, names: list[str]
    ) -> tuple[str, ...]:
        """Name negative coefficients and the bodies whose pseudo-inertia is at its limit."""
        found = []
        coefficients = {self.names[i] for i in self.coefficients}
        for name, value, row in zip(names, values, matrix @ self.expand, strict=True):
            alone = np.count_nonzero(row) == 1
            if alone and value < 0 and self.names[int(np.argmax(np.abs(row)))] in coefficients:
                found.append(f'{name} = {value:.4g} is negative')
        largest = max(duals.values(), default=0.0)
        for body, dual in duals.items():
            if dual > ACTIVE * max(1.0, largest):
                found.append(f'{body}: pseudo-inertia is not positive definite')
        return tuple(found)


def _cvxpy() -> Any:
    try:
        import clarabel  # noqa: F401
        import cvxpy
    except ImportError as error:
        raise EstimationError(
            f'the check for physical parameters needs cvxpy and clarabel: {error}'
        ) from error
    return cvxpy


def _solve(cp: Any, problem: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings('ignore', message='Solution may be inaccurate')
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise EstimationError(f'no physical parameters found: {error}') from error
    if problem.status not in ('optimal', 'optimal_inaccurate'):
        raise EstimationError(f'no physical parameters found: solver says {problem.status}')
