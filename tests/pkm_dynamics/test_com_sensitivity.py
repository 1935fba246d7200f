"""Sensitivity to the centres of mass against bodies that are moved indeed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from every_model import NAMES, model_of

from pkm_dynamics.analysis.com_sensitivity import com_sensitivity
from pkm_dynamics.random_motion import random_motion


def shifted(model, body, offset):
    """Parameters of the model with a body's centre of mass moved, through `Inertial`."""
    values = model.nominal_parameters.copy()
    inertial = model.description.link(body).inertial
    moved = dataclasses.replace(inertial, com=inertial.com + offset)
    first = model.parameter_names.index(f'{body}.m')
    values[first : first + 10] = moved.standard_parameters()
    return values


@pytest.mark.parametrize('name', NAMES)
def test_sensitivity_is_the_derivative_of_the_forces(name):
    model = model_of(name)
    motion = random_motion(model, 6, seed=2)
    found = com_sensitivity(model, motion)
    np.testing.assert_allclose(found.forces, model.inverse_dynamics(motion), atol=1e-8)
    h = 1e-3  # the forces are quadratic in the shift: central differences are exact
    for index, body in enumerate(found.bodies):
        for axis, unit in enumerate(np.eye(3)):
            ahead, behind = (
                model.inverse_dynamics(motion, shifted(model, body, s * h * unit)) for s in (1, -1)
            )
            np.testing.assert_allclose(
                found.sensitivity[index, :, :, axis],
                (ahead - behind) / (2 * h),
                atol=1e-8 * (1.0 + np.abs(found.forces).max()) / h * 1e-3,
            )


def test_figures():
    model = model_of('skew_hexapod')
    motion = random_motion(model, 6, seed=2)
    found = com_sensitivity(model, motion)
    assert set(found.bodies) == {
        'platform',
        *(f'{part}{k}' for part in ('ring', 'stator', 'slider') for k in range(1, 7)),
    }
    shift = np.array([1e-5, 0.0, 0.0])
    change = model.inverse_dynamics(motion, shifted(model, 'platform', shift)) - found.forces
    mean = np.linalg.norm(change, axis=1).mean() / np.linalg.norm(found.forces, axis=1).mean()
    share = found.percent_per_millimetre()['platform'][0]
    assert 0.01 * share == pytest.approx(100.0 * mean, rel=1e-3)
