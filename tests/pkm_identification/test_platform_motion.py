"""Covariance of the platform's motion against Monte Carlo, from noise on the actuators on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording
from pkm_identification.excitation.excitation_design import load_excitation
from pkm_identification.signals import SignalOptions, platform_motion, process
from pkm_identification.signals.filtering import filter_gains
from pkm_identification.signals.platform_motion import actuator_covariance


@pytest.fixture(scope='module')
def robot():
    """A planar robot, its exact motion over some periods, and correlated noise of encoders."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    trajectory = load_excitation('five_bar')
    time = np.arange(4 * round(trajectory.period * 500)) / 500.0
    motion = trajectory.motion(time, model)
    positions = model.actuator_states(motion).positions
    covariance = 1e-10 * np.array([[4.0, 3.0], [3.0, 9.0]])
    return model, time, positions, covariance, trajectory.period


def measured(robot, seed):
    model, time, positions, covariance, _ = robot
    random = np.random.default_rng(seed)
    noisy = positions + random.multivariate_normal(np.zeros(2), covariance, len(time))
    efforts = random.normal(size=positions.shape) + np.sin(40 * time)[:, None]
    return Recording.from_arrays(time, tuple(model.actuated_joints), noisy, efforts)


@pytest.mark.parametrize('method', ['fourier', 'filter', 'local_cubic'])
def test_reported_deviations_are_the_spread(robot, method):
    """Many recordings of one motion: the platform scatters as much as is reported."""
    model, period = robot[0], robot[4]
    options = SignalOptions(
        method=method,
        period=period if method == 'fourier' else None,
        skip_periods=0,
        cutoff=60.0,
        harmonics=4,  # all of them well above the noise
    )
    poses, reported = [], []
    for seed in range(60):
        signals = process(measured(robot, seed), options)
        rows = slice(len(signals) // 3, len(signals) // 3 + 4)
        if seed < 10:
            uncertain = platform_motion(signals, model, rows)
            reported.append(uncertain.standard_deviation)
            motion = uncertain.motion
        else:
            motion = signals.motion(model, rows)
        angle = np.arctan2(motion.rotation[:, 1, 0], motion.rotation[:, 0, 0])
        poses.append(
            np.column_stack(
                [
                    motion.position[:, :2],
                    angle,
                    motion.twist[:, [0, 1, 5]],
                    motion.acceleration[:, [0, 1, 5]],
                ]
            )
        )
    spread = np.std(poses, axis=0, ddof=1)
    columns = [0, 1, 5, 6, 7, 11, 12, 13, 17]
    expected = np.sqrt(np.mean(np.square(reported), axis=0))[:, columns]
    moves = expected > 1e-12
    assert moves[:, [0, 1, 3, 4]].all()
    assert (expected[:, [6, 7]] > 1e-6).all()
    ratio = spread[moves] / expected[moves]
    assert np.median(ratio) == pytest.approx(1.0, abs=0.12)
    assert ratio.max() < 1.6 and ratio.min() > 0.6


def test_covariance_of_a_spatial_robot():
    """First order against the distribution itself, with all correlations."""
    model = ClosedChainModel(pkm_description.load('rps_upv'))
    trajectory = load_excitation('rps_upv')
    time = np.arange(2 * round(trajectory.period * 100)) / 100.0
    positions = model.actuator_states(trajectory.motion(time, model)).positions
    random = np.random.default_rng(0)
    noisy = positions + 1e-4 * random.normal(size=positions.shape)
    data = Recording.from_arrays(
        time, tuple(model.actuated_joints), noisy, 0 * noisy, period=trajectory.period
    )
    signals = process(data, SignalOptions(harmonics=8, skip_periods=0))
    joint = actuator_covariance(signals)
    at = 70
    uncertain = platform_motion(signals, model, slice(at, at + 1))
    state = np.concatenate(
        [each[at] for each in (signals.positions, signals.velocities, signals.accelerations)]
    )
    drawn = random.multivariate_normal(state, joint, 4000).reshape(-1, 3, 3)
    motion = model.motion_from_actuators(drawn[:, 0], drawn[:, 1], drawn[:, 2])
    turn = motion.rotation @ uncertain.motion.rotation[0].T
    angles = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    sample = np.concatenate([motion.position, angles, motion.twist, motion.acceleration], axis=1)
    scale = uncertain.standard_deviation[0]
    observed = np.cov(sample.T) / np.outer(scale, scale)
    expected = uncertain.covariance[0] / np.outer(scale, scale)
    np.testing.assert_allclose(observed, expected, atol=0.1)


def test_gains_of_the_filter_are_those_of_noise(record):
    data = record(periods=30, position_noise=1e-3)
    noise = np.random.default_rng(2).normal(size=data.positions.shape)
    for method in ('filter', 'local_cubic'):
        options = SignalOptions(method=method, cutoff=30.0)
        signals = process(
            Recording.from_arrays(data.time, data.joint_names, noise, data.efforts), options
        )
        inside = slice(50, -50)
        states = np.stack([signals.positions, signals.velocities, signals.accelerations])
        found = np.cov(states[:, inside, 0])
        scale = np.sqrt(np.diag(signals.noise_gains))
        np.testing.assert_allclose(
            found / np.outer(scale, scale), signals.noise_gains / np.outer(scale, scale), atol=0.12
        )
        np.testing.assert_allclose(signals.position_covariance, np.eye(2), atol=0.1)
    assert filter_gains(process(data, SignalOptions(method='filter')).band).shape == (3, 3)


def test_unknown_noise_is_an_error(record, slider_model):
    signals = process(record(periods=2), SignalOptions(method='filter', cutoff=20.0))
    with pytest.raises(EstimationError, match='noise of the positions is not known'):
        platform_motion(replace(signals, noise_gains=None), slider_model)
