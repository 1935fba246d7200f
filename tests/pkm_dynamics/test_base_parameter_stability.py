"""Names and coefficients depend on the mechanism alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import rps
from base_models import model_of

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import build_base_parameters
from pkm_dynamics.parameters.null_space import build_null_space


@pytest.fixture(scope='module')
def palida():
    return model_of('palida')


@pytest.fixture(scope='module')
def tripod_of_mata():
    return model_of('rps')


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
        assert (
            other.base_parameters(shared).expressions == palida.base_parameters(shared).expressions
        )
