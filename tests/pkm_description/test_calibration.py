"""Zeros and signs of one machine's encoders and drives, beside its description."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from slides import TURNED_GEARS, slides

import pkm_description
from pkm_description import DescriptionError, MotorSide
from pkm_description.description import EncoderAndDrive
from pkm_description.transmissions.calibration import (
    calibration_text,
    homed,
    machine_digest,
    published_text,
)
from pkm_description.transmissions.motor_side import spoken_by

GEARS_OF_MOTORS = f'\nside: motor{TURNED_GEARS}'
RAIL = -0.005  # [m/rad]
SIGNS = list(itertools.product((1, -1), (1, -1)))


@pytest.fixture(scope='module')
def plain():
    return slides()


@pytest.fixture(scope='module')
def geared(plain):
    return pkm_description.loads(plain.urdf, plain.yaml_text + GEARS_OF_MOTORS)


@pytest.fixture
def files(plain, tmp_path):
    (tmp_path / 'slides.urdf').write_text(plain.urdf)
    (tmp_path / 'slides.yaml').write_text(plain.yaml_text)
    return tmp_path


def calibrated(description, **drives):
    return replace(
        description, calibration={name: EncoderAndDrive(*each) for name, each in drives.items()}
    )


@pytest.mark.parametrize(('encoder', 'drive'), SIGNS)
def test_a_joint_that_is_its_own_motor(plain, encoder, drive):
    side = spoken_by(calibrated(plain, tip=(encoder, 0.3, drive)))
    assert side.motors == side.joints == ('lift', 'tip', 'across', 'along')
    said = np.array([0.1, 0.2, 0.4, 0.7])
    q = side.joint_positions(said)
    np.testing.assert_allclose(q, [0.1, encoder * 0.2 + 0.3, 0.4, 0.7])
    np.testing.assert_allclose(side.motor_positions(q), said)
    np.testing.assert_allclose(side.joint_rates(said), [0.1, encoder * 0.2, 0.4, 0.7])
    np.testing.assert_allclose(side.motor_rates(side.joint_rates(said)), said)
    np.testing.assert_allclose(side.joint_efforts(said), [0.1, drive * 0.2, 0.4, 0.7])
    np.testing.assert_allclose(side.motor_efforts(said), [0.1, drive * 0.2, 0.4, 0.7])
    assert side.named_joints({'tip': 1.0}) == {'tip': encoder + 0.3}


@pytest.mark.parametrize(('encoder', 'drive'), SIGNS)
def test_motors_behind_gears(geared, encoder, drive):
    """Of a motor that moves two joints, and of one with a spindle that turns backwards."""
    side = spoken_by(calibrated(geared, one=(encoder, 5.0, drive), screw=(-1, -2.0, drive)))
    one, two, screw, along = said = np.array([3.0, -7.0, 11.0, 0.4])
    assert side.motors == ('one', 'two', 'screw', 'along')
    at = encoder * one + 5.0
    q = [0.02 * at + 0.01 * two, 0.04 * at - 0.03 * two + 0.2, RAIL * (-screw - 2.0), along]
    np.testing.assert_allclose(side.joint_positions(said), q)
    np.testing.assert_allclose(side.motor_positions(np.array(q)), said)
    v = [encoder * 0.06 - 0.07, encoder * 0.12 + 0.21, -RAIL * screw, along]
    np.testing.assert_allclose(side.joint_rates(said), v)
    lift, tip, across = force = 2.0, 5.0, 0.5
    sent = [drive * (0.02 * lift + 0.04 * tip), 0.01 * lift - 0.03 * tip, drive * RAIL * across]
    forces = np.array([*force, 9.0])
    np.testing.assert_allclose(side.motor_efforts(forces), [*sent, 9.0])
    np.testing.assert_allclose(side.joint_efforts(np.array([*sent, 9.0])), forces)
    constants = np.full(4, np.nan)  # of joints; those of the slides' drives are 20 N/A
    currents = side.motor_currents(forces, constants)
    np.testing.assert_allclose(currents, [sent[0] / 0.5, sent[1] / 0.25, sent[2] / 0.1, 0.45])


def test_a_machine_as_described_speaks_of_its_joints(plain, geared):
    assert spoken_by(plain) is None
    np.testing.assert_array_equal(spoken_by(geared).matrix, MotorSide.of(geared).matrix)


def test_the_digest_is_that_of_the_robot(files, plain):
    (files / 'machine.yaml').write_text('robot: slides\njoints: {tip: {encoder: -1}}\n')
    found = pkm_description.load(f'{files}/slides.urdf calibration:={files}/machine.yaml')
    assert found.calibration == {'tip': EncoderAndDrive(encoder=-1)}
    assert found.digest == pkm_description.load(files / 'slides.urdf').digest
    again = pkm_description.load(files / 'slides.urdf', calibration=files / 'machine.yaml')
    assert again.calibration == found.calibration
    assert machine_digest(found) != found.digest
    assert machine_digest(plain) == plain.digest


@pytest.mark.parametrize('name', ['plain', 'geared'])
def test_the_published_text_carries_it(name, request):
    description = request.getfixturevalue(name)
    motor = 'across' if name == 'plain' else 'screw'
    own = calibrated(description, **{motor: (-1, 1e-5, 1)}, along=(1, 0.0, -1))
    heard = pkm_description.loads(own.urdf, published_text(own))
    assert heard.calibration == own.calibration
    assert heard.yaml_text == description.yaml_text and heard.digest == description.digest
    assert published_text(description) == description.yaml_text


def test_an_exported_urdf_has_it_beside(plain, tmp_path):
    own = calibrated(plain, across=(-1, 1e-5, 1))
    exported = pkm_description.build_export(own, 'urdf', remarks=('a machine',))
    (tmp_path / 'new.urdf').write_text(exported.text)
    (tmp_path / 'new.yaml').write_text(exported.sidecar)
    assert pkm_description.load(tmp_path / 'new.urdf').calibration == own.calibration
    assert 'calibration' not in pkm_description.build_export(plain, 'urdf').sidecar


def test_a_file_that_says_nothing_new(files):
    (files / 'machine.yaml').write_text('robot: slides\njoints: {tip: {encoder: 1, offset: 0}}\n')
    found = pkm_description.load(files / 'slides.urdf', calibration=files / 'machine.yaml')
    assert found.calibration == {} and spoken_by(found) is None


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('joints: {tip: {encoder: -1}}', 'does not say its robot; needed is robot: slides'),
        ('robot: delta', "is of robot 'delta'; needed is robot: slides"),
        ('robot: slides\njoints: {tipp: {drive: -1}}', "joints names 'tipp'.*is 'tip' meant"),
        ('robot: slides\njoints: {tip: {drive: 2}}', 'joints.tip.drive must be 1 or -1, not 2'),
        ('robot: slides\njoints: {tip: {encoder: true}}', 'tip.encoder must be 1 or -1, not True'),
        ('robot: slides\njoints: {tip: {offset: .nan}}', 'tip.offset must be a finite number'),
        ('robot: slides\njoints: {tip: {offset: far}}', "finite number, not 'far'"),
        ('robot: slides\njoints: {tip: {sign: -1}}', "joints.tip has the unknown key 'sign'"),
        ('robot: slides\njoints: {tip: -1}', 'joints.tip must be a mapping, not -1'),
        ('robot: slides\njoints: [tip]', 'joints must be a mapping'),
        ('robot: slides\nmotors: {tip: {drive: -1}}', "'motors' must be 'joints'"),
        ('robot: slides\njoints: {tip: {}, tip: {}}', "the key 'tip' stands there twice"),
        ('robot: slides\nencoders: {}', "unknown key 'encoders'"),
        ('[slides]', 'must be a mapping'),
    ],
)
def test_errors_name_the_file_and_what_is_wrong(files, text, message):
    path = files / 'machine.yaml'
    path.write_text(text)
    with pytest.raises(DescriptionError, match=message) as error:
        pkm_description.load(files / 'slides.urdf', calibration=path)
    assert str(path) in str(error.value)


def test_joints_of_a_robot_that_speaks_of_motors_are_refused(geared, tmp_path):
    (tmp_path / 'slides.urdf').write_text(geared.urdf)
    (tmp_path / 'slides.yaml').write_text(geared.yaml_text)
    (tmp_path / 'machine.yaml').write_text('robot: slides\njoints: {tip: {drive: -1}}')
    with pytest.raises(DescriptionError, match="'joints' must be 'motors', which are one, two, "):
        pkm_description.load(tmp_path / 'slides.urdf', calibration=tmp_path / 'machine.yaml')


def test_a_missing_file(files):
    with pytest.raises(DescriptionError, match=r"cannot read '.*none.yaml'"):
        pkm_description.load(f'{files}/slides.urdf calibration:={files}/none.yaml')


@pytest.mark.parametrize('name', ['plain', 'geared'])
def test_homing_keeps_signs_and_finds_the_offsets(name, request, tmp_path):
    description = request.getfixturevalue(name)
    motor = 'tip' if name == 'plain' else 'two'
    truth = calibrated(description, along=(1, -0.25, 1), **{motor: (-1, 0.75, -1)})
    before = calibrated(description, **{motor: (-1, 9.0, -1)})
    joints = np.array([0.1, 0.2, 0.3, 0.4])
    found = homed(before, spoken_by(truth).motor_positions(joints), joints)
    assert (found.calibration[motor].encoder, found.calibration[motor].drive) == (-1, -1)
    np.testing.assert_allclose(found.calibration[motor].offset, 0.75)
    np.testing.assert_allclose(found.calibration['along'].offset, -0.25)
    (tmp_path / 'slides.urdf').write_text(description.urdf)
    (tmp_path / 'slides.yaml').write_text(description.yaml_text)
    (tmp_path / 'machine.yaml').write_text(calibration_text(found))
    read = pkm_description.load(tmp_path / 'slides.urdf', calibration=tmp_path / 'machine.yaml')
    assert read.calibration == found.calibration
