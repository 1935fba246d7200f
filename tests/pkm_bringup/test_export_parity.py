"""Identified models, exported and read again: the same forces but for friction that is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup.exports.export_parity import READERS, export_parity
from pkm_description import build_export
from pkm_description.exporters import FORMATS
from pkm_identification import identify, load_excitation
from pkm_identification.datasets import Recording
from pkm_identification.result.identified_robot import identified_robot

EVERY = [(to, form) for to, forms in FORMATS.items() for form in forms if form != 'tree']


@pytest.fixture(scope='module', params=['five_bar', 'four_bar'])
def found(request):
    """Name of the robot, what was identified of it with noise, and the identified robot."""
    model, design = model_of(request.param), load_excitation(request.param)
    time = np.arange(1000) * design.period / 500.0
    motion = design.motion(time % design.period, model)
    forces = model.inverse_dynamics(motion, 1.2 * model.nominal_parameters)
    forces = forces + 0.02 * np.random.default_rng(0).normal(size=forces.shape)
    names, positions = tuple(model.actuated_joints), model.actuator_states(motion).positions
    recording = Recording.from_arrays(time, names, positions, forces, period=design.period)
    result = identify(recording.for_model(model), model)
    return request.param, result, identified_robot(result).description


@pytest.mark.parametrize(('to', 'form'), EVERY)
def test_forces_are_those_of_the_model(found, to, form):
    name, result, robot = found
    exported = build_export(robot, to, form)
    parity = export_parity(result, robot, exported, to)
    assert set(READERS) == set(FORMATS) and f'read by {READERS[to][0]}' in str(parity)
    assert parity.rigid < 1e-9
    if to == 'mjcf' and name == 'four_bar':  # friction in the joint that closes the loop
        assert parity.largest > 1e-3 and any('Coulomb' in loss for loss in exported.losses)
    else:
        assert parity.largest < 1e-9


@pytest.mark.parametrize(
    ('to', 'old', 'new'),
    [('urdf', '<mass value="', '<mass value="1'), ('mjcf', 'mass="', 'mass="1'),
     ('sdf', '<mass>', '<mass>1'), ('sdf', '<damping>', '<damping>1')],
)  # fmt: skip
def test_a_changed_file_is_seen(found, to, old, new):
    _, result, robot = found
    exported = build_export(robot, to)
    assert old in exported.text
    parity = export_parity(
        result, robot, replace(exported, text=exported.text.replace(old, new)), to
    )
    assert parity.largest > 1e-3
    assert (parity.rigid > 1e-3) == ('mass' in old)
