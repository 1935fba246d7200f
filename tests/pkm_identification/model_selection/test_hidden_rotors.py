"""Physical estimates of an arm whose drives have rotors that its description does not know."""

from __future__ import annotations

import numpy as np
import pytest
from mechanisms import control, joint, random_inertial, robot

from pkm_description import loads
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load_result
from pkm_identification.datasets import Recording
from pkm_identification.model_selection import hidden_rotors
from pkm_identification.physical.nearest import smallest_eigenvalues
from pkm_identification.validation.figures import compare

RATE, DURATION, NOISE = 100.0, 20.0, 0.05  # [Hz, s, N m]
# [kg m^2]: ten times what all links have about the first axis, so that no link can have it
ROTOR = {'joint2': {'rotor': 3.0}}


@pytest.fixture(scope='module')
def model():
    """Model of a vertical axis and two horizontal ones, parallel to each other."""
    random = np.random.default_rng(9)
    parts, previous = ['<link name="base_link"/>'], 'base_link'
    axes = (('turret', (0, 0, 1)), ('arm', (0, 1, 0)), ('platform', (0, 1, 0)))
    for k, (name, axis) in enumerate(axes):
        limit, rubs = (-2.5, 2.5, 10, 100), '<dynamics friction="0.5" damping="0.2"/>'
        place = (0.1, 0.0, 0.0), (0.0, 0.0, 0.0)
        link = joint(f'joint{k + 1}', 'revolute', previous, name, *place, axis, limit, rubs)
        inertial = random_inertial(random, 3.0 - k, 0.15)
        parts += [f'<link name="{name}">', inertial, '</link>', link]
        previous = name
    home = 'home: {joints: {joint1: 0.3, joint2: 0.5, joint3: -0.4}}\n'
    parts.append(control(['joint1', 'joint2', 'joint3']))
    return ClosedChainModel(loads(robot('arm', parts), home))


def sines(model, seed):
    """Stamps, and sums of four sines of each joint as a motion."""
    random = np.random.default_rng(seed)
    time = np.arange(round(RATE * DURATION)) / RATE
    rates = 2 * np.pi * random.uniform(0.1, 0.8, (4, 3))
    angles = rates * time[:, None, None] + random.uniform(0, 2 * np.pi, (4, 3))
    terms = np.sin(angles), rates * np.cos(angles), -(rates**2) * np.sin(angles)
    q, qd, qdd = (0.25 * each.sum(axis=1) for each in terms)
    return time, q, model.motion_from_actuators(q, qd, qdd)


def recorded(model, seed):
    time, q, motion = sines(model, seed)
    forces = model.inverse_dynamics(motion)
    forces = forces + NOISE * np.random.default_rng(100 + seed).normal(size=forces.shape)
    return Recording.from_arrays(time, tuple(model.actuated_joints), q, forces)


def error(result, truth):
    """Relative RMS error of the forces of another motion, against those without noise."""
    _, _, motion = sines(truth, 5)
    return compare(result.predict(motion), truth.inverse_dynamics(motion)).relative_rms


def test_bodies_get_the_rotors_that_no_motion_tells_from_them(model, tmp_path, monkeypatch):
    truth = model.with_drive_terms(ROTOR)
    data = recorded(truth, 1)
    found = identify(data, model, 'feasible')
    assert found.names == model.base_parameters().names
    # the third axis is parallel to the second: its rotor is told from links
    assert set(found.drive_terms) == {'joint1', 'joint2'}
    standard = dict(zip(found.parameter_names, found.standard_parameters, strict=True))
    assert min(smallest_eigenvalues(found.model, found.standard_parameters).values()) > 0
    assert standard['joint2.rotor'] > 1.0 and standard['joint1.rotor'] >= 0.0
    assert any("'joint2'" in text for text in found.diagnostics.warnings)
    np.testing.assert_allclose(found.matrix @ found.standard_parameters, found.values, atol=1e-7)
    found.save(tmp_path / 'model.yaml')
    read = load_result(tmp_path / 'model.yaml', model)
    assert read.parameter_names == found.parameter_names
    monkeypatch.setattr(hidden_rotors, 'hidden_rotors', lambda *_: [])
    without = identify(data, model, 'feasible')
    assert error(found, truth) < 0.02 < 0.1 < error(without, truth)


def test_bodies_that_can_have_the_data_get_none(model):
    found = identify(recorded(model, 2), model, 'feasible')
    assert not found.drive_terms
    assert found.parameter_names == list(model.parameter_names)
