"""Standstill: found beyond noise, steps and creep, in blocks too; no rows of it in the filter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from slides import ORDER, slides

from pkm_description import loads
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.datasets import source as source_module
from pkm_identification.datasets.source import Source
from pkm_identification.quality.standstill import SHORTEST, WINDOW, standing
from pkm_identification.signals.process import process
from pkm_identification.signals.signal_options import SignalOptions

INTERVAL = 0.01
MOVES = ((3.0, 9.0), (12.0, 20.0), (20.0, 27.0))  # [s]; rest from 0, 9 and 27 on, a turn at 20
END = 32.0


def positions(noise: float = 0.0, step: float = 0.0, creep: float = 0.0) -> np.ndarray:
    """Two joints (N, 2) that move and rest together, at different amplitudes."""
    time = np.arange(0, END, INTERVAL)
    phase = np.zeros_like(time)
    for begin, end in MOVES:
        s = np.clip((time - begin) / (end - begin), 0, 1)
        phase += s**3 * (10 - 15 * s + 6 * s**2)
    values = np.column_stack([np.sin(5 * phase), 0.3 * np.cos(4 * phase)])
    values += creep * time[:, None]
    values += noise * np.random.default_rng(0).standard_normal(values.shape)
    return np.round(values / step) * step if step else values


def seconds(found: np.ndarray) -> list[tuple[float, float]]:
    return [(first * INTERVAL, (last + 1) * INTERVAL) for first, last in found]


@pytest.mark.parametrize('noise', [0.0, 1e-5, 2e-4])
@pytest.mark.parametrize('step', [0.0, 1e-4])
def test_rests_at_the_ends_and_in_the_middle_are_found(noise, step):
    found = seconds(standing([positions(noise, step)], INTERVAL))
    expected = [(0.0, 3.0), (9.0, 12.0), (27.0, END)]
    assert len(found) == len(expected)
    for (first, last), (begin, end) in zip(found, expected, strict=True):
        # The ends of moves by polynomials of fifth order hardly move for up to a second.
        assert begin - 1.0 <= first <= begin + WINDOW and end - WINDOW <= last <= end + 1.0


def test_slow_motion_turns_and_rests_of_one_joint_are_none():
    slow = 1e-3 * np.arange(0, 20, INTERVAL)[:, None] * np.array([1.0, 0.5])
    assert not len(standing([slow], INTERVAL))
    short = positions()[round(18 * INTERVAL**-1) : round(22 * INTERVAL**-1)]
    assert not len(standing([short], INTERVAL))
    one = np.column_stack([positions()[:, 0], np.linspace(0, 1, len(positions()))])
    assert not len(standing([one], INTERVAL))


def test_a_servo_that_creeps_stands():
    assert len(standing([positions(creep=1e-5)], INTERVAL)) == 3
    assert not len(standing([positions(creep=1e-2)], INTERVAL))


def test_blocks_of_any_length_show_the_same():
    values = positions(1e-5)
    whole = standing([values], INTERVAL)
    parts = np.split(values, [7, 30, 777, 778, 2000])
    np.testing.assert_array_equal(standing(parts, INTERVAL), whole)
    assert not len(standing([], INTERVAL)) and not len(standing([values[:5]], INTERVAL))


def recording() -> Recording:
    q = positions(1e-5)
    time = INTERVAL * np.arange(len(q))
    return Recording.from_arrays(time, ['a', 'b'], q, np.tanh(50 * np.gradient(q, axis=0)))


def rows_in(signals, begin: float, end: float) -> int:
    time = signals.time[signals.usable]
    return int(np.count_nonzero((time > begin) & (time < end)))


def test_rows_are_left_out_counted_and_kept_where_asked():
    options = SignalOptions(method='filter', cutoff=5.0)
    found = process(recording(), options)
    assert rows_in(found, 0.5, 2.5) == rows_in(found, 9.5, 11.5) == rows_in(found, 28.0, 31.0) == 0
    assert rows_in(found, 5.0, 7.0) > 0 and rows_in(found, 20.0, 20.5) > 0
    assert 0.3 < found.diagnostics.standstill_share < 0.45  # 11 of 32 s, and slow ends of moves
    (defect,) = found.quality.of_kind('standstill')
    assert defect.stretches == 3 and defect.share == found.diagnostics.standstill_share
    assert 'standstill=keep' in defect.line()
    kept = process(recording(), replace(options, standstill='keep'))
    assert rows_in(kept, 9.5, 11.5) > 0 and not kept.quality.of_kind('standstill')
    assert kept.diagnostics.standstill_share == 0.0 and kept.row_count > found.row_count


def test_a_long_recording_has_the_same_rows(monkeypatch):
    short = recording()
    whole = short.source.whole
    monkeypatch.setattr(source_module, 'BLOCK', 512)
    long = replace(short, source=Source(whole.rows, len(short), 2, is_long=True))
    options = SignalOptions(method='filter', cutoff=5.0, bad_samples='keep')
    one, other = process(short, options), process(long, options)
    assert other.is_long and other.row_count == one.row_count
    np.testing.assert_array_equal(other.band.holes, one.band.holes)


def test_poses_at_rest_alone_are_kept():
    q = np.repeat(positions()[::400], round(2 * SHORTEST / INTERVAL), axis=0)
    time = INTERVAL * np.arange(len(q))
    poses = Recording.from_arrays(time, ['a', 'b'], q, q)
    signals = process(poses, SignalOptions(method='filter', cutoff=5.0, bad_samples='keep'))
    assert signals.diagnostics.standstill_share == 0.0 and signals.row_count > 0


def test_rests_within_a_period_have_no_weight():
    """Friction that holds the robot at rest is any force: kept, it spoils the estimate."""
    rubbing = ', '.join(f'{name}: {{coulomb: 5, viscous: 3}}' for name in ORDER)
    text = f'{slides().yaml_text}friction: {{{rubbing}}}\n'
    model = ClosedChainModel(loads(slides().urdf, text))
    period, count = 4.0, 800
    s = np.clip((np.linspace(0.0, 1.0, count, endpoint=False) - 0.2) / 0.6, 0.0, 1.0)
    angle = 2 * np.pi * (s**3 * (10 - 15 * s + 6 * s**2))[:, None]
    turns, phases = np.array([1, 2, 3, 1]), np.array([0.0, 1.0, 2.0, 3.0])
    waves = np.sin(angle * turns + phases) - np.sin(phases)
    q = np.roll(model.home_actuators + 0.05 * waves, count // 2, axis=0)  # one rest of 1.6 s
    w = 2j * np.pi * np.fft.rfftfreq(count, period / count)[:, None]
    qd, qdd = (np.fft.irfft(np.fft.rfft(q, axis=0) * w**k, count, axis=0) for k in (1, 2))
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    forces[np.abs(qd).max(axis=1) < 1e-3] += 3.0  # less than its Coulomb friction
    forces = np.tile(forces, (4, 1)) + 0.01 * np.random.default_rng(2).normal(size=(4 * count, 4))
    time = period / count * np.arange(4 * count)
    data = Recording.from_arrays(time, ORDER, np.tile(q, (4, 1)), forces, period=period)
    results = [identify(data, model, standstill=each) for each in ('leave_out', 'keep')]
    (found,) = results[0].diagnostics.data
    assert 0.25 < found.signals['standstill_share'] < 0.5
    assert 'standstill' in {each['kind'] for each in found.quality['defects']}
    truth = np.asarray(results[0].matrix @ model.nominal_parameters)
    left_out, kept = (np.linalg.norm(each.values - truth) for each in results)
    assert left_out < 0.3 * kept
