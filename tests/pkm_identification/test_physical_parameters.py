"""Real bodies for given base parameters, and why there are none."""

from __future__ import annotations

import numpy as np
import pytest

import pkm_description
from pkm_description import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.physical.nearest import smallest_eigenvalues
from pkm_identification.physical.parameters import broken_inequality, physical_parameters


@pytest.fixture(scope='module')
def palida():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def base(palida):
    return palida.base_parameters(shared=True, reduced=True)


def changed(base, **changes):
    values = base.values()
    for name, value in changes.items():
        values[base.names.index(name.replace('__', '.'))] = value
    return values


def test_nominal_values_give_the_nominal_bodies(palida, base):
    found = physical_parameters(base, base.values())
    np.testing.assert_allclose(found, palida.nominal_parameters, atol=1e-12)


def test_bodies_move_until_they_are_real(palida, base):
    """The nearest plain solution gives the slider an impossible inertia; this one does not."""
    values = changed(
        base, platform__m=17.3, leg_slider__mz=-1.35, leg_slider__Izz=0.004, platform__Izz=0.115
    )
    plain = base.standard_parameters(values)
    found = physical_parameters(base, values)
    assert min(smallest_eigenvalues(palida, plain).values()) < 0
    assert min(smallest_eigenvalues(palida, found).values()) > 0
    np.testing.assert_allclose(base.matrix @ found, values, atol=1e-9)
    space = base.space
    np.testing.assert_allclose(space.expand @ space.reduce(found), found, atol=1e-12)
    distance = np.abs(found - palida.nominal_parameters)
    assert distance.max() < 1.5  # the mass that the platform gains, and no more


def test_table_three_cannot_be_met_by_real_bodies(base):
    """[A] Table III a priori: p2 = 0.947 > p3 = 0.943, though Ixx <= Iyy + Izz for any body."""
    p1, p2, p3 = 0.005, 0.947, 0.943
    values = changed(base, leg_slider__Ixx=p1 + p2, leg_slider__Iyy=p3, leg_slider__Izz=p1)
    broken = broken_inequality(base, values)
    assert set(broken.bodies) == {'leg_stator', 'leg_slider'}
    assert broken.value == pytest.approx(p3 - p2, abs=1e-6)
    coefficients = dict(zip(base.names, broken.coefficients, strict=True))
    assert coefficients['leg_slider.Ixx'] == pytest.approx(-1.0, abs=1e-4)
    assert coefficients['leg_slider.Iyy'] == pytest.approx(1.0, abs=1e-4)
    with pytest.raises(EstimationError, match='-0.004, but cannot be negative.*leg_slider'):
        physical_parameters(base, values)


def test_inequalities_hold_for_all_real_bodies(palida, base):
    """The certificate is one: no random set of point masses breaks it."""
    values = changed(base, platform__Izz=0.04)
    broken = broken_inequality(base, values)
    assert broken.value < 0
    random = np.random.default_rng(1)
    links = [n.rpartition('.')[0] for n in palida.parameter_names if n.endswith('.Ixx')]
    for _ in range(100):
        parameters = np.abs(random.normal(size=palida.n_p))
        for link in links:
            points = random.normal(size=(4, 3)) * random.uniform(0, 1, 3)
            index = palida.parameter_names.index(f'{link}.m')
            inertia = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)
            parameters[index : index + 10] = [4, *points.sum(0), *inertia[np.triu_indices(3)]]
        # Means over a design, and over mirror images that make products and moments vanish.
        parameters = base.space.expand @ base.space.reduce(parameters)
        assert min(smallest_eigenvalues(palida, parameters).values()) >= -1e-12
        assert broken.coefficients @ (base.matrix @ parameters) > -1e-3


def test_negative_friction_is_named(base):
    with pytest.raises(EstimationError, match='leg1_strut.coulomb = -1 is negative'):
        physical_parameters(base, changed(base, leg1_strut__coulomb=-1.0))


def test_wrong_shapes_are_named(base):
    with pytest.raises(EstimationError, match='24 finite numbers'):
        physical_parameters(base, np.zeros(3))
