"""Recordings of a machine whose encoders and drives count otherwise than its description says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from slides import GEARS, slides

import pkm_description
from pkm_description import DatasetError
from pkm_description.description import EncoderAndDrive
from pkm_description.transmissions.calibration import published_text
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording
from pkm_identification.datasets.recorded_metadata import recorded_calibration

FLIPPED = {'tip': EncoderAndDrive(-1, 0.3, 1), 'across': EncoderAndDrive(1, -0.2, -1)}
OF_MOTORS = {'one': EncoderAndDrive(-1, 3.0, 1), 'screw': EncoderAndDrive(-1, 2.0, -1)}
# q = encoder said + offset of `tip` and `across`, in the order of the drives
ENCODERS, ZEROS, DRIVES = [1, -1, 1, 1], [0, 0.3, -0.2, 0], [1, 1, -1, 1]


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(slides())


@pytest.fixture(scope='module')
def said():
    random = np.random.default_rng(3)
    return {name: random.normal(size=(20, 4)) for name in ('positions', 'velocities', 'forces')}


def recording(names, said, kind, calibration, **more):
    samples = {'positions': said['positions'], 'velocities': said['velocities']}
    samples[kind] = said['forces']
    time = np.arange(20) / 100.0
    return Recording.from_arrays(time, names, calibration=calibration, **samples, **more)


@pytest.mark.parametrize('kind', ['efforts', 'currents'])
def test_joints(model, said, kind):
    names = model.actuated_joints
    given = recording(names[::-1], {k: v[:, ::-1] for k, v in said.items()}, kind, FLIPPED)
    found = given.for_model(model)
    np.testing.assert_allclose(found.positions, said['positions'] * ENCODERS + ZEROS)
    velocities = found.source.whole.velocities
    np.testing.assert_allclose(velocities, said['velocities'] * ENCODERS)
    constants = model.force_constants if kind == 'currents' else 1.0
    np.testing.assert_allclose(found.efforts, said['forces'] * DRIVES * constants)
    again = found.for_model(model)
    np.testing.assert_array_equal(again.positions, found.positions)


def test_the_calibration_of_the_recording_counts_alone(model, said):
    other = replace(model.description, calibration={'lift': EncoderAndDrive(-1, 1.0, -1)})
    given = recording(model.actuated_joints, said, 'currents', FLIPPED)
    found, expected = given.for_model(ClosedChainModel(other)), given.for_model(model)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_array_equal(found.efforts, expected.efforts)
    plain = recording(model.actuated_joints, said, 'efforts', {}).for_model(ClosedChainModel(other))
    np.testing.assert_array_equal(plain.positions, said['positions'])


def test_motors(model, said):
    """One drives two joints, by a current; another turns its spindle backwards."""
    plain = model.description
    geared = ClosedChainModel(
        pkm_description.loads(plain.urdf, f'{plain.yaml_text}\nside: motor{GEARS}')
    )
    names = ('one', 'two', 'screw', 'along')
    constants = {'one': 0.5, 'two': 0.25, 'screw': 0.1, 'along': 20.0}
    given = recording(names, said, 'currents', OF_MOTORS, side='motor', force_constants=constants)
    found = given.for_model(geared)
    one, two, screw, along = said['positions'].T
    one, screw = 3.0 - one, 2.0 - screw
    lift, tip = 0.02 * one + 0.01 * two, 0.04 * one - 0.03 * two
    expected = np.column_stack([lift, tip, -0.005 * screw, along])
    np.testing.assert_allclose(found.positions, expected)
    one, two, screw, along = (said['forces'] * list(constants.values())).T
    lift, tip, across, along = found.efforts.T
    np.testing.assert_allclose(0.02 * lift + 0.04 * tip, one)
    np.testing.assert_allclose(0.01 * lift - 0.03 * tip, two)
    np.testing.assert_allclose(-0.005 * across, -screw)
    np.testing.assert_allclose(along, said['forces'][:, 3] * 20.0)


def test_names_of_the_data(model, said):
    names = [f'drv_{name}' for name in model.actuated_joints]
    own = {f'drv_{name}': each for name, each in FLIPPED.items()}
    given = recording(names, said, 'efforts', own)
    found = given.renamed(dict(zip(names, model.actuated_joints, strict=True)))
    assert found.calibration == FLIPPED
    positions = found.for_model(model).positions
    np.testing.assert_allclose(positions, said['positions'] * ENCODERS + ZEROS)


def test_a_calibration_of_what_is_not_there(model, said):
    given = recording(model.actuated_joints, said, 'efforts', {'tipp': EncoderAndDrive(-1)})
    with pytest.raises(DatasetError, match="calibration: joints names 'tipp'.*is 'tip' meant"):
        given.for_model(model)


def test_commands_are_to_joints_whatever_the_drives(model, said):
    given = recording(model.actuated_joints, said, 'efforts', FLIPPED).as_commanded()
    found = given.for_model(model)
    np.testing.assert_allclose(found.positions, said['positions'] * ENCODERS + ZEROS)
    np.testing.assert_array_equal(found.efforts, said['forces'])


def test_the_recorded_text(model):
    description = replace(model.description, calibration=FLIPPED)
    text = published_text(description)
    assert recorded_calibration(text, 'bag') == (description.yaml_text, FLIPPED)
    assert recorded_calibration(description.yaml_text, 'bag') == (description.yaml_text, {})
    for old, new in (('encoder: -1', 'encoder: 0'), ('calibration:', 'other:'), ('tip:', '&a tip')):
        with pytest.raises(DatasetError, match="'bag': calibration: "):
            recorded_calibration(text.replace(old, new), 'bag')
