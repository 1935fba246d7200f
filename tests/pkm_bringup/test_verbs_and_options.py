"""Every verb, option and estimator there was before the redesign is still there."""

import argparse
import json
from pathlib import Path

import pytest
from verb_parsers import parsers

from pkm_bringup import cli
from pkm_bringup.data_arguments import given_loading
from pkm_dynamics.joint_servo.gains import BANDWIDTH, DAMPING
from pkm_identification.estimators.estimator_options import ESTIMATORS, estimators
from pkm_identification.excitation_options import SERVO
from pkm_identification.options import COMMON, LOADING, REDUCTION, SIGNALS, VALIDATION, names

BEFORE = json.loads((Path(__file__).parent / 'verbs_and_options.json').read_text())


PARSERS = parsers()


@pytest.mark.parametrize('name', list(BEFORE['verbs']))
def test_a_verb_has_the_arguments_of_before(name):
    before, actions = BEFORE['verbs'][name], PARSERS[name]._actions
    found = {word: action for action in actions for word in action.option_strings}
    for option, was in before['options'].items():
        action = found[option]
        assert set(was['all']) <= set(action.option_strings)
        assert set(was['choices'] or ()) <= {str(each) for each in action.choices or ()}, option
        assert action.required <= was['required'], option
        assert action.nargs == was['nargs'], option
        if was['default'] is not None:  # else the library's own
            assert action.default in (was['default'], str(was['default'])), option
    positional = [
        {'name': action.metavar or action.dest, 'nargs': action.nargs}
        for action in actions
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction)
    ]
    assert positional == before['positional']


def test_estimators_have_the_options_of_before():
    assert set(estimators()) >= set(BEFORE['estimators'])
    for name, options in BEFORE['estimators'].items():
        assert {option.name for option in ESTIMATORS[name]} >= set(options)


def test_requests_have_the_options_of_before():
    for key, options in (('signals', SIGNALS), ('common', COMMON), ('loading', LOADING)):
        assert set(names(options)) >= set(BEFORE[key])
    assert set(names(REDUCTION)) >= set(BEFORE['services']['reduce'])
    assert {*names(VALIDATION), *names(SIGNALS), 'load'} >= set(BEFORE['services']['validate'])


def test_times_of_the_data_become_options_of_loading():
    words = ['validate', 'run', '--robot', 'palida', '--model', 'm.yaml', '--to', '4.5']
    for further, expected in (([], {'stop': 4.5}), (['--from', '1'], {'start': 1.0, 'stop': 4.5})):
        arguments = cli.build_parser('validate').parse_args([*words, *further])
        assert given_loading(arguments) == expected


def test_the_usual_servo_is_that_of_the_controller():
    """Written in the options as numbers: the parser does not load the controller."""
    usual = {option.name: option.default for option in SERVO}
    assert usual == {
        'bandwidth': BANDWIDTH,
        'damping': DAMPING,
        'gain_scale': 1.0,
        'max_error': None,
    }
