"""Robots with more drives than degrees of freedom: simulated, identified, fed forward."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hexapods import seven_struts

import pkm_description
from pkm_bringup.cli import main
from pkm_bringup.executed import executed_margins
from pkm_bringup.offline import dataset_of, effects_of, measured_arrays, simulate
from pkm_control.feedforward import identified_feedforward, nominal_feedforward
from pkm_dynamics import RedundantModel, mechanism_model, preset
from pkm_dynamics.simulation import SimulatedPlant
from pkm_dynamics.simulation.coordinate_plant import CoordinatePlant
from pkm_identification import design_excitation, identify
from pkm_identification.excitation import DesignLimits

ROBOT = str(Path(pkm_description.__file__).parent / 'examples' / 'planar_4rrr.urdf.xacro')
SECTION = 'redundant_actuation: {drives: [drive7], preload: {drive7: -40}}\n'


@pytest.fixture(scope='module')
def planar():
    return mechanism_model(pkm_description.load(ROBOT))


@pytest.fixture(scope='module')
def excitation(planar):
    near = DesignLimits(reach=0.15)  # a short way to its start
    search = {'starts': 1, 'iterations': 4, 'candidates': 8, 'seed': 2, 'workers': 1}
    return design_excitation(planar, period=0.6, limits=near, **search)


def test_the_whole_way(planar, excitation):
    """Designed, driven, identified; fed forward the model leaves the noise of the positions."""
    effects = effects_of(planar.description, 'modelled')
    options = {'effects': effects, 'ramp_time': excitation.ramp_time / 2}
    run = simulate(planar, excitation.trajectory, 4, **options, seed=4)
    arrays = measured_arrays(run, planar, excitation.period)
    assert arrays['joint_names'].tolist() == [f'motor{n}' for n in range(1, 5)]
    assert arrays['currents'].shape == arrays['truth_forces'].shape == (len(arrays['time']), 4)
    result = identify(dataset_of(arrays), planar)
    base = planar.base_parameters(shared=True, reduced=True)
    off = (result.values - base.values()) / result.standard_deviation
    assert np.abs(off).max() < 4.0  # of nine: once in two thousand
    found = result.controller_parameters
    known = identified_feedforward(planar, 'identified', list(found), list(found.values()))
    fed = simulate(planar, excitation.trajectory, 1, **options, feedforward=known, seed=5)
    assert np.all(fed.tracking_rms() < run.tracking_rms() / 30)


def test_drives_hold_their_preload_and_move_the_robot_as_planned():
    """Forces of the seven drives without noise are those of the distribution along the motion."""
    model = mechanism_model(seven_struts(SECTION))
    all_drives = RedundantModel(seven_struts(SECTION))
    effects = effects_of(all_drives.description, 'none')
    trajectory = preset(model, 'sine_z')
    run = simulate(
        model, trajectory, 1, effects=effects, feedforward=nominal_feedforward(model), seed=1
    )
    assert np.abs(run.errors[run.running]).max() < 2e-4
    wanted = all_drives.inverse_dynamics(
        trajectory.motion(run.trajectory_time[run.running], model), _without_friction(model)
    )
    told = run.drive_commands[run.running]
    assert np.abs(told - wanted).max() < 0.02 * np.abs(wanted).max()
    assert executed_margins(run, model).feasible
    still = all_drives.shares(trajectory.motion(np.zeros(1), model))[0]
    assert np.abs(still).max() > 5.0  # what tensions the drives against each other


def _without_friction(model):
    return np.where(model.parameter_mask('friction'), 0.0, model.nominal_parameters)


def test_a_plant_at_its_coordinates_goes_on_where_positions_cannot_be(planar):
    plant = SimulatedPlant(pkm_description.load(ROBOT), seed=1)
    drives = RedundantModel(plant.description)
    moved = CoordinatePlant(plant, drives)
    first = moved.step([0.1, 0.0, -0.1])
    assert first.positions.shape == (3,) and first.drive_positions.shape == (4,)
    plant._sample = type(plant.sample)(**{**vars(plant.sample), 'positions': np.full(4, 50.0)})
    again = moved.step([0.1, 0.0, -0.1])
    np.testing.assert_allclose(again.drive_commands, first.drive_commands, atol=1e-3)


def test_the_verbs(tmp_path, capsys):
    data, model = tmp_path / 'run.npz', tmp_path / 'model.yaml'
    words = ['simulate', ROBOT, '--trajectory', 'circle', '--feedforward', 'nominal']
    assert main([*words, '--periods', '2', '--ramp-time', '0.4', '--output', str(data)]) == 0
    assert main(['excite', 'check', 'circle', '--robot', ROBOT]) == 0
    assert 'force' in capsys.readouterr().out
    assert main(['identify', str(data), '--robot', ROBOT, '--output', str(model)]) == 0
    pages = tmp_path / 'data.html', tmp_path / 'model.html'
    assert main(['report', str(data), '--robot', ROBOT, '--output', str(pages[0])]) == 0
    assert main(['report', str(model), '--output', str(pages[1])]) == 0
    for page in pages:  # what redundant drives do not have is not proposed
        assert not re.search('--friction auto|excite run', page.read_text('utf-8'))


def test_describe_says_which_drives_are_redundant(capsys):
    assert main(['describe', ROBOT]) == 0
    text = capsys.readouterr().out
    assert 'mobility    3: 4 drives, 1 of them redundant (motor4)' in text
    assert '4 with a drive, 4 passive' in text


@pytest.mark.parametrize(
    'arguments',
    [
        ['describe', ROBOT, '--workspace'],
        ['export', ROBOT, '--to', 'mjcf', '--output', 'robot.xml'],
        ['export', ROBOT, '--to', 'cpp', '--output', 'cpp'],
        ['monitor', 'runs', '--robot', ROBOT],
    ],
)
def test_what_is_not_made_for_it_refuses_it(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) != 0
    said = capsys.readouterr().err
    assert "robot 'planar_4rrr' has more drives than degrees of freedom (motor4)" in said
