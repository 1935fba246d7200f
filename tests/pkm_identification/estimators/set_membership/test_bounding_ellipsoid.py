"""One strip at a time: against minimisation, sampling, known ellipses and the plain form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from pkm_identification.estimators.set_membership.bounding_ellipsoid import bound, optimal_weight


def plain_update(shape, centre, row, middle, weight):
    """Normal equations as [P eq. 30] prints them (with the new centre on both sides of N)."""
    alpha = 1 / (1 + weight)
    new = alpha * shape + (1 - alpha) * np.outer(row, row)
    moved = np.linalg.solve(new, alpha * shape @ centre + (1 - alpha) * row * middle)
    delta = alpha * centre @ shape @ centre + (1 - alpha) * middle**2 - moved @ new @ moved
    return new / (1 - delta), moved


def take(root, centre, rows, middles, width=1.0, cut=False):
    """Return a new ellipsoid, what missed, and how many strips helped."""
    root, centre = root.copy(), centre.copy()
    missed = np.zeros(len(rows), dtype=bool)
    widths = np.full(len(rows), width)
    used = bound(root, centre, np.atleast_2d(rows), np.asarray(middles), widths, cut, missed)
    return root, centre, missed, used


def some_ellipsoid(random, size):
    """Return a root, a centre and points inside."""
    root = np.triu(random.normal(size=(size, size))) + 2 * np.eye(size)
    centre = random.normal(size=size)
    ball = random.normal(size=(4000, size))
    ball *= (random.uniform(size=4000) ** (1 / size) / np.linalg.norm(ball, axis=1))[:, None]
    return root, centre, centre + np.linalg.solve(root, ball.T).T


@pytest.mark.parametrize('size', [1, 2, 5, 24])
def test_weight_minimises_the_volume(size):
    random = np.random.default_rng(size)
    for _ in range(40):
        spread = float(np.exp(random.uniform(-1, 5)))
        miss = float(random.uniform(-1, 1) * (1 + 0.9 * np.sqrt(spread)))

        def volume(weight, miss=miss, spread=spread):
            left = 1 + weight - weight * miss**2 / (1 + weight * spread)
            return size * np.log(left) - np.log1p(weight * spread)

        found = optimal_weight(size, miss, spread)
        searched = minimize_scalar(
            lambda log: volume(np.exp(log)),
            bounds=(-25, 25),
            method='bounded',
            options={'xatol': 1e-10},
        )
        assert volume(found) <= min(searched.fun, 0.0) + 1e-9
        if found == 0:  # no weight makes it smaller: the volume does not fall at zero
            assert size * (1 - miss**2) >= spread
        elif size == 1:  # the strip replaces the interval: the more weight, the better
            assert found > 1e9 or volume(found) <= volume(2 * found)
        else:
            rise = 1 - miss**2 / (1 + found * spread) ** 2  # of what stands in the logarithm
            left = 1 + found - found * miss**2 / (1 + found * spread)
            terms = size * rise / left, spread / (1 + found * spread)
            assert terms[0] == pytest.approx(terms[1], rel=1e-7)


@pytest.mark.parametrize('cut', [False, True])
@pytest.mark.parametrize('size', [1, 2, 5])
def test_nothing_of_the_common_set_is_lost(size, cut):
    random = np.random.default_rng(10 * size + cut)
    for _ in range(20):
        root, centre, points = some_ellipsoid(random, size)
        row = random.normal(size=size) * 3
        middle = float(points[0] @ row + random.uniform(-1, 1))
        new_root, new_centre, missed, used = take(root, centre, [row], [middle], cut=cut)
        assert not missed[0]
        kept = points[np.abs(points @ row - middle) <= 1]
        assert np.linalg.norm((kept - new_centre) @ new_root.T, axis=1).max() <= 1 + 1e-7
        volume = np.abs(np.prod(np.diag(root)) / np.prod(np.diag(new_root)))
        assert volume < 1 if used else volume == 1


def test_square_root_form_is_the_plain_form():
    random = np.random.default_rng(3)
    for _ in range(20):
        root, centre, points = some_ellipsoid(random, 4)
        row = random.normal(size=4) * 4
        middle = float(points[0] @ row + 0.5)
        across = np.linalg.solve(root.T, row)
        weight = optimal_weight(4, float(middle - row @ centre), float(across @ across))
        shape, moved = plain_update(root.T @ root, centre, row, middle, weight)
        new_root, new_centre, _, _ = take(root, centre, [row], [middle])
        np.testing.assert_allclose(new_root.T @ new_root, shape, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(new_centre, moved, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('size', [2, 3, 6])
def test_parallel_cuts_give_the_known_smallest_ellipsoids(size):
    """Unit ball cut by |x| <= b < n^-1/2, and by the half space x >= 0."""
    half = 0.6 / np.sqrt(size)
    first = np.eye(size)[0]
    root, centre, _, _ = take(np.eye(size), np.zeros(size), [first / half], [0.0])
    lengths = 1 / np.linalg.svd(root, compute_uv=False)
    wide = np.sqrt((1 - half**2) * size / (size - 1))
    np.testing.assert_allclose(np.sort(lengths), [half * np.sqrt(size), *[wide] * (size - 1)])
    np.testing.assert_allclose(centre, 0, atol=1e-12)
    # |x - 1000| <= 1000 leaves x >= 0: the central cut of the ellipsoid method
    root, centre, _, _ = take(np.eye(size), np.zeros(size), [first / 1000], [1.0], cut=True)
    lengths = np.sort(1 / np.linalg.svd(root, compute_uv=False))
    np.testing.assert_allclose(centre, first / (size + 1), atol=1e-9)
    known = [size / (size + 1), *[size / np.sqrt(size**2 - 1)] * (size - 1)]
    np.testing.assert_allclose(lengths, known, rtol=1e-9)


def test_plain_form_loses_positive_definiteness_where_the_square_root_form_does_not():
    """Regressors of nearly one direction, as of slow motions: the other is bounded by the start.

    Where the plain form breaks is a matter of rounding, which no two processors share.
    """
    truth = np.array([1.0, -2.0, 0.5])
    broken = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        rows = np.array([1.0, 1.0, 0.0]) + 1e-6 * random.normal(size=(300, 3))
        rows *= 1e5 * random.uniform(0.5, 2.0, size=(300, 1))
        middles = rows @ truth + random.uniform(-1, 1, size=300)
        root, centre = np.eye(3) / 1e4, np.zeros(3)
        broken += plain_form_breaks(root.T @ root, centre, rows, middles)
        root, centre, missed, used = take(root, centre, rows, middles)
        assert used > 10 and not missed.any()
        assert np.isfinite(root).all() and np.abs(np.diag(root)).min() > 0
        assert np.linalg.norm(root @ (truth - centre)) <= 1
    print('broken', broken)
    assert broken >= 5


def plain_form_breaks(shape, centre, rows, middles):
    """Whether the matrix of the ellipsoid loses its positive definiteness."""
    try:
        for row, middle in zip(rows, middles, strict=True):
            half = np.linalg.solve(np.linalg.cholesky(shape), row)
            weight = optimal_weight(3, float(middle - row @ centre), float(half @ half))
            if weight > 0:
                shape, centre = plain_update(shape, centre, row, middle, weight)
    except np.linalg.LinAlgError:
        return True
    return False


def test_a_strip_that_misses_is_skipped():
    root, centre = np.eye(2), np.zeros(2)
    rows, middles = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 5.0]]), [3.1, 1.5, 0.0]
    new_root, new_centre, missed, used = take(root, centre, rows, middles)
    np.testing.assert_array_equal(missed, [True, True, False])
    assert used == 1 and new_centre[0] == 0 and new_root[1, 1] > 1
    *_, missed, used = take(root, centre, rows, middles, width=0.0)
    assert missed.all() and used == 0
