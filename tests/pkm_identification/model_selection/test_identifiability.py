"""Properly identified parameters and stepwise reduction, against loops of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification import identify, reduce_model, validate
from pkm_identification.datasets import Truth
from pkm_identification.model_selection.identifiability import (
    Identifiability,
    identifiability,
    possible_signs,
    sizes_of_differences,
)


def test_verdicts_follow_the_threshold_and_the_sign(record, slider_model):
    result = identify(record(periods=4, force_noise=25.0, seed=1), slider_model, 'gauss_markov')
    found = identifiability(result, slider_model)
    relative = 100 * np.sqrt(np.diag(result.covariance)) / np.abs(result.values)
    np.testing.assert_allclose(found.relative, relative)
    assert found.count == np.count_nonzero((relative <= 15) & (result.values >= 0))
    assert 0 < found.count < 7
    assert {row['verdict'] for row in found.rows()} <= {'proper', 'uncertain', 'impossible sign'}
    strict = identifiability(result, slider_model, threshold=float(relative.min()) + 1e-9)
    assert strict.count == 1
    opposite = identifiability(replace(result, values=-result.values), slider_model)
    assert not opposite.is_proper[3:].any()  # friction; the sliders have no bodies
    assert opposite.verdict(3 + int(np.argmin(relative[3:]))) == 'impossible sign'
    with pytest.raises(EstimationError, match='positive percentage'):
        identifiability(result, slider_model, threshold=0.0)
    held = identify(record(periods=4), slider_model, fixed={'c.m': 1.5})
    assert identifiability(held, slider_model).verdict(held.names.index('c.m')) == 'held'


def test_signs_of_sliders(slider_model):
    base = slider_model.base_parameters()
    np.testing.assert_array_equal(possible_signs(base, slider_model)[3:], 1)


@pytest.mark.parametrize('held_at', ['zero', 'nominal'])
def test_reduction_is_a_loop_of_identifications(record, slider_model, held_at):
    data = record(periods=4, force_noise=25.0, seed=1)
    other = record(periods=3, period=1.3, force_noise=25.0, seed=2)
    found = reduce_model(data, slider_model, 'gauss_markov', validation=other, held_at=held_at)
    fixed: dict[str, float | None] = {}
    for step in found.steps:
        expected = identify(data, slider_model, 'gauss_markov', fixed=dict(fixed))
        judged = identifiability(expected, slider_model)
        assert step.parameters == 7 - len(fixed)
        assert step.proper == judged.count
        assert step.held_out['measured'] == pytest.approx(
            validate(other, expected, slider_model).against_measured.overall, rel=0.01
        )
        if step.dropped:
            candidates = judged.is_estimated & ~judged.is_proper
            worst = np.argmax(np.where(candidates, judged.relative, -1))
            assert step.dropped == judged.names[worst]
            fixed[step.dropped] = 0.0 if held_at == 'zero' else None
    assert found.dropped == tuple(fixed) and 0 < len(fixed) < 7
    assert found.identifiability.count == len(found.kept) == 7 - len(fixed)
    np.testing.assert_allclose(found.result.values, expected.values, rtol=1e-3)
    assert found.result.diagnostics['dropped'] == list(found.dropped)
    assert found.steps[0].variance_ratio == 1.0 and found.steps[-1].variance_ratio > 0.9


def test_essential_parameters_stay_though_uncertain(record, slider_model):
    data = record(periods=4, force_noise=25.0, seed=1)
    certain = reduce_model(data, slider_model, 'gauss_markov')
    essential = reduce_model(data, slider_model, 'gauss_markov', significance=0.01)
    assert set(certain.kept) < set(essential.kept)
    assert all(step.p_value > 1e-4 for step in essential.steps)
    for name in set(essential.kept) - set(certain.kept):  # F-test of its own
        index = essential.result.names.index(name)
        assert essential.identifiability.relative[index] > 15
        assert essential.identifiability.relative[index] < 100 / 2.3
    with pytest.raises(EstimationError, match='between 0 and 1'):
        reduce_model(data, slider_model, significance=5.0)


def test_what_the_data_do_not_determine_goes_first(record, slider_model, motion):
    data = record(periods=4, force_noise=1.0)
    still = motion(data.time)
    for values in (still.q, still.qd, still.qdd):
        values[:, 0] = 0.3 * (values is still.q)
    random = np.random.default_rng(0)
    forces = slider_model.inverse_dynamics(still) + random.normal(size=data.positions.shape)
    positions = still.q + 1e-6 * random.normal(size=forces.shape)
    data = data.changed(positions=positions, efforts=forces)
    result = identify(data, slider_model)
    first = identifiability(result, slider_model)
    unknown = {
        name for name, known in zip(first.names, first.is_determined, strict=True) if not known
    }
    assert {'left.coulomb', 'left.viscous'} <= unknown
    found = reduce_model(data, slider_model)
    assert found.steps[0].reason == 'undetermined' and found.steps[0].dropped in unknown
    assert 'right.viscous' in found.kept
    assert found.identifiability.count == len(found.kept)


def test_kept_parameters_and_truth(record, slider_model, motion):
    data = record(periods=4, force_noise=25.0, seed=1)
    truth = Truth(
        data.time, data.positions, data.positions, slider_model.inverse_dynamics(motion(data.time))
    )
    found = reduce_model(
        data, slider_model, validation=[replace(data, truth=truth)], keep='*.coulomb'
    )
    assert {'left.coulomb', 'right.coulomb'} <= set(found.kept)
    assert 0 < found.steps[0].held_out['truth'] < found.steps[0].held_out['measured']
    with pytest.raises(EstimationError, match='held_at must be zero or nominal'):
        reduce_model(data, slider_model, held_at='mean')
    with pytest.raises(EstimationError, match="keep: no base parameter .* 'nobody'"):
        reduce_model(data, slider_model, keep='nobody')


def test_left_out_parameters_do_not_count_in_the_verdict(record, slider_model):
    data = record(periods=4)
    found = identify(data, slider_model, left_out=['left.viscous', 'c.*'])
    expected = identify(data, slider_model, fixed={'left.viscous': 0.0, 'c.m': 0.0})
    np.testing.assert_array_equal(found.values, expected.values)
    assert sorted(found.diagnostics['left_out']) == ['c.m', 'left.viscous']
    assert found.provenance['options']['left_out'] == ['left.viscous', 'c.*']
    index = found.parameter_names.index('left.viscous')
    assert found.standard_parameters[index] == pytest.approx(10.0, rel=1e-3)  # nominal
    assert expected.standard_parameters[index] == pytest.approx(0.0, abs=1e-3)


def test_reduction_says_what_it_costs(record, slider_model):
    """At 15 % the noise makes nothing of account uncertain; at 2 % what matters is dropped."""
    data = record(periods=4, force_noise=8.0, seed=2)
    kept = reduce_model(data, slider_model, threshold=1e3).result.diagnostics['warnings']
    strict = reduce_model(data, slider_model, threshold=2.0)
    assert strict.dropped and not any('residuals show' in text for text in kept)
    (warning,) = (text for text in strict.result.diagnostics['warnings'] if 'dropped' in text)
    assert f'grown {strict.steps[-1].variance_ratio:.3g} times' in warning
    tested = reduce_model(data, slider_model, threshold=2.0, significance=0.01)
    assert not any('dropped' in text for text in tested.result.diagnostics['warnings'])
    assert len(tested.kept) > len(strict.kept)


def test_differences_of_equal_parts_are_judged_by_the_size_of_these(record, slider_model):
    """Three sliders of one mass: as differences, two of them are zero, and known all the same."""
    nominal = np.array([4.0, 4.0, 4.0, 0.0, 1.0])
    rows = [
        [1, 0, -1, 0, 0],
        [0.5, -1, 0.5, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    sizes = sizes_of_differences(np.array(rows), nominal)
    np.testing.assert_allclose(sizes, [4.0, 4.0, 0.0, 0.0, 0.0])
    names = list('abcde')
    values, deviation = np.array([1e-3, -1e-4, 12.0, 0.1, 1.0]), np.full(5, 0.3)
    relative = 100 * deviation / np.where(sizes > 0, sizes, np.abs(values))
    signs, all_of = np.zeros(5, int), np.ones(5, bool)
    found = Identifiability(names, values, relative, signs, all_of, 15.0, sizes > 0)
    assert [found.verdict(k) for k in range(5)] == ['proper'] * 3 + ['uncertain'] * 2
    assert found.differences == ['a', 'b'] and found.count == 3
    result = identify(record(periods=4), slider_model)
    assert identifiability(result, slider_model).differences == []
