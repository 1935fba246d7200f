"""Recordings that are read in blocks give what they give in memory."""

from __future__ import annotations

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from npz_recordings import save

from pkm_description.errors import DatasetError, EstimationError
from pkm_identification import identify, load, validate
from pkm_identification.datasets import Recording, source, stored_array, tidied
from pkm_identification.quality.examine import examined
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

DURATION = 90.0


@pytest.fixture
def wandering(slider_model, motion):
    """The function that records a motion that never repeats; 90 s at 1 kHz."""

    def record(time=None, noise=1.0):
        random = np.random.default_rng(3)
        time = np.arange(round(1e3 * DURATION)) * 1e-3 if time is None else time
        warped = time + 0.3 * np.sin(0.7 * time) / 0.7
        rate, bend = 1 + 0.3 * np.cos(0.7 * time), -0.21 * np.sin(0.7 * time)
        inner = motion(warped)
        moving = type(inner)(
            inner.q,
            inner.qd * rate[:, None],
            inner.qdd * rate[:, None] ** 2 + inner.qd * bend[:, None],
        )
        forces = slider_model.inverse_dynamics(moving)
        return Recording.from_arrays(
            time,
            ('left', 'right'),
            moving.q + 1e-6 * random.normal(size=moving.q.shape),
            forces + noise * random.normal(size=forces.shape),
            effort_delay=0.4e-3,
        )

    return record


@pytest.fixture
def load_in_blocks(monkeypatch):
    """The function that loads a file of a few thousand samples in blocks, too."""

    def read(path, **options):
        with monkeypatch.context() as patched:
            patched.setattr(source, 'LONG', 1000)
            patched.setattr(stored_array, 'IN_MEMORY', 1000)
            return load(path, **options)

    return read


def in_blocks(data):
    """Return a recording in memory as one that is read in blocks."""
    return replace(data, source=source.Source.of(data.source.whole, is_long=True))


def same(long, memory, tolerance=1e-10):
    scale = np.abs(memory).max()
    np.testing.assert_allclose(long, memory, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize('layout', ['stored', 'compressed', 'fortran'])
def test_blocks_of_a_file_hold_its_samples(
    tmp_path, wandering, slider_model, load_in_blocks, layout
):
    data = wandering()
    names = ('right', 'left')
    mixed = data.with_joints(names)
    positions = np.asfortranarray(mixed.positions) if layout == 'fortran' else mixed.positions
    path = tmp_path / 'data.npz'
    write = np.savez_compressed if layout == 'compressed' else np.savez
    write(
        path,
        time=data.time,
        joint_names=np.array(names),
        positions=positions,
        currents=mixed.efforts / [25.0, 20.0],
    )
    long = load_in_blocks(path)
    assert long.is_long and len(long) == len(data)
    np.testing.assert_array_equal(long.positions, mixed.positions)
    ordered = long.for_model(slider_model)
    assert ordered.joint_names == ('left', 'right')
    blocks = list(ordered.source.blocks())
    assert len(blocks) > 2
    np.testing.assert_array_equal(np.concatenate([block.time for block in blocks]), data.time)
    efforts = np.concatenate([block.efforts for block in blocks])
    np.testing.assert_allclose(efforts, data.efforts, rtol=1e-12)
    assert long.interval == pytest.approx(1e-3) and long.duration == pytest.approx(DURATION - 1e-3)


@pytest.mark.parametrize('uneven', [False, True])
def test_filtered_rows_are_those_in_memory(
    tmp_path, wandering, slider_model, load_in_blocks, uneven
):
    time = np.arange(round(1e3 * DURATION)) * 1e-3
    if uneven:
        time = time + 2e-4 * np.sin(370 * time) * np.minimum(1, time)
    data = wandering(time)
    path = save(tmp_path / 'data.npz', data)
    options = SignalOptions(method='filter', cutoff=18.0)
    memory = build_problem(process(data.for_model(slider_model), options), slider_model)
    signals = process(load_in_blocks(path).for_model(slider_model), options)
    assert signals.is_long and signals.diagnostics.interpolated == uneven
    problem = build_problem(signals, slider_model)
    blocks = list(problem.runs[0].blocks())
    assert len(blocks) > 2
    rows = np.concatenate([block.regressor for block in blocks])
    forces = np.concatenate([block.forces for block in blocks])
    same(rows, memory.regressor)
    same(forces, memory.forces)
    with pytest.raises(EstimationError, match='too many to be in memory'):
        _ = problem.regressor
    with pytest.raises(EstimationError, match='the positions of 90000 samples'):
        _ = signals.positions


@pytest.mark.parametrize('estimator', ['ls', 'wls', 'gauss_markov'])
@pytest.mark.parametrize('uneven', [False, True])
def test_streamed_estimates_are_those_in_memory(
    tmp_path, load_in_blocks, wandering, slider_model, estimator, uneven
):
    time = np.arange(round(1e3 * DURATION)) * 1e-3
    if uneven:
        time = time + 2e-4 * np.sin(370 * time) * np.minimum(1, time)
    data = wandering(time)
    options = {'method': 'filter', 'cutoff': 18.0, 'fixed': {'c.m': (1.5, 0.1)}}
    memory = identify(data, slider_model, estimator, **options)
    long = identify(
        load_in_blocks(save(tmp_path / 'data.npz', data)), slider_model, estimator, **options
    )
    same(long.values, memory.values, 1e-10)
    same(long.covariance, memory.covariance, 1e-8)
    np.testing.assert_allclose(long.residual_rms, memory.residual_rms, rtol=1e-9)
    assert long.residuals is None
    assert long.diagnostics['residual_correlation_time'] == pytest.approx(
        memory.diagnostics['residual_correlation_time'], rel=1e-8
    )


@pytest.mark.parametrize('period', [1.0, 0.9993])
@pytest.mark.parametrize('estimator', ['gauss_markov', 'irls'])
def test_long_periodic_recordings(
    tmp_path, load_in_blocks, record, slider_model, period, estimator
):
    """Averages, noise, settling and estimates; a period off the grid is interpolated."""
    data = record(periods=70, period=period)
    data = Recording.from_arrays(
        data.time, data.joint_names, data.positions, data.efforts, period=period
    )
    memory = process(data, SignalOptions())
    path = save(tmp_path / 'data.npz', data, period=period)
    long = process(load_in_blocks(path).for_model(slider_model), SignalOptions())
    assert long.diagnostics == memory.diagnostics and long.warnings == memory.warnings
    assert long.quality.defects == memory.quality.defects
    assert long.averaged == memory.averaged >= 69
    for name in ('positions', 'velocities', 'accelerations', 'forces'):
        same(getattr(long, name), getattr(memory, name), 1e-9)
    for name in ('position_noise', 'force_noise'):
        same(getattr(long, name).covariance, getattr(memory, name).covariance, 1e-6)
        same(getattr(long, name).spectrum, getattr(memory, name).spectrum, 1e-6)
    same(long.folded_forces.samples, memory.folded_forces.samples, 1e-9)
    results = [identify(each, slider_model, estimator) for each in (load_in_blocks(path), data)]
    same(results[0].values, results[1].values, 1e-7)
    same(results[0].covariance, results[1].covariance, 1e-6)
    same(results[0].residuals, results[1].residuals, 1e-6)


@pytest.mark.parametrize('options', [{'method': 'filter', 'cutoff': 40.0}, {'period': 1.0}])
def test_memory_does_not_grow(
    tmp_path, load_in_blocks, record, wandering, slider_model, monkeypatch, options
):
    """Peak of all arrays, of identification and validation, over three times the samples."""
    monkeypatch.setattr(source, 'BLOCK', 2**12)
    monkeypatch.setattr(sys.modules['pkm_identification.signals.even_grid'], 'BLOCK', 2**12)
    monkeypatch.setattr(sys.modules['pkm_identification.signals.folding'], 'AT_ONCE', 2**12)
    monkeypatch.setattr(stored_array, 'ROWS_AT_ONCE', 2**12)
    monkeypatch.setattr(source, 'HEAD', 2**12)
    monkeypatch.setattr(source, 'PROBE', 2**11)
    monkeypatch.setattr(sys.modules['pkm_identification.regression.run'], 'SAMPLE_ROWS', 1000)
    monkeypatch.setattr(
        sys.modules['pkm_identification.validation.force_comparison'], 'SHOWN', 1000
    )
    peaks, sizes = [], []
    for seconds in (60, 180):
        periodic = 'period' in options
        data = record(periods=seconds) if periodic else wandering(np.arange(seconds * 1000) / 1e3)
        path = save(tmp_path / f'{seconds}.npz', data)
        sizes.append(path.stat().st_size)
        del data
        tracemalloc.start()
        result = identify(load_in_blocks(path), slider_model, **options)
        validate(load_in_blocks(path), result, slider_model, **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 0.25 * (sizes[1] - sizes[0])


def test_the_cutoff_comes_from_probes(
    tmp_path, load_in_blocks, wandering, slider_model, monkeypatch
):
    monkeypatch.setattr(source, 'PROBE', 2**13)
    data = wandering()
    long = load_in_blocks(save(tmp_path / 'data.npz', data)).for_model(slider_model)
    assert len(long.source.probes()) == 3
    whole = process(data, SignalOptions(method='filter')).diagnostics.cutoff
    found = process(long, SignalOptions(method='filter')).diagnostics.cutoff
    # four times the highest harmonic, which a probe of 8.192 s tells to 1 / 8.192 Hz
    assert found == pytest.approx(whole, abs=4 / 8.192)


@pytest.mark.parametrize(('row', 'value'), [(2**15, 5.0), (70000, 5.0), (70000, np.nan)])
def test_stamps_of_every_block_are_checked(tmp_path, load_in_blocks, wandering, row, value):
    data = wandering()
    time = data.time.copy()
    time[row:] -= time[row] - value
    np.savez(
        tmp_path / 'bad.npz',
        time=time,
        joint_names=np.array(data.joint_names),
        positions=data.positions,
        efforts=data.efforts,
    )
    with pytest.raises(DatasetError, match='time does not increase|time of sample'):
        load_in_blocks(tmp_path / 'bad.npz')


def test_defects_of_long_recordings(
    tmp_path, load_in_blocks, record, motion, slider_model, monkeypatch
):
    """The same is found, left out and estimated as in memory."""
    monkeypatch.setattr(source, 'BLOCK', 2**12)
    data = record(periods=12)
    random = np.random.default_rng(4)
    time = data.time + 1e-4 * random.uniform(-1, 1, len(data))
    even, late = motion(data.time), motion(time)
    positions = data.positions + late.q - even.q
    efforts = data.efforts + slider_model.inverse_dynamics(late)
    efforts -= slider_model.inverse_dynamics(even)
    positions[random.random(positions.shape) < 0.002] += 0.01
    efforts[random.random(efforts.shape) < 0.002] -= 900.0
    efforts[9000:9010, 1] = np.nan
    positions[5500:5580, 0] = positions[5500, 0]
    rows = np.flatnonzero(random.random(len(data)) > 0.02)
    rows[[3000, 3001]] = rows[[3001, 3000]]
    rows = np.insert(rows, 8000, rows[8000])
    arrays = (time[rows], data.joint_names, positions[rows], efforts[rows])
    memory = tidied(Recording.from_arrays(*arrays, period=1.0))
    names = ('time', 'joint_names', 'positions', 'efforts')
    path = tmp_path / 'bad.npz'
    np.savez(path, period=1.0, **dict(zip(names, arrays, strict=True)))
    long = load_in_blocks(path).for_model(slider_model)
    assert len(long) == len(memory)
    for method in ('fourier', 'filter'):
        both = [process(each, SignalOptions(method=method, cutoff=20.0)) for each in (long, memory)]
        reports = [each.quality.to_dict() for each in both]
        kinds = [{each['kind'] for each in report['defects']} for report in reports]
        assert (
            kinds[0]
            == kinds[1]
            == {
                'jitter',
                'gap',
                'duplicate_stamp',
                'out_of_order',
                'not_finite',
                'outlier',
                'stuck',
            }
        )
    counts = [
        {(each['kind'], each['joint'], each['signal']): each['count'] for each in report['defects']}
        for report in reports
    ]
    for key, count in counts[0].items():
        assert count == pytest.approx(counts[1][key], abs=2, rel=0.02), key
    for options in ({'method': 'fourier'}, {'method': 'filter', 'cutoff': 20.0}):
        results = [
            identify(each, slider_model, 'wls', **options)
            for each in (load_in_blocks(path), memory)
        ]
        deviation = results[0].standard_deviation
        assert (np.abs(results[0].values - results[1].values) < 0.3 * deviation).all()
        np.testing.assert_allclose(deviation, results[1].standard_deviation, rtol=0.1)


def test_units_and_strokes_of_long_recordings(tmp_path, load_in_blocks, wandering, slider_model):
    data = wandering()
    path = save(tmp_path / 'data.npz', data, currents=data.efforts)
    with pytest.raises(DatasetError, match='another unit'):
        load_in_blocks(path).for_model(slider_model)
    np.savez(
        tmp_path / 'far.npz',
        time=data.time,
        joint_names=np.array(data.joint_names),
        positions=data.positions + [0.0, 5.0],
        efforts=data.efforts,
    )
    far = load_in_blocks(tmp_path / 'far.npz').for_model(slider_model)
    warnings = far.stroke_warnings(slider_model)
    assert warnings == load(tmp_path / 'far.npz').stroke_warnings(slider_model)
    assert len(warnings) == 1 and "'right' leave its stroke" in warnings[0]


def test_long_tables(tmp_path, load_in_blocks, wandering, slider_model, monkeypatch):
    data = wandering(np.arange(40000) * 1e-3)
    header = 'right.position,time,left.effort,left.position,right.effort,idle.position'
    table = np.column_stack(
        [
            data.positions[:, 1],
            data.time,
            data.efforts[:, 0],
            data.positions[:, 0],
            data.efforts[:, 1],
            data.time,
        ]
    )
    path = tmp_path / 'data.csv'
    np.savetxt(path, table, delimiter=',', header=header, comments='', fmt='%.17g')
    memory = load(path)
    long = load_in_blocks(path)
    assert long.is_long and not memory.is_long
    assert long.provenance == memory.provenance
    np.testing.assert_array_equal(long.positions, memory.positions)
    np.testing.assert_array_equal(long.efforts, memory.efforts)
    with path.open('a') as file:
        file.write('1,2,3\n')
    with pytest.raises(DatasetError, match="line 40002: 3 values, but 'idle.position' is column 6"):
        load_in_blocks(path)


def test_datasets_in_memory_are_processed_in_blocks_too(wandering, slider_model, monkeypatch):
    monkeypatch.setattr(source, 'LONG', 1000)
    data = wandering()
    result = identify(data, slider_model, method='filter', cutoff=18.0)
    assert result.residuals is None
    np.testing.assert_allclose(result.values, slider_model.nominal_parameters, rtol=0.05)


def test_marks_of_samples_go_along_into_blocks(wandering, slider_model):
    """Samples that the caller marked, and those that an examination found, in any joint order."""
    data = wandering()
    valid = np.ones(data.efforts.shape, dtype=bool)
    valid[1000:1040, 1] = False
    spoiled = np.where(valid, data.efforts, 1e6)
    marked = data.changed(efforts=spoiled, effort_valid=valid)
    options = SignalOptions(method='filter', cutoff=18.0, bad_samples='keep')
    long = in_blocks(marked)
    assert not long.is_complete
    for given in (marked, long):
        rows = process(given, options).row_blocks(lambda part, rows: part.positions[rows])
        assert max(np.abs(forces).max() for _, forces in rows) < 1e3
    outlying = np.array(data.efforts)
    outlying[2000, 0] += 1e4
    for found in (
        examined(in_blocks(data.changed(efforts=outlying))),
        in_blocks(examined(data.changed(efforts=outlying))),
    ):
        assert found.quality is not None and 'outlier' in found.quality.kinds
        swapped = found.with_joints(['right', 'left'])
        flags = np.concatenate(
            [
                np.ones(block.positions.shape, bool)
                if block.effort_valid is None
                else block.effort_valid
                for block in swapped.source.blocks()
            ]
        )
        assert not flags[2000, 1] and flags[:, 0].all()


@pytest.mark.parametrize('options', [{'method': 'filter', 'cutoff': 18.0}, {'period': 1.0}])
def test_validation_of_long_recordings(
    tmp_path, load_in_blocks, record, wandering, slider_model, options
):
    data = record(periods=70) if 'period' in options else wandering()
    result = identify(data, slider_model, **options)
    memory = validate(data, result, slider_model, **options)
    long = validate(
        load_in_blocks(save(tmp_path / 'data.npz', data)), result, slider_model, **options
    )
    for name in ('relative_absolute_error', 'residual_rms', 'residual_covariance', 'overall'):
        expected = getattr(memory.against_measured, name)
        np.testing.assert_allclose(
            getattr(long.against_measured, name), expected, rtol=1e-7, atol=1e-12
        )
    assert len(long.time) == len(long.measured) == len(long.predicted)
    assert len(long.standard_deviation) == len(long.time) <= len(memory.time)


@pytest.mark.parametrize('options', [{'method': 'filter', 'cutoff': 18.0}, {'period': 1.0}])
def test_noise_free_forces_of_long_recordings(
    tmp_path, load_in_blocks, record, wandering, slider_model, monkeypatch, options
):
    """Against the same in memory: forces on a grid of their own, joints in another order."""
    data = record(periods=70) if 'period' in options else wandering()
    result = identify(data, slider_model, **options)
    swapped = data.with_joints(['right', 'left'])
    stamps = data.time[::3] + 1e-4
    forces = np.column_stack([np.interp(stamps, data.time, f) for f in swapped.efforts.T])
    truth = {
        'truth_time': stamps,
        'truth_positions': 0 * forces,
        'truth_velocities': 0 * forces,
        'truth_forces': forces,
    }
    path = save(tmp_path / 'data.npz', swapped, **truth)
    long, memory = load_in_blocks(path), load(path)
    assert long.is_long and 'truth_forces' not in long.provenance['left_out']
    assert isinstance(long.truth.forces, np.memmap)
    found, expected = (validate(each, result, slider_model, **options) for each in (long, memory))
    for kind in ('against_truth', 'against_truth_in_band'):
        for figure in ('relative_absolute_error', 'residual_rms', 'residual_covariance', 'overall'):
            np.testing.assert_allclose(
                getattr(getattr(found, kind), figure),
                getattr(getattr(expected, kind), figure),
                rtol=1e-6,
                atol=1e-12,
            )
    np.testing.assert_array_equal(long.truth.forces, memory.truth.forces)
    np.savez(tmp_path / 'bad.npz', **{**np.load(path), 'truth_forces': forces[1:]})
    with pytest.raises(DatasetError, match='truth_forces must be finite'):
        load_in_blocks(tmp_path / 'bad.npz')


@pytest.mark.parametrize('pause', [16.0, 40.0])
def test_a_pause_ends_a_recording_and_begins_another(wandering, slider_model, pause):
    """Longer than a block: no rows and no predictions across it, and parameters as before."""
    whole = wandering()
    away = (whole.time >= 20.0) & (whole.time < 20.0 + pause)
    broken = wandering(whole.time[~away])
    options = {'method': 'filter', 'cutoff': 20.0}
    expected = identify(whole, slider_model, 'wls', **options)
    for data in (broken, in_blocks(broken)):
        found = identify(data, slider_model, 'wls', **options)
        assert found.diagnostics['signals']['gaps_without_rows'] == 1
        off = (found.values - expected.values) / found.standard_deviation
        assert np.abs(off).max() < 4
        # each known from 20 blocks, to 16 %: half of them are not below this by chance
        assert np.median(found.standard_deviation / expected.standard_deviation) > 0.6


def test_what_blocks_do_not_get_is_said(wandering):
    """Host stamps, repeats and velocities: repaired and used in memory, named in blocks."""
    data = wandering(np.arange(6000) * 4e-3)
    even = np.asarray(data.time)
    jitter = 0.4e-3 * np.random.default_rng(4).normal(size=len(even))
    data = Recording.from_arrays(
        np.maximum.accumulate(even + jitter) + 1e-9 * np.arange(len(even)),
        data.joint_names,
        np.asarray(data.positions),
        np.asarray(data.efforts),
        velocities=np.gradient(np.asarray(data.positions), even, axis=0),
    )
    options = SignalOptions(method='filter', cutoff=10.0)
    (said,) = process(in_blocks(data), options).warnings
    assert 'clock is not repaired' in said and 'jitter of the stamps' in said
    assert 'measured velocities are not used' in said and '--from' in said
    assert not any('too many for memory' in each for each in process(data, options).warnings)
    plain = replace(options, clock='stamps', velocities='positions')
    assert process(in_blocks(data), plain).warnings == ()
