"""Standard parameters that real bodies can have, nearest to an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia
from pkm_dynamics.parameters.standard_parameters import body_indices
from pkm_identification.arrays import Array
from pkm_identification.physical.bodies import LEAST_EIGENVALUE, PhysicalBodies
from pkm_identification.physical.cone_least_squares import least_squares
from pkm_identification.physical.cone_program import matrix_of, physical_rows
from pkm_identification.regression.numerics import whitening_rows

CLOSENESS = 1e-6  # weight of the distance from the nominal bodies: moves no estimate
DISTANCE_TOLERANCE = 1e-4  # squared distance, in standard deviations, that counts as none
RESOLUTION = 1e-6  # relative accuracy of a parameter that is known without noise
SMALLEST_SPREAD = 1e-12  # relative variance below which a direction counts as this well known
LEAST_P_VALUE = 1e-3  # below this the nearest physical model contradicts the data
ACTIVE_LIMIT = 1e-3  # squared standard deviations that a limit costs, or it is not named


@dataclass(frozen=True)
class ConsistentParameters:
    """The physically consistent standard parameters nearest to an estimate."""

    standard_parameters: Array  # (n_p,) in the order of `model.parameter_names`; physical
    distance: float = 0.0  # Mahalanobis distance of its base parameters from the estimate
    # Probability of at least that distance if the true robot is physical (chi-squared with the
    # number of parameters: an upper bound); small means a contradiction
    p_value: float = 1.0
    is_physical: bool = True  # whether the estimate itself has a physical completion
    violations: tuple[str, ...] = ()  # bodies and coefficients that keep it from being physical


def smallest_eigenvalues(model: ClosedChainModel, standard_parameters: Array) -> dict[str, float]:
    """Return the smallest eigenvalue of each body's pseudo-inertia, by link name."""
    bodies = body_indices(model.parameter_names)
    return {
        name: float(np.linalg.eigvalsh(pseudo_inertia(standard_parameters[index]))[0])
        for name, index in bodies.items()
    }


def nearest_consistent(
    values: Array, covariance: Array, base: BaseParameters
) -> ConsistentParameters:
    """Find the physical standard parameters nearest to an estimate of the base parameters.

    The squared Mahalanobis distance of the base parameters is minimised, from values (r,) with a
    covariance (r, r) in which infinite variances do not count. Among equally good bodies a small
    weight picks those nearest to the nominal ones; it moves the base parameters by less than a
    hundredth of a standard deviation. EstimationError where the solver is missing or finds no
    solution.
    """
    space = base.space
    bodies = PhysicalBodies(base.model, space)
    root, target = _whitening(values, covariance, base)
    matrix = np.asarray(base.matrix) @ space.expand
    change = np.linalg.lstsq(matrix * bodies.sizes, values - matrix @ bodies.nominal, rcond=None)[0]
    bodies.size_coefficients(bodies.nominal + bodies.sizes * change)
    x, duals = _nearest(bodies, root @ matrix, target)
    distance = float(np.sum((root @ matrix @ x - target) ** 2))
    is_physical = distance <= DISTANCE_TOLERANCE
    if is_physical:
        known = np.isfinite(np.diag(covariance))
        x = bodies.completed(x, matrix[known], np.asarray(values)[known])
    violations = () if is_physical else _violations(bodies, duals, base, np.asarray(values))
    return ConsistentParameters(
        standard_parameters=space.expand @ x,
        distance=float(np.sqrt(distance)),
        p_value=float(chdtrc(len(values), distance)),
        is_physical=is_physical,
        violations=violations,
    )


def _nearest(
    bodies: PhysicalBodies, matrix: Array, target: Array
) -> tuple[Array, dict[str, float]]:
    """Minimise |matrix x - target|^2 over physical x; return x and the bodies' largest duals."""
    count = len(bodies.names)
    nominal = bodies.nominal / bodies.sizes
    turn, stretch, axes = np.linalg.svd(matrix * bodies.sizes, full_matrices=False)
    left = turn.T @ (target - matrix @ bodies.nominal)
    design = np.concatenate([stretch[:, None] * axes, np.sqrt(CLOSENESS) * np.eye(count)])
    aim = design @ nominal + np.concatenate([left, np.zeros(count)])
    found = least_squares(design, aim, physical_rows(bodies, LEAST_EIGENVALUE), nominal)
    if found.solver is None:
        raise EstimationError('no physical parameters found: nothing is near the nominal bodies')
    x = bodies.sizes * found.y
    x[bodies.coefficients] = np.maximum(x[bodies.coefficients], 0.0)
    duals = dict(zip(bodies.blocks, found.duals, strict=False))
    return x, {name: float(np.abs(matrix_of(z)).max()) for name, z in duals.items()}


def _whitening(values: Array, covariance: Array, base: BaseParameters) -> tuple[Array, Array]:
    """Return R and R p with |R (p - p')| the Mahalanobis distance of determined parameters."""
    known = np.isfinite(np.diag(covariance))
    nominal = np.abs(np.asarray(base.matrix)) @ np.abs(base.model.nominal_parameters)
    size = RESOLUTION * np.maximum(np.maximum(np.abs(values), nominal), RESOLUTION)
    block = covariance[np.ix_(known, known)] + np.diag(size[known] ** 2)
    full = np.zeros((int(known.sum()), len(values)))
    full[:, known] = whitening_rows(block, SMALLEST_SPREAD)
    return full, full @ values


def _violations(
    bodies: PhysicalBodies, duals: Mapping[str, float], base: BaseParameters, values: Array
) -> tuple[str, ...]:
    """Name negative coefficients and the bodies whose pseudo-inertia is at its limit."""
    found = []
    coefficients = {bodies.names[i] for i in bodies.coefficients}
    rows = np.asarray(base.matrix) @ base.space.expand
    for name, value, row in zip(base.names, values, rows, strict=True):
        alone = np.count_nonzero(row) == 1
        if alone and value < 0 and bodies.names[int(np.argmax(np.abs(row)))] in coefficients:
            found.append(f'{name} = {value:.4g} is negative')
    least = ACTIVE_LIMIT * max([1.0, *duals.values()])
    found += [
        f'{body}: pseudo-inertia is not positive definite'
        for body, dual in duals.items()
        if dual > least
    ]
    return tuple(found)
