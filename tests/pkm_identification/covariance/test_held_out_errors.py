"""Variances of the errors of predictions, against errors that are drawn with known ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from pkm_identification import identify, load_result, validate
from pkm_identification.covariance.error_variances import error_variances, variance_coefficients
from pkm_identification.datasets import Recording
from pkm_identification.result.force_errors import LEVELS, TERMS, Domain, ForceErrors, error_terms
from pkm_identification.signals.bands import HarmonicBand

SAMPLES = 20_000


def drawn(random: np.random.Generator) -> np.ndarray:
    """Terms (n, t) of random velocities, accelerations and forces."""
    return error_terms(*random.normal(size=(2, SAMPLES, 1)))[:, 0]


@pytest.mark.parametrize('coefficients', [[1.0, 0, 0, 0], [0.1, 0, 4.0, 0], [0.1, 0.3, 0, 6]])
def test_variances_are_those_that_errors_were_drawn_with(coefficients):
    """Mean variances of thirds of the samples by each term; their deviation is 2 %."""
    random = np.random.default_rng(0)
    terms = drawn(random)
    known = random.uniform(0.0, 0.2, SAMPLES)
    true = known + terms @ coefficients
    squares = true * random.normal(size=SAMPLES) ** 2
    found = variance_coefficients(squares, known, terms)
    assert (found >= 0).all()
    for term in terms.T[1:]:
        for own in np.array_split(np.argsort(term, kind='stable'), 3):
            mean = np.mean(known[own] + terms[own] @ found)
            assert mean == pytest.approx(true[own].mean(), rel=0.1)


def test_no_error_beyond_what_is_known_has_no_variance():
    """Squares are smaller than what is known of them."""
    terms = drawn(np.random.default_rng(1))
    assert not variance_coefficients(np.full(SAMPLES, 0.5), np.ones(SAMPLES), terms).any()


def test_terms_count_only_where_they_hold_for_unknown_parts():
    """Errors that grow near reversals in all parts, or in two of five by chance."""
    random = np.random.default_rng(2)
    count = 2000
    terms = drawn(random)[:count]
    parts = np.arange(count) * 5 // count
    near = 0.05 + 3 * terms[:, 1]
    noise = random.normal(size=count) ** 2
    always = error_variances(near * noise, np.zeros(count), terms, parts, 0.01, 0.0)
    assert always.coefficients[1:].any()
    mixed = np.where(parts < 2, near, near.mean())
    chance = error_variances(mixed * noise, np.zeros(count), terms, parts, 0.01, 0.0)
    assert not chance.coefficients[1:].any()
    assert chance.coefficients[0] == pytest.approx(np.mean(mixed * noise), rel=0.01)


def test_variances_are_no_less_than_those_of_the_fit_and_keep_their_shape():
    """Twice the mean square is asked for: near reversals and elsewhere twice as much each."""
    random = np.random.default_rng(2)
    terms = drawn(random)
    parts = np.arange(SAMPLES) * 3 // SAMPLES
    squares = (0.05 + 3 * terms[:, 1]) * random.normal(size=SAMPLES) ** 2
    known = np.zeros(SAMPLES)
    free = error_variances(squares, known, terms, parts, 1e-6, 0.0).coefficients
    assert free[1:].any()
    least = 2 * float((terms @ free).mean())
    more = error_variances(squares, known, terms, parts, 1e-6, least).coefficients
    np.testing.assert_allclose(more, 2 * free, rtol=1e-9)
    smaller = np.full(SAMPLES, 0.5), np.ones(SAMPLES)
    none = error_variances(*smaller, terms, parts, 1e-6, least).coefficients
    np.testing.assert_allclose(none, [least, 0, 0, 0])


def test_errors_grow_beyond_the_motion_that_they_are_known_of():
    """By distances in widths of the range and in largest speeds; the farthest joint counts."""
    one = np.ones(2)
    domain = Domain(np.array([-1.0, 0.0]), np.array([1.0, 1.0]), np.array([2.0, 4.0]))
    errors = ForceErrors(
        np.tile(np.eye(TERMS)[0], (2, 1)),
        *(one,) * 4,
        np.stack([ndtri(0.5 + 0.5 * LEVELS)] * 2),
        *(one,) * 2,
        holds_noise=False,
        holding=0 * one,
        transition_velocity=0.01,
        domain=domain,
    )
    positions = np.array([[0.0, 0.5], [2.0, 0.5], [0.0, -1.0], [0.0, 0.5], [1.1, 0.5]])
    velocities = np.array([[2.0, -4.0], [1.0, 1.0], [1.0, 1.0], [1.0, -8.0], [1.0, 1.0]])
    distances = [[0, 0], [0.5, 0], [0, 1], [0, 1], [0.05, 0]]
    np.testing.assert_allclose(domain.distance(positions, velocities), distances, atol=1e-12)
    is_left = domain.is_left(positions, velocities)
    np.testing.assert_array_equal(is_left, np.array(distances) >= 0.5)
    growth = np.array([1.0, 1.5, 2.0, 2.0, 1.05]) ** 2
    found = errors.variance(positions, velocities, np.ones((5, 2)))
    np.testing.assert_allclose(found, np.stack([growth, growth], axis=1))
    known = replace(errors, domain=None).variance(positions, velocities, np.ones((5, 2)))
    np.testing.assert_allclose(known, np.ones((5, 2)))


def test_joints_that_move_beyond_are_named(record, slider_model):
    """The left slider moves twice as far as in the data of the identification."""

    def part(data, widths):
        middle = data.positions.mean(axis=0)
        inner = middle + widths * (data.positions - middle)
        return Recording.from_arrays(
            data.time, data.joint_names, inner, data.efforts, period=data.period
        )

    data = record(periods=6, force_noise=0.5)
    result = identify(part(data, [0.5, 1.0]), slider_model)
    found = validate(data, result, slider_model).coverage
    assert found.beyond[0] > 0.2 and found.beyond[1] == 0.0
    inside = validate(part(data, [0.5, 1.0]), result, slider_model).coverage
    assert not inside.beyond.any() and inside.within_domain == inside.measured_overall


def test_quantiles_are_those_of_parts_that_the_variances_do_not_know():
    """Errors are alike within a part: those of another one are larger than fits to parts say.

    Shares of 200 drawn parts scatter by 1 %.
    """
    random = np.random.default_rng(4)
    levels, known = np.array([0.95]), np.zeros(200)
    plain, scored = [], []
    for _ in range(200):
        terms = random.exponential(size=(6, 4)).repeat(40, axis=0)
        terms[:, 0] = 1.0
        errors = random.exponential(size=6).repeat(40) * random.normal(size=240)
        fitted, parts = slice(200), np.arange(200) // 40
        squares = errors[fitted] ** 2
        found = variance_coefficients(squares, known, terms[fitted])
        deviation = np.sqrt(terms @ found)
        reach = np.quantile(np.abs(errors[fitted]) / deviation[fitted], levels)
        plain.append(np.mean(np.abs(errors[200:]) < reach * deviation[200:]))
        chosen = error_variances(squares, known, terms[fitted], parts, 1e-9, 0.0)
        deviation = np.sqrt(terms[200:] @ chosen.coefficients)
        scored.append(np.mean(np.abs(errors[200:]) < chosen.quantiles(levels) * deviation))
    assert np.mean(plain) < 0.92
    assert 0.93 <= np.mean(scored) <= 0.98


def test_reach_follows_the_quantiles():
    """Errors with light and heavy tails; a normal one between the levels that are kept."""
    normal = ndtri(0.5 + 0.5 * LEVELS)
    one = np.ones(2)
    errors = ForceErrors(
        np.zeros((2, TERMS)),
        *(one,) * 4,
        np.stack([normal, 2 * normal]),
        *(one,) * 2,
        holds_noise=False,
        holding=0 * one,
        transition_velocity=0.01,
    )
    for level in (0.3, 0.5, 0.77, 0.95, 0.999):
        np.testing.assert_allclose(errors.reach(level), np.array([1, 2]) * ndtri(0.5 + 0.5 * level))


def test_samples_of_a_band_invert_its_rows():
    """In the band; as many samples as rows are a rotation of them."""
    band = HarmonicBand(4, 1.3)
    time = np.arange(50) / 50
    samples = (
        np.cos(2 * np.pi * 3 * time + 0.3)[:, None]
        + [1.0, 2.0]
        + np.sin(8 * np.pi * time)[:, None] * [0.5, 0.1]
    )
    np.testing.assert_allclose(band.samples(band.rows(samples), 50), samples, atol=1e-12)
    rows = np.random.default_rng(0).normal(size=(9, 2))
    turned = band.samples(rows, 9)
    np.testing.assert_allclose(turned.T @ turned, rows.T @ rows, atol=1e-12)


@pytest.mark.parametrize('options', [{}, {'method': 'filter', 'cutoff': 15.0}])
def test_bounds_hold_forces_of_a_model_that_lacks_an_effect(
    record, slider_model, motion, options, tmp_path
):
    """Friction falls with the speed, in other motions too; a file keeps what tells the bounds."""

    def recording(seed, period):
        data = record(seed=seed, periods=12, period=period, force_noise=0.5)
        velocity = motion(data.time, period).qd
        lacking = 8 * np.sign(velocity) * np.exp(-np.abs(velocity) / 0.1)
        return Recording.from_arrays(
            data.time, data.joint_names, data.positions, data.efforts + lacking, period=period
        )

    result = identify(recording(1, 1.0), slider_model, **options)
    findings = result.diagnostics.residual_findings
    assert ('left' in findings.coloured) == bool(options)  # few harmonics tell no colour
    other = recording(2, 1.1)
    coverage = validate(other, result, slider_model, **options).coverage
    assert coverage.measured_overall >= 0.90
    assert (coverage.by_speed >= 0.75).all()
    without = replace(result, diagnostics=replace(result.diagnostics, force_errors=None))
    narrow = validate(other, without, slider_model, **options).coverage
    if (
        not options
    ):  # the noise of filtered forces is that of the residuals, which hold the friction
        assert narrow.measured_overall < coverage.measured_overall
    kept = load_result(result.save(tmp_path / 'model.yaml'), slider_model)
    assert kept.diagnostics.residual_findings == findings
    again = validate(other, kept, slider_model, **options).coverage
    assert again.measured_overall == coverage.measured_overall


def with_a_rest(model, motion, time):
    """Motion of the sliders, of which the right one rests from 2 to 4 s."""
    grid = np.arange(0.0, time[-1] + 1e-3, 1e-4)
    rate = np.interp(grid, [1.7, 2.0, 4.0, 4.3], [1.0, 0.0, 0.0, 1.0])
    own = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * 1e-4)])
    speed = np.interp(time, grid, rate)
    slowed = motion(np.interp(time, grid, own))
    moved = motion(time)
    moved.q[:, 1] = slowed.q[:, 1]
    moved.qd[:, 1] = slowed.qd[:, 1] * speed
    moved.qdd[:, 1] = slowed.qdd[:, 1] * speed**2 + slowed.qd[:, 1] * np.gradient(speed, time)
    return moved


@pytest.mark.parametrize('share', [-0.9, 0.9])
def test_bounds_hold_whatever_friction_holds_at_rest(record, slider_model, motion, share):
    """A drive holds a load by a share of its Coulomb friction, which no motion shows."""
    random = np.random.default_rng(3)
    options = {'method': 'filter', 'cutoff': 15.0}
    result = identify(record(seed=1, periods=6, force_noise=0.5), slider_model, **options)
    time = np.arange(6000) / 1000
    moved = with_a_rest(slider_model, motion, time)
    forces = slider_model.inverse_dynamics(moved) + 0.5 * random.normal(size=(6000, 2))
    coulomb = slider_model.nominal_parameters[5]
    forces[(time >= 2.0) & (time <= 4.0), 1] += share * coulomb
    positions = moved.q + 1e-5 * random.normal(size=forces.shape)
    data = Recording.from_arrays(time, slider_model.actuated_joints, positions, forces)
    found = validate(data, result, slider_model, **options)
    error = (found.measured - found.predicted)[(found.time > 2.2) & (found.time < 3.8), 1]
    assert np.median(error) == pytest.approx(share * coulomb, abs=0.5)
    assert (found.coverage.measured >= 0.9).all()
    resting = result.diagnostics.force_errors.at_rest(moved.qd, moved.qdd) > 0
    assert resting[(time > 2.1) & (time < 3.9), 1].all()
    assert resting[:, 0].mean() < 0.01  # drives that reverse are not at rest


def test_large_residuals_are_named(record, slider_model):
    """Forces of the right drive that no motion explains, a half of the others."""
    data = record(periods=6, force_noise=0.5)
    more = np.sqrt(np.mean(data.efforts[:, 1] ** 2)) * np.sin(2 * np.pi * 7 * data.time)
    efforts = data.efforts + np.stack([0 * more, more], axis=1)
    wrong = Recording.from_arrays(data.time, data.joint_names, data.positions, efforts, period=1.0)
    found = identify(wrong, slider_model).diagnostics
    assert found.residual_findings.large == ('right',)
    # sqrt(1 / 2) over sqrt(1 + 1 / 2)
    assert found.force_errors.relative[1] == pytest.approx(np.sqrt(1 / 3), rel=0.15)
