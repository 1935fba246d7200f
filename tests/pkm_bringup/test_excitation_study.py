"""The comparison of [A] IV.C in small, run and judged."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from chances import (
    deviation_range,
    mean_limit,
    normal_limit,
    ratio_range,
    spread_of,
    spread_range,
    whitened,
)
from every_model import model_of

import pkm_description
from pkm_bringup import cli, offline
from pkm_bringup.runner import Runner
from pkm_bringup.studies import excitation_study
from pkm_bringup.studies.excitation_study import run_designs, summary
from pkm_bringup.studies.runs.design_runs import (
    ESTIMATORS,
    estimate_runs,
    executed_deviations,
    force_noise,
    in_phase,
    predict,
    record,
    signals_of,
)
from pkm_bringup.studies.runs.spread_statistics import agreement, independence
from pkm_bringup.views.study_views.excitation_study_view import findings
from pkm_description.errors import EstimationError, SimulationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.excitation.excitation_design import excitation_path
from pkm_identification.regression.problem import build_problem

SEED = [0, 7]


@pytest.fixture(scope='module')
def model():
    return model_of('palida')


@pytest.fixture(scope='module')
def designs(model):
    """The shipped design, and the same path with half the strokes: fixed, no search."""
    good = ExcitationDesign.load(excitation_path('palida'), model)
    path = good.trajectory
    small = FourierTrajectory(
        path.period, path.offset, 0.5 * path.sine, 0.5 * path.cosine, robot='palida'
    )
    return {'T_d': replace(good, trajectory=small), 'T_s': good}


@pytest.fixture(scope='module')
def predicted(designs, model):
    """Figures of one period by another route: F and H F_S H, row by row."""
    base = model.base_parameters(shared=True, reduced=True)
    noise = force_noise(model)
    inverse, found = np.linalg.inv(noise), {}
    for name, design in designs.items():
        F, bread, meat = 0.0, 0.0, 0.0
        time = np.arange(round(1000 * design.period)) / 1000.0
        rows = base.regressor(design.trajectory.motion(time, model))
        for psi in rows:
            F = F + psi.T @ inverse @ psi
            bread = bread + psi.T @ psi
            meat = meat + psi.T @ noise @ psi
        H = np.linalg.inv(bread)
        found[name] = SimpleNamespace(
            covariances={'gauss_markov': np.linalg.inv(F), 'ls': H @ meat @ H},
            rows=np.concatenate(list(rows)),
            log_determinant=np.linalg.slogdet(F)[1],
        )
    return found


def solved(model, signals):
    """Covariance of one run by estimator: of the mean motion, with the noise as found."""
    problem = build_problem(signals, model)
    return {k: solve(problem).covariance * signals.averaged for k, solve in ESTIMATORS.items()}


def test_the_search_reaches_what_it_looks_for(tmp_path, model):
    """Each of the two designs is the better by its own criterion; everything is written."""
    folder = tmp_path / 'new'
    arguments = ['study', 'excitation', '--plant', 'noise', '--runs', '3', '--iterations', '4']
    arguments += ['--period', '1.0', '--workers', '1', '--output', str(folder)]
    assert cli.main(arguments) == 0
    content = json.loads((folder / 'study.json').read_text())
    assert content['runs'] == 3 and len(content['parameters']) == 24
    assert (folder / 'study.png').read_bytes()[:4] == b'\x89PNG'
    found = {
        name: ExcitationDesign.load(folder / f'{name}.yaml', model) for name in content['designs']
    }
    figures = {name: predict(model, design.trajectory).figures for name, design in found.items()}
    own = found['T_d'].figures['condition_number']  # knows no noise: that of Psi itself
    assert own == pytest.approx(figures['T_d']['condition_number'])
    assert 2 * own < figures['T_s']['condition_number']
    assert figures['T_s']['d_optimal'] < figures['T_d']['d_optimal'] - 2.0
    assert content['log_volume_ratio_predicted'] < -1.0


def test_the_spread_of_the_estimates_is_the_predicted_one(designs, predicted, model):
    """[A Table II], with fixed designs and fixed noise; limits by `chances`."""
    runs = 40
    found = run_designs('palida', designs, runs, 7, 'noise', Runner(1))
    content = summary(model, found)
    degrees = 24 * (runs - 1)
    for name, each in found.items():
        for estimator, estimates in each.estimates.items():
            covariance = predicted[name].covariances[estimator]
            low, high = spread_range(degrees)
            assert low < spread_of(estimates, covariance) < high
            following = independence(whitened(estimates, covariance))
            assert abs(following['lag_1']) < mean_limit(runs * 24)
            low, high = deviation_range(runs, figures=24)
            for source in ('predicted', 'executed'):
                fit = content[estimator]['of'][name]['agreement'][source]
                assert low < fit['worst'] < high
    for estimator in ESTIMATORS:
        part = content[estimator]
        deviations = [np.sqrt(np.diag(predicted[n].covariances[estimator])) for n in designs]
        low, high = ratio_range(runs, runs, figures=24)
        ratio = np.array(part['ratio']) / (deviations[1] / deviations[0])
        assert low < ratio.min() and ratio.max() < high
        logs = [np.linalg.slogdet(predicted[n].covariances[estimator])[1] for n in designs]
        volume = 0.5 * (logs[1] - logs[0])
        width = (part['log_volume_interval'][1] - part['log_volume_ratio']) / 1.96
        assert abs(part['log_volume_ratio'] - volume) < normal_limit() * width
        assert volume < -2 * width and part['log_volume_interval'][1] < 0.0
    assert content['log_volume_ratio_predicted'] == pytest.approx(
        0.5 * (predicted['T_d'].log_determinant - predicted['T_s'].log_determinant)
    )


def test_the_comparison_sees_which_of_the_two_is_worse(designs, model):
    """The same runs with the names exchanged: everything turns round."""
    pair = run_designs('palida', designs, 6, 1, 'noise', Runner(1))
    content, turned = summary(model, pair), summary(model, dict(reversed(pair.items())))
    assert content['ls']['smaller'] == 24 - turned['ls']['smaller']
    assert content['log_volume_ratio_predicted'] == -turned['log_volume_ratio_predicted'] < -5
    assert content['ls']['log_volume_ratio'] is None  # six runs of 24 parameters
    assert not any('volume' in line for line in findings(content))


def test_noise_that_the_prediction_does_not_know_is_seen(designs, predicted, model):
    """Forces twice as noisy as declared: the prediction fails, that of the runs holds."""
    design, runs = designs['T_s'], 24
    measured = record(model, design.trajectory, 1.0, runs, SEED, 'noise')
    periods = measured.forces.reshape(runs, -1, 6)
    noisier = (periods.mean(axis=0) + 2.0 * (periods - periods.mean(axis=0))).reshape(-1, 6)
    signals = signals_of(model, replace(measured, forces=noisier), design.period)
    known, found = predicted['T_s'].covariances, solved(model, signals)
    executed = executed_deviations(model, signals)
    low, high = spread_range(24 * (runs - 1))
    for estimator, estimates in estimate_runs(model, signals, range(runs)).items():
        assert 2 * low < spread_of(estimates, known[estimator]) < 2 * high
        assert low < spread_of(estimates, found[estimator]) < high
        np.testing.assert_allclose(executed[estimator] ** 2, np.diag(found[estimator]))
        spread = estimates.std(axis=0, ddof=1)
        fit = agreement(np.sqrt(np.diag(known[estimator])), spread, runs)
        assert fit['median'] > 2 * deviation_range(runs)[0]


def test_predictions_by_another_route(designs, predicted, model):
    """F of the stacked regressor, row by row."""
    for name, design in designs.items():
        found = predict(model, design.trajectory)
        for estimator, covariance in predicted[name].covariances.items():
            deviations = np.sqrt(np.diag(covariance))
            np.testing.assert_allclose(found.deviations[estimator], deviations, rtol=1e-6)
        assert found.figures['d_optimal'] == pytest.approx(-predicted[name].log_determinant)
        condition = np.linalg.cond(predicted[name].rows)
        assert found.figures['condition_number'] == pytest.approx(condition, rel=1e-6)


def test_the_result_does_not_depend_on_the_number_of_processes(designs):
    """Two batches a design; no run twice."""
    runs = excitation_study.BATCH + 2
    first, second = (
        run_designs('palida', designs, runs, 3, 'noise', Runner(workers)) for workers in (1, 2)
    )
    for name, one in first.items():
        for estimator, values in one.estimates.items():
            np.testing.assert_array_equal(values, second[name].estimates[estimator])
        assert len({tuple(row) for row in one.estimates['ls']}) == runs


def test_runs_of_the_simulated_robot_are_whole_settled_periods(designs, model):
    """Consecutive periods: all alike but for the noise, which is the declared one."""
    trajectory = designs['T_s'].trajectory
    near = FourierTrajectory(  # about home, so that the approach is short
        1.0,
        [*model.home_position, 0.0, 0.0, 0.0],
        0.4 * trajectory.sine,
        0.4 * trajectory.cosine,
        robot='palida',
    )
    measured = record(model, near, designs['T_s'].ramp_time, 3, SEED, 'robot')
    periods = measured.forces.reshape(3, 1000, 6)
    differences = (periods[1:] - periods[:-1]) / np.sqrt(2.0)
    declared = np.sqrt(np.diag(force_noise(model)))
    low, high = deviation_range(1000, figures=6)
    ratio = differences.std(axis=(0, 1)) / declared
    assert low < ratio.min() and ratio.max() < high
    assert np.all(np.abs(differences.mean(axis=(0, 1))) < mean_limit(1000, figures=6) * declared)
    planned = model.actuator_states(near.motion(np.arange(1000) / 1000.0, model)).positions
    tracked = measured.positions.reshape(3, 1000, 6).mean(axis=0)
    assert np.abs(tracked - planned).max() < 0.01
    # each recording's full speed begins elsewhere between two samples, by its noise
    other = record(model, near, designs['T_s'].ramp_time, 3, [0, 8], 'robot')
    speed = np.gradient(planned, axis=0)
    apart = other.positions.reshape(3, 1000, 6).mean(axis=0) - tracked
    assert abs(np.sum(apart * speed) / np.sum(speed**2)) < 0.02  # samples
    assert set(measured.limits_left) == {'stroke', 'velocity', 'force'}
    assert min(measured.limits_left.values()) > 0.0 and measured.saturated == 0.0


def test_a_signal_that_is_late_comes_in_phase():
    time = np.arange(200)[:, None]
    wanted = np.cos(2 * np.pi * 3 * time / 200 + [0.3, 1.0])
    late = np.cos(2 * np.pi * 3 * (time + 0.37) / 200 + [0.3, 1.0])
    np.testing.assert_allclose(in_phase(late, 0.37), wanted, atol=1e-12)


def test_a_long_approach_is_no_failure(model, monkeypatch):
    """The time that a simulation may take counts the approach, here ten times the motion."""
    limits = []

    def run(*_, time_limit, **__):
        limits.append(time_limit)
        return SimpleNamespace(outcome=None)

    monkeypatch.setattr(offline, 'run_closed_loop', run)
    offset = [*model.home_position, 0.0, 0.0, 0.9]
    turned = FourierTrajectory(1.0, offset, np.zeros((6, 1)), np.full((6, 1), 1e-3))
    with pytest.raises(SimulationError):
        offline.simulate(model, turned, 1, ramp_time=0.5)
    assert limits[0] > 1.875 * 0.9 / 0.1 + 10.0


def test_a_robot_without_declared_noise_is_refused():
    description = pkm_description.load('five_bar')
    sidecar = {key: value for key, value in description.sidecar.items() if key != 'simulation'}
    quiet = ClosedChainModel(replace(description, sidecar=sidecar))
    with pytest.raises(EstimationError, match="'five_bar' declares no force noise"):
        force_noise(quiet)


@pytest.mark.parametrize(
    ('arguments', 'status', 'words'),
    [
        (['--runs', '2'], 2, 'at least 3'),
        (['--seed', '-1'], 2, 'whole number >= 0'),
        (['--plant', 'moon'], 2, "'robot', 'noise'"),
        (['--robot', 'nowhere'], 1, 'nowhere'),
        (['--period', '0.0001'], 1, 'period must be at least'),
    ],
)
def test_wrong_use_is_refused_in_a_line(arguments, status, words, capsys):
    assert cli.main(['study', 'excitation', *arguments]) == status
    shown = capsys.readouterr().err
    assert words in shown and 'Traceback' not in shown


def test_a_folder_that_exists_is_refused_before_anything_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(excitation_study, 'design_pair', None)
    assert cli.main(['study', 'excitation', '--output', str(tmp_path)]) == 1
    assert 'exists already' in capsys.readouterr().err
