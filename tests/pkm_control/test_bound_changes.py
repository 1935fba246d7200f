"""Bounds that change while the controller runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pkm_description
from pkm_control.control_types import ControllerOptions, OptionsError
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.safeguards.bound_changes import TUNABLE, check_at_any_time
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.trajectories import PointToPoint

MODEL = ClosedChainModel(pkm_description.load('four_bar'))
HOME = np.asarray(MODEL.home_actuators)
OPTIONS = ControllerOptions()
OTHER = {
    'max_position_error': 0.02,
    'fault_position_error': 0.3,
    'stroke_tolerance': 5e-4,
    'overspeed': 1.1,
    'stop_time': 0.3,
}


def controller() -> TrajectoryController:
    feedforward = nominal_feedforward(MODEL)
    found = TrajectoryController(MODEL, servo_gains(MODEL), feedforward, OPTIONS)
    found.activate(HOME)
    found.step(0.0, HOME)
    return found


def moving() -> TrajectoryController:
    found = controller()
    way = PointToPoint([0.0, 0.5], [HOME, HOME + 0.1], 'actuators', MODEL.actuated_joints)
    found.start(found.plan(way))
    found.step(1e-3, HOME)
    assert found.busy
    return found


def test_every_bound_that_may_change_is_tried() -> None:
    assert set(OTHER) == set(TUNABLE)


@pytest.mark.parametrize('name', TUNABLE)
def test_at_rest_a_bound_goes_down_and_up_again_without_a_jump(name: str) -> None:
    still, changed = controller(), controller()
    for cycle, value in ((1, OTHER[name]), (2, getattr(OPTIONS, name))):
        changed.change_bounds(replace(changed.options, **{name: value}))
        assert getattr(changed.options, name) == value
        steps = [each.step(1e-3 * cycle, HOME + 1e-4) for each in (still, changed)]
        np.testing.assert_array_equal(steps[0].command, steps[1].command)


@pytest.mark.parametrize('name', [name for name in TUNABLE if name != 'stop_time'])
def test_in_a_motion_a_bound_becomes_tighter_alone(name: str) -> None:
    found = moving()
    found.change_bounds(replace(found.options, **{name: OTHER[name]}))
    assert getattr(found.options, name) == OTHER[name]
    with pytest.raises(OptionsError, match=f'{name}: .* only at rest'):
        found.change_bounds(OPTIONS)
    assert getattr(found.options, name) == OTHER[name]


def test_in_a_motion_the_stop_time_stays() -> None:
    for stop_time in (0.3, 0.5):
        with pytest.raises(OptionsError, match='stop_time: .* only at rest'):
            moving().change_bounds(replace(OPTIONS, stop_time=stop_time))


def test_a_new_bound_holds_from_the_next_cycle_on() -> None:
    shifted = HOME + 0.03
    assert controller().step(1e-3, shifted).fault is None
    found = controller()
    found.change_bounds(replace(OPTIONS, max_position_error=0.02))
    fault = found.step(1e-3, shifted).fault
    assert fault is not None and 'exceeds the bound at rest 0.02' in str(fault)
    assert found._supervisor._options is found._pose._options is found.options


def test_no_bound_below_what_is_measured_now() -> None:
    found = controller()
    found.step(1e-3, HOME + 0.03)
    with pytest.raises(OptionsError, match='0.02 is less than the error 0.03 of crank_joint'):
        found.change_bounds(replace(OPTIONS, max_position_error=0.02))
    assert found.options == OPTIONS


def test_a_stroke_that_is_left_now_is_not_made_narrower() -> None:
    outside = np.asarray(MODEL.upper) + 8e-4
    found = controller()
    found._supervisor.begin(HOME)
    found._measured = outside
    found._supervisor.check_change(replace(OPTIONS, stroke_tolerance=9e-4), outside, 0.0 * HOME)
    with pytest.raises(OptionsError, match='stroke_tolerance: 0.0005 .*crank_joint'):
        found._supervisor.check_change(replace(OPTIONS, stroke_tolerance=5e-4), outside, 0.0 * HOME)
    fast = 1.15 * np.asarray(MODEL.velocity_limit)
    with pytest.raises(OptionsError, match='overspeed: 1.1 .*crank_joint'):
        found._supervisor.check_change(replace(OPTIONS, overspeed=1.1), HOME, fast)


def test_others_never_change() -> None:
    with pytest.raises(OptionsError, match='velocity_cutoff: cannot change'):
        check_at_any_time(OPTIONS, replace(OPTIONS, velocity_cutoff=10.0), moving=False)


@pytest.mark.ros
def test_parameters_of_the_running_node() -> None:
    pytest.importorskip('rclpy')
    from laboratory import CONTROLLER, Laboratory
    from rcl_interfaces.srv import SetParameters, SetParametersAtomically
    from rclpy.parameter import Parameter

    def ask(lab, atomic=False, **values):
        request = (SetParametersAtomically if atomic else SetParameters).Request()
        request.parameters = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        kind = SetParametersAtomically if atomic else SetParameters
        name = 'set_parameters_atomically' if atomic else 'set_parameters'
        answer = lab.call(kind, f'{CONTROLLER}/{name}', request)
        return answer.result if atomic else answer.results[0]

    with Laboratory() as lab:
        lab.fresh()
        options = lambda: lab.loop.controller.options  # noqa: E731
        assert ask(lab, max_position_error=0.04).successful
        assert options().max_position_error == 0.04
        refused = ask(lab, fault_position_error=0.03)
        assert 'max_position_error: 0.04 exceeds fault_position_error 0.03' in refused.reason
        both = {'max_position_error': 0.02, 'fault_position_error': 0.03}
        assert ask(lab, atomic=True, **both).successful
        assert (options().max_position_error, options().fault_position_error) == (0.02, 0.03)
        assert not ask(lab, overspeed=0.5).successful  # out of range
        assert not ask(lab, rate=500.0).successful  # read-only
        handle = lab.moving(0.05)
        assert 'only at rest' in ask(lab, max_position_error=0.025).reason
        assert ask(lab, max_position_error=0.015).successful
        assert options().max_position_error == 0.015
        handle.cancel_goal_async()
        assert lab.result(handle)[0].name == 'CANCELED'
        # the next configuration begins with them
        assert lab.controller._build().controller.options.max_position_error == 0.015
