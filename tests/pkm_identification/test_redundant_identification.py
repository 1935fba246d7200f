"""A planar 4-RRR with four drives, identified from a simulated recording of all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import redundant_recordings
from hexapods import seven_struts
from npz_recordings import save
from redundant_recordings import ROBOT, recorded

import pkm_description
from pkm_bringup.cli import main
from pkm_description import DatasetError, RedundantActuationError
from pkm_dynamics import RedundantModel, mechanism_model
from pkm_identification import Recording, identify
from pkm_identification.datasets.source import Source
from pkm_identification.result.identified_robot import identified_robot
from pkm_identification.result.reading import load_result
from pkm_identification.validation.validate import validate


@pytest.fixture(scope='module')
def model():
    return mechanism_model(pkm_description.load(ROBOT))


@pytest.fixture(scope='module')
def recording():
    return recorded(1)


@pytest.fixture(scope='module')
def result(recording, model):
    return identify(recording, model, shared=False)


@pytest.fixture(scope='module')
def other():
    return recorded(2, periods=2)


def with_inner_forces(recording, size: float):
    """Currents of drives that hold `size` [N m] against each other besides."""
    model = RedundantModel(pkm_description.load(ROBOT))
    still = np.zeros((len(recording), model.core.n_a))
    when = recording.time + recording.effort_delay
    q = np.stack([np.interp(when, recording.time, each) for each in recording.positions.T], axis=1)
    motion = model.core.motion_from_actuators(q[:, :3], still, still)
    inner = np.linalg.svd(model.drive_jacobian(motion))[0][:, :, -1]
    inner *= np.sign(inner[:, :1])
    inner[0] = 0.0  # before the first position
    constants = np.array([each.force_constant for each in model.description.actuators])
    return recording.changed(currents=recording.currents + size * inner / constants)


def test_parameters_of_bodies_and_of_all_drives_are_found(result, model):
    base = model.base_parameters(shared=False, reduced=True)
    true = dict(zip(base.names, base.matrix @ model.nominal_parameters, strict=True))
    away = [true[name] - value for name, value in zip(result.names, result.values, strict=True)]
    # a normal number exceeds 5 once in two million; there are two dozen, and the seed is fixed
    assert np.max(np.abs(away) / result.standard_deviation) < 5.0
    for joint in ('motor1', 'motor2', 'motor3', 'motor4'):
        place = result.names.index(f'{joint}.coulomb')
        assert abs(result.values[place] - 0.15) < 0.02
        assert result.standard_deviation[place] < 0.01
    assert result.joint_names == ['motor1', 'motor2', 'motor3']


def test_seven_struts_are_identified_from_given_forces():
    """Forces of inverse dynamics, with a preload and a drive between others that is redundant."""
    section = 'redundant_actuation: {drives: [drive3], preload: {drive3: -60, drive5: 20}}\n'
    friction = 'friction: {drive3: {coulomb: 8, viscous: 30}, drive4: {coulomb: 3, viscous: 5}}\n'
    robot = RedundantModel(seven_struts(section + friction))
    core, time = robot.core, np.arange(400) / 200.0
    rng = np.random.default_rng(4)
    q, qd, qdd = (np.zeros((len(time), 6)) for _ in range(3))
    for k in range(1, 6):
        a, w = rng.normal(size=(2, 6)) * 0.01 / k, np.pi * k
        s, c = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        q += a[0] * s + a[1] * c
        qd += w * (a[0] * c - a[1] * s)
        qdd -= w * w * (a[0] * s + a[1] * c)
    motion = core.motion_from_actuators(core.home_actuators + q, qd, qdd)
    forces = np.tile(robot.inverse_dynamics(motion), (4, 1))
    forces += 0.5 * rng.normal(size=forces.shape)
    positions = np.tile(robot.drive_states(motion).positions, (4, 1))
    stamps = np.arange(len(forces)) / 200.0
    recording = Recording.from_arrays(stamps, robot.actuated_joints, positions, forces, period=2.0)
    found = identify(recording, core)
    base = core.base_parameters(shared=True, reduced=True)
    true = dict(zip(base.names, base.matrix @ core.nominal_parameters, strict=True))
    away = [true[name] - value for name, value in zip(found.names, found.values, strict=True)]
    assert np.max(np.abs(away) / found.standard_deviation) < 5.0
    place = found.names.index('drive3.viscous')
    assert abs(found.values[place] - 30.0) < 3.0


def test_the_model_predicts_another_motion(result, model, other):
    found = validate(other, result, model).summary()
    assert found['against_measured']['relative_absolute_error_overall'] < 0.06


def test_the_identified_model_has_forces_of_all_drives(result):
    robot = RedundantModel(pkm_description.load(ROBOT))
    wanted = redundant_recordings.motion(robot, seed=7)
    forces = robot.inverse_dynamics(wanted, result.standard_parameters)
    true = robot.inverse_dynamics(wanted)
    size = np.abs(true - true.mean(axis=0)).sum(axis=0)
    assert np.max(np.abs(forces - true).sum(axis=0) / size) < 0.03


def test_forces_that_the_drives_hold_against_each_other_are_not_seen(recording, result, model):
    again = identify(with_inner_forces(recording, 2.0), model, shared=False)
    apart = np.abs(again.values - result.values) / result.standard_deviation
    assert apart.max() < 1e-3


def test_a_model_file_belongs_to_the_robot(result, tmp_path, recording):
    result.save(tmp_path / 'model.yaml')
    found = load_result(tmp_path / 'model.yaml')
    assert found.model.description.followers[0].joint == 'motor4'
    np.testing.assert_allclose(found.values, result.values)
    with pytest.raises(RedundantActuationError, match="'planar_4rrr'.*a description of what"):
        identified_robot(found)


def test_a_long_recording_is_projected_as_a_short_one(recording, model):
    source = recording.source
    rows = Source(source.read, source.count, source.width, is_long=True)
    short = recording.for_model(model).efforts
    long = replace(recording, source=rows).for_model(model).source
    parts = [long.read(slice(first, first + 1000)).efforts for first in range(0, len(short), 1000)]
    found = np.concatenate(parts)
    # forces before the first position of a part are at an extrapolated one
    inside = np.arange(len(short)) % 1000 > 0
    np.testing.assert_allclose(found[inside], short[inside], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found, short, atol=2e-4 * np.abs(short).max())


def test_samples_that_do_not_count_do_so_in_all_coordinates(recording, model):
    positions, efforts = (np.ones((len(recording), 4), dtype=bool) for _ in range(2))
    positions[100, 1], efforts[200, 3] = False, False
    wrong = recording.positions.copy()
    wrong[100, 1] = np.nan
    marked = recording.changed(positions=wrong, position_valid=positions, effort_valid=efforts)
    found = marked.for_model(model)
    assert np.flatnonzero(~found.effort_valid.all(axis=1)).tolist() == [100, 200]
    assert not found.effort_valid[[100, 200]].any()
    assert np.argwhere(~found.position_valid).tolist() == [[100, 1]]
    assert np.isfinite(found.efforts).all()


def test_every_drive_has_to_be_recorded(recording, model):
    with pytest.raises(DatasetError, match="lacks joint 'motor4'"):
        identify(recording.with_joints(['motor1', 'motor2', 'motor3']), model)
    uncertain = replace(
        recording,
        force_constants=dict.fromkeys(recording.joint_names, 1.2),
        force_constant_deviations={'motor2': 0.1},
    )
    with pytest.raises(DatasetError, match="'motor2' has a standard deviation"):
        identify(uncertain, model)


@pytest.mark.parametrize(
    'options, feature',
    [
        ({'drive_terms': '*:offset'}, 'drive_terms'),
        ({'load_friction': ['elbow1']}, 'load_friction'),
        ({'drive_gains': True}, 'drive_gains'),
        ({'force_constants': {'motor1': 1.0}}, 'force_constants'),
        ({'friction': 'auto'}, 'friction auto'),
        ({'estimator': 'nonlinear_friction'}, 'the estimator nonlinear_friction'),
        ({'estimator': 'output_error'}, 'output error'),
    ],
)
def test_what_is_not_made_for_it_is_refused(recording, model, options, feature):
    with pytest.raises(RedundantActuationError, match=rf"'planar_4rrr'.*\(motor4\): {feature} is"):
        identify(recording, model, **options)


def test_the_command_line_identifies_and_validates(recording, other, tmp_path, capsys):
    files = []
    for name, each in (('one', recording), ('two', other)):
        files.append(str(tmp_path / f'{name}.npz'))
        save(files[-1], each)
    model = str(tmp_path / 'model.yaml')
    assert main(['identify', '--robot', str(ROBOT), files[0], '--output', model]) == 0
    said = capsys.readouterr()
    assert 'motor.coulomb' in said.out
    assert 'generalised forces at motor1, motor2, motor3' in said.err
    assert main(['validate', '--robot', str(ROBOT), '--model', model, files[1]]) == 0
    said = capsys.readouterr()
    assert 'eps_RA' in said.out and 'generalised forces' in said.err
