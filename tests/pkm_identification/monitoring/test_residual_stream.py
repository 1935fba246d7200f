"""Residuals of samples as they come."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_description.errors import EstimationError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.excitation.excitation_design import load_excitation
from pkm_identification.monitoring.residual_stream import Residuals, ResidualStream

RATE, WINDOW = 500.0, 0.05


@pytest.fixture(scope='module')
def moved():
    """Times, positions and forces of the five-bar, and a result that is right."""
    model = model_of('five_bar')
    design = load_excitation('five_bar')
    time = np.arange(round(2 * design.period * RATE)) / RATE
    motion = design.motion(time % design.period, model)
    q, forces = model.actuator_states(motion).positions, model.inverse_dynamics(motion)
    names = tuple(model.actuated_joints)
    noisy = forces + 1e-3 * np.random.default_rng(0).normal(size=forces.shape)
    data = Recording.from_arrays(time, names, q, noisy, period=design.period)
    return time, q, forces, identify(data, model, 'wls')


def residuals(stream, time, q, forces, block=64):
    parts = [
        part
        for k in range(0, len(time), block)
        for part in stream.add(time[k : k + block], q[k : k + block], forces[k : k + block])
    ]
    return Residuals.joined(parts)


def test_a_right_model_leaves_nothing_and_a_step_shows_whole(moved) -> None:
    time, q, forces, result = moved
    size = np.sqrt(np.mean(forces**2))
    stream = ResidualStream(result, RATE, WINDOW)
    found = residuals(stream, time, q, forces)
    assert np.abs(found.forces).max() < 0.05 * size
    begin = 0.6 * time[-1]
    pushed = forces + np.outer(time >= begin, [3.0 * size, 0.0])
    stream.reset()
    change = residuals(stream, time, q, pushed).forces - found.forces
    after = found.time - begin
    assert np.abs(change[after < 0]).max() < 1e-9 * size
    np.testing.assert_allclose(change[after > 2 * WINDOW, 0], 3.0 * size, rtol=0.01)
    half = after[np.argmax(change[:, 0] > 1.5 * size)]
    assert half == pytest.approx(stream.delay, abs=2 / stream.rate)
    np.testing.assert_allclose(change[:, 1], 0.0, atol=1e-9 * size)


@pytest.mark.parametrize('block', [1, 2, 7, 1000])
def test_blocks_change_nothing(moved, block) -> None:
    time, q, forces, result = moved
    few = slice(0, 400)
    whole, again = (
        residuals(ResidualStream(result, RATE, WINDOW), time[few], q[few], forces[few], size)
        for size in (10_000, block)
    )
    first = 25  # until the filters have settled, blocks of another size end elsewhere
    shared = np.isin(whole.time, again.time)
    assert shared[first:].all()
    np.testing.assert_allclose(
        whole.forces[shared][first:], again.forces[-shared.sum() :][first:], atol=1e-9
    )


@pytest.mark.parametrize('gap', [2.0, -30.0])
def test_filters_begin_anew_after_a_gap_or_a_leap_back(moved, gap) -> None:
    time, q, forces, result = moved
    stream = ResidualStream(result, RATE, WINDOW)
    half = len(time) // 2
    stamps = np.array(time)
    stamps[half:] += gap
    found = residuals(stream, stamps, q, forces)
    size = np.sqrt(np.mean(forces**2))
    assert np.abs(found.forces).max() < 0.05 * size
    step = np.diff(found.time)
    assert np.count_nonzero(~np.isclose(step, 1 / stream.rate)) == 1
    (leap,) = step[~np.isclose(step, 1 / stream.rate)]
    assert leap > gap + WINDOW


@pytest.mark.parametrize('window', [0.0, -1.0, 12 / RATE, np.nan])
def test_windows_of_too_few_samples_are_refused(moved, window) -> None:
    with pytest.raises(EstimationError, match='window'):
        ResidualStream(moved[-1], RATE, window)
