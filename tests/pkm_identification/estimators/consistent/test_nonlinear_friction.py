"""Nonlinear friction: known laws found again, other solvers, uncertainty, files, feedforward."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from pkm_description.errors import EstimationError, ModelFileError
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification import identify, load_result
from pkm_identification.estimators.consistent.nonlinear_friction import nonlinear_friction
from pkm_identification.estimators.consistent.physically_consistent import feasible
from pkm_identification.estimators.linear import noise_of_rows
from pkm_identification.regression.problem import build_problem
from pkm_identification.regression.weighted_least_squares import inverse_root
from pkm_identification.signals import process

JOINTS = ('left', 'right')
TRUE = {
    'stribeck': np.array([8.0, 0.03, 1.0, 10.0, 0.05, 1.5]),
    'atan': np.array([6.0, 12.0, -3.0, 20.0]),
    'power': np.array([20.0, 0.4, 25.0, 0.6]),
}
V0 = 0.002


@pytest.fixture
def rubbed(record, slider_model, motion):
    """The function that records the sliders with a friction law besides their own friction."""

    def simulate(law, noise=2.0, seed=0, values=None, **fields):
        data = record(periods=5, force_noise=noise, position_noise=1e-6, seed=seed, **fields)
        true = TRUE[law] if values is None else values
        rate = motion(data.time).qd
        forces = data.efforts + DriveFriction(JOINTS, (law, law), true, V0).forces(rate)
        if law == 'power':  # in place of viscous friction
            forces = forces - slider_model.nominal_parameters[[4, 6]] * rate
        return data.changed(efforts=forces)

    return simulate


def truth_of(law, model):
    values = np.array(model.nominal_parameters)
    if law == 'power':
        values[[4, 6]] = 0.0
    return values


@pytest.mark.parametrize('law', ['stribeck', 'atan', 'power'])
def test_known_laws_are_found_again(rubbed, slider_model, motion, law):
    data = rubbed(law, noise=1.0)
    result = identify(data, slider_model, 'nonlinear_friction', law=law)
    truth = truth_of(law, slider_model)
    friction = result.drive_friction
    assert friction.law.laws == (law, law) and result.is_physical
    moved = np.abs(result.values - truth)
    assert (moved <= 4.5 * result.standard_deviation + 1e-6).all()
    z = (friction.values - TRUE[law]) / friction.standard_deviation
    assert np.abs(z).max() < 4.5
    time = np.arange(400) * 0.0025 + 0.001
    other = motion(time, period=1.3)
    forces = slider_model.inverse_dynamics(other, truth)
    forces = forces + DriveFriction(JOINTS, (law, law), TRUE[law], V0).forces(other.qd)
    found, deviation = result.predict(other, standard_deviation=True)
    linear = identify(data, slider_model, 'feasible').predict(other)
    assert np.abs(found - forces).mean() < 0.35 * np.abs(linear - forces).mean()
    assert np.sqrt(np.mean(((found - forces) / deviation) ** 2)) < 3
    assert result.residuals.std() < 1.0  # mean of five periods with noise of 1 and 3 N
    assert friction.units[0] == 'N' and len(friction.units) == len(friction.names)


def test_uncertainty_is_that_of_many_runs(rubbed, slider_model):
    found, reported = [], []
    for seed in range(10):
        problem = build_problem(process(rubbed('stribeck', seed=seed)), slider_model)
        estimate = nonlinear_friction(problem, starts=2)
        found.append(estimate.values)
        reported.append(np.sqrt(np.diag(estimate.covariance)))
    ratio = np.mean(reported, axis=0) / np.std(found, axis=0, ddof=1)
    assert 0.75 < np.median(ratio) < 1.35  # 1.0 over 40 runs
    assert (ratio > 0.4).all() and (ratio < 2.5).all()


def bounded_squares(problem, velocities, v_s, exponent):
    """Squared residuals at given shapes, by a bounded least-squares solver of its own."""
    roots = [inverse_root(noise) for noise in noise_of_rows(problem)]
    run, root = problem.runs[0], roots[0]
    v = velocities
    shapes = np.clip(v / V0, -1, 1) * np.exp(-((np.abs(v) / v_s) ** exponent))
    columns = np.zeros((*v.shape, 2))
    columns[:, 0, 0], columns[:, 1, 1] = shapes[:, 0], shapes[:, 1]
    rows = np.concatenate([run.regressor, run.signals.band.rows(columns)], axis=-1)
    design = (root @ rows).reshape(-1, rows.shape[-1])
    target = (root @ run.forces[..., None]).ravel()
    scale = np.linalg.norm(design, axis=0)
    found = lsq_linear(design / scale, target, bounds=(0, np.inf), tol=1e-12)
    return 2 * found.cost, found.x / scale


def test_no_point_of_a_grid_is_better(rubbed, slider_model):
    """All unknowns of the sliders have to be positive: a bounded least-squares problem."""
    problem = build_problem(process(rubbed('stribeck')), slider_model)
    estimate = nonlinear_friction(problem)
    velocities = problem.signals.velocities
    best = estimate.values[7:].reshape(2, 3)
    at_best, values = bounded_squares(problem, velocities, best[:, 1], best[:, 2])
    assert at_best == pytest.approx(estimate.diagnostics.squared_residuals, rel=1e-6)
    np.testing.assert_allclose(values[:7], estimate.values[:7], rtol=1e-3)
    np.testing.assert_allclose(values[7:], best[:, 0], rtol=1e-3)
    random = np.random.default_rng(0)
    low, high = np.log([[2 * V0, 0.5], [0.25, 3.0]])
    for _ in range(60):
        shapes = np.exp(random.uniform(low, high, (2, 2)))
        cost, _ = bounded_squares(problem, velocities, shapes[:, 0], shapes[:, 1])
        assert cost > at_best - 1e-3
    for factor in (0.99, 1.01):
        for k in range(4):
            near = best[:, 1:].copy()
            near.flat[k] *= factor
            cost, _ = bounded_squares(problem, velocities, near[:, 0], near[:, 1])
            assert cost > at_best - 1e-3
    linear = feasible(problem)
    assert estimate.diagnostics.squared_residuals_linear_friction == pytest.approx(
        np.sum(
            (
                inverse_root(problem.runs[0].covariance)
                @ problem.runs[0].residuals(linear.values)[..., None]
            )
            ** 2
        ),
        rel=1e-6,
    )


def test_friction_never_drives(rubbed, slider_model):
    """An arctangent that falls more than Coulomb friction is high stays at that limit."""
    values = np.array([-3.2, 40.0, 3.0, 20.0])  # Coulomb friction is 4 N
    data = rubbed('atan', values=values)
    result = identify(data, slider_model, 'nonlinear_friction', law='atan')
    coulomb = result.values[result.names.index('left.coulomb')]
    amplitude = result.drive_friction.values[0]
    assert amplitude < -1
    assert coulomb + np.pi / 2 * amplitude == pytest.approx(0.0, abs=1e-4 * coulomb)
    assert any('atan_force >= 0' in name for name in result.diagnostics['active_constraints'])
    speed = np.linspace(V0, 0.5, 500)
    viscous = result.values[result.names.index('left.viscous')]
    force = coulomb + viscous * speed
    force += result.drive_friction.law.forces(np.column_stack([speed, speed]))[:, 0]
    assert (force > -1e-3).all()


def test_law_of_each_drive(rubbed, slider_model):
    data = rubbed('stribeck')
    result = identify(
        data, slider_model, 'nonlinear_friction', law={'right': 'stribeck'}, exponent=1.5
    )
    assert result.drive_friction.law.laws == ('coulomb_viscous', 'stribeck')
    assert result.drive_friction.names[0] == 'right.stribeck_force'
    exponent = result.drive_friction.names.index('right.stribeck_exponent')
    assert result.drive_friction.values[exponent] == pytest.approx(1.5, rel=1e-9)
    assert result.drive_friction.standard_deviation[exponent] == 0
    plain = identify(data, slider_model, 'nonlinear_friction', law='coulomb_viscous')
    assert plain.drive_friction is None
    np.testing.assert_allclose(plain.values, identify(data, slider_model, 'feasible').values)


def test_file_and_feedforward_keep_the_friction(rubbed, slider_model, motion, tmp_path):
    result = identify(rubbed('stribeck'), slider_model, 'nonlinear_friction')
    path = result.save(tmp_path / 'model.yaml')
    read = load_result(path, slider_model)
    other = motion(np.arange(100) * 0.01)
    for one, two in zip(result.predict(other, True), read.predict(other, True), strict=True):
        np.testing.assert_array_equal(one, two)
    forces, deviation = result.predict(other, True)
    currents, spread = result.predict_currents(other, True)
    constants = slider_model.force_constants
    np.testing.assert_allclose(currents * constants, forces)
    np.testing.assert_allclose(spread * constants, deviation)
    one, two = read.drive_friction, result.drive_friction
    assert (one.names, one.units, one.law.laws) == (two.names, two.units, two.law.laws)
    np.testing.assert_array_equal(one.covariance, two.covariance)
    assert list(read.controller_parameters)[-1] == 'right.stribeck_exponent'
    text = path.read_text()
    assert 'version: 2' in text and 'unit: m/s' in text
    for old, new, message in (
        ('right: stribeck', 'right: atan', 'do not belong together'),
        ('left.stribeck_force', 'left.stribeck_push', "left.stribeck_force' is missing"),
        ('version: 2', 'version: 4', 'version 4'),
    ):
        bad = tmp_path / 'bad.yaml'
        bad.write_text(text.replace(old, new))
        with pytest.raises(ModelFileError, match=message):
            load_result(bad, slider_model)
        bad.unlink()


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'law': 'dahl'}, "unknown friction law 'dahl'; valid are coulomb_viscous, stribeck"),
        ({'law': {'up*': 'atan'}}, "no drive is called or matches 'up\\*'; they are left, right"),
    ],
)
def test_what_cannot_be_is_refused(rubbed, slider_model, options, message):
    problem = build_problem(process(rubbed('stribeck')), slider_model)
    with pytest.raises(EstimationError, match=message):
        nonlinear_friction(problem, **options)


def test_a_search_that_is_cut_short_says_so(rubbed, slider_model):
    problem = build_problem(process(rubbed('stribeck')), slider_model)
    short, whole = (nonlinear_friction(problem, max_iterations=count) for count in (1, 50))
    assert 'did not converge in 1 steps' in short.warnings[0] and not whole.warnings
    assert whole.diagnostics.squared_residuals < short.diagnostics.squared_residuals


def test_motions_that_show_no_friction_law_are_refused(rubbed, slider_model):
    data = rubbed('stribeck')
    slow = data.changed(positions=0.3 + 1e-3 * (data.positions - 0.3))
    with pytest.raises(EstimationError, match='no faster than its friction is smoothed over'):
        nonlinear_friction(build_problem(process(slow), slider_model))


def test_a_law_that_is_not_there_does_not_blur_the_forces(rubbed, slider_model, motion):
    """Its shape stays unknown, the forces do not: nothing is multiplied with it."""
    none = np.array([0.0, 0.03, 1.0, 0.0, 0.05, 1.5])
    seeds = range(6)  # half of the amplitudes end at their limit of zero
    found = [
        identify(rubbed('stribeck', seed=seed, values=none), slider_model, 'nonlinear_friction')
        for seed in seeds
    ]
    assert any('left.stribeck_velocity' in r.diagnostics['undetermined_friction'] for r in found)
    other = motion(np.arange(400) * 0.0025 + 0.001, period=1.3)
    forces = slider_model.inverse_dynamics(other)
    for result in found:
        predicted, deviation = result.predict(other, standard_deviation=True)
        if 'left.stribeck_velocity' in result.diagnostics['undetermined_friction']:
            assert result.drive_friction.values[0] == 0.0
            assert np.isinf(result.drive_friction.standard_deviation[1:3]).all()
        assert np.isfinite(deviation).all()
        assert np.abs((predicted - forces) / deviation).max() < 6.0


def test_filtered_data_and_several_recordings(rubbed, slider_model):
    data = [rubbed('stribeck', seed=1), rubbed('stribeck', seed=2)]
    result = identify(
        data, slider_model, 'nonlinear_friction', method='filter', cutoff=40.0, exponent=1.2
    )
    friction = result.drive_friction
    assert friction.values[0] > 3 * friction.standard_deviation[0]
    linear = identify(data, slider_model, 'feasible', method='filter', cutoff=40.0)
    assert (result.residual_rms < 0.8 * linear.residual_rms).any()
    assert (result.residual_rms < 1.001 * linear.residual_rms).all()
