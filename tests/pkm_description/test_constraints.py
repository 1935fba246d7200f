"""Closing constraints: redundant rows are counted, those that do not hold are refused."""

from __future__ import annotations

import closed_chains
import mechanisms
import numpy as np
import pytest

from pkm_description import DescriptionError, loads
from pkm_description.assembly import Assembly
from pkm_description.mobility import constraint_rows


@pytest.mark.parametrize(
    'kind, rows',
    [('fixed', 6), ('spherical', 3), ('revolute', 5), ('universal', 4), ('prismatic', 5)],
)
def test_rows_of_each_type(kind, rows):
    assembly = Assembly(closed_chains.closed_chain(kind))
    (item,) = constraint_rows(assembly)
    assert (item.name, item.type, item.rows, item.redundant) == ('closure', kind, rows, 0)


def test_rows_that_a_planar_loop_repeats_are_counted():
    (item,) = constraint_rows(Assembly(mechanisms.four_bar()))
    assert (item.rows, item.redundant) == (5, 3)
    (item,) = constraint_rows(Assembly(mechanisms.five_bar()))
    assert (item.rows, item.redundant) == (5, 3)
    assert not any(item.redundant for item in constraint_rows(Assembly(mechanisms.tripod())))


def test_jacobian_of_the_closure_is_that_of_finite_differences():
    for kind in closed_chains.CHAINS:
        assembly = Assembly(closed_chains.closed_chain(kind))
        home = assembly.home()
        _, jacobian = assembly.closure(home)
        for k in range(assembly.tree.n_v):
            step = np.zeros(assembly.tree.n_v)
            step[k] = 1e-6
            ahead, _ = assembly.closure(assembly.moved(home, step))
            behind, _ = assembly.closure(assembly.moved(home, -step))
            np.testing.assert_allclose(jacobian[:, k], (ahead - behind) / 2e-6, atol=1e-8)


def test_tilted_axes_of_a_planar_loop_are_refused_by_the_name_of_the_constraint():
    bar = mechanisms.five_bar()
    for tilt, message in (
        (0.02, "constraint 'tip' .lower1 to platform. stays open by about 0.01 rad"),
        (1e-5, "stays open by .*joint 'shoulder2' has 1e-05 where 0 may be meant"),
        (3e-7, "almost redundant.*joint 'shoulder2' has 3e-07"),
    ):
        tilted = bar.urdf.replace('rpy="0.0 0.0 0.9"', f'rpy="{tilt} 0.0 0.9"', 1)
        assert tilted != bar.urdf
        with pytest.raises(DescriptionError, match=message):
            loads(tilted, bar.yaml_text)


def test_a_stretched_chain_that_cannot_move_is_refused_by_the_name_of_its_constraint():
    # Stretched between two points it has one infinitesimal motion and no finite one.
    with pytest.raises(DescriptionError) as caught:
        loads(mechanisms.stretched_bars())
    message = str(caught.value)
    assert "constraint 'end' closes at home but not beside it" in message
    assert "'end' (2 of 3)" in message and "'first'" in message


def test_an_open_loop_is_refused_quickly_and_by_name():
    import time

    start = time.perf_counter()
    with pytest.raises(DescriptionError, match="constraint 'end' .base_link to platform. stays op"):
        loads(mechanisms.stretched_bars(offset=0.01))
    assert time.perf_counter() - start < 3.0


def test_angles_with_few_digits_are_pointed_out():
    bar = mechanisms.four_bar()
    text = bar.urdf.replace('rpy="0.0 0.0 1.4"', 'rpy="3.1416 0.0 1.4"', 1)
    text = text.replace('<origin xyz="0.3 0.0 0.0" rpy="0.0 0.0 0.0"/>', '')
    with pytest.raises(DescriptionError, match="joint 'rocker_joint' has 3.1416 where 3.14159265"):
        loads(text, bar.yaml_text)


def test_a_prismatic_constraint_has_one_axis():
    chain = closed_chains.closed_chain('prismatic')
    turned = chain.urdf.replace('<child_axis xyz="0.6 0.0 0.8"/>', '<child_axis xyz="0 0 1"/>')
    assert turned != chain.urdf
    with pytest.raises(DescriptionError, match="prismatic constraint 'closure'.*child_axis"):
        loads(turned, chain.yaml_text)
    without = chain.urdf.replace('<child_axis xyz="0.6 0.0 0.8"/>', '')
    np.testing.assert_allclose(
        loads(without, chain.yaml_text).constraints[0].child_axis, [0.6, 0, 0.8]
    )


def test_constraints_that_constrain_nothing_are_refused():
    bar = mechanisms.four_bar()
    own = bar.urdf.replace(
        '<ros2_control',
        '<constraint name="twin" type="revolute"><parent link="platform"/>'
        '<parent_origin xyz="0.45 0 0"/><child link="rocker"/><child_origin xyz="0.3 0 0"/>'
        '</constraint><ros2_control',
        1,
    )
    with pytest.raises(DescriptionError, match="constraints 'last' and 'twin' close the same"):
        loads(own, bar.yaml_text)
    rigid = bar.urdf.replace(
        '<ros2_control',
        '<link name="plate"/><joint name="glued" type="fixed"><parent '
        'link="base_link"/><child link="plate"/></joint><constraint name="idle" '
        'type="spherical"><parent link="base_link"/><child link="plate"/></constraint>'
        '<ros2_control',
        1,
    )
    with pytest.raises(DescriptionError, match="'idle' joins 'base_link' and 'plate', which no"):
        loads(rigid, bar.yaml_text)


@pytest.mark.parametrize(
    'kind, friction, message',
    [
        ('fixed', '{coulomb: 1}', "fixed constraint 'closure' cannot have friction"),
        (
            'spherical',
            '{model: asymmetric, coulomb: 1, coulomb_negative: 2}',
            'asymmetric friction',
        ),
    ],
)
def test_friction_that_a_constraint_cannot_have(kind, friction, message):
    chain = closed_chains.closed_chain(kind)
    with pytest.raises(DescriptionError, match=message):
        loads(chain.urdf, chain.yaml_text + f'friction: {{closure: {friction}}}\n')
