"""Sets that hold the parameters for certain, as far as bounds on the errors hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from pkm_identification.arrays import Array, Indices, freeze
from pkm_identification.result.fields import Fields


@dataclass(frozen=True)
class GuaranteedSet:
    """An ellipsoid {p: (p - c)^T M (p - c) <= 1} of base parameters, M = R^T R."""

    centre: Array  # all base parameters (r,); those that are fixed are exact
    root: Array  # upper triangular R (f, f) over the free parameters
    free: Indices  # their indices (f,) in `centre`

    def __post_init__(self) -> None:
        """Check, copy and freeze the arrays."""
        freeze(self, 'centre', 'root')
        free = np.array(self.free, dtype=np.int64)
        free.setflags(write=False)
        object.__setattr__(self, 'free', free)
        size = len(free)
        if self.root.shape != (size, size):
            raise ValueError(f'root has shape {self.root.shape}, expected ({size}, {size})')
        inside = (free >= 0) & (free < len(self.centre))
        if not inside.all() or len(np.unique(free)) != size:
            raise ValueError('free parameters must be different indices of the centre')
        if not (np.isfinite(self.centre).all() and np.isfinite(self.root).all()):
            raise ValueError('the set holds a number that is not finite')
        if (np.diag(self.root) == 0).any():
            raise ValueError('the set is not bounded: its root is singular')

    @property
    def half_widths(self) -> Array:
        """Half the extent (r,) of the set along each parameter; zero for fixed ones."""
        widths = np.zeros(len(self.centre))
        inverse = solve_triangular(self.root, np.eye(len(self.root)))
        widths[self.free] = np.linalg.norm(inverse, axis=1)
        return widths

    @property
    def intervals(self) -> Array:
        """Least and largest value (r, 2) of each parameter in the set."""
        widths = self.half_widths
        return np.column_stack([self.centre - widths, self.centre + widths])

    @property
    def log_determinant(self) -> float:
        """Natural logarithm of det M^-1, the figure of [P] Table I."""
        return float(-2 * np.sum(np.log(np.abs(np.diag(self.root)))))

    def half_axes(self, scale: ArrayLike | None = None) -> tuple[Array, Array]:
        """Half-axes of the set: lengths (f,), longest first, and directions (f, f), one a row.

        In units (f,) of each free parameter (`scale`); None: its SI unit, so that lengths of
        parameters with other units are mixed.
        """
        units = np.ones(len(self.root)) if scale is None else np.asarray(scale, dtype=float)
        _, singular, right = np.linalg.svd(self.root * units)
        return 1 / singular[::-1], right[::-1]

    def distance(self, values: ArrayLike) -> float:
        """Return sqrt((p - c)^T M (p - c)): 1 on the surface of the set."""
        off = (np.asarray(values, dtype=float) - self.centre)[self.free]
        return float(np.linalg.norm(self.root @ off))

    def force_half_widths(self, regressor: Array) -> Array:
        """Half the range sqrt(d^T M^-1 d) [N, N m] of the forces that the set makes [P eq. 37].

        (...) of the regressor (..., r) of all base parameters.
        """
        rows = regressor[..., self.free]
        flat = rows.reshape(-1, len(self.free))
        across = solve_triangular(self.root, flat.T, trans='T')
        return np.asarray(np.linalg.norm(across, axis=0)).reshape(rows.shape[:-1])

    def to_mapping(self, names: list[str]) -> dict[str, Any]:
        """Return the entries of a model file, with the names (r) of the base parameters."""
        return {
            'parameters': [
                {'name': names[i], 'least': low, 'most': high}
                for i, (low, high) in enumerate(self.intervals)
            ],
            'free': [names[i] for i in self.free],
            'centre': self.centre,
            'root': self.root,
        }

    @classmethod
    def from_fields(cls, given: Fields, names: list[str]) -> GuaranteedSet:
        """Read what `to_mapping` gave; a ValueError names what is malformed."""
        free = given.names('free')
        unknown = [name for name in free if name not in names]
        if unknown:
            raise ValueError(f"'{given.path('free')}' names the unknown parameter '{unknown[0]}'")
        centre = given.numbers('centre', (len(names),), finite=True)
        root = given.numbers('root', (len(free), len(free)), finite=True)
        try:
            return cls(centre, root, np.array([names.index(name) for name in free], np.int64))
        except ValueError as error:
            raise ValueError(f"'{given.where}': {error}") from error
