"""Gains, derivative filter and servo against textbook behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gantry import Gantry
from scipy.linalg import expm

from pkm_control.control_types import ControllerOptions
from pkm_control.servo import FilteredDerivative, JointServo
from pkm_description.errors import SimulationError
from pkm_dynamics.equations.actuator_inertia import effective_inertia, inertia_matrix
from pkm_dynamics.joint_servo.gains import GainError, ServoGains, servo_gains


def test_inertia_of_the_gantry_is_mass_and_rotor() -> None:
    np.testing.assert_allclose(inertia_matrix(Gantry(mass=7.0, rotor=3.0)), 10.0 * np.eye(3))


def test_effective_inertia_lets_the_other_actuators_go_free() -> None:
    coupled = Gantry()
    matrix = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 5.0]])
    coupled.inverse_dynamics = lambda motion: motion.acceleration[:, :3] @ matrix
    expected = [4.0 - matrix[0, 1:] @ np.linalg.solve(matrix[1:, 1:], matrix[1:, 0])]
    np.testing.assert_allclose(effective_inertia(coupled)[:1], expected)
    coupled.inverse_dynamics = lambda motion: -motion.acceleration[:, :3] @ matrix
    with pytest.raises(SimulationError, match='positive definite'):
        servo_gains(coupled)


def test_gains_give_the_natural_frequency_and_damping() -> None:
    model = Gantry()
    gains = servo_gains(model, bandwidth=8.0, damping=0.7)
    w = np.sqrt(gains.proportional / gains.inertia)
    np.testing.assert_allclose(w, 2.0 * math.pi * 8.0)
    np.testing.assert_allclose(gains.derivative, 2.0 * 0.7 * gains.inertia * w)
    doubled = servo_gains(model, bandwidth=8.0, damping=0.7, scale=2.0)
    np.testing.assert_allclose(doubled.proportional, 2.0 * gains.proportional)
    np.testing.assert_allclose(doubled.derivative, 2.0 * gains.derivative)


def test_gains_are_formulas_of_each_axis_own_inertia() -> None:
    model = Gantry()
    masses = np.array([4.0, 9.0, 2.5])
    model.inverse_dynamics = lambda motion: motion.acceleration[:, :3] * masses
    gains = servo_gains(model, bandwidth=0.8, damping=0.4, scale=0.5)
    w = 5.026548245743669  # 2 pi 0.8
    np.testing.assert_allclose(gains.inertia, masses)
    np.testing.assert_allclose(gains.proportional, 0.5 * masses * w**2)
    np.testing.assert_allclose(gains.derivative, 0.5 * 2.0 * 0.4 * masses * w)
    assert (gains.bandwidth, gains.damping, gains.scale) == (0.8, 0.4, 0.5)
    for array in (gains.proportional, gains.derivative, gains.inertia):
        assert not array.flags.writeable


def test_gains_of_no_choice_are_those_of_the_documented_servo() -> None:
    gains, documented = servo_gains(Gantry()), servo_gains(Gantry(), 10.0, 0.7, 1.0)
    assert (gains.bandwidth, gains.damping, gains.scale) == (10.0, 0.7, 1.0)
    np.testing.assert_array_equal(gains.proportional, documented.proportional)
    np.testing.assert_array_equal(gains.derivative, documented.derivative)
    assert ControllerOptions().velocity_cutoff == 150.0


@pytest.mark.parametrize('name', ['bandwidth', 'damping', 'scale'])
@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, math.inf])
def test_senseless_gains_are_refused(name: str, value: float) -> None:
    with pytest.raises(GainError, match=name):
        servo_gains(Gantry(), **{name: value})


@pytest.mark.parametrize('frequency', [2.0, 50.0, 100.0])
def test_derivative_has_the_frequency_response_of_its_filter(frequency: float) -> None:
    step, cutoff = 1e-4, 100.0
    derivative = FilteredDerivative(cutoff)
    t = np.arange(0.0, 2.0, step)
    w = 2.0 * math.pi * frequency
    out = np.array([derivative.update(step, np.array([math.sin(w * time)]))[0] for time in t])
    s, wc = 1j * w, 2.0 * math.pi * cutoff
    response = s * wc**2 / (s**2 + math.sqrt(2.0) * wc * s + wc**2)
    expected = np.imag(response * np.exp(1j * w * t))
    late = t > 1.0
    np.testing.assert_allclose(out[late], expected[late], atol=0.01 * abs(response))


def test_derivative_of_a_ramp_survives_uneven_sampling() -> None:
    random = np.random.default_rng(7)
    derivative, time = FilteredDerivative(100.0), 0.0
    for _ in range(400):
        interval = random.choice([0.0, 5e-4, 1e-3, 2e-3, 2e-2])
        time += interval
        rate = derivative.update(interval, np.array([3.0 * time, 1.0]))
    np.testing.assert_allclose(rate, [3.0, 0.0], rtol=1e-6, atol=1e-6)


def test_derivative_solves_its_filter_for_every_interval() -> None:
    """The state space model x' = A x + b u of a signal u on lines, as a matrix exponential."""
    random, cutoff = np.random.default_rng(8), 60.0
    w = 2.0 * math.pi * cutoff
    system = np.zeros((4, 4))  # of x, u and the slope of u
    system[:2] = [[0.0, 1.0, 0.0, 0.0], [-(w**2), -math.sqrt(2.0) * w, w**2, 0.0]]
    system[2, 3] = 1.0
    derivative = FilteredDerivative(cutoff)
    previous = random.normal(size=3)
    state = np.vstack([previous, np.zeros(3)])
    np.testing.assert_array_equal(derivative.update(0.3, previous), 0.0)
    for interval in (1e-3, 7e-4, 2e-2, 0.0, 4e-3, 0.9, 1e-3):
        values = random.normal(size=3)
        found = derivative.update(interval, values)
        if interval:
            start = np.vstack([state, previous, (values - previous) / interval])
            state, previous = (expm(interval * system) @ start)[:2], values
        np.testing.assert_allclose(found, state[1], rtol=1e-9, atol=1e-9)


def test_derivative_after_long_intervals_is_the_slope() -> None:
    """Of the last interval alone, whatever those before it were."""
    random, derivative, previous = np.random.default_rng(9), FilteredDerivative(150.0), 0.0
    derivative.update(0.0, np.zeros(1))
    for interval in random.uniform(0.02, 0.1, 50):
        value = previous + random.normal()
        rate = derivative.update(interval, np.array([value]))
        assert rate[0] == pytest.approx((value - previous) / interval, rel=1e-3, abs=1.0)
        previous = value


def test_derivative_keeps_no_hold_of_what_it_gets() -> None:
    derivative, values = FilteredDerivative(50.0), np.array([1.0])
    derivative.update(0.0, values)
    values[0] = 3.0
    moved = derivative.update(1e-3, values).copy()
    values[0] = 7.0
    fresh = FilteredDerivative(50.0)
    fresh.update(0.0, np.array([1.0]))
    np.testing.assert_array_equal(fresh.update(1e-3, np.array([3.0])), moved)
    np.testing.assert_array_equal(
        fresh.update(1e-3, np.array([3.0])), derivative.update(1e-3, np.array([3.0]))
    )


def test_servo_has_the_gains_of_each_axis() -> None:
    gains = ServoGains(
        np.array([200.0, 300.0, 500.0]), np.array([7.0, 11.0, 13.0]), np.ones(3), 1.0, 1.0, 1.0
    )
    servo, derivative = JointServo(gains, 80.0), FilteredDerivative(80.0)
    for interval, error in ((0.0, [0.1, -0.2, 0.3]), (2e-3, [0.2, 0.1, -0.4])):
        rate = derivative.update(interval, np.array(error))
        np.testing.assert_allclose(
            servo.feedback(interval, np.array(error)),
            [
                200.0 * error[0] + 7.0 * rate[0],
                300.0 * error[1] + 11.0 * rate[1],
                500.0 * error[2] + 13.0 * rate[2],
            ],
        )
    assert np.abs(rate).min() > 1.0
    assert servo.bandwidth_share == 1.0


def test_late_samples_shrink_the_bandwidth_for_a_while() -> None:
    """An axis of 10 Hz loses all its speed in 11.4 ms of its own damping force."""
    gains = servo_gains(Gantry(), 10.0, 0.7)
    at_full = 1.0 / (2.0 * 0.7 * 2.0 * math.pi * 10.0)
    servo, error = JointServo(gains), np.full(3, 0.01)
    servo.feedback(0.0, error)
    servo.feedback(0.99 * at_full, error)
    assert servo.bandwidth_share == 1.0
    late = servo.feedback(4.0 * at_full, error)
    assert servo.bandwidth_share == pytest.approx(0.25)
    rate = servo.rate
    np.testing.assert_allclose(late, gains.proportional * error / 16 + gains.derivative * rate / 4)
    shares = [servo.feedback(1e-3, error) is not None and servo.bandwidth_share for _ in range(800)]
    assert (np.diff(shares) >= 0.0).all() and shares[100] < 0.4 and shares[-1] == 1.0
    servo.feedback(0.1, error)
    servo.reset()
    assert servo.bandwidth_share == 1.0


@pytest.mark.parametrize('cutoff', [0.0, -1.0, math.nan, math.inf])
def test_a_cutoff_that_filters_nothing_is_refused(cutoff: float) -> None:
    with pytest.raises(GainError, match='velocity_cutoff'):
        FilteredDerivative(cutoff)
    assert FilteredDerivative(0.5).cutoff == 0.5


def test_servo_forgets_on_reset() -> None:
    servo = JointServo(servo_gains(Gantry()))
    error = np.full(3, 0.01)
    first = servo.feedback(0.0, error)
    servo.feedback(1e-3, -error)
    servo.reset()
    np.testing.assert_array_equal(servo.feedback(1e-3, error), first)
    np.testing.assert_allclose(first, servo.gains.proportional * 0.01)
