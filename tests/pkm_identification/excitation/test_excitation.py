"""Excitation design: figures by another route, derivatives, feasibility, refusals."""

import dataclasses

import numpy as np
import pytest
from every_model import model_of
from mechanisms import tripod

import pkm_description
from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.kinematics.roll_pitch_yaw import rotation_to_rpy
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.trajectories import Execution, FourierTrajectory
from pkm_identification.excitation import (
    DesignLimits,
    ExcitationDesign,
    design_excitation,
    excitation_path,
    load_excitation,
    shipped_excitations,
)
from pkm_identification.excitation.design import build_design_problem
from pkm_identification.excitation.information import whitening_of
from pkm_identification.excitation.search.criteria import CRITERIA, figures, standard_deviations
from pkm_identification.excitation.search.starts import random_unknowns, repair

QUICK = {'harmonics': 3, 'starts': 1, 'iterations': 6, 'candidates': 4, 'workers': 1}


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def base(model):
    return model.base_parameters(shared=True, reduced=True)


@pytest.fixture(scope='module')
def design(model):
    return design_excitation(model, seed=3, period=1.5, **QUICK)


@pytest.fixture(scope='module')
def rough(model):
    return design_excitation(
        model, harmonics=3, starts=1, iterations=1, candidates=1, seed=8, period=1.5
    )


def problem_of(model, criterion='d_optimal', period=1.5, **options):
    base = model.base_parameters(shared=True, reduced=True)
    return build_design_problem(model, base, {criterion: 1.0}, 3, period, DesignLimits(), **options)


def information(base, design, rate=1000.0):
    """Information matrix of one period, by a plain product."""
    time = np.arange(round(design.period * rate)) / rate
    W = base.regressor(design.motion(time)).reshape(-1, base.rank)
    return W.T @ W


def test_figures_by_another_route(base, design):
    F = information(base, design)
    eigenvalues = np.linalg.eigvalsh(F)
    assert design.figures['d_optimal'] == pytest.approx(-np.linalg.slogdet(F)[1], rel=1e-6)
    assert design.figures['a_optimal'] == pytest.approx(np.sum(1 / eigenvalues), rel=1e-6)
    assert design.figures['e_optimal'] == pytest.approx(eigenvalues[0], rel=1e-6)
    condition = np.sqrt(eigenvalues[-1] / eigenvalues[0])
    assert design.figures['condition_number'] == pytest.approx(condition, rel=1e-6)
    deviations = np.sqrt(np.diag(np.linalg.inv(F)))
    assert list(design.figures['standard_deviation']) == base.names
    found = list(design.figures['standard_deviation'].values())
    assert found == pytest.approx(deviations, rel=1e-5)


def test_the_design_keeps_all_limits_by_brute_force(model, design):
    motion = design.motion(np.linspace(0.0, design.period, 4001))
    q, qd, _ = model.actuator_states(motion)
    assert np.all((q > model.lower) & (q < model.upper))
    assert np.all(np.abs(qd) < model.velocity_limit)
    assert np.all(np.abs(model.inverse_dynamics(motion)) < 0.76 * model.force_limit)
    joints = model.joint_states(motion).positions
    for column, name in enumerate(model.joint_names):
        limit = model.description.joint(name).limit
        assert limit.lower < joints[:, column].min()
        assert joints[:, column].max() < limit.upper
    workspace = model.description.sidecar['workspace']
    assert np.all(motion.position > workspace['position_lower'])
    assert np.all(motion.position < workspace['position_upper'])


def test_margins_say_where_and_when(model, design):
    worst = design.margins['force']
    motion = design.motion(worst['time'] + np.linspace(-1e-3, 1e-3, 201))
    joint = model.actuated_joints.index(worst['name'])
    largest = np.max(model.inverse_dynamics(motion)[:, joint] * np.sign(worst['value']))
    # a parabola over the jump of Coulomb friction overshoots by an eighth of it
    jump = 2.0 * model.description.joint(worst['name']).friction.coulomb
    assert largest - 0.1 <= abs(worst['value']) <= largest + jump / 8.0 + 0.1
    assert all(margin['margin'] > 0.0 for margin in design.margins.values())


def test_the_ramps_are_feasible(model, design):
    assert check_feasibility(model, Execution(design.trajectory, 3, design.ramp_time)).feasible


def test_better_than_random_feasible_motions(model, design):
    problem = problem_of(model)
    rng = np.random.default_rng(11)
    random = [problem.value(repair(problem, random_unknowns(problem, rng)))[0] for _ in range(10)]
    found = problem.value(problem.unknowns(design.trajectory))[0]
    assert found < min(random) - 10.0


def test_the_seed_decides(model):
    quick = {**QUICK, 'harmonics': 2, 'iterations': 1, 'candidates': 2, 'period': 1.5}
    first, again, other = (design_excitation(model, seed=seed, **quick) for seed in (1, 1, 2))
    assert np.array_equal(first.coefficients, again.coefficients)
    assert not np.allclose(first.coefficients, other.coefficients)


@pytest.mark.parametrize('criterion', sorted(CRITERIA))
def test_derivatives_of_each_criterion(model, criterion):
    problem = problem_of(model, criterion)
    rng = np.random.default_rng(5)
    z = repair(problem, random_unknowns(problem, rng))
    linear = problem.linearise(z)
    direction = rng.standard_normal(z.size)
    step = 1e-6
    ahead, behind = (problem.value(z + s * step * direction)[0] for s in (1, -1))
    slope = (ahead - behind) / (2 * step)
    assert linear.gradient @ direction == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize('criterion', sorted(CRITERIA))
def test_gradients_with_respect_to_the_regressor(criterion):
    rng = np.random.default_rng(2)
    W, direction = rng.standard_normal((40, 6)), rng.standard_normal((40, 6))
    _, gradient = CRITERIA[criterion](W)
    ahead, behind = (CRITERIA[criterion](W + s * 1e-6 * direction)[0] for s in (1, -1))
    assert np.sum(gradient * direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ('criterion', 'sign'), [('a_optimal', 1), ('e_optimal', -1), ('condition_number', 1)]
)
def test_every_criterion_improves_its_own_figure(model, rough, criterion, sign):
    options = {'harmonics': 3, 'starts': 0, 'iterations': 12, 'period': 1.5, 'initial': rough}
    found = design_excitation(model, criterion, **options)
    assert found.criterion == criterion
    assert sign * found.figures[criterion] < sign * rough.figures[criterion]


def test_fewer_degrees_of_freedom_use_actuator_coordinates():
    description = tripod()
    model = ClosedChainModel(description)
    found = design_excitation(model, harmonics=3, starts=1, iterations=4, candidates=3)
    assert found.trajectory.coordinates == 'actuators'
    assert found.trajectory.coordinate_names == tuple(model.actuated_joints)
    assert check_feasibility(model, found.trajectory).feasible
    F = information(model.base_parameters(shared=True, reduced=True), found)
    assert found.figures['d_optimal'] == pytest.approx(-np.linalg.slogdet(F)[1], rel=1e-6)


def test_save_and_load(model, design, tmp_path):
    path = tmp_path / 'design.yaml'
    design.save(path)
    with pytest.raises(TrajectoryError, match='exists already'):
        design.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ['design.yaml']
    again = ExcitationDesign.load(path, model)
    assert np.array_equal(again.coefficients, design.coefficients)
    assert again.figures == design.figures
    assert again.margins == design.margins
    assert np.array_equal(load_excitation(path).sine, design.trajectory.sine)
    path.write_text(path.read_text().replace('version: 2', 'version: 9'))
    with pytest.raises(TrajectoryError, match='version'):
        ExcitationDesign.load(path)
    with pytest.raises(TrajectoryError, match='no.yaml'):
        ExcitationDesign.load(tmp_path / 'no.yaml')


def test_noise_covariance_weighs_the_rows(base, design):
    covariance = np.diag([1.0, 4.0, 9.0, 1.0, 1.0, 1.0]) + 0.3
    W = whitening_of(covariance, 6)
    assert W.T @ W == pytest.approx(np.linalg.inv(covariance))
    with pytest.raises(TrajectoryError, match='positive definite'):
        whitening_of(-np.eye(6), 6)


def test_singular_information_is_reported():
    W = np.random.default_rng(0).standard_normal((20, 4))
    W = np.column_stack([W, W[:, 0] - W[:, 1]])
    found = figures(W)
    assert found['rank'] == 4 and found['e_optimal'] == 0.0
    for name in ('d_optimal', 'a_optimal', 'condition_number', 'condition_number_scaled'):
        assert found[name] == np.inf
    deviations = standard_deviations(W)
    assert np.all(np.isinf(deviations[[0, 1, 4]]))
    known = np.linalg.inv(W[:, :4].T @ W[:, :4])  # the sum of both others does not matter
    assert deviations[[2, 3]] == pytest.approx(np.sqrt(np.diag(known))[[2, 3]])
    assert CRITERIA['d_optimal'](W)[0] == np.inf
    few = figures(W[:2])
    assert few['rank'] == 2 and CRITERIA['e_optimal'](W[:2])[0] == np.inf
    full = np.random.default_rng(1).standard_normal((50, 3))
    expected = np.sqrt(np.diag(np.linalg.inv(full.T @ full)))
    assert standard_deviations(full) == pytest.approx(expected)


def test_refusals(model):
    with pytest.raises(TrajectoryError, match=r"'best' is unknown; valid are a_optimal"):
        design_excitation(model, 'best')
    with pytest.raises(TrajectoryError, match='harmonics'):
        design_excitation(model, harmonics=0)
    with pytest.raises(TrajectoryError, match='period'):
        design_excitation(model, period=-1.0)
    with pytest.raises(FeasibilityError, match='rest at home .* force of leg'):
        design_excitation(model, limits=DesignLimits(force_margin=0.9), **QUICK)


def test_limits_that_exclude_home(model):
    description = model.description
    joints = tuple(
        dataclasses.replace(j, limit=dataclasses.replace(j.limit, upper=0.8))
        if j.name == 'leg2_strut'
        else j
        for j in description.joints
    )
    narrow = ClosedChainModel(dataclasses.replace(description, joints=joints))
    with pytest.raises(FeasibilityError, match='rest at home .*leg2_strut'):
        design_excitation(narrow, **QUICK)


@pytest.mark.parametrize('robot', shipped_excitations())
def test_shipped_designs_are_feasible_and_up_to_date(robot):
    """From rest at home to rest, with wide margins; figures are those of today's robot."""
    model = model_of(robot)
    design = ExcitationDesign.load(excitation_path(robot), model)
    trajectory = load_excitation(robot)
    assert isinstance(trajectory, FourierTrajectory) and trajectory.robot == robot
    start = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
    if trajectory.coordinates == 'actuators':
        start = model.home_actuators
    report = check_feasibility(
        model,
        Execution(trajectory, 2, design.ramp_time, start),
        force_margin=0.4,
        velocity_margin=0.2,
        stroke_margin=0.03,
        clearance=0.005,
    )
    assert report.feasible, report.message
    base = model.base_parameters(shared=True, reduced=True)
    count = design.figures['samples']
    assert count == round(1000.0 * design.period) and design.figures['parameters'] == base.rank
    rows = base.regressor(design.motion(np.arange(count) / 1000.0)).reshape(-1, base.rank)
    found = figures(rows)
    assert found['d_optimal'] == pytest.approx(design.figures['d_optimal'], abs=1e-3)
    # for a fixed time; ramps that keep the limits may have cost the best start some of it
    longer = 1000.0 * design.figures['measuring_time'] / count
    criterion, best = design.figures['criterion'], min(design.origin['start_objectives'])
    assert criterion == pytest.approx(found['d_optimal'] - base.rank * np.log(longer), abs=1e-3)
    assert best - 0.05 < criterion < best + 2.0
    assert design.period < 10.0 and found['condition_number_scaled'] < 400.0


@pytest.mark.parametrize('robot', ['palida', 'five_bar'])
def test_shipped_designs_are_informative(robot):
    """Far better than random feasible motions of the same period with narrower margins."""
    model = model_of(robot)
    design = ExcitationDesign.load(excitation_path(robot), model)
    problem = problem_of(model, period=design.period)
    rng = np.random.default_rng(4)
    samples = design.figures['samples']
    random = [
        problem.refined(4).value(repair(problem, random_unknowns(problem, rng)))[0]
        + problem.base.rank * np.log(problem.task.samples / samples)
        for _ in range(6)
    ]
    assert design.figures['d_optimal'] < min(random) - 0.4 * problem.base.rank


def test_an_unknown_robot_names_the_shipped_ones():
    with pytest.raises(TrajectoryError, match="'atlas'; shipped are .*palida"):
        excitation_path('atlas')
