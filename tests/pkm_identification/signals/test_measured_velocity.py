"""Velocities of a drive beside coarse positions: combined, or named where they do not belong."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Recording, load, tidied
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.filtering import blend

NAMES = ('left', 'right')
CUTOFF = 30.0
COARSE = 2e-4  # [m] standard deviation and step of the positions
FINE = 1e-3  # [m/s] of the velocities


@pytest.fixture
def recording(slider_model, motion):
    """The function that records positions and velocities with noise, these possibly wrong."""

    def make(
        position_noise=0.0, quantum=COARSE, velocity_noise=FINE, factor=1.0, late=0.0, kept=None
    ):
        random = np.random.default_rng(0)
        time = 1e-3 * np.arange(4000)
        kept = slice(None) if kept is None else kept
        exact, before = motion(time), motion(time - late)
        q = exact.q + position_noise * random.normal(size=exact.q.shape)
        q = np.round(q / quantum) * quantum if quantum else q
        qd = factor * before.qd + velocity_noise * random.normal(size=q.shape)
        efforts = slider_model.inverse_dynamics(exact)
        arrays = (each[kept] for each in (q, efforts))
        return Recording.from_arrays(time[kept], NAMES, *arrays, velocities=qd[kept])

    return make


def error(data, motion, **options):
    """RMS error of the accelerations, away from the ends [m/s^2]."""
    options = {'method': 'filter', 'cutoff': CUTOFF, 'bad_samples': 'keep'} | options
    signals = process(data, SignalOptions(**options))
    inside = signals.usable
    exact = motion(signals.time[inside])
    return np.sqrt(np.mean((signals.accelerations[inside] - exact.qdd) ** 2)), signals


@pytest.mark.parametrize('noise', [{'quantum': COARSE}, {'quantum': 0, 'position_noise': COARSE}])
@pytest.mark.parametrize('gaps', [False, True])
def test_velocities_help_coarse_positions(recording, motion, noise, gaps):
    """Second derivatives of positions have the noise times (2 pi f)^2, first ones 2 pi f."""
    kept = np.random.default_rng(1).random(4000) > 0.02 if gaps else None
    data = recording(**noise, kept=kept)
    both, signals = error(data, motion)
    alone, plain = error(data, motion, velocities='positions')
    assert both < 0.3 * alone
    crossover = signals.diagnostics.velocity_crossover
    assert set(crossover) == set(NAMES)
    if not noise['quantum']:  # equal spectra of both noises; no less than a tenth of the cutoff
        assert crossover['left'] == pytest.approx(
            FINE / COARSE / (2 * np.pi), rel=0.4, abs=0.1 * CUTOFF
        )
    assert plain.diagnostics.velocity_crossover is None and not signals.warnings


def test_noisy_velocities_are_left_alone(recording, motion):
    data = recording(quantum=0, position_noise=1e-6, velocity_noise=0.1)
    both, signals = error(data, motion)
    assert both == error(data, motion, velocities='positions')[0]
    assert signals.diagnostics.velocity_crossover is None and not signals.warnings
    forced, _ = error(data, motion, velocities='measured')
    assert forced > 3 * both


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        ({'factor': -1.0}, '-1 times'),
        ({'factor': 57.2958}, '57.3 times'),
        ({'factor': 1.1}, '1.1 times'),
        ({'late': 5e-3}, '5 ms late'),
    ],
)
def test_velocities_of_something_else_are_named(recording, motion, wrong, said):
    data = recording(quantum=0, position_noise=1e-5, **wrong)
    both, signals = error(data, motion)
    assert both == error(data, motion, velocities='positions')[0]
    (text,) = signals.warnings  # both joints are wrong alike
    assert all(name in text for name in NAMES) and said in text
    with pytest.raises(EstimationError, match=said):
        error(data, motion, velocities='measured')


def test_nothing_is_said_of_an_axis_at_rest(recording, motion):
    """Its velocities are those of its load, and of the last digit of its encoder."""
    data = recording()
    q, qd = np.array(data.positions), np.array(data.velocities)
    q[:, 1], qd[:, 1] = np.round(3e-4 * q[:, 1], 6), 1e-4 * qd[:, 1]
    data = Recording.from_arrays(data.time, NAMES, q, data.efforts, velocities=qd)
    _, signals = error(data, motion)
    assert signals.warnings == ()
    assert set(signals.diagnostics.velocity_crossover) == {'left'}


def test_measured_ones_must_be_there(record, motion):
    with pytest.raises(EstimationError, match='has none'):
        error(record(periods=2), motion, velocities='measured')


def test_blended_signals_have_the_least_variance():
    """White noise on a velocity and differentiated white noise: no crossover gives less."""
    random = np.random.default_rng(0)
    interval, count = 1e-3, 40_000
    one, other = 1e-4, 5e-3
    slow = np.gradient(one * random.normal(size=(count, 1)), interval, axis=0)
    fast = other * random.normal(size=(count, 1))
    best = other / one / (2 * np.pi)
    sizes = [
        blend(slow, fast, np.array([factor * best]), interval).std() for factor in (0.4, 1.0, 2.5)
    ]
    assert sizes[1] < min(sizes[0], sizes[2])
    constant = np.full((count, 1), 3.0)
    np.testing.assert_allclose(blend(constant, constant, np.array([5.0]), interval), 3.0)


@pytest.mark.parametrize('form', ['csv', 'npz'])
def test_tables_hold_them(tmp_path, form):
    time = 0.01 * np.arange(50)
    arrays = np.random.default_rng(0).normal(size=(3, 50, 2))
    path = tmp_path / f'data.{form}'
    if form == 'npz':
        np.savez(
            path,
            time=time,
            joint_names=NAMES,
            **dict(zip(('positions', 'velocities', 'efforts'), arrays, strict=True)),
        )
    else:
        kinds = ('position', 'velocity', 'effort')
        header = ','.join(['time', *(f'{n}.{kind}' for kind in kinds for n in NAMES)])
        table = np.column_stack([time, *arrays])
        np.savetxt(path, table, delimiter=',', header=header, comments='', fmt='%.17g')
    data = load(path)
    np.testing.assert_array_equal(data.velocities, arrays[1])
    np.testing.assert_array_equal(data.with_joints(NAMES[::-1]).velocities, arrays[1][:, ::-1])


def test_lost_velocities_are_not_used(recording):
    data = recording()
    velocities = np.array(data.velocities)
    velocities[7, 0] = np.nan
    tidy = tidied(data.changed(velocities=velocities))
    assert tidy.velocities is None and len(tidy) == len(data)
    (defect,) = tidy.defects
    assert (defect.kind, defect.signal, defect.count) == ('not_finite', 'velocity', 1)
