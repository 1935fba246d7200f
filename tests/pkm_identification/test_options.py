"""The declarations of the options: functions, tables and messages agree with them."""

import argparse
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import pkm_msgs.action
import pkm_msgs.srv
from pkm_description.errors import DatasetError, EstimationError
from pkm_identification import design_excitation, identify, load, reduce_model
from pkm_identification.estimators.estimator_options import estimators
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.excitation import DesignLimits
from pkm_identification.excitation.search import criteria
from pkm_identification.excitation_options import CRITERIA, LIMITS, SEARCH
from pkm_identification.option import FLAG, Option, choice, number, whole
from pkm_identification.options import (
    COMMON,
    ESTIMATORS,
    LOADING,
    REDUCTION,
    SIGNALS,
    THRESHOLD,
    VALIDATION,
    check_options,
    tables,
    with_tables,
    written_options,
)
from pkm_identification.requests.refusal import Code
from pkm_identification.signals import SignalOptions
from pkm_identification.validation.validate import validate

ROOT = Path(__file__).resolve().parents[2]


def defaults(function) -> dict:
    """Keywords of a function and their defaults."""
    parameters = inspect.signature(function).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize('estimator', estimators())
def test_an_estimator_takes_what_is_declared(estimator):
    declared = {option.name: option.default for option in ESTIMATORS[estimator]}
    found = defaults(find_estimator(estimator))
    found.pop('problem')
    assert found == declared


@pytest.mark.parametrize(
    ('function', 'options'),
    [
        (SignalOptions, SIGNALS),
        (identify, COMMON),
        (reduce_model, (*REDUCTION, THRESHOLD)),
        (validate, VALIDATION),
        (design_excitation, SEARCH),
        (DesignLimits, LIMITS),
        (load, [option for option in LOADING if option.name in defaults(load)]),
    ],
)
def test_a_function_takes_what_is_declared(function, options):
    found = defaults(function)
    for option in options:
        given = found[option.name]
        assert (None if given == () else given) == option.default, option.name


def test_the_tables_of_the_documentation_are_those_of_the_declaration():
    pages = [
        path.read_text(encoding='utf-8')
        for path in (ROOT / 'pkm_identification').rglob('*.md')
        if 'node_modules' not in path.parts
    ]
    shown = [name for page in pages for name in re.findall('<!-- options: (.+?) -->', page)]
    assert sorted(shown) == sorted(tables())
    for page in pages:
        assert with_tables(page) == page, 'python scripts/write_option_tables.py'


def test_a_table_that_is_out_of_date_is_rewritten():
    page = 'a\n\n<!-- options: reports -->\n\n| old |\n\n<!-- end of options -->\n\nb\n'
    assert '| old |' not in with_tables(page) and tables()['reports'] in with_tables(page)


@pytest.mark.parametrize(
    ('values', 'good', 'bad'),
    [
        (number(0.0, ends=False), [1, 0.5, np.float64(2.0)], [0, -1, np.inf, np.nan, 'a', True]),
        (number(0.0, 1.0, ends=False), [0.5], [0.0, 1.0, '0.5']),
        (number(0.0, 1.0), [0.0, 1.0], [1.1]),
        (number(0.0, np.inf, 'none'), [0.0, 'none'], ['nobody', -1.0]),
        (whole(1), [1, np.int64(3)], [0, 1.0, True, '1', [1]]),
        (choice('a', 'b'), ['a'], ['c', '', 1, ['a']]),
        (FLAG, [True, False], [1, 'true', 0.0]),
    ],
)
def test_values_are_told_from_others(values, good, bad):
    option = Option('it', values, 'help', good[0])
    for value in good:
        option.check(value)
    for value in (*bad, None):
        with pytest.raises(EstimationError, match="option 'it' must be"):
            option.check(value)


def test_a_wrong_value_is_named_with_the_valid_ones():
    with pytest.raises(EstimationError, match=r"'cutoff' must be a positive number \[Hz\], not -1"):
        check_options(('wls',), {'cutoff': -1})
    with pytest.raises(EstimationError, match='auto, fourier, filter or local_cubic, not'):
        SignalOptions(method='fft')
    with pytest.raises(EstimationError, match="'tunig' of estimator 'irls'; valid are tuning, max"):
        check_options(('irls',), {'tunig': 1.0})
    with pytest.raises(DatasetError, match="'effort_unit' must be N or A, not 'kg'"):
        next(each for each in LOADING if each.name == 'effort_unit').check('kg')


def test_written_options():
    assert written_options([('a', '[*.m, 1]'), ('b', 'true')]) == {'a': ['*.m', 1], 'b': True}
    with pytest.raises(EstimationError, match="'a' is given twice"):
        written_options([('a', '1'), ('a', '2')])
    with pytest.raises(EstimationError, match="'a': '.*' is not YAML"):
        written_options([('a', '{')])


def test_arguments_of_the_command_line(capsys):
    parser = argparse.ArgumentParser(exit_on_error=False)
    for option in (
        Option('big_number', number(0.0, ends=False), 'of it', 3.0, 'm'),
        Option('kind', choice('a', 'b'), 'of it', 'a'),
        Option('parts', FLAG, 'of it', False),
        Option('all', number(), 'of it', flag='--one', metavar='X', many=True),
    ):
        option.add_argument(parser)
    found = parser.parse_args(['--big-number', '2', '--parts', '--one', '1', '--one', '2'])
    assert vars(found) == {'big_number': 2.0, 'kind': 'a', 'parts': True, 'one': ['1', '2']}
    assert 'of it [m]; default: 3' in parser.format_help()
    with pytest.raises(argparse.ArgumentError, match="'-2' is not a positive number"):
        parser.parse_args(['--big-number=-2'])


@pytest.mark.parametrize(
    ('answer', 'codes'),
    [
        (pkm_msgs.srv.Identify.Response, {Code.NO_DESCRIPTION}),
        (pkm_msgs.action.IdentifyWithProgress.Result, {Code.NO_DESCRIPTION, Code.CANCELED}),
    ],
)
def test_every_reason_of_identify_has_a_number(answer, codes):
    codes = codes | {
        Code.BAD_DATA,
        Code.UNKNOWN_ESTIMATOR,
        Code.BAD_OPTION,
        Code.ESTIMATION_FAILED,
        Code.CANNOT_WRITE,
    }
    assert len({getattr(answer, code.name) for code in codes}) == len(codes)


def test_criteria_are_those_of_the_search():
    assert set(CRITERIA) == set(criteria.CRITERIA)
