"""One robot in several worlds: what is identified, and what is said of the worlds."""

from argparse import Namespace

import pytest

from pkm_bringup.runner import Runner
from pkm_bringup.studies import worlds_study
from pkm_bringup.studies.worlds_study import parameter_rows, world_rows
from pkm_bringup.views.study_views.study_tables import print_worlds
from pkm_description.errors import MissingWorldError
from pkm_dynamics.worlds import named_worlds


def absent():
    raise MissingWorldError('no Gazebo: not on this machine')


def test_a_world_is_identified_from_and_a_missing_one_is_named(monkeypatch, capsys):
    monkeypatch.setattr(worlds_study, 'WORLDS', ('mujoco', 'gazebo'))
    monkeypatch.setattr(named_worlds, '_NEEDED', {'gazebo': absent})
    options = Namespace(robot='five_bar', periods=1, substeps=4)
    content = worlds_study.run(options, Runner(1))
    assert content['missing'] == {'Gazebo': 'no Gazebo: not on this machine'}
    (world,) = content['worlds']
    assert world['world'] == 'MuJoCo' and world['step'] == pytest.approx(1e-4)
    assert world['largest'] < 0.01 and world['gap'] < 1e-5
    assert sum(row['well_known'] for row in content['parameters']) >= 4
    print_worlds(content)
    shown = capsys.readouterr().out
    assert 'MuJoCo [%]' in shown
    assert 'missing: Gazebo (no Gazebo: not on this machine)' in shown


def test_deviations_are_from_the_truth_and_between_the_worlds():
    found = {'one': {'names': ['m', 'i', 'zero'], 'units': ['kg', 'kg m^2', 'N']}, 'other': {}}
    found['one'] |= {'values': [2.02, 0.9, 0.1], 'standard_deviation': [1e-3, 0.5, 1e-3]}
    found['other'] |= {'values': [1.94, 1.2, 0.1], 'standard_deviation': [1e-3, 0.1, 1e-3]}
    for each in found.values():
        each |= {'gap': 1e-6, 'tracking': 1e-4, 'step': 1e-3}
    mass, inertia, zero = rows = parameter_rows([2.0, 1.0, 0.0], found)
    assert mass['deviations'] == pytest.approx({'one': 0.01, 'other': -0.03})
    assert mass['between'] == pytest.approx(0.04) and mass['well_known']
    assert inertia['standard_deviation'] == 0.5 and not inertia['well_known']
    assert zero['deviations'] == {'one': None, 'other': None} and not zero['well_known']
    one, other = world_rows(rows, found)
    assert (one['where'], other['where']) == ('m', 'm')
    assert other['largest'] == pytest.approx(0.03) and one['rms'] == pytest.approx(0.01)
