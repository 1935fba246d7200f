"""Base parameters: forces, the way back, names and declarations."""

from __future__ import annotations

import closed_chains
import numpy as np
import pytest
import rps
from base_models import MECHANISMS, model_of

import pkm_description
from pkm_description import DescriptionError, EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.groups import group_name
from pkm_dynamics.parameters.null_space import build_null_space
from pkm_dynamics.random_motion import random_motion


@pytest.fixture(scope='module')
def palida():
    return model_of('palida')


@pytest.fixture(scope='module')
def tripod_of_mata():
    return model_of('rps')


@pytest.mark.parametrize('name', MECHANISMS)
def test_forces_of_any_parameters_follow_from_base_parameters(name):
    model = model_of(name)
    base = model.base_parameters()
    motion = random_motion(model, 25, seed=21)
    parameters = np.random.default_rng(3).normal(size=model.n_p)
    forces = model.inverse_dynamics(motion, parameters)
    again = base.regressor(motion) @ (base.matrix @ parameters)
    np.testing.assert_allclose(again, forces, atol=1e-9 * np.abs(forces).max())
    assert base.gap > 1e6
    kept, dropped = base.singular_values_at_gap
    assert kept / dropped == base.gap and dropped < 1e-9


@pytest.mark.parametrize('level', [(False, False), (True, False), (True, True), (False, True)])
def test_forces_of_palida_follow_from_base_parameters(palida, level):
    base = palida.base_parameters(*level)
    motion = random_motion(palida, 40, seed=21)
    random = np.random.default_rng(4).normal(size=palida.n_p)
    parameters = base.space.expand @ base.space.reduce(random)  # any that the level allows
    forces = palida.inverse_dynamics(motion, parameters)
    again = base.regressor(motion) @ base.values(parameters)
    np.testing.assert_allclose(again, forces, atol=1e-9 * np.abs(forces).max())
    assert len(base.expressions) == len(base.names) == len(base.units) == base.rank


def test_no_dust_in_expressions():
    for name in ('fixed', 'revolute', 'spherical', 'arm'):
        base = model_of(name).base_parameters()
        sizes = np.abs(base.matrix[base.matrix != 0.0])
        assert sizes.min() > 1e-5, name
        assert 'e-' not in ' '.join(base.expressions), name


@pytest.mark.parametrize('level', [(False, False), (True, False), (True, True)])
def test_standard_parameters_of_base_values(palida, level):
    base = palida.base_parameters(*level)
    np.testing.assert_allclose(
        base.standard_parameters(base.values()), palida.nominal_parameters, atol=1e-12
    )
    values = base.values() + np.random.default_rng(5).normal(size=base.rank)
    found = base.standard_parameters(values)
    np.testing.assert_allclose(base.matrix @ found, values, atol=1e-12 * np.abs(values).max())
    motion = random_motion(palida, 10, seed=6)
    np.testing.assert_allclose(
        palida.inverse_dynamics(motion, found), base.regressor(motion) @ values, atol=1e-8
    )
    if level[1]:
        assert not found[palida.zero_parameter_mask].any()


def test_standard_parameters_move_as_little_as_they_can(tripod_of_mata):
    """Only what a combination contains moves; masses share a change by their size."""
    base = tripod_of_mata.base_parameters(shared=True, reduced=True)
    values = base.values()
    index = base.names.index('leg_slider.Ixx')
    values[index] += 0.01
    change = base.standard_parameters(values) - tripod_of_mata.nominal_parameters
    moved = {tripod_of_mata.parameter_names[k] for k in np.flatnonzero(np.abs(change) > 1e-12)}
    expected = {f'leg{k}_{part}.Ixx' for k in (1, 2, 3) for part in ('stator', 'slider')}
    assert moved == expected
    with pytest.raises(EstimationError, match='18 finite numbers'):
        base.standard_parameters(values[:3])


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
    assert 'platform.m + 3*leg1_slider.m + 3*leg4_slider.m' in base.expressions


def test_equal_parameters_are_one():
    extra = "equal_parameters: [['leg*_slider.Ixx', 'leg*_slider.Iyy']]\n"
    model = ClosedChainModel(rps.rps(extra=extra))
    space = model.base_parameters(reduced=True).space
    column = space.expand[:, space.labels.index('leg2_slider.Ixx')]
    names = [model.parameter_names[k] for k in np.flatnonzero(column)]
    assert names == ['leg2_slider.Ixx', 'leg2_slider.Iyy']
    shared = model.base_parameters(shared=True, reduced=True).space
    assert np.count_nonzero(shared.expand[:, shared.labels.index('leg_slider.Ixx')]) == 6


@pytest.mark.parametrize(
    ('extra', 'level', 'error', 'message'),
    [
        ('', 'model_9', EstimationError, "no reduced model 'model_9'; it has full, geometry"),
        (
            'equal_parameters: [[platform.Ixx, platform.Iyy, platform.Izz]]',
            True,
            DescriptionError,
            'not equal in the description: platform.Ixx = ',
        ),
        ('equal_parameters: [[platform.Ixx]]', True, DescriptionError, 'at least two'),
        (
            'equal_parameters: [[platform.Ixx, nothing.Iyy]]',
            True,
            DescriptionError,
            "no parameter 'nothing.Iyy'",
        ),
        (
            'equal_parameters: [[platform.Ixx, 2 platform.m]]',
            True,
            DescriptionError,
            "'2 platform.m' is not",
        ),
        ('reduced_models: {a: {kep: []}}', 'a', DescriptionError, "unknown key 'kep'"),
        ('reduced_models: {a: {shared: 3}}', 'a', DescriptionError, 'true or false'),
        ('reduced_models: {full: {}}', True, DescriptionError, "'full' exists"),
        (
            'reduced_models: {a: {keep: [leg9.m]}}',
            'a',
            EstimationError,
            "'leg9.m' matches no base parameter",
        ),
        (
            'reduced_models: {a: {zero_parameters: [platform.mz, platform.m]}}',
            'a',
            DescriptionError,
            "names 'platform.m', whose nominal value",
        ),
    ],
)
def test_mistakes_in_declarations_are_named(extra, level, error, message):
    model = ClosedChainModel(rps.rps(extra=extra + '\n'))
    with pytest.raises(error, match=message):
        model.base_parameters(reduced=level)


def test_limits_do_not_change_the_rank():
    chain = closed_chains.closed_chain('revolute')
    urdf = chain.urdf.replace('lower="-3" upper="3"', 'lower="-0.003" upper="0.003"')
    assert urdf != chain.urdf
    narrow = ClosedChainModel(pkm_description.loads(urdf, chain.yaml_text)).base_parameters()
    assert narrow.expressions == ClosedChainModel(chain).base_parameters().expressions


def test_rank_that_is_not_clear_is_refused(monkeypatch):
    """Motions of thousandths of a radian leave no clear gap, or one that wider ones disprove."""
    monkeypatch.setattr('pkm_dynamics.parameters.null_space._SCALES', (1e-3,))
    for kind in ('revolute', 'universal'):
        model = ClosedChainModel(closed_chains.closed_chain(kind))
        with pytest.raises(EstimationError, match='moves too little'):
            build_null_space(model)
