"""Output error: true parameters without bias where least squares has one, and what it needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from chances import mean_limit, spread_range, whitened_error
from every_model import model_of
from five_bar_loop import PERIOD, steady, two_motor_waves

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.actuator_inertia import effective_inertia
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import identify
from pkm_identification.covariance.residual_spectrum import noise_by_frequency
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import ls
from pkm_identification.estimators.output_error.closed_loop_fit import output_error
from pkm_identification.estimators.output_error.simulated_run import reference_of
from pkm_identification.regression.problem import build_problem
from pkm_identification.signals import SignalOptions, process

COUNT, PERIODS = 300, 6
FORCE_NOISE, POSITION_NOISE = 0.1, 1e-4  # [N m], [rad]
BANDWIDTH, DAMPING = 10.0, 0.7  # [Hz]
DELAY = 0.45e-3  # [s]


@pytest.fixture(scope='module')
def robot() -> ClosedChainModel:
    return model_of('five_bar')


@pytest.fixture(scope='module')
def trajectory(robot) -> FourierTrajectory:
    return two_motor_waves(robot)


@pytest.fixture(scope='module')
def truth(robot) -> np.ndarray:
    """Other base parameters than the nominal ones."""
    base = robot.base_parameters(shared=True, reduced=True)
    scale = 1 + 0.2 * np.array([1, -1, 1, -1, 1, -1])
    return scale * (base.matrix @ np.asarray(robot.nominal_parameters))


@pytest.fixture(scope='module')
def record(robot, trajectory, truth):
    """The function that records the robot under its servo, begun somewhere in the period."""
    base = robot.base_parameters(shared=True, reduced=True)
    inertia, w = effective_inertia(robot), 2 * np.pi * BANDWIDTH
    servo = ServoLoop(inertia * w**2, 2 * DAMPING * inertia * w, 150.0, 1e-3, DELAY)
    state = steady(robot, servo, trajectory, COUNT, base.columns @ truth)

    def simulate(seed=0, begin=0, noise=1.0, **fields):
        random = np.random.default_rng(seed)
        shape = (PERIODS * COUNT, 2)
        positions, forces = (
            np.tile(np.roll(each, -begin, axis=0), (PERIODS, 1))
            for each in (state.positions, state.forces)
        )
        return Recording.from_arrays(
            PERIOD / COUNT * np.arange(shape[0]),
            tuple(robot.actuated_joints),
            positions + noise * POSITION_NOISE * random.normal(size=shape),
            forces + noise * FORCE_NOISE * random.normal(size=shape),
            period=PERIOD,
            **fields,
        )

    return simulate


def problem_of(data, robot, **options):
    signals = process(data.for_model(robot), SignalOptions(harmonics=40))
    return build_problem(signals, robot, **options)


def estimate(data, robot, trajectory, **options):
    return output_error(problem_of(data, robot), trajectory, control_delay=DELAY, **options)


@pytest.mark.parametrize('jacobian', ['closed_loop', 'regressor'])
def test_exact_data_give_the_true_parameters(record, robot, trajectory, truth, jacobian):
    """From the nominal parameters, 20 % off, and with an unknown clock."""
    data = record(begin=77, noise=1e-6)
    found = estimate(data, robot, trajectory, jacobian=jacobian, start='nominal')
    np.testing.assert_allclose(found.values, truth, rtol=1e-3)
    (shift,) = found.diagnostics.reference_shift
    turns = (shift - 77 / COUNT * PERIOD) / PERIOD
    assert turns == pytest.approx(round(turns), abs=1e-6)


def test_uncertainty_is_that_of_many_runs_and_there_is_no_bias(record, robot, trajectory, truth):
    z, biased = [], []
    for seed in range(12):
        data = record(seed, begin=13 * seed)
        found = estimate(data, robot, trajectory)
        z.append(whitened_error(found.values - truth, found.covariance))
        plain = ls(problem_of(data, robot))
        biased.append(whitened_error(plain.values - truth, plain.covariance))
        assert found.warnings == ()
    low, high = spread_range(np.size(z))
    assert low < np.sqrt(np.mean(np.square(z))) < high
    limit = mean_limit(len(z), len(truth))
    assert np.abs(np.mean(z, axis=0)).max() < limit < np.abs(np.mean(biased, axis=0)).max()


def test_both_jacobians_agree_within_their_uncertainty(record, robot, trajectory):
    data = record(3)
    one, other = (
        estimate(data, robot, trajectory, jacobian=name) for name in ('closed_loop', 'regressor')
    )
    deviation = np.sqrt(np.diag(other.covariance))
    assert np.abs((one.values - other.values) / deviation).max() < 3
    assert (np.sqrt(np.diag(one.covariance)) < 1.02 * deviation).all()


def test_reference_of_the_recording(record, robot, trajectory, truth):
    data = record(1, provenance={'metadata': {'trajectory': trajectory.to_dict()}})
    result = identify(data, robot, 'output_error', control_delay=DELAY)
    given = identify(record(1), robot, 'output_error', control_delay=DELAY, reference=trajectory)
    np.testing.assert_array_equal(result.values, given.values)
    assert result.diagnostics['covariance_rests_on'] == 'noise of the forces'
    assert np.abs((result.values - truth) / result.standard_deviation).max() < 4


def test_reference_of_a_file(record, robot, trajectory, tmp_path):
    """Of a trajectory, or of the design that it belongs to."""
    path = tmp_path / 'trajectory.yaml'
    trajectory.save(path)
    content = {
        'format': 'pkm_excitation_design',
        'version': 2,
        'criterion': 'd_optimal',
        'trajectory': trajectory.to_dict(),
        'figures': {'standard_deviation': {}},
        'margins': {},
    }
    design = tmp_path / 'design.yaml'
    design.write_text(yaml.safe_dump(content, sort_keys=False))
    (run,) = problem_of(record(1), robot).runs
    for file in (path, str(design)):
        assert reference_of(run, file).to_dict() == trajectory.to_dict()


def test_fixed_parameters_and_priors(record, robot, trajectory, truth):
    data, name = record(2), 'left_arm.Izz'
    index = robot.base_parameters(shared=True, reduced=True).names.index(name)
    options = {'reference': trajectory, 'control_delay': DELAY}
    exact = identify(data, robot, 'output_error', fixed={name: truth[index]}, **options)
    loose = {name: (truth[index], 0.3 * truth[index])}
    uncertain = identify(data, robot, 'output_error', fixed=loose, **options)
    moved = identify(data, robot, 'output_error', fixed={name: 1.01 * truth[index]}, **options)
    expected = (moved.values - exact.values) / (0.01 * truth[index])
    shown = uncertain.covariance[:, index] / uncertain.covariance[index, index]
    np.testing.assert_allclose(shown, expected, rtol=0.1, atol=0.02 * np.abs(expected).max())
    sure = identify(data, robot, 'output_error', prior={name: (truth[index], 1e-6)}, **options)
    others = np.arange(len(truth)) != index
    assert sure.values[index] == pytest.approx(truth[index], abs=5e-6)  # five of its deviations
    assert sure.standard_deviation[index] == pytest.approx(1e-6, rel=1e-2)
    off = (sure.values - exact.values)[others] / exact.standard_deviation[others]
    assert np.abs(off).max() < 0.05
    np.testing.assert_allclose(
        sure.standard_deviation[others], exact.standard_deviation[others], rtol=0.02
    )


def test_noise_that_rises_with_the_frequency_does_not_spread_to_the_low_ones():
    """Rows whose noise grows a millionfold; the residuals are twice as large as expected."""
    random = np.random.default_rng(0)
    size = np.repeat(np.geomspace(1.0, 1e6, 60), 2)
    mixing = np.array([[1.0, 0.0], [0.5, 0.8]])
    noise = size[:, None, None] ** 2 * (mixing @ mixing.T)
    shares = []
    for _ in range(400):
        residuals = 2 * size[:, None] * (random.normal(size=(120, 2)) @ mixing.T)
        found = noise_by_frequency(residuals, noise, 0.9 * residuals.size)
        shares.append(np.einsum('kaa->ka', found) / np.einsum('kaa->ka', noise) / (4 / 0.9))
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / np.sqrt(len(shares))
    assert np.abs(mean - 1).max() < 0.2  # every row by itself, the lowest and the highest too
    assert error.max() < 0.025  # so that this is eight standard errors: a chance below 1e-12


def test_what_does_not_fit_is_said(record, robot, trajectory):
    data = record(0)
    problem = problem_of(data, robot)
    for options, message in (
        ({}, 'does not tell the reference motion.*reference='),
        ({'reference': trajectory, 'proportional': 100.0}, 'give both gains'),
        ({'reference': trajectory, 'velocity_cutoff': 0.0}, 'velocity_cutoff must be positive'),
        ({'reference': [trajectory, trajectory]}, '2 references for 1 runs'),
    ):
        with pytest.raises(EstimationError, match=message):
            output_error(problem, **options)
    slower = FourierTrajectory(
        0.7,
        trajectory.offset,
        trajectory.sine,
        trajectory.cosine,
        'actuators',
        robot.actuated_joints,
    )
    with pytest.raises(EstimationError, match='period of 0.6 s, the reference motion one of 0.7'):
        output_error(problem, slower)
    free = replace(data, period=None)
    signals = process(free.for_model(robot), SignalOptions(method='filter'))
    with pytest.raises(EstimationError, match='needs data with a period'):
        output_error(build_problem(signals, robot), trajectory)


def test_wrong_gains_show(record, robot, trajectory):
    data = record(0)
    try:
        found = estimate(data, robot, trajectory, gain_scale=0.7)
    except EstimationError as error:
        assert 'check gains' in str(error)
    else:
        assert 'check gains' in found.warnings[0]
