"""A first motion of a robot of which little is known, and the next one with what it gave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.offline import dataset_of, measured_arrays, simulate
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import largest_errors
from pkm_dynamics.parameters.rewritten_description import rewritten
from pkm_dynamics.simulation import PlantEffects
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.excitation_options import UNKNOWN
from pkm_identification.identification import identify
from pkm_identification.requests.next_excitation import next_excitation

ROBOT = 'five_bar'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """With the first design."""
    path = tmp_path_factory.mktemp('first')
    words = ['--robot', ROBOT, '--first', '--starts', '2', '--workers', '1']
    assert cli.main(['excite', 'design', *words, '--output', str(path / 'first.yaml')]) == 0
    return path


def heavy(factor):
    """The robot with all its bodies `factor` times as heavy."""
    model = model_of(ROBOT)
    values = np.array(model.nominal_parameters)
    values[model.parameter_mask('rigid_body')] *= factor
    parameters = dict(zip(model.parameter_names, values.tolist(), strict=True))
    return rewritten(model.description, parameters, {}, 'other masses')


def driven(design, plant):
    """The controller knows the described robot; what moves is `plant`."""
    model = model_of(ROBOT)
    effects = PlantEffects.from_description(model.description)
    given = {'ramp_time': design.ramp_time, 'effects': effects, 'plant': plant}
    return simulate(model, design.trajectory, 2, **given)


@pytest.mark.parametrize('factor', [0.5, 2.0])
def test_a_robot_of_half_or_twice_the_masses_follows_the_first_motion(folder, factor):
    model = model_of(ROBOT)
    design = ExcitationDesign.load(folder / 'first.yaml', model)
    run = driven(design, heavy(factor))
    assert not run.saturated.any()
    assert (np.abs(run.errors).max(axis=0) < 0.5 * largest_errors(model)).all()
    span = np.asarray(model.upper) - np.asarray(model.lower)
    states = model.actuator_states(design.motion(np.linspace(0.0, design.period, 500)))
    way = np.abs(states.positions - np.asarray(model.home_actuators)).max(axis=0)
    assert (way <= UNKNOWN['reach'] * span * 1.01).all() and (way > 0.01 * span).any()


def data(design, plant):
    model = model_of(ROBOT)
    arrays = measured_arrays(driven(design, plant), model, design.period)
    return dataset_of(arrays)


def test_what_the_first_motion_gave_designs_a_better_second_one(folder):
    model, plant = model_of(ROBOT), heavy(2.0)
    first = ExcitationDesign.load(folder / 'first.yaml', model)
    gave = data(first, plant)
    found = identify(gave, model)
    second = next_excitation(found, starts=1, iterations=30, workers=1)
    assert second.period < first.period
    # of the robot that is there: its forces keep their limits
    truth = ClosedChainModel(plant)
    forces = truth.inverse_dynamics(second.motion(np.linspace(0.0, second.period, 500)))
    assert (np.abs(forces) < model.force_limit).all()
    both = identify([gave, data(second, plant)], model)
    # more than the first motion once more would give, in less time
    assert np.median(both.standard_deviation / found.standard_deviation) < 1.0 / np.sqrt(2.0)
    expected = np.array(list(second.figures['standard_deviation'].values()))
    assert np.median(expected / found.standard_deviation) < 1.0


def test_what_is_not_known_at_all_counts_as_of_a_robot_without_a_model(folder):
    model, plant = model_of(ROBOT), heavy(1.0)
    found = identify(data(ExcitationDesign.load(folder / 'first.yaml', model), plant), model)
    open_ended = replace(found, covariance=found.covariance + np.diag([np.inf, *np.zeros(5)]))
    second = next_excitation(open_ended, starts=1, iterations=4, workers=1)
    assert second.origin['limits']['force_uncertainty'] == UNKNOWN['force_uncertainty']
