"""Numbers with their first and second time derivatives, by the rules of differentiation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Jet:
    """Value, velocity and acceleration, arrays of one shape."""

    value: np.ndarray
    rate: np.ndarray | float = 0.0
    bend: np.ndarray | float = 0.0
    __array_ufunc__ = None  # arrays leave arithmetic with jets to the methods here

    def __add__(self, other):
        other = as_jet(other)
        return Jet(self.value + other.value, self.rate + other.rate, self.bend + other.bend)

    def __neg__(self):
        return Jet(-self.value, -self.rate, -self.bend)

    def __sub__(self, other):
        return self + -as_jet(other)

    def __mul__(self, other):
        other = as_jet(other)
        return Jet(
            self.value * other.value,
            self.rate * other.value + self.value * other.rate,
            self.bend * other.value + 2.0 * self.rate * other.rate + self.value * other.bend,
        )

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return as_jet(other) - self

    def __truediv__(self, other):
        v = as_jet(other)
        return self * v._mapped(1.0 / v.value, -1.0 / v.value**2, 2.0 / v.value**3)

    def _mapped(self, f, f1, f2):
        return Jet(f, f1 * self.rate, f2 * self.rate**2 + f1 * self.bend)

    def sqrt(self):
        root = np.sqrt(self.value)
        return self._mapped(root, 0.5 / root, -0.25 / root**3)

    def sin(self):
        return self._mapped(np.sin(self.value), np.cos(self.value), -np.sin(self.value))

    def cos(self):
        return self._mapped(np.cos(self.value), -np.sin(self.value), -np.cos(self.value))


def as_jet(value):
    """A constant stands still."""
    return value if isinstance(value, Jet) else Jet(np.asarray(value, dtype=float))


def atan2(y, x):
    """Angle of the point (x, y)."""
    turn, square = x.value * y.rate - y.value * x.rate, x.value**2 + y.value**2
    change = x.value * y.bend - y.value * x.bend
    growth = 2.0 * (x.value * x.rate + y.value * y.rate)
    return Jet(
        np.arctan2(y.value, x.value), turn / square, change / square - turn * growth / square**2
    )


def asin(y):
    """Angle whose sine is y."""
    return atan2(y, (1.0 - y * y).sqrt())


def dot(a, b):
    """Scalar product of two vectors of jets."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """Vector product of two vectors of jets."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def turned(axis, angle, vector):
    """A vector of jets turned about a base axis (0, 1, 2) by an angle."""
    c, s = angle.cos(), angle.sin()
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out = list(vector)
    out[j], out[k] = c * vector[j] - s * vector[k], s * vector[j] + c * vector[k]
    return out
