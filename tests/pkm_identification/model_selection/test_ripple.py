"""Force ripple in residuals: found where it is, and with the right chance where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, lfilter
from slides import slides

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import wls
from pkm_identification.model_selection.ripple import find_ripple, find_ripples
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.bands import FilterBand, HarmonicBand

PITCH = 0.0121  # [m]
COUNT, RATE = 1500, 200.0
SEARCH = {'shortest': 0.009, 'longest': 0.05}


def positions_of(seed):
    """Four sines without a common period."""
    rng = np.random.default_rng(seed)
    size, frequency, phase = rng.uniform(0.02, 0.04, 4), rng.uniform(0.1, 0.6, 4), rng.random(4)
    t = np.arange(COUNT) / RATE
    return np.sin(2 * np.pi * (frequency * t[:, None] + phase)) @ size


def coloured(seed, memory=0.9):
    """Noise of one newton whose neighbours are correlated."""
    white = np.random.default_rng(1000 + seed).normal(size=COUNT + 400)
    return lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], white)[400:]


def ripple_at(q):
    angle = 2 * np.pi * q / PITCH
    return 0.8 * np.cos(angle) - 0.3 * np.sin(angle) + 0.5 * np.sin(2 * angle)


def check(found):
    """The ripple, within five standard deviations: fails once in 200,000 draws."""
    assert abs(found.period - PITCH) < 5 * found.period_deviation < 0.05 * PITCH
    assert found.harmonics == (1, 2)
    error = np.concatenate([found.cosine - [0.8, 0.0], found.sine - [-0.3, 0.5]])
    assert np.all(np.abs(error) < 5 * found.deviations)


def test_pitch_and_harmonics_are_found():
    q = positions_of(1)
    found = find_ripple(q, ripple_at(q) + coloured(1), **SEARCH)
    check(found)
    assert found.p_value < 1e-6
    assert 0.1 < found.share < 0.6
    expected = {'period': found.period, 'harmonics': [1, 2]}
    assert found.section() == {'ripple': expected}


@pytest.mark.parametrize('kind', ['filter', 'harmonics', 'gap'])
def test_columns_pass_the_band_of_the_data(kind):
    """Rows of a filter or of a period: where it cuts, it cuts both alike."""
    q = positions_of(2)
    if kind == 'filter':
        sections = butter(4, 20.0, fs=RATE, output='sos')
        band = FilterBand(sections, 20.0, RATE, step=4, trim=20)
    else:
        weights = np.ones((COUNT, 1))
        weights[600:800] = kind != 'gap'
        band = HarmonicBand(200, COUNT / RATE, weights)
    forces = (ripple_at(q) + 0.5 * coloured(2))[:, None]
    rows = band.evaluate(lambda part: forces[part], COUNT)[:, 0]
    check(find_ripple(q, rows, band=band, **SEARCH))


def test_chance_of_a_peak_without_ripple_is_that_of_the_p_value():
    """Of 30 draws 3 have p < 0.1 on average; more than 9 in one of 2,000 cases."""
    search = {'shortest': 0.02, 'longest': 0.05}
    chances = [find_ripple(positions_of(k), coloured(k), **search).p_value for k in range(30)]
    assert np.sum(np.array(chances) < 0.1) <= 9
    assert min(chances) > 1e-5  # of one in 3,000


def test_colour_alone_is_no_ripple():
    """A resonance of the residuals repeats in time, not over the position."""
    white = np.random.default_rng(5).normal(size=COUNT + 400)
    ringing = lfilter([1.0], [1.0, -2 * 0.97 * np.cos(0.2), 0.97**2], white)[400:]
    assert find_ripple(positions_of(5), ringing, **SEARCH).p_value > 1e-3


def test_what_the_model_can_take_is_no_ripple():
    q = positions_of(6)
    angle = 2 * np.pi * q / PITCH
    known = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    residuals = coloured(6)
    search = {'shortest': PITCH * 0.999, 'longest': PITCH * 1.001, 'harmonics': 1}
    plain = find_ripple(q, residuals + known @ [3.0, 3.0], **search)
    assert plain.p_value < 1e-12
    left = find_ripple(q, residuals + known @ [3.0, 3.0], known=known, **search)
    assert left.p_value > 1e-4
    wide = np.concatenate([np.zeros((COUNT, 3)), known, known @ [[1.0], [2.0]]], axis=1)
    same = find_ripple(q, residuals + known @ [3.0, 3.0], known=wide, **search)
    assert same.p_value == pytest.approx(left.p_value, rel=1e-6)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'residuals': np.ones(7)}, '1500 positions make 1500 rows'),
        ({'positions': np.zeros(COUNT)}, 'moves too little'),
        ({'residuals': np.full(COUNT, np.nan)}, 'must be finite'),
        ({'shortest': 1e-7}, 'give a shortest period'),
        ({'shortest': 0.2, 'longest': 0.1}, 'not below the longest'),
        ({'known': np.ones((COUNT, COUNT - 5))}, 'too few'),
    ],
)
def test_impossible_searches_are_refused(changes, message):
    given = {'positions': positions_of(1), 'residuals': coloured(1), **SEARCH, **changes}
    with pytest.raises(EstimationError, match=message):
        find_ripple(given.pop('positions'), given.pop('residuals'), **given)


def test_each_drive_of_a_robot_is_searched():
    """From the residuals to the terms of the next identification."""
    model = ClosedChainModel(slides())
    ripple = {'period': 0.11, 'cosine': 4.0, 'sine': -2.0}
    truth = model.with_drive_terms({'across': {'ripple': ripple}})
    rng, time = np.random.default_rng(3), np.arange(1600) / 200.0
    stroke = model.upper - model.lower
    w = 2 * np.pi * rng.uniform(0.15, 0.6, (3, 4))
    angle = time[:, None, None] * w + rng.uniform(0, 6, (3, 4))
    size = stroke / 9.0
    q = 0.5 * (model.upper + model.lower) + np.sum(size * np.sin(angle), axis=1)
    qd, qdd = np.sum(size * w * np.cos(angle), axis=1), -np.sum(size * w**2 * np.sin(angle), axis=1)
    forces = truth.inverse_dynamics(truth.motion_from_actuators(q, qd, qdd))
    forces += 0.5 * rng.normal(size=forces.shape)
    data = Recording.from_arrays(time, model.actuated_joints, q, forces)
    options = {'method': 'filter', 'cutoff': 20.0}
    signals = process(data.for_model(model), SignalOptions(**options))
    problem = build_problem([signals], model)
    found = find_ripples(problem, wls(problem).values, shortest=0.05)
    assert min(found, key=lambda joint: found[joint].p_value) == 'across'
    best = found['across']
    assert best.p_value < 1e-12 and best.harmonics == (1,)
    assert abs(best.period - 0.11) < 5 * best.period_deviation
    assert all(found[joint].p_value > 1e-4 for joint in ('lift', 'along'))
    result = identify(data, model, drive_terms={'across': best.section()}, **options)
    index = result.names.index('across.ripple_cos1')
    # the phase at a period that is off by its deviation
    assert result.values[index] == pytest.approx(4.0, abs=0.5)
