"""Friction that grows with the load of joints, through estimation, prediction and control."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from every_model import model_of
from slider_crank import PINS, slider_crank
from slides import rubbing_slides
from urdf_builder import control, inertial, joint, robot

from pkm_control.feedforward import NotPhysicalError, identified_feedforward
from pkm_description import EstimationError, Friction, load, loads
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load_result, reduce_model
from pkm_identification.datasets import Recording
from pkm_identification.regression.load_iteration import with_own_loads

PERIOD, PERIODS, RATE = 4.0, 3, 100.0  # [s, 1, Hz]
NOISE = 0.01  # of the forces' deviation
# Several standard deviations at once: each test holds by chance in 99 of 100 drawings.
DEVIATIONS = 3.5


def motion_of(model: ClosedChainModel, seed: int, amplitude: float):
    """Three sines on every drive, with their times."""
    time = np.arange(round(PERIODS * PERIOD * RATE)) / RATE
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * np.arange(1, 4)[:, None] / PERIOD
    size = amplitude * rng.uniform(0.4, 1.0, (3, model.n_a)) / np.arange(1, 4)[:, None]
    angle = time[:, None, None] * w + rng.uniform(0, 6, (3, model.n_a))
    return time, model.motion_from_actuators(
        model.home_actuators + np.sum(size * np.sin(angle), axis=1),
        np.sum(size * w * np.cos(angle), axis=1),
        -np.sum(size * w**2 * np.sin(angle), axis=1),
    )


def recording_of(truth: ClosedChainModel, seed: int, amplitude: float) -> Recording:
    """Positions without and forces with noise."""
    time, motion = motion_of(truth, seed, amplitude)
    forces = truth.inverse_dynamics(motion)
    noise = NOISE * forces.std(axis=0) * np.random.default_rng(seed).normal(size=forces.shape)
    positions = truth.actuator_states(motion).positions
    joints = truth.actuated_joints
    return Recording.from_arrays(time, joints, positions, forces + noise, period=PERIOD)


# robot, joints with their factors [m], amplitude [m, rad], error of held-out forces without
CASES = {
    'parallel': ('rps_upv', {'leg*_hinge': 0.05}, 0.05, 3.0),
    'serial': ('skew_arm', {'*': 0.02}, 0.6, 3.0),
}


@pytest.fixture(scope='module', params=list(CASES))
def case(request):
    robot, factors, amplitude, gain = CASES[request.param]
    model = model_of(robot)
    truth = model.with_load_friction(factors)
    data = recording_of(truth, 1, amplitude)
    _, test = motion_of(truth, 7, amplitude)
    return model, truth, data, test, gain, identify(data, model, load_friction=list(factors))


def test_factors_are_found_and_forces_predicted_better_than_without(case):
    model, truth, data, test, gain, found = case
    factors = np.flatnonzero([name.endswith('.load') for name in found.names])
    assert len(factors) >= 3
    value = dict(zip(truth.parameter_names, truth.nominal_parameters, strict=True))
    expected = [value[found.names[i]] for i in factors]
    off = (found.values[factors] - expected) / found.standard_deviation[factors]
    assert np.abs(off).max() < DEVIATIONS
    forces = truth.inverse_dynamics(test)
    with_loads, without = (
        np.sqrt(np.mean((each.predict(test) - forces) ** 2))
        for each in (found, identify(data, model))
    )
    assert with_loads * gain < without


def test_the_loads_are_those_of_the_estimate(case):
    model, truth, data, _, _, found = case
    standard = found.model.base_parameters(shared=True, reduced=True).standard_parameters(
        found.values
    )
    loads, again = (
        found.model.load_friction.loads(found.model.body_motion(motion_of(truth, 3, 0.02)[1]), each)
        for each in (found.load_parameters, standard)
    )
    np.testing.assert_allclose(loads, again, atol=1e-3 * np.abs(loads).max())


def test_a_model_file_keeps_factors_and_loads(case, tmp_path):
    model, truth, _, test, _, found = case
    path = found.save(tmp_path / 'model.yaml')
    assert '\nversion: 3\n' in path.read_text()
    read = load_result(path, model)
    assert read.load_friction == found.load_friction
    np.testing.assert_allclose(read.predict(test), found.predict(test), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(read.load_parameters, found.load_parameters)


def test_a_controller_of_the_plain_robot_takes_them(case):
    model, truth, _, test, _, found = case
    given = found.controller_parameters
    names, values = list(given), list(given.values())
    forces = identified_feedforward(model, 'm', names, values).forces(model, test)
    same = found.model.with_load_parameters(found.standard_parameters)
    expected = same.inverse_dynamics(test, found.standard_parameters)
    np.testing.assert_allclose(forces, expected, atol=1e-9 * np.abs(expected).max())
    truly = truth.inverse_dynamics(test)
    assert np.abs(forces - truly).max() < 0.05 * np.abs(truly).max()
    own = identified_feedforward(found.model, 'm', names, values).forces(found.model, test)
    np.testing.assert_allclose(own, expected, atol=1e-9 * np.abs(expected).max())
    smooth = identified_feedforward(model, 'm', names, values, friction=False)
    assert smooth.loaded is None
    values[names.index(next(name for name in names if name.endswith('.load')))] = -0.1
    with pytest.raises(NotPhysicalError, match='.load. is negative'):
        identified_feedforward(model, 'm', names, values)


def test_recordings_with_a_payload_are_refused():
    model = ClosedChainModel(slider_crank((0.01, 0.0, 0.0)))
    data = recording_of(model, 1, 0.5)
    payload = {'name': 'weight', 'mass': 1.0, 'centre': [0, 0, 0]}
    with pytest.raises(EstimationError, match=f"friction of '{PINS[0]}' grows with its load"):
        identify(data, model, payloads=[payload])


def test_a_joint_that_is_not_there_is_named():
    model = ClosedChainModel(load('five_bar'))
    with pytest.raises(Exception, match="load_friction names 'nothing'"):
        identify(recording_of(model, 1, 0.1), model, load_friction='nothing')


def test_an_estimate_that_does_not_settle_is_an_error():
    """It jumps between two values, whatever the loads are."""
    model = ClosedChainModel(slider_crank((0.01, 0.0, 0.0)))
    base = model.base_parameters(shared=True, reduced=True)
    run = SimpleNamespace(compact=SimpleNamespace(regressor=np.ones((5, 1, base.rank))))
    problem = SimpleNamespace(base=base, free=np.arange(base.rank), runs=(run,))
    jumps = iter(range(1000))

    def solve(loaded):
        assert loaded is not model
        values = base.values() * (1.0 + 0.1 * (next(jumps) % 2))
        return SimpleNamespace(
            values=values, covariance=np.zeros((base.rank,) * 2), problem=problem
        )

    with pytest.raises(EstimationError, match='does not settle with the loads of the joints in 30'):
        with_own_loads(model, solve(None), solve)


def slow_slides(amplitude: float, load: float):
    """Slides that rub by their load, moved so slowly that it hardly changes, and their data."""
    rubbing = {'lift': (4.0, 10.0), 'tip': (0.2, 0.1), 'across': (5.0, 8.0), 'along': (3.0, 6.0)}
    model = rubbing_slides(rubbing)
    return model, recording_of(model.with_load_friction({'along': load}), 1, amplitude)


@pytest.mark.parametrize(('amplitude', 'is_told'), [(0.1, True), (0.001, False)])
def test_load_friction_that_is_coulomb_friction_for_the_data_is_named(amplitude, is_told):
    """The load of `along` is its weight, and what accelerations of the others add to it."""
    model, data = slow_slides(amplitude, 0.1)
    found = identify(data, model, load_friction='along')
    named = [each for each in found.diagnostics.warnings if "'along.load' is not ident" in each]
    assert bool(named) != is_told
    deviation = found.standard_deviation[found.names.index('along.load')]
    assert (deviation < 0.05) == is_told
    assert all('hardly changes in these data' in each for each in named)


def test_load_friction_under_a_constant_load_is_named():
    """A single slide has the same load in every motion: its factor is no parameter of its own."""
    body = inertial(2.0, (0.0, 0.0, 0.0), 0.25 * np.eye(3))
    limit = -1.0, 1.0, 4.0, 99.0
    slide = joint('slide', 'prismatic', 'base_link', 'platform', axis=(1, 0, 0), limit=limit)
    links = ['<link name="base_link"/>', f'<link name="platform">{body}</link>']
    description = loads(
        robot('one', [*links, slide, control(('slide',))]), 'home: {joints: {slide: 0.0}}'
    )
    rough = replace(description.joint('slide'), friction=Friction(3.0, 6.0, 0.0))
    model = ClosedChainModel(replace(description, joints=(rough,)))
    data = recording_of(model.with_load_friction({'slide': 0.05}), 1, 0.5)
    (warning,) = identify(data, model, load_friction='slide').diagnostics.warnings
    assert warning == (
        "'slide.load' is not identifiable: the load of the joint is constant in every motion, "
        "and its friction is part of 'slide.coulomb'"
    )


def test_a_reduction_drops_parameters_under_the_loads_of_the_estimate():
    """The description's bodies are wrong: loads of theirs would not explain the friction."""
    right = model_of('skew_arm')
    off = 1.0 + 0.8 * np.random.default_rng(3).uniform(-1.0, 1.0, len(right.nominal_parameters))
    wrong = right.with_load_friction('*').with_load_parameters(
        np.append(off * right.nominal_parameters, np.zeros(len(right.actuated_joints)))
    )
    data = recording_of(right.with_load_friction({'*': 0.02}), 1, 0.6)
    found, expected = (reduce_model(data, each, load_friction='*') for each in (wrong, right))
    error, least = (each.steps[0].error['measured'] for each in (found, expected))
    assert error < 1.01 * least
