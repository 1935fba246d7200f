"""Base parameters: ranks, combinations and what the forces cannot tell apart."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.base_parameters import group_name, random_motion


@pytest.fixture(scope='module')
def palida():
    return ClosedChainModel(pkm_description.load('palida'))


def test_palida_has_the_papers_ten_rigid_body_parameters(palida):
    """[A] Table I: 10 rigid-body and 14 friction parameters with shared struts."""
    base = palida.base_parameters(shared=True, reduced=True)
    assert int(base.is_rigid_body.sum()) == 10
    assert base.rank == 24
    assert base.gap > 1e4


def test_palida_base_values_are_the_papers(palida):
    """Values of [A] Table III (a priori), with p2 and p3 of the feasible variant."""
    base = palida.base_parameters(shared=True, reduced=True)
    value = dict(zip(base.names, base.matrix @ palida.nominal_parameters, strict=True))
    assert value['platform.m'] == pytest.approx(16.307, abs=1e-6)
    assert value['platform.mz'] == pytest.approx(1.698, abs=1e-4)
    assert value['platform.Izz'] == pytest.approx(0.123, abs=1e-4)
    assert value['platform.Ixx'] == pytest.approx(0.24, abs=1e-4)
    assert value['platform.Iyy'] == pytest.approx(0.24, abs=1e-4)
    assert value['leg_stator.mz'] == pytest.approx(0.579, abs=1e-6)
    assert value['leg_slider.mz'] == pytest.approx(-1.299, abs=1e-6)
    # [A]: p1 axial inertias and ring, p1 + p2 about the first cardan axis, p3 about the second.
    p1 = value['leg_stator.Izz']
    assert p1 == pytest.approx(0.005, abs=1e-6)
    assert value['leg_slider.Ixx'] - p1 == pytest.approx(0.9435, abs=1e-6)
    assert value['leg_slider.Iyy'] == pytest.approx(0.9465, abs=1e-6)


def test_rank_without_sharing():
    """6-UPS, all bodies different: 88 of 190 with rings, 82 of 130 without."""
    for rings, count, rank in ((True, 190, 88), (False, 130, 82)):
        model = ClosedChainModel(mechanisms.skew_hexapod(rings=rings, friction=False))
        base = model.base_parameters()
        assert int(model.parameter_mask('rigid_body').sum()) == count
        # Two rotors act along actuators beside the masses: they are identifiable too.
        assert int(base.is_rigid_body.sum()) == rank


@pytest.mark.parametrize('shared', [False, True])
def test_forces_from_base_parameters_equal_the_forces(palida, shared):
    base = palida.base_parameters(shared=shared)
    motion = random_motion(palida, 40, seed=21)
    forces = palida.inverse_dynamics(motion)
    again = base.regressor(motion) @ (base.matrix @ palida.nominal_parameters)
    np.testing.assert_allclose(again, forces, atol=1e-8 * np.abs(forces).max())
    assert base.matrix.shape == (base.rank, palida.n_p)
    assert len(base.expressions) == len(base.names) == len(base.units) == base.rank


def test_the_null_space_moves_no_force():
    model = ClosedChainModel(mechanisms.tripod())
    base = model.base_parameters()
    _, _, rows = np.linalg.svd(base.matrix)
    null = rows[base.rank :]
    motion = random_motion(model, 30, seed=2)
    forces = model.inverse_dynamics(motion)
    for direction in null[:10]:
        changed = model.inverse_dynamics(motion, model.nominal_parameters + 5.0 * direction)
        np.testing.assert_allclose(changed, forces, atol=1e-7 * np.abs(forces).max())


def test_tripod_has_the_papers_rank():
    """[M] Table 1: 25 rigid-body base parameters of the 3-RPS."""
    base = ClosedChainModel(mechanisms.tripod()).base_parameters()
    assert int(base.is_rigid_body.sum()) == 25


def test_expressions_show_the_masses_carried(palida):
    base = palida.base_parameters(shared=True)
    assert 'platform.m + 6*leg_slider.m' in base.expressions


def test_group_names():
    assert group_name(('leg1_slider', 'leg2_slider')) == 'leg_slider'
    assert group_name(('rod_a', 'rod_b')) == 'rod_a'


def test_two_designs_with_one_stem_stay_two(palida):
    """Sharing within two groups whose names differ only in their numbers."""
    text = palida.description.yaml_text.replace(
        '- [leg1_slider, leg2_slider, leg3_slider, leg4_slider, leg5_slider, leg6_slider]',
        '- [leg1_slider, leg2_slider, leg3_slider]\n- [leg4_slider, leg5_slider, leg6_slider]',
    )
    urdf = palida.description.urdf
    for n in (4, 5, 6):
        start = urdf.index(f'<link name="leg{n}_slider">')
        urdf = urdf[:start] + urdf[start:].replace('value="2.2"', 'value="3.1"', 1)
    model = ClosedChainModel(pkm_description.loads(urdf, text))
    base = model.base_parameters(shared=True)
    motion = random_motion(model, 20, seed=4)
    forces = model.inverse_dynamics(motion)
    again = base.regressor(motion) @ (base.matrix @ model.nominal_parameters)
    np.testing.assert_allclose(again, forces, atol=1e-8 * np.abs(forces).max())
    assert {'leg1_slider.mz', 'leg4_slider.mz'} <= set(base.names)
