"""The table of `pkm compare` and what stands below it."""

from __future__ import annotations

from pkm_bringup.views.comparison_view import print_best, print_rows


def test_a_failure_of_several_is_told_once(capsys):
    rows = [
        {'name': name, 'parameters': None, 'failure': failure}
        for name, failure in (('ls', 'stuck'), ('wls', 'stuck'), ('iv', 'one period'))
    ]
    print_rows(rows)
    assert capsys.readouterr().out == '\nls, wls: stuck\niv: one period\n'


def test_errors_have_one_name_and_are_explained_where_they_are_printed(capsys):
    row = {'name': 'wls', 'parameters': 3, 'error': 0.2, 'failure': None}
    print_rows([row])
    header, *_, told = capsys.readouterr().out.splitlines()
    assert 'eps_RA [%]' in header and 'truth' not in header
    assert told.startswith('eps_RA: relative absolute error, sum |predicted - reference| / sum')
    print_rows([{**row, 'held_out': 0.3, 'held_out_truth': 0.1}])
    header, *_, measured, truth, band = capsys.readouterr().out.splitlines()
    assert 'held-out eps_RA to the truth, in band [%]' in header and measured == told
    assert truth == 'the truth: noise-free forces of the simulated robot'
    assert band.startswith('in band: at the frequencies')


def test_without_predictions_none_is_recommended(capsys):
    print_best([])
    assert 'no held-out forces were predicted' in capsys.readouterr().out


def test_the_measure_of_the_recommended_is_named(capsys):
    class Predicted:
        name = 'wls'

        def row(self):
            return {'name': 'wls', 'held_out': 0.123, 'is_physical': True, 'failure': None}

    print_best([Predicted()])
    assert 'use wls: it predicts held-out forces with an eps_RA of 12.3 %' in (
        capsys.readouterr().out
    )
