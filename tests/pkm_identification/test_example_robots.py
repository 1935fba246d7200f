"""The example robots: against Pinocchio, and identified from forces that Pinocchio made."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pkm_description
from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_identification import Recording, identify

FOLDER = Path(pkm_description.__file__).parent / 'examples'
#: Name: degrees of freedom, idle spins.
EXAMPLES = {
    'agile_eye': (3, 0),
    'planar_rrr': (3, 0),
    'quattro': (4, 8),
    'six_rss': (6, 6),
    'three_upu': (3, 0),
    'tricept': (3, 0),
}
RATE = 100.0  # [Hz]
NOISE = 0.002  # of each drive's largest force


@pytest.fixture(scope='module', params=EXAMPLES)
def model(request):
    return ClosedChainModel(load(FOLDER / f'{request.param}.urdf.xacro'))


def _motion(model, seed=1, span=0.03):
    """Two harmonics of 1 Hz about home in each actuator, a small part of its stroke."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 1.0, 1.0 / RATE)
    stroke = np.minimum(model.upper - model.lower, 2.0)  # [m, rad]
    q, qd, qdd = (np.zeros((len(time), model.n_a)) for _ in range(3))
    for k in (1, 2, 3):
        a, b = span / k * stroke * rng.uniform(-1.0, 1.0, (2, model.n_a))
        w = 2.0 * np.pi * k
        s, c = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        q += a * s + b * c
        qd += w * (a * c - b * s)
        qdd -= w * w * (a * s + b * c)
    q += model.home_actuators
    return time, model.motion_from_actuators(q, qd, qdd)


def _oracle(model):
    from pinocchio_oracle import PinocchioOracle

    urdf = model.description.urdf
    for spin in model.description.idle_spins:  # along z: without a moment about it
        assert abs(spin.axis[2]) == 1.0
        urdf = re.sub(
            rf'(<link name="{spin.body}">.*?izz=)"[^"]*"', r'\1"0"', urdf, count=1, flags=re.DOTALL
        )
    return PinocchioOracle(model.description, urdf)


def test_the_examples_are_the_robots_that_they_are_called(model):
    drives, spins = EXAMPLES[model.description.name]
    assert (model.n_a, len(model.description.idle_spins)) == (drives, spins)
    assert {'topology', 'numbers'} == set(model.description.sidecar['sources'])


def test_forces_are_those_of_pinocchio(model):
    pytest.importorskip('pinocchio')
    _, motion = _motion(model)
    motion = motion[::10]
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    ours = model.inverse_dynamics(motion, rigid)
    oracle = _oracle(model)
    theirs = np.array([oracle.forces(model, motion, k) for k in range(len(motion))])
    assert np.max(np.abs(ours - theirs)) < 1e-9 * np.max(np.abs(theirs))


def test_parameters_are_identified_from_the_forces_of_pinocchio(model):
    pytest.importorskip('pinocchio')
    time, motion = _motion(model)
    others = np.where(model.parameter_mask('rigid_body'), 0.0, model.nominal_parameters)
    forces = model.inverse_dynamics(motion, others)
    oracle = _oracle(model)
    forces += np.array([oracle.forces(model, motion, k) for k in range(len(motion))])
    rng = np.random.default_rng(3)
    periods = 4
    measured = np.tile(forces, (periods, 1))
    measured += NOISE * np.abs(forces).max(axis=0) * rng.normal(size=measured.shape)
    positions = np.tile(model.actuator_states(motion).positions, (periods, 1))
    stamps = np.arange(len(measured)) / RATE
    recording = Recording.from_arrays(
        stamps, model.actuated_joints, positions, measured, period=1.0
    )
    result = identify(recording, model)
    base = model.base_parameters(shared=True)
    truth = dict(zip(base.names, base.matrix @ model.nominal_parameters, strict=True))
    true = np.array([truth[name] for name in result.names])
    # a normal number exceeds 5 once in two million; there are about a hundred
    assert np.max(np.abs(result.values - true) / result.standard_deviation) < 5.0
    predicted = result.predict(motion)
    size = np.abs(forces - forces.mean(axis=0)).sum(axis=0)
    error = np.abs(predicted - forces).sum(axis=0) / size
    assert np.max(error) < 0.02
