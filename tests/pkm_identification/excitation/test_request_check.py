"""Requests that cannot be fulfilled: the limit that excludes them, and what it would have to be."""

import dataclasses
import re

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import DesignLimits, design_excitation
from pkm_identification.excitation import design as design_module

QUICK = {'harmonics': 2, 'starts': 1, 'iterations': 2, 'candidates': 2, 'workers': 1}


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('five_bar'))


@pytest.fixture
def no_search(monkeypatch):
    """Fail where a search begins."""

    def search(*args, **options):
        raise AssertionError('a search has begun')

    monkeypatch.setattr(design_module, 'solve_design_problem', search)


def limited(model, **changes):
    """The same robot with other limits of its joints: {joint: {field: value}}, or all."""
    every = changes.get('every', {})
    joints = tuple(
        dataclasses.replace(
            joint, limit=dataclasses.replace(joint.limit, **changes.get(joint.name, every))
        )
        for joint in model.description.joints
    )
    return ClosedChainModel(dataclasses.replace(model.description, joints=joints))


def refused(model, **options):
    """Return the message of a refusal."""
    with pytest.raises(TrajectoryError) as caught:
        design_excitation(model, **{**QUICK, **options})
    return str(caught.value)


def number_after(words, message):
    found = re.search(rf'{words} ([\d.]+(e[+-]?\d+)?)', message)
    assert found, message
    return float(found[1])


def test_the_largest_stroke_margin_that_rest_leaves_is_accepted(model):
    message = refused(model, limits=DesignLimits(stroke_margin=0.49))
    assert re.search('rest at home breaks .* workspace of y', message)
    largest = min(
        float(found) for found in re.findall(r'stroke_margin of at most ([\d.]+)', message)
    )
    assert 0.1 < largest < 0.49
    home = model.motion_from_actuators(
        *(np.asarray(model.home_actuators)[None] * k for k in (1, 0, 0))
    )
    assert check_feasibility(model, home, stroke_margin=largest).feasible
    assert not check_feasibility(model, home, stroke_margin=largest + 2e-4).feasible


@pytest.mark.parametrize(
    ('limits', 'reason'),
    [
        ({'force_margin': 0.995}, 'force limit of|show only'),
        ({'velocity_margin': 0.99995}, 'velocity limit of'),
        ({'acceleration': 3e-4}, 'acceleration limit of|show only'),
    ],
)
def test_limits_that_leave_no_motion_are_named(model, no_search, limits, reason):
    assert re.search(reason, refused(model, limits=DesignLimits(**limits)))


@pytest.mark.parametrize('harmonics', [1, 3])
def test_the_shortest_period_is_accepted_and_designs(model, harmonics):
    limits = DesignLimits(frequency=1e3)
    message = refused(model, period=0.013, harmonics=harmonics, limits=limits)
    assert re.search(r'the force limit of \w+_motor leaves less than 0.5%', message)
    nearest = number_after('period of at least', message)
    options = {**QUICK, 'harmonics': harmonics, 'limits': limits}
    found = design_excitation(model, period=1.001 * nearest, **options)
    assert found.period == 1.001 * nearest
    assert found.figures['rank'] == found.figures['parameters']


def test_the_least_number_of_samples_is_accepted(model):
    rank = model.base_parameters(shared=True, reduced=True).rank
    options = {'harmonics': 1, 'period': 2.0, 'sampling_rate': 2.0}
    assert rank > 2 * 2.0 * 2.0 - 4.0
    message = refused(model, **{**options, 'sampling_rate': 1.0})
    nearest = number_after('or the rate', message)  # times
    found = design_excitation(model, **{**QUICK, **options, 'sampling_rate': nearest * 1.0})
    assert found.figures['samples'] == 4


def test_limits_beyond_home_are_named_with_what_would_do(model):
    """A motor whose range ends before home: no margin helps, the limit must move."""
    at = float(model.home_actuators[0])
    name = model.actuated_joints[0]
    narrow = limited(model, **{name: {'upper': at - 0.05}})
    message = refused(narrow)
    assert f'stroke of {name}' in message and 'no margin helps' in message
    needed = number_after(f'stroke limit of {name} would have to lie beyond', message)
    assert needed == pytest.approx(at, abs=1e-5)
    wide = limited(model, **{name: {'upper': needed + 0.2}})
    assert design_excitation(wide, **QUICK).figures['rank'] == 6


def test_more_harmonics_are_asked_for_where_they_show_more(no_search):
    model = ClosedChainModel(pkm_description.load('serial_arm'))
    base = model.base_parameters(shared=True, reduced=True)
    message = refused(model, harmonics=1, period=20.0)
    assert 'ask for more harmonics' in message and f'of {base.rank} directions' in message


def test_hidden_parameters_need_a_prior(model):
    """Motors that hardly move show no friction: refused, unless something is known."""
    limits = DesignLimits(force_margin=0.995)
    message = refused(model, limits=limits)
    base = model.base_parameters(shared=True, reduced=True)
    found = design_excitation(model, limits=DesignLimits(force_margin=0.98), **QUICK)
    assert 'show only' in message and found.figures['rank'] == base.rank
    known = design_excitation(model, limits=limits, prior=np.eye(base.rank), **QUICK)
    assert known.figures['rank'] == base.rank
    assert max(known.standard_deviation().values()) <= 1.0 + 1e-9


def test_robots_without_limits(model):
    """No velocity and effort limits: a free period has no end, a given one has."""
    endless = {'velocity': np.inf, 'effort': np.inf}
    free = limited(model, every=endless)
    assert 'nothing bounds the speed' in refused(free)
    found = design_excitation(free, period=1.0, **QUICK)
    assert 'force' not in found.margins and 'stroke' in found.margins
    slow = design_excitation(free, limits=DesignLimits(acceleration=5.0), **QUICK)
    motion = slow.motion(np.linspace(0.0, slow.period, 2000))
    assert np.abs(model.actuator_states(motion).accelerations).max() <= 5.0
    without_speed = limited(model, every={'velocity': np.inf})
    assert 'velocity' not in design_excitation(without_speed, **QUICK).margins


@pytest.mark.parametrize(
    ('option', 'values'),
    [
        ('harmonics', ('a', None, np.nan, np.inf, 1.5, True, 0, 101)),
        ('period', ('a', np.nan, np.inf, 0.0, -1.0, True, np.array([1.0, 2.0]), 1e6)),
        ('sampling_rate', (None, 'a', np.nan, 0.0, 1e9)),
        ('measuring_time', ('a', 0.0, np.nan)),
        ('seed', ('a', None, -1, 1.5)),
        ('workers', (0, -1, 'a', 1.5)),
        ('starts', (0, None)),
        ('iterations', (0, 2.5)),
        ('candidates', (0, 'a')),
        ('criterion', (5, None, ['d_optimal'], 'best', {})),
        ('weight', ({'d_optimal': 'a'}, {'d_optimal': np.nan}, {'d_optimal': 0.0})),
        ('limits', ({'force_margin': 0.1}, 3)),
        ('noise_covariance', (np.eye(3), 'a', np.full((2, 2), np.nan), [[1.0, 0.5], [0.0, 1.0]])),
        ('prior', ('a', object(), np.eye(2), np.triu(np.ones((6, 6))), -np.eye(6))),
        ('initial', ('a', 5)),
        ('progress', (5,)),
        ('cancel', (5,)),
    ],
)
def test_wrong_options_are_named_before_any_search(model, no_search, option, values):
    key = 'criterion' if option == 'weight' else option
    for value in values:
        message = refused(model, **{key: value})
        assert option in message or (option == 'criterion' and 'criteria' in message), message


def test_a_model_is_not_a_name(no_search):
    with pytest.raises(TrajectoryError, match='ClosedChainModel'):
        design_excitation('palida')


@pytest.mark.parametrize('factor', [1.0, np.nan, 0.5, 'a', None])
def test_condition_factors(factor):
    with pytest.raises(TrajectoryError, match='condition_factor'):
        DesignLimits(condition_factor=factor)


def test_starts_of_other_robots_are_refused_before_the_search(model, no_search):
    names = list(model.actuated_joints)
    arguments = (1.0, model.home_actuators, np.full((2, 1), 0.1), np.zeros((2, 1)), 'actuators')
    other = FourierTrajectory(*arguments, names, robot='delta')
    with pytest.raises(TrajectoryError, match="initial is for robot 'delta'"):
        design_excitation(model, initial=other, **QUICK)
    many = FourierTrajectory(
        1.0, model.home_actuators, np.zeros((2, 9)), np.zeros((2, 9)), 'actuators', names
    )
    with pytest.raises(TrajectoryError, match='at most 2 harmonics'):
        design_excitation(model, initial=many, **QUICK)


def test_a_start_is_matched_by_the_names_of_its_joints(model):
    """The same trajectory with its joints listed backwards is the same start."""
    names = list(model.actuated_joints)
    sine, cosine = np.array([[0.1, 0.02], [-0.05, 0.04]]), np.array([[0.02, 0.0], [0.03, 0.01]])
    home = np.asarray(model.home_actuators)
    straight = FourierTrajectory(1.0, home, sine, cosine, 'actuators', names)
    back = FourierTrajectory(1.0, home[::-1], sine[::-1], cosine[::-1], 'actuators', names[::-1])
    options = {**QUICK, 'starts': 0, 'iterations': 1, 'period': 1.0}
    first = design_excitation(model, initial=straight, **options)
    second = design_excitation(model, initial=back, **options)
    assert np.array_equal(first.coefficients, second.coefficients)
