"""The table of `pkm compare` and what stands below it."""

from __future__ import annotations

from pkm_bringup.views.comparison_view import print_best, print_rows


def test_a_failure_of_several_is_told_once(capsys):
    rows = [
        {'name': name, 'parameters': None, 'failure': failure}
        for name, failure in (('ls', 'stuck'), ('wls', 'stuck'), ('iv', 'one period'))
    ]
    print_rows(rows)
    assert capsys.readouterr().out == '\nls, wls: stuck\n\niv: one period\n'


def test_without_predictions_none_is_recommended(capsys):
    print_best([])
    assert 'no held-out forces were predicted' in capsys.readouterr().out
