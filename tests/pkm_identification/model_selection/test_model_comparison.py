"""Several estimators on one dataset; what fails is a row."""

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification import identification, identify, validate
from pkm_identification.model_selection.friction_choice import choose_drive_model
from pkm_identification.model_selection.model_comparison import (
    Candidate,
    best,
    compare_estimators,
    divided,
)
from pkm_identification.regression.preparation import Phase


def test_rows_are_those_of_identify_and_validate(record, slider_model):
    data, other = record(periods=4, seed=1), record(periods=3, period=1.3, seed=2)
    phases = []
    found = compare_estimators(
        data,
        slider_model,
        ['ls', 'wls', 'irls'],
        validation=other,
        tuning=2.0,
        progress=lambda phase, fraction: phases.append((phase, fraction)),
    )
    assert [candidate.name for candidate in found] == ['ls', 'wls', 'irls']
    assert found[2].options == {'tuning': 2.0} and found[0].options == {}
    fractions = [fraction for _, fraction in phases]
    assert fractions == sorted(fractions) and phases[-1] == ('done', 1.0)
    read = [phase for phase, _ in phases if phase.endswith(Phase.READING)]
    assert read == [f'ls: {Phase.READING}']  # once for all
    expected = identify(data, slider_model, 'wls')
    row = found[1].row()
    relative = 100 * expected.standard_deviation / expected.values
    assert row['largest_relative_standard_deviation'] == pytest.approx(relative.max())
    assert row['parameters'] == 7 and row['failure'] is None and row['seconds'] > 0
    checked = validate(other, expected, slider_model)
    assert row['held_out'] == pytest.approx(checked.against_measured.overall)
    assert row['coverage'] == pytest.approx(checked.coverage.measured_overall)
    assert row['error'] == pytest.approx(
        validate(data, expected, slider_model).against_measured.overall
    )
    assert row['condition_number'] == expected.diagnostics['condition_number']


def test_terms_are_chosen_once_for_all_estimators(record, slider_model, monkeypatch):
    chosen = []

    def choose(problem, *given):
        chosen.append(given)
        return choose_drive_model(problem, *given)

    monkeypatch.setattr(identification, 'choose_drive_model', choose)
    data = record(periods=3)
    names = ('wls', 'ls', 'tls')
    found = compare_estimators(data, slider_model, names, friction='auto')
    assert [refused != '' for _, refused in chosen] == [False, True]  # `tls` takes no laws
    for name, each in zip(names, found, strict=True):
        alone = identify(data, slider_model, name, friction='auto')
        np.testing.assert_array_equal(each.result.values, alone.values)
        assert each.result.diagnostics.drive_terms == alone.diagnostics.drive_terms


def test_a_failure_ends_nothing(record, slider_model):
    data = record(periods=1)  # instrumental variables need two periods
    found = compare_estimators(data, slider_model, ['iv', 'wls'])
    assert 'period' in found[0].error and found[0].row()['failure'] == found[0].error
    assert found[1].result is not None and found[1].row()['held_out'] is None
    unusable, usable = record(periods=1)[:3], record(periods=2, seed=1)
    found = compare_estimators(
        record(periods=3), slider_model, ['ls'], validation=[unusable, usable]
    )
    row = found[0].row()
    assert found[0].result is not None and len(found[0].validations) == 1
    assert row['failure'].startswith('validation: ')
    expected = validate(usable, found[0].result, slider_model).against_measured.overall
    assert row['held_out'] == pytest.approx(expected)


def test_wrong_choices_are_errors(record, slider_model):
    data = record(periods=2)
    with pytest.raises(EstimationError, match="unknown estimator 'best'"):
        compare_estimators(data, slider_model, ['best'])
    with pytest.raises(EstimationError, match="unknown option 'tunig' of estimator 'irls'"):
        compare_estimators(data, slider_model, ['irls'], tunig=1.0)


def test_the_end_of_a_recording_is_kept_for_prediction(record):
    motion = record(periods=10)
    (used,), (held_out,) = divided([motion])
    assert len(used) + len(held_out) == 10_000 and len(held_out) == pytest.approx(2000, abs=2)
    assert held_out.time[0] > used.time[-1]


@pytest.mark.parametrize(('periods', 'kept'), [(12, 2), (4, 1), (2, 1)])
def test_whole_periods_are_kept_where_the_period_is_known(record, periods, kept):
    (used,), (held_out,) = divided([replace(record(periods=periods), period=1.0)])
    assert len(held_out) == pytest.approx(1000 * kept, abs=1)
    assert len(used) == pytest.approx(1000 * (periods - kept), abs=1)


def candidate(name, error, *, is_physical=True):
    class Known(Candidate):
        def row(self):
            return {'name': name, 'held_out': error, 'is_physical': is_physical}

    return Known(name, {})


def test_the_best_predicts_best_and_is_physical_where_that_makes_no_difference():
    bent, straight = candidate('wls', 0.0500, is_physical=False), candidate('feasible', 0.0502)
    worse, failed = candidate('ls', 0.08), candidate('iv', None)
    assert best([worse, bent, failed, straight]).name == 'feasible'
    assert best([worse, bent, failed]).name == 'wls'
    assert best([failed]) is None


def test_all_friction_laws_are_rows(record, slider_model):
    names = [each.name for each in compare_estimators(record(periods=1)[:400], slider_model)]
    assert 'nonlinear_friction law=power' in names and 'nonlinear_friction law=atan' in names
    assert 'wls friction=auto' in names and 'feasible friction=auto' in names
