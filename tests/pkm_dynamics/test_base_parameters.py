"""Base parameters: ranks, combinations, their stability and the way back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import closed_chains
import mechanisms
import numpy as np
import planar
import pytest
import rps

import pkm_description
from pkm_description import DescriptionError, EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.base_parameters import build_base_parameters, group_name, random_motion
from pkm_dynamics.parameters.null_space import build_null_space, numerical_rank

MECHANISMS = {
    'tripod': mechanisms.tripod,
    'bars': mechanisms.five_bar,
    'arm': mechanisms.serial_arm,
    'parallelogram': lambda: planar.four_bar(0.2, 0.5, 0.2, 0.5),
    'cart': planar.cart,
    'rps': rps.rps,
    **{kind: lambda kind=kind: closed_chains.closed_chain(kind) for kind in closed_chains.CHAINS},
}


# Rigid-body base parameters, each body on its own and as the description reduces them.
# Hexapods: 130 less 6 (ball joints) and 36 (slides) and 6 (stators on two crossing axes); with
# rings 88 of 190. 6R arm with a spherical wrist: 36, as the PUMA 560 [Khalil and Dombre].
LIBRARY = {
    'cart_pendulum': (7, 5), 'delta': (34, 6), 'five_bar': (7, 4), 'ford': (82, 10),
    'four_bar': (8, 5), 'h4': (4, 2), 'hexel': (82, 8), 'msi': (82, 10), 'palida': (88, 10),
    'rps_upv': (25, 9), 'serial_arm': (36, 36), 'uf_pkm': (82, 9),
}  # fmt: skip


@cache
def model_of(name):
    if name in MECHANISMS:
        return ClosedChainModel(MECHANISMS[name]())
    return ClosedChainModel(pkm_description.load(name))


@pytest.fixture(scope='module')
def palida():
    return model_of('palida')


@pytest.fixture(scope='module')
def tripod_of_mata():
    return model_of('rps')


def combination(model, terms):
    """Row (n_p,) of a combination {parameter: coefficient}; patterns leg* are means."""
    row = np.zeros(model.n_p)
    for name, value in terms.items():
        names = [name.replace('*', str(k)) for k in range(1, 7)] if '*' in name else [name]
        names = [n for n in names if n in model.parameter_names]
        row[[model.parameter_names.index(n) for n in names]] = value / len(names)
    return row


def assert_same_row_space(ours, theirs):
    """Both say the same about the robot: each row of one is a combination of the other's."""
    assert ours.shape == theirs.shape
    for a, b in ((ours, theirs), (theirs, ours)):
        left = np.linalg.lstsq(b.T, a.T, rcond=None)[0]
        np.testing.assert_allclose(b.T @ left, a.T, atol=1e-10 * np.abs(a).max())


# -- the papers ----------------------------------------------------------------------


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


# -- ranks that are known otherwise --------------------------------------------------


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
        'upper.Izz + 0.16*platform.m', 'platform.mx', 'platform.my', 'platform.Izz'
    ]  # fmt: skip


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
    np.testing.assert_allclose(
        theirs @ columns @ matrix, theirs, atol=1e-7 * np.abs(theirs).max()
    )
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
        'platform.m + 7.5*rod1a.mz', 'arm.mx + 0.7*rod1a.m - 0.875*rod1a.mz'
    ]  # fmt: skip
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


# -- forces --------------------------------------------------------------------------


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


# -- stability -----------------------------------------------------------------------


@pytest.mark.parametrize('name', ['rps', 'parallelogram', 'revolute', 'arm'])
def test_expressions_do_not_depend_on_the_motions(name):
    model = model_of(name)
    first = model.base_parameters()
    for seed in (2, 3):
        other = build_base_parameters(model, False, False, build_null_space(model, seed))
        assert other.expressions == first.expressions
        assert other.coefficient_sources == first.coefficient_sources
        np.testing.assert_allclose(other.matrix, first.matrix, rtol=1e-7, atol=0)


def test_expressions_do_not_depend_on_rounding(palida):
    """Another basis of the null space, and noise as another processor could bring it."""
    null = build_null_space(palida)
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.normal(size=2 * [len(null.directions)]))[0]
    noisy = turn @ null.directions + 1e-14 * random.normal(size=null.directions.shape)
    other = replace(null, directions=noisy)
    for shared in (False, True):
        a = palida.base_parameters(shared)
        b = build_base_parameters(palida, shared, False, other)
        assert a.expressions == b.expressions
        assert a.coefficient_sources == b.coefficient_sources


def terms(base):
    """Each base parameter as {parameter: coefficient}."""
    names = base.model.parameter_names
    return {
        name: {names[k]: pytest.approx(row[k], rel=1e-9) for k in np.flatnonzero(row)}
        for name, row in zip(base.names, base.matrix, strict=True)
    }


@pytest.mark.parametrize('shared', [False, True])
def test_names_do_not_depend_on_the_order_of_the_legs(tripod_of_mata, shared):
    first = terms(tripod_of_mata.base_parameters(shared))
    for order in ((2, 0, 1), (1, 0, 2)):
        other = terms(ClosedChainModel(rps.rps(order)).base_parameters(shared))
        assert other == first


def test_names_do_not_depend_on_the_nominal_values(palida):
    urdf = palida.description.urdf
    for old, new in (('value="2.2"', 'value="1.3"'), ('ixx="', 'ixx="1')):
        assert old in urdf
        urdf = urdf.replace(old, new)
    zeros = [
        line for line in palida.description.yaml_text.splitlines() if not line.startswith('- plat')
    ]
    description = pkm_description.loads(urdf.replace('iyy="', 'iyy="1'), '\n'.join(zeros))
    other = ClosedChainModel(description)
    assert not np.allclose(other.nominal_parameters, palida.nominal_parameters)
    for shared in (False, True):
        assert other.base_parameters(shared).expressions == palida.base_parameters(
            shared
        ).expressions


# -- the way back --------------------------------------------------------------------


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


# -- names and declarations ----------------------------------------------------------


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
        ('equal_parameters: [[platform.Ixx, platform.Iyy, platform.Izz]]', True,
         DescriptionError, 'not equal in the description: platform.Ixx = '),
        ('equal_parameters: [[platform.Ixx]]', True, DescriptionError, 'at least two'),
        ('equal_parameters: [[platform.Ixx, nothing.Iyy]]', True, DescriptionError,
         "no parameter 'nothing.Iyy'"),
        ('equal_parameters: [[platform.Ixx, 2 platform.m]]', True, DescriptionError,
         "'2 platform.m' is not"),
        ('reduced_models: {a: {kep: []}}', 'a', DescriptionError, "unknown key 'kep'"),
        ('reduced_models: {a: {shared: 3}}', 'a', DescriptionError, 'true or false'),
        ('reduced_models: {full: {}}', True, DescriptionError, "'full' exists"),
        ('reduced_models: {a: {keep: [leg9.m]}}', 'a', EstimationError,
         "'leg9.m' matches no base parameter"),
        ('reduced_models: {a: {zero_parameters: [platform.mz, platform.m]}}', 'a',
         DescriptionError, "names 'platform.m', whose nominal value"),
    ],
)  # fmt: skip
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
