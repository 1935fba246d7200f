"""Friction laws of the drives against their formulas, one speed at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pkm_description.errors import ModelFileError
from pkm_dynamics.friction_laws import (
    LAWS,
    DriveFriction,
    is_friction_law_parameter,
    parameter_units,
)

JOINTS = ('a', 'b', 'c', 'd', 'e')
LAWS_OF_JOINTS = ('stribeck', 'coulomb_viscous', 'power', 'atan', 'stribeck')
VALUES = np.array([4.0, 0.03, 1.3, 7.0, 0.6, -2.0, 11.0, 5.0, 0.02, 2.0])
V0 = 0.002
SPEEDS = np.concatenate([-np.geomspace(2.0, 1e-5, 40), [0.0], np.geomspace(1e-5, 2.0, 40)])


@pytest.fixture
def friction():
    return DriveFriction(JOINTS, LAWS_OF_JOINTS, VALUES, V0)


def expected(law: str, v: float, values: list[float]) -> float:
    """[M eq. 16, 17] and the Stribeck term with Python's own functions."""
    sign = max(-1.0, min(1.0, v / V0))
    if law == 'stribeck':
        return values[0] * sign * math.exp(-((abs(v) / values[1]) ** values[2]))
    if law == 'power':
        return values[0] * sign * abs(v) ** values[1]
    return values[0] * math.atan(values[1] * v)


def test_forces_follow_the_formulas(friction):
    forces = friction.forces(np.tile(SPEEDS[:, None], 5))
    for v, row in zip(SPEEDS, forces, strict=True):
        assert row[0] == pytest.approx(expected('stribeck', v, [4.0, 0.03, 1.3]), abs=1e-12)
        assert row[1] == 0.0
        assert row[2] == pytest.approx(expected('power', v, [7.0, 0.6]), abs=1e-12)
        assert row[3] == pytest.approx(expected('atan', v, [-2.0, 11.0]), abs=1e-12)
        assert row[4] == pytest.approx(expected('stribeck', v, [5.0, 0.02, 2.0]), abs=1e-12)
    np.testing.assert_allclose(forces, -forces[::-1], atol=1e-12)  # odd
    assert (forces[SPEEDS == 0.0] == 0.0).all()
    slow = np.tile(np.linspace(-5e-3, 5e-3, 4001)[:, None], 5)
    assert np.abs(np.diff(friction.forces(slow), axis=0)).max() < 0.01  # continuous there


def test_derivatives_are_those_of_the_forces(friction):
    velocities = np.random.default_rng(0).normal(scale=0.05, size=(50, 5))
    velocities[0] = 0.0
    jacobian = friction.jacobian(velocities)
    assert jacobian.shape == (50, 5, len(VALUES))
    for k, value in enumerate(VALUES):
        step = 1e-6 * abs(value)
        ends = []
        for sign in (1, -1):
            moved = VALUES.copy()
            moved[k] += sign * step
            ends.append(DriveFriction(JOINTS, LAWS_OF_JOINTS, moved, V0).forces(velocities))
        np.testing.assert_allclose(
            jacobian[..., k], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7
        )


def test_parameters_by_name(friction):
    assert friction.names[:4] == [
        'a.stribeck_force',
        'a.stribeck_velocity',
        'a.stribeck_exponent',
        'c.power_force',
    ]
    shuffled = dict(zip(reversed(friction.names), reversed(VALUES.tolist()), strict=True))
    again = DriveFriction.from_parameters(shuffled, JOINTS, V0)
    assert again.laws == LAWS_OF_JOINTS and again.names == friction.names
    np.testing.assert_array_equal(again.values, VALUES)
    assert all(is_friction_law_parameter(name) for name in friction.names)
    assert not is_friction_law_parameter('a.coulomb')
    assert parameter_units('stribeck', 'N m') == ['N m', 'rad/s', '1']
    assert parameter_units('atan', 'N') == ['N', '1/(m/s)']
    assert all(len(law.fields) == len(law.units) for law in LAWS.values())


@pytest.mark.parametrize(
    ('parameters', 'message'),
    [
        ({'a.stribeck_force': 1.0, 'a.stribeck_velocity': 0.1}, "'a.stribeck_exponent' is missing"),
        ({'a.atan_force': 1.0, 'a.atan_slope': 0.0}, "'a.atan_slope' must be positive, is 0"),
        ({'a.atan_force': math.nan, 'a.atan_slope': 1.0}, "'a.atan_force' is not finite"),
        ({'x.atan_force': 1.0, 'x.atan_slope': 1.0}, "'x.atan_force' belongs to no"),
        (
            {'a.atan_force': 1.0, 'a.atan_slope': 1.0, 'a.power_force': 1.0},
            "'a.power_force' belongs to no",
        ),
    ],
)
def test_refusals_name_the_parameter(parameters, message):
    with pytest.raises(ModelFileError, match=message):
        DriveFriction.from_parameters(parameters, JOINTS, V0)
