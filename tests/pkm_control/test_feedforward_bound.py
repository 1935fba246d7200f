"""Forces of an identified model within a band about the description's, in the loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import identified_feedforward, nominal_feedforward
from pkm_control.safeguards.feedforward_bound import FeedforwardBound
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import Phase, benchmark_circle

SHARE = 0.04  # of the force limit


@pytest.fixture(scope='module')
def cycles():
    """The circle, perfectly followed, with masses and friction of a half more than described."""
    model = model_of('palida')
    names = list(model.parameter_names)
    free = identified_feedforward(model, 'wls', names, 1.5 * model.nominal_parameters)
    width = SHARE * np.asarray(model.force_limit)
    bound = replace(free, bound=FeedforwardBound(model.nominal_parameters, width))
    results = {}
    for name, feedforward in (
        ('nominal', nominal_feedforward(model)),
        ('free', free),
        ('bound', bound),
    ):
        controller = TrajectoryController(model, servo_gains(model), feedforward)
        controller.activate(model.home_actuators)
        controller.start(
            controller.plan(benchmark_circle(model), ramp_time=0.3, approach_speed=1.0)
        )
        found, measured = [], model.home_actuators
        for k in range(150):
            found.append(controller.step(0.02 * k, measured))
            measured = found[-1].desired_position
        results[name] = found
    assert Phase.RUN in {each.phase for each in found}
    return model, results


def test_the_force_stays_within_the_band_and_is_free_inside(cycles) -> None:
    model, results = cycles
    force = {name: np.array([r.feedforward for r in rows]) for name, rows in results.items()}
    width = SHARE * np.asarray(model.force_limit)
    away = force['bound'] - force['nominal']
    assert np.abs(away).max() <= width.max() * (1.0 + 1e-9)
    expected = force['nominal'] + np.clip(force['free'] - force['nominal'], -width, width)
    np.testing.assert_allclose(force['bound'], expected, atol=1e-9)
    said = np.array([r.bounded for r in results['bound']])
    np.testing.assert_array_equal(said, np.abs(force['free'] - force['nominal']) > width)
    assert 0.02 < said.mean() < 0.98
    assert not np.array([r.bounded for r in results['free']]).any()
    steps = {name: np.abs(np.diff(each, axis=0)).max() for name, each in force.items()}
    assert steps['bound'] <= max(steps['free'], steps['nominal'])  # no jumps at the edge


def test_a_bound_that_goes_is_not_reported_any_more() -> None:
    model = model_of('palida')
    names, values = list(model.parameter_names), 1.5 * model.nominal_parameters
    free = identified_feedforward(model, 'wls', names, values)
    narrow = FeedforwardBound(model.nominal_parameters, np.full(6, 1e-3))
    controller = TrajectoryController(model, servo_gains(model), replace(free, bound=narrow))
    controller.activate(model.home_actuators)
    assert controller.step(0.0, model.home_actuators).bounded.all()  # also at rest
    controller.feedforward = free
    assert not controller.step(0.001, model.home_actuators).bounded.any()
