"""Standard parameters with exactly given base values that real bodies can have.

Where there are none, an inequality in the base parameters that all real bodies keep and
the given values break says why: the dual of the feasibility problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import EstimationError
from pkm_identification.physical.bodies import MARGIN, PhysicalBodies, import_cvxpy, solve
from pkm_identification.physical.nearest import negative_coefficients

Array = NDArray[np.float64]

SHARE = 1e-4  # of the largest coefficient or multiplier: below it is rounding
BROKEN = 1e-7  # of the sizes of the bodies: a smaller violation is rounding


class Inequality(NamedTuple):
    """sum of coefficients * base parameters >= 0, which every set of real bodies keeps.

    Attributes
    ----------
    coefficients : (rank,)
        The largest is one.
    value : float
        The sum at the given base parameters: negative where they break it.
    bodies : tuple of str
        Bodies whose pseudo-inertias it comes from.
    text : str
    """

    coefficients: Array
    value: float
    bodies: tuple[str, ...]
    text: str


def physical_parameters(base: Any, values: ArrayLike, nominal: ArrayLike | None = None) -> Array:
    """Physical standard parameters (n_p,) with `base.matrix @ p == values`, nearest to `nominal`.

    Distances count in units of each body's mass and size. Bodies that have mass in the
    nominal set are strictly physical (positive definite pseudo-inertia) wherever the
    base parameters leave room for it.

    Parameters
    ----------
    base : BaseParameters
    values : (rank,)
    nominal : (n_p,), optional
        The description's values by default.

    Raises
    ------
    EstimationError
        No real bodies have these base parameters; the message names the inequality that
        they break and its bodies. Or the solver is missing.
    """
    beta = np.asarray(values, dtype=float)
    start = base.standard_parameters(beta, nominal)  # checks the shapes
    space = base.space
    given = base.model.nominal_parameters if nominal is None else nominal
    bodies = PhysicalBodies(base.model, space, np.asarray(given, dtype=float))
    if bodies.contains(space.reduce(start)):
        return np.asarray(start)
    negative = negative_coefficients(bodies, base, beta)
    if negative:
        raise EstimationError(f'no real robot has these base parameters: {"; ".join(negative)}')
    matrix = np.asarray(base.matrix) @ space.expand
    for margin in (MARGIN, 0.0):
        x = _closest(bodies, matrix, beta, margin)
        if x is not None:
            return np.asarray(space.expand @ bodies.completed(x, matrix, beta))
    broken = broken_inequality(base, beta, nominal)
    raise EstimationError(
        f'no real bodies have these base parameters: {broken.text} is {broken.value:.4g}, but '
        f'cannot be negative for the pseudo-inertia of {_listed(broken.bodies)}'
    )


def broken_inequality(base: Any, values: ArrayLike, nominal: ArrayLike | None = None) -> Inequality:
    """Inequality of real bodies that base parameters break most, or keep most narrowly.

    A linear form c in the base parameters holds for all real bodies where it is a sum of
    positive forms in their pseudo-inertias S_b: c . matrix @ p = sum of trace(Z_b S_b)
    with Z_b positive semidefinite. Of these, in units of the bodies' sizes, the one of
    the least value is returned.
    """
    cp = import_cvxpy()
    beta = np.asarray(values, dtype=float)
    space = base.space
    start = None if nominal is None else np.asarray(nominal, dtype=float)
    bodies = PhysicalBodies(base.model, space, start)
    matrix = np.asarray(base.matrix) @ space.expand * bodies.sizes
    length = np.linalg.norm(matrix, axis=1)
    c = cp.Variable(len(matrix))
    forms = {name: cp.Variable((4, 4), PSD=True) for name in bodies.blocks}
    mixture = 0
    total = 0
    for name, form in forms.items():
        basis = bodies.scaled_basis(name).reshape(16, -1).T
        mixture = mixture + basis @ cp.vec(form, order='F')
        total = total + cp.trace(form)
    if len(bodies.coefficients):
        weights = cp.Variable(len(bodies.coefficients), nonneg=True)
        mixture = mixture + np.eye(len(bodies.names))[:, bodies.coefficients] @ weights
        total = total + cp.sum(weights)
    problem = cp.Problem(
        cp.Minimize((beta / length) @ c), [(matrix / length[:, None]).T @ c == mixture, total == 1]
    )
    if not solve(cp, problem):
        raise EstimationError(f'no inequality found: solver says {problem.status}')
    coefficients = np.asarray(c.value) / length
    return _inequality(base, beta, coefficients, {n: f.value for n, f in forms.items()})


def _closest(bodies: PhysicalBodies, matrix: Array, beta: Array, margin: float) -> Array | None:
    """Physical x nearest to the nominal with `matrix @ x == beta`, None where there is none."""
    cp = import_cvxpy()
    y = cp.Variable(len(bodies.names))
    scaled = matrix * bodies.sizes
    length = np.linalg.norm(scaled, axis=1)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(y - bodies.nominal / bodies.sizes)),
        [
            (scaled / length[:, None]) @ y == beta / length,
            *bodies.constraints(cp, y, margin).values(),
        ],
    )
    if not solve(cp, problem):
        return None
    x = bodies.sizes * np.asarray(y.value)
    x[bodies.coefficients] = np.maximum(x[bodies.coefficients], 0.0)
    missed = np.abs(matrix @ x - beta) / length
    return x if missed.max(initial=0.0) < BROKEN else None


def _inequality(base: Any, beta: Array, coefficients: Array, forms: dict[str, Array]) -> Inequality:
    largest = np.abs(coefficients).max()
    coefficients = np.where(np.abs(coefficients) < SHARE * largest, 0.0, coefficients / largest)
    weights = {name: float(np.trace(form)) for name, form in forms.items()}
    heaviest = max(weights.values(), default=0.0)
    involved = tuple(name for name, w in weights.items() if w > 100 * SHARE * heaviest)
    terms = []
    used = np.flatnonzero(coefficients)
    for index in sorted(used, key=lambda index: coefficients[index] < 0):
        value = coefficients[index]
        factor = '' if abs(abs(value) - 1.0) < 10 * SHARE else f'{abs(value):.4g}*'
        terms.append(f'{"-" if value < 0 else "+"} {factor}({base.expressions[index]})')
    text = ' '.join(terms).removeprefix('+ ')
    return Inequality(coefficients, float(coefficients @ beta), involved, text)


def _listed(names: tuple[str, ...]) -> str:
    return ' and '.join(filter(None, (', '.join(names[:-1]), *names[-1:])))
