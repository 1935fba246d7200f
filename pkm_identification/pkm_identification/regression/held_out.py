"""Normal equations of parts of a recording, and what they say of parts that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.regression.numerics import inverse_square
from pkm_identification.regression.run import Run

PASSES = 3  # of weights from residuals: they hardly change after the second
SINGULAR = 1e-12  # of the largest eigenvalue of the scaled square: double precision ends there
LEAST_FORCE = 1e-9  # of the largest axis' power: less is no force
LEAST_RESIDUAL = 1e-12  # of the forces' power, in data without noise
CONSTANT = 1e-12  # of the forces' power: a spread below it is rounding of one value


@dataclass(frozen=True)
class Parts:
    """Normal equations of k parts of the rows of some runs, axis by axis."""

    square: Array  # (k, n_a, f, f)
    mixed: Array  # (k, n_a, f)
    power: Array  # (k, n_a), sums of the squared forces
    total: Array  # (k, n_a), sums of the forces
    count: Array  # (k,) rows

    @property
    def spread(self) -> Array:
        """Sum of squares (n_a,) of the forces about their mean; about zero where they are one."""
        mean = self.total.sum(axis=0) ** 2 / max(self.count.sum(), 1.0)
        found = self.power.sum(axis=0) - mean
        return np.where(found > CONSTANT * self.size, found, self.size)

    @property
    def size(self) -> Array:
        """Sum of squares (n_a,) of the forces; of an axis without any a share of the largest."""
        power = self.power.sum(axis=0)
        return np.maximum(power, LEAST_FORCE * (float(power.max()) or 1.0))

    def errors(self, values: Array) -> Array:
        """Sum of the squared residuals (k, n_a) with values (f,), or (k, f) for each part."""
        each = np.broadcast_to(values, (len(self.count), values.shape[-1]))
        bent = np.einsum('kaij,kj->kai', self.square, each) - 2 * self.mixed
        return np.maximum(self.power + np.einsum('kai,ki->ka', bent, each), 0.0)

    def mean_errors(self, values: Array) -> Array:
        """Mean square residuals (k, n_a), as `errors`; zero where there are no rows."""
        return self.errors(values) / np.maximum(self.count, 1.0)[:, None]

    def held_out_values(self) -> tuple[Array, Array]:
        """Weighted least squares without each part (k, f), and the weights (n_a,) of the axes."""
        rows, size = self.count.sum(), self.size
        weights = rows / size
        for _ in range(PASSES):
            values = self.values(weights)
            residual = self.errors(values).sum(axis=0)
            weights = rows / np.maximum(residual, LEAST_RESIDUAL * size)
        square = np.einsum('a,kaij->kij', weights, self.square)
        mixed = np.einsum('a,kai->ki', weights, self.mixed)
        return solved(square.sum(axis=0) - square, mixed.sum(axis=0) - mixed), weights

    def values(self, weights: Array) -> Array:
        """Weighted least squares (f,) of all parts."""
        square = np.einsum('a,kaij->ij', weights, self.square)
        return solved(square, np.einsum('a,kai->i', weights, self.mixed))


def part_counts(durations: Sequence[float], count: int) -> list[int]:
    """Parts of recordings by their durations, about so many together, at least one each."""
    shares = np.array(durations) / np.sum(durations)
    return [int(each) for each in np.maximum(1, np.round(count * shares))]


def parts(
    runs: Sequence[Run],
    counts: Sequence[int],
    margins: Sequence[float] | None = None,
    targets: Sequence[Array] | None = None,
) -> tuple[Parts, Parts]:
    """Divide filtered runs into so many parts of equal time each (`part_counts`).

    Parts of the same recordings are the same times, whatever the band. `margins` are shares of the
    runs at either end that give no rows. The second ones have other forces: `targets` (n, n_a) at
    the samples of each run, in place of the filtered ones; without any they are the same.
    """
    margins = margins or [0.0] * len(runs)
    sums = [
        _sums(run, margin, int(each), None if targets is None else targets[i])
        for i, (run, margin, each) in enumerate(zip(runs, margins, counts, strict=True))
    ]
    square, rows_of, *others = (np.concatenate(each) for each in zip(*sums, strict=True))
    mixed, power, total, *of_targets = others
    return (
        Parts(square, mixed, power, total, rows_of),
        Parts(square, of_targets[0], of_targets[1], of_targets[2], rows_of),
    )


def _sums(run: Run, margin: float, count: int, target: Array | None) -> tuple[Array, ...]:
    """Sums of one run in parts of equal time: square, rows; mixed, power and total of each."""
    axes, free = run.axes, len(run.selection.free)
    square, rows_of = np.zeros((count, axes, free, free)), np.zeros(count)
    kinds = 1 if target is None else 2  # of forces: filtered ones and targets
    mixed, power, total = (np.zeros((kinds, count, axes, *more)) for more in ((free,), (), ()))
    samples = len(run.signals)
    index = run.filter.row_samples(samples)
    time = (index / samples - margin) / (1 - 2 * margin)
    part = np.clip((time * count).astype(int), 0, count - 1)
    passed = 0
    for rows in run.blocks():
        here, own = (each[passed : passed + len(rows)] for each in (part, index))
        passed += len(rows)
        held_against = [rows.forces]
        if target is not None:
            held_against.append(target[own] - rows.fixed @ run.selection.values)
        for k in np.unique(here):
            design = np.moveaxis(rows.regressor[here == k], 1, 0)
            square[k] += np.swapaxes(design, 1, 2) @ design
            rows_of[k] += design.shape[1]
            for which, of_rows in enumerate(held_against):
                forces = of_rows[here == k].T
                mixed[which, k] += np.einsum('ami,am->ai', design, forces)
                power[which, k] += np.sum(forces**2, axis=1)
                total[which, k] += np.sum(forces, axis=1)
    return (square, rows_of, mixed[0], power[0], total[0], mixed[-1], power[-1], total[-1])


def solved(square: Array, mixed: Array) -> Array:
    """Least squares (..., f) from normal equations; what they do not show stays zero."""
    return np.asarray((inverse_square(square, SINGULAR) @ mixed[..., None])[..., 0])
