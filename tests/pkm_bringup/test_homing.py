"""Offsets of encoders from a robot that stands where one knows it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from slides import slides

from pkm_bringup import cli
from pkm_bringup.commissioning.homing import homed_at
from pkm_description import DescriptionError, load
from pkm_description.description import EncoderAndDrive
from pkm_dynamics import ClosedChainModel

NAMES = ['tip', 'gripper', 'across', 'lift', 'along']  # as they come
SIGNS = {'tip': EncoderAndDrive(-1, 9.0, -1)}


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(replace(slides(), calibration=SIGNS))


def said(tip=2.0):
    return [tip, 9.0, 0.0, 1.0, -3.0]


def test_it_takes_the_mean_at_rest_and_keeps_signs(model):
    heard = [(NAMES, said(2.0 + noise)) for noise in (-1e-4, 1e-4)] + [(['gripper'], [1.0])]
    at_home = homed_at(model, heard).calibration
    home = dict(zip(model.actuated_joints, model.home_actuators, strict=True))
    assert (at_home['tip'].encoder, at_home['tip'].drive) == (-1, -1)
    np.testing.assert_allclose(at_home['tip'].offset, home['tip'] + 2.0)
    np.testing.assert_allclose(at_home['along'].offset, home['along'] + 3.0)
    found = homed_at(model, heard, at=[1.0, 0.5, 0.0, -2.0]).calibration
    assert list(found) == ['tip', 'along']  # the others say what is so
    np.testing.assert_allclose([found['tip'].offset, found['along'].offset], [2.5, 1.0])


def test_what_cannot_be_homed(model):
    with pytest.raises(DescriptionError, match='no joint state with a number for each of lift, '):
        homed_at(model, [(['gripper'], [1.0]), (NAMES, said(np.nan))])
    with pytest.raises(DescriptionError, match="'tip' moved by 0.1 m or rad"):
        homed_at(model, [(NAMES, said()), (NAMES, said(2.1))])
    with pytest.raises(DescriptionError, match='1 positions are given of the 4 joints lift, '):
        homed_at(model, [(NAMES, said())], [0.0])


@pytest.mark.ros
def test_the_verb_writes_a_file_that_is_read(model, tmp_path, capsys, monkeypatch):
    pytest.importorskip('rclpy')
    from sensor_msgs.msg import JointState

    from pkm_bringup.nodes.commission_client import CommissionClient

    state = JointState(name=NAMES, position=said())
    monkeypatch.setattr(
        CommissionClient, 'hear', lambda self, seconds: self.states.append((0.0, state))
    )
    (tmp_path / 'slides.urdf').write_text(model.description.urdf)
    (tmp_path / 'slides.yaml').write_text(model.description.yaml_text)
    (tmp_path / 'signs.yaml').write_text('robot: slides\njoints: {tip: {encoder: -1}}\n')
    robot, file = f'{tmp_path}/slides.urdf', tmp_path / 'machine.yaml'
    words = ['commission', f'{robot} calibration:={tmp_path}/signs.yaml', '--calibrate', str(file)]
    words += ['--at', '1.0', '0.5', '0.0', '-2.0']
    assert cli.main(words) == 0
    assert capsys.readouterr().out == file.read_text()
    assert load(robot, calibration=file).calibration == {
        'tip': EncoderAndDrive(-1, 2.5, 1),
        'along': EncoderAndDrive(1, 1.0, 1),
    }
    before = file.read_text()
    assert cli.main(words) == 1
    assert 'is not overwritten' in capsys.readouterr().err and file.read_text() == before
    assert cli.main([*words, '--move']) == 1
    assert 'moves nothing' in capsys.readouterr().err
