"""Friction of drives at rest, against free bodies by hand and drawn forces."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from slider_crank import forces_by_hand, slider_crank
from slides import slides

from pkm_description import loads
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.covariance.holding_friction import holding_friction

FACTORS = (0.02, 0.01, 0.015)  # [m]
SLOW = 0.02  # rate of the crank [rad/s], at which every pin turns faster than the transition


def test_loaded_joints_hold_their_drive():
    """Friction that the crank needs at two angles, beside its weights and inertia."""
    crank = ClosedChainModel(slider_crank(FACTORS))
    angles = np.array([[0.3], [0.9]])
    found = holding_friction(crank, crank.nominal_parameters, None, np.array([SLOW]), angles)
    none = np.zeros(3)
    ways = np.array(
        [
            [
                sign * np.subtract(*(forces_by_hand(q, sign * SLOW, 0.0, f)[0] for f in pair))
                for sign in (1.0, -1.0)
            ]
            for [q] in angles
            for pair in [(FACTORS, none)]
        ]
    ).T
    assert (ways > 0.01).all()
    variance = np.mean(ways[0] ** 2 - ways[0] * ways[1] + ways[1] ** 2)
    assert found == pytest.approx(np.sqrt([variance]), rel=1e-3)  # loads of twice a slow speed


def test_friction_by_direction_holds_from_one_to_the_other():
    plain = slides()
    own = '{coulomb: 5, coulomb_negative: 1, viscous: 2}'
    model = ClosedChainModel(loads(plain.urdf, f'{plain.yaml_text}friction: {{along: {own}}}\n'))
    axis = model.actuated_joints.index('along')
    law = DriveFriction(
        tuple(model.actuated_joints),
        tuple('power' if i == axis else 'coulomb_viscous' for i in range(4)),
        np.array([3.0, 1.0]),
        0.002,
    )
    slow = np.full(4, 0.1)
    places = model.home_actuators[None]
    found = holding_friction(model, model.nominal_parameters, law, slow, places)
    lower, upper = -(1.0 + 2.0 * 0.1 + 3.0 * 0.1), 5.0 + 2.0 * 0.1 + 3.0 * 0.1
    held = np.linspace(lower, upper, 100_001)
    assert found[axis] ** 2 / 3 == pytest.approx(np.mean(held**2), rel=1e-4)
    assert not found[np.arange(4) != axis].any()


def test_places_where_the_mechanism_does_not_close_do_not_count():
    model = model_of('rps_upv')
    home, values, slow = model.home_actuators, model.nominal_parameters, np.full(3, 0.1)
    places = np.array([home, home + [3.0, 0.0, 0.0]])
    assert model.configurations_of_actuators(places)[1].tolist() == [True, False]
    both, one, none = (
        holding_friction(model, values, None, slow, each)
        for each in (places, places[:1], places[1:])
    )
    assert (one > 1.0).all()
    np.testing.assert_allclose(both, one, rtol=1e-9)
    np.testing.assert_allclose(none, one, rtol=1e-9)
