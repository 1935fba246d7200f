"""The convex set of standard parameters that real bodies can have.

A body is physical where its pseudo-inertia [[tr(I)/2 1 - I, mc], [mc^T, m]] is positive
definite: it implies m > 0, a positive definite inertia about the centre of mass and the
triangle inequality. Friction and rotor coefficients must not be negative.
"""

from __future__ import annotations

import numpy as np

from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.groups import ParameterSpace, group_name
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia, pseudo_inertia_basis
from pkm_dynamics.parameters.standard_parameters import body_indices, parameter_scales
from pkm_identification.arrays import Array

PROJECTIONS = 100  # in turn, after which sets that share something are as good as met
LEAST_EIGENVALUE = 1e-6  # least eigenvalue of the scaled pseudo-inertia of a body with mass


class PhysicalBodies:
    """Physical values of the free parameters x (n_g,), with p = space.expand @ x.

    `sizes` are what counts as one unit of distance from the `nominal` values, `blocks` give the ten
    standard parameters from x (10, n_g) of each body that can have mass, bodies of one design once,
    `coefficients` are indices in x of friction and rotor coefficients (forces of drives by position
    may have any sign). `faces` are orthonormal columns (4, k) that the scaled pseudo-inertia of
    each body lives on: all four directions, but for points and rods whose width is declared zero.
    `flat` are combinations (k, n_g) of y = x / sizes that are zero for all of these that can exist
    (Ixx = Iyy where Izz is zero). `massive` are the bodies with mass in the nominal set.
    """

    def __init__(self, model: DynamicModel, space: ParameterSpace) -> None:
        values = np.asarray(model.nominal_parameters, dtype=float)
        self.names = space.labels
        self.nominal = space.reduce(values)
        self.sizes = space.reduce(parameter_scales(model, values))
        self.blocks = _blocks(model, space)
        self.coefficients = np.flatnonzero([kind in ('friction', 'rotor') for kind in space.kinds])
        masses = {name: float(block[0] @ self.nominal) for name, block in self.blocks.items()}
        self.massive = [name for name, mass in masses.items() if mass > 0]
        typical = float(np.median([masses[name] for name in self.massive] or [1.0]))
        self._scales = {
            name: _scale(block @ self.nominal, masses[name] if masses[name] > 0 else typical)
            for name, block in self.blocks.items()
        }
        flat = [np.zeros((0, len(self.names)))]
        self.faces = {}
        for name in self.blocks:
            self.faces[name], missing = _face(self.scaled_basis(name))
            flat.append(missing)
        self.flat = np.concatenate(flat)
        # what can have no mass, as a ring of a universal joint, has no matrix to look at
        self.blocks = {name: b for name, b in self.blocks.items() if self.faces[name].size}
        self.massive = [name for name in self.massive if name in self.blocks]

    def size_coefficients(self, x: Array) -> None:
        """Let the sizes of coefficients be no smaller than x: descriptions may not know them."""
        own = self.coefficients
        self.sizes[own] = np.maximum(self.sizes[own], np.abs(x[own]))

    def scaled_basis(self, body: str) -> Array:
        """Scaled pseudo-inertia (4, 4, n_g) of a body from y = x / sizes."""
        scale = self._scales[body]
        basis = np.einsum('ai,ijk,jb->abk', scale, pseudo_inertia_basis(), scale)
        return np.asarray(basis @ (self.blocks[body] * self.sizes))

    def scaled_pseudo_inertia(self, body: str, x: Array) -> Array:
        """Scaled pseudo-inertia (k, k) of a body on its face."""
        return self.forms(body) @ (x / self.sizes)

    def forms(self, body: str) -> Array:
        """Scaled pseudo-inertia (k, k, n_g) of a body on its face from y = x / sizes."""
        face = self.faces[body]
        return np.einsum('ai,abk,bj->ijk', face, self.scaled_basis(body), face)

    def relative_forms(self, x: Array) -> list[Array]:
        """Pseudo-inertia (k, k, n_g) from y of each body with nominal mass, over that at x."""
        found = []
        for name in self.massive:
            root = np.linalg.inv(np.linalg.cholesky(self.scaled_pseudo_inertia(name, x)))
            found.append(np.einsum('ai,ijk,bj->abk', root, self.forms(name), root))
        return found

    def completed(self, x: Array, matrix: Array, values: Array) -> Array:
        """Give x exactly `matrix @ x == values`, where it stays physical by that."""
        moved = x
        rows = np.concatenate([matrix * self.sizes, self.flat])
        for _ in range(2):
            left = np.concatenate([values - matrix @ moved, np.zeros(len(self.flat))])
            change = np.linalg.lstsq(rows, left, rcond=None)[0]
            moved = moved + self.sizes * change
        return moved if self.contains(moved) else x

    def contains(self, x: Array, massless: bool = False) -> bool:
        """Whether bodies with nominal mass (`massless`: all) and coefficients are physical."""
        names = self.blocks if massless else self.massive
        inside = all(self.smallest_eigenvalue(name, x) > 0 for name in names)
        return bool(inside and (x[self.coefficients] >= 0).all())

    def smallest_eigenvalue(self, body: str, x: Array) -> float:
        """Smallest eigenvalue of a body's scaled pseudo-inertia on its face."""
        return float(np.linalg.eigvalsh(self.scaled_pseudo_inertia(body, x))[0])


def _scale(p: Array, mass: float) -> Array:
    """Scaling (4, 4) that makes a body with parameters p (10,) of the order of one."""
    spread = max(float(np.trace(pseudo_inertia(p)[:3, :3])), 0.0) / mass
    length = np.sqrt(spread) if spread > 0 else 0.1
    return np.diag([1 / length] * 3 + [1.0]) / np.sqrt(mass)


def _face(basis: Array) -> tuple[Array, Array]:
    """Directions that matrices `basis @ y` live on where they are positive semidefinite.

    An orthonormal basis (4, k), and rows (q, n_g) that are zero for all such y. A positive
    semidefinite Z to which all matrices are orthogonal takes its range from the directions
    (facial reduction [Borwein and Wolkowicz 1981]).
    """
    face, rows = np.eye(4), []
    while face.shape[1]:
        forms = np.einsum('ai,abk,bj->ijk', face, basis, face)
        spread, axes = np.linalg.eigh(_orthogonal(forms))
        outside = spread > 1e-6
        if not outside.any():
            break
        rows.append(
            np.einsum('ai,abk->ibk', face @ axes[:, outside], basis).reshape(-1, basis.shape[2])
        )
        face = face @ axes[:, ~outside]
    found = np.concatenate(rows) if rows else np.zeros((0, basis.shape[2]))
    _, singular, right = np.linalg.svd(found, full_matrices=False)
    return face, right[singular > 1e-9 * max(float(singular.max(initial=0.0)), 1e-300)]


def _orthogonal(forms: Array) -> Array:
    """Positive semidefinite matrix (k, k) of trace one that all forms (k, k, n) are orthogonal to.

    Zero where there is none. By projections onto the two sets in turn.
    """
    size = len(forms)
    flat = forms.reshape(size * size, -1)
    left, singular, _ = np.linalg.svd(flat, full_matrices=False)
    shown = left[:, singular > 1e-12 * max(float(singular.max(initial=0.0)), 1e-300)]
    matrix = np.eye(size) / size
    for _ in range(PROJECTIONS):
        matrix = (matrix.ravel() - shown @ (shown.T @ matrix.ravel())).reshape(size, size)
        spread, axes = np.linalg.eigh(matrix)
        if spread[-1] < 1e-9:
            return np.zeros((size, size))
        matrix = (axes * np.maximum(spread, 0.0)) @ axes.T
        matrix /= np.trace(matrix)
    off = float(np.abs(shown.T @ matrix.ravel()).max(initial=0.0))
    return matrix if off < 1e-9 else np.zeros((size, size))


def _blocks(model: DynamicModel, space: ParameterSpace) -> dict[str, Array]:
    alike: dict[bytes, list[str]] = {}
    for name, index in body_indices(list(model.parameter_names)).items():
        alike.setdefault(space.expand[index].tobytes(), []).append(name)
    width = len(space.labels)
    return {
        group_name(tuple(names)): np.frombuffer(content).reshape(10, width)
        for content, names in alike.items()
    }
