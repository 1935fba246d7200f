"""Defects put into recordings are found, named and left out; clean recordings stay whole."""

from __future__ import annotations

import numpy as np
import pytest
from chances import spread_range, whitened_error

import pkm_description
from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording, tidied
from pkm_identification.excitation.excitation_design import load_excitation
from pkm_identification.quality import KINDS
from pkm_identification.quality.examine import examined
from pkm_identification.quality.frozen import resolution
from pkm_identification.quality.report import located
from pkm_identification.signals import SignalOptions, process
from pkm_identification.validation.validate import validate

NAMES = ('left', 'right')
LEFT_OUT = ('outlier', 'stuck', 'saturation', 'not_finite')


def with_values(data, **signals):
    return tidied(data.changed(**signals))


def found(data):
    return examined(data).quality


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('rate', [100.0, 1000.0])
@pytest.mark.parametrize('noise', [0.0, 1.0])
def test_clean_recordings_stay_whole(record, noise, rate, seed):
    data = record(
        periods=4, rate=rate, seed=seed, force_noise=8.0 * noise, position_noise=1e-5 * noise
    )
    clean = examined(data)
    assert clean.quality.defects == () and clean.source.scan.all_valid
    if noise and rate > 500:
        assert clean.quality.noise['position']['left'] == pytest.approx(1e-5, rel=0.3)
        assert clean.quality.noise['effort']['right'] == pytest.approx(24.0, rel=0.3)


def test_rests_steps_and_quantised_sensors_are_no_defects(slider_model):
    """Rest, motion with friction steps, rest again; encoders of 10 um, converters of 0.05 N."""
    time = np.arange(6000) * 1e-3
    phase = np.clip((time - 1.0) / 4.0, 0.0, 1.0)
    smooth = phase**3 * (10 - 15 * phase + 6 * phase**2)
    for quantum, noise in ((0.0, 0.0), (1e-5, 0.0), (1e-5, 1e-6), (1e-5, 3e-5)):
        random = np.random.default_rng(1)
        q = 0.5 + np.column_stack([0.2 * np.sin(20 * smooth), 0.1 * np.cos(9 * smooth) - 0.1])
        forces = 5 * np.sign(np.gradient(q, axis=0)) + 40 * np.gradient(q, 1e-3, axis=0)
        q = q + noise * random.normal(size=q.shape)
        forces = forces + 2e4 * noise * random.normal(size=q.shape)
        if quantum:
            q, forces = np.round(q / quantum) * quantum, np.round(forces / 0.05) * 0.05
        data = examined(Recording.from_arrays(time, NAMES, q, forces))
        assert not set(data.quality.kinds) & set(LEFT_OUT), data.quality.defects
        assert data.source.scan.all_valid
        if quantum:
            steps = data.quality.resolution['position']
            assert steps['left'] == pytest.approx(quantum, rel=1e-6)


@pytest.mark.parametrize('share', [0.001, 0.005, 0.01])
@pytest.mark.parametrize(('least', 'most'), [(15, 25), (20, 200), (1e3, 1e5)])
def test_outliers_of_any_size_are_left_out(record, share, least, most):
    data = record(periods=4, seed=int(1e4 * share))
    random = np.random.default_rng(int(least))
    for signal, noise in (('positions', np.array([1e-5, 1e-5])), ('efforts', np.array([8.0, 24]))):
        wrong = random.random(data.positions.shape) < share
        size = random.uniform(least, most, wrong.shape) * random.choice([-1, 1], wrong.shape)
        soiled = getattr(data, signal) + wrong * size * noise
        marked = examined(with_values(data, **{signal: soiled}))
        valid = marked.position_valid if signal == 'positions' else marked.effort_valid
        assert np.count_nonzero(~valid & wrong) >= (0.85 if least == 15 else 0.93) * wrong.sum()
        assert np.count_nonzero(~valid & ~wrong) <= 0.002 * wrong.size
        lines = marked.quality.of_kind('outlier')
        assert {line.joint for line in lines} == set(NAMES)
        assert {line.signal for line in lines} == {signal[:-1]}
        rows = np.flatnonzero(~valid[:, 0])
        assert lines[0].count == len(rows) and lines[0].where[0][0] == data.time[rows[0]]


@pytest.mark.parametrize('robot', ['five_bar', 'delta'])
def test_small_outliers_of_fast_positions(robot):
    """Motion that few neighbours foretell; sizes of 12 to 30 standard deviations."""
    model = ClosedChainModel(pkm_description.load(robot))
    design = load_excitation(robot)
    time = np.arange(round(4000 * design.period)) * 1e-3
    exact = design.motion(time % design.period, model)
    positions = model.actuator_states(exact).positions
    random = np.random.default_rng(0)
    noisy = positions + 2e-5 * random.normal(size=positions.shape)
    efforts = random.normal(size=positions.shape)
    names = tuple(model.actuated_joints)
    assert examined(Recording.from_arrays(time, names, noisy, efforts)).position_valid is None
    wrong = random.random(noisy.shape) < 0.005
    size = random.uniform(12, 30, wrong.shape) * random.choice([-1, 1], wrong.shape)
    marked = examined(
        Recording.from_arrays(time, names, noisy + 2e-5 * wrong * size, efforts)
    ).position_valid
    assert np.count_nonzero(~marked & wrong) >= 0.95 * wrong.sum()
    assert np.count_nonzero(~marked & ~wrong) <= 1e-4 * wrong.size


@pytest.mark.parametrize('signal', ['positions', 'efforts'])
@pytest.mark.parametrize(('begin', 'length'), [(300, 20), (1234, 50), (2000, 400), (3900, 100)])
def test_stuck_sensors_are_named(record, signal, begin, length):
    data = record(periods=4, seed=begin)
    values = np.array(getattr(data, signal))
    values[begin : begin + length, 1] = values[begin, 1]
    marked = examined(with_values(data, **{signal: values}))
    (line,) = marked.quality.defects
    assert (line.kind, line.joint, line.signal) == ('stuck', 'right', signal[:-1])
    first, last = line.where[0]
    assert first == pytest.approx(data.time[begin + 1], abs=2e-3)
    assert last == pytest.approx(data.time[min(begin + length, 4000) - 1], abs=2e-3)


@pytest.mark.parametrize('by_limit', [False, True])
def test_saturation_is_found(record, by_limit):
    data = record(periods=4)
    level = np.quantile(np.abs(data.efforts[:, 0]), 0.97)
    cut = np.array(data.efforts)
    cut[:, 0] = np.clip(cut[:, 0], -level, level)
    limits = np.array([level, np.inf]) if by_limit else None
    marked = examined(with_values(data, efforts=cut, effort_limits=limits))
    (line,) = marked.quality.defects
    assert (line.kind, line.joint) == ('saturation', 'left')
    assert line.count >= 0.9 * np.count_nonzero(np.abs(data.efforts[:, 0]) >= level)
    assert marked.effort_valid[:, 1].all()


@pytest.mark.parametrize('levels', [2, 3, 6])
def test_the_last_digit_of_an_axis_at_rest_is_no_defect(levels):
    """While another axis moves: an encoder that toggles between some values, mostly at one."""
    time = np.arange(3000) * 1e-3
    random = np.random.default_rng(levels)
    chances = np.full(levels, 0.2 / (levels - 1))
    chances[-1] = 0.8
    held = np.repeat(random.choice(levels, 100, p=chances), 30)
    q = np.column_stack([np.sin(time), -2e-5 + 5e-7 * held])
    data = tidied(Recording.from_arrays(time, NAMES, q, np.cos(np.outer(time, [1.0, 2.0]))))
    assert {line.kind for line in found(data).defects} <= {'quantisation'}
    np.testing.assert_allclose(resolution(q)[1], 5e-7)


def test_a_command_that_stands_with_its_axis_is_no_stuck_sensor():
    """Forces asked for by a controller of positions in steps; a torque that freezes is one."""
    time = np.arange(4000) * 1e-2
    step = 2e-5
    target = 0.05 * np.clip(np.sin(0.5 * time), -0.8, 0.8)  # moves, stands, moves
    read = np.round(target / step) * step + step * (np.arange(4000) % 40 == 0)
    random = np.random.default_rng(0)
    force = np.round(200 * np.sign(np.gradient(target)) + 3e4 * (read - target) / step) * 0.01
    other = 0.1 * np.sin(2 * time)
    q = np.column_stack([read, other])
    efforts = np.column_stack([force, np.cos(time) + 0.01 * random.normal(size=4000)])
    for stuck in (set(), {'right'}):
        efforts[1000:1200, 1] = efforts[1000, 1] if stuck else efforts[1000:1200, 1]
        lines = found(tidied(Recording.from_arrays(time, NAMES, q, efforts))).of_kind('stuck')
        assert {line.joint for line in lines if line.signal == 'effort'} == stuck


def test_stamps(record, slider_model):
    data = record(periods=4, position_noise=1e-5)
    random = np.random.default_rng(0)
    order = np.arange(len(data))
    order[[1000, 1001]] = order[[1001, 1000]]  # swapped
    rows = np.insert(np.delete(order, np.arange(2000, 2005)), 500, 499)
    arrays = (data.time[rows], NAMES, data.positions[rows], data.efforts[rows])
    tidy = examined(tidied(Recording.from_arrays(*arrays)))
    assert (np.diff(tidy.time) > 0).all() and len(tidy) == 3995
    counts = {line.kind: line.count for line in tidy.quality.defects}
    assert counts == {'out_of_order': 1, 'duplicate_stamp': 1, 'gap': 5}
    (gap,) = tidy.quality.of_kind('gap')
    assert gap.where == ((pytest.approx(1.999), pytest.approx(2.005)),)
    with pytest.raises(DatasetError, match='stamps are out of order'):
        tidied(data.changed(time=data.time[random.permutation(4000)]))


@pytest.mark.parametrize('late', [False, True])
def test_jitter_of_the_sampling_and_of_the_stamps(record, motion, slider_model, late):
    """Stamps that tell when samples were taken are used; stamps that are only late are not."""
    data = record(periods=6, position_noise=1e-6)
    scattered = data.time + 1e-4 * np.random.default_rng(3).uniform(-1, 1, len(data))
    moved = 0.0 if late else motion(scattered).q - motion(data.time).q
    jittered = data.changed(time=scattered, positions=data.positions + moved)
    marked = examined(jittered)
    (line,) = marked.quality.defects
    assert line.kind == 'jitter'
    assert line.figures['standard_deviation_s'] == pytest.approx(1e-4 / np.sqrt(3), rel=0.05)
    assert ('even stamps' in line.treatment) == late
    reference = data.time if late else scattered
    np.testing.assert_allclose(marked.time, reference, atol=2e-6)


def test_unknown_joints_and_ruins(record):
    data = record(periods=2)
    dead = np.array(data.positions)
    dead[400:, 0] = dead[400, 0]
    with pytest.raises(DatasetError, match='stuck samples of the position of left'):
        examined(with_values(data, positions=dead))


def test_the_report_is_plain_and_ordered(record):
    data = record(periods=4)
    bad = np.array(data.efforts)
    bad[[50, 700, 701, 3000], 1] = np.nan
    quality = examined(with_values(data, efforts=bad)).quality
    content = quality.to_dict()
    assert content['defects'][0]['where'][1] == [0.7, 0.701]
    assert content['defects'][0]['stretches'] == 3
    assert 'effort of right: 4' in quality.defects[0].line()
    order = [KINDS.index(kind) for kind in quality.kinds]
    assert order == sorted(order)
    assert located('gap', np.array([], dtype=int), np.arange(3.0), '').where == ()


def test_resolution():
    random = np.random.default_rng(0)
    fine = random.normal(size=1000)
    for step in (1e-4, 0.004882, 0.5):
        assert resolution(np.round(fine / step)[:, None] * step)[0] == pytest.approx(step, rel=1e-3)
    assert resolution(fine[:, None])[0] == 0.0
    assert resolution(np.ones((100, 1)))[0] == 0.0


@pytest.mark.parametrize('method', ['fourier', 'filter'])
def test_motion_and_forces_hardly_suffer(record, motion, slider_model, method):
    """Whatever is left out, nothing is made up: errors are those of a few samples less.

    With the bad samples they are 5 to 140 times as large.
    """
    data = record(periods=4, force_noise=0.5)
    random = np.random.default_rng(5)
    positions, efforts = np.array(data.positions), np.array(data.efforts)
    wrong = random.random(positions.shape) < 0.01
    positions[wrong] += 0.01
    efforts[random.random(efforts.shape) < 0.01] += 500.0
    positions[1700:1750, 0] = positions[1700, 0]
    keep = random.random(len(data)) > 0.02
    bad = Recording.from_arrays(data.time[keep], NAMES, positions[keep], efforts[keep], period=1.0)
    errors = {}
    for name, each in (('clean', data), ('bad', bad)):
        signals = process(each, SignalOptions(method=method, cutoff=20.0))
        inside = np.arange(len(signals))
        if method == 'filter':
            inside = inside[signals.band.trim : -signals.band.trim]
            inside = inside[~signals.band.in_hole(inside)]
        reference = motion(signals.time[inside])
        wrong_by = (
            signals.accelerations[inside] - reference.qdd,
            signals.forces[inside] - slider_model.inverse_dynamics(reference),
        )
        errors[name] = np.sqrt([np.mean(each**2, axis=0) for each in wrong_by])
    assert (errors['bad'] < 1.1 * errors['clean']).all(), errors


@pytest.mark.parametrize(
    ('options', 'seeds', 'most', 'left', 'unseen'),
    [
        ({'period': 1.0}, [3], 1.2, {920}, {'unseen_share': 0.04}),
        # Each gap takes its samples and the reach of the filter on either side. The variances are
        # estimates from twenty blocks: the ratio of one recording is 1.1 by chance within 0.2.
        (
            {'method': 'filter', 'cutoff': 30.0},
            range(12),
            1.35,
            range(2300, 2858 - 3 * 80 - 40),
            {'gaps_without_rows': 4},
        ),
    ],
)
def test_gaps_that_no_period_fills(record, slider_model, options, seeds, most, left, unseen):
    """Forces lost for 80 ms in every period, positions once: estimates and validation hold."""
    ratios, rms = [], []
    for seed in seeds:
        data = record(periods=3, seed=seed)
        positions, efforts = np.array(data.positions), np.array(data.efforts)
        for start in (300, 1300, 2300):
            efforts[start : start + 80, 0] = np.nan
        positions[700:740, 1] = np.nan
        bad = tidied(Recording.from_arrays(data.time, NAMES, positions, efforts))
        clean, result = (identify(each, slider_model, 'wls', **options) for each in (data, bad))
        error = result.values - slider_model.nominal_parameters
        low, high = spread_range(len(error))
        assert low < np.sqrt(np.mean(whitened_error(error, result.covariance) ** 2)) < high
        ratios.append(result.standard_deviation / clean.standard_deviation)
        found, reference = (validate(each, result, slider_model, **options) for each in (bad, data))
        assert len(found.measured) in left and len(reference.measured) > max(left)
        rms.append([each.against_measured.residual_rms for each in (found, reference)])
        share = result.diagnostics['signals']
        assert {name: share[name] for name in unseen} == pytest.approx(unseen)
    np.testing.assert_allclose(*np.mean(rms, axis=0), rtol=0.03)
    ratio = np.mean(ratios, axis=0)
    least = 0.98 if 'period' in options else 0.9
    assert (least < ratio).all() and np.median(ratio) < most and ratio.mean() > 1.01
