"""Ranks and combinations that are known otherwise: textbooks, counting, Pinocchio."""

from __future__ import annotations

import mechanisms
import numpy as np
import planar
import pytest
from base_models import LIBRARY, model_of

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.null_space import numerical_rank
from pkm_dynamics.random_motion import random_motion


@pytest.fixture(scope='module')
def palida():
    return model_of('palida')


def test_rank_without_sharing():
    """6-UPS, all bodies different: 88 of 190 with rings, 82 of 130 without."""
    for rings, count, rank in ((True, 190, 88), (False, 130, 82)):
        model = ClosedChainModel(mechanisms.skew_hexapod(rings=rings, friction=False))
        base = model.base_parameters()
        assert int(model.parameter_mask('rigid_body').sum()) == count
        # Two rotors act along actuators beside the masses: they are identifiable too.
        assert int(base.is_rigid_body.sum()) == rank


def test_full_structure_of_palida(palida):
    """23 with shared struts; the groups of every one can be printed."""
    base = palida.base_parameters(shared=True)
    assert int(base.is_rigid_body.sum()) == 23
    assert 'leg_stator.my + leg_ring.my' in base.expressions
    assert base.members['leg_ring.Ixx'] == tuple(f'leg{k}_ring.Ixx' for k in range(1, 7))
    assert {'leg_ring.m', 'leg_stator.m', 'leg_ring.Iyy'} <= set(base.without_influence)
    without = palida.base_parameters()
    assert int(without.is_rigid_body.sum()) == 88


def test_two_link_arm_has_the_textbook_parameters():
    """Planar 2R: Izz1 + l^2 m2, mx1 + l m2, my1, Izz2, mx2, my2; no gravity terms if level."""
    base = ClosedChainModel(planar.two_link_arm()).base_parameters()
    assert base.expressions[:6] == [
        'upper.mx + 0.4*platform.m',
        'upper.my',
        'upper.Izz + 0.16*platform.m',
        'platform.mx',
        'platform.my',
        'platform.Izz',
    ]
    level = ClosedChainModel(planar.two_link_arm(vertical=False)).base_parameters()
    assert level.expressions[:4] == [
        'upper.Izz + 0.16*platform.m',
        'platform.mx',
        'platform.my',
        'platform.Izz',
    ]


def test_four_bars():
    """General: 8 = 3 + 4 + 3 planar parameters less two masses on the coupler's hinges.

    Parallelogram: the coupler only translates, crank and rocker turn alike, so three are
    left. No joint tells that: it is found in the regressor.
    """
    base = ClosedChainModel(planar.four_bar(0.2, 0.45, 0.3, 0.5)).base_parameters()
    assert int(base.is_rigid_body.sum()) == 8
    base = model_of('parallelogram').base_parameters()
    assert base.expressions[:3] == [
        'crank.mx + rocker.mx + 0.2*platform.m',
        'crank.my + rocker.my',
        'crank.Izz + rocker.Izz + 0.04*platform.m',
    ]


def test_five_bar_and_cart():
    """Five-bar: 3 + 3 + 4 + 4 planar parameters less three point masses on hinges."""
    base = model_of('bars').base_parameters()
    assert int(base.is_rigid_body.sum()) == 11
    base = model_of('cart').base_parameters()
    assert base.expressions == ['platform.m + rail.rotor', 'rail.coulomb', 'rail.viscous']


def test_spatial_arm_follows_the_rule_for_revolute_joints():
    """10 n - 3 (n - 1) less what the first, vertical axis hides (9): 17 of 30."""
    base = model_of('arm').base_parameters()
    assert int(base.is_rigid_body.sum()) == 1 + 2 * 7 + 2


@pytest.mark.parametrize('name', ['tripod', 'bars', 'arm', 'revolute', 'universal'])
def test_pinocchio_sees_the_same_null_space(name):
    pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    model = model_of(name)
    base = model.base_parameters()
    oracle = PinocchioOracle(model.description)
    samples = 40 if model.n_a > 1 else 90
    motion = random_motion(model, samples, seed=8, scale=4.0)
    theirs = np.vstack([oracle.regressor(model, motion, k) for k in range(samples)])
    rigid = model.parameter_mask('rigid_body')
    matrix = base.matrix[base.is_rigid_body][:, rigid]
    columns = base.columns[:, base.is_rigid_body][rigid]
    # Their columns are those of the representatives, combined by our matrix.
    np.testing.assert_allclose(theirs @ columns @ matrix, theirs, atol=1e-7 * np.abs(theirs).max())
    assert numerical_rank(theirs @ columns).value == matrix.shape[0]


@pytest.mark.parametrize('name', LIBRARY)
def test_library(name):
    model = model_of(name)
    full = model.base_parameters()
    reduced = model.base_parameters(shared=True, reduced=True)
    rigid = tuple(int(base.is_rigid_body.sum()) for base in (full, reduced))
    assert rigid == LIBRARY[name]
    assert min(full.gap, reduced.gap) > 1e7
    motion = random_motion(model, 15, seed=5)
    parameters = np.random.default_rng(3).normal(size=model.n_p)
    forces = model.inverse_dynamics(motion, parameters)
    again = full.regressor(motion) @ (full.matrix @ parameters)
    np.testing.assert_allclose(again, forces, atol=1e-9 * np.abs(forces).max())


def test_library_expressions():
    """What a reader expects to see, of robots with and without loops."""
    assert set(pkm_description.library()) == set(LIBRARY)
    delta = model_of('delta').base_parameters(shared=True, reduced=True)
    assert delta.expressions[:2] == [
        'platform.m + 7.5*rod1a.mz',
        'arm.mx + 0.7*rod1a.m - 0.875*rod1a.mz',
    ]
    assert delta.coefficient_sources[1]['rod1a.m'] == '2 * x of rod1a_swing'
    pendulum = model_of('cart_pendulum').base_parameters()
    assert pendulum.expressions[:4] == [
        'cart.m + lower_pendulum.m + platform.m',
        'lower_pendulum.mx',
        'lower_pendulum.mz + 0.5*platform.m',
        'lower_pendulum.Iyy + 0.25*platform.m',
    ]
    h4 = model_of('h4').base_parameters(reduced=True)
    assert h4.names[:2] == ['platform.m', 'platform.Izz'] and h4.rank == 14
    levels = [f'model_{k}' for k in (1, 2, 3, 4)]
    rps_upv = [model_of('rps_upv').base_parameters(reduced=level) for level in levels]
    assert [int(base.is_rigid_body.sum()) for base in rps_upv] == [25, 15, 9, 3]
