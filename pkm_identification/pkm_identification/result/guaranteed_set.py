"""Sets that hold the parameters for certain, as far as bounds on the errors hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from pkm_identification.result.fields import Fields

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GuaranteedSet:
    """An ellipsoid {p: (p - c)^T M (p - c) <= 1} of base parameters, M = R^T R.

    Attributes
    ----------
    centre
        All base parameters (r,); those that are fixed are exact.
    root
        Upper triangular R (f, f) over the free parameters.
    free
        Their indices (f,) in `centre`.
    """

    centre: Array
    root: Array
    free: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check, copy and freeze the arrays."""
        arrays = {
            'centre': np.array(self.centre, dtype=float),
            'root': np.array(self.root, dtype=float),
            'free': np.array(self.free, dtype=np.int64),
        }
        size = len(arrays['free'])
        if arrays['root'].shape != (size, size):
            raise ValueError(f'root has shape {arrays["root"].shape}, expected ({size}, {size})')
        inside = (arrays['free'] >= 0) & (arrays['free'] < len(arrays['centre']))
        if not inside.all() or len(np.unique(arrays['free'])) != size:
            raise ValueError('free parameters must be different indices of the centre')
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError('the set holds a number that is not finite')
        if (np.diag(arrays['root']) == 0).any():
            raise ValueError('the set is not bounded: its root is singular')
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def shape(self) -> Array:
        """M (f, f) of the free parameters."""
        return self.root.T @ self.root

    @property
    def inverse(self) -> Array:
        """M^-1 (f, f) of the free parameters."""
        inverse = solve_triangular(self.root, np.eye(len(self.root)))
        return np.asarray(inverse @ inverse.T)

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

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume, in the product of the parameters' units."""
        size = len(self.root)
        ball = 0.5 * size * np.log(np.pi) - gammaln(0.5 * size + 1)
        return float(ball + 0.5 * self.log_determinant)

    def half_axes(self, scale: ArrayLike | None = None) -> tuple[Array, Array]:
        """Half-axes of the set.

        Parameters
        ----------
        scale
            Unit (f,) of each free parameter; None: its SI unit, so that lengths of
            parameters with other units are mixed.

        Returns
        -------
        lengths, directions
            (f,), longest first, in units of `scale`; directions (f, f), one a row.
        """
        units = np.ones(len(self.root)) if scale is None else np.asarray(scale, dtype=float)
        _, singular, right = np.linalg.svd(self.root * units)
        return 1 / singular[::-1], right[::-1]

    def contains(self, values: ArrayLike, tolerance: float = 0.0) -> bool:
        """Whether parameters (r,) lie in the set; fixed ones are not looked at."""
        return self.distance(values) <= 1 + tolerance

    def distance(self, values: ArrayLike) -> float:
        """Return sqrt((p - c)^T M (p - c)): 1 on the surface of the set."""
        off = (np.asarray(values, dtype=float) - self.centre)[self.free]
        return float(np.linalg.norm(self.root @ off))

    def force_half_widths(self, regressor: Array) -> Array:
        """Half the range sqrt(d^T M^-1 d) [N, N m] of the forces that the set makes [P eq. 37].

        Parameters
        ----------
        regressor
            Of all base parameters (..., r).

        Returns
        -------
        (...)
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
