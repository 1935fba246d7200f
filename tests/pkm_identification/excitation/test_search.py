"""The search itself: optimiser, repair between the samples, starts, and what bounds a design."""

import dataclasses

import numpy as np
import pytest
from mechanisms import tripod

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import DesignLimits, design_excitation
from pkm_identification.excitation.design import build_design_problem, suggested_period
from pkm_identification.excitation.information import parameter_directions
from pkm_identification.excitation.search import design_problem
from pkm_identification.excitation.search.criteria import figures
from pkm_identification.excitation.search.improve import REFINEMENT, Improved, Start, improve
from pkm_identification.excitation.search.multi_start import LINE, _rounds
from pkm_identification.excitation.search.sequential_convex import Linearisation, minimise, restored
from pkm_identification.excitation.search.starts import fast_unknowns

MIX = {
    'd_optimal': 1.0,
    'a_optimal': 1.0,
    'e_optimal': 1.0,
    'condition_number': 1.0,
    'condition_number_scaled': 1.0,
}
LIMITS = DesignLimits(acceleration=8.0, aperture=0.4)
KINDS = {
    'positions',
    'velocities',
    'accelerations',
    'high',
    'low',
    'dexterity',
    'aperture',
    'tracking',
}


class Ball:
    """Minimise a slope within a ball about the origin: all of the curvature is the limit's."""

    def __init__(self, slope, radius=1.0):
        self.slope, self.radius = np.array(slope, dtype=float), radius
        self.derivatives = 0

    def excess(self, z):
        return np.array([z @ z / self.radius**2 - 1.0])

    def value(self, z):
        return float(self.slope @ z), float(self.excess(z).max())

    def linearise(self, z):
        self.derivatives += 1
        slopes = 2.0 * z[None] / self.radius**2
        return Linearisation(
            float(self.slope @ z), self.slope, self.excess(z), slopes, np.arange(1)
        )

    def constraints_of(self, z, labels):
        return self.excess(z)[labels]


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def base(model):
    return model.base_parameters(shared=True, reduced=True)


@pytest.fixture(scope='module')
def problem(model, base):
    return build_design_problem(model, base, {'d_optimal': 1.0}, 3, None, DesignLimits())


@pytest.mark.parametrize('start', [(0.1, 0.0, 0.3), (3.0, -4.0, 2.0)])
def test_a_bent_limit_is_followed_to_the_optimum(start):
    ball = Ball([3.0, -4.0, 12.0], radius=2.0)
    z, count = minimise(ball, np.array(start), 60)
    assert ball.slope @ z == pytest.approx(-26.0, rel=2e-3)
    assert ball.value(z)[1] < 1e-3
    assert ball.derivatives <= count + 1


def test_restoring_moves_to_the_nearest_point_within_the_limits():
    ball = Ball([1.0, 0.0])
    start = np.array([0.9, 0.6])
    z = restored(ball, start, 5)
    assert ball.value(z)[1] < 1e-4
    assert z == pytest.approx(start / np.linalg.norm(start), abs=5e-3)
    inside = np.array([0.2, 0.1])
    assert np.array_equal(restored(ball, inside, 5), inside)


@pytest.mark.parametrize('free', [True, False])
@pytest.mark.parametrize('name', ['palida', 'rps_upv', 'tripod'])
def test_derivatives_of_every_limit_and_criterion(name, free, monkeypatch):
    """Against central differences of the values, all limits at all samples."""
    monkeypatch.setattr(design_problem, 'NEAR', np.inf)
    robot = ClosedChainModel(tripod() if name == 'tripod' else pkm_description.load(name))
    parameters = robot.base_parameters(shared=True, reduced=True)
    period = None if free else 0.3 * suggested_period(robot, 3)
    problem = build_design_problem(robot, parameters, MIX, 3, period, LIMITS)
    kinds = [part[0] for part in problem._table.parts for _ in part[1]]
    assert set(kinds) >= KINDS | ({'platform', 'upright'} if name != 'tripod' else set())
    rng = np.random.default_rng(3)
    z = 0.5 * problem.shrunk(fast_unknowns(problem, rng), 0.7)
    problem = problem.regularised(z)
    linear = problem.linearise(z)
    sampled = np.array(kinds * problem.samples + ['period'] * 2 * free)
    assert len(linear.constraints) == len(sampled)
    step = 1e-6
    for direction in [rng.standard_normal(z.size), np.eye(z.size)[-1]]:
        ahead, behind = z + step * direction, z - step * direction
        slope = (problem.value(ahead)[0] - problem.value(behind)[0]) / (2 * step)
        assert linear.gradient @ direction == pytest.approx(slope, rel=1e-4, abs=1e-3)
        values = (problem.constraints_of(point, linear.labels) for point in (ahead, behind))
        slopes = np.subtract(*values) / (2 * step)
        errors = np.abs(linear.jacobian @ direction - slopes)
        for kind in set(sampled):  # apertures bend most: they are angles from home
            size = np.abs(slopes[sampled == kind]).max()
            tolerance = 2e-3 if kind == 'aperture' else 3e-4
            assert errors[sampled == kind].max() < tolerance * size + 1e-5, kind


def test_fast_motions_keep_the_geometry_and_exceed_speed_or_force(problem):
    for seed in range(3):
        z = fast_unknowns(problem, np.random.default_rng(seed))
        assert problem.geometric_excess(z) <= 0.0 < problem.value(z)[1]
        low, high = problem.task.period_range
        assert low <= problem.split(z)[1] <= 3.0 * low <= high


def test_what_rises_between_samples_counts_at_the_samples(problem):
    fine = problem.refined(REFINEMENT)
    motions = [fast_unknowns(problem, np.random.default_rng(seed)) for seed in range(5)]
    # whether the worst peak of one falls on a sample is a matter of rounding
    z = next(z for z in motions if problem.value(z)[1] < fine.value(z)[1])
    followed = problem.followed(z, fine)
    assert followed.value(z)[1] == pytest.approx(fine.peaks(z).max())
    assert problem.value(z)[1] < fine.value(z)[1] <= fine.peaks(z).max()
    # each peak is charged to a sample at most half a step away
    worst = problem._values(problem.evaluate(z)) + followed.tightening
    row, column = np.unravel_index(fine.peaks(z).argmax(), fine.peaks(z).shape)
    distance = abs(worst[:, column].argmax() * REFINEMENT - row)
    assert min(distance, fine.samples - distance) <= REFINEMENT // 2


def test_an_improved_start_is_feasible_and_far_better(problem):
    result = improve(problem, Start(0), seed=0, candidates=1, iterations=12)
    assert problem.check(problem.trajectory(result.z)).feasible
    assert result.objective == pytest.approx(problem.refined(REFINEMENT).value(result.z)[0])
    start = Start(1, result.z, 0.0, result.tightening)
    again = improve(problem, start, seed=0, candidates=1, iterations=12)
    assert again.objective <= result.objective
    other = improve(
        problem, dataclasses.replace(start, perturbation=0.2), seed=0, candidates=1, iterations=3
    )
    assert not np.allclose(other.z, result.z)


def test_starts_begin_near_the_best_of_their_line():
    found = []
    numbers = []
    for batch in _rounds(None, 2 * LINE, None, found):
        numbers += [start.index for start in batch]
        for start in batch:
            values = {result.index: result.objective for result in found}
            if start.z is not None:  # the unknown of these stand-ins is the index of their start
                own = sorted(v for k, v in values.items() if k >= LINE * (start.index // LINE))
                assert values[int(start.z[0])] in own[:2]
                assert start.perturbation > 0.0
        found += [
            Improved(s.index, np.array([s.index]), float(-(s.index * 37 % 101)), [], 1, np.zeros(1))
            for s in batch
        ]
    assert numbers == list(range(2 * LINE))


def test_directions_bound_the_condition_number(model, base):
    design = design_excitation(
        model, 'condition_number', harmonics=2, period=1.5, starts=1, iterations=3, candidates=1
    )
    weakest, *_, strongest = design.directions()
    ratio = np.sqrt(strongest.information / weakest.information)
    assert ratio == pytest.approx(design.figures['condition_number'], rel=1e-6)
    vector = np.array([weakest.components[name] for name in base.names])
    assert vector @ design.information() @ vector == pytest.approx(weakest.information, rel=1e-6)
    assert design.directions(4)[0].standard_deviation == pytest.approx(
        weakest.standard_deviation / 2
    )
    scaled = design.directions(scaled=True)
    ratio = np.sqrt(scaled[-1].information / scaled[0].information)
    assert ratio == pytest.approx(design.figures['condition_number_scaled'], rel=1e-6)


def test_directions_name_the_parameters():
    W = np.random.default_rng(0).standard_normal((50, 3)) * np.array([1.0, 100.0, 1.0])
    W[:, 2] = W[:, 0] + 1e-3 * W[:, 2]
    weakest, *_, strongest = parameter_directions(W.T @ W, ['a', 'b', 'c'])
    assert list(weakest.components)[2] == 'b'
    assert weakest.components['a'] * weakest.components['c'] == pytest.approx(-0.5, abs=1e-3)
    assert next(iter(strongest.components)) == 'b'
    condition = np.sqrt(strongest.information / weakest.information)
    assert condition == pytest.approx(figures(W)['condition_number'], rel=1e-4)
    with pytest.raises(EstimationError, match=r'finite matrix \(2, 2\)'):
        parameter_directions(np.eye(3), ['a', 'b'])
