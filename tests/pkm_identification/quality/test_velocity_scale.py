"""Measured velocities that are not those of the positions: the verdict doubts the data first."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification import Recording, identify, load_result
from pkm_identification.quality.examine import examined
from pkm_identification.quality.report import doubts, lines
from pkm_identification.result.verdict import Grade, Limit, verdict_of

NAMES = ('left', 'right')
DEGREES = 180 / np.pi


@pytest.fixture
def recording(slider_model, motion):
    """The function that records positions and velocities, these or the stamps possibly wrong."""

    def make(factor=1.0, stamps=1.0, noise=1e-6, velocity_noise=1e-2, late=0.0, periods=4, seed=0):
        random = np.random.default_rng(seed)
        time = 2e-3 * np.arange(500 * periods)
        exact, before = motion(time), motion(time - late)
        q = exact.q + noise * random.normal(size=exact.q.shape)
        qd = np.asarray(factor) * before.qd + velocity_noise * random.normal(size=q.shape)
        efforts = slider_model.inverse_dynamics(exact) + random.normal(size=q.shape)
        return Recording.from_arrays(stamps * time, NAMES, q, efforts, velocities=qd)

    return make


def doubtful(data):
    """Kinds and joints of what makes the data doubtful."""
    found = [each for each in examined(data).quality.defects if each.what]
    return [(each.kind, each.joint) for each in found], found


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    'right',
    [
        {},
        {'velocity_noise': 1.0},  # several times the velocities: their regression is 0.1
        {'late': 0.02},  # a filter of the drive, a fiftieth of the period
        {'noise': 0.05},  # as large as the motion, which then tells nothing
        {'factor': 1.05},  # a sensor's calibration
        {'factor': [1.15, 1.0]},  # of one joint
        {'factor': 0.0},  # not measured
    ],
)
def test_right_velocities_are_not_doubted(recording, right, seed):
    assert doubtful(recording(**right, seed=seed))[0] == []


def test_velocities_of_an_axis_that_its_load_bends_are_not_doubted(recording):
    data = recording(periods=8, noise=1e-9, velocity_noise=1e-6)
    q, qd = np.array(data.positions), np.array(data.velocities)
    for values, share in ((q, 3e-4), (qd, 1e-4)):
        values[:, 1] = share * (values[:, 1] - values[:, 1].mean())
    arrays = (data.time, NAMES, q, data.efforts)
    assert doubtful(Recording.from_arrays(*arrays, velocities=qd))[0] == []


@pytest.mark.parametrize('factor', [20.0, 0.05, 1.25, 1000.0])
@pytest.mark.parametrize('periods', [1, 8])
def test_a_factor_of_all_joints_is_one_of_the_stamps(recording, factor, periods):
    kinds, found = doubtful(recording(stamps=factor, velocity_noise=0.03, periods=periods))
    assert kinds == [('rate', '')]
    assert found[0].figures['factor'] == pytest.approx(factor, rel=0.05)
    assert found[0].figures['rate_Hz'] == pytest.approx(500.0, rel=0.05)


@pytest.mark.parametrize(
    ('factor', 'said'),
    [
        (DEGREES, 'degrees per second'),
        (1 / DEGREES, 'positions in degrees'),
        (-1.0, 'opposite sign'),
        (0.5, 'unit or gear'),
        (-3.0, 'unit or gear'),
    ],
)
def test_a_factor_of_one_joint_is_named(recording, factor, said):
    kinds, found = doubtful(recording(factor=[1.0, factor], velocity_noise=1e-3))
    assert kinds == [('velocity_scale', 'right')]
    assert found[0].figures['factor'] == pytest.approx(factor, rel=0.02)
    assert said in found[0].line()


def test_units_and_signs_of_all_joints_are_not_those_of_the_stamps(recording):
    for factor in (DEGREES, -1.0):
        data = recording(factor=factor)
        kinds, found = doubtful(data)
        assert kinds == [('velocity_scale', 'left'), ('velocity_scale', 'right')]
        assert len(lines(found)) == len(doubts(found)) == 1


def test_joints_that_hardly_move_and_gaps_tell_nothing(recording):
    """A joint at rest whose velocities drift; a pause of a minute that is not in the record."""
    data = recording()
    positions, velocities = np.array(data.positions), np.array(data.velocities)
    positions[:, 1] = 0.4 + 1e-6 * np.random.default_rng(1).normal(size=len(data))
    velocities[:, 1] = 0.1 * np.sin(np.asarray(data.time))
    assert doubtful(data.changed(positions=positions, velocities=velocities))[0] == []
    time = np.array(data.time)
    time[len(time) // 3 :] += 60.0
    assert doubtful(data.changed(time=time))[0] == []


@pytest.mark.parametrize('signals', [{}, {'method': 'filter', 'cutoff': 20.0}])
def test_the_verdict_doubts_the_data_first(recording, slider_model, signals, tmp_path):
    """Periodic and filtered: forces are predicted as well as with the right rate."""
    assert verdict_of(identify(recording(), slider_model, **signals)).grade is not Grade.DOUBTFUL
    wrong = {name: value / 20 if name == 'cutoff' else value for name, value in signals.items()}
    result = identify(recording(stamps=20.0), slider_model, **wrong)
    found = verdict_of(result)
    assert found.grade is Grade.DOUBTFUL and found.limit is Limit.WRONG_DATA
    assert found.line().startswith('doubtful model: rate of the stamps: by them the motion is 20 ')
    assert '500 Hz would fit' in found.line()
    result.save(tmp_path / 'model.yaml')
    loaded = load_result(tmp_path / 'model.yaml', slider_model)
    assert verdict_of(loaded).line() == found.line()


@pytest.mark.parametrize('value', [0.0, 3.2])
def test_dead_efforts_are_named_by_joint(recording, slider_model, value):
    data = recording()
    efforts = np.array(data.efforts)
    efforts[:, 1] = value
    wrong = data.changed(efforts=efforts)
    assert doubtful(wrong)[0] == [('constant', 'right')]
    found = verdict_of(identify(wrong, slider_model))
    assert found.grade is Grade.DOUBTFUL
    assert f'constant values of the effort of right: {value:.4g} throughout' in found.line()


def test_constant_efforts_of_a_joint_at_rest_are_no_defect(recording):
    """A brake holds it."""
    data = recording()
    positions, efforts = np.array(data.positions), np.array(data.efforts)
    positions[:, 1], efforts[:, 1] = 0.4, 0.0
    velocities = np.array(data.velocities)
    velocities[:, 1] = 0.0
    still = data.changed(positions=positions, efforts=efforts, velocities=velocities)
    assert doubtful(still)[0] == []


def test_positions_far_beyond_the_strokes_are_doubted(recording, slider_model):
    """Strokes of 1 m, motions of 0.2 m: in another unit, and with another zero."""
    data = recording(velocity_noise=1e-3)
    positions, velocities = np.array(data.positions), np.array(data.velocities)
    for factor, zero, wrong in ((DEGREES, 0.0, True), (1.0, 5.0, False)):
        moved = {'positions': factor * positions + zero, 'velocities': factor * velocities}
        found = verdict_of(identify(data.changed(**moved), slider_model))
        assert (found.grade is Grade.DOUBTFUL) == wrong
        assert ('more than twice the stroke: degrees' in found.line()) == wrong
