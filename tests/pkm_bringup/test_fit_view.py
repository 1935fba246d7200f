"""Sentences about data and fit."""

from argparse import Namespace
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup.data_arguments import given_options
from pkm_bringup.views.band_picture import band_choices, plot_bands
from pkm_bringup.views.console import print_columns
from pkm_bringup.views.identification_view import (
    fit_verdict,
    friction_terms,
    interval_heading,
    lopsided_friction,
    not_determined,
    parameter_columns,
    print_verdict,
    processing_lines,
    remarks,
    stands_for,
)
from pkm_description.errors import DatasetError, EstimationError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.set_membership.parameter_ellipsoid import EllipsoidDiagnostics
from pkm_identification.result.diagnostics import Diagnostics, ResidualFindings
from pkm_identification.result.drive_terms import Term, TriedTerm
from pkm_identification.result.verdict import Limit, verdict_of


@pytest.fixture(scope='module')
def model():
    return model_of('five_bar')


@pytest.fixture(scope='module')
def recorded(model):
    """Six periods of the five-bar with a little noise, without saying the period."""
    time = np.arange(3000) * 2e-3
    home = np.array([model.description.home_joints[name] for name in model.actuated_joints])
    phase = 2 * np.pi * time[:, None] * np.array([1.0, 2.0])
    swing = 0.2 * np.array([1.0, 0.7])
    q = home + swing * np.sin(phase)
    qd = swing * 2 * np.pi * np.array([1.0, 2.0]) * np.cos(phase)
    qdd = -swing * (2 * np.pi * np.array([1.0, 2.0])) ** 2 * np.sin(phase)
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    random = np.random.default_rng(0)
    forces = forces + 1e-3 * np.ptp(forces, axis=0) * random.normal(size=forces.shape)
    return Recording.from_arrays(time, model.actuated_joints, q, forces)


def test_periods_filter_and_fit(model, recorded):
    result = identify(recorded, model, 'wls')
    (line,) = processing_lines(result)
    assert line.startswith('data: 3000 samples, mean of 6 periods of 1 s (found in the data); ')
    result = identify([recorded, recorded], model, 'wls', method='filter', cutoff=12.0)
    assert processing_lines(result)[1] == (
        'data 2: 3000 samples, no period, filtered with a cutoff of 12 Hz'
    )


def test_bands_that_were_tried_are_drawn(model, recorded, tmp_path):
    result = identify(recorded, model, 'wls', method='filter')
    (choice,) = band_choices(result)
    cutoffs = [trial['cutoff'] for trial in choice['trials']]
    assert choice['cutoff'] in cutoffs and cutoffs == sorted(cutoffs)
    (line,) = processing_lines(result)
    assert f'{choice["cutoff"]:.4g} Hz, the best of {len(cutoffs)} from' in line
    plot_bands(result, tmp_path / 'bands.svg')
    drawn = (tmp_path / 'bands.svg').read_text()
    predicted = choice['prediction']['cutoff']
    assert drawn.count(f'predicted in: {predicted:.3g} Hz') == 1
    assert drawn.count('taken: ') == 1 and f'{choice["cutoff"]:.3g} Hz' in drawn
    with pytest.raises(EstimationError, match='nothing to draw'):
        plot_bands(identify(recorded, model, method='filter', cutoff=9.0), tmp_path / 'x.svg')
    assert not (tmp_path / 'x.svg').exists()


def test_the_verdict_is_the_first_line(model, recorded, capsys):
    result = identify(recorded, model, 'wls', method='filter')
    print_verdict(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('good model: forces of held-out parts of the data are predicted')
    assert any(line.startswith('  data: 3000 samples') for line in lines)
    assert '  friction: as described' in lines


def test_lines_name_the_recording_where_there_are_several(model, recorded, capsys):
    """Jitter of the stamps, coarse positions of all joints, and velocities that come late."""
    time = np.asarray(recorded.time)
    late = 5e-4 * np.random.default_rng(0).random(len(time))
    q = np.round(np.asarray(recorded.positions) / 1e-3) * 1e-3
    rates = np.gradient(np.roll(np.asarray(recorded.positions), 3, axis=0), time, axis=0)
    second = recorded.changed(time=time + late, positions=q, velocities=rates)
    options = {'method': 'filter', 'cutoff': 12.0}
    result = identify([recorded, second], model, 'wls', **options)
    print_verdict(result)
    told, shown = remarks(result), capsys.readouterr()
    (clock,) = [line for line in shown.out.splitlines() if line.startswith('  clock')]
    assert clock.startswith('  clock 2: jitter of the stamps') and 'interval 0.002 s' in clock
    (coarse,) = [line for line in told if 'coarse' in line]
    assert coarse.startswith('data 2: coarse resolution of the position of ')
    assert all(name in coarse for name in model.actuated_joints) and 'steps of 0.001;' in coarse
    (warning,) = result.diagnostics.warnings
    assert warning.startswith('data 2: measured velocities of ')
    print_verdict(identify(second, model, 'wls', **options))
    assert '  clock: jitter of the stamps' in capsys.readouterr().out


def test_a_model_limited_by_noise_may_lack_little(model, recorded, capsys):
    """Coloured residuals beside noise that makes most of the error are no contradiction."""
    result = identify(recorded, model, 'wls', period=1.0)
    findings = ResidualFindings((), tuple(model.actuated_joints[:1]))
    result = replace(result, diagnostics=replace(result.diagnostics, residual_findings=findings))
    assert verdict_of(result).limit is Limit.NOISE_OF_FORCES
    print_verdict(result)
    text = capsys.readouterr().out
    assert 'no noise but' not in text
    assert 'beside the noise a smaller error of the model, as coloured residuals show: ' in text


def test_what_the_residuals_ask_for_is_said_once(model, recorded, capsys):
    q = np.asarray(recorded.positions)
    forces = np.array(recorded.efforts)
    forces[:, 0] += 0.3 * np.ptp(forces[:, 0]) * np.sin(2 * np.pi * q[:, 0] / 0.05)
    data = Recording.from_arrays(recorded.time, recorded.joint_names, q, forces)
    result = identify(data, model, 'wls', method='filter', cutoff=40.0)
    sentence = result.diagnostics.drive_terms.asked_for.sentence()
    assert result.diagnostics.residual_findings.coloured
    print_verdict(result)
    text = capsys.readouterr().out
    assert text.count(sentence) == 1 and 'the held-out error there goes from' in text
    assert 'coloured residuals' not in text  # the first line says it
    assert sentence in friction_terms(result)  # where no verdict does


def test_terms_that_were_taken_are_told_together(model, recorded):
    result = identify(recorded, model, 'wls', period=1.0)
    row = TriedTerm(1, Term.OFFSET, ('a',), True, 0.2, 0.1, 0.3, 0.01, 50.0, 1e-9)
    rows = (
        row,
        replace(row, term=Term.ATAN, joints=('e',)),
        replace(row, joints=('b',), is_ambiguous=True),
        replace(row, joints=('c',), is_ambiguous=True),
        replace(row, joints=('d',), is_taken=False),
    )
    terms = replace(result.diagnostics.drive_terms, tried_terms=rows, asked_for=None)
    result = replace(result, diagnostics=replace(result.diagnostics, drive_terms=terms))
    assert friction_terms(result) == (
        'offset of a; arctangent friction of e; offset of b, c (or Coulomb friction by direction: '
        'these data do not tell them apart)'
    )


def test_friction_by_direction_is_told_with_both_values(model, recorded):
    result = identify(recorded, model, 'wls', period=1.0, drive_terms='*:asymmetry')
    found = lopsided_friction(result)
    values = dict(zip(result.names, result.values, strict=True))
    joint = result.joint_names[0]
    forwards = values[f'{joint}.coulomb_positive']
    assert len(found) == 1  # the drives are of one design
    assert found[0].startswith(f'Coulomb {joint} {forwards:+.3g}/')
    assert found[0] in friction_terms(result)


def test_delay_that_was_estimated(model, recorded):
    result = identify(recorded, model, 'wls', period=1.0, delay='estimate')
    (line,) = processing_lines(result)
    found = result.diagnostics['delay']
    assert line.endswith(
        f'; efforts {1e3 * found["value"]:.4g} +- {1e3 * found["standard_deviation"]:.2g} ms later'
    )


def test_patterns_need_no_quotes():
    texts = [
        'estimate=[*.viscous, a*.mx, "*.my"]',
        'fixed={*.my: [0.1, 0.2], *z: null}',
        'left_out=*.m',
    ]
    assert given_options(Namespace(option=texts)) == {
        'estimate': ['*.viscous', 'a*.mx', '*.my'],
        'fixed': {'*.my': [0.1, 0.2], '*z': None},
        'left_out': '*.m',
    }


def test_swapped_joints_are_said_to_fit_badly(model, recorded):
    assert fit_verdict(identify(recorded, model, 'wls', period=1.0)) == ''
    swapped = Recording.from_arrays(
        recorded.time, recorded.joint_names, recorded.positions, recorded.efforts[:, ::-1]
    )
    text = fit_verdict(identify(swapped, model, 'wls', period=1.0))
    assert 'times as large as noise explains' in text and 'joint names, units, signs' in text


def test_positions_in_degrees_are_said_to_leave_the_stroke(model, recorded):
    degrees = Recording.from_arrays(
        recorded.time, recorded.joint_names, np.degrees(recorded.positions), recorded.efforts
    )
    with pytest.raises(DatasetError, match='do unit and zero fit the description'):
        identify(degrees, model, 'wls', period=1.0)


def test_undetermined_parameters_and_a_set_with_outliers():
    def diagnostics(**content):
        return Diagnostics.from_mapping(content)

    result = SimpleNamespace(diagnostics=diagnostics(undetermined=['a.m', 'b.mx']), guaranteed=None)
    assert not_determined(result).endswith('(infinite variance): a.m, b.mx')
    many = SimpleNamespace(diagnostics=diagnostics(undetermined=[f'p{k}' for k in range(20)]))
    assert not_determined(many).endswith('p10, p11 and 8 more')
    assert not_determined(SimpleNamespace(diagnostics=Diagnostics())) == ''
    assert interval_heading(result, 0.95) == '95 %'
    result.guaranteed = object()
    for outliers, expected in ((0, 'guaranteed'), (3, 'set')):
        values = {each.name: 0 for each in fields(EllipsoidDiagnostics)} | {'outliers': outliers}
        result.diagnostics = Diagnostics(own=EllipsoidDiagnostics(**values))
        assert interval_heading(result, 0.95) == expected


def test_shapes_of_laws_that_are_held_have_no_deviation_of_zero(capsys):
    """A grid of exponents does not tell how uncertain the one that was taken is."""
    rows = [
        {'name': 'a.power_force', 'value': 2.0, 'standard_deviation': 0.1, 'relative': 5.0},
        {'name': 'a.power_exponent', 'value': 0.3, 'standard_deviation': 0.0, 'relative': 0.0},
    ]
    rows = [
        {**row, 'low': 0.2, 'high': 0.4, 'unit': '1', 'expression': row['name']} for row in rows
    ]
    print_columns(rows, parameter_columns('95 %'))
    estimated, held = (line.split() for line in capsys.readouterr().out.splitlines()[2:])
    assert estimated == ['a.power_force', '2', '0.1', '5', '0.2', '0.4', '1']
    assert held == ['a.power_exponent', '0.3', 'held', '-', '-', '-', '1']


def test_a_row_of_many_parameters_names_the_first_in_the_terminal():
    row = {'name': 'hand.m', 'expression': 'hand.m - 2*a.m + b.m - 1e-06*c.m + d.m'}
    assert stands_for(row) == stands_for(row, most=4) == row['expression']
    assert stands_for(row, most=3) == 'hand.m - 2*a.m + b.m and 2 more'
    assert stands_for({'name': 'a.m', 'expression': 'a.m'}, most=3) == ''
