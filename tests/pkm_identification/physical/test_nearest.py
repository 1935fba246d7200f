"""Physical bodies from estimates, on PaLiDA."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_description.description import Inertial
from pkm_dynamics import ClosedChainModel
from pkm_identification.physical.nearest import (
    nearest_consistent,
    pseudo_inertia,
    smallest_eigenvalues,
)


@pytest.fixture(scope='module')
def palida():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def base(palida):
    return palida.base_parameters(shared=True, reduced=True)


def test_pseudo_inertia_of_point_masses():
    random = np.random.default_rng(0)
    masses, points = random.uniform(0.1, 1, 5), random.normal(size=(5, 3))
    inertia = sum(
        m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True)
    )
    upper = inertia[np.triu_indices(3)]
    parameters = np.array([masses.sum(), *(masses @ points), *upper])
    homogeneous = np.column_stack([points, np.ones(5)])
    expected = (homogeneous * masses[:, None]).T @ homogeneous
    np.testing.assert_allclose(pseudo_inertia(parameters), expected, atol=1e-12)
    # rods of no width: the pseudo-inertia loses rank, the triangle inequality is an equality
    rod = np.array([1.0, 0, 0, 0, 0.0, 0, 0, 0.3, 0, 0.3])
    assert abs(np.linalg.eigvalsh(pseudo_inertia(rod))[0]) < 1e-12
    beyond = np.array([1.0, 0, 0, 0, 0.0, 0, 0, 0.3, 0, 0.31])
    assert np.linalg.eigvalsh(pseudo_inertia(beyond))[0] < -1e-3


def test_possible_estimate_is_kept(palida, base):
    truth = base.matrix @ palida.nominal_parameters
    covariance = np.diag((0.01 * np.abs(truth)) ** 2)
    found = nearest_consistent(truth, covariance, base)
    assert found.is_physical and found.violations == ()
    np.testing.assert_allclose(base.matrix @ found.standard_parameters, truth, rtol=1e-6)


@pytest.mark.parametrize('seed', range(3))
def test_impossible_estimate_is_projected(palida, base, seed):
    truth = base.matrix @ palida.nominal_parameters
    deviation = 0.2 * np.abs(truth)
    values = truth + deviation * np.random.default_rng(seed).normal(size=len(truth))
    values[base.names.index('leg1_strut.coulomb')] = -1.0
    found = nearest_consistent(values, np.diag(deviation**2), base)
    assert not found.is_physical
    assert any('leg1_strut.coulomb = -1 is negative' in text for text in found.violations)
    assert min(smallest_eigenvalues(palida, found.standard_parameters).values()) > 0
    friction = palida.parameter_mask('friction')
    assert (found.standard_parameters[friction] >= 0).all()
    # no physical set can be nearer than the nominal one
    nominal_distance = np.sqrt(np.sum(((truth - values) / deviation) ** 2))
    assert found.distance <= nominal_distance
    projected = base.matrix @ found.standard_parameters
    assert found.distance == pytest.approx(
        np.linalg.norm((projected - values) / deviation), rel=1e-3
    )


def test_members_of_one_design_stay_equal(palida, base):
    truth = base.matrix @ palida.nominal_parameters
    values = truth * np.random.default_rng(5).uniform(0.7, 1.3, len(truth))
    found = nearest_consistent(values, np.diag((0.1 * truth) ** 2), base)
    names = palida.parameter_names
    for members in palida.description.same_design:
        for field in ('m', 'mz', 'Ixx', 'Izz', 'coulomb'):
            shared = [
                found.standard_parameters[names.index(f'{member}.{field}')]
                for member in members
                if f'{member}.{field}' in names
            ]
            assert len(set(shared)) <= 1


def test_contradiction_has_a_small_p_value(palida, base):
    truth = base.matrix @ palida.nominal_parameters
    values = truth.copy()
    values[base.names.index('platform.m')] = -5.0
    covariance = np.diag((0.01 * truth) ** 2)
    found = nearest_consistent(values, covariance, base)
    assert found.p_value < 1e-6


def test_friction_that_the_description_does_not_know_is_possible(palida, base):
    """A description with next to no friction: the estimate has a million times more."""
    truth = base.matrix @ palida.nominal_parameters
    values = truth.copy()
    values[base.names.index('leg1_strut.coulomb')] *= 1e6
    found = nearest_consistent(values, np.diag((0.01 * np.abs(values)) ** 2), base)
    assert found.is_physical and found.distance < 1e-2
    np.testing.assert_allclose(base.matrix @ found.standard_parameters, values, rtol=1e-3)


def test_a_ring_without_mass_is_no_body():
    """Its ten parameters are declared zero: there is no matrix to look at, and nothing to limit."""
    palida = pkm_description.load('palida')
    nothing = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    links = tuple(
        replace(link, inertial=nothing) if link.name.endswith('_ring') else link
        for link in palida.links
    )
    zero = (*palida.zero_parameters, 'leg*_ring.*')
    model = ClosedChainModel(replace(palida, links=links, zero_parameters=zero))
    base = model.base_parameters(shared=True, reduced=True)
    values = base.matrix @ model.nominal_parameters
    found = nearest_consistent(values, np.diag((0.01 * np.abs(values)) ** 2), base)
    assert found.is_physical and found.violations == ()
    np.testing.assert_allclose(base.matrix @ found.standard_parameters, values, rtol=1e-6)
