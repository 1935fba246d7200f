"""Small vectors, rotations and linear systems for the compiled kernels."""

from __future__ import annotations

import math

from pkm_dynamics.kernels.decorator import compiled, inlined

LEAST_ANGLE = 1e-150  # [rad] of a rotation; below it, its square would vanish
LEAST_SINE = 1e-8  # below it, the sine no longer gives the direction of the axis
LEAST_PIVOT = 1e-14  # of a row's elimination: a smaller one is rounding


@inlined
def multiply_into(a, b, out):
    """Out (3, 3) = a b; `out` must be another array than `a` and `b`."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@inlined
def copy_vector(source, out):
    """Out (n,) = source; an assignment of slices would take Numba ten times as long to compile."""
    for i in range(len(source)):
        out[i] = source[i]


@inlined
def copy_matrix(source, out):
    """Out (n, k) = source."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            out[i, j] = source[i, j]


@inlined
def vector_rotation_into(vector, out):
    """Out (3, 3) = exp of the rotation vector (3,)."""
    angle = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    shorter = 1.0 / angle if angle > LEAST_ANGLE else 0.0
    x, y, z = vector[0] * shorter, vector[1] * shorter, vector[2] * shorter
    c, s = math.cos(angle), math.sin(angle)
    t = 1.0 - c
    out[0, 0], out[0, 1], out[0, 2] = t * x * x + c, t * x * y - s * z, t * x * z + s * y
    out[1, 0], out[1, 1], out[1, 2] = t * x * y + s * z, t * y * y + c, t * y * z - s * x
    out[2, 0], out[2, 1], out[2, 2] = t * x * z - s * y, t * y * z + s * x, t * z * z + c


@inlined
def rotation_vector_into(rotation, out):
    """Out (3,) = rotation vector of a rotation (3, 3), angle in [0, pi]."""
    x = 0.5 * (rotation[2, 1] - rotation[1, 2])
    y = 0.5 * (rotation[0, 2] - rotation[2, 0])
    z = 0.5 * (rotation[1, 0] - rotation[0, 1])
    sine = math.sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (rotation[0, 0] + rotation[1, 1] + rotation[2, 2] - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > LEAST_SINE:
        factor = angle / sine
        out[0], out[1], out[2] = factor * x, factor * y, factor * z
    elif cosine > 0.0:
        out[0], out[1], out[2] = x, y, z
    else:
        # Half a turn: the axis from the largest column of R + 1.
        best, column = -1.0, 0
        for j in range(3):
            if rotation[j, j] > best:
                best, column = rotation[j, j], j
        norm = 0.0
        for i in range(3):
            out[i] = rotation[i, column] + (1.0 if i == column else 0.0)
            norm += out[i] ** 2
        for i in range(3):
            out[i] *= angle / math.sqrt(norm)


@compiled
def factor(matrix, n, pivots):
    """LU factors with row pivoting in place; returns the determinant, 0 where singular."""
    determinant = 1.0
    for k in range(n):
        best, row = abs(matrix[k, k]), k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > best:
                best, row = abs(matrix[i, k]), i
        pivots[k] = row
        if best < LEAST_PIVOT:
            return 0.0
        if row != k:
            determinant = -determinant
            for j in range(n):
                matrix[k, j], matrix[row, j] = matrix[row, j], matrix[k, j]
        determinant *= matrix[k, k]
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, n):
            matrix[i, k] *= inverse
            for j in range(k + 1, n):
                matrix[i, j] -= matrix[i, k] * matrix[k, j]
    return determinant


@compiled
def solve(matrix, n, pivots, right):
    """Solve in place for the vector `right` (n,) with the factors of `factor`."""
    for k in range(n):
        row = pivots[k]
        if row != k:
            right[k], right[row] = right[row], right[k]
    for k in range(n):
        for i in range(k + 1, n):
            right[i] -= matrix[i, k] * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]


@compiled
def solve_transposed(matrix, n, pivots, right):
    """Solve the transposed system in place for `right` (n,)."""
    for k in range(n):
        for j in range(k):
            right[k] -= matrix[j, k] * right[j]
        right[k] /= matrix[k, k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            right[k] -= matrix[i, k] * right[i]
    for k in range(n - 1, -1, -1):
        row = pivots[k]
        if row != k:
            right[k], right[row] = right[row], right[k]
