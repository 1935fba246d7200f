"""The momentum form against finite differences of the energy and inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import NAMES, model_of
from waves import derivative, wave

from pkm_description import TrajectoryError
from pkm_dynamics.equations.energy import energy_parts
from pkm_dynamics.equations.forward_dynamics import mass_matrix
from pkm_dynamics.equations.momentum import momentum_form
from pkm_dynamics.equations.quadrature import interval_integrals, low_pass
from pkm_dynamics.parameters.base_parameters import random_motion


@pytest.mark.parametrize('name', NAMES)
def test_momentum_is_the_mass_matrix_times_the_rates(name):
    model = model_of(name)
    motion = random_motion(model, 8, seed=3)
    form = momentum_form(model, motion)
    rates = model.actuator_states(motion).velocities
    expected = np.einsum('nab,nb->na', mass_matrix(model, motion), rates)
    np.testing.assert_allclose(
        form.momentum @ model.nominal_parameters, expected, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize('name', NAMES)
def test_rest_is_the_gradient_of_the_energies(name):
    """dV/dq - dT/dq at constant rates, differenced over each actuator in turn."""
    model = model_of(name)
    motion = random_motion(model, 3, seed=7, scale=0.5)
    q, qd, _ = model.actuator_states(motion)
    rigid = np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)
    rest = momentum_form(model, motion).rest @ rigid
    h = 1e-4
    for j in range(model.n_a):
        lagrangian = []
        for k in range(-2, 3):
            moved = model.motion_from_actuators(
                q + k * h * np.eye(model.n_a)[j], qd, np.zeros_like(q), motion[:1]
            )
            kinetic, potential = energy_parts(model, moved)
            lagrangian.append((kinetic - potential) @ rigid)
        gradient = derivative(np.array(lagrangian), h)
        np.testing.assert_allclose(rest[:, j], -gradient, atol=1e-6 * (1 + np.abs(rest).max()))


@pytest.mark.parametrize('name', NAMES)
def test_impulses_and_filtered_forces(name):
    model = model_of(name)
    t = np.linspace(0.0, 0.1, 401)
    motion = wave(model, t)
    forces = model.inverse_dynamics(motion)
    form = momentum_form(model, motion)
    impulses = interval_integrals(t, forces)
    np.testing.assert_allclose(
        form.intervals(t) @ model.nominal_parameters, impulses, atol=1e-8 * np.abs(impulses).max()
    )
    smooth = low_pass(t, forces, 20.0)
    np.testing.assert_allclose(
        form.filtered(t, 20.0) @ model.nominal_parameters, smooth, atol=1e-5 * np.abs(smooth).max()
    )


def test_low_pass_follows_its_differential_equation():
    """A ramp has the closed form x - (1 - exp(-w t)) / w; uneven times give the same."""
    w = 2.0 * np.pi * 3.0
    t = np.linspace(0.0, 1.0, 101)
    expected = t - (1.0 - np.exp(-w * t)) / w
    np.testing.assert_allclose(low_pass(t, t, 3.0), expected, atol=1e-12)
    uneven = np.sort(np.random.default_rng(0).uniform(0, 1, 50))
    uneven[0] = 0.0
    expected = uneven - (1.0 - np.exp(-w * uneven)) / w
    np.testing.assert_allclose(low_pass(uneven, uneven, 3.0), expected, atol=1e-12)
    np.testing.assert_allclose(low_pass(t, np.ones(101), 3.0, 1.0), 1.0)


def test_wrong_times_are_named():
    model = model_of('tripod')
    form = momentum_form(model, random_motion(model, 5, seed=1))
    with pytest.raises(TrajectoryError, match=r'\(4,\), the motion 5'):
        form.intervals(np.arange(4.0))
    with pytest.raises(TrajectoryError, match='cutoff must be a positive'):
        form.filtered(np.arange(5.0), 0.0)
