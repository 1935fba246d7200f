"""Identification and tracking with and without the effects that a model lacks."""

from argparse import Namespace

from pkm_bringup.runner import Runner
from pkm_bringup.studies import effects_study
from pkm_bringup.views.study_views.study_tables import print_effects


def test_one_robot_from_its_recording_to_its_tracking(monkeypatch, capsys):
    monkeypatch.setattr(effects_study, 'FORCES_OF', 2)
    monkeypatch.setattr(effects_study, 'CASES', (('modelled', 'described'),))
    options = Namespace(robot='five_bar', periods=2, runs=1, seed=0)
    content = effects_study.run(options, Runner(1))
    (case,) = content['cases']
    assert case['predicted'].keys() == {'excitation, slower'}
    assert 0 < case['predicted']['excitation, slower'] < 0.05
    # errors of a servo without a model are about fifty times those that noise alone makes
    assert case['factor'] > 10
    tracked = case['tracked']
    for phase in ('full_speed', 'ramps'):  # [H]: bodies take the most, friction the rest
        errors = [tracked[law][phase] for law in ('nothing', 'rigid_body', 'identified')]
        assert errors == sorted(errors, reverse=True)
    print_effects(content)
    assert 'modelled' in capsys.readouterr().out


def test_means_over_the_runs():
    runs = [
        {
            'predicted': {'circle': error},
            'tracked': {'nothing': {'ramps': factor}},
            'without': 2.0,
            'with_model': 1.0,
            'factor': factor,
        }
        for error, factor in ((0.1, 2.0), (0.3, 4.0))
    ]
    found = effects_study.summary('all', 'auto', runs)
    assert found['runs'] == 2 and found['factor'] == 3.0
    assert found['predicted']['circle'] == 0.2
    assert found['tracked']['nothing']['ramps'] == 3.0
