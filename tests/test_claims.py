"""The page of claims says what the results say, and has a row for every table of the papers."""

import copy
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / 'scripts'
#: Tables of results in the papers.
TABLES = {
    'A': ('Table I', 'Table II', 'Table III', 'Figs 4, 5', 'Section V'),
    'P': ('Table I', 'Fig. 4'),
    'M': tuple(f'Table {number}' for number in range(1, 9)),
    'O': (
        *(f'Table 2.{number}' for number in range(1, 5)),
        *('Table 3.1', 'Table 3.2'),
        *(f'Table 4.{number}' for number in range(1, 18)),
        *(f'Table 5.{number}' for number in range(1, 7)),
    ),
    'H': ('Figs 4, 5', 'hydraulic MSI'),
}


@pytest.fixture(scope='module')
def claims():
    """The script; the claims are importable meanwhile."""
    before = list(sys.path)
    yield import_module('write_claims')
    sys.path[:] = before


@pytest.fixture
def results(claims):
    return copy.deepcopy(claims.results())


def places(where: str) -> set[str]:
    """Tables, figures and sections that a claim names; `Tables 4.2, 4.3` are two."""
    found = {where}
    for word, numbers in re.findall(r'(Table)s? ([\dIV.]+(?:, [\dIV.]+)*)', where):
        found |= {f'{word} {number}' for number in numbers.split(', ')}
    return found


@pytest.mark.parametrize('paper', list(TABLES))
def test_every_table_has_its_row(claims, paper):
    rows = [each.where for each in claims.claims_of(paper)]
    there = set().union(*map(places, rows))
    lacking = [each for each in TABLES[paper] if not any(each in place for place in there)]
    assert not lacking


def test_the_page_is_that_of_the_results(claims):
    assert claims.PAGE.read_text(encoding='utf-8') == claims.page(claims.results())


def test_results_are_of_full_runs_and_nothing_else_lies_there(claims):
    found = claims.results()
    assert sorted(found) == sorted(claims.full_studies())
    for name, content in found.items():
        assert content['origin']['study'] == name


def marks(claims, paper, study, results):
    rows = [each for each in claims.claims_of(paper) if each.study == study]
    return [each.row(results)[1].value for each in rows]


def test_a_mark_follows_from_the_figures(claims, results):
    """A UKF that were worse than least squares, and a faster one."""
    assert marks(claims, 'O', 'pendulum', results)[1:] == ['reproduced', 'reproduced']
    for row in results['pendulum']['cases']:
        if row['estimator'] == 'ukf':
            row['largest'] = [10 * each for each in row['largest']]
            row['time'] = 1e-9
    assert marks(claims, 'O', 'pendulum', results)[1:] == ['not reproduced', 'not reproduced']


def test_a_claim_of_which_a_part_holds_is_partly_reproduced(claims, results):
    laws = results['hydraulics']['laws']
    for row in laws:
        if row['law'] == 'velocity, actuator' and row['direction'] == 'x':
            row['rms'] *= 100
    assert 'partly' in marks(claims, 'H', 'hydraulics', results)


def test_results_that_lack_figures_are_an_error(claims, results):
    results['uf_pkm']['cases'] = results['uf_pkm']['cases'][:1]
    with pytest.raises(KeyError, match='0 rows with'):
        marks(claims, 'O', 'uf_pkm', results)
