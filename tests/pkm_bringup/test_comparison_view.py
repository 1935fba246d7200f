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
