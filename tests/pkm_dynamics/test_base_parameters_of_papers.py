"""Base parameters as [A] Table I and [M] Tables 1, 2, 5, 6 and 8 have them."""

from __future__ import annotations

import numpy as np
import pytest
import rps
from base_models import assert_same_row_space, combination, model_of


@pytest.fixture(scope='module')
def palida():
    return model_of('palida')


@pytest.fixture(scope='module')
def tripod_of_mata():
    return model_of('rps')


def papers_table_of_palida(model):
    """[A] Table I, from its formulas and the robot's geometry.

    Paper axes: ring 1 turns about z1 (ours x), stator 2 and slider 3 have their length
    along y2 and z3 (ours z) and turn about z2 and y3 (ours y).
    """
    x, y, z = np.array([model.description.constraints[k].child_origin.position for k in range(6)]).T
    slider = 'leg*_slider'
    rows = [
        {'leg*_ring.Ixx': 1, 'leg*_stator.Izz': 1, f'{slider}.Izz': 1},
        {'leg*_stator.Ixx': 1, f'{slider}.Ixx': 1, 'leg*_stator.Izz': -1, f'{slider}.Izz': -1},
        {'leg*_stator.Iyy': 1, f'{slider}.Iyy': 1},
        {'leg*_stator.mz': 1},
        {f'{slider}.mz': 1},
        {'platform.Ixx': 1, f'{slider}.m': np.sum(y**2 + z**2)},
        {'platform.Iyy': 1, f'{slider}.m': np.sum(x**2 + z**2)},
        {'platform.Izz': 1, f'{slider}.m': np.sum(x**2 + y**2)},
        {'platform.mz': 1, f'{slider}.m': np.sum(z)},
        {'platform.m': 1, f'{slider}.m': 6},
    ]
    return np.array([combination(model, row) for row in rows])


def test_palida_has_the_papers_combinations(palida):
    """[A] Table I: 10 rigid-body and 14 friction parameters with shared struts."""
    base = palida.base_parameters(shared=True, reduced=True)
    assert int(base.is_rigid_body.sum()) == 10
    assert base.rank == 24
    assert base.gap > 1e8
    assert_same_row_space(base.matrix[base.is_rigid_body], papers_table_of_palida(palida))


def test_palida_has_the_papers_values(palida):
    """[A] Table III a priori, with p2 and p3 of the set that real bodies can have."""
    values = papers_table_of_palida(palida) @ palida.nominal_parameters
    table = [0.005, 0.9435, 0.9465, 0.579, -1.299, 0.24, 0.24, 0.123, 1.698, 16.307]
    np.testing.assert_allclose(values, table, atol=1e-4)
    base = palida.base_parameters(shared=True, reduced=True)
    ours = dict(zip(base.names, base.values(), strict=True))
    assert ours['platform.m'] == pytest.approx(values[9], abs=1e-9)
    assert ours['leg_slider.Izz'] == pytest.approx(values[0], abs=1e-9)
    assert ours['leg_slider.Ixx'] == pytest.approx(values[0] + values[1], abs=1e-9)


def test_palida_expressions_can_be_read(palida):
    base = palida.base_parameters(shared=True, reduced=True)
    assert base.expressions[:10] == [
        'platform.m + 6*leg_slider.m',
        'platform.mz + 0.63*leg_slider.m',
        'platform.Ixx + 0.09045*leg_slider.m',
        'platform.Iyy + 0.09045*leg_slider.m',
        'platform.Izz + 0.0486*leg_slider.m',
        'leg_stator.mz',
        'leg_slider.mz',
        'leg_slider.Ixx + leg_ring.Ixx + leg_stator.Ixx',
        'leg_slider.Iyy + leg_stator.Iyy',
        'leg_slider.Izz + leg_ring.Ixx + leg_stator.Izz',
    ]
    assert base.coefficient_sources[1] == {'leg_slider.m': 'sum of z over leg1_top .. leg6_top'}
    text = '\n'.join(base.table(sources=True))
    assert 'leg_slider stands for leg1_slider, leg2_slider' in text
    assert 'sum of x^2 + y^2 over leg1_top .. leg6_top' in text
    assert 'rank 24 of 33 free parameters' in text


def papers_table_of_the_tripod(model):
    """[M] Table 1 from the platform's side: rows 1 to 25.

    Paper axes of a limb: body 1 turns about z1 with y1 along the strut, slider 2 has z2
    along it and turns about y2; ours turn about x with z along the strut.
    """
    s, h = rps.SIDE, rps.HEIGHT
    carried = {'leg1_slider.m': 1, 'platform.m': 1}

    def limb(n):
        return [
            {f'leg{n}_stator.my': 1},
            {f'leg{n}_stator.mz': 1},
            {f'leg{n}_stator.Ixx': 1, f'leg{n}_slider.Ixx': 1},
            {f'leg{n}_slider.my': 1},
            {f'leg{n}_slider.mz': 1},
        ]

    def minus(factor):
        return {name: -factor * value for name, value in carried.items()}

    rows = [
        *limb(1),
        {'platform.Ixx': 1, 'platform.my': -h},
        {'platform.Ixy': 1, 'platform.my': s / 2},
        {'platform.Ixz': 1},
        {'platform.Iyy': 1, 'platform.my': h, **minus(s**2)},
        {'platform.Iyz': 1},
        {'platform.Izz': 1, **minus(s**2)},
        {'platform.mx': 1, 'platform.my': 1 / np.sqrt(3), **minus(s)},
        {'platform.mz': 1},
        *limb(2)[:3],
        {'leg2_slider.m': 1, 'platform.my': -1 / h, **carried},
        *limb(2)[3:],
        *limb(3)[:3],
        {'leg3_slider.m': 1, 'platform.my': 1 / h},
        *limb(3)[3:],
    ]
    return np.array([combination(model, row) for row in rows])


def test_the_tripod_has_the_papers_combinations(tripod_of_mata):
    """[M] Table 1: 25 of 70 rigid-body parameters, and the coefficients that it prints."""
    model = tripod_of_mata
    base = model.base_parameters()
    assert int(model.parameter_mask('rigid_body').sum()) == 70
    assert int(base.is_rigid_body.sum()) == 25
    theirs = papers_table_of_the_tripod(model)
    assert_same_row_space(base.matrix[base.is_rigid_body], theirs)
    used = np.unique(np.abs(theirs[theirs != 0.0]).round(9))
    printed = [0.2082, 0.2282, 0.3952, 0.4563, 0.5774, 1.0, 2.531]
    np.testing.assert_allclose(used, printed, rtol=3e-4)


def test_the_tripod_has_the_papers_values(tripod_of_mata):
    """[M] Table 8 and Table 5."""
    values = papers_table_of_the_tripod(tripod_of_mata) @ tripod_of_mata.nominal_parameters
    np.testing.assert_allclose(values[[11, 16, 22]], [-2.47, 10.83, 5.42], atol=0.005)
    np.testing.assert_allclose(values[[2, 15, 21]], 0.1555, atol=1e-4)


def test_the_tripod_has_the_papers_models(tripod_of_mata):
    """[M] Table 2 and Table 6: rigid-body parameters and, with three more an actuator, all."""
    model = tripod_of_mata
    for level, rigid in (('model_1', 25), ('model_2', 15), ('model_3', 9), ('model_4', 3)):
        base = model.base_parameters(reduced=level)
        assert base.level == level
        assert (int(base.is_rigid_body.sum()), base.rank) == (rigid, rigid + 9)
    theirs = papers_table_of_the_tripod(model)
    removed = [1, 4, 7, 8, 10, 13, 14, 18, 20, 24]
    # What model 2 removes is zero for every robot with its geometry.
    space = model.base_parameters(reduced='model_2').space
    np.testing.assert_allclose(theirs[np.array(removed) - 1] @ space.expand, 0.0, atol=1e-12)
    assert len(model.base_parameters(reduced='model_4').dropped) == 6
